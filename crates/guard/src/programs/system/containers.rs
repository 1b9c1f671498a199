//! Containers: what happens inside stays inside, except in directories shared with this machine.

use crate::eval::Evaluator;
use crate::eval::file_effects::WriteKind;
use crate::eval::resolve::ResolvedPath;
use crate::eval::shell_state::{Machine, ShellState, VOLUME};
use crate::eval::value::{Stream, Tags, deactivate};
use crate::paths;
use crate::paths::Zone;
use crate::programs::{Call, Options, Spec};
use crate::protected;
use crate::rules;
use crate::rules::names;
use crate::sql;
use std::rc::Rc;

pub(crate) fn docker(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let args = call.args();
    if let [verb, rest @ ..] = args
        && verb == "cp"
    {
        return copied(eval, state, rest, call);
    }
    let Some((at, verb)) = verb(args) else { return Stream::Data(Tags::NONE) };
    match verb {
        "run" | "exec" | "create" => {}
        "rm" | "rmi" => {
            if args[at..].iter().any(|word| eval.origins.tags(word).has(Tags::FOUND_PIDS)) {
                call.report(eval, state, &rules::CONTAINER_FOUND);
            }
            return Stream::None;
        }
        "ps" | "ls" | "list" | "images" => return listed(&args[at..]),
        // They print the containers they were given: `docker ps -q | xargs docker stop | xargs docker rm`
        "stop" | "kill" | "start" | "restart" => {
            let found = args[at..].iter().any(|word| eval.origins.tags(word).has(Tags::FOUND_PIDS));
            return Stream::Data(if found { Tags::FOUND_PIDS } else { Tags::NONE });
        }
        _ => return Stream::Data(Tags::NONE),
    }
    let options = Options::read(
        &args[at + 1..],
        Spec { short: "vewunplhmcafe", long: names::CONTAINER_OPTIONS_WITH_VALUE, stops: true },
    );
    let mut mounts = Vec::new();
    for volume in options.values(&["v", "volume"]) {
        let mut parts = volume.split(':');
        if let (Some(here), Some(there)) = (parts.next(), parts.next()) {
            add_mount(eval, state, &mut mounts, here, there);
        }
    }
    for mount in options.values(&["mount"]) {
        let field = |names: [&str; 3]| {
            mount.split(',').find_map(|part| {
                let (name, value) = part.split_once('=')?;
                names.contains(&name).then_some(value)
            })
        };
        if let (Some(here), Some(there)) =
            (field(["source", "src", "source"]), field(["target", "dst", "destination"]))
        {
            add_mount(eval, state, &mut mounts, here, there);
        }
    }
    host_access(eval, state, &options, call);
    let mut inner = state.clone();
    // A running container, or a service with its volumes, has data that outlives the command.
    let keeps = verb == "exec"
        || verb == "run" && args[..at].iter().any(|arg| arg == "compose")
        || call.name.ends_with("-compose");
    inner.machine =
        if keeps && mounts.is_empty() { running(state) } else { Machine::Container(Rc::new(mounts)) };
    inner.go(vec![options.value(&["w", "workdir"]).map(str::to_owned)]);
    // The image or the container comes first, then the command.
    let words: Vec<String> = options.operands.iter().skip(1).map(|word| (*word).to_owned()).collect();
    if verb != "exec"
        && let Some(image) = options.operands.first()
    {
        image_program(eval, state, image, &words, call);
    }
    if !words.is_empty() {
        let stdin = if call.stdin.tags().has(Tags::DOWNLOAD) { &Stream::None } else { call.stdin };
        eval.call(&mut inner, &words, stdin, false);
        fed_from_network(eval, state, &words, call);
    }
    Stream::Data(call.stdin.tags().only(Tags::FLOWING))
}

/// `docker run hashicorp/terraform destroy`: an image named after the program it starts.
fn image_program(
    eval: &mut Evaluator<'_>,
    state: &ShellState,
    image: &str,
    words: &[String],
    call: &Call<'_>,
) {
    let name = image.rsplit('/').next().unwrap_or(image).split([':', '@']).next().unwrap_or("");
    let name = crate::programs::plain_name(name.strip_suffix("-cli").unwrap_or(name));
    let argv: Vec<String> = std::iter::once(name.clone()).chain(words.iter().cloned()).collect();
    crate::programs::named_rules(eval, state, &Call { name: &name, argv: &argv, ..*call });
}

/// A container that is already running, seen from here.
fn running(state: &ShellState) -> Machine {
    match &state.machine {
        Machine::Local => Machine::LiveContainer,
        other => other.clone(),
    }
}

