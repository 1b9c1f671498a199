//! Programs whose output later commands build on: their output is followed as far as it is known.

use crate::eval::Evaluator;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::ShellState;
use crate::eval::value;
use crate::eval::value::{STAR, Stream, Tags};
use crate::paths;
use crate::programs::{Call, Spec};
use crate::rules::names;

/// Longer texts are not followed through `printf` and the like.
const MAX_PRINTED_BYTES: usize = 1 << 20;

/// `:`, `true`: no output at all, which also truncates the file it is redirected to.
pub(super) fn nothing(_: &mut Evaluator<'_>, _: &mut ShellState, _: &Call<'_>) -> Stream {
    Stream::text("")
}

pub(super) fn echo(_: &mut Evaluator<'_>, _: &mut ShellState, call: &Call<'_>) -> Stream {
    if !call.output_used {
        return Stream::None;
    }
    let mut args = call.args();
    let (mut newline, mut escapes) = (true, false);
    while let [first, rest @ ..] = args {
        let flags = first.strip_prefix('-').unwrap_or("");
        if flags.is_empty() || !flags.chars().all(|c| matches!(c, 'n' | 'e' | 'E')) {
            break;
        }
        newline &= !flags.contains('n');
        escapes |= flags.contains('e');
        args = rest;
    }
    let text = args.join(" ");
    if text.len() > MAX_PRINTED_BYTES {
        return Stream::Data(Tags::NONE);
    }
    let (mut text, tags) = if escapes { unescape(&text) } else { (text, Tags::NONE) };
    if newline {
        text.push('\n');
    }
    Stream::Text(text, tags)
}

/// Backslashes as `echo -e` and `printf` read them; characters given by number count as decoded text.
fn unescape(text: &str) -> (String, Tags) {
    if !text.contains('\\') {
        return (text.to_owned(), Tags::NONE);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut tags = Tags::NONE;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        if matches!(bytes.get(at + 1), Some(b'x' | b'u' | b'U' | b'0'..=b'7')) {
            tags = Tags::DECODED;
        }
        at += 1 + crate::shell::escape(&bytes[at + 1..], &mut out, true);
    }
    (String::from_utf8_lossy(&out).into_owned(), tags)
}

pub(super) fn printf(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let mut args = call.args();
    let mut variable = None;
    if let [flag, name, rest @ ..] = args
        && flag == "-v"
    {
        variable = Some(name.clone());
        args = rest;
    }
    if let [first, rest @ ..] = args
        && first == "--"
    {
        args = rest;
    }
    if !call.output_used && variable.is_none() {
        return Stream::None;
    }
    let stream = formatted(eval, args);
    match (variable, &stream) {
        (None, _) => stream,
        (Some(name), Stream::Text(text, _)) => {
            eval.set_variable(state, &name, text.clone());
            Stream::None
        }
        (Some(name), other) => {
            let hole = eval.origins.hole(format!("${name}"), other.tags());
            state.set(&name, hole.to_string());
            Stream::None
        }
    }
}

fn formatted(eval: &mut Evaluator<'_>, args: &[String]) -> Stream {
    let Some((format, values)) = args.split_first() else { return Stream::text("") };
    let (format, mut tags) = unescape(format);
    let mut text = String::new();
    let mut values = values.iter();
    loop {
        let before = values.len();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            let mut conversion = chars.next();
            while let Some('-' | '+' | ' ' | '#' | '.' | '*' | '0'..='9') = conversion {
                conversion = chars.next();
            }
            match conversion {
                Some('%') => text.push('%'),
                Some('b') => {
                    let (value, decoded) = unescape(values.next().map_or("", String::as_str));
                    tags = tags.and(decoded);
                    text.push_str(&value);
                }
                Some('s' | 'q') => text.push_str(values.next().map_or("", String::as_str)),
                Some('(') => {
                    text.push(eval.origins.hole("date", Tags::TOKEN));
                    break;
                }
                Some(_) => match values.next() {
                    Some(value) => text.push_str(value),
                    None => text.push('0'),
                },
                None => {}
            }
        }
        // The format is reused while values remain.
        if values.len() == 0 || values.len() == before || text.len() > MAX_PRINTED_BYTES {
            break;
        }
    }
    if text.len() > MAX_PRINTED_BYTES { Stream::Data(tags) } else { Stream::Text(text, tags) }
}

