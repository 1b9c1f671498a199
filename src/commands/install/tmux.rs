//! Lines for tmux.conf: printed, never written there.

use headspace_hooks::client_settings::entry::quote;

pub fn lines(program: &str) -> String {
    let program = quote(program);
    // In a status line, tmux expands `#` itself and passes `%` to strftime.
    let in_status = program.replace('#', "##").replace('%', "%%");
    let status = tmux_string(&format!(" #({in_status} status --tmux)"));
    let next = tmux_string(&format!("{program} next"));
    let top = tmux_string(&format!("{program} top"));
    format!(
        "# headspace: the status line shows who needs you\n\
         set -g status-interval 5\n\
         set -ag status-right {status}\n\
         # prefix N jumps to the session that has waited longest; prefix H shows all of them\n\
         bind-key N run-shell {next}\n\
         bind-key H display-popup -E -w 90% -h 80% {top}\n"
    )
}

/// A string of tmux's configuration language.
fn tmux_string(text: &str) -> String {
    if !text.contains('\'') {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out + "\""
}
