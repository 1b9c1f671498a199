//! Who gets access to the server.

use headspace_test_support::{
    Home, Server, as_another_user, each_row, event, is_root, request, skip, wait_until,
};
#[cfg(target_os = "linux")]
use headspace_test_support::{connection_of_another_user, network_address};
use serde_json::json;
#[cfg(target_os = "linux")]
use std::io::{Read, Write};
#[cfg(target_os = "linux")]
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;

const ONLY_ROOT: &str = "only root can become another user";

#[test]
fn other_users_need_the_token() {
    let home = Home::new();
    let server = home.serve();
    let body = event("theirs", json!({"prompt": "x"})).to_string();
    let post = |headers: &[(&str, &str)]| {
        request(server.port, "POST", "/hook/user-prompt-submit", headers, Some(body.as_bytes()))
    };
    let Some(refused) = as_another_user(server.port, &post(&[]), true) else { return skip(ONLY_ROOT) };
    assert_eq!(refused, "HTTP/1.1 403 Forbidden");
    let wrong = as_another_user(server.port, &post(&[("Authorization", "Bearer nope")]), true).unwrap();
    assert_eq!(wrong, "HTTP/1.1 403 Forbidden");
    let token = std::fs::read_to_string(home.state().join("token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let right = as_another_user(server.port, &post(&[("Authorization", &bearer)]), true).unwrap();
    assert_eq!(right, "HTTP/1.1 200 OK");
    assert_eq!(server.get("/hook/status")["events_received"], 1);
}

/// Another user who saw the link cannot use it, and cannot use it up.
#[test]
fn a_login_code_works_only_for_the_servers_own_user() {
    let home = Home::new();
    let server = home.serve();
    let code = server.post("/api/login-code", &json!({})).json()["code"].as_str().unwrap().to_owned();
    let path = format!("/login?code={code}");
    let Some(theirs) = as_another_user(server.port, &request(server.port, "GET", &path, &[], None), true)
    else {
        return skip(ONLY_ROOT);
    };
    assert_eq!(theirs, "HTTP/1.1 403 Forbidden");
    assert_eq!(server.request("GET", &path, &[], None).status, 303);
}

/// Whatever stands behind the `?`: a program gets JSON, a person a page.
#[test]
fn an_address_that_cannot_be_read_is_told_like_every_other_error() {
    let home = Home::new();
    let server = home.serve();
    for path in ["/login?code=a&code=b", "/api/agents?all=1&all=1"] {
        let program = server.request("GET", path, &[], None);
        assert_eq!(program.status, 400, "{path}: {}", program.text());
        let message = program.json()["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.starts_with("could not read what the address asks for: "), "{path}: {message}");
        let person = server.request("GET", path, &[("Accept", "text/html")], None);
        let kind = person.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("text/html") && person.text().contains("<h1>"), "{path}: {}", person.text());
    }
}

/// Reading is as private as writing.
#[test]
fn other_users_see_nothing_without_the_token() {
    let home = Home::new();
    let server = home.serve();
    server.hook("user-prompt-submit", event("ours", json!({"prompt": "private"})));
    let token = std::fs::read_to_string(home.state().join("token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    if !is_root() {
        return skip(ONLY_ROOT);
    }
    let paths = [
        "/",
        "/assets/app.js",
        "/health",
        "/metrics",
        "/hook/status",
        "/api/agents",
        "/api/agents/1",
        "/api/agents/1/turns",
        "/api/agents/1/events",
        "/api/events?q=private",
        "/api/events/stream",
        "/nowhere",
    ];
    each_row(
        paths,
        |path| path.to_string(),
        |path| {
            let ask = |headers: &[(&str, &str)]| request(server.port, "GET", path, headers, None);
            let refused = as_another_user(server.port, &ask(&[]), true).unwrap();
            assert_eq!(refused, "HTTP/1.1 403 Forbidden");
            // A stream would not end.
            if path != "/api/events/stream" {
                let with = as_another_user(server.port, &ask(&[("Authorization", &bearer)]), true).unwrap();
                assert_ne!(with, "HTTP/1.1 403 Forbidden");
            }
        },
    );
    for path in ["/api/agents/1/seen", "/api/login-code", "/api/prune"] {
        let bytes = request(server.port, "POST", path, &[], Some(b"{}"));
        let refused = as_another_user(server.port, &bytes, true).unwrap();
        assert_eq!(refused, "HTTP/1.1 403 Forbidden", "{path}");
    }
}

/// What a page can send without asking the browser first: forms, and text that happens to be JSON.
#[test]
fn forms_and_plain_text_write_nothing() {
    let home = Home::new();
    let server = home.serve();
    let body = event("forged", json!({"prompt": "x"})).to_string();
    each_row(
        [
            "text/plain",
            "text/plain;charset=UTF-8",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=application/json",
            "text/plain; application/json",
        ],
        |kind| kind.to_string(),
        |kind| {
            for path in ["/hook/stop", "/api/agents/1/seen", "/api/login-code", "/api/prune"] {
                let answer = server.request("POST", path, &[("Content-Type", kind)], Some(body.as_bytes()));
                assert_eq!(answer.status, 400, "{kind} to {path}");
            }
        },
    );
    // A preflight request is refused.
    let asked = server.request(
        "OPTIONS",
        "/hook/stop",
        &[("Origin", "http://evil.example"), ("Access-Control-Request-Method", "POST")],
        None,
    );
    assert_eq!(asked.status, 403);
    assert!(asked.header("access-control-allow-origin").is_none());
    assert_eq!(server.get("/hook/status")["events_received"], 0);
}

/// DNS rebinding: the attacker's name resolves to 127.0.0.1, so the browser sees the page's own origin.
#[test]
fn a_rebound_name_reads_and_writes_nothing() {
    let home = Home::new();
    let server = home.serve();
    let name = format!("rebind.evil.example:{}", server.port);
    let origin = format!("http://{name}");
    let body = event("forged", json!({})).to_string();
    each_row(
        [("GET", "/"), ("GET", "/api/agents"), ("GET", "/api/events/stream"), ("POST", "/hook/stop")],
        |(method, path)| format!("{method} {path}"),
        |(method, path)| {
            let posted = (method == "POST").then_some(body.as_bytes());
            for headers in [vec![("Host", name.as_str())], vec![("Host", &name), ("Origin", &origin)]] {
                assert_eq!(server.request(method, path, &headers, posted).status, 403, "{method} {path}");
            }
        },
    );
    assert_eq!(server.get("/hook/status")["events_received"], 0);
}

/// The kernel reports closed sockets as root's.
#[test]
fn hanging_up_at_once_does_not_make_anybody_root() {
    let home = Home::new();
    let server = home.serve();
    for round in 0..20 {
        let body = event("theirs", json!({ "round": round })).to_string();
        let bytes = request(server.port, "POST", "/hook/stop", &[], Some(body.as_bytes()));
        if as_another_user(server.port, &bytes, false).is_none() {
            return skip(ONLY_ROOT);
        }
    }
    server.hook("stop", event("ours", json!({})));
    assert_eq!(server.get("/hook/status")["events_received"], 1);
}

#[test]
fn a_link_logs_a_browser_in_once() {
    let home = Home::new();
    let server = home.serve();
    let code = server.post("/api/login-code", &json!({})).json()["code"].as_str().unwrap().to_owned();
    let login = server.request("GET", &format!("/login?code={code}"), &[], None);
    assert_eq!((login.status, login.header("location")), (303, Some("/")));
    let cookie = login.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!(server.request("GET", &format!("/login?code={code}"), &[], None).status, 403);
    let cookie = cookie.split(';').next().unwrap();
    let port = server.port;
    // Through a proxy it does not help to be this user.
    let status = |server: &Server, cookie: &str| {
        let headers = [("X-Forwarded-For", "192.0.2.7"), ("Cookie", cookie)];
        server.request("GET", "/api/agents", &headers, None).status
    };
    assert_eq!((status(&server, cookie), status(&server, "headspace=guess")), (200, 403));
    // A new token logs everybody out, browsers included, even if it was changed while no server ran.
    server.stop();
    std::fs::write(home.state().join("token"), "an-entirely-new-one\n").unwrap();
    let server = Server::start(home.command(&["serve", "--port", &port.to_string()]));
    assert_eq!(status(&server, cookie), 403);
}

/// What a browser has after it was let in once.
fn cookie_of_a_browser(server: &Server) -> String {
    let code = server.post("/api/login-code", &json!({})).json()["code"].as_str().unwrap().to_owned();
    let login = server.request("GET", &format!("/login?code={code}"), &[], None);
    login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

/// A browser sends its cookies to whoever has the port while the server does not run.
#[test]
fn another_user_gets_in_with_no_cookie() {
    let home = Home::new();
    let server = home.serve();
    let cookie = cookie_of_a_browser(&server);
    let with_cookie: [&[(&str, &str)]; 2] =
        [&[("Cookie", &cookie)], &[("Cookie", &cookie), ("X-Forwarded-For", "192.0.2.7")]];
    for headers in with_cookie {
        for (method, path, body) in
            [("GET", "/api/agents", None), ("POST", "/api/login-code", Some(&b"{}"[..]))]
        {
            let bytes = request(server.port, method, path, headers, body);
            let Some(refused) = as_another_user(server.port, &bytes, true) else { return skip(ONLY_ROOT) };
            assert_eq!(refused, "HTTP/1.1 403 Forbidden", "{path} {headers:?}");
        }
    }
    // Nor if the stranger hangs up before the server looks.
    for round in 0..20 {
        let body = event("theirs", json!({ "round": round })).to_string();
        let headers = [("Cookie", cookie.as_str())];
        let bytes = request(server.port, "POST", "/hook/stop", &headers, Some(body.as_bytes()));
        as_another_user(server.port, &bytes, false);
    }
    server.hook("stop", event("ours", json!({})));
    assert_eq!(server.get("/hook/status")["events_received"], 1);
}

/// A connection to 127.0.0.1 may come from any address of the machine; and the end of one that is closed waits behind what
/// was sent before.
#[cfg(target_os = "linux")]
#[test]
fn another_user_gets_in_neither_from_another_address_nor_by_hanging_up_early() {
    let home = Home::new();
    let server = home.serve();
    let cookie = cookie_of_a_browser(&server);
    let headers = [("Cookie", cookie.as_str())];
    let loopback = Ipv4Addr::LOCALHOST;
    match network_address() {
        Some(address) => {
            for from in [loopback, address] {
                let Some(mut theirs) = connection_of_another_user(from, server.port) else {
                    return skip(ONLY_ROOT);
                };
                theirs.write_all(&request(server.port, "GET", "/api/agents", &headers, None)).unwrap();
                let mut first = [0; 12];
                theirs.read_exact(&mut first).unwrap();
                assert_eq!(String::from_utf8_lossy(&first), "HTTP/1.1 403", "{from}");
            }
        }
        None => skip("this machine has no address in a network"),
    }
    for _ in 0..40 {
        let body = event("theirs", json!({ "filler": "x".repeat(400_000) })).to_string();
        let bytes = request(server.port, "POST", "/hook/stop", &headers, Some(body.as_bytes()));
        let Some(mut theirs) = connection_of_another_user(loopback, server.port) else {
            return skip(ONLY_ROOT);
        };
        theirs.set_nonblocking(true).unwrap();
        let mut sent = 0;
        while let Ok(more) = theirs.write(&bytes[sent..]) {
            sent += more;
            if sent == bytes.len() {
                break;
            }
        }
    }
    server.hook("stop", event("ours", json!({})));
    assert_eq!(server.get("/hook/status")["events_received"], 1);
}

#[test]
fn the_link_that_open_prints_works_once() {
    let home = Home::new();
    let server = home.serve();
    let mut open = home.command(&["open", "--print"]);
    open.env("CLAUDE_HEADSPACE_URL", server.url());
    let said = open.output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let path = text.split_whitespace().find_map(|word| Some(&word[word.find("/login?code=")?..]));
    let path = path.unwrap_or_else(|| panic!("no link: {said:?}")).to_owned();
    assert_eq!(server.request("GET", &path, &[], None).status, 303);
    assert_eq!(server.request("GET", &path, &[], None).status, 403);
}

#[test]
fn pages_of_other_origins_are_refused() {
    let home = Home::new();
    let server = home.serve();
    let own = server.url();
    let other_port = format!("http://127.0.0.1:{}", server.port ^ 1);
    let body = event("s", json!({})).to_string();
    each_row(
        [
            ("Origin", "http://evil.example", 403),
            ("Origin", "null", 403),
            ("Origin", other_port.as_str(), 403),
            ("Sec-Fetch-Site", "cross-site", 403),
            ("Host", "evil.example", 403),
            ("Host", "127.0.0.1.evil.example", 403),
            ("Origin", own.as_str(), 200),
            ("Sec-Fetch-Site", "same-origin", 200),
        ],
        |(name, value, _)| format!("{name}: {value}"),
        |(name, value, expected)| {
            for path in ["/hook/stop", "/api/agents"] {
                let posted = path.starts_with("/hook").then_some(body.as_bytes());
                let method = if posted.is_some() { "POST" } else { "GET" };
                let answer = server.request(method, path, &[(name, value)], posted);
                assert_eq!(answer.status, expected, "{method} {path} with {name}: {value}");
                assert!(answer.header("access-control-allow-origin").is_none());
            }
        },
    );
    assert_eq!(
        server.request("GET", "/api/events/stream", &[("Origin", "http://evil.example")], None).status,
        403
    );
}

#[test]
fn a_configured_host_name_is_served() {
    let home = Home::new();
    home.configure(json!({"names": ["Desk.lan"]}));
    let server = home.serve();
    assert_eq!(server.request("GET", "/health", &[("Host", "desk.lan:5055")], None).status, 200);
    assert_eq!(server.request("GET", "/health", &[("Host", "shelf.lan")], None).status, 403);
}

#[test]
fn the_network_is_served_only_with_a_token() {
    let home = Home::new();
    let refused = home.run(&["serve", "--host", "0.0.0.0", "--port", "0"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.starts_with("headspace: could not listen on 0.0.0.0") && said.contains("token"), "{said}");
    assert!(!home.state().join("token").exists());
}

#[test]
fn the_servers_files_are_private() {
    let home = Home::new();
    let server = home.serve();
    server.hook("stop", event("s", json!({})));
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.state()), 0o700);
    each_row(
        ["token", "headspace.db", "headspace.db-wal", "headspace.db.lock"],
        |name| name.to_string(),
        |name| {
            assert_eq!(mode(&home.state().join(name)), 0o600, "{name}");
        },
    );
}

#[test]
fn a_new_token_is_used_without_a_restart() {
    let home = Home::new();
    let server = home.serve();
    let ask = |token: &str| {
        let bearer = format!("Bearer {token}");
        request(server.port, "GET", "/health", &[("Authorization", &bearer)], None)
    };
    let old = std::fs::read_to_string(home.state().join("token")).unwrap();
    let cookie = cookie_of_a_browser(&server);
    let unused = server.post("/api/login-code", &json!({})).json()["code"].as_str().unwrap().to_owned();
    let Some(first) = as_another_user(server.port, &ask(old.trim()), true) else { return skip(ONLY_ROOT) };
    assert_eq!(first, "HTTP/1.1 200 OK");
    std::fs::write(home.state().join("token"), "an-entirely-new-one\n").unwrap();
    wait_until("the new token", || {
        as_another_user(server.port, &ask("an-entirely-new-one"), true).unwrap() == "HTTP/1.1 200 OK"
    });
    assert_eq!(as_another_user(server.port, &ask(old.trim()), true).unwrap(), "HTTP/1.1 403 Forbidden");
    let headers = [("X-Forwarded-For", "192.0.2.7"), ("Cookie", &*cookie)];
    assert_eq!(server.request("GET", "/health", &headers, None).status, 403);
    assert_eq!(server.request("GET", &format!("/login?code={unused}"), &[], None).status, 403);
}
