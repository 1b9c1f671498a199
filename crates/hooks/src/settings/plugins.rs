//! Hooks that come from plugins.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// An enabled plugin with a hooks file.
#[derive(Debug)]
pub(super) struct Plugin {
    pub id: String,
    pub root: PathBuf,
    pub hooks_file: PathBuf,
}

/// The enabled plugins in a configuration directory that have hooks. `enabled` is what the settings files say, in
/// order: the last one counts.
pub(super) fn installed(config_dir: &Path, enabled: &[(String, bool)]) -> Vec<Plugin> {
    let list = config_dir.join("plugins").join("installed_plugins.json");
    let Some(registry) = headspace_platform::files::read(&list)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
    else {
        return Vec::new();
    };
    let Some(plugins) = registry.get("plugins").and_then(Value::as_object) else { return Vec::new() };
    let is_enabled = |id: &str| enabled.iter().rev().find(|(name, _)| name == id).is_some_and(|(_, on)| *on);
    plugins
        .iter()
        .filter(|(id, _)| is_enabled(id))
        .filter_map(|(id, installs)| {
            let root = install_path(installs)?;
            let hooks_file = root.join("hooks").join("hooks.json");
            hooks_file.is_file().then(|| Plugin { id: id.clone(), root, hooks_file })
        })
        .collect()
}

/// One install, or one list per scope: the newest is last.
fn install_path(installs: &Value) -> Option<PathBuf> {
    let install = match installs {
        Value::Array(list) => list.last()?,
        one => one,
    };
    install.get("installPath").and_then(Value::as_str).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enabled_plugins_with_hooks_count() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("cache/a");
        std::fs::create_dir_all(root.join("hooks")).unwrap();
        std::fs::create_dir_all(dir.path().join("plugins")).unwrap();
        std::fs::write(root.join("hooks/hooks.json"), "{\"hooks\":{}}").unwrap();
        let registry = serde_json::json!({"version": 2, "plugins": {
            "a@m": [{"scope": "user", "installPath": root}],
            "b@m": [{"scope": "user", "installPath": "/nowhere"}],
            "c@m": {"installPath": root},
        }});
        std::fs::write(dir.path().join("plugins/installed_plugins.json"), registry.to_string()).unwrap();
        let enabled =
            [("a@m", true), ("b@m", true), ("c@m", true), ("c@m", false)].map(|(n, on)| (n.to_owned(), on));
        let found: Vec<String> =
            installed(dir.path(), &enabled).into_iter().map(|plugin| plugin.id).collect();
        assert_eq!(found, ["a@m"]);
    }
}
