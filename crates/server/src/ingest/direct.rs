//! A hook's plain event, from the bytes on the server's socket to the answer, on one thread.
//!
//! The ordinary way of a request crosses threads twice, runtime ▶ writer ▶ runtime, and every crossing waits until the
//! system has woken somebody: on an idle machine that took longer than all the rest. So the thread that takes the
//! connection records the event itself, if the writer has nothing to do, and tells everybody else after its answer.
//! Whatever is not plain (a slow client, a large body, a text to reply, a transcript to read first, a busy writer) takes
//! the ordinary way, which gives the same answers.

use crate::app_state::SharedState;
use crate::http::own_socket::HandedOver;
use crate::ingest::receive::{self, Plain};
use crate::ledger::writer::{self, SharedWriter};
use headspace_platform::net::{hook_request, socket};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A hook writes its request right after it has connected; who takes longer is not waited for.
const WAIT_FOR_REQUEST: Duration = Duration::from_millis(5);
/// After somebody who took longer nobody is waited for during this time: a thousand of them must not hold up a hook.
const NO_WAIT_FOR: Duration = Duration::from_millis(250);

/// What became of a connection.
#[derive(Debug)]
pub enum Next {
    Answered,
    HandOver(HandedOver),
}

pub struct Direct {
    app: SharedState,
    /// `None`: every event is handed over.
    writer: Option<SharedWriter>,
    buffer: Vec<u8>,
    no_wait_until: Option<Instant>,
}

impl Direct {
    pub fn new(app: SharedState, writer: Option<SharedWriter>) -> Direct {
        Direct { app, writer, buffer: vec![0; hook_request::MAX_REQUEST + 1], no_wait_until: None }
    }

    pub fn answer(&mut self, mut stream: UnixStream) -> Next {
        let hand_over = |stream, read: &[u8]| Next::HandOver(HandedOver { read: read.to_vec(), stream });
        if stream.set_nonblocking(true).is_err() {
            return hand_over(stream, &[]);
        }
        let length = self.read(&mut stream);
        let read = &self.buffer[..length];
        let (Some(writer), hook_request::Recognized::Whole { slug, body }) =
            (&self.writer, hook_request::recognize(read))
        else {
            return hand_over(stream, read);
        };
        let Some(plain) = receive::plain(&self.app, slug, body) else { return hand_over(stream, read) };
        let Some(mut writer) = writer::if_idle(writer) else { return hand_over(stream, read) };
        let Plain { event, signal, begun } = plain;
        let app = self.app.clone();
        writer.record(event, move |answer| {
            app.ledger.counts().direct.fetch_add(1, Ordering::Relaxed);
            let (status, body) = receive::answered(&answer);
            // The client may have gone; then the event is in its spool, too, and counts once.
            let _ = stream.write_all(&response(status, &body));
            drop(stream);
            if let (Ok(receipt), Some(begun)) = (&answer, begun)
                && !receipt.duplicate
            {
                app.cost.answered(begun);
            }
        });
        drop(writer);
        self.app.reconciler.heard(signal);
        Next::Answered
    }

    /// Reads until the request is whole, cannot be a hook's, or does not come.
    fn read(&mut self, stream: &mut UnixStream) -> usize {
        let (mut length, begun) = (0, Instant::now());
        while length < self.buffer.len() {
            match stream.read(&mut self.buffer[length..]) {
                Ok(0) => break,
                Ok(more) => {
                    length += more;
                    if hook_request::recognize(&self.buffer[..length]) != hook_request::Recognized::Part {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let left = WAIT_FOR_REQUEST.saturating_sub(begun.elapsed());
                    let hurried = self.no_wait_until.is_some_and(|until| begun < until);
                    if hurried || left.is_zero() || !socket::wait_readable([Some(stream.as_fd())], left)[0] {
                        self.no_wait_until = Some(begun + NO_WAIT_FOR);
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        length
    }
}

fn response(status: u16, body: &[u8]) -> Vec<u8> {
    let reason = if status == 200 { "OK" } else { "Service Unavailable" };
    let mut response = Vec::with_capacity(body.len() + 128);
    let _ = write!(
        response,
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    response.extend_from_slice(body);
    response
}
