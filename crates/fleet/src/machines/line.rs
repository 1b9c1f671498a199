//! The line to one machine: keeps a command running, reads its lines, and restarts it when it ends.
//!
//! One thread holds the board; two more read what the command prints, so that a command that hangs, floods or lies
//! keeps no other line waiting.

use crate::machines::far_board::{Changes, FarBoard};
use crate::machines::machine::{Machine, Way};
use crate::machines::pace::{Allowance, BackOff};
use crate::machines::relay_line::{LONGEST_LINE, LONGEST_QUESTION, Question, RelayLine};
use crate::machines::{Boards, News};
use headspace_core::json::serialize::to_text;
use headspace_core::model::{AgentId, MachineName};
use headspace_core::stamp::Stamp;
use headspace_core::text::one_line;
use headspace_core::wire::{LineState, MachineStatus};
use headspace_platform::clock::WallClock;
use headspace_platform::{log, process_group};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A relay sends something every four seconds; after this much silence it counts as not heard.
const SILENT_AFTER: Duration = Duration::from_secs(12);
/// How long it may take to introduce itself: ssh has to connect first.
const INTRODUCED_WITHIN: Duration = Duration::from_secs(30);
/// How long an ended command may take to exit cleanly.
const COMMAND_EXIT_GRACE: Duration = Duration::from_millis(300);
/// How long to wait for the last words of an ended command.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);
/// A machine has this long to answer a question; after that the question stays unanswered.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);
/// The most unanswered questions on one connection. All of them fit into the pipe, so asking never blocks.
const MOST_UNANSWERED: usize = 64;
/// The most lines read ahead.
const READ_AHEAD: usize = 8;
/// How many bytes of the command's standard error are kept: its end.
const COMPLAINT_BYTES: usize = 4096;
/// The most readers of ended commands that something left behind may still hold open.
const MOST_LEFT_BEHIND: usize = 8;

enum Input {
    Line(u64, Vec<u8>),
    TooLong(u64),
    Closed(u64),
    Ask(Question, Sender<Result<Value, String>>),
    End,
}

/// A handle on the line.
pub struct Line {
    pub machine: Machine,
    input: SyncSender<Input>,
    status: Arc<Mutex<MachineStatus>>,
    thread: JoinHandle<Vec<AgentId>>,
}

/// An answer on its way.
pub struct PendingAnswer(Option<Receiver<Result<Value, String>>>);

impl PendingAnswer {
    pub fn wait(self, machine: MachineName) -> Result<Value, String> {
        let late = || format!("{machine} does not answer");
        self.0.ok_or_else(late)?.recv_timeout(ANSWERED_WITHIN).unwrap_or_else(|_| Err(late()))
    }
}

impl Line {
    pub fn begin(machine: Machine, boards: Arc<dyn Boards>) -> std::io::Result<Line> {
        let (input, inbox) = sync_channel(READ_AHEAD);
        let status = Arc::new(Mutex::new(first_status(&machine)));
        let keeper = Keeper {
            board: FarBoard::of(&machine),
            machine: machine.clone(),
            boards,
            input: input.clone(),
            inbox,
            status: Arc::clone(&status),
            connection: 0,
            known_once: false,
            readers: Vec::new(),
        };
        let thread =
            std::thread::Builder::new().name(format!("line {}", machine.name)).spawn(move || keeper.run())?;
        Ok(Line { machine, input, status, thread })
    }

    pub fn status(&self) -> MachineStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn ask(&self, question: Question) -> PendingAnswer {
        let (answer, pending) = channel();
        // A full inbox means that the machine sends more than can be read: do not ask now.
        PendingAnswer(self.input.try_send(Input::Ask(question, answer)).ok().map(|()| pending))
    }

    /// Ends the line, and returns the agents that were shown.
    pub fn end(self) -> Vec<AgentId> {
        let _ = self.input.send(Input::End);
        self.thread.join().unwrap_or_default()
    }
}

