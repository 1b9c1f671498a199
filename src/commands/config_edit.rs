//! Changes the user's configuration file: one setting at a time, everything else as it was.

use anyhow::{Context, Result};
use headspace_platform::config::Config;
use headspace_platform::{config, files};
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use std::path::Path;

/// The text of the file; empty if there is none.
pub fn read() -> Result<String> {
    let path = config::config_file();
    match files::read_text(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| format!("could not read {}", path.display())),
    }
}

/// The text with the change applied. A file that headspace cannot read is not edited.
pub fn edited(text: &str, change: impl FnOnce(&CstObject)) -> Result<String> {
    Config::parse(text).context("could not read the configuration")?;
    let text = if text.trim().is_empty() { "{\n}\n" } else { text };
    let root = CstRootNode::parse(text, &Default::default())
        .map_err(|error| anyhow::anyhow!("could not read the configuration: {error}"))?;
    change(&root.object_value_or_set());
    let after = root.to_string();
    Config::parse(&after).context("could not change the configuration")?;
    Ok(after)
}

/// Sets one field of an object, or removes it.
pub fn set(object: &CstObject, name: &str, value: Option<CstInputValue>) {
    match (object.get(name), value) {
        (Some(property), Some(value)) => property.set_value(value),
        (Some(property), None) => property.remove(),
        (None, Some(value)) => {
            object.append(name, value);
        }
        (None, None) => {}
    }
}

pub fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(dir) = path.parent() {
        files::private_dir(dir)?;
    }
    files::replace(path, text.as_bytes()).with_context(|| format!("could not write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_comes_and_goes_and_the_rest_stays() {
        let text = "// mine\n{\n  \"port\": 6000, // here\n}\n";
        let with =
            edited(text, |root| set(root, "host", Some(CstInputValue::String("0.0.0.0".into())))).unwrap();
        assert!(with.contains("// mine") && with.contains("// here"), "{with}");
        assert_eq!(Config::parse(&with).unwrap().host, "0.0.0.0");
        let without = edited(&with, |root| set(root, "host", None)).unwrap();
        assert_eq!(Config::parse(&without).unwrap().host, "127.0.0.1");
        assert!(without.contains("// here"), "{without}");
        assert!(edited("{ broken", |_| ()).is_err());
    }
}
