//! Programs that find files and run commands on them: `find`, `fd`, `xargs`, `parallel`.

use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::ShellState;
use crate::eval::value::{DEEP, Stream, Tags, activate};
use crate::eval::{Evaluator, glob, quote};
use crate::programs::{Call, Options, Spec};
use crate::rules;
use crate::rules::names;

/// How much a search narrows down its results.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum FindTest {
    /// Everything, the starting point included.
    None,
    /// By age, size or owner: may well be everything, including git's data.
    Weak,
    /// By name or path.
    Strong,
}

/// A `find` expression, as far as it matters here.
struct FindCommand {
    names: Vec<String>,
    paths: Vec<String>,
    /// What the search leaves out: `-not -path './gen/*'`, `-name gen -prune -o`.
    excluded: Vec<String>,
    filter: FindTest,
    below_start: bool,
    deletes: bool,
    commands: Vec<Vec<String>>,
    written: Vec<String>,
}

const NAME_TESTS: [&str; 2] = ["-name", "-iname"];
const PATH_TESTS: [&str; 5] = ["-path", "-ipath", "-wholename", "-regex", "-iregex"];

impl FindCommand {
    fn read(args: &[String]) -> FindCommand {
        let mut search = FindCommand {
            names: Vec::new(),
            paths: Vec::new(),
            excluded: Vec::new(),
            filter: FindTest::None,
            below_start: false,
            deletes: false,
            commands: Vec::new(),
            written: Vec::new(),
        };
        let mut negated = false;
        let mut at = 0;
        while at < args.len() {
            let word = args[at].as_str();
            let value = args.get(at + 1).map_or("", String::as_str);
            at += 1;
            let was_negated = std::mem::take(&mut negated);
            match word {
                "!" | "-not" => negated = true,
                "-delete" => search.deletes = true,
                "-empty" => search.narrow(if was_negated { FindTest::Weak } else { FindTest::Strong }),
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let end = args[at..].iter().position(|arg| arg == ";" || arg == "+");
                    let end = end.map_or(args.len(), |end| at + end);
                    search.commands.push(args[at..end].to_vec());
                    at = end + 1;
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    search.written.push(value.to_owned());
                    at += if word == "-fprintf" { 2 } else { 1 };
                }
                word if NAME_TESTS.contains(&word) => {
                    at += 1;
                    // `-name x -prune -exec rm` selects x, `-name x -prune -o …` leaves it out.
                    let prunes =
                        matches!(args.get(at..), Some([prune, or, ..]) if prune == "-prune" && or == "-o");
                    if was_negated || prunes {
                        search.excluded.push(activate(value));
                        search.narrow(FindTest::Weak);
                    } else if !glob::matches_everything(&activate(value)) {
                        search.names.push(activate(value));
                        search.narrow(FindTest::Strong);
                    }
                }
                word if PATH_TESTS.contains(&word) => {
                    at += 1;
                    // `-path x -prune` excludes instead of selecting.
                    let prunes = args.get(at).is_some_and(|arg| arg == "-prune");
                    if was_negated || prunes {
                        search.excluded.push(activate(value));
                        search.narrow(FindTest::Weak);
                    } else if !glob::matches_everything(&activate(value)) {
                        if !word.ends_with("regex") {
                            search.paths.push(activate(value));
                        }
                        search.narrow(FindTest::Strong);
                    }
                }
                word if names::FIND_TESTS_WITH_VALUE.contains(&word) => {
                    at += 1;
                    search.narrow(FindTest::Weak);
                }
                "-mindepth" | "-maxdepth" => {
                    at += 1;
                    search.below_start |= word == "-mindepth" && value != "0";
                    if word == "-maxdepth" && value == "1" {
                        search.narrow(FindTest::Weak);
                    }
                }
                word if names::FIND_PLAIN_OPTIONS.contains(&word) => at += 1,
                _ => {}
            }
        }
        search
    }

    fn narrow(&mut self, filter: FindTest) {
        self.filter = self.filter.max(filter);
    }

    /// The paths that a search below `root` yields, as values.
    fn targets(&self, root: &str) -> Vec<String> {
        let root = if root == "/" { "" } else { root.trim_end_matches('/') };
        let mut targets = Vec::new();
        for name in &self.names {
            targets.push(format!("{root}/{DEEP}/{name}"));
        }
        for path in &self.paths {
            if path.starts_with('/') || path.starts_with("./") || (!root.is_empty() && path.starts_with(root))
            {
                targets.push(path.clone());
            } else {
                targets.push(format!("{root}/{DEEP}/{path}"));
            }
        }
        if targets.is_empty() {
            match self.filter {
                FindTest::Strong => targets.push(format!("{root}/{DEEP}/found")),
                FindTest::Weak => targets.push(format!("{root}/{DEEP}")),
                FindTest::None => {
                    if !self.below_start {
                        targets.push(if root.is_empty() { "/".into() } else { root.to_owned() });
                    }
                    targets.push(format!("{root}/{DEEP}"));
                }
            }
        }
        targets
    }
}

