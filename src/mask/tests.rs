use super::*;

/// Random-looking text of a given length, so that no row holds anything a scanner would take for a real key.
fn noise(length: usize) -> String {
    "a7Bq9Zx2Lm4Rt6Vw8Ky1".chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    "0a1b2c3d4e5f6789".chars().cycle().take(length).collect()
}

fn upper(length: usize) -> String {
    "A2B3C4D5E6F7G8H9".chars().cycle().take(length).collect()
}

#[test]
fn secrets_are_masked_wherever_they_stand() {
    let n = noise;
    let cases: Vec<(String, &str)> = vec![
        (format!("sk-ant-{}", n(90)), "anthropic-key"),
        (format!("sk-ant-api03-{}-{}", n(40), n(8)), "anthropic-key"),
        (format!("sk-proj-{}", n(48)), "openai-key"),
        (format!("sk-svcacct-{}", n(48)), "openai-key"),
        (format!("sk-admin-{}", n(48)), "openai-key"),
        (format!("sk-or-v1-{}", hex(64)), "openrouter-key"),
        (format!("sk-{}", n(48)), "api-key"),
        (format!("sk_{}_{}", "live", n(24)), "stripe-key"),
        (format!("sk_{}_{}", "test", n(24)), "stripe-key"),
        (format!("rk_{}_{}", "live", n(24)), "stripe-key"),
        (format!("rk_{}_{}", "test", n(24)), "stripe-key"),
        (format!("whsec_{}", n(32)), "webhook-secret"),
        (format!("github_pat_{}", n(82)), "github-token"),
        (format!("ghp_{}", n(36)), "github-token"),
        (format!("gho_{}", n(36)), "github-token"),
        (format!("ghu_{}", n(36)), "github-token"),
        (format!("ghs_{}", n(36)), "github-token"),
        (format!("ghr_{}", n(76)), "github-token"),
        (format!("glpat-{}", n(20)), "gitlab-token"),
        (format!("glrt-{}", n(20)), "gitlab-token"),
        (format!("gldt-{}", n(20)), "gitlab-token"),
        (format!("xoxb-123456789012-{}", n(24)), "slack-token"),
        (format!("xoxp-123456789012-{}", n(24)), "slack-token"),
        (format!("xapp-1-{}", n(40)), "slack-token"),
        (format!("AKIA{}", upper(16)), "aws-key-id"),
        (format!("ASIA{}", upper(16)), "aws-key-id"),
        (format!("AIza{}", n(35)), "google-key"),
        (format!("ya29.{}", n(60)), "google-token"),
        (format!("GOCSPX-{}", n(28)), "google-secret"),
        (format!("SG.{}.{}", n(22), n(43)), "sendgrid-key"),
        (format!("hf_{}", n(34)), "huggingface-token"),
        (format!("npm_{}", n(36)), "npm-token"),
        (format!("pypi-AgE{}", n(80)), "pypi-token"),
        (format!("dop_v1_{}", hex(64)), "digitalocean-token"),
        (format!("shpat_{}", hex(32)), "shopify-token"),
        (format!("gsk_{}", n(52)), "groq-key"),
        (format!("xai-{}", n(80)), "xai-key"),
        (format!("pplx-{}", n(48)), "perplexity-key"),
        (format!("r8_{}", n(37)), "replicate-token"),
        (format!("lin_api_{}", n(40)), "linear-key"),
        (format!("ntn_{}", n(46)), "notion-token"),
        (format!("figd_{}", n(40)), "figma-token"),
        (format!("dckr_pat_{}", n(27)), "docker-token"),
        (format!("hvs.{}", n(30)), "vault-token"),
        (format!("glsa_{}", n(41)), "grafana-token"),
        (format!("dapi{}", hex(32)), "databricks-token"),
        (format!("AGE-SECRET-KEY-1{}", upper(58)), "age-key"),
        (format!("eyJ{}.eyJ{}.{}", n(30), n(60), n(43)), "jwt"),
        (
            format!("-----BEGIN {} KEY-----\nMIIE\nabc=\n-----END {} KEY-----", "RSA PRIVATE", "RSA PRIVATE"),
            "private-key",
        ),
        (
            format!(
                "-----BEGIN {} KEY-----\nb3Bl\n-----END {} KEY-----",
                "OPENSSH PRIVATE", "OPENSSH PRIVATE"
            ),
            "private-key",
        ),
        (format!("-----BEGIN {} KEY-----\\nMIIE", "PRIVATE"), "private-key"),
    ];
    for (secret, name) in &cases {
        for (before, after) in
            [("", ""), ("key: ", " ok"), ("\"", "\""), ("x=", "\nnext"), ("größe ", "…"), ("(", ")")]
        {
            let masked = text(&format!("{before}{secret}{after}")).into_owned();
            let after = if secret.ends_with("MIIE") { "" } else { after };
            assert_eq!(masked, format!("{before}[masked:{name}]{after}"), "{secret}");
        }
    }
}