fn first_status(machine: &Machine) -> MachineStatus {
    let (ssh, command) = match &machine.way {
        Way::Ssh { destination, .. } => (Some(destination.clone()), None),
        Way::Command(command) => (None, Some(command.clone())),
    };
    MachineStatus {
        name: machine.name.to_string(),
        ssh,
        command,
        runs: Some(machine.relay().join(" ")),
        state: LineState::Connecting,
        since: Some(Stamp::now()),
        ..MachineStatus::default()
    }
}

struct Keeper {
    machine: Machine,
    board: FarBoard,
    boards: Arc<dyn Boards>,
    input: SyncSender<Input>,
    inbox: Receiver<Input>,
    status: Arc<Mutex<MachineStatus>>,
    /// Counts the commands, so that a line from an ended one is not taken for the next one's.
    connection: u64,
    /// A complete board has been received since the line was started.
    known_once: bool,
    readers: Vec<JoinHandle<()>>,
}

/// Why a line is not up.
enum Over {
    Ended,
    Cut(String),
}

impl Keeper {
    fn run(mut self) -> Vec<AgentId> {
        let mut back_off = BackOff::default();
        loop {
            let began = Instant::now();
            self.tell(|status| (status.state, status.next_try_at) = (LineState::Connecting, None));
            let over = self.connect();
            let cut = self.board.cut();
            let Over::Cut(why) = over else {
                self.boards.show(cut.shown, News::Silent);
                return self.board.ids();
            };
            let wait = back_off.after(began.elapsed());
            if back_off.failures() == 1 {
                log::line(&format!("the line to {} is cut", self.machine.name));
            }
            let (tries, next) = (back_off.failures(), Stamp::now().plus(wait));
            let not_heard_since = self.board.not_heard_since();
            self.tell(|status| {
                status.since = not_heard_since;
                (status.state, status.error, status.tries) = (LineState::Cut, Some(why), tries);
                (status.not_heard_since, status.next_try_at) = (not_heard_since, Some(next));
            });
            // The board shows that it is cut; the reason is in the list of machines.
            self.boards.show(cut.shown, News::Silent);
            if !self.wait(wait) {
                return self.board.ids();
            }
        }
    }