pub(super) fn cat(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    if options.operands.is_empty() {
        return call.stdin.clone();
    }
    let mut out = Stream::None;
    for file in options.operands {
        let next = match file {
            "-" | "/dev/stdin" => call.stdin.clone(),
            "/dev/null" => Stream::text(""),
            file => eval.read(state, file),
        };
        out = eval.origins.join(out, next);
    }
    out
}

pub(super) fn pwd(eval: &mut Evaluator<'_>, state: &mut ShellState, _: &Call<'_>) -> Stream {
    Stream::text(eval.current_dir(state) + "\n")
}

pub(super) fn basename(_: &mut Evaluator<'_>, _: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "s", long: &["suffix"], ..Spec::default() });
    let Some(path) = options.operands.first() else { return Stream::None };
    let mut name = paths::base_name(path);
    if let Some(suffix) = options.operands.get(1) {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    Stream::text(format!("{name}\n"))
}

pub(super) fn dirname(eval: &mut Evaluator<'_>, _: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    let Some(path) = options.operands.first() else { return Stream::None };
    // `dirname "$0"` and `dirname "$unknown"`: the directory is as unknown as the path.
    if value::has_hole(path) && !path.contains('/') || *path == "bash" {
        return Stream::text(eval.origins.hole("$(dirname …)", Tags::NOT_EMPTY).to_string());
    }
    let path = path.trim_end_matches('/');
    let dir = match path.rfind('/') {
        Some(0) => "/",
        Some(at) => &path[..at],
        None => ".",
    };
    Stream::text(format!("{dir}\n"))
}

/// `realpath`, `readlink -f`
pub(super) fn realpath(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { long: &["relative-to", "relative-base"], ..Spec::default() });
    let follows = call.name != "readlink" || options.has(&["f", "e", "m", "canonicalize"]);
    let path = options.operands.first().copied().unwrap_or(".");
    match eval.resolve(state, path) {
        ResolvedPath::Known(path) if follows && !value::has_special(&path) => {
            let real = eval.locations.real(&path, true);
            Stream::text(if real.is_empty() { "/\n".to_owned() } else { format!("{real}\n") })
        }
        _ => Stream::text(eval.origins.hole("$(realpath …)", Tags::NOT_EMPTY).to_string()),
    }
}

/// `which rm` prints a path to `rm`.
pub(super) fn which(_: &mut Evaluator<'_>, _: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec::default());
    match options.operands.first() {
        Some(name) if call.output_used => Stream::text(format!("{name}\n")),
        _ => Stream::Data(Tags::NONE),
    }
}

pub(super) fn mktemp(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "p", long: &["suffix"], ..Spec::default() });
    let name = eval.temp_name();
    let in_temp = options.has(&["t"]);
    let dir = options.value(&["p", "tmpdir"]).map(str::to_owned);
    let path = match (options.operands.first(), dir) {
        (Some(template), None) if template.contains('/') && !in_temp => {
            template.replace("XXX", "x").trim_end_matches('X').to_owned()
        }
        // Without -p or -t, a template without a slash is created in the current directory.
        (Some(template), None) if !in_temp && !options.has(&["tmpdir"]) => {
            format!("{}/{}", eval.current_dir(state), template.replace('X', "x"))
        }
        (_, Some(dir)) => format!("{}/{name}", dir.trim_end_matches('/')),
        (_, None) => format!("{}/{name}", eval.locations.tmpdir.clone().trim_end_matches('/')),
    };
    Stream::text(path + "\n")
}

