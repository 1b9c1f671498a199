//! Which ssh destinations are accepted. A destination becomes an argument of ssh, so its form is checked before it is
//! used: one that begins with a dash would be an option.

use headspace_core::model::MachineName;

/// Longer than any host name with a user before it.
const LONGEST_DESTINATION: usize = 320;

/// Whether `destination` is a host in a form that ssh accepts: `host`, `user@host`, or either as `ssh://…[:port]`.
pub fn is_ssh_destination(destination: &str) -> bool {
    let (bare, as_url) = match destination.strip_prefix("ssh://") {
        Some(rest) => (rest, true),
        None => (destination, false),
    };
    let (user, host) = match bare.split_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, bare),
    };
    let host = match (as_url, host.rsplit_once(':')) {
        (true, Some((host, port))) if !port.ends_with(']') => {
            if port.parse::<u16>().is_err() {
                return false;
            }
            host
        }
        _ => host,
    };
    destination.len() <= LONGEST_DESTINATION && user.is_none_or(is_host) && (is_host(host) || is_ipv6(host))
}

/// The name a machine gets from its destination when the user gives none: the host.
pub fn from_destination(destination: &str) -> Option<MachineName> {
    let bare = destination.strip_prefix("ssh://").unwrap_or(destination);
    let host = bare.rsplit_once('@').map_or(bare, |(_, host)| host);
    let host = host.split(':').next().unwrap_or(host);
    MachineName::new(host)
}

/// The form of a name, at any length: no leading dash, nothing that a shell or ssh would expand.
fn is_host(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric()) && name.bytes().all(inner)
}

fn is_ipv6(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse::<std::net::Ipv6Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_host_and_never_an_option() {
        for good in [
            "devbox",
            "me@devbox",
            "10.0.0.7",
            "a.b-c.example",
            "ssh://me@devbox:2222",
            "::1",
            "ssh://[::1]:22",
        ] {
            assert!(is_ssh_destination(good), "{good}");
        }
        for bad in [
            "",
            "-oProxyCommand=x",
            "-",
            "me@-x",
            "-x@devbox",
            "@devbox",
            "dev box",
            "dev;box",
            "$(x)",
            "dev\nbox",
            "a/b",
            "ssh://devbox:99999",
            "ssh://",
            "a@b@c",
            "%h",
            "dev`x`",
        ] {
            assert!(!is_ssh_destination(bad), "{bad}");
        }
        assert!(!is_ssh_destination(&"a".repeat(LONGEST_DESTINATION + 1)));
    }

    #[test]
    fn a_name_comes_from_the_host() {
        for (destination, name) in [
            ("devbox", Some("devbox")),
            ("me@devbox.example", Some("devbox.example")),
            ("ssh://me@devbox:22", Some("devbox")),
            ("::1", None),
        ] {
            assert_eq!(
                from_destination(destination).as_ref().map(MachineName::as_str),
                name,
                "{destination}"
            );
        }
    }
}
