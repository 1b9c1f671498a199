//! `headspace wait`: holds a PermissionRequest of the main thread, so that a person can answer it from anywhere.
//!
//! The client shows its own dialog meanwhile, and the first answer counts. So `wait` may wait for hours, but it must never
//! keep the dialog from the user: if anything goes wrong it prints nothing and exits 0, which the client reads as "no
//! opinion". Where the client hides its dialog while a hook runs (subagents, `-p`) it exits at once. It stores nothing,
//! retries nothing, and prints a decision only for exactly what it read itself.

use crate::caller::Caller;
use crate::stdin::{Input, Payload};
use crate::{alarm, debug_log, post};
use headspace_core::answering;
use headspace_guard::{self as guard, Decision, GuardEnvironment};
use headspace_platform::config::{self, Config, var};
use headspace_platform::process;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Reading standard input ends here.
const STDIN_WITHIN: Duration = Duration::from_millis(1500);
/// How long the server may take to answer.
const SERVER_WITHIN: Duration = Duration::from_millis(300);
/// The timeout of the entry in the settings. After it the client ends this process, and its dialog stays.
const ENTRY_TIMEOUT: Duration = Duration::from_secs(43_200);
/// A request to end that comes this close to it is the timeout's, not a refusal.
const TIMEOUT_SIGNAL_WITHIN: Duration = Duration::from_secs(10);
/// A longer line does not come from our server.
pub const MAX_LINE: usize = 256 << 10;

/// `headspace wait`
pub fn main() -> ExitCode {
    alarm::arm(STDIN_WITHIN, None);
    crate::exit_zero(|| {
        let Input::Object(payload) = Input::read_after(&[]) else { return };
        alarm::disarm();
        match Ask::of(&payload) {
            Ok(ask) => {
                if let Err(why) = hold(&ask) {
                    debug_log::note(format_args!("not waiting: {why}"));
                }
            }
            Err(why) => debug_log::note(format_args!("nothing to wait for: {why}")),
        }
    })
}

/// The question that is held, and what its answer is checked against.
struct Ask {
    id: String,
    digest: String,
    tool: String,
    input: Box<RawValue>,
    hello: String,
}

impl Ask {
    /// The ask of a payload, or why this is not a dialog that may be held.
    fn of(payload: &Payload) -> Result<Ask, &'static str> {
        // Parsed strictly: the card might show something else for a text that is not exact JSON.
        let body: Value = serde_json::from_slice(payload.object()).map_err(|_| "it is not JSON")?;
        let text = |key: &str| body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        if text("hook_event_name") != Some("PermissionRequest") {
            return Err("another event");
        }
        if !Caller::of(None, payload).is_claude() {
            return Err("another client");
        }
        if body.get("agent_id").is_some_and(|id| !id.is_null()) {
            return Err("a subagent's dialog is hidden while its hook runs");
        }
        if config::env(var::ENTRYPOINT).is_some_and(|entrypoint| entrypoint != "cli")
            || config::env(var::ATTENDED).is_some_and(|attended| attended != "1")
        {
            return Err("this session has no person at a terminal");
        }
        if matches!(text("permission_mode"), Some("bypassPermissions" | "dontAsk")) {
            return Err("this mode does not ask");
        }
        if text("session_id").is_none() {
            return Err("no session");
        }
        let tool = text("tool_name").ok_or("no tool")?.to_owned();
        let input =
            payload.get("tool_input").and_then(|raw| serde_json::from_slice::<Box<RawValue>>(raw).ok());
        let input = input.ok_or("no input")?;
        let id = process::random_hex::<16>().map_err(|_| "no random numbers")?;
        let digest = answering::digest(&body);
        let mut hello = json!({"id": id, "digest": digest, "confirm": word_to_type(&body, &tool)});
        for key in ["session_id", "cwd", "permission_mode", "tool_name", "tool_input"] {
            hello[key] = body.get(key).cloned().unwrap_or(Value::Null);
        }
        let pid = config::env(var::PID).and_then(|pid| pid.parse::<u32>().ok());
        if let Some((pid, start)) = pid.and_then(|pid| Some((pid, process::start_time(pid)?))) {
            hello["claude_pid"] = pid.into();
            hello["claude_pid_start"] = start.into();
        }
        Ok(Ask { id, digest, tool, input, hello: hello.to_string() })
    }

    /// What to print for a line from the server.
    fn decision(&self, line: &[u8]) -> Option<String> {
        answering::decision(line, &self.id, &self.digest, &self.tool, &self.input)
    }

    /// Checks the first line: it comes from our server, which holds exactly this question.
    fn is_greeting(&self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return false };
        line.get("id").and_then(Value::as_str) == Some(&self.id)
            && line.get("digest").and_then(Value::as_str) == Some(&self.digest)
            && line.get("held") == Some(&Value::Bool(true))
    }
}

