//! One command, run as the client runs it: a session of its own, pipes, and a deadline that ends the whole process
//! group.

use crate::running::HookExecutionResult;
use headspace_platform::process_group;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How much of each output is kept; the rest is read and discarded.
pub(super) const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// Between SIGTERM and SIGKILL for a hook that has run out of time.
const KILL_AFTER: Duration = Duration::from_millis(500);

/// How long a background child that keeps the pipes open can delay the result after the hook itself has ended.
const PIPES_CLOSE_WITHIN: Duration = Duration::from_millis(500);

/// What to start, and where.
#[derive(Clone, Debug)]
pub(super) struct StartCommand {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub directory: PathBuf,
    /// Set in addition to the inherited environment.
    pub env: Vec<(String, OsString)>,
}

enum ProcessEvent {
    Out(Vec<u8>),
    Err(Vec<u8>),
    OutEnd,
    ErrEnd,
    Exit(std::io::Result<ExitStatus>),
}

/// Runs to the end or to the deadline, whichever comes first.
pub(super) fn run(start: &StartCommand, stdin: Vec<u8>, timeout: Duration) -> HookExecutionResult {
    let begin = Instant::now();
    let mut result = HookExecutionResult::default();
    let mut child =
        match command(start).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => {
                result.error = Some(format!("could not start {}: {error}", start.program.display()));
                result.duration = begin.elapsed();
                return result;
            }
        };
    let pid = child.id();
    let events = watch(&mut child, stdin);
    let waiter = events.sender.clone();
    thread::spawn(move || waiter.send(ProcessEvent::Exit(child.wait())));
    drop(events.sender);

    let mut output = Captured::default();
    let ended = collect(&events.receiver, begin, timeout, &mut output);
    if ended.is_none() {
        process_group::end(pid, KILL_AFTER);
    }
    result.duration = begin.elapsed();
    result.stdout = text(&output.out);
    result.stderr = text(&output.err);
    result.truncated = output.truncated;
    match ended {
        None => {
            result.timed_out = true;
            result.error = Some(format!("timed out after {} s", timeout.as_secs_f64()));
        }
        Some(Err(error)) => result.error = Some(format!("could not wait for its end: {error}")),
        Some(Ok(status)) => describe(status, &mut result),
    }
    result
}

/// Starts and forgets: the payload is in a file that no other process can open, so that the hook can read it after we are
/// gone.
pub(super) fn start_detached(start: &StartCommand, stdin: &[u8]) -> std::io::Result<()> {
    let mut file = nameless_file()?;
    file.write_all(stdin)?;
    std::io::Seek::rewind(&mut file)?;
    let mut child = command(start).stdin(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    thread::spawn(move || child.wait());
    Ok(())
}

fn nameless_file() -> std::io::Result<std::fs::File> {
    let path = crate::running::temporary_path("stdin");
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path)?;
    let _ = std::fs::remove_file(&path);
    Ok(file)
}

fn command(start: &StartCommand) -> Command {
    let mut command = Command::new(&start.program);
    command.args(&start.args).current_dir(&start.directory).envs(start.env.iter().map(|(k, v)| (k, v)));
    process_group::lead_own_session(&mut command);
    command
}

struct ProcessEvents {
    sender: SyncSender<ProcessEvent>,
    receiver: Receiver<ProcessEvent>,
}

/// One thread per pipe: a hook may fill one while we are busy with another, and a pipe that never ends must block only
/// its own reader.
fn watch(child: &mut Child, payload: Vec<u8>) -> ProcessEvents {
    let (sender, receiver) = sync_channel(32);
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read its input is not an error.
        thread::spawn(move || stdin.write_all(&payload));
    }
    match child.stdout.take() {
        Some(stdout) => read_into(stdout, sender.clone(), ProcessEvent::Out, ProcessEvent::OutEnd),
        None => drop(sender.send(ProcessEvent::OutEnd)),
    }
    match child.stderr.take() {
        Some(stderr) => read_into(stderr, sender.clone(), ProcessEvent::Err, ProcessEvent::ErrEnd),
        None => drop(sender.send(ProcessEvent::ErrEnd)),
    }
    ProcessEvents { sender, receiver }
}

fn read_into(
    mut pipe: impl Read + Send + 'static,
    sender: SyncSender<ProcessEvent>,
    wrap: fn(Vec<u8>) -> ProcessEvent,
    end: ProcessEvent,
) {
    thread::spawn(move || {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => {
                    if sender.send(wrap(buffer[..length].to_vec())).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = sender.send(end);
    });
}

#[derive(Default)]
struct Captured {
    out: Vec<u8>,
    err: Vec<u8>,
    truncated: bool,
}

impl Captured {
    fn keep(buffer: &mut Vec<u8>, bytes: &[u8], truncated: &mut bool) {
        let room = MAX_OUTPUT_BYTES - buffer.len();
        *truncated |= bytes.len() > room;
        buffer.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// Reads until the process has ended and its pipes are closed, or have been silent for too long. `None`: out of time.
fn collect(
    events: &Receiver<ProcessEvent>,
    begin: Instant,
    timeout: Duration,
    output: &mut Captured,
) -> Option<std::io::Result<ExitStatus>> {
    let mut deadline = begin.checked_add(timeout);
    let mut open = 2;
    let mut status = None;
    while status.is_none() || open > 0 {
        let left =
            deadline.map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(Instant::now()));
        match events.recv_timeout(left) {
            Ok(ProcessEvent::Out(bytes)) => Captured::keep(&mut output.out, &bytes, &mut output.truncated),
            Ok(ProcessEvent::Err(bytes)) => Captured::keep(&mut output.err, &bytes, &mut output.truncated),
            Ok(ProcessEvent::OutEnd | ProcessEvent::ErrEnd) => open -= 1,
            Ok(ProcessEvent::Exit(ended)) => {
                status = Some(ended);
                deadline = Some(Instant::now() + PIPES_CLOSE_WITHIN);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        // Checked after output too: a flood of output must not outrun the clock.
        if deadline.is_some_and(|at| Instant::now() >= at) {
            break;
        }
    }
    status
}

#[cfg(unix)]
fn describe(status: ExitStatus, result: &mut HookExecutionResult) {
    use std::os::unix::process::ExitStatusExt;
    result.exit_code = status.code();
    result.signal = status.signal();
    result.success = status.success();
    if let Some(signal) = status.signal() {
        let name = process_group::signal_name(signal).map(|name| format!(" ({name})")).unwrap_or_default();
        result.error = Some(format!("killed by signal {signal}{name}"));
    }
}

#[cfg(not(unix))]
fn describe(status: ExitStatus, result: &mut HookExecutionResult) {
    result.exit_code = status.code();
    result.success = status.success();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
