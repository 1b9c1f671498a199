//! `headspace answer`: switch answering on or off, unlock a dashboard, answer an ask from this terminal.

use crate::commands::install::{answering as entry, short};
use crate::view::answering::{self, Answering, Said};
use crate::view::client::{self, Client};
use crate::view::columns::{hanging, terminal_columns};
use crate::view::person;
use anyhow::{Context, Result, bail};
use headspace_core::model::{AgentView, Choice, InteractionKind, InteractionView, Surface};
use headspace_core::text::{self, one_line, plain_lines};
use headspace_core::wire::{AnswerStatus, UnlockCode};
use headspace_platform::clock::local_time;
use headspace_platform::config::{self, Config};
use headspace_platform::usage::Usage;
use serde_json::json;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Answer permissions, questions and plans from anywhere
///
/// `on` adds a hook entry that waits beside the terminal's own dialog; `off` removes it. `unlock` prints a code that lets
/// one dashboard answer; `lock` withdraws every key. With an agent: `allow`, `deny [MESSAGE]`, `stop`, `approve`,
/// `keep-planning [MESSAGE]`, or the answer to its question. Only a person at a terminal may answer, never an agent.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace answer on\n  headspace answer unlock\n  headspace answer api allow\n  headspace answer api deny 'use another name'"
)]
pub struct AnswerArgs {
    /// `on`, `off`, `status`, `unlock`, `lock`, or an agent (id, name as `status` shows it, or the beginning of a name, project or session id)
    what: String,
    /// The answer to what the agent asks
    words: Vec<String>,
    /// Answer all identical asks at once, after listing them
    #[arg(long)]
    all: bool,
    /// Which ask, if the agent has several open
    #[arg(long, value_name = "ID")]
    ask: Option<i64>,
    /// The client's configuration directory, for `on` and `off`; may be repeated
    #[arg(long, value_name = "DIR")]
    config_dir: Vec<PathBuf>,
    /// Print JSON, for `status`
    #[arg(long)]
    json: bool,
}

pub fn run(args: &AnswerArgs) -> Result<ExitCode> {
    let alone = args.words.is_empty();
    match args.what.as_str() {
        "on" if alone => switch(true, args),
        "off" if alone => switch(false, args),
        "status" if alone => status(args.json),
        "unlock" if alone => unlock(),
        "lock" if alone => lock(),
        agent if alone => {
            let example = format!("headspace answer {agent} allow");
            Err(Usage(format!("could not answer: the answer is missing, as in `{example}` (or deny, or the answer to its question)")).into())
        }
        word @ ("on" | "off" | "status" | "unlock" | "lock") => Err(Usage(format!(
            "could not run `answer {word}`: it takes nothing more; an agent with this name has an id, too"
        ))
        .into()),
        agent => answer(agent, args),
    }
}

fn switch(on: bool, args: &AnswerArgs) -> Result<ExitCode> {
    let changed = entry::switch(on, &args.config_dir)?;
    for path in &changed {
        println!("{} {}", if on { "hook entry added to" } else { "hook entry removed from" }, short(path));
    }
    if on {
        let next = "answering is on, without a restart of your sessions; now `headspace answer unlock` prints a code for the dashboard";
        println!("{}", hanging(next, 0, 0, terminal_columns()));
    } else {
        println!("answering is off: the terminals ask as before");
    }
    Ok(ExitCode::SUCCESS)
}

fn status(json: bool) -> Result<ExitCode> {
    let config = Config::load()?;
    let client = Client::new(&config)?;
    let on = config::answering_file().exists();
    let status = answering::status(&client).unwrap_or(AnswerStatus { on, ..AnswerStatus::default() });
    if json {
        println!("{}", text::json(&serde_json::to_value(&status)?, true));
        return Ok(ExitCode::SUCCESS);
    }
    match (status.on, status.unlocked) {
        (false, _) => println!("answering is off (`headspace answer on`)"),
        (true, false) => println!("answering is on and locked (`headspace answer unlock`)"),
        (true, true) => println!("answering is on, {} waiting", status.waiting),
    }
    for key in &status.keys {
        let (hour, minute, _) = local_time(key.at);
        println!("  {} since {hour:02}:{minute:02}", answering::who(key));
    }
    for hook in config.webhooks.iter().filter(|hook| hook.allow) {
        println!("  notifications with an Allow button go to {}", one_line(hook.host(), 60));
    }
    Ok(ExitCode::SUCCESS)
}