#[test]
fn only_the_secret_part_of_a_longer_form_is_masked() {
    let n = noise(24);
    for (before, after) in [
        ("postgres://app:hunter2@db:5432/x", "postgres://app:[masked:password]@db:5432/x"),
        (
            "git clone https://me:p%40ss@example.com/r.git",
            "git clone https://me:[masked:password]@example.com/r.git",
        ),
        ("redis://:s3cret@localhost", "redis://:[masked:password]@localhost"),
        (
            "curl -H 'Authorization: Bearer abcdef123456' x",
            "curl -H 'Authorization: Bearer [masked:authorization]' x",
        ),
        (
            "{\"authorization\": \"Basic dXNlcjpwYXNz\"}",
            "{\"authorization\": \"Basic [masked:authorization]\"}",
        ),
        ("x-api-key: abcdef123456", "x-api-key: [masked:authorization]"),
        ("AUTHORIZATION=token abcdef123456", "AUTHORIZATION=token [masked:authorization]"),
        ("export DB_PASSWORD=correct7horse", "export DB_PASSWORD=[masked:secret]"),
        ("GITHUB_TOKEN='abcdefgh1234'", "GITHUB_TOKEN='[masked:secret]'"),
        ("{\"api_key\": \"abcdefgh1234\"}", "{\"api_key\": \"[masked:secret]\"}"),
        ("clientSecret=abcdefgh1234", "clientSecret=[masked:secret]"),
        ("aws_secret_access_key=wJalrXUtnFEMI7MDENGbPxRfiCY", "aws_secret_access_key=[masked:secret]"),
        ("AccountKey=abcd1234efgh5678==;Endpoint", "AccountKey=[masked:secret];Endpoint"),
    ] {
        assert_eq!(text(before), after);
    }
    assert_eq!(text(&format!("Bearer {n}")), "Bearer [masked:authorization]");
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    for harmless in [
        "",
        "sk-learn",
        "sk-ant-",
        "import sklearn",
        "ghp_",
        "ghp_short",
        "task-1234567890",
        "the AKIA prefix",
        "AKIAlowercaseisnotakey",
        "AIzashort",
        "eyJhbGciOi is how they begin",
        "eyJhbGciOi.eyJ",
        "xoxo-love",
        "https://example.com:8080/a@b",
        "http://localhost:5055/",
        "mailto:someone@example.com",
        "a://b",
        "https://user@example.com/",
        "postgres://app:$PASSWORD@db/x",
        "postgres://app:<password>@db/x",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "Authorization: required",
        "Bearer tokens are sent in a header",
        "the bearer of good news",
        "bearer authentication-required-here",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIE",
        "----------",
        "GITHUB_TOKEN=$(gh auth token)",
        "GITHUB_TOKEN=${TOKEN}",
        "TOKEN=",
        "PASSWORD=<yours>",
        "token == other",
        "max_tokens=4096",
        "input_tokens\": 1200",
        "tokenizer=fast1234",
        "API_KEY=your-key-here-1",
        "if password: return",
        "password: str = None",
        "SECRET=/run/secrets/db1",
        "token = settings.auth.token",
        "key-value-pairs-are-here",
        "npm_config_registry",
        "npm_package_version",
        "hf_hub_download",
        "secret_santa",
        "dapifull",
        "ya29.short",
        "SG.short",
        "r8_x",
        "gsk_",
        "pypi-AgEsomething",
        "toolu_01ABCdefGHIjklMNOpqrSTUv",
        "msg_01ABCdefGHIjklMNOpqrSTUv",
        "req_011CabcdefGHIJKLMNOP",
        "5f771d5a-e1de-436e-bdaa-68dc045c0d63",
        "sha256:0a1b2c3d4e5f67890a1b2c3d4e5f6789",
    ] {
        assert!(matches!(text(harmless), Cow::Borrowed(_)), "{harmless} became {}", text(harmless));
    }
}

#[test]
fn masking_twice_changes_nothing_more() {
    let once = text(&format!("a ghp_{} b postgres://u:pw12@h TOKEN=abcd12345", noise(36))).into_owned();
    assert_eq!(text(&once), once.as_str());
}

#[test]
fn values_are_masked_in_keys_arrays_and_depth() {
    let key = format!("ghp_{}", noise(36));
    let mut value = serde_json::json!({"a": [{"b": key.clone()}], key.clone(): 1, "n": 3});
    assert!(super::value(&mut value));
    assert!(!value.to_string().contains(&key));
    assert!(!super::value(&mut value));
}

#[test]
fn captured_payloads_hold_nothing_to_mask() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/payloads");
    let mut files = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read_to_string(&path).unwrap();
        assert!(matches!(text(&content), Cow::Borrowed(_)), "{} became {}", path.display(), text(&content));
        files += 1;
    }
    assert!(files > 100);
}

#[test]
fn the_quick_look_knows_every_ending() {
    for end in VARIABLE_ENDS {
        let [.., a, b] = end.as_bytes() else { panic!("{end}") };
        assert!(NAME_ENDS.contains(&(*a, *b)), "{end}");
    }
}

#[test]
fn headers_are_known_in_any_usual_case() {
    for name in [
        "Authorization",
        "authorization",
        "AUTHORIZATION",
        "X-Api-Key",
        "x-api-key",
        "X-API-KEY",
        "x-API-Key",
        "Proxy-Authorization",
    ] {
        let line = format!("{name}: Bearer {}", noise(30));
        assert!(matches!(text(&line), Cow::Owned(_)), "{line}");
    }
}