    /// `false`: the line is no longer wanted.
    fn wait(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        loop {
            match self.inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Input::End) | Err(RecvTimeoutError::Disconnected) => return false,
                Ok(Input::Ask(_, answer)) => drop(answer.send(Err(self.unheard()))),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return true,
            }
        }
    }

    fn unheard(&self) -> String {
        format!("{} is not heard now", self.machine.name)
    }

    fn tell(&self, change: impl FnOnce(&mut MachineStatus)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Starts the command and follows it to its end.
    fn connect(&mut self) -> Over {
        self.readers.retain(|reader| !reader.is_finished());
        if self.readers.len() >= MOST_LEFT_BEHIND {
            return Over::Cut("its command leaves processes behind that hold its output open".into());
        }
        self.connection += 1;
        let words = self.machine.relay();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Without a terminal, ssh cannot ask for a password on the terminal the server was started from.
        process_group::lead_own_session(&mut command);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return Over::Cut(format!("could not run {}: {error}", one_line(&words[0], 80))),
        };
        let complaint = Arc::new(Mutex::new(String::new()));
        let (speaking, silence) = sync_channel(0);
        let over = match self.read(&mut child, &complaint, speaking) {
            Ok(stdin) => self.follow(stdin),
            Err(error) => Over::Cut(format!("could not start a thread for it: {error}")),
        };
        let ended = child.try_wait().ok().flatten();
        process_group::end(child.id(), COMMAND_EXIT_GRACE);
        let status = child.wait().ok();
        // Its output may end before its last words are read, or stay open forever in a process it left behind.
        if matches!(over, Over::Cut(_)) {
            let _ = silence.recv_timeout(LAST_WORDS_WITHIN);
        }
        match over {
            // The command's own words say more than the fact that it ended.
            Over::Cut(why) if ended.is_some() || why.is_empty() => {
                Over::Cut(self.why(status.and_then(|status| status.code()), &complaint))
            }
            over => over,
        }
    }

    /// Starts to read what the command prints.
    fn read(
        &mut self,
        child: &mut Child,
        complaint: &Arc<Mutex<String>>,
        speaking: SyncSender<()>,
    ) -> std::io::Result<Option<ChildStdin>> {
        if let Some(stdout) = child.stdout.take() {
            let (input, connection) = (self.input.clone(), self.connection);
            let name = format!("read {}", self.machine.name);
            let read = move || read_lines(stdout, connection, &input);
            self.readers.push(std::thread::Builder::new().name(name).spawn(read)?);
        }
        if let Some(stderr) = child.stderr.take() {
            let complaint = Arc::clone(complaint);
            let name = format!("errors {}", self.machine.name);
            let read = move || {
                read_complaint(stderr, &complaint);
                drop(speaking);
            };
            self.readers.push(std::thread::Builder::new().name(name).spawn(read)?);
        }
        Ok(child.stdin.take())
    }

    fn follow(&mut self, mut stdin: Option<ChildStdin>) -> Over {
        let mut open: BTreeMap<u64, Sender<Result<Value, String>>> = BTreeMap::new();
        let mut asked = 0;
        let mut heard = Instant::now();
        loop {
            let patience = if self.board.introduction().is_some() { SILENT_AFTER } else { INTRODUCED_WITHIN };
            match self.inbox.recv_timeout(patience.saturating_sub(heard.elapsed())) {
                Ok(Input::Line(connection, bytes)) if connection == self.connection => {
                    match RelayLine::read(&bytes) {
                        Some(RelayLine::Answer(answer)) => {
                            heard = Instant::now();
                            if let Some(sender) = open.remove(&answer.ask) {
                                let _ = sender.send(match answer.error {
                                    Some(error) => Err(one_line(&error, 200)),
                                    None => Ok(answer.body),
                                });
                            }
                        }
                        Some(line) => match self.board.take(line, bytes.len(), Stamp::now()) {
                            Ok(changes) => {
                                if self.board.introduction().is_some() {
                                    heard = Instant::now();
                                }
                                self.pass_on(changes);
                            }
                            Err(refused) => return Over::Cut(refused.0),
                        },
                        None => self.board.rubbish += 1,
                    }
                }
                Ok(Input::TooLong(connection)) if connection == self.connection => self.board.left_out += 1,
                Ok(Input::Closed(connection)) if connection == self.connection => {
                    return Over::Cut(String::new());
                }
                Ok(Input::Line(..) | Input::TooLong(_) | Input::Closed(_)) => {}
                Ok(Input::Ask(mut question, answer)) => {
                    asked += 1;
                    question.ask = asked;
                    let sent = open.len() < MOST_UNANSWERED && write_question(stdin.as_mut(), &question);
                    if sent && self.board.is_heard() {
                        open.insert(asked, answer);
                    } else {
                        let _ = answer.send(Err(self.unheard()));
                    }
                }
                Ok(Input::End) | Err(RecvTimeoutError::Disconnected) => return Over::Ended,
                Err(RecvTimeoutError::Timeout) => {
                    return Over::Cut(match self.board.introduction() {
                        Some(_) => format!("it said nothing for {} s", SILENT_AFTER.as_secs()),
                        None => "its command runs and prints no board: does it run `headspace relay`?".into(),
                    });
                }
            }
        }
    }

    fn pass_on(&mut self, changes: Changes) {
        let Changes { shown, gone, whole } = changes;
        let news = match (self.machine.alerts, whole && !self.known_once) {
            (false, _) => News::Silent,
            (true, true) => News::Known,
            (true, false) => News::Rings,
        };
        if !gone.is_empty() {
            self.boards.remove(gone);
        }
        if !shown.is_empty() {
            self.boards.show(shown, news);
        }
        if whole {
            self.known_once = true;
            log::line(&format!("the line to {} is up", self.machine.name));
        }
        let introduced = self.board.introduction();
        let (host, version) = introduced
            .map(|one| (one.host.clone(), one.version.clone()))
            .map_or((None, None), |(host, version)| (host, Some(version)));
        let (agents, left_out, rubbish) = (self.board.present(), self.board.left_out, self.board.rubbish);
        self.tell(|status| {
            (status.agents, status.left_out, status.not_understood) = (agents, left_out, rubbish);
            status.host = host.map(|host| one_line(&host, 100));
            status.version = version.map(|version| one_line(&version, 40));
            if whole {
                (status.state, status.since) = (LineState::Up, Some(Stamp::now()));
                (status.error, status.not_heard_since, status.tries) = (None, None, 0);
            }
        });
    }

    /// Why the command ended, in its own words if there were any.
    fn why(&self, code: Option<i32>, complaint: &Mutex<String>) -> String {
        let said = complaint.lock().unwrap_or_else(PoisonError::into_inner);
        let said = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let said = said.map(|line| one_line(line, 200));
        match (code, said, &self.machine.way) {
            (Some(127), _, Way::Ssh { program, .. }) => format!(
                "{program} is not on the PATH that ssh gets there: add the machine with --program, such as ~/.cargo/bin/headspace"
            ),
            (_, Some(said), _) => said,
            (Some(code), None, _) => format!("its command ended with {code}"),
            (None, None, _) => "its command was killed".into(),
        }
    }
}

