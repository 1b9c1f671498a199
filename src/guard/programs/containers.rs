//! Containers: what happens inside stays inside, except in the directories they share with this machine.

use super::{Call, Options, Spec};
use crate::guard::paths;
use crate::guard::walk::Walk;
use crate::guard::walk::env::{Env, World};
use crate::guard::walk::touch::Spot;
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
    }
    Stream::Data(call.stdin.tags().only(Tags::FLOWING))
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
    super::output::completion_printer(walk, env, call)
}
