//! Programs that control other programs: terminals, the desktop, later runs, other users' rights, and headspace itself.

use crate::code;
use crate::code::Language;
use crate::eval::Evaluator;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{Stream, Tags};
use crate::programs::runners::shells;
use crate::programs::{Call, Spec};
use crate::rules;

/// `osascript`: AppleScript can run shell text and send messages.
pub(crate) fn osascript(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "els", ..Spec::default() });
    let mut script: Vec<&str> = options.values(&["e"]).collect();
    if script.is_empty()
        && let Stream::Text(text, _) = call.stdin
    {
        script.push(text);
    }
    let text = script.join("\n");
    if text.is_empty() {
        if options.operands.first().is_none_or(|file| *file == "-") {
            shells::program(eval, state, Language::AppleScript, call.stdin, &[], call);
        }
        return Stream::Data(Tags::NONE);
    }
    code::apple_script(eval, state, &text, call);
    Stream::Data(Tags::NONE)
}

/// `tmux send-keys`, `new-session 'command'`: text that another terminal runs.
pub(crate) fn tmux(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "LSfcTtsnxyFeEblpPdw", stops: true, ..Spec::default() });
    let Some((verb, _)) = options.operands.split_first() else { return Stream::None };
    if types_into_agent(eval, &call.args()[options.rest.min(call.args().len())..]) {
        call.report(eval, state, &rules::ANSWER_AGENT);
    }
    let args = &call.args()[(options.rest + 1).min(call.args().len())..];
    let inner = crate::programs::Options::read(
        args,
        Spec { short: "tscnxyFeEblpPNS", stops: true, ..Spec::default() },
    );
    let text = match *verb {
        "send-keys" | "send" => {
            let words = inner
                .operands
                .iter()
                .filter(|word| !matches!(**word, "Enter" | "C-m" | "C-c" | "C-d" | "Escape"));
            words.copied().collect::<Vec<_>>().join(" ")
        }
        "new-session" | "new" | "new-window" | "neww" | "split-window" | "splitw" | "respawn-pane"
        | "respawnp" | "run-shell" | "run" | "display-popup" | "popup" | "if-shell" => {
            inner.operands.join(" ")
        }
        // Ends everyone's sessions at once.
        "kill-server" => {
            call.report(eval, state, &rules::KILL_UNKNOWN);
            return Stream::None;
        }
        _ => return Stream::Data(Tags::NONE),
    };
    // What is typed into another program need not be complete shell text.
    let before = eval.worst.clone();
    eval.text(&mut state.clone(), &text, &Stream::None, false);
    if eval.worst.as_ref().is_some_and(|finding| std::ptr::eq(finding.rule, &rules::SHELL_UNREADABLE)) {
        eval.worst = before;
    }
    Stream::Data(Tags::NONE)
}

/// tmux commands that press keys in a pane: their short names, and the long ones, of which a beginning will do.
const TYPING: (&[&str], &[&str]) = (&["send", "pasteb"], &["send-keys", "paste-buffer"]);

/// Whether one of these tmux commands, which `;` separates, types into a pane that is known to be an agent's: the keys
/// would answer its dialogs. Without a target it is the pane the call itself comes from.
fn types_into_agent(eval: &Evaluator<'_>, words: &[String]) -> bool {
    let typing = |word: &str| {
        TYPING.0.contains(&word) || TYPING.1.iter().any(|long| word.len() > 4 && long.starts_with(word))
    };
    let commands = words.split(|word| word == ";").filter_map(<[String]>::split_first);
    let mut commands = commands.filter(|(verb, _)| typing(verb)).peekable();
    if commands.peek().is_none() {
        return false;
    }
    let panes = eval.agent_panes();
    commands.any(|(_, args)| {
        let options =
            crate::programs::Options::read(args, Spec { short: "tbsN", stops: true, ..Spec::default() });
        match options.value(&["t"]) {
            None => panes.own.is_some(),
            Some(target) => panes.own.iter().chain(&panes.known).any(|pane| target.ends_with(pane.as_str())),
        }
    })
}

/// `screen -dm command`
pub(crate) fn screen(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "SchprsTtXe", stops: true, ..Spec::default() });
    if options.value(&["X"]).is_none() && !options.operands.is_empty() {
        eval.call(&mut state.clone(), &call.args()[options.rest..], &Stream::None, false);
    }
    Stream::None
}

/// `at`, `batch`: they run what they read later.
pub(crate) fn at(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let lists = call.args().iter().any(|arg| matches!(arg.as_str(), "-l" | "-r" | "-d" | "-c" | "-V"));
    if !lists {
        shells::program(eval, state, Language::Shell, call.stdin, &[], call);
    }
    Stream::None
}

/// `sudo` and similar: the answer is the same whatever they would run.
pub(crate) fn privilege(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    if let [flag] = call.args()
        && matches!(flag.as_str(), "--help" | "--version")
        && !matches!(call.name, "sudo" | "su" | "doas" | "pkexec")
    {
        return Stream::Data(Tags::NONE);
    }
    call.report(eval, state, &rules::PRIVILEGE);
    Stream::Data(call.stdin.tags().only(Tags::FLOWING))
}

/// headspace itself: an agent may neither uninstall the guard nor answer for its user.
pub(crate) fn headspace(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    let answers = match options.operands.as_slice() {
        ["answer", "status", ..] => false,
        ["reply", ..] => !options.has(&["list"]),
        // `wait` holds an ask: whoever runs it in the client's place swallows the answer.
        ["answer" | "stop" | "wake" | "wait" | "notify-when", ..] | ["guard", "allow", ..] => true,
        ["open", ..] => options.has(&["unlock"]),
        ["uninstall", ..] => {
            call.report(eval, state, &rules::WRITE_AGENT_SETTINGS);
            false
        }
        _ => false,
    };
    if answers && !options.has(&["help"]) {
        call.report(eval, state, &rules::ANSWER_AGENT);
    }
    Stream::Data(Tags::NONE)
}
