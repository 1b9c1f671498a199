//! TLS between a machine and its hub, and between a hub and PostgreSQL.

use super::Team;
use headspace_test_support::{Home, Server, free_port, skip, succeeded, wait_until};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// A certificate for 127.0.0.1 that nobody signed, and its key.
fn certificate(home: &Home, name: &str) -> Option<(PathBuf, PathBuf)> {
    let (certificate, key) = (home.at(format!("{name}.pem")), home.at(format!("{name}.key")));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=hub", "-addext", "basicConstraints=CA:FALSE"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    made.is_ok_and(|made| made.status.success()).then_some((certificate, key))
}

#[test]
fn a_hub_with_a_certificate_is_believed_by_those_who_have_it_and_nobody_else() {
    let Some(team) = Team::start() else { return };
    let keys = Home::new();
    let (Some((ours, key)), Some((other, _))) = (certificate(&keys, "ours"), certificate(&keys, "other"))
    else {
        return skip("no openssl that makes a certificate");
    };
    let port = free_port();
    let (listen, public) = (format!("127.0.0.1:{port}"), format!("https://127.0.0.1:{port}"));
    let [ours, key, other] = [&ours, &key, &other].map(|path| path.display().to_string());
    let url = team.postgres.url();
    let args = ["hub", "serve", "--database-url", &url, "--listen", &listen, "--public-url", &public];
    let secured =
        Server::start(team.home.command(&[&args[..], &["--tls-cert", &ours, "--tls-key", &key]].concat()));
    wait_until("its address in the invitations", || team.invite("ada", "full").starts_with(&public));

    let machine = Home::with_port(json!({}));
    for wrong in [&[][..], &["--ca", &other]] {
        let refused = machine.run(&[&["hub", "join", &team.invite("ada", "full")], wrong].concat());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            refused.status.code() == Some(1) && said.contains("could not speak TLS with the hub"),
            "{said}"
        );
        assert!(!machine.state().join("hub.json").exists());
    }
    succeeded(machine.run(&["hub", "join", &team.invite("ada", "full"), "--ca", &ours, "--share", "full"]));
    let server = Server::start(machine.command(&["serve"]));
    server.hook("user-prompt-submit", json!({"session_id": "s1", "cwd": "/somewhere", "prompt": "go"}));
    wait_until("the agent at the hub", || succeeded(machine.run(&["status", "--hub"])).contains("somewhere"));
    let status: Value = serde_json::from_str(&succeeded(machine.run(&["hub", "status", "--json"]))).unwrap();
    assert_eq!((&status["url"], &status["error"]), (&json!(public), &Value::Null));
    let link: Value = serde_json::from_str(&succeeded(machine.run(&["hub", "login", "--json"]))).unwrap();
    assert!(link["url"].as_str().unwrap().starts_with(&public));
    server.stop();
    secured.stop();
}

#[test]
fn a_hub_believes_a_postgres_beyond_this_machine_only_with_its_certificate() {
    let Some(team) = Team::start() else { return };
    let keys = Home::new();
    let (Some((ours, key)), Some((other, _))) = (certificate(&keys, "ours"), certificate(&keys, "other"))
    else {
        return skip("no openssl that makes a certificate");
    };
    team.postgres.require_tls(&ours, &key);
    let url = |root: &PathBuf| {
        let url = team.postgres.url().replace("postgres@", "hub@");
        format!("{url}?sslmode=verify-full&sslrootcert={}", root.display())
    };
    let invite = |root: &PathBuf| team.home.run(&["hub", "invite", "ada", "--database-url", &url(root)]);
    // The server takes the new setting when it gets around to it.
    wait_until("PostgreSQL to speak TLS", || invite(&ours).status.success());
    let refused = invite(&other);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && said.contains("could not reach the database"), "{said}");
    let hub = Server::start(team.home.command(&[
        "hub",
        "serve",
        "--database-url",
        &url(&ours),
        "--listen",
        "127.0.0.1:0",
    ]));
    wait_until("the hub to be ready", || hub.request("GET", "/health", &[], None).status == 200);
    let encrypted = "SELECT count(*) > 0 AND bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'hub'";
    assert_eq!(team.postgres.query(encrypted), "t");
    hub.stop();
}
