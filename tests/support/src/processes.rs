use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::Once;

/// A process that ends with the test at the latest.
pub struct Process(Child);

impl Process {
    pub fn spawn(command: &mut Command) -> Process {
        Process(command.spawn().unwrap())
    }

    /// A process that does nothing for ten minutes, under this name, in this directory: a client's stand-in.
    pub fn named(name: &str, directory: &Path) -> Process {
        let script = format!("exec -a {name} sleep 600");
        Process::spawn(Command::new("bash").args(["-c", &script]).current_dir(directory))
    }

    /// A process that does nothing for ten minutes.
    pub fn idle() -> Process {
        Process::spawn(Command::new("sleep").arg("600"))
    }

    /// What it reads, if it was started with a pipe.
    pub fn stdin(&mut self) -> ChildStdin {
        self.0.stdin.take().unwrap()
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    pub fn end(self) {}
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command with this input and collects what it prints.
pub fn run(mut command: Command, input: impl AsRef<[u8]>) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may leave before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input.as_ref());
    child.wait_with_output().unwrap()
}

/// Writes a program. Another program does the writing: a child that some other test starts meanwhile would inherit a
/// file that we hold open, and a file that is open for writing cannot be run ("text file busy").
pub fn write_program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer = Command::new("sh");
    writer.args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(path);
    let written = run(writer, script);
    assert!(written.status.success(), "{written:?}");
}

/// Copies a program, for the same reason by a program.
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    std::fs::create_dir_all(to.as_ref().parent().unwrap()).unwrap();
    let copied = Command::new("cp").arg(from.as_ref()).arg(to.as_ref()).status();
    assert!(copied.unwrap().success());
}

/// Lets this process open some thousand connections. The limit holds for the whole process, so it is only ever raised.
pub fn allow_many_connections() {
    static RAISED: Once = Once::new();
    RAISED.call_once(|| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the pointers are to a living rlimit.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
            limit.rlim_cur = limit.rlim_cur.max(limit.rlim_max.min(8192));
            assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
        }
    });
}
