//! Programs that talk to other machines: what comes in is marked as downloaded, and what goes out must not be a secret.

use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::shell_state::{Machine, ShellState};
use crate::eval::value::{Stream, Tags};
use crate::programs::files::deleting::is_remote;
use crate::programs::{Call, Options, Spec};
use crate::rules;
use crate::rules::names;

/// Reports any secret that this command sends.
fn no_secrets(eval: &mut Evaluator<'_>, state: &ShellState, call: &Call<'_>) {
    let mut words = call.argv.iter().fold(Tags::NONE, |tags, word| tags.and(eval.origins.tags(word)));
    if goes_home(eval, call) {
        words = Tags::NONE;
    }
    // `gh secret set` is where secrets are meant to go.
    let kept = call.name == "gh" && call.args().first().is_some_and(|verb| verb == "secret");
    // `echo $(cat .env) | curl -d @-`
    let piped = match call.stdin {
        Stream::Text(text, tags) => eval.origins.tags(text).and(*tags),
        other => other.tags(),
    };
    if !kept && words.and(piped).has(Tags::SECRET) {
        call.report(eval, state, &rules::NETWORK_SECRET);
    }
}

/// A token in a header may go to the service it is for: `curl -H "Bearer $(gh auth token)" https://api.github.com`.
fn goes_home(eval: &Evaluator<'_>, call: &Call<'_>) -> bool {
    let mut hosts = call.args().iter().filter_map(|arg| {
        let (_, rest) = arg.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
        Some(host.split(':').next().unwrap_or(host))
    });
    let known = |host: &str| {
        eval.token_hosts
            .iter()
            .any(|home| host.strip_suffix(home).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
    };
    !eval.any_host && !eval.token_hosts.is_empty() && hosts.clone().count() > 0 && hosts.all(known)
}

fn sends_file(eval: &mut Evaluator<'_>, state: &ShellState, file: &str, call: &Call<'_>) {
    if eval.is_secret(state, file) {
        call.report(eval, state, &rules::NETWORK_SECRET);
    }
}

pub(super) fn curl(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "AbcCdDeEFhHKmoPQrtTuUwXxyYz",
        long: names::CURL_OPTIONS_WITH_VALUE,
        stops: false,
    });
    no_secrets(eval, state, call);
    answers_for_the_user(eval, state, call);
    for value in options.values(names::CURL_DATA_OPTIONS) {
        if let Some(at) = value.find(['@', '<']) {
            let file = value[at + 1..].split(';').next().unwrap_or("");
            sends_file(eval, state, file, call);
        }
    }
    for file in options.values(&["T", "upload-file", "K", "config", "b", "cookie"]) {
        sends_file(eval, state, file, call);
    }
    for file in options.values(&["H", "header", "proxy-header"]).filter_map(|value| value.strip_prefix('@')) {
        sends_file(eval, state, file, call);
    }
    for url in options.operands.iter().filter_map(|url| url.strip_prefix("file://")) {
        eval.read(state, url);
    }
    let subject = call.show();
    let download = Stream::Data(Tags::DOWNLOAD);
    let mut to_file = false;
    let dir = options.value(&["output-dir"]);
    for file in
        options.values(&["o", "output", "c", "cookie-jar", "D", "dump-header", "trace", "trace-ascii"])
    {
        if file == "-" {
            continue;
        }
        to_file = true;
        let file = dir.map_or_else(|| file.to_owned(), |dir| format!("{dir}/{file}"));
        eval.write(state, &file, WriteKind::Overwrite, &subject);
        eval.remember(state, &file, download.clone(), false);
    }
    if options.has(&["O", "remote-name", "remote-name-all", "J"]) {
        to_file = true;
        for url in &options.operands {
            let name = name_of_url(url);
            let file = dir.map_or_else(|| name.to_owned(), |dir| format!("{dir}/{name}"));
            eval.write(state, &file, WriteKind::Overwrite, &subject);
            eval.remember(state, &file, download.clone(), false);
        }
    }
    if to_file && !options.values(&["o", "output"]).any(|file| file == "-") {
        Stream::Data(Tags::NONE)
    } else {
        download
    }
}

/// The last component of a URL's path.
fn name_of_url(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name,
        _ => "index.html",
    }
}

/// Whether a text asks one of headspace's routes that only a person may use, or that swallow an ask; reading its board is
/// fine. The text may be an address, a whole request, or a program's string.
pub(crate) fn is_answer_route(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || "\"'`,()<>\\".contains(c)).any(|word| {
        let path = word.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        path.contains("/api/answer/")
            || path.contains("/api/interactions/") && path.ends_with("/answer")
            || path.contains("/api/agents/")
                && ["/reply", "/reply/cancel", "/stop"].iter().any(|end| path.ends_with(end))
    })
}

