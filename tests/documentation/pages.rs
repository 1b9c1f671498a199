//! Links lead somewhere, paths are there, and every command line in an example is one.

use crate::home::Home;
use crate::{blocks, files, quoted, read, root, words};
use clap::Parser;
use clap::error::ErrorKind;
use claude_headspace::cli::Cli;

const PAGES: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// All pages a reader may come to, by their paths in the repository.
fn pages() -> Vec<String> {
    let docs = files(&root().join("docs"), ".md");
    let docs = docs.iter().map(|path| path.strip_prefix(root()).unwrap().display().to_string());
    PAGES.iter().map(|page| (*page).to_owned()).chain(docs).collect()
}

/// The anchor GitHub makes of a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> Vec<String> {
    let heading = |line: &str| line.strip_prefix('#').map(|rest| anchor(rest.trim_start_matches('#').trim()));
    text.lines().filter_map(heading).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = read(&page);
        let after = |mark: &str, end: char| -> Vec<&str> {
            text.split(mark).skip(1).filter_map(|rest| rest.split(end).next()).collect()
        };
        let links = [after("](", ')'), after("src=\"", '"'), after("srcset=\"", '"')].concat();
        for link in links.into_iter().filter(|link| !link.contains("://")) {
            let (path, target) = link.split_once('#').unwrap_or((link, ""));
            let here = root().join(&page);
            let file = if path.is_empty() { here } else { here.parent().unwrap().join(path) };
            let found = file.exists()
                && (target.is_empty()
                    || anchors(&std::fs::read_to_string(&file).unwrap_or_default())
                        .contains(&target.to_owned()));
            if !found {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_is_reached_from_the_readme() {
    let readme = read("README.md");
    let lost: Vec<String> =
        pages().into_iter().skip(1).filter(|page| !readme.contains(&format!("({page}"))).collect();
    assert!(lost.is_empty(), "README.md does not link to {lost:?}");
}

#[test]
fn paths_in_the_developers_pages_are_there() {
    const TOP: [&str; 10] = [
        "crates/",
        "src/",
        "tests/",
        "web/",
        "docs/",
        "benches/",
        "fuzz/",
        "install/",
        "xtask/",
        "completions/",
    ];
    let mut gone = Vec::new();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = read(page);
        let outside = text.split("```").step_by(2).collect::<String>();
        for path in quoted(&outside).into_iter().filter(|path| TOP.iter().any(|top| path.starts_with(top))) {
            // `rules/*.toml`: the directory is there.
            let fixed = path.split('*').next().unwrap();
            let path = if fixed == path { path } else { fixed.rsplit_once('/').unwrap().0 };
            if !root().join(path).exists() {
                gone.push(format!("{page}: {path}"));
            }
        }
    }
    assert!(gone.is_empty(), "{gone:#?}");
}

/// The `headspace …` command lines in a page's code blocks, fenced or indented.
fn examples(text: &str) -> Vec<String> {
    let fenced = blocks(text).into_iter().map(|(.., body)| body).collect::<String>();
    let indented = text.lines().filter(|line| line.starts_with("    "));
    let lines = fenced.lines().chain(indented).map(|line| line.trim().trim_start_matches("$ "));
    let commands = lines.flat_map(|line| line.split("&&")).map(str::trim);
    commands.filter(|line| line.starts_with("headspace ")).map(str::to_owned).collect()
}

/// The commands that a page's sentences name.
fn mentions(text: &str) -> Vec<String> {
    let outside: String = text.split("```").step_by(2).collect();
    let commands = quoted(&outside).into_iter().flat_map(|quote| quote.split("&&")).map(str::trim);
    commands.filter(|line| line.starts_with("headspace ")).map(str::to_owned).collect()
}

/// What is wrong with a command line.
fn misfit(line: &str) -> Option<clap::Error> {
    let command = line.split(" | ").next().and_then(|line| line.split(">>").next()).unwrap_or(line);
    let error = Cli::try_parse_from(words(command).into_iter().filter(|word| word != "…")).err()?;
    (!matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)).then_some(error)
}

#[test]
fn every_command_in_the_documentation_is_one() {
    let mut wrong = Vec::new();
    let mut count = 0;
    // In a sentence a command may be named without what it needs.
    let is_short = |error: &clap::Error| {
        use ErrorKind::*;
        let missing = [MissingRequiredArgument, MissingSubcommand, DisplayHelpOnMissingArgumentOrSubcommand];
        missing.contains(&error.kind())
    };
    for page in pages().into_iter().filter(|page| page != "CHANGELOG.md") {
        let text = read(&page);
        // The guard's examples are commands it stops, also such as nobody has.
        let text = text.split("<!-- rules -->").next().unwrap();
        let (examples, mentions) = (examples(text), mentions(text));
        count += examples.len() + mentions.len();
        let misfits = examples.iter().filter_map(|line| Some((line, misfit(line)?)));
        let named = mentions.iter().filter_map(|line| Some((line, misfit(line)?)));
        let named = named.filter(|(_, error)| !is_short(error));
        wrong.extend(misfits.chain(named).map(|(line, error)| format!("{page}: {line}\n{error}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 30, "{count} commands");
}

#[test]
fn the_example_configuration_has_only_settings_that_exist() {
    let home = Home::new();
    let mut count = 0;
    for page in pages() {
        for (language, line, body) in blocks(&read(&page)) {
            if language != "jsonc" || body.contains("\"hooks\"") {
                continue;
            }
            count += 1;
            let body = body.trim();
            let whole = if body.starts_with('{') { body.to_owned() } else { format!("{{\n{body}\n}}") };
            home.configure(&whole);
            for finding in home.findings().iter().filter(|finding| finding["check"] == "configuration") {
                assert_eq!(finding["level"], "ok", "{page}:{line}: {finding}");
            }
        }
    }
    assert!(count > 1, "{count} examples");
}

/// Whatever `doctor` can look at has its place on the page about trouble.
#[test]
fn every_check_of_the_doctor_is_explained() {
    let page = read("docs/troubleshooting.md");
    let home = Home::new();
    std::fs::write(home.path().join(".claude.json"), "{}").unwrap();
    assert!(home.run(&["install"]).status.success());
    let findings = home.findings();
    let mut checks: Vec<&str> = findings.iter().map(|finding| finding["check"].as_str().unwrap()).collect();
    checks.dedup();
    // No server runs, so nobody can say which sessions report.
    checks.push("coverage");
    assert!(checks.len() >= 12, "{checks:?}");
    let silent: Vec<&&str> =
        checks.iter().filter(|check| !page.contains(&format!("### {check}\n"))).collect();
    assert!(silent.is_empty(), "docs/troubleshooting.md does not explain {silent:?}");
}

/// The events that `install` subscribes to, and those it leaves out, are all on the page about hooks.
#[test]
fn every_event_is_explained() {
    let page = read("docs/hooks-and-states.md");
    let events = headspace_core::model::event_names::EVENTS.iter().map(|spec| spec.name);
    let silent: Vec<&str> = events.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(silent.is_empty(), "docs/hooks-and-states.md does not explain {silent:?}");
}
