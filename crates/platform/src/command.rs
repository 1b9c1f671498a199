//! Runs another program for a bounded time: one that hangs must not hold up its caller. Begin with [`output_within`].

use std::io;
use std::process::{Command, Output};
use std::time::Duration;

/// Runs `command` with `input` on its standard input, and returns what it printed. If it has not ended after `limit`, it is
/// killed, and the error is [`io::ErrorKind::TimedOut`].
pub fn output_within(command: &mut Command, input: &str, limit: Duration) -> io::Result<Output> {
    use std::process::Stdio;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    bounded::run(command.spawn()?, input.as_bytes(), limit)
}

#[cfg(unix)]
mod bounded {
    use std::io::{self, ErrorKind, Read, Write};
    use std::os::fd::AsRawFd;
    use std::process::{Child, ExitStatus, Output};
    use std::time::{Duration, Instant};

    /// How often a program that has closed its output is checked for its end, which follows at once.
    const CHECK_END_EVERY: Duration = Duration::from_millis(1);

    pub fn run(mut child: Child, input: &[u8], limit: Duration) -> io::Result<Output> {
        let until = Instant::now() + limit;
        let ended = exchange(&mut child, input, until)
            .and_then(|(stdout, stderr)| Ok(Output { status: end_of(&mut child, until)?, stdout, stderr }));
        if ended.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        ended
    }

    /// Writes the input while it reads the output: either pipe may be full.
    fn exchange(child: &mut Child, mut input: &[u8], until: Instant) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let (mut stdin, mut stdout, mut stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ends = [
            stdin.as_ref().map(AsRawFd::as_raw_fd),
            stdout.as_ref().map(AsRawFd::as_raw_fd),
            stderr.as_ref().map(AsRawFd::as_raw_fd),
        ];
        for fd in ends.into_iter().flatten() {
            // SAFETY: fcntl takes plain numbers, and the descriptor is open.
            unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) };
        }
        let (mut printed, mut complained) = (Vec::new(), Vec::new());
        loop {
            if input.is_empty() {
                // Closed, so that the program sees the end of its input.
                stdin = None;
            }
            if stdout.is_none() && stderr.is_none() {
                return Ok((printed, complained));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            // A negative descriptor is skipped.
            let watch = |fd: Option<i32>, events| libc::pollfd { fd: fd.unwrap_or(-1), events, revents: 0 };
            let mut fds = [
                watch(stdin.as_ref().map(AsRawFd::as_raw_fd), libc::POLLOUT),
                watch(stdout.as_ref().map(AsRawFd::as_raw_fd), libc::POLLIN),
                watch(stderr.as_ref().map(AsRawFd::as_raw_fd), libc::POLLIN),
            ];
            let milliseconds = i32::try_from(left.as_millis()).unwrap_or(i32::MAX).max(1);
            // SAFETY: the array has the three entries that are announced, and outlives the call.
            unsafe { libc::poll(fds.as_mut_ptr(), 3, milliseconds) };
            if fds[0].revents != 0
                && let Some(pipe) = &mut stdin
            {
                match pipe.write(input) {
                    Ok(written) => input = &input[written..],
                    Err(error) if is_not_ready(&error) => {}
                    // The program does not want its input; what it prints still counts.
                    Err(_) => input = &[],
                }
            }
            if fds[1].revents != 0 {
                read_some(&mut stdout, &mut printed)?;
            }
            if fds[2].revents != 0 {
                read_some(&mut stderr, &mut complained)?;
            }
        }
    }

    /// Reads what is there; drops the pipe at its end.
    fn read_some(pipe: &mut Option<impl Read>, into: &mut Vec<u8>) -> io::Result<()> {
        let mut chunk = [0; 8192];
        let Some(open) = pipe else { return Ok(()) };
        match open.read(&mut chunk) {
            Ok(0) => *pipe = None,
            Ok(length) => into.extend_from_slice(&chunk[..length]),
            Err(error) if is_not_ready(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn is_not_ready(error: &io::Error) -> bool {
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
    }

    fn end_of(child: &mut Child, until: Instant) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= until {
                return Err(ErrorKind::TimedOut.into());
            }
            std::thread::sleep(CHECK_END_EVERY);
        }
    }
}

/// Other systems wait as long as it takes.
#[cfg(not(unix))]
mod bounded {
    use std::io::{self, Write};
    use std::process::{Child, Output};
    use std::time::Duration;

    pub fn run(mut child: Child, input: &[u8], _: Duration) -> io::Result<Output> {
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(input);
        }
        child.wait_with_output()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(60);

    fn run(script: &str, input: &str, limit: Duration) -> io::Result<Output> {
        output_within(Command::new("sh").args(["-c", script]), input, limit)
    }

    #[test]
    fn a_program_that_hangs_is_killed_after_its_time() {
        for script in ["exec sleep 60", "exec >&- 2>&-; exec sleep 60", "printf begun; exec sleep 60"] {
            let begun = Instant::now();
            let error = run(script, "", Duration::from_millis(100)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{script}");
            assert!(begun.elapsed() < LONG / 2, "{script}");
        }
    }

    #[test]
    fn long_input_and_output_pass_each_other() {
        let input = "line\n".repeat(100_000);
        let output = run("cat; echo no >&2; exit 3", &input, LONG).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.as_slice()), (input.len(), &b"no\n"[..]));
        assert_eq!(output.status.code(), Some(3));
        assert!(run("exit 0", &input, LONG).unwrap().status.success(), "input that nobody reads");
        assert!(output_within(&mut Command::new("/no/such/program"), "", LONG).is_err());
    }
}