/// Reports a request that answers for the user: the address, or what is sent through a raw connection.
fn answers_for_the_user(eval: &mut Evaluator<'_>, state: &ShellState, call: &Call<'_>) {
    let sent = matches!(call.stdin, Stream::Text(text, _) if is_answer_route(text));
    if sent || call.args().iter().any(|arg| is_answer_route(arg)) {
        call.report(eval, state, &rules::ANSWER_AGENT);
    }
}

pub(super) fn wget(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    answers_for_the_user(eval, state, call);
    let options = call.options(Spec {
        short: "OoaeiBtTwQPUlARDIX",
        long: names::WGET_OPTIONS_WITH_VALUE,
        stops: false,
    });
    no_secrets(eval, state, call);
    for file in options.values(&["post-file", "body-file"]) {
        sends_file(eval, state, file, call);
    }
    let subject = call.show();
    let download = Stream::Data(Tags::DOWNLOAD);
    let output = match call.name {
        "aria2c" => ["o", "out"],
        "axel" => ["o", "output"],
        _ => ["O", "output-document"],
    };
    match options.value(&output) {
        Some("-" | "/dev/stdout") => return download,
        Some(file) => {
            eval.write(state, file, WriteKind::Overwrite, &subject);
            eval.remember(state, file, download, false);
        }
        None => {
            let dir = options.value(&["P", "directory-prefix", "d", "dir"]);
            for url in &options.operands {
                let name = name_of_url(url);
                let file = dir.map_or_else(|| name.to_owned(), |dir| format!("{dir}/{name}"));
                eval.write(state, &file, WriteKind::Overwrite, &subject);
                eval.remember(state, &file, download.clone(), false);
            }
        }
    }
    Stream::Data(Tags::NONE)
}

/// Programs that send what they are given: cloud tools, forges, DNS tools.
pub(super) fn client(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    answers_for_the_user(eval, state, call);
    no_secrets(eval, state, call);
    // A key used to log in is not sent: `sftp -i ~/.ssh/id_rsa host`.
    let logs_in =
        |at: usize| call.name == "sftp" && at > 0 && matches!(call.args()[at - 1].as_str(), "-i" | "-F");
    for (_, arg) in call.args().iter().enumerate().filter(|(at, _)| !logs_in(*at)) {
        let file = arg.rsplit(['@', '=']).next().unwrap_or(arg);
        let uploads = match call.name {
            "aws" | "gsutil" | "gcloud" | "az" | "rclone" | "mc" | "s3cmd" | "gh" | "ftp" | "sftp"
            | "lftp" => true,
            _ => arg.contains('@'),
        };
        if uploads && !file.is_empty() && !file.starts_with('-') {
            sends_file(eval, state, file, call);
        }
    }
    if call.name == "gcloud" && call.args().iter().any(|arg| arg == "ssh") {
        let options = call.options(Spec { long: &["command"], ..Spec::default() });
        let behind =
            call.args().iter().position(|arg| arg == "--").map_or(&[][..], |at| &call.args()[at + 1..]);
        let mut there = ShellState { machine: Machine::Remote, ..state.clone() };
        there.go(vec![None]);
        let command = options.value(&["command"]).map_or_else(|| behind.join(" "), str::to_owned);
        eval.text(&mut there, &command, &Stream::None, false);
    }
    let words: Vec<&str> = call.args().iter().map(String::as_str).collect();
    if call.name == "aws" && words.contains(&"send-command") {
        // `--parameters 'commands=["rm -rf /srv"]'`, or the same as JSON.
        let options = call.options(Spec { long: &["parameters"], ..Spec::default() });
        let text = options.value(&["parameters"]).unwrap_or("");
        let text = text.split_once("commands").map_or("", |(_, text)| text);
        let mut there = ShellState { machine: Machine::Remote, ..state.clone() };
        there.go(vec![None]);
        for line in text.split(['"', '\'', '[', ']', ',', '=']).filter(|line| !line.trim().is_empty()) {
            eval.text(&mut there.clone(), line, &Stream::None, false);
        }
    }
    let prints = match call.name {
        "gh" => matches!(words[..], ["api", ..] | ["gist", "view", ..]),
        "aws" => matches!(words[..], ["s3", "cp", .., "-"]),
        "gsutil" => words.contains(&"cat"),
        "gcloud" => matches!(words[..], ["storage", "cat", ..]),
        _ => false,
    };
    if let ("aws" | "gsutil", [.., source, target]) = (call.name, &words[..])
        && words.contains(&"cp")
        && source.contains("://")
        && *target != "-"
    {
        fetched(eval, state, source, target);
    }
    if prints {
        Stream::Data(Tags::DOWNLOAD)
    } else {
        crate::programs::printing::completion_printer(eval, state, call)
    }
}

