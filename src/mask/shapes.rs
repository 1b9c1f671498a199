//! What secrets look like. One row per provider; the reader in `mod.rs` does the rest.

/// A secret that gives itself away by how it starts.
pub struct Shape {
    /// What stands in its place: `[masked:github-token]`.
    pub name: &'static str,
    pub prefix: &'static str,
    /// What may follow the prefix.
    pub alphabet: Alphabet,
    /// How many of these must follow, at least and at most.
    pub length: (usize, usize),
}

#[derive(Clone, Copy)]
pub enum Alphabet {
    /// Letters, digits, `_` and `-`.
    Word,
    /// [`Alphabet::Word`] and `.`
    Dotted,
    /// Letters and digits.
    Alnum,
    /// Capitals and digits.
    Upper,
    Hex,
    /// Base64 with `+ / =`.
    Base64,
}

impl Alphabet {
    pub const fn has(self, byte: u8) -> bool {
        match self {
            Alphabet::Word => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
            Alphabet::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Alphabet::Alnum => byte.is_ascii_alphanumeric(),
            Alphabet::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alphabet::Hex => byte.is_ascii_hexdigit(),
            Alphabet::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }
}

const MANY: usize = 4096;

const fn shape(
    name: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
) -> Shape {
    Shape { name, prefix, alphabet, length: (least, most) }
}

use Alphabet::{Alnum, Base64, Dotted, Hex, Upper, Word};

/// Longer prefixes stand before the shorter ones they begin with.
pub const SHAPES: &[Shape] = &[
    shape("anthropic-key", "sk-ant-", Word, 20, MANY),
    shape("openai-key", "sk-proj-", Word, 20, MANY),
    shape("openai-key", "sk-svcacct-", Word, 20, MANY),
    shape("openai-key", "sk-admin-", Word, 20, MANY),
    shape("openrouter-key", "sk-or-v1-", Hex, 32, MANY),
    shape("api-key", "sk-", Alnum, 32, MANY),
    shape("stripe-key", "sk_live_", Alnum, 16, MANY),
    shape("stripe-key", "sk_test_", Alnum, 16, MANY),
    shape("stripe-key", "rk_live_", Alnum, 16, MANY),
    shape("stripe-key", "rk_test_", Alnum, 16, MANY),
    shape("webhook-secret", "whsec_", Base64, 20, MANY),
    shape("github-token", "github_pat_", Word, 36, MANY),
    shape("github-token", "ghp_", Alnum, 30, MANY),
    shape("github-token", "gho_", Alnum, 30, MANY),
    shape("github-token", "ghu_", Alnum, 30, MANY),
    shape("github-token", "ghs_", Alnum, 30, MANY),
    shape("github-token", "ghr_", Alnum, 30, MANY),
    shape("gitlab-token", "glpat-", Word, 20, MANY),
    shape("gitlab-token", "glrt-", Word, 20, MANY),
    shape("gitlab-token", "gldt-", Word, 20, MANY),
    shape("slack-token", "xoxb-", Word, 20, MANY),
    shape("slack-token", "xoxp-", Word, 20, MANY),
    shape("slack-token", "xoxa-", Word, 20, MANY),
    shape("slack-token", "xoxr-", Word, 20, MANY),
    shape("slack-token", "xoxs-", Word, 20, MANY),
    shape("slack-token", "xapp-", Word, 20, MANY),
    shape("aws-key-id", "AKIA", Upper, 16, 16),
    shape("aws-key-id", "ASIA", Upper, 16, 16),
    shape("google-key", "AIza", Word, 35, 35),
    shape("google-token", "ya29.", Word, 20, MANY),
    shape("google-secret", "GOCSPX-", Word, 20, MANY),
    shape("sendgrid-key", "SG.", Dotted, 40, MANY),
    shape("huggingface-token", "hf_", Alnum, 30, MANY),
    shape("npm-token", "npm_", Alnum, 36, MANY),
    shape("pypi-token", "pypi-AgE", Word, 50, MANY),
    shape("digitalocean-token", "dop_v1_", Hex, 40, MANY),
    shape("digitalocean-token", "doo_v1_", Hex, 40, MANY),
    shape("shopify-token", "shpat_", Hex, 32, MANY),
    shape("shopify-token", "shpss_", Hex, 32, MANY),
    shape("groq-key", "gsk_", Alnum, 40, MANY),
    shape("xai-key", "xai-", Alnum, 60, MANY),
    shape("perplexity-key", "pplx-", Alnum, 40, MANY),
    shape("replicate-token", "r8_", Alnum, 36, MANY),
    shape("linear-key", "lin_api_", Alnum, 32, MANY),
    shape("notion-token", "ntn_", Alnum, 40, MANY),
    shape("notion-token", "secret_", Alnum, 43, 43),
    shape("figma-token", "figd_", Word, 36, MANY),
    shape("docker-token", "dckr_pat_", Word, 20, MANY),
    shape("vault-token", "hvs.", Word, 24, MANY),
    shape("grafana-token", "glsa_", Word, 32, MANY),
    shape("databricks-token", "dapi", Hex, 32, 32),
    shape("netlify-token", "nfp_", Alnum, 36, MANY),
    shape("square-token", "sq0atp-", Word, 22, MANY),
    shape("square-token", "sq0csp-", Word, 40, MANY),
    shape("age-key", "AGE-SECRET-KEY-1", Upper, 50, MANY),
];

/// Header names (lower case) whose value is a secret.
pub const HEADERS: &[&str] =
    &["proxy-authorization", "authorization", "x-api-key", "x-auth-token", "x-goog-api-key"];

/// The schemes that stand between an `Authorization` and its secret.
pub const SCHEMES: &[&str] = &["bearer", "basic", "token", "digest", "negotiate"];

/// Ends of variable names (`GITHUB_TOKEN=…`) whose value is a secret.
pub const VARIABLE_ENDS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "SECRET_KEY",
    "PRIVATE_KEY",
    "CREDENTIALS",
    "ACCOUNTKEY",
];