/// The first word that is a docker command, and its position: `docker compose -f x exec`.
fn verb(args: &[String]) -> Option<(usize, &str)> {
    let at = args.iter().position(|arg| names::CONTAINER_VERBS.contains(&arg.as_str()))?;
    // `ctr images rm`
    let next = args
        .get(at + 1)
        .filter(|next| args[at] == "images" && names::CONTAINER_VERBS.contains(&next.as_str()));
    Some(next.map_or((at, args[at].as_str()), |next| (at + 1, next.as_str())))
}

/// `docker ps -q`: everyone's containers, unless a filter or a project narrows it down.
fn listed(args: &[String]) -> Stream {
    let spec = Spec { short: "fn", long: &["filter", "last", "format"], stops: false };
    let options = Options::read(&args[1..], spec);
    let all = !options.has(&["f", "filter"]) && options.operands.is_empty();
    Stream::Data(if all { Tags::FOUND_PIDS } else { Tags::NONE })
}

/// Privileges or directories of this machine that a container should not have.
fn host_access(eval: &mut Evaluator<'_>, state: &ShellState, options: &Options<'_>, call: &Call<'_>) {
    let mighty =
        |cap: &str| names::HOST_CAPABILITIES.contains(&cap.to_uppercase().trim_start_matches("CAP_"));
    let disk = |device: &str| {
        let here = device.split(':').next().unwrap_or(device);
        protected::is_disk(here.strip_prefix("/dev/").unwrap_or(""))
    };
    let mut open = options.has(&["privileged"]) && options.value(&["privileged"]) != Some("false")
        || options.values(&["cap-add"]).any(mighty)
        || options.values(&["device"]).any(disk)
        || options.value(&["pid"]) == Some("host");
    for volume in options.values(&["v", "volume"]) {
        let mut parts = volume.split(':');
        let here = parts.next().unwrap_or("");
        let read_only = parts.nth(1).is_some_and(|mode| mode.split(',').any(|word| word == "ro"));
        open |= gives_away_host(eval, state, here, read_only);
    }
    for mount in options.values(&["mount"]) {
        let source = mount
            .split(',')
            .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")));
        let read_only = mount.split(',').any(|part| matches!(part, "readonly" | "ro" | "readonly=true"));
        open |= source.is_some_and(|here| gives_away_host(eval, state, here, read_only));
    }
    if open {
        call.report(eval, state, &rules::CONTAINER_HOST);
    }
}

/// The root, a home, a whole system tree, docker's own socket, or the user's secrets.
fn gives_away_host(eval: &mut Evaluator<'_>, state: &ShellState, here: &str, read_only: bool) -> bool {
    if !here.starts_with(['/', '.', '~']) {
        return false;
    }
    let ResolvedPath::Known(path) = eval.resolve(state, here) else { return false };
    let real = eval.locations.real(&path, true);
    if paths::base_name(&path).ends_with(".sock") {
        return names::CONTAINER_SOCKETS.contains(&paths::base_name(&path));
    }
    let above_home = paths::contains(&real, &eval.locations.real_home);
    let tree = paths::split(&real).count() == 1 && eval.locations.is_system(&real);
    let elsewhere = eval.locations.zone(&real) != Zone::Inside;
    let holds_secret = names::SECRET_FILES_IN_HOME.iter().any(|file| {
        format!("{}/{file}", eval.locations.real_home)
            .strip_prefix(&real)
            .is_some_and(|rest| rest.starts_with('/'))
    });
    let machine = names::HOST_DIRECTORIES.contains(&real.as_str())
        || eval.locations.kinds(&path, true).iter().any(|(kind, _)| kind.is_system());
    above_home
        || (tree || machine) && !read_only
        || elsewhere && (holds_secret || eval.is_secret(state, here))
}

/// `heroku run …`, `fly ssh console -C …`: a machine at the provider.
pub(crate) fn console(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "arcCots",
        long: &["app", "remote", "command", "config", "org", "size", "type"],
        stops: false,
    });
    let mut there = state.clone();
    there.machine = running(state);
    there.go(vec![None]);
    let command = match (call.name, options.operands.as_slice()) {
        ("heroku", ["pg:psql" | "psql", ..]) => {
            if let Some(rule) = sql::judge(&deactivate(options.value(&["c", "command"]).unwrap_or(""))) {
                call.report(eval, state, rule);
            }
            String::new()
        }
        ("heroku", [verb, rest @ ..]) if verb.starts_with("run") => rest.join(" "),
        ("fly" | "flyctl", ["ssh" | "machine" | "console", ..]) => {
            options.value(&["C", "command"]).unwrap_or("").to_owned()
        }
        _ => String::new(),
    };
    eval.text(&mut there, &command, &Stream::None, false);
    crate::programs::printing::completion_printer(eval, state, call)
}

