//! All targets, for the runner on stable. Each file is a program for libFuzzer, too: see `Cargo.toml`.

pub mod clients {
    pub mod screen;
    pub mod transcript;
}

pub mod core {
    pub mod answer;
    pub mod changes;
    pub mod excerpt;
    pub mod export;
    pub mod mask;
}

pub mod fleet {
    pub mod batch;
    pub mod hub_answer;
    pub mod machines;
    pub mod membership;
    pub mod relay;
}

pub mod guard {
    pub mod judge;
    pub mod languages;
    pub mod settings;
    pub mod shell;
    mod world;
}

pub mod hooks {
    pub mod matcher;
    pub mod pattern;
    pub mod settings;
    pub mod settings_merge;
}

pub mod notify {
    pub mod payload;
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub mod shortcut;
}

pub mod platform {
    pub mod config;
    pub mod hook_request;
    #[cfg(unix)]
    pub mod session_bus;
}

pub mod server {
    pub mod body;
}

pub mod store {
    pub mod carve;
}
