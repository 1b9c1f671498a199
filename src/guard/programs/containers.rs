//! Containers: what happens inside stays inside, except in the directories they share with this machine.

use super::{Call, Options, Spec};
use crate::guard::paths;
use crate::guard::rules;
use crate::guard::walk::Walk;
use crate::guard::walk::env::{Env, World};
use crate::guard::walk::touch::{Spot, Write};
use crate::guard::walk::value::{Stream, Tags};
use std::rc::Rc;

/// Options of `docker run` and `exec` that take a value.
const LONG: [&str; 44] = [
    "volume",
    "mount",
    "env",
    "env-file",
    "name",
    "network",
    "net",
    "publish",
    "workdir",
    "user",
    "entrypoint",
    "label",
    "hostname",
    "memory",
    "cpus",
    "platform",
    "restart",
    "add-host",
    "cap-add",
    "cap-drop",
    "device",
    "dns",
    "expose",
    "gpus",
    "group-add",
    "ip",
    "ipc",
    "link",
    "log-driver",
    "log-opt",
    "pid",
    "pull",
    "security-opt",
    "shm-size",
    "stop-signal",
    "sysctl",
    "tmpfs",
    "ulimit",
    "userns",
    "volumes-from",
    "container",
    "namespace",
    "context",
    "file",
];

pub fn docker(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let args = call.args();
    if let [verb, rest @ ..] = args
        && verb == "cp"
    {
        return copied(walk, env, rest, call);
    }
    let Some(at) = args.iter().position(|arg| matches!(arg.as_str(), "run" | "exec")) else {
        return Stream::Data(Tags::NONE);
    };
    // `docker compose -f x logs run` and the like: a verb stands before any other operand but these.
    let before_is_verb = args[..at].iter().any(|arg| {
        matches!(
            arg.as_str(),
            "build"
                | "logs"
                | "ps"
                | "images"
                | "pull"
                | "push"
                | "rm"
                | "stop"
                | "start"
                | "inspect"
                | "tag"
        )
    });
    if before_is_verb {
        return Stream::Data(Tags::NONE);
    }
    let options = Options::read(&args[at + 1..], Spec { short: "vewunplhmcafe", long: &LONG, stops: true });
    let mut mounts = Vec::new();
    for volume in options.values(&["v", "volume"]) {
        let mut parts = volume.split(':');
        if let (Some(here), Some(there)) = (parts.next(), parts.next()) {
            add_mount(walk, env, &mut mounts, here, there);
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
            add_mount(walk, env, &mut mounts, here, there);
        }
    }
    let mut inner = env.clone();
    inner.world = World::Container(Rc::new(mounts));
    inner.go(vec![options.value(&["w", "workdir"]).map(str::to_owned)]);
    // The image or the container comes first, then the command.
    let words: Vec<String> = options.operands.iter().skip(1).map(|word| (*word).to_owned()).collect();
    if !words.is_empty() {
        walk.call(&mut inner, &words, call.stdin, false);
        fed_from_network(walk, env, &words, call);
    }
    Stream::Data(call.stdin.tags().only(Tags::FLOWING))
}

/// `docker cp file container:/path`, or the other way round.
fn copied(walk: &mut Walk<'_>, env: &Env, args: &[String], call: &Call<'_>) -> Stream {
    let options = Options::read(args, Spec::default());
    let inside = |path: &str| path == "-" || path.contains(':') && !path.starts_with(['/', '.', '~']);
    if let [source, target] = options.operands[..] {
        if !inside(source) {
            walk.read(env, source);
        }
        if !inside(target) {
            walk.write(env, target, Write::Overwrite, &call.show());
        }
    }
    Stream::Data(Tags::NONE)
}

/// `curl … | docker exec -i web sh`: nobody has read it there either, but it is not this machine that runs it.
fn fed_from_network(walk: &mut Walk<'_>, env: &Env, words: &[String], call: &Call<'_>) {
    if !call.stdin.tags().has(Tags::DOWNLOAD) {
        return;
    }
    let before = walk.worst.take();
    let mut here = Env { world: World::Here, ..env.clone() };
    walk.call(&mut here, words, call.stdin, false);
    let inner = std::mem::replace(&mut walk.worst, before);
    if inner.is_some_and(|finding| std::ptr::eq(finding.rule, &rules::NETWORK_SHELL)) {
        walk.found(&World::Remote, &rules::NETWORK_SHELL, call.show());
    }
}

fn add_mount(walk: &mut Walk<'_>, env: &Env, mounts: &mut Vec<(String, String)>, here: &str, there: &str) {
    // A name without a slash is a volume of docker's own.
    if !here.starts_with(['/', '.', '~']) {
        return;
    }
    if let Spot::At(path) = walk.spot(env, here) {
        let real = walk.ground.real(&path, true);
        mounts.push((real, format!("/{}", paths::split(there).collect::<Vec<_>>().join("/"))));
    }
}

/// `kubectl exec pod -- command`: somewhere else altogether.
pub fn kubectl(walk: &mut Walk<'_>, env: &mut Env, call: &Call<'_>) -> Stream {
    let args = call.args();
    if let Some(at) = args.iter().position(|arg| arg == "--")
        && args[..at].iter().any(|arg| arg == "exec")
    {
        fed_from_network(walk, env, &args[at + 1..], call);
    }
    super::output::completion_printer(walk, env, call)
}