/// `ansible hosts -m shell -a 'command'`: on other machines.
pub(crate) fn ansible(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let options = call.options(Spec {
        short: "maiuelfoPTtMc",
        long: &["module-name", "args", "inventory", "user", "extra-vars", "limit", "forks"],
        stops: false,
    });
    let module = options.value(&["m", "module-name"]).unwrap_or("command");
    let args = options.value(&["a", "args"]).unwrap_or("");
    let mut there = state.clone();
    there.machine = Machine::Remote;
    there.go(vec![None]);
    match module.rsplit('.').next().unwrap_or(module) {
        _ if options.has(&["C", "check"]) => {}
        "shell" | "command" | "raw" => {
            eval.text(&mut there, args, &Stream::None, false);
        }
        "file" if args.contains("state=absent") => {
            eval.report(&Machine::Remote, &rules::REMOTE_CHANGE, call.show());
        }
        _ => {}
    }
    Stream::Data(Tags::NONE)
}

/// `docker cp file container:/path`, or the other way round.
fn copied(eval: &mut Evaluator<'_>, state: &ShellState, args: &[String], call: &Call<'_>) -> Stream {
    let options = Options::read(args, Spec::default());
    let inside = |path: &str| path == "-" || path.contains(':') && !path.starts_with(['/', '.', '~']);
    if let [source, target] = options.operands[..] {
        if !inside(source) {
            eval.read(state, source);
        }
        if !inside(target) {
            eval.write(state, target, WriteKind::Overwrite, &call.show());
        }
    }
    Stream::Data(Tags::NONE)
}

/// `curl … | docker exec -i web sh`: nobody has read the text, but it does not run on this machine.
fn fed_from_network(eval: &mut Evaluator<'_>, state: &ShellState, words: &[String], call: &Call<'_>) {
    if !call.stdin.tags().has(Tags::DOWNLOAD) {
        return;
    }
    let before = eval.worst.take();
    let mut here = ShellState { machine: Machine::Local, ..state.clone() };
    eval.call(&mut here, words, call.stdin, false);
    let inner = std::mem::replace(&mut eval.worst, before);
    if inner.is_some_and(|finding| std::ptr::eq(finding.rule, &rules::NETWORK_SHELL)) {
        eval.report(&Machine::Remote, &rules::NETWORK_SHELL, call.show());
    }
}

fn add_mount(
    eval: &mut Evaluator<'_>,
    state: &ShellState,
    mounts: &mut Vec<(String, String)>,
    here: &str,
    there: &str,
) {
    let there_path = || format!("/{}", paths::split(there).collect::<Vec<_>>().join("/"));
    // A name without a slash is one of docker's own volumes.
    if !here.starts_with(['/', '.', '~']) {
        return mounts.push((format!("{VOLUME}{here}"), there_path()));
    }
    if let ResolvedPath::Known(path) = eval.resolve(state, here) {
        let real = eval.locations.real(&path, true);
        mounts.push((real, there_path()));
    }
}

/// `kubectl exec pod -- command`: on another machine.
pub(crate) fn kubectl(eval: &mut Evaluator<'_>, state: &mut ShellState, call: &Call<'_>) -> Stream {
    let args = call.args();
    let mut there = state.clone();
    there.machine = running(state);
    there.go(vec![None]);
    if let Some(at) = args.iter().position(|arg| arg == "--") {
        let runs = args[..at].iter().find(|arg| matches!(arg.as_str(), "exec" | "rsh" | "run" | "debug"));
        if runs.is_some_and(|verb| verb == "run") {
            // A new pod that is gone afterwards.
            there.machine = Machine::Container(Rc::default());
        }
        if runs.is_some() {
            eval.call(&mut there, &args[at + 1..], call.stdin, false);
            fed_from_network(eval, state, &args[at + 1..], call);
        }
    } else if call.name == "vagrant" && args.first().is_some_and(|verb| verb == "ssh") {
        let options = call.options(Spec { short: "c", long: &["command"], stops: false });
        eval.text(&mut there, options.value(&["c", "command"]).unwrap_or(""), call.stdin, false);
    } else if args.iter().any(|verb| verb == "rsh" || verb == "exec") {
        // The pod's name, then the command: the old form without dashes.
        let options =
            call.options(Spec { short: "nc", long: &["namespace", "container", "context"], stops: false });
        let words: Vec<String> = options.operands.iter().skip(2).map(|word| (*word).to_owned()).collect();
        eval.call(&mut there, &words, call.stdin, false);
    }
    crate::programs::printing::completion_printer(eval, state, call)
}