/// Numbers, dates, hashes, short names: not empty, and not a path.
pub(super) fn token(eval: &mut Evaluator<'_>, _: &mut ShellState, call: &Call<'_>) -> Stream {
    Stream::text(eval.origins.hole(format!("$({})", call.name), Tags::TOKEN).to_string())
}

/// `ls` without a directory prints what `*` would match; with patterns, those.
pub(super) fn ls(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    if !call.output_used {
        return Stream::None;
    }
    let options = call.options(Spec { short: "ITw", ..Spec::default() });
    let long = options.has(&["l"]);
    let names: Vec<String> = match options.operands.as_slice() {
        [] => vec![STAR.to_string()],
        operands => {
            let files = operands.iter().all(|operand| {
                value::has_glob(operand)
                    || matches!(eval.resolve(state, operand), ResolvedPath::Known(path) if !eval.locations.files.is_dir(&path))
            });
            if !files && !options.has(&["d", "directory"]) {
                return Stream::Data(Tags::FILES);
            }
            operands.iter().map(|operand| (*operand).to_owned()).collect()
        }
    };
    if long {
        return Stream::Data(Tags::FILES);
    }
    Stream::text(names.join("\n") + "\n")
}

/// Programs that decode: base64, xxd, openssl and the like, when asked to.
pub(super) fn decoder(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "wio",
        long: &["wrap", "input", "output", "in", "out"],
        ..Spec::default()
    });
    let decodes = match call.name {
        "xxd" => options.has(&["r", "revert"]),
        "uudecode" | "rev" => true,
        // `-i` takes a file on macOS and nothing elsewhere: `-id` decodes.
        _ => options.has(&["d", "D", "decode"]) || call.args().iter().any(|arg| arg == "-id"),
    };
    let mut tags = call.stdin.tags().only(Tags::FLOWING);
    for operand in &options.operands {
        if *operand != "-" {
            tags = tags.and(eval.read(state, operand).tags().only(Tags::FLOWING));
        }
    }
    if let Some(file) = options.value(&["i", "input"]) {
        tags = tags.and(eval.read(state, file).tags().only(Tags::FLOWING));
    }
    if decodes {
        tags = tags.and(Tags::DECODED);
    }
    let out = Stream::Data(tags);
    if let Some(file) = options.value(&["o", "output"]) {
        eval.write(state, file, crate::eval::file_effects::WriteKind::Overwrite, &call.show());
        eval.remember(state, file, out.clone(), false);
    }
    out
}

/// `ps`, `pgrep`, `lsof`, `ss`: process numbers that may belong to someone else.
pub(super) fn process_list(eval: &mut Evaluator<'_>, _: &mut ShellState, call: &Call<'_>) -> Stream {
    let own_children = call.name == "pgrep"
        && call
            .args()
            .windows(2)
            .any(|pair| pair[0] == "-P" && eval.origins.tags(&pair[1]).has(Tags::OWN_PID));
    Stream::Data(if own_children { Tags::OWN_PID } else { Tags::FOUND_PIDS })
}

pub(super) fn jobs(_: &mut Evaluator<'_>, _: &mut ShellState, _: &Call<'_>) -> Stream {
    Stream::Data(Tags::OWN_PID)
}

/// Tools that print settings for the shell to apply: `eval "$(ssh-agent)"`.
pub(super) fn settings_printer(_: &mut Evaluator<'_>, _: &mut ShellState, _: &Call<'_>) -> Stream {
    Stream::Data(Tags::TRUSTED)
}

/// Like [`settings_printer`], for tools that do so only with one of these words.
pub(super) fn completion_printer(_: &mut Evaluator<'_>, _: &mut ShellState, call: &Call<'_>) -> Stream {
    let prints = call.args().iter().any(|arg| names::COMPLETION_WORDS.contains(&arg.as_str()));
    if prints { Stream::Data(Tags::TRUSTED) } else { call.filtered() }
}