/// The word that must be typed before this call can be allowed from elsewhere, if the guard would ask about or deny it: the
/// program's name, or the tool's if no program runs. A guard that fails requires it, too.
fn word_to_type(body: &Value, tool: &str) -> Option<String> {
    let config = Config::load_for_guard().0;
    let mut call = body.clone();
    call["hook_event_name"] = "PreToolUse".into();
    let judged = std::panic::catch_unwind(|| guard::judge(&call, &GuardEnvironment::here(&config)));
    let Ok(verdict) = judged else { return Some(tool.to_owned()) };
    if verdict.decision == Decision::Allow {
        return None;
    }
    let command = call.pointer("/tool_input/command").and_then(Value::as_str);
    let name =
        command.and_then(|command| program_of(verdict.subject.as_deref().unwrap_or_default(), command));
    Some(name.unwrap_or_else(|| tool.to_owned()))
}

/// The program that the guard's verdict is about; else the first one of the command.
fn program_of(subject: &str, command: &str) -> Option<String> {
    let first = |text: &str| {
        let word = text.split_whitespace().find(|word| !is_assignment(word))?;
        let name = word.trim_matches(['\'', '"', '(', '{', ';']).rsplit('/').next()?.to_owned();
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.+".contains(c));
        plain.then_some(name)
    };
    let of_subject = first(subject).filter(|name| {
        command.split(|c: char| !c.is_alphanumeric() && !"-_.+".contains(c)).any(|word| word == name)
    });
    of_subject.or_else(|| first(command))
}

fn is_assignment(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    word.contains('=') && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(not(unix))]
fn hold(_: &Ask) -> Result<(), String> {
    Err("this system has no way to watch the client".into())
}

#[cfg(unix)]
use unix::hold;

#[cfg(unix)]
mod unix {
    use super::*;
    use libc::c_int;
    use std::io::{ErrorKind, Read, Write};
    use std::os::fd::{AsRawFd, RawFd};
    use std::sync::atomic::{AtomicI32, Ordering};

    /// Where the SIGTERM handler writes that it ran.
    static TERMINATED: AtomicI32 = AtomicI32::new(-1);

    extern "C" fn on_terminate(_: c_int) {
        let fd = TERMINATED.load(Ordering::Relaxed);
        // SAFETY: write is async-signal-safe, and the byte is a constant. If the pipe is full, it is readable already.
        unsafe { libc::write(fd, c"t".as_ptr().cast(), 1) };
    }

