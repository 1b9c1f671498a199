//! Programs that talk to other machines: what comes in is marked as downloaded, what goes out must be no secret.

use crate::eval::Walk;
use crate::eval::env::{Env, World};
use crate::eval::file_effects::Write;
use crate::eval::value::{Stream, Tags};
use crate::programs::deleting::is_remote;
use crate::programs::{Call, Options, Spec};
use crate::rules;

/// Says so if anything this command hands over is a secret.
fn no_secrets(walk: &mut Walk<'_>, env: &Env, call: &Call<'_>) {
    let mut words = call.argv.iter().fold(Tags::NONE, |tags, word| tags.and(walk.origins.tags(word)));
    if goes_home(walk, call) {
        words = Tags::NONE;
    }
    // `gh secret set` is where secrets are meant to go.
    let kept = call.name == "gh" && call.args().first().is_some_and(|verb| verb == "secret");
    if !kept && words.and(call.stdin.tags()).has(Tags::SECRET) {
        walk.found(&env.world, &rules::NETWORK_SECRET, call.show());
    }
}

/// A token in a header goes to the service it is for: `curl -H "Bearer $(gh auth token)" https://api.github.com`.
fn goes_home(walk: &Walk<'_>, call: &Call<'_>) -> bool {
    let mut hosts = call.args().iter().filter_map(|arg| {
        let (_, rest) = arg.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
        Some(host.split(':').next().unwrap_or(host))
    });
    let known = |host: &str| {
        walk.token_hosts
            .iter()
            .any(|home| host.strip_suffix(home).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
    };
    !walk.any_host && !walk.token_hosts.is_empty() && hosts.clone().count() > 0 && hosts.all(known)
}

fn sends_file(walk: &mut Walk<'_>, env: &Env, file: &str, call: &Call<'_>) {
    if walk.is_secret(env, file) {
        walk.found(&env.world, &rules::NETWORK_SECRET, call.show());
    }
}

pub fn curl(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "AbcCdDeEFhHKmoPQrtTuUwXxyYz",
        long: &[
            "data",
            "data-raw",
            "data-binary",
            "data-urlencode",
            "data-ascii",
            "json",
            "form",
            "form-string",
            "header",
            "proxy-header",
            "output",
            "output-dir",
            "request",
            "user",
            "user-agent",
            "upload-file",
            "url",
            "cookie",
            "cookie-jar",
            "config",
            "cert",
            "key",
            "cacert",
            "capath",
            "proxy",
            "retry",
            "retry-delay",
            "max-time",
            "connect-timeout",
            "write-out",
            "resolve",
            "range",
            "referer",
            "interface",
            "limit-rate",
            "netrc-file",
            "unix-socket",
            "dump-header",
            "proto",
            "variable",
            "stderr",
            "trace",
            "trace-ascii",
        ],
        stops: false,
    });
    no_secrets(walk, env, call);
    // headspace's own routes for answering; reading its board is fine.
    let answers = |arg: &&String| {
        arg.contains("/api/answer/")
            || arg.contains("/api/interactions/") && arg.trim_end_matches('/').ends_with("/answer")
    };
    if call.args().iter().any(|arg| answers(&arg)) {
        walk.found(&env.world.clone(), &rules::ANSWER_AGENT, call.show());
    }
    for value in options.values(&[
        "d",
        "data",
        "data-binary",
        "data-ascii",
        "data-urlencode",
        "json",
        "F",
        "form",
        "variable",
    ]) {
        if let Some(at) = value.find(['@', '<']) {
            let file = value[at + 1..].split(';').next().unwrap_or("");
            sends_file(walk, env, file, call);
        }
    }
    for file in options.values(&["T", "upload-file", "K", "config", "b", "cookie"]) {
        sends_file(walk, env, file, call);
    }
    for file in options.values(&["H", "header", "proxy-header"]).filter_map(|value| value.strip_prefix('@')) {
        sends_file(walk, env, file, call);
    }
    for url in options.operands.iter().filter_map(|url| url.strip_prefix("file://")) {
        walk.read(env, url);
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
        walk.write(env, &file, Write::Overwrite, &subject);
        walk.remember(env, &file, download.clone(), false);
    }
    if options.has(&["O", "remote-name", "remote-name-all", "J"]) {
        to_file = true;
        for url in &options.operands {
            let name = name_of_url(url);
            let file = dir.map_or_else(|| name.to_owned(), |dir| format!("{dir}/{name}"));
            walk.write(env, &file, Write::Overwrite, &subject);
            walk.remember(env, &file, download.clone(), false);
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

pub fn wget(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "OoaeiBtTwQPUlARDIX",
        long: &[
            "output-document",
            "output-file",
            "append-output",
            "execute",
            "input-file",
            "base",
            "tries",
            "timeout",
            "wait",
            "directory-prefix",
            "header",
            "user-agent",
            "post-data",
            "post-file",
            "body-data",
            "body-file",
            "method",
            "user",
            "password",
            "certificate",
            "private-key",
            "ca-certificate",
            "out",
            "dir",
            "split",
            "max-connection-per-server",
        ],
        stops: false,
    });
    no_secrets(walk, env, call);
    for file in options.values(&["post-file", "body-file"]) {
        sends_file(walk, env, file, call);
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
            walk.write(env, file, Write::Overwrite, &subject);
            walk.remember(env, file, download, false);
        }
        None => {
            let dir = options.value(&["P", "directory-prefix", "d", "dir"]);
            for url in &options.operands {
                let name = name_of_url(url);
                let file = dir.map_or_else(|| name.to_owned(), |dir| format!("{dir}/{name}"));
                walk.write(env, &file, Write::Overwrite, &subject);
                walk.remember(env, &file, download.clone(), false);
            }
        }
    }
    Stream::Data(Tags::NONE)
}

