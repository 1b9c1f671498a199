//! Every "Invariant:" in ARCHITECTURE.md names what holds it, and that does hold it.

use crate::{files, generated, quoted, read, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const PAGE: &str = "ARCHITECTURE.md";

/// A package of the workspace, and the packages it is built from: those for tests are not among them.
struct Package {
    manifest: String,
    uses: BTreeSet<String>,
}

/// The workspace as cargo reads the manifests, by the packages' names.
fn packages() -> BTreeMap<String, Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let asked = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    let metadata: Value = serde_json::from_slice(&asked.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let package = |package: &Value| {
        let manifest = text(&package["manifest_path"]);
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let uses = dependencies.filter(|one| one["kind"] != "dev").map(|one| text(&one["name"])).collect();
        let manifest = manifest.strip_prefix(&format!("{}/", root().display())).unwrap_or(&manifest);
        (text(&package["name"]), Package { manifest: manifest.to_owned(), uses })
    };
    metadata["packages"].as_array().unwrap().iter().map(package).collect()
}

/// `headspace-core` is `core`, the root package is `program`.
fn room(package: &str) -> &str {
    if package == "claude-headspace" { "program" } else { package.trim_start_matches("headspace-") }
}

/// A room of the product: the program and the crates it is built from, not what tests and developers use.
fn is_ours(package: &str) -> bool {
    let is_crate = |name: &str| root().join("crates").join(name).is_dir();
    package == "claude-headspace" || package.strip_prefix("headspace-").is_some_and(is_crate)
}

/// Everything a package is built from, by way of our own packages.
fn reaches(packages: &BTreeMap<String, Package>, package: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![package.to_owned()]);
    while let Some(next) = open.pop() {
        for used in packages.get(&next).iter().flat_map(|package| &package.uses) {
            if found.insert(used.clone()) {
                open.push(used.clone());
            }
        }
    }
    found
}

#[test]
fn the_drawn_graph_is_what_the_manifests_say() {
    let packages = packages();
    let ours = || packages.iter().filter(|(name, _)| is_ours(name));
    // Whoever reaches most comes first, so that all arrows point down.
    let mut rooms: Vec<(&String, &Package)> = ours().collect();
    rooms.sort_by_key(|(name, _)| {
        let depth = reaches(&packages, name).iter().filter(|used| is_ours(used)).count();
        (usize::MAX - depth, room(name).to_owned())
    });
    let mut drawn = String::from("```text\n");
    for (name, package) in &rooms {
        let mut uses: Vec<&str> = Vec::new();
        for (other, _) in &rooms {
            if package.uses.contains(*other) {
                uses.push(room(other));
            }
        }
        let uses = if uses.is_empty() { "nothing".into() } else { uses.join(", ") };
        drawn += &format!("{:<9} ▶ {uses}\n", room(name));
    }
    drawn += "```\n";
    generated(PAGE, "crates", &drawn);
}

#[test]
fn every_room_has_its_paragraph() {
    let page = read(PAGE);
    for name in packages().keys().filter(|name| is_ours(name)) {
        let heading = match room(name) {
            "program" => "### The program".to_owned(),
            room => format!("### `crates/{room}`"),
        };
        assert!(page.lines().any(|line| line.starts_with(&heading)), "{PAGE} has no \"{heading}\"");
    }
}

#[test]
fn every_invariant_is_held_by_what_it_names() {
    let page = read(PAGE);
    let packages = packages();
    let mut wrong = Vec::new();
    let mut count = 0;
    for paragraph in page.split("\n\n").filter(|text| text.trim_start().starts_with("**Invariant:**")) {
        count += 1;
        let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut parts = text.split("Held by: ");
        let claim = parts.next().unwrap();
        let holders: Vec<&str> = parts.collect();
        if holders.is_empty() {
            wrong.push(format!("{claim}: nothing is said to hold it"));
        }
        for holder in holders {
            if let Err(why) = holds(holder, &packages) {
                wrong.push(format!("{claim}\n    Held by: {holder}\n    {why}"));
            }
        }
    }
    let mentioned = page.matches("**Invariant:**").count();
    assert_eq!(count, mentioned, "each invariant is a paragraph of its own");
    assert!(count >= 10, "{count} invariants");
    assert!(wrong.is_empty(), "{} not held:\n{}", wrong.len(), wrong.join("\n"));
}

/// The forms in which an invariant says what holds it.
fn holds(holder: &str, packages: &BTreeMap<String, Package>) -> Result<(), String> {
    let names = quoted(holder);
    let (first, rest) = names.split_first().ok_or("it names nothing")?;
    if holder.starts_with("test ") || holder.starts_with("tests ") {
        let (tests, places) = holder.split_once(" in ").ok_or("it names no place")?;
        return quoted(tests).iter().try_for_each(|name| has_test(&quoted(places), name));
    }
    if first.starts_with("#![") {
        return rest.iter().try_for_each(|path| says(path, |line| line.trim() == *first));
    }
    if holder.contains(" the arrows ") {
        return arrows(names.last().ok_or("it names no arrows")?, packages);
    }
    if holder.contains(" without ") {
        return without(first, rest, packages);
    }
    if holder.contains(" lint") {
        packages.values().try_for_each(|package| takes_lints(&package.manifest))?;
        return rest.iter().try_for_each(|lint| {
            let set = |line: &str| {
                line.starts_with(&format!("{lint} =")) && (line.contains("deny") || line.contains("forbid"))
            };
            says(first, set)
        });
    }
    if holder.contains(" forbids ") {
        return rest.iter().try_for_each(|path| says(first, |line| line.contains(*path)));
    }
    if holder.contains(" in `tests/run`") {
        let script = root().join(first);
        return if !script.is_file() {
            Err(format!("there is no {first}"))
        } else {
            says("tests/run", |line| line.contains(*first))
        };
    }
    Err("this is not a form that can be checked".into())
}