    /// A pipe that becomes readable when the client wants this process to end.
    fn listen_for_terminate() -> Result<RawFd, String> {
        let mut ends: [c_int; 2] = [0; 2];
        // SAFETY: the array has room for the two descriptors; the handler only writes to one of them.
        unsafe {
            if libc::pipe(ends.as_mut_ptr()) != 0 {
                return Err("no pipe".into());
            }
            for end in ends {
                libc::fcntl(end, libc::F_SETFL, libc::O_NONBLOCK);
                libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
            }
            TERMINATED.store(ends[1], Ordering::Relaxed);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_terminate as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                libc::sigaction(signal, &action, std::ptr::null_mut());
                libc::sigaddset(&mut set, signal);
            }
            // A parent may have left them blocked, which survives exec.
            libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        }
        Ok(ends[0])
    }

    /// What happened first.
    enum Next {
        Line(Vec<u8>),
        /// No or Esc in the terminal, or the entry's timeout.
        Terminated,
        /// The server or the client is gone, or time is up.
        Over(&'static str),
    }

    /// Holds one connection until something happens.
    pub fn hold(ask: &Ask) -> Result<(), String> {
        let signals = listen_for_terminate()?;
        let begun = Instant::now();
        alarm::arm(SERVER_WITHIN, None);
        let config = Config::load_if_any().ok().flatten();
        let mut stream = post::open_own(config.as_ref())?;
        let head = stream.head("/api/answer/wait");
        alarm::disarm();
        stream.set_nonblocking().map_err(|error| error.to_string())?;
        let mut line = Connection { stream: &mut stream, signals, answer: LineByLine::default() };
        let until = Some(begun + SERVER_WITHIN);
        line.send(&[head.as_bytes(), &chunk(&ask.hello)].concat(), until)?;
        match line.next(until) {
            Next::Line(first) if ask.is_greeting(&first) => {}
            Next::Line(_) => return Err("another program answers there".into()),
            // As below: the ask is on the board as soon as the server has read it, before this process has its first line.
            Next::Terminated => {
                line.report("refused_in_terminal");
                return Ok(());
            }
            Next::Over(why) => return Err(why.into()),
        }
        debug_log::note("waiting");
        match line.next(None) {
            Next::Line(answer) => {
                let decision = ask.decision(&answer).ok_or("this answer is not for what was read")?;
                let mut out = std::io::stdout().lock();
                let said = out.write_all(decision.as_bytes()).and_then(|()| out.write_all(b"\n"));
                said.and_then(|()| out.flush()).map_err(|error| error.to_string())?;
                line.report("delivered");
            }
            // Its dialog was refused. A timeout ends this process the same way, and leaves the dialog.
            Next::Terminated if begun.elapsed() < ENTRY_TIMEOUT - TIMEOUT_SIGNAL_WITHIN => {
                line.report("refused_in_terminal");
            }
            Next::Terminated => line.report("withdrawn"),
            Next::Over(why) => return Err(why.into()),
        }
        Ok(())
    }

    fn chunk(line: &str) -> Vec<u8> {
        format!("{:x}\r\n{line}\n\r\n", line.len() + 1).into_bytes()
    }

    struct Connection<'a> {
        stream: &'a mut post::OwnStream,
        signals: RawFd,
        answer: LineByLine,
    }

    impl Connection<'_> {
        /// The next complete line; `until`: how long it may take.
        fn next(&mut self, until: Option<Instant>) -> Next {
            let mut bytes = [0; 4096];
            loop {
                match self.answer.line() {
                    Ok(Some(line)) => return Next::Line(line),
                    Ok(None) => {}
                    Err(why) => return Next::Over(why),
                }
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                // Rounded up: 0 means that time is up, and this is the last look.
                let wait = left.map_or(-1, |left| {
                    c_int::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(c_int::MAX)
                });
                let watch = |fd, events| libc::pollfd { fd, events, revents: 0 };
                let mut fds = [
                    watch(self.stream.as_raw_fd(), libc::POLLIN),
                    watch(self.signals, libc::POLLIN),
                    // No events requested: the end of the client is always reported.
                    watch(1, 0),
                ];
                // SAFETY: the array has the three entries that are announced, and outlives the call.
                let ready = unsafe { libc::poll(fds.as_mut_ptr(), 3, wait) };
                if ready < 0 && std::io::Error::last_os_error().kind() != ErrorKind::Interrupted {
                    return Next::Over("could not wait");
                }
                if fds[1].revents != 0 {
                    return Next::Terminated;
                }
                if fds[2].revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 {
                    return Next::Over("the client is gone");
                }
                if ready == 0 && wait == 0 {
                    return Next::Over("no server of ours answers");
                }
                if ready > 0 && fds[0].revents != 0 {
                    match self.stream.read(&mut bytes) {
                        Ok(0) => return Next::Over("the server has hung up"),
                        Ok(read) => self.answer.feed(&bytes[..read]),
                        Err(error)
                            if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                        Err(_) => return Next::Over("the connection broke"),
                    }
                }
            }
        }

        /// Sends all of it, however slowly the server reads.
        fn send(&mut self, mut bytes: &[u8], until: Option<Instant>) -> Result<(), String> {
            let until = until.unwrap_or_else(|| Instant::now() + SERVER_WITHIN);
            while !bytes.is_empty() {
                match self.stream.write(bytes) {
                    Ok(0) => return Err("the connection was closed".into()),
                    Ok(sent) => bytes = &bytes[sent..],
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                        let left = until.saturating_duration_since(Instant::now());
                        if left.is_zero() {
                            return Err("the server does not read".into());
                        }
                        let mut fd =
                            libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
                        // SAFETY: one entry, which outlives the call.
                        unsafe {
                            libc::poll(&mut fd, 1, c_int::try_from(left.as_millis()).unwrap_or(1).max(1))
                        };
                    }
                    Err(error) => return Err(error.to_string()),
                }
            }
            Ok(())
        }

        /// Tells the server how it ended, and waits a moment until it was read: bytes sent right before closing may be lost.
        fn report(&mut self, state: &str) {
            let mut said = chunk(&json!({"state": state}).to_string());
            said.extend_from_slice(b"0\r\n\r\n");
            if self.send(&said, None).is_ok() {
                let until = Instant::now() + SERVER_WITHIN;
                while let Next::Line(_) = self.next(Some(until)) {}
            }
        }
    }
}

