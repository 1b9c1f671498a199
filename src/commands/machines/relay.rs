//! `headspace relay`: this machine's board and its changes, as JSON lines for another machine.

use crate::view::client::Client;
use anyhow::{Context, Result, anyhow, bail};
use headspace_core::model::AgentView;
use headspace_core::stamp::Stamp;
use headspace_core::wire::AgentsPage;
use headspace_fleet::machines::relay_line::{
    About, BEAT_EVERY, Beat, Introduction, LONGEST_LINE, LONGEST_QUESTION, PROTOCOL, Question, RelayAnswer,
    RelayLine, WholeBoard,
};
use headspace_platform::clock::WallClock;
use headspace_platform::config::Config;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Print this machine's board and its changes as JSON lines (another machine's server runs this)
///
/// Prints every agent, then every change, and a sign of life every few seconds. Ends when this machine's server stops;
/// the other machine then runs it again and gets the whole board. Questions about the history of its agents come in on
/// standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ssh devbox headspace relay")]
pub struct RelayArgs {}

/// The stream says something every 15 s; a server that has been silent for this long hangs.
const SERVER_HANGS_AFTER: Duration = Duration::from_secs(40);
/// What an answer may take of a line.
const LONGEST_ANSWER: usize = LONGEST_LINE - 1024;

enum RelayNews {
    Agent(Box<AgentView>),
    /// The server is there.
    Alive,
    Line(RelayLine),
    ServerGone,
}

pub fn run(_: &RelayArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    let client = Client::new(&config)?;
    let down = || {
        let host = headspace_platform::process::host_name().unwrap_or_else(|| "this machine".into());
        format!("could not reach the server of {host}: `headspace up` starts it there")
    };
    // Opened before the list is read, so that no change is missed in between.
    let stream =
        client.stream("/api/events/stream?types=agent_updated").map_err(|_| anyhow!("{}", down()))?;
    let agents = client.get::<AgentsPage>("/api/agents")?.agents;
    let mut out = std::io::stdout().lock();
    let own: Vec<AgentView> = agents.into_iter().filter(is_own).collect();
    let introduction = Introduction {
        protocol: PROTOCOL,
        version: env!("HEADSPACE_VERSION").to_owned(),
        host: headspace_platform::process::host_name(),
        at: Stamp::now(),
    };
    let board = RelayLine::Board(WholeBoard { agents: own.len() });
    let mut text = RelayLine::Relay(introduction).written();
    own.into_iter().for_each(|agent| text += &RelayLine::Agent(Box::new(agent)).written());
    text += &board.written();
    if say(&mut out, &text).is_err() {
        return Ok(ExitCode::SUCCESS);
    }

    let (news, inbox) = channel();
    let own = news.clone();
    std::thread::spawn(move || follow(stream, &own));
    std::thread::spawn(move || answer_questions(&config, &news));
    let (mut said, mut alive) = (Instant::now(), Instant::now());
    loop {
        let line = match inbox.recv_timeout(BEAT_EVERY.saturating_sub(said.elapsed())) {
            Ok(RelayNews::Agent(agent)) => {
                alive = Instant::now();
                if !is_own(&agent) {
                    continue;
                }
                RelayLine::Agent(agent)
            }
            Ok(RelayNews::Alive) => {
                alive = Instant::now();
                continue;
            }
            Ok(RelayNews::Line(line)) => line,
            Ok(RelayNews::ServerGone) | Err(RecvTimeoutError::Disconnected) => bail!("{}", down()),
            Err(RecvTimeoutError::Timeout) if alive.elapsed() > SERVER_HANGS_AFTER => {
                bail!("the server of this machine does not answer any more")
            }
            Err(RecvTimeoutError::Timeout) => RelayLine::Beat(Beat { at: Stamp::now() }),
        };
        if say(&mut out, &line.written()).is_err() {
            // Nobody reads any more.
            return Ok(ExitCode::SUCCESS);
        }
        said = Instant::now();
    }
}

/// A machine relays its own agents, not those it hears from others: two that hear each other would never end.
fn is_own(agent: &AgentView) -> bool {
    agent.machine.is_none()
}

fn say(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn follow(stream: impl Read, news: &Sender<RelayNews>) {
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        let agent = line.strip_prefix("data:").and_then(|data| serde_json::from_slice(data.as_bytes()).ok());
        let one = agent.map_or(RelayNews::Alive, |agent| RelayNews::Agent(Box::new(agent)));
        if news.send(one).is_err() {
            return;
        }
    }
    let _ = news.send(RelayNews::ServerGone);
}

/// Reads questions until standard input ends, which need not be the end of the relay.
fn answer_questions(config: &Config, news: &Sender<RelayNews>) {
    let mut stdin = BufReader::new(std::io::stdin());
    loop {
        let mut line = Vec::new();
        match (&mut stdin).take(LONGEST_QUESTION as u64).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            _ => return,
        }
        let Ok(question) = serde_json::from_slice::<Question>(&line) else { continue };
        let (error, body) = match answer(config, &question) {
            Ok(body) => (None, body),
            Err(error) => (Some(format!("{error:#}")), Value::Null),
        };
        let answer = RelayLine::Answer(RelayAnswer { ask: question.ask, error, body });
        if news.send(RelayNews::Line(answer)).is_err() {
            return;
        }
    }
}

/// Asks the server of this machine, for fewer rows if they do not fit on a line.
fn answer(config: &Config, question: &Question) -> Result<Value> {
    let client = Client::new(config)?;
    let mut question = question.clone();
    loop {
        let path = question.path().context("it is not a question about an agent's history")?;
        let body: Value = match question.about {
            About::Seen => client.post(&path, &json!({}))?,
            _ => client.get(&path)?,
        };
        if body.to_string().len() <= LONGEST_ANSWER {
            return Ok(body);
        }
        match question.limit.unwrap_or(100) / 4 {
            0 => bail!("the answer is too long for the line"),
            fewer => question.limit = Some(fewer),
        }
    }
}