pub(crate) fn find(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let mut args = call.args();
    while let [first, rest @ ..] = args {
        match first.as_str() {
            "-H" | "-L" | "-P" | "-E" | "-X" | "-x" | "-s" | "-d" => args = rest,
            "-D" | "-f" => args = rest.get(1..).unwrap_or(&[]),
            first if first.starts_with("-O") => args = rest,
            _ => break,
        }
    }
    let starts =
        args.iter().position(|arg| arg.starts_with('-') || arg == "(" || arg == "!").unwrap_or(args.len());
    let (roots, expression) = args.split_at(starts);
    let search = FindCommand::read(expression);
    let here = [".".to_owned()];
    let roots = if roots.is_empty() { &here } else { roots };
    let subject = call.show();
    for file in &search.written {
        eval.write(state, file, WriteKind::Overwrite, &subject);
    }
    let mut found = Vec::new();
    let outer = std::mem::replace(&mut eval.left_out, search.excluded.clone());
    for root in roots {
        for target in search.targets(root) {
            if !eval.tick() {
                eval.left_out = outer;
                return Stream::Data(Tags::FILES);
            }
            if search.deletes {
                eval.delete(state, &target, &subject);
            }
            for command in &search.commands {
                run_on(eval, state, command, &target, "{}");
            }
            found.push(target);
        }
    }
    // What is found may be passed on to `xargs`, and was left out there too.
    if !call.output_used {
        eval.left_out = outer;
    }
    Stream::text(found.join("\n") + "\n")
}

/// Runs a command with every placeholder replaced.
fn run_on(
    eval: &mut Evaluator<'_>,
    state: &mut ShellState,
    command: &[String],
    item: &str,
    placeholder: &str,
) {
    let argv: Vec<String> = command.iter().map(|word| word.replace(placeholder, item)).collect();
    eval.call(&mut state.clone(), &argv, &Stream::None, false);
}

pub(crate) fn fd(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    const EXEC: [&str; 4] = ["-x", "-X", "--exec", "--exec-batch"];
    let args = call.args();
    let split = args.iter().position(|arg| EXEC.contains(&arg.as_str())).unwrap_or(args.len());
    let options = Options::read(
        &args[..split],
        Spec { short: "detESjcao", long: names::FD_OPTIONS_WITH_VALUE, stops: false },
    );
    let mut operands = options.operands.iter();
    let pattern = operands.next().copied().unwrap_or("");
    let narrow = options.has(&["e", "extension"]) || !matches!(pattern, "" | "." | ".*" | "*");
    let roots: Vec<&str> = operands.copied().collect();
    let mut found = Vec::new();
    for root in if roots.is_empty() { vec!["."] } else { roots } {
        let root = root.trim_end_matches('/');
        found.push(if narrow { format!("{root}/{DEEP}/found") } else { format!("{root}/{DEEP}") });
    }
    let command = args.get(split + 1..).unwrap_or(&[]);
    let command = command.split(|word| word == ";").next().unwrap_or(&[]);
    if !command.is_empty() {
        for item in &found {
            if command.iter().any(|word| word.contains("{}")) {
                run_on(eval, state, command, item, "{}");
            } else {
                let argv: Vec<String> = command.iter().cloned().chain([item.clone()]).collect();
                eval.call(&mut state.clone(), &argv, &Stream::None, false);
            }
        }
    }
    Stream::text(found.join("\n") + "\n")
}

