//! A test event: runs the installed command as the client would, against a receiver of our own, so that nothing reaches
//! the user's history or spool.

use anyhow::{Context, Result, bail};
use headspace_hooks::client_settings::entry::Call;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longer than the hook's deadline.
const TEST_EVENT_WITHIN: Duration = Duration::from_secs(3);

const EVENT: &str = r#"{"session_id":"headspace-install-test","hook_event_name":"Notification","notification_type":"headspace_test","message":"Is it delivered?"}"#;

const ACK: &str = r#"{"status":"ok","event_id":1,"agent_id":1,"is_new_agent":false,"correlation_method":"session_id","state":"idle","status_now":"idle"}"#;

/// Runs `call` with an event and waits until the event is delivered and the command has ended; returns how long it took.
pub fn run(call: &Call) -> Result<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").context("could not open a port")?;
    let url = format!("http://{}", listener.local_addr()?);
    let state = scratch_dir()?;
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let delivered =
            listener.accept().map_err(anyhow::Error::from).and_then(|(stream, _)| receive(&stream));
        let _ = tell.send(delivered);
    });
    let started = Instant::now();
    let result = start(call, &url, &state).and_then(|mut child| wait(&mut child, started));
    // A command that succeeded has read its answer, so the receiver is done or about to be.
    let result = result.and_then(|took| match told.recv_timeout(Duration::from_millis(300)) {
        Ok(Ok(())) => Ok(took),
        Ok(Err(error)) => Err(error),
        Err(_) => bail!("the command succeeded but delivered nothing"),
    });
    let _ = std::fs::remove_dir_all(&state);
    result
}

fn start(call: &Call, url: &str, state: &std::path::Path) -> Result<Child> {
    let mut command = match call {
        Call::Exec { program, args } => {
            let mut command = Command::new(program);
            command.args(args);
            command
        }
        Call::Shell(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(line);
            command
        }
    };
    command
        .env(headspace_platform::config::var::URL, url)
        .env("XDG_STATE_HOME", state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().context("could not start the command")?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input delivers nothing, which is reported below.
        let _ = stdin.write_all(EVENT.as_bytes()).and_then(|()| stdin.write_all(b"\n"));
    }
    Ok(child)
}

fn wait(child: &mut Child, started: Instant) -> Result<Duration> {
    loop {
        if let Some(status) = child.try_wait()? {
            let took = started.elapsed();
            anyhow::ensure!(status.success(), "the command failed: {status}");
            return Ok(took);
        }
        if started.elapsed() > TEST_EVENT_WITHIN {
            let _ = child.kill();
            let _ = child.wait();
            bail!("the command did not end within {} s", TEST_EVENT_WITHIN.as_secs());
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Takes one request and acknowledges it as the server would.
fn receive(stream: &TcpStream) -> Result<()> {
    stream.set_read_timeout(Some(TEST_EVENT_WITHIN))?;
    let mut reader = BufReader::new(stream.take(64 * 1024));
    let mut length = 0usize;
    let mut line = String::new();
    loop {
        line.clear();
        anyhow::ensure!(reader.read_line(&mut line)? > 0, "the command sent an incomplete request");
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().context("could not read the request")?;
        }
    }
    let mut body = vec![0; length.min(64 * 1024)];
    reader.read_exact(&mut body)?;
    anyhow::ensure!(
        memchr::memmem::find(&body, b"headspace-install-test").is_some(),
        "something other than the event arrived"
    );
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{ACK}",
        ACK.len()
    )?;
    Ok(())
}

/// A private directory for files that the command may leave behind.
fn scratch_dir() -> Result<std::path::PathBuf> {
    let dir = headspace_platform::config::state_dir().join(format!("test-{}", std::process::id()));
    headspace_platform::files::private_dir(&dir)?;
    Ok(dir)
}
