use crate::{Server, run, wait_until, write_program};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// An address where nobody listens.
pub const NO_SERVER: &str = "http://127.0.0.1:9";

/// The program under test: what `HEADSPACE_BIN` names, or the one that cargo built beside these tests.
pub fn binary() -> &'static str {
    static BINARY: LazyLock<String> = LazyLock::new(|| {
        let path = std::env::var_os("HEADSPACE_BIN").map_or_else(beside_the_tests, PathBuf::from);
        let path = path.canonicalize().unwrap_or_else(|error| {
            panic!("{}: {error}: run `cargo build`, or name the binary in HEADSPACE_BIN", path.display())
        });
        path.into_os_string().into_string().unwrap()
    });
    &BINARY
}

/// Tests are in `target/…/debug/deps`, the program is a directory above.
fn beside_the_tests() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let directory = test.ancestors().nth(2).unwrap();
    directory.join(format!("headspace{}", std::env::consts::EXE_SUFFIX))
}

/// A port that stays free until the test takes it: below those that the kernel gives to connections and to
/// `--port 0`, and given out once.
pub fn free_port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let turn = std::process::id().wrapping_mul(61).wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + (turn % 12_000) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// What a command printed; it must have succeeded.
pub fn succeeded(output: Output) -> String {
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out
}

/// A home directory of its own. Commands see nothing of the machine's user: neither the environment, nor settings,
/// nor a server.
pub struct Home {
    path: PathBuf,
    state: PathBuf,
    config: PathBuf,
    variables: BTreeMap<String, OsString>,
    directory: PathBuf,
    port: Option<u16>,
    _temporary: tempfile::TempDir,
}

impl Home {
    /// State and configuration are where they are by default. Hooks find no server.
    pub fn new() -> Home {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().canonicalize().unwrap();
        let mut home = Home {
            state: path.join(".local/state/headspace"),
            config: path.join(".config/headspace"),
            variables: BTreeMap::new(),
            directory: path.clone(),
            port: None,
            path,
            _temporary: temporary,
        };
        home.set("HOME", home.path.clone());
        home.set("PATH", format!("{}/bin:/usr/bin:/bin", home.path.display()));
        home.set("CLAUDE_HEADSPACE_URL", NO_SERVER);
        home
    }

    /// State and configuration are where the XDG variables say. Commands are not told where a server is.
    pub fn with_xdg_directories() -> Home {
        let mut home = Home::new();
        home.set("XDG_STATE_HOME", home.at("state"));
        home.set("XDG_CONFIG_HOME", home.at("config"));
        (home.state, home.config) = (home.at("state/headspace"), home.at("config/headspace"));
        home.unset("CLAUDE_HEADSPACE_URL");
        home
    }

    /// The configuration names a port that is free.
    pub fn with_port(mut config: Value) -> Home {
        let mut home = Home::new();
        let port = free_port();
        config["port"] = json!(port);
        if config.get("notifications").is_none() {
            config["notifications"] = json!({"desktop": false});
        }
        home.configure(config);
        home.port = Some(port);
        home.unset("CLAUDE_HEADSPACE_URL");
        home
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path.join(path)
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    pub fn database(&self) -> PathBuf {
        self.state.join("headspace.db")
    }

    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.jsonc")
    }

    /// The port that its configuration names.
    pub fn port(&self) -> u16 {
        self.port.expect("a home with a port")
    }

    /// Writes the configuration.
    pub fn configure(&self, config: impl ToString) {
        std::fs::create_dir_all(&self.config).unwrap();
        std::fs::write(self.config_file(), config.to_string()).unwrap();
    }