/// The items on a stream: known words or lines, or one item that stands for all.
fn items(eval: &mut Evaluator<'_>, stream: &Stream, by_line: bool) -> Vec<String> {
    match stream {
        Stream::Text(text, _) if by_line => {
            text.split(['\n', '\0']).filter(|line| !line.is_empty()).map(str::to_owned).collect()
        }
        Stream::Text(text, _) => {
            text.split_whitespace().map(|word| word.trim_matches(['\'', '"']).to_owned()).collect()
        }
        stream => vec![eval.origins.hole("stdin", stream.tags()).to_string()],
    }
}

pub(crate) fn xargs(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "adEILnPRSs",
        long: &["arg-file", "delimiter", "max-args", "max-procs", "max-lines", "max-chars", "eof"],
        stops: true,
    });
    let stream = match options.value(&["a", "arg-file"]) {
        Some(file) => eval.read(state, file),
        None => call.stdin.clone(),
    };
    let placeholder = options.value(&["I"]).or_else(|| {
        let replaces = options.has(&["i", "replace"]);
        replaces.then(|| options.value(&["replace"]).unwrap_or("{}"))
    });
    let by_line = placeholder.is_some() || options.has(&["0", "null", "d", "delimiter"]);
    let items = items(eval, &stream, by_line);
    let echo = ["echo".to_owned()];
    let command = &call.args()[options.rest.min(call.args().len())..];
    let command = if command.is_empty() { &echo } else { command };
    match placeholder {
        Some(placeholder) => {
            for item in &items {
                if !eval.spend(command.len()) {
                    break;
                }
                run_on(eval, state, command, item, placeholder);
            }
            Stream::Data(stream.tags().only(Tags::FLOWING))
        }
        None => {
            let argv: Vec<String> = command.iter().cloned().chain(items).collect();
            let out = eval.call(&mut state.clone(), &argv, &Stream::None, call.output_used);
            match out {
                Stream::None => Stream::Data(stream.tags().only(Tags::FLOWING)),
                out => out,
            }
        }
    }
}

/// GNU parallel: the template is shell text.
pub(crate) fn parallel(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "jNnSaIdLPC",
        long: &[
            "jobs", "max-args", "arg-file", "colsep", "delay", "timeout", "retries", "joblog", "results",
            "tmpdir",
        ],
        stops: true,
    });
    let rest = &call.args()[options.rest.min(call.args().len())..];
    let split = rest.iter().position(|arg| arg.starts_with(":::")).unwrap_or(rest.len());
    let (template, given) = rest.split_at(split);
    let given: Vec<String> = given.iter().filter(|arg| !arg.starts_with(":::")).cloned().collect();
    let stream = match options.value(&["a", "arg-file"]) {
        Some(file) => eval.read(state, file),
        None => call.stdin.clone(),
    };
    let items = if given.is_empty() { items(eval, &stream, true) } else { given };
    let template = template.join(" ");
    let tags = stream.tags();
    for item in items {
        if !eval.spend(template.len()) {
            break;
        }
        let line = if template.is_empty() {
            item.clone()
        } else if template.contains("{}") {
            template.replace("{}", &quote(&item))
        } else {
            format!("{template} {}", quote(&item))
        };
        if template.is_empty() && tags.has(Tags::DOWNLOAD) {
            call.report(eval, state, &rules::NETWORK_SHELL);
        }
        eval.text(&mut state.clone(), &line, &Stream::None, false);
    }
    Stream::Data(tags.only(Tags::FLOWING))
}
