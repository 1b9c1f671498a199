//! Lines for tmux.conf: printed, never written there by us.

use headspace_hooks::client_settings::entry::quote;

pub fn lines(program: &str) -> String {
    let program = quote(program);
    // In a status line tmux expands `#` itself and hands `%` to strftime.
    let in_status = program.replace('#', "##").replace('%', "%%");
    let status = tmux_string(&format!(" #({in_status} status --tmux)"));
    let next = tmux_string(&format!("{program} next"));
    let top = tmux_string(&format!("{program} top"));
    format!(
        "# headspace: who needs you, in the status line\n\
         set -g status-interval 5\n\
         set -ag status-right {status}\n\
         # prefix N: to the session that has waited longest; prefix H: all of them\n\
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