fn unlock() -> Result<ExitCode> {
    person::require("unlock answering")?;
    let client = Client::new(&Config::load()?)?;
    let UnlockCode { code, seconds } =
        client.post("/api/answer/code", &json!({})).context("could not unlock answering")?;
    println!(
        "Type this code into the dashboard at {} within {}:\n\n    {code}\n",
        client.dashboard_url(),
        minutes(seconds)
    );
    println!("The code works once. `headspace answer lock` withdraws all keys.");
    Ok(ExitCode::SUCCESS)
}

fn minutes(seconds: u64) -> String {
    if seconds >= 120 { format!("{} minutes", seconds / 60) } else { format!("{seconds} seconds") }
}

/// Needs no terminal, because locking is always safe.
fn lock() -> Result<ExitCode> {
    let client = Client::new(&Config::load()?)?;
    if answering::status(&client).is_ok_and(|status| status.on) {
        answering::lock_all(&client).context("could not lock answering")?;
    }
    println!("locked: no dashboard or terminal can answer until `headspace answer unlock`");
    Ok(ExitCode::SUCCESS)
}

fn answer(word: &str, args: &AnswerArgs) -> Result<ExitCode> {
    person::require("answer")?;
    let client = Client::new(&Config::load()?)?;
    let agents = client.agents(true).context("could not answer")?;
    let agent = client::find_live(&agents, word, "answer")?;
    let ask = the_ask(agent, args.ask)?;
    let (choice, mut said) = meant(ask, &args.words)?;
    if !ask.answer.can().contains(&choice) {
        let why = ask.answer.why().map_or(String::new(), |why| format!(" ({why})"));
        bail!(
            "could not answer {}: this ask does not take `{choice}`{why}; it takes {}",
            title(agent),
            taken(ask)
        );
    }
    let mut asks = vec![(agent, ask)];
    if args.all {
        asks.extend(alike(&agents, agent, ask));
        list(&asks);
        let count = asks.len().to_string();
        if typed(&format!("Type {count} to {choice} all of them: "))? != count {
            bail!("could not answer: not confirmed");
        }
    }
    let confirm = asks.iter().find_map(|(_, ask)| ask.answer.confirm());
    if let Some(program) = confirm.filter(|_| choice.is_yes()) {
        println!("{}\n", plain_lines(&ask.text));
        let program = strip(program);
        let given = typed(&format!("The guard would stop this. Type `{program}` to allow it: "))?;
        said.confirm = Some(given);
    }
    let answering = Answering::open(&client, Surface::Cli).context("could not answer")?;
    let mut failed = false;
    for (agent, ask) in asks {
        match answering.answer(ask, choice, &said) {
            Ok(()) => println!("{choice}: {} · {}", title(agent), one_line(&ask.ask, 120)),
            Err(error) => {
                failed = true;
                eprintln!("headspace: could not answer {}: {}", title(agent), strip(&format!("{error:#}")));
            }
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The ask with this id, or else the one that can be answered.
fn the_ask(agent: &AgentView, id: Option<i64>) -> Result<&InteractionView> {
    let open: Vec<&InteractionView> =
        agent.interactions.iter().filter(|ask| id.is_none_or(|id| ask.id == id)).collect();
    let answerable: Vec<&InteractionView> =
        open.iter().copied().filter(|ask| !ask.answer.can().is_empty()).collect();
    match (answerable.as_slice(), open.first()) {
        ([ask], _) => Ok(ask),
        ([], None) => bail!("could not answer {}: it asks nothing", title(agent)),
        ([], Some(ask)) => {
            bail!("could not answer {}: {}", title(agent), ask.answer.why().unwrap_or_default())
        }
        (several, _) => {
            let ids: Vec<String> =
                several.iter().map(|ask| format!("{} ({})", ask.id, one_line(&ask.ask, 60))).collect();
            bail!(
                "could not answer {}: it has several open asks: {}; name one with --ask",
                title(agent),
                ids.join(", ")
            )
        }
    }
}

/// The other asks that are exactly alike, the agent's own first; each has its own digest.
fn alike<'a>(
    agents: &'a [AgentView],
    agent: &AgentView,
    ask: &InteractionView,
) -> Vec<(&'a AgentView, &'a InteractionView)> {
    let of = |other: &'a AgentView| {
        let alike = other.interactions.iter().filter(|one| answering::are_alike(ask, one));
        alike.map(move |one| (other, one)).collect::<Vec<_>>()
    };
    let own = agent.id;
    let mut found: Vec<_> = agents.iter().flat_map(of).collect();
    found.sort_by_key(|(other, _)| other.id != own);
    found
}

fn list(asks: &[(&AgentView, &InteractionView)]) {
    for (agent, ask) in asks {
        println!(
            "  {} · {} (in {})",
            title(agent),
            one_line(&ask.ask, 100),
            one_line(agent.cwd.as_deref().unwrap_or("?"), 80)
        );
    }
}

/// The choice and the message or answers that the words mean for this ask.
fn meant(ask: &InteractionView, words: &[String]) -> Result<(Choice, Said)> {
    let (first, rest) =
        (words.first().map(String::as_str).unwrap_or_default(), words.get(1..).unwrap_or_default());
    let message = Some(rest.join(" ")).filter(|text| !text.trim().is_empty());
    let choice = match first {
        "allow" => Some(Choice::Allow),
        "deny" => Some(Choice::Deny),
        "stop" => Some(Choice::Stop),
        "approve" => Some(Choice::Approve),
        "keep-planning" | "keep_planning" => Some(Choice::KeepPlanning),
        _ => None,
    };
    match (choice, ask.kind) {
        (Some(choice), _) if choice.is_yes() && message.is_some() => {
            Err(Usage(format!("could not answer: `{choice}` takes no message")).into())
        }
        (Some(Choice::Allow), InteractionKind::Plan) => Ok((Choice::Approve, Said::default())),
        (Some(choice), _) => Ok((choice, Said { message, ..Said::default() })),
        (None, InteractionKind::Question) => {
            let [question] = ask.questions.as_slice() else {
                bail!("could not answer: it asks {} questions; answer on the dashboard", ask.questions.len());
            };
            let text = words.join(" ");
            let is_label = question.options.iter().any(|option| option.label == text);
            let answer = if is_label { json!(text) } else { json!({"text": text}) };
            let answers = json!({question.question.clone(): answer});
            Ok((Choice::Answers, Said { answers: Some(answers), ..Said::default() }))
        }
        (None, _) => Err(Usage(format!("could not answer: this ask takes {}", taken(ask))).into()),
    }
}

/// What is typed for each choice.
const TYPED: &[(Choice, &str)] = &[
    (Choice::Allow, "`allow`"),
    (Choice::Approve, "`approve`"),
    (Choice::Answers, "the answer in your own words"),
    (Choice::KeepPlanning, "`keep-planning [MESSAGE]`"),
    (Choice::Deny, "`deny [MESSAGE]`"),
    (Choice::Stop, "`stop`"),
];

/// "`allow`, `deny [MESSAGE]` or `stop`": what this ask takes.
fn taken(ask: &InteractionView) -> String {
    let can = |row: &&(Choice, &str)| ask.answer.can().contains(&row.0);
    let words: Vec<&str> = TYPED.iter().filter(can).map(|(_, typed)| *typed).collect();
    match words.as_slice() {
        [] => "no answer from here".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A line from the terminal itself: text that is piped in was not typed by a person.
fn typed(prompt: &str) -> Result<String> {
    let mut out = std::io::stdout().lock();
    write!(out, "{prompt}")?;
    out.flush()?;
    let terminal = std::fs::File::open("/dev/tty").context("could not read the terminal")?;
    let mut line = String::new();
    std::io::BufReader::new(terminal).read_line(&mut line).context("could not read the terminal")?;
    Ok(line.trim().to_owned())
}

fn title(agent: &AgentView) -> String {
    one_line(&agent.title(), 60)
}

fn strip(text: &str) -> String {
    text::strip_control(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_the_ask_takes() {
        for (can, expected) in [
            (&["allow", "deny", "stop"][..], "`allow`, `deny [MESSAGE]` or `stop`"),
            (&["deny"], "`deny [MESSAGE]`"),
            (&["deny", "answers"], "the answer in your own words or `deny [MESSAGE]`"),
            (&["approve", "keep_planning"], "`approve` or `keep-planning [MESSAGE]`"),
            (&[], "no answer from here"),
        ] {
            let ask: InteractionView = serde_json::from_value(json!({
                "id": 7, "kind": "question", "text": "Which?", "ask": "Which?", "opened_at": headspace_core::stamp::Stamp(1),
                "answer": {"can": can, "digest": "x", "state": "open", "by": null, "at": null},
            }))
            .unwrap();
            assert_eq!(taken(&ask), expected, "{can:?}");
        }
    }
}
