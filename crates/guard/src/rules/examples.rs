//! Runs every example in the rule files: what must match, with its rule, and what must not be stopped at all.

use crate::Decision;
use crate::tests::bash;
use std::path::Path;

#[path = "../../build/tables.rs"]
#[allow(dead_code, unreachable_pub)]
mod tables;

/// Rules that a command alone cannot trigger: they need a setting, a mode, a tool or an unusual byte. Other tests cover
/// them.
const NOT_BY_A_COMMAND: [&str; 8] = [
    "custom.ask",
    "custom.deny",
    "git.reset-clean",
    "guard.deadline",
    "input.shape",
    "message.unattended",
    "shell.hidden-character",
    "write.protected",
];

#[test]
fn every_example_holds() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut wrong = Vec::new();
    let mut count = 0;
    for pack in tables::PACKS {
        for table in tables::tables(&dir, pack).unwrap() {
            let id = table.text("id").unwrap_or_default();
            if !id.is_empty() && !NOT_BY_A_COMMAND.contains(&id) {
                let both = !table.texts("must").is_empty() && !table.texts("must_not").is_empty();
                assert!(both, "{id} needs examples of what it must and must not match");
            }
            for command in table.texts("must") {
                count += 1;
                let verdict = bash(command);
                if verdict.rule.as_deref() != Some(id) {
                    wrong.push(format!("{id} must: {command}\n    {:?}", verdict.rule));
                }
            }
            for command in table.texts("must_not") {
                count += 1;
                let verdict = bash(command);
                if verdict.decision != Decision::Allow {
                    wrong.push(format!("{id} must not: {command}\n    {:?}", verdict.rule));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} examples differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 400, "{count} examples");
}

/// The rules as the documentation shows them: the decision in every profile, the patterns, and an example or two.
fn reference() -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let code = |text: &String| format!("`{}`", text.replace('\n', " ⏎ ").replace('|', "\\|"));
    let mut out = String::new();
    for pack in tables::PACKS {
        let title = if pack == "findings" { "What the code finds" } else { pack };
        out += &format!(
            "\n### {title}\n\n| rule | strict, balanced, quiet | this command … | for example |\n|---|---|---|---|\n"
        );
        let mut patterns = String::new();
        for table in tables::tables(&dir, pack).unwrap().iter().filter(|table| !table.kind.is_empty()) {
            let id = table.text("id").unwrap_or_default();
            let rule = crate::rules::by_id(id).unwrap();
            let word =
                |decision: Decision| if decision == Decision::Allow { "–" } else { decision.as_str() };
            let verdicts = [rule.decision, rule.balanced, rule.quiet].map(word).join(", ");
            let examples: Vec<String> = table.texts("must").iter().take(2).map(code).collect();
            out += &format!("| `{id}` | {verdicts} | {} | {} |\n", rule.what, examples.join(", "));
            let all: Vec<String> = table.texts("match").iter().map(|text| format!("`{text}`")).collect();
            if !all.is_empty() {
                patterns += &format!("\n`{id}`: {}\n", all.join(", "));
            }
            for setting in table.texts("unless_env") {
                patterns += if patterns.contains("not with") { "" } else { "\nnot with" };
                patterns += &format!(" `{setting}`");
            }
        }
        out += &patterns;
        if !patterns.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

#[test]
fn the_rules_in_the_documentation_are_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guard.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (start, rest) = text.split_once("<!-- rules -->\n").unwrap();
    let (committed, end) = rest.split_once("<!-- end of rules -->").unwrap();
    let fresh = reference();
    if std::env::var_os("HEADSPACE_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{start}<!-- rules -->\n{fresh}<!-- end of rules -->{end}")).unwrap();
        return;
    }
    assert_eq!(
        committed, fresh,
        "run: HEADSPACE_WRITE_DOCS=1 cargo test -p headspace-guard the_rules_in_the_documentation"
    );
}
