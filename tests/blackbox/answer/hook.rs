//! Who may wait: the hook that a client itself started. Whatever an agent starts, or anybody else, goes home unheard.

use super::{ALLOW, Desk, below_an_agent};
use headspace_core::answering;
use headspace_test_support::{Process, binary, succeeded, wait_for, wait_until};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{ChildStdin, Stdio};

/// A client by its name: it runs what it is told, line by line, as its own children.
struct Client {
    process: Process,
    says: ChildStdin,
    session: &'static str,
    out: PathBuf,
}

impl Client {
    fn new(desk: &Desk, session: &'static str) -> Client {
        let script = "exec -a claude bash -c 'while IFS= read -r line; do eval \"$line\"; done' claude";
        let mut command = desk.headspace.command_of("/bin/bash", &["-c", script]);
        command.env("CLAUDE_CODE_ENTRYPOINT", "cli").env("CLAUDECODE", "1").stdin(Stdio::piped());
        let mut process = Process::spawn(&mut command);
        let says = process.stdin();
        let name = format!("/proc/{}/cmdline", process.id());
        wait_until("the client to be called so", || {
            std::fs::read_to_string(&name).is_ok_and(|line| line.starts_with("claude\0"))
        });
        let out = desk.headspace.path().join(session);
        std::fs::create_dir_all(&out).unwrap();
        Client { process, says, session, out }
    }

    /// It asks for a command; its hooks report that, and name it.
    fn asks(&self, desk: &Desk, command: &str) {
        let pid = self.process.id().to_string();
        let tell = |name: &str, fields: Value| {
            desk.headspace.send_with(
                name,
                self.session,
                desk.headspace.path(),
                fields,
                &[("CLAUDE_PID", pid.as_str())],
            );
        };
        tell("UserPromptSubmit", json!({"prompt": format!("run {command}")}));
        tell("PermissionRequest", json!({"tool_name": "Bash", "tool_input": {"command": command}}));
    }

    /// Runs a line; the file `name` has what it printed, and `name.over` comes when it has ended.
    fn runs(&mut self, line: &str, payload: &Value, name: &str) {
        let at = |name: &str| self.out.join(name).display().to_string();
        std::fs::write(self.out.join("ask.json"), payload.to_string()).unwrap();
        let line = line.replace("WAIT", &format!("{} wait < {} > {}", binary(), at("ask.json"), at(name)));
        let line = line.replace("OVER", &format!("touch {}", at(&format!("{name}.over"))));
        writeln!(self.says, "{line}").unwrap();
    }

    fn printed(&self, name: &str) -> String {
        wait_until(&format!("{name} ends"), || self.out.join(format!("{name}.over")).exists());
        std::fs::read_to_string(self.out.join(name)).unwrap()
    }
}

/// The ask of a session that nobody waits for.
fn unheard(desk: &Desk, session: &str, what: &str) {
    let card = desk.open(session).unwrap();
    assert_eq!(card["answer"]["can"], json!([]), "{what}: {card}");
}

#[test]
fn only_the_hook_of_its_own_client_is_heard() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    let (mut client, mut other) = (Client::new(&desk, "mine"), Client::new(&desk, "other"));
    client.asks(&desk, "make");
    other.asks(&desk, "ls");
    wait_until("both ask", || desk.open("mine").is_some() && desk.open("other").is_some());
    let ask = desk.payload("mine", "make");

    // A command of the agent's own, and of another agent.
    client.runs("(WAIT; OVER)", &ask, "command");
    assert_eq!(client.printed("command"), "");
    unheard(&desk, "mine", "a command of its own");
    other.runs("(WAIT; OVER)", &ask, "command");
    assert_eq!(other.printed("command"), "");
    unheard(&desk, "mine", "a command of another agent");
    // The hook of another client that names this session.
    other.runs("WAIT; OVER", &ask, "hook");
    assert_eq!(other.printed("hook"), "");
    unheard(&desk, "mine", "the hook of another client");
    // Some other program, with no agent above it.
    assert_eq!(desk.wait_for(&ask).printed(), "");
    unheard(&desk, "mine", "another program");

    // The client itself. On a busy machine the server may be late for its hook, which then leaves its ask to the
    // terminal: the client asks something else.
    let (mut tries, mut ask) = (0, ask);
    let card = wait_for("the client's own hook is heard", || {
        let over = tries == 0 || client.out.join(format!("hook{tries}.over")).exists();
        if over {
            if tries > 0 {
                let command = format!("make {tries}");
                client.asks(&desk, &command);
                ask = desk.payload("mine", &command);
            }
            tries += 1;
            client.runs("WAIT; OVER", &ask, &format!("hook{tries}"));
        }
        desk.open("mine").filter(|card| card["answer"]["can"] == json!(["allow", "deny", "stop"]))
    });
    assert_eq!(desk.answer(&card, "allow").status, 200);
    assert_eq!(client.printed(&format!("hook{tries}")), ALLOW);
}

#[test]
fn a_program_that_is_not_headspace_wait_cannot_put_up_an_ask() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    desk.send("UserPromptSubmit", "forged", json!({"prompt": "go"}));
    desk.send(
        "PermissionRequest",
        "forged",
        json!({"tool_name": "Bash", "tool_input": {"command": "rm -r x"}}),
    );
    let mut hello = desk.payload("forged", "rm -r x");
    hello["id"] = json!("ab".repeat(16));
    hello["digest"] = json!(answering::digest(&hello));
    // Everything that `wait` would send, and the token.
    let token = std::fs::read_to_string(desk.headspace.state().join("token")).unwrap();
    let port = desk.headspace.port();
    let body = format!("{hello}\n");
    let request = format!(
        "POST /api/answer/wait HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
        token.trim(),
        body.len()
    );
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf '%s' \"$1\" >&3; IFS= read -r line <&3; printf '%s' \"$line\""
    );
    let mut command = desk.headspace.command_of("/bin/bash", &["-c", &script, "wait", &request]);
    let said = succeeded(command.output().unwrap());
    assert!(said.contains(" 403 "), "{said}");
    assert_eq!(desk.headspace.server().get("/api/answer")["waiting"], 0);
    unheard(&desk, "forged", "a program of its own");
}
