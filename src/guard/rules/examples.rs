//! Runs every example of the rule files: what must match, with that rule, and what must not be stopped at all.

use super::super::tests::bash;
use super::super::Decision;
use std::path::Path;

#[path = "generate.rs"]
#[allow(dead_code)]
mod generate;

#[test]
fn every_example_holds() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guard/rules");
    let mut wrong = Vec::new();
    let mut count = 0;
    for pack in generate::PACKS {
        for table in generate::tables(&dir, pack).unwrap() {
            let id = table.text("id").unwrap_or_default();
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