    /// Writes a file, and the directories above it.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Sets an environment variable of every command.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.insert(name.to_owned(), value.into());
    }

    pub fn unset(&mut self, name: &str) {
        self.variables.remove(name);
    }

    /// Where every command runs; without it, at home.
    pub fn run_in(&mut self, directory: PathBuf) {
        self.directory = directory;
    }

    /// The `PATH` of every command.
    pub fn search_path(&self) -> String {
        self.variables.get("PATH").map(|path| path.to_str().unwrap().to_owned()).unwrap_or_default()
    }

    /// Writes a program that every command finds before the machine's own.
    pub fn program(&self, name: &str, script: &str) {
        write_program(&self.at("bin").join(name), script);
    }

    /// A project directory with a git branch.
    pub fn project(&self, name: &str, branch: &str) -> PathBuf {
        self.write(Path::new(name).join(".git/HEAD"), format!("ref: refs/heads/{branch}\n"));
        self.at(name)
    }

    /// `headspace` with these arguments.
    pub fn command(&self, args: &[&str]) -> Command {
        self.command_of(binary(), args)
    }

    /// Any program, with the environment of this home.
    pub fn command_of(&self, program: impl AsRef<Path>, args: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .args(args)
            .env_clear()
            .envs(&self.variables)
            .current_dir(&self.directory)
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub fn run_with(&self, args: &[&str], input: impl AsRef<[u8]>) -> Output {
        run(self.command(args), input)
    }

    /// What a command prints, which must succeed.
    pub fn ok(&self, args: &[&str]) -> String {
        succeeded(self.run(args))
    }

    /// What a command prints with `--json`; it must succeed.
    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[args, &["--json"]].concat())).unwrap()
    }

    /// A server in this home: on the port of its configuration, or on one of its own choice.
    pub fn serve(&self) -> Server {
        let own_choice = ["--port", "0"];
        let port: &[&str] = if self.port.is_some() { &[] } else { &own_choice };
        Server::start(self.command(&[&["serve"], port].concat()))
    }

    /// Sends one hook event the way the client does.
    pub fn send(&self, name: &str, session: &str, cwd: &Path, fields: Value) {
        self.send_with(name, session, cwd, fields, &[]);
    }

    /// Sends one hook event, with variables that the client's terminal would have set.
    pub fn send_with(&self, name: &str, session: &str, cwd: &Path, fields: Value, env: &[(&str, &str)]) {
        let mut body = json!({"session_id": session, "hook_event_name": name, "cwd": cwd});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let mut hook = self.command(&["notify"]);
        hook.env("CLAUDE_CODE_ENTRYPOINT", "cli").envs(env.iter().copied());
        succeeded(run(hook, body.to_string()));
    }

    fn spool_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.state.join("spool")) else { return Vec::new() };
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "event"));
        paths
    }

    /// What is in the spool, oldest first: header and body. An event that a server takes meanwhile is left out.
    pub fn spooled(&self) -> Vec<(Value, Value)> {
        let mut paths = self.spool_files();
        paths.sort();
        let read = |path: &PathBuf| {
            let text = match std::fs::read_to_string(path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
                text => text.unwrap(),
            };
            let (header, body) = text.split_once('\n').unwrap();
            Some((serde_json::from_str(header).unwrap(), serde_json::from_str(body).unwrap()))
        };
        paths.iter().filter_map(read).collect()
    }
}

impl Default for Home {
    fn default() -> Home {
        Home::new()
    }
}

/// A home whose server can be stopped and started again, always on the same port.
pub struct Installation {
    server: Option<Server>,
    pub home: Home,
}

impl Installation {
    pub fn new(config: Value) -> Installation {
        let mut installation = Installation::without_server(config);
        installation.start();
        installation
    }

    /// Everything but the server, which [`Installation::start`] starts.
    pub fn without_server(config: Value) -> Installation {
        let mut home = Home::with_port(config);
        // Where tmux is on some systems.
        home.set("PATH", format!("{}/bin:/usr/local/bin:/usr/bin:/bin", home.path().display()));
        home.set("LANG", "C.UTF-8");
        Installation { server: None, home }
    }

    pub fn start(&mut self) {
        self.server = Some(self.home.serve());
    }

    pub fn stop(&mut self) {
        self.server.take().expect("a server").stop();
    }

    /// The server, while it runs.
    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("a server")
    }

    /// [`Home::send`]; comes back when the server, if there is one, has the event.
    pub fn send(&self, name: &str, session: &str, cwd: &Path, fields: Value) {
        self.send_with(name, session, cwd, fields, &[]);
    }

    /// [`Home::send_with`]; comes back when the server, if there is one, has the event. A busy machine may make the hook
    /// late, and its event goes by way of the spool.
    pub fn send_with(&self, name: &str, session: &str, cwd: &Path, fields: Value, env: &[(&str, &str)]) {
        self.home.send_with(name, session, cwd, fields, env);
        if self.server.is_some() {
            wait_until("the server to take the event from the spool", || self.home.spooled().is_empty());
        }
    }
}

impl Deref for Installation {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}