/// `false`: the question could not be sent.
fn write_question(stdin: Option<&mut ChildStdin>, question: &Question) -> bool {
    let Ok(mut line) = to_text(question) else { return false };
    line.push('\n');
    let small = line.len() <= LONGEST_QUESTION;
    small && stdin.is_some_and(|stdin| stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_ok())
}

/// Passes lines on, each within the length limit and all of them within the allowance.
fn read_lines(stdout: impl Read, connection: u64, input: &SyncSender<Input>) {
    let mut stdout = BufReader::with_capacity(64 << 10, stdout);
    let mut allowance = Allowance::new(Instant::now());
    loop {
        let mut line = Vec::new();
        let mut whole = (&mut stdout).take(LONGEST_LINE as u64);
        let Ok(length) = whole.read_until(b'\n', &mut line) else { break };
        if length == 0 {
            break;
        }
        let read = if line.last() == Some(&b'\n') || length < LONGEST_LINE {
            input.send(Input::Line(connection, line))
        } else {
            drop(line);
            if skip_line(&mut stdout, &mut allowance).is_err() {
                break;
            }
            input.send(Input::TooLong(connection))
        };
        if read.is_err() {
            return;
        }
        std::thread::sleep(allowance.spend(length, Instant::now()));
    }
    let _ = input.send(Input::Closed(connection));
}

/// Reads to the end of a line that is too long, without keeping it.
fn skip_line(stdout: &mut impl BufRead, allowance: &mut Allowance) -> std::io::Result<()> {
    loop {
        let buffer = stdout.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        if length == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        stdout.consume(length);
        std::thread::sleep(allowance.spend(length, Instant::now()));
        if end.is_some() {
            return Ok(());
        }
    }
}

fn read_complaint(mut stderr: impl Read, complaint: &Mutex<String>) {
    let mut buffer = [0; 1024];
    let mut kept: Vec<u8> = Vec::new();
    while let Ok(length @ 1..) = stderr.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..length]);
        let over = kept.len().saturating_sub(COMPLAINT_BYTES);
        kept.drain(..over);
        *complaint.lock().unwrap_or_else(PoisonError::into_inner) =
            String::from_utf8_lossy(&kept).into_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_off_at_their_length_and_reading_goes_on_behind_them() {
        let mut text = b"{\"gone\":1}\n".to_vec();
        text.extend(vec![b'x'; LONGEST_LINE * 2]);
        text.extend(b"\n{\"gone\":2}\nno end");
        let (input, inbox) = sync_channel(64);
        read_lines(&text[..], 7, &input);
        let read: Vec<String> = inbox
            .try_iter()
            .map(|input| match input {
                Input::Line(7, line) => String::from_utf8_lossy(&line).trim().to_owned(),
                Input::TooLong(7) => "too long".into(),
                Input::Closed(7) => "closed".into(),
                _ => "?".into(),
            })
            .collect();
        assert_eq!(read, ["{\"gone\":1}", "too long", "{\"gone\":2}", "no end", "closed"]);
    }
}