/// The server's answer as it comes: a head, then lines in chunks.
#[derive(Debug, Default)]
pub struct LineByLine {
    bytes: Vec<u8>,
    /// The head is read.
    begun: bool,
    lines: Vec<u8>,
    ended: bool,
}

impl LineByLine {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete line, if it is there.
    pub fn line(&mut self) -> Result<Option<Vec<u8>>, &'static str> {
        if !self.begun && !self.head()? {
            return Ok(None);
        }
        self.chunks()?;
        if let Some(end) = self.lines.iter().position(|byte| *byte == b'\n') {
            let mut line: Vec<u8> = self.lines.drain(..=end).collect();
            line.pop();
            return Ok(Some(line));
        }
        match self.ended {
            true => Err("the server does not hold this dialog"),
            false if self.lines.len() > MAX_LINE => Err("a line that long is not ours"),
            false => Ok(None),
        }
    }

    /// Reads the head, once it is complete: only 200 in chunks is ours.
    fn head(&mut self) -> Result<bool, &'static str> {
        if !b"HTTP/1.1 200".starts_with(&self.bytes[..self.bytes.len().min(12)]) {
            return Err("the server has no page or terminal that could answer");
        }
        let Some(end) = self.bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if self.bytes.len() > MAX_LINE { Err("a head that long is not ours") } else { Ok(false) };
        };
        let head = String::from_utf8_lossy(&self.bytes[..end]).to_ascii_lowercase();
        let chunked = head.lines().any(|line| {
            line.strip_prefix("transfer-encoding:").is_some_and(|value| value.trim() == "chunked")
        });
        self.bytes.drain(..end + 4);
        self.begun = true;
        if chunked { Ok(true) } else { Err("an answer of another form is not ours") }
    }

    fn chunks(&mut self) -> Result<(), &'static str> {
        while !self.ended {
            let Some(end) = self.bytes.windows(2).position(|two| two == b"\r\n") else {
                return if self.bytes.len() > 32 {
                    Err("chunks of another form are not ours")
                } else {
                    Ok(())
                };
            };
            let size = std::str::from_utf8(&self.bytes[..end]).ok();
            let size = size.and_then(|size| usize::from_str_radix(size.split(';').next()?.trim(), 16).ok());
            let size = size.filter(|size| *size <= MAX_LINE).ok_or("chunks of another form are not ours")?;
            if size == 0 {
                self.ended = true;
                return Ok(());
            }
            if self.bytes.len() < end + 2 + size + 2 {
                return Ok(());
            }
            self.lines.extend_from_slice(&self.bytes[end + 2..end + 2 + size]);
            if self.lines.len() > 2 * MAX_LINE {
                return Err("lines that long are not ours");
            }
            self.bytes.drain(..end + 2 + size + 2);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: x\r\nTransfer-Encoding: chunked\r\n\r\n\
        3\r\nab\n\r\n2\r\ncd\r\n5;x=y\r\n\nef\ng\r\n0\r\n\r\n";

    #[test]
    fn lines_are_read_at_every_cut() {
        for cut in 0..TEXT.len() {
            let mut answer = LineByLine::default();
            let mut lines = Vec::new();
            for part in [&TEXT[..cut], &TEXT[cut..]] {
                answer.feed(part);
                while let Ok(Some(line)) = answer.line() {
                    lines.push(String::from_utf8(line).unwrap());
                }
            }
            assert_eq!(lines, ["ab", "cd", "ef"], "cut at {cut}");
            assert!(answer.line().is_err(), "it has ended");
        }
    }

    #[test]
    fn answers_of_other_programs_are_ignored() {
        for bad in [
            &b"HTTP/1.1 403 Forbidden\r\n\r\n"[..],
            b"SSH-2.0",
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffff\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno line break in forty bytes of a chunk's head",
        ] {
            let mut answer = LineByLine::default();
            answer.feed(bad);
            assert!(answer.line().is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn the_word_to_type_is_the_programs_name() {
        for (subject, command, wanted) in [
            ("git push --force origin main", "cd x && git push --force origin main", "git"),
            ("/usr/bin/git push", "/usr/bin/git push -f", "git"),
            ("/", "chmod -R 777 /", "chmod"),
            ("", "A=1 B=2 terraform destroy", "terraform"),
            ("src/", "rm -r src/", "rm"),
        ] {
            assert_eq!(program_of(subject, command).as_deref(), Some(wanted), "{subject} in {command}");
        }
        assert_eq!(program_of("", "$(x)"), None);
    }
}