/// The workspace's lints hold only where a package takes them over.
fn takes_lints(manifest: &str) -> Result<(), String> {
    let text = read(manifest);
    let lints = text.split_once("[lints]\n").map_or("", |(_, lints)| lints);
    lints
        .starts_with("workspace = true")
        .then_some(())
        .ok_or_else(|| format!("{manifest} does not take the lints"))
}

/// A file has a line that fits.
fn says(path: &str, fits: impl Fn(&str) -> bool) -> Result<(), String> {
    let text = std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))?;
    text.lines().any(fits).then_some(()).ok_or_else(|| format!("{path} does not say so"))
}

/// A test of this name is in one of the places: a file, or somewhere below a directory.
fn has_test(places: &[&str], name: &str) -> Result<(), String> {
    let missing = places.iter().find(|place| !root().join(place).exists());
    if let Some(place) = missing.or(places.is_empty().then_some(&"place")) {
        return Err(format!("there is no {place}"));
    }
    let is_test = |text: String| {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let at = lines.iter().position(|line| line.starts_with(&format!("fn {name}(")))?;
        let mut above = lines[..at].iter().rev().take_while(|line| line.starts_with(['#', '/']));
        above.any(|line| *line == "#[test]").then_some(())
    };
    let texts = places.iter().flat_map(|place| files(&root().join(place), ".rs"));
    let mut texts = texts.map(|path| std::fs::read_to_string(path).unwrap_or_default());
    texts.find_map(is_test).ok_or_else(|| format!("there is no test {name} in {}", places.join(", ")))
}

/// The package of a manifest reaches none of these, directly or through others.
fn without(manifest: &str, absent: &[&str], packages: &BTreeMap<String, Package>) -> Result<(), String> {
    let found = packages.iter().find(|(_, package)| package.manifest == manifest);
    let (name, _) = found.ok_or_else(|| format!("there is no {manifest}"))?;
    let reached = reaches(packages, name);
    for name in absent {
        let fits = |used: &String| match name.strip_suffix('*') {
            Some(prefix) => used.starts_with(prefix),
            None => used == name,
        };
        if let Some(used) = reached.iter().find(|used| fits(used)) {
            return Err(format!("{manifest} reaches {used}"));
        }
    }
    if absent.is_empty() { Err("it names no package".into()) } else { Ok(()) }
}

/// `a ▶ {b, c} ▶ d`: each uses only what is further to the right, and every room of the workspace is named.
fn arrows(drawn: &str, packages: &BTreeMap<String, Package>) -> Result<(), String> {
    let layer = |text: &str| -> Vec<String> {
        text.trim_matches(['{', '}', ' ']).split(',').map(|name| name.trim().to_owned()).collect()
    };
    let layers: Vec<Vec<String>> = drawn.split('▶').map(str::trim).map(layer).collect();
    let level =
        |package: &str| layers.iter().position(|layer| layer.iter().any(|name| name == room(package)));
    for (name, package) in packages.iter().filter(|(name, _)| is_ours(name)) {
        let own = level(name).ok_or_else(|| format!("{} is in no layer", room(name)))?;
        for used in package.uses.iter().filter(|used| is_ours(used)) {
            if level(used).is_none_or(|other| other <= own) {
                return Err(format!("{} uses {}", room(name), room(used)));
            }
        }
    }
    Ok(())
}

/// A wrong claim is found: the checks above are not satisfied by anything.
#[test]
fn a_claim_that_is_not_true_is_found() {
    let packages = packages();
    for holder in [
        "`crates/server/Cargo.toml` without `headspace-store`.",
        "`crates/nowhere/Cargo.toml` without `headspace-store`.",
        "`crates/notify/Cargo.toml` without.",
        "the manifests, with the arrows `core ▶ {platform, notify, guard, hooks, clients, store, server} ▶ program`.",
        "the manifests, with the arrows `program ▶ core`.",
        "test `there_is_no_such_test` in `tests`.",
        "test `room` in `tests/documentation`.",
        "`Cargo.toml`, lint `there_is_no_such_lint`.",
        "`#![forbid(nothing)]` in `src/lib.rs`.",
        "`tests/nothing.py` in `tests/run`.",
        "`clippy.toml` forbids `std::nothing`.",
        "`README.md`.",
        "good will.",
    ] {
        assert!(holds(holder, &packages).is_err(), "{holder}");
    }
}
