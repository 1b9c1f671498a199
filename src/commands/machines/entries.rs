//! `"machines"` in `config.jsonc`, changed as text: comments, order and everything else stay.

use crate::commands::config_edit;
use anyhow::{Context, Result, bail, ensure};
use headspace_platform::config::{self, OtherMachine};
use headspace_platform::files;
use jsonc_parser::cst::CstInputValue;

/// Changes the configuration in one step. If somebody else has changed it meanwhile, it starts over.
pub fn change(edit: impl Fn(&str) -> Result<String>) -> Result<()> {
    let path = config::config_file();
    if let Some(dir) = path.parent() {
        files::private_dir(dir)?;
    }
    for _ in 0..10 {
        let before = match files::read_text(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
        };
        let after = edit(before.as_deref().unwrap_or_default())?;
        let written = files::replace_if(&path, before.as_deref().map(str::as_bytes), after.as_bytes());
        if written.with_context(|| format!("could not write {}", path.display()))? {
            return Ok(());
        }
    }
    bail!("could not write {}: another program keeps changing it; try again", path.display())
}

/// The configuration with one more machine.
pub fn with(text: &str, entry: &OtherMachine) -> Result<String> {
    config_edit::edited(text, |root| {
        root.array_value_or_set("machines").append(value(entry));
    })
}

/// The configuration without the machine at this place.
pub fn without(text: &str, at: usize) -> Result<String> {
    let mut removed = false;
    let after = config_edit::edited(text, |root| {
        let machines = root.array_value("machines");
        if let Some(element) = machines.and_then(|machines| machines.elements().into_iter().nth(at)) {
            element.remove();
            removed = true;
        }
    })?;
    ensure!(removed, "could not change the configuration: it has changed meanwhile; try again");
    Ok(after)
}

fn value(entry: &OtherMachine) -> CstInputValue {
    let text = |text: &String| CstInputValue::String(text.clone());
    let command = entry.command.as_ref().map(|words| CstInputValue::Array(words.iter().map(text).collect()));
    let fields = [
        ("name", entry.name.as_ref().map(text)),
        ("ssh", entry.ssh.as_ref().map(text)),
        ("command", command),
        ("program", entry.program.as_ref().map(text)),
        ("alerts", entry.alerts.map(CstInputValue::Bool)),
    ];
    let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    CstInputValue::Object(present.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_platform::config::Config;

    fn ssh(host: &str) -> OtherMachine {
        OtherMachine { ssh: Some(host.into()), ..OtherMachine::default() }
    }

    #[test]
    fn adding_and_removing_changes_nothing_else() {
        let text = "// mine\n{\n  \"port\": 5055, // here\n}\n";
        let one = with(text, &ssh("devbox")).unwrap();
        assert!(one.contains("// mine") && one.contains("// here"));
        let command = OtherMachine {
            name: Some("box".into()),
            command: Some(vec!["sh".into(), "-c".into(), "say \"hi\"".into()]),
            alerts: Some(false),
            ..OtherMachine::default()
        };
        let two = with(&one, &command).unwrap();
        assert_eq!(Config::parse(&two).unwrap().machines, [ssh("devbox"), command.clone()]);
        let left = without(&two, 0).unwrap();
        assert_eq!(Config::parse(&left).unwrap().machines, [command]);
        assert!(left.contains("// mine") && left.contains("// here"));
        assert_eq!(Config::parse(&with("", &ssh("a")).unwrap()).unwrap().machines, [ssh("a")]);
        assert!(
            with("{ broken", &ssh("a")).is_err() && without(text, 0).is_err() && without(&left, 3).is_err()
        );
    }
}