/// A file from a bucket came over the network like any other.
fn fetched(eval: &mut Evaluator<'_>, state: &ShellState, source: &str, target: &str) {
    let into = target.ends_with('/') || matches!(target, "." | "..");
    let name = name_of_url(source);
    let file = if into { format!("{}/{name}", target.trim_end_matches('/')) } else { target.to_owned() };
    eval.remember(state, &file, Stream::Data(Tags::DOWNLOAD), false);
}

/// Clients that only print what they receive.
pub(super) fn printer(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    client(eval, state, call);
    Stream::Data(Tags::DOWNLOAD)
}

/// `nc`, `socat`: a raw connection. Connecting a shell to it gives the shell away.
pub(super) fn netcat(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    no_secrets(eval, state, call);
    answers_for_the_user(eval, state, call);
    // Nobody needs a raw line to headspace's socket, and what is sent there may not be known.
    let names_socket =
        |arg: &String| arg.split(',').next().is_some_and(|word| word.ends_with("/headspace.sock"));
    if call.args().iter().any(names_socket) {
        call.report(eval, state, &rules::ANSWER_AGENT);
    }
    let hands_over = call.args().iter().any(|arg| {
        let arg = arg.to_lowercase();
        matches!(arg.as_str(), "-e" | "-c" | "--exec" | "--sh-exec")
            || arg.starts_with("exec:")
            || arg.starts_with("system:")
    });
    if hands_over {
        call.report(eval, state, &rules::NETWORK_SHELL);
    }
    Stream::Data(Tags::DOWNLOAD)
}

pub(super) fn scp(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "cDFiJloPSX", ..Spec::default() });
    let Some((target, sources)) = options.operands.split_last() else { return Stream::None };
    let subject = call.show();
    if is_remote(target) || target.starts_with("scp://") {
        for source in sources {
            sends_file(eval, state, source, call);
        }
        return Stream::None;
    }
    let into = target.ends_with('/') || *target == ".";
    for source in sources {
        let name = source.rsplit([':', '/']).next().unwrap_or(source);
        let file =
            if into { format!("{}/{name}", target.trim_end_matches('/')) } else { (*target).to_owned() };
        eval.write(state, &file, WriteKind::Overwrite, &subject);
        if is_remote(source) {
            eval.remember(state, &file, Stream::Data(Tags::DOWNLOAD), false);
        } else {
            eval.read(state, source);
        }
    }
    Stream::None
}

/// `ssh host command`: the same policy, but nothing is forbidden there, only asked.
pub(super) fn ssh(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let spec = Spec { short: "bBcDEeFIiJLlmOopQRSWwP", stops: true, ..Spec::default() };
    let options = call.options(spec);
    for option in options.values(&["o"]) {
        let lower = option.to_lowercase();
        if let Some(at) =
            lower.find("command").filter(|_| lower.contains("proxycommand") || lower.contains("localcommand"))
        {
            let command = option[at + "command".len()..].trim_start_matches(['=', ' ']);
            eval.text(&mut state.clone(), command, &Stream::None, false);
        }
    }
    no_secrets(eval, state, call);
    let mut there = state.clone();
    there.machine = match &state.machine {
        Machine::Container(_) => state.machine.clone(),
        _ => Machine::Remote,
    };
    there.go(vec![None]);
    // Options may also follow the host: `ssh host -p 22 -- command`.
    let behind = Options::read(call.args().get(options.rest + 1..).unwrap_or(&[]), spec);
    let after_host = behind.operands.as_slice();
    if after_host.is_empty() {
        if let Stream::Text(text, _) = call.stdin {
            eval.text(&mut there, text, &Stream::None, false);
        }
        if call.stdin.tags().has(Tags::DOWNLOAD) {
            call.report(eval, state, &rules::NETWORK_SHELL);
        }
        return Stream::Data(Tags::NONE);
    }
    let command = after_host.join(" ");
    if call.stdin.tags().has(Tags::DOWNLOAD) && crate::programs::is_shell(after_host[0]) {
        call.report(eval, state, &rules::NETWORK_SHELL);
    }
    eval.text(&mut there, &command, call.stdin, false);
    // The output of another machine came over the network too.
    Stream::Data(Tags::DOWNLOAD)
}

/// `deno run https://…`: a program straight from the network.
pub(super) fn runs_urls(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> bool {
    let from_network =
        call.args().iter().any(|arg| arg.starts_with("https://") || arg.starts_with("http://"));
    if from_network {
        call.report(eval, state, &rules::NETWORK_RUN_FILE);
    }
    from_network
}

/// `mail`, `sendmail`, `mutt`: messages in the user's name.
pub(super) fn mail(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    no_secrets(eval, state, call);
    let sends =
        call.args().iter().any(|arg| arg.contains('@') || arg == "-s" || arg == "-t" || arg == "send")
            || !matches!(call.stdin, Stream::None);
    if sends && !call.args().is_empty() {
        let rule = if eval.unattended { &rules::MESSAGE_UNATTENDED } else { &rules::MESSAGE_SEND };
        call.report(eval, state, rule);
    }
    Stream::None
}
