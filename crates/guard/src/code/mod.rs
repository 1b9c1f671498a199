//! Programs on the command line: `python -c`, `node -e`, a heredoc to `perl`. They are not understood, only scanned for
//! calls that run, delete, write or read something, with the arguments as far as they are plain text.

mod aliases;
mod calls;
mod functions;
mod tokens;
mod values;

use crate::code::tokens::Token;
use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::ShellState;
use crate::eval::value::Stream;
use crate::programs::Call;
use crate::rules;
use crate::rules::names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Shell,
    Python,
    JavaScript,
    Perl,
    Ruby,
    Php,
    AppleScript,
    PowerShell,
    /// Scanned like the others, using the most common conventions.
    Other,
}

impl Language {
    /// The language of a script, by its first line.
    pub(crate) fn of_shebang(text: &str) -> Language {
        let first = text.lines().next().unwrap_or("");
        if !first.starts_with("#!") {
            return Language::Shell;
        }
        [
            ("python", Language::Python),
            ("node", Language::JavaScript),
            ("deno", Language::JavaScript),
            ("perl", Language::Perl),
            ("ruby", Language::Ruby),
            ("php", Language::Php),
            ("osascript", Language::AppleScript),
            ("pwsh", Language::PowerShell),
        ]
        .into_iter()
        .find(|(name, _)| first.contains(name))
        .map_or(Language::Shell, |(_, language)| language)
    }
}

/// Scans a program in any language but the shell's.
pub(crate) fn judge(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    language: Language,
    code: &str,
    call: &Call<'_>,
) {
    match language {
        Language::AppleScript => apple_script(eval, state, code, call),
        Language::PowerShell => crate::powershell::judge(eval, state, code),
        language => calls::scan(eval, state, language, code, &call.show()),
    }
}

/// Like [`judge`], for code that does not come from a command line.
pub(crate) fn judge_tool(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    language: Language,
    code: &str,
    subject: &str,
) {
    calls::scan(eval, state, language, code, subject);
}

/// `awk`: `system("…")`, `print | "command"`, `"command" | getline`, `print > "file"`.
pub(crate) fn awk(eval: &mut Evaluator<'_>, state: &mut ShellState, program: &str, call: &Call<'_>) {
    if !program.contains(['|', '>']) && !program.contains("system") {
        return;
    }
    let tokens = tokens::read(program, Language::Other);
    let mut prints = false;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &tokens[at]);
        let earlier = at.checked_sub(2).map(|at| &tokens[at]);
        match token {
            Token::Name(name) if name.starts_with("print") => prints = true,
            Token::Punct(';' | '{' | '}') | Token::Line => prints = false,
            Token::Text(text, _) => {
                let runs = matches!((earlier, before), (Some(Token::Name(name)), Some(Token::Punct('('))) if name == "system")
                    || (prints && before == Some(&Token::Punct('|')))
                    || (tokens.get(at + 1) == Some(&Token::Punct('|'))
                        && matches!(tokens.get(at + 2), Some(Token::Name(name)) if name == "getline"));
                if !eval.spend(8) {
                    return;
                }
                if runs {
                    eval.text(&mut state.clone(), text, &Stream::None, false);
                } else if prints && before == Some(&Token::Punct('>')) {
                    eval.write(state, text, WriteKind::Overwrite, &call.show());
                }
            }
            Token::Name(name) if name == "system" => {
                let literal = matches!(
                    (tokens.get(at + 1), tokens.get(at + 2), tokens.get(at + 3)),
                    (Some(Token::Punct('(')), Some(Token::Text(..)), Some(Token::Punct(')')))
                );
                if !literal && tokens.get(at + 1) == Some(&Token::Punct('(')) {
                    eval.report(&state.machine, &rules::SHELL_UNKNOWN_COMMAND, call.show());
                }
            }
            _ => {}
        }
    }
}

/// AppleScript: `do shell script "…"`, administrator rights, messages.
pub(crate) fn apple_script(eval: &mut Evaluator<'_>, state: &mut ShellState, script: &str, call: &Call<'_>) {
    let lower = script.to_lowercase();
    let machine = state.machine.clone();
    if lower.contains("with administrator privileges") {
        eval.report(&machine, &rules::PRIVILEGE, call.show());
    }
    let tokens = tokens::read(script, Language::Other);
    for window in tokens.windows(4) {
        if let [Token::Name(a), Token::Name(b), Token::Name(c), Token::Text(command, _)] = window
            && [a, b, c].map(|word| word.to_lowercase()) == ["do", "shell", "script"]
        {
            eval.text(&mut state.clone(), command, &Stream::None, false);
        }
    }
    let sends = tokens.iter().any(|token| {
        matches!(token, Token::Name(name) if matches!(name.to_lowercase().as_str(), "send" | "reply" | "forward"))
    });
    let messenger = names::MESSAGING_APPS
        .iter()
        .any(|name| lower.contains(&format!("\"{name}\"")) || lower.contains(&format!("microsoft {name}")));
    let is_word =
        |token: &Token, word: &str| matches!(token, Token::Name(name) if name.eq_ignore_ascii_case(word));
    let types = tokens.iter().any(|token| is_word(token, "keystroke"))
        || tokens.windows(2).any(|pair| {
            [("key", "code"), ("write", "text"), ("do", "script")]
                .iter()
                .any(|(first, second)| is_word(&pair[0], first) && is_word(&pair[1], second))
        });
    if types {
        eval.report(&machine, &rules::TYPE_TERMINAL, call.show());
    }
    if sends && messenger {
        let rule = if eval.unattended { &rules::MESSAGE_UNATTENDED } else { &rules::MESSAGE_SEND };
        eval.report(&machine, rule, call.show());
    }
}