/// Programs that send what they are given: cloud tools, forges, name servers.
pub fn client(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    no_secrets(walk, env, call);
    // A key to log in with stays here: `sftp -i ~/.ssh/id_rsa host`.
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
            sends_file(walk, env, file, call);
        }
    }
    if call.name == "gcloud" && call.args().iter().any(|arg| arg == "ssh") {
        let options = call.options(Spec { long: &["command"], ..Spec::default() });
        let mut there = Env { world: World::Remote, ..env.clone() };
        there.go(vec![None]);
        walk.text(&mut there, options.value(&["command"]).unwrap_or(""), &Stream::None, false);
    }
    let words: Vec<&str> = call.args().iter().map(String::as_str).collect();
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
        fetched(walk, env, source, target);
    }
    if prints {
        Stream::Data(Tags::DOWNLOAD)
    } else {
        crate::programs::output::completion_printer(walk, env, call)
    }
}

/// A file out of a bucket: it came over the network like any other.
fn fetched(walk: &mut Walk<'_>, env: &Env, source: &str, target: &str) {
    let into = target.ends_with('/') || matches!(target, "." | "..");
    let name = name_of_url(source);
    let file = if into { format!("{}/{name}", target.trim_end_matches('/')) } else { target.to_owned() };
    walk.remember(env, &file, Stream::Data(Tags::DOWNLOAD), false);
}

/// Clients that print what they get, whatever they are asked.
pub fn printer(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    client(walk, env, call);
    Stream::Data(Tags::DOWNLOAD)
}

/// `nc`, `socat`: a bare connection. Handing it a shell gives the shell away.
pub fn netcat(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    no_secrets(walk, env, call);
    let hands_over = call.args().iter().any(|arg| {
        let arg = arg.to_lowercase();
        matches!(arg.as_str(), "-e" | "-c" | "--exec" | "--sh-exec")
            || arg.starts_with("exec:")
            || arg.starts_with("system:")
    });
    if hands_over {
        walk.found(&env.world.clone(), &rules::NETWORK_SHELL, call.show());
    }
    Stream::Data(Tags::DOWNLOAD)
}

pub fn scp(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let options = call.options(Spec { short: "cDFiJloPSX", ..Spec::default() });
    let Some((target, sources)) = options.operands.split_last() else { return Stream::None };
    let subject = call.show();
    if is_remote(target) || target.starts_with("scp://") {
        for source in sources {
            sends_file(walk, env, source, call);
        }
        return Stream::None;
    }
    let into = target.ends_with('/') || *target == ".";
    for source in sources {
        let name = source.rsplit([':', '/']).next().unwrap_or(source);
        let file =
            if into { format!("{}/{name}", target.trim_end_matches('/')) } else { (*target).to_owned() };
        walk.write(env, &file, Write::Overwrite, &subject);
        if is_remote(source) {
            walk.remember(env, &file, Stream::Data(Tags::DOWNLOAD), false);
        } else {
            walk.read(env, source);
        }
    }
    Stream::None
}

/// `ssh host command`: the same policy there, but nothing is forbidden, everything is asked.
pub fn ssh(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let spec = Spec { short: "bBcDEeFIiJLlmOopQRSWwP", stops: true, ..Spec::default() };
    let options = call.options(spec);
    for option in options.values(&["o"]) {
        let lower = option.to_lowercase();
        if let Some(at) =
            lower.find("command").filter(|_| lower.contains("proxycommand") || lower.contains("localcommand"))
        {
            let command = option[at + "command".len()..].trim_start_matches(['=', ' ']);
            walk.text(&mut env.clone(), command, &Stream::None, false);
        }
    }
    no_secrets(walk, env, call);
    let mut there = env.clone();
    there.world = match &env.world {
        World::Container(_) => env.world.clone(),
        _ => World::Remote,
    };
    there.go(vec![None]);
    // Options may also stand behind the host: `ssh host -p 22 -- command`.
    let behind = Options::read(call.args().get(options.rest + 1..).unwrap_or(&[]), spec);
    let after_host = behind.operands.as_slice();
    if after_host.is_empty() {
        if let Stream::Text(text, _) = call.stdin {
            walk.text(&mut there, text, &Stream::None, false);
        }
        if call.stdin.tags().has(Tags::DOWNLOAD) {
            walk.found(&env.world.clone(), &rules::NETWORK_SHELL, call.show());
        }
        return Stream::Data(Tags::NONE);
    }
    let command = after_host.join(" ");
    if call.stdin.tags().has(Tags::DOWNLOAD) && crate::programs::is_shell(after_host[0]) {
        walk.found(&env.world.clone(), &rules::NETWORK_SHELL, call.show());
    }
    walk.text(&mut there, &command, call.stdin, false);
    // What another machine prints came over the network as well.
    Stream::Data(Tags::DOWNLOAD)
}

/// `deno run https://…`: a program straight from the network.
pub fn runs_urls(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> bool {
    let from_network =
        call.args().iter().any(|arg| arg.starts_with("https://") || arg.starts_with("http://"));
    if from_network {
        walk.found(&env.world.clone(), &rules::NETWORK_RUN_FILE, call.show());
    }
    from_network
}

/// `mail`, `sendmail`, `mutt`: messages in the user's name.
pub fn mail(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    no_secrets(walk, env, call);
    let sends =
        call.args().iter().any(|arg| arg.contains('@') || arg == "-s" || arg == "-t" || arg == "send")
            || !matches!(call.stdin, Stream::None);
    if sends && !call.args().is_empty() {
        let rule = if walk.unattended { &rules::MESSAGE_UNATTENDED } else { &rules::MESSAGE_SEND };
        walk.found(&env.world.clone(), rule, call.show());
    }
    Stream::None
}
