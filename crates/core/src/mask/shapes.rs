//! What secrets look like: one row per provider. Only tables; `scan` does the rest.

/// A secret that is recognized by how it starts.
pub struct Shape {
    /// The label that replaces it: `[masked:github-token]`.
    pub name: &'static str,
    pub prefix: &'static str,
    /// What may follow the prefix.
    pub alphabet: Alphabet,
    /// How many of these characters must follow, at least and at most.
    pub length: (u16, u16),
    pub place: Place,
}

/// Where a shape may occur.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Only where a word begins: the prefix alone could be the end of a word (`task-…`).
    Word,
    /// Also right after a letter: nothing else looks like this.
    Anywhere,
    /// Like [`Place::Anywhere`], but the prefix only names the service: it is kept.
    Address,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alphabet {
    Digits,
    Hex,
    /// [`Alphabet::Hex`] and `-`.
    Uuid,
    /// Capitals and digits.
    Upper,
    /// [`Alphabet::Upper`] and `-`.
    Groups,
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_` and `-`.
    Word,
    /// [`Alphabet::Word`], `.` and `~`.
    Dotted,
    /// Base64 with `+ / =`.
    Base64,
    /// Password hashes: base64, `.`, `,` and `$`.
    Crypt,
    /// The rest of an address: [`Alphabet::Word`], `/`, `@`, `:`.
    Path,
    /// Base64 of either kind, as it is or written for an address: [`Alphabet::Word`], `+ / = %`.
    Encoded,
}

impl Alphabet {
    pub const fn has(self, byte: u8) -> bool {
        let word = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        match self {
            Alphabet::Digits => byte.is_ascii_digit(),
            Alphabet::Hex => byte.is_ascii_hexdigit(),
            Alphabet::Uuid => byte.is_ascii_hexdigit() || byte == b'-',
            Alphabet::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alphabet::Groups => byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-',
            Alphabet::Alnum => byte.is_ascii_alphanumeric(),
            Alphabet::Word => word,
            Alphabet::Dotted => word || matches!(byte, b'.' | b'~'),
            Alphabet::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Alphabet::Crypt => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'.' | b',' | b'$')
            }
            Alphabet::Path => word || matches!(byte, b'/' | b'@' | b':'),
            Alphabet::Encoded => word || matches!(byte, b'+' | b'/' | b'=' | b'%'),
        }
    }
}

const MANY: u16 = u16::MAX;

impl Shape {
    /// How many characters must follow the prefix, at least and at most.
    pub fn length(&self) -> (usize, usize) {
        let (least, most) = self.length;
        (least.into(), if most == MANY { usize::MAX } else { most.into() })
    }
}

macro_rules! shapes {
    ($($name:literal, $prefix:literal, $alphabet:ident, $least:expr, $most:expr, $place:ident;)*) => {
        &[$(Shape {
            name: $name, prefix: $prefix, alphabet: Alphabet::$alphabet, length: ($least, $most), place: Place::$place,
        },)*]
    };
}

/// Longer prefixes come before the shorter ones they begin with. A test makes a text from each row that must be masked,
/// and some that must not: one letter too short, after a letter (if it must begin a word), words instead of noise.
pub const SHAPES: &[Shape] = shapes! {
    "anthropic-key", "sk-ant-", Word, 20, MANY, Anywhere;
    "openai-key", "sk-proj-", Word, 20, MANY, Anywhere;
    "openai-key", "sk-svcacct-", Word, 20, MANY, Anywhere;
    "openai-key", "sk-admin-", Word, 20, MANY, Anywhere;
    "openrouter-key", "sk-or-v1-", Hex, 32, MANY, Anywhere;
    "langfuse-key", "sk-lf-", Word, 36, 36, Anywhere;
    "api-key", "sk-", Alnum, 32, MANY, Word;
    "mapbox-token", "sk.eyJ", Dotted, 40, MANY, Word;
    "mapbox-token", "tk.eyJ", Dotted, 40, MANY, Word;
    "stripe-key", "sk_live_", Alnum, 16, MANY, Anywhere;
    "stripe-key", "sk_test_", Alnum, 16, MANY, Anywhere;
    "stripe-key", "rk_live_", Alnum, 16, MANY, Anywhere;
    "stripe-key", "rk_test_", Alnum, 16, MANY, Anywhere;
    "webhook-secret", "whsec_", Base64, 20, MANY, Anywhere;
    "github-token", "github_pat_", Word, 36, MANY, Anywhere;
    "github-token", "ghp_", Alnum, 30, MANY, Anywhere;
    "github-token", "gho_", Alnum, 30, MANY, Anywhere;
    "github-token", "ghu_", Alnum, 30, MANY, Anywhere;
    "github-token", "ghs_", Alnum, 30, MANY, Anywhere;
    "github-token", "ghr_", Alnum, 30, MANY, Anywhere;
    "gitlab-token", "glpat-", Dotted, 20, MANY, Anywhere;
    "gitlab-token", "glptt-", Word, 20, MANY, Anywhere;
    "gitlab-token", "glrt-", Dotted, 20, MANY, Anywhere;
    "gitlab-token", "glrtr-", Word, 20, MANY, Anywhere;
    "gitlab-token", "gldt-", Word, 20, MANY, Anywhere;
    "gitlab-token", "glcbt-", Word, 20, MANY, Anywhere;
    "gitlab-token", "glimt-", Word, 20, MANY, Anywhere;
    "gitlab-token", "glft-", Word, 20, MANY, Anywhere;
    "gitlab-token", "glwt-", Word, 20, MANY, Anywhere;
    "gitlab-token", "glagent-", Word, 40, MANY, Anywhere;
    "gitlab-token", "gloas-", Word, 40, MANY, Anywhere;
    "gitlab-token", "glsoat-", Word, 20, MANY, Anywhere;
    "gitlab-token", "glffct-", Word, 20, MANY, Anywhere;
    "gitlab-token", "GR1348941", Word, 20, MANY, Anywhere;
    "atlassian-token", "ATATT3xFfGF0", Dotted, 40, MANY, Anywhere;
    "atlassian-token", "ATCTT3xFfGN0", Dotted, 40, MANY, Anywhere;
    "atlassian-token", "ATSTT3xFfGN0", Dotted, 40, MANY, Anywhere;
    "bitbucket-password", "ATBB", Alnum, 32, 32, Word;
    "trello-token", "ATTA", Hex, 60, 80, Word;
    "sentry-token", "sntrys_", Base64, 40, MANY, Anywhere;
    "sentry-token", "sntryu_", Hex, 40, MANY, Anywhere;
    "fly-token", "fm1r_", Base64, 40, MANY, Word;
    "fly-token", "fm1a_", Base64, 40, MANY, Word;
    "fly-token", "fm2_", Base64, 40, MANY, Word;
    "fly-token", "fo1_", Word, 40, MANY, Word;
    "rubygems-key", "rubygems_", Hex, 48, MANY, Anywhere;
    "mailgun-key", "key-", Hex, 32, 32, Word;
    "mailgun-key", "pubkey-", Hex, 32, 32, Word;
    "slack-token", "xoxb-", Word, 20, MANY, Anywhere;
    "slack-token", "xoxp-", Word, 20, MANY, Anywhere;
    "slack-token", "xoxa-", Word, 20, MANY, Anywhere;
    "slack-token", "xoxr-", Word, 20, MANY, Anywhere;
    "slack-token", "xoxs-", Word, 20, MANY, Anywhere;
    "slack-token", "xoxc-", Word, 20, MANY, Anywhere;
    "slack-token", "xoxd-", Encoded, 20, MANY, Anywhere;
    "slack-token", "xoxe-", Word, 20, MANY, Anywhere;
    "slack-token", "xoxe.xox", Word, 20, MANY, Anywhere;
    "slack-token", "xapp-", Word, 20, MANY, Anywhere;
    "aws-key-id", "AKIA", Upper, 16, 16, Anywhere;
    "aws-key-id", "ASIA", Upper, 16, 16, Anywhere;
    "aws-key-id", "ABIA", Upper, 16, 16, Anywhere;
    "aws-key-id", "ACCA", Upper, 16, 16, Anywhere;
    "aws-session-token", "IQoJb3JpZ2luX2", Base64, 60, MANY, Anywhere;
    "aws-session-token", "FwoGZXIvYXdz", Base64, 60, MANY, Anywhere;
    "aws-session-token", "FQoGZXIvYXdz", Base64, 60, MANY, Anywhere;
    "aws-bedrock-key", "ABSKQmVkcm9ja0FQSUtleS", Base64, 40, MANY, Anywhere;
    "aws-bedrock-key", "ABSK", Base64, 100, MANY, Word;
    "google-key", "AIza", Word, 35, 35, Anywhere;
    "google-token", "ya29.", Dotted, 20, MANY, Anywhere;
    "google-token", "1//0", Word, 30, MANY, Word;
    "google-secret", "GOCSPX-", Word, 20, MANY, Anywhere;
    "alibaba-key-id", "LTAI", Alnum, 16, 24, Word;
    "tencent-key-id", "AKID", Alnum, 32, 32, Word;
    "sendgrid-key", "SG.", Dotted, 40, MANY, Anywhere;
    "brevo-key", "xkeysib-", Word, 64, MANY, Anywhere;
    "brevo-key", "xsmtpsib-", Word, 64, MANY, Anywhere;
    "huggingface-token", "hf_", Alnum, 30, MANY, Anywhere;
    "huggingface-token", "api_org_", Alnum, 30, MANY, Word;
    "npm-token", "npm_", Alnum, 36, MANY, Anywhere;
    "pypi-token", "pypi-AgE", Word, 50, MANY, Anywhere;
    "crates-token", "cio", Alnum, 32, 32, Word;
    "nuget-key", "oy2", Alnum, 43, 43, Word;
    "clojars-token", "CLOJARS_", Alnum, 60, MANY, Anywhere;
    "digitalocean-token", "dop_v1_", Hex, 40, MANY, Anywhere;
    "digitalocean-token", "doo_v1_", Hex, 40, MANY, Anywhere;
    "digitalocean-token", "dor_v1_", Hex, 40, MANY, Anywhere;
    "shopify-token", "shpat_", Hex, 32, MANY, Anywhere;
    "shopify-token", "shpca_", Hex, 32, MANY, Anywhere;
    "shopify-token", "shppa_", Hex, 32, MANY, Anywhere;
    "shopify-token", "shpua_", Hex, 32, MANY, Anywhere;
    "shopify-token", "shpss_", Hex, 32, MANY, Anywhere;
    "groq-key", "gsk_", Alnum, 40, MANY, Word;
    "xai-key", "xai-", Alnum, 60, MANY, Word;
    "perplexity-key", "pplx-", Alnum, 40, MANY, Anywhere;
    "replicate-token", "r8_", Alnum, 36, MANY, Word;
    "together-key", "tgp_v1_", Word, 40, MANY, Anywhere;
    "langsmith-key", "lsv2_", Word, 40, MANY, Anywhere;
    "pinecone-key", "pcsk_", Word, 40, MANY, Anywhere;
    "tavily-key", "tvly-", Word, 30, MANY, Anywhere;
    "firecrawl-key", "fc-", Hex, 32, 32, Word;
    "resend-key", "re_", Word, 30, 40, Word;
    "posthog-key", "phx_", Alnum, 40, MANY, Word;
    "linear-key", "lin_api_", Alnum, 32, MANY, Anywhere;
    "linear-key", "lin_oauth_", Alnum, 32, MANY, Anywhere;
    "notion-token", "ntn_", Alnum, 40, MANY, Word;
    "notion-token", "secret_", Alnum, 43, 43, Word;
    "figma-token", "figd_", Word, 36, MANY, Anywhere;
    "docker-token", "dckr_pat_", Word, 20, MANY, Anywhere;
    "docker-config", "eyJhdXRocyI6", Base64, 20, MANY, Anywhere;
    "docker-token", "dckr_oat_", Word, 20, MANY, Anywhere;
    "vault-token", "hvs.", Word, 24, MANY, Word;
    "vault-token", "hvb.", Word, 24, MANY, Word;
    "vault-token", "hvr.", Word, 24, MANY, Word;
    "doppler-token", "dp.pt.", Alnum, 40, MANY, Word;
    "doppler-token", "dp.st.", Dotted, 40, MANY, Word;
    "doppler-token", "dp.sa.", Alnum, 40, MANY, Word;
    "doppler-token", "dp.ct.", Alnum, 40, MANY, Word;
    "dynatrace-token", "dt0c01.", Dotted, 80, MANY, Word;
    "dynatrace-token", "dt0s01.", Dotted, 80, MANY, Word;
    "grafana-token", "glsa_", Word, 32, MANY, Anywhere;
    "grafana-token", "glc_eyJ", Base64, 32, MANY, Anywhere;
    "grafana-key", "eyJrIjoi", Base64, 60, MANY, Anywhere;
    "databricks-token", "dapi", Hex, 32, 34, Anywhere;
    "vercel-token", "vercel_blob_rw_", Word, 30, MANY, Anywhere;
    "cloudflare-key", "v1.0-", Word, 160, MANY, Word;
    "nvidia-key", "nvapi-", Word, 60, MANY, Anywhere;
    "jina-key", "jina_", Word, 50, MANY, Word;
    "dropbox-token", "sl.", Dotted, 120, MANY, Word;
    "wakatime-key", "waka_", Word, 36, 36, Word;
    "harness-token", "pat.", Dotted, 68, 68, Word;
    "airtable-token", "pat", Dotted, 79, 79, Word;
    "google-code", "4/0A", Word, 40, MANY, Word;
    "netlify-token", "nfp_", Alnum, 36, MANY, Word;
    "render-key", "rnd_", Alnum, 28, MANY, Word;
    "neon-key", "napi_", Alnum, 60, MANY, Word;
    "supabase-token", "sbp_", Hex, 40, MANY, Word;
    "supabase-key", "sb_secret_", Word, 20, MANY, Word;
    "planetscale-token", "pscale_", Dotted, 32, MANY, Anywhere;
    "pulumi-token", "pul-", Hex, 40, 40, Word;
    "tailscale-key", "tskey-", Word, 20, MANY, Anywhere;
    "postman-key", "PMAK-", Word, 40, MANY, Anywhere;
    "newrelic-key", "NRAK-", Upper, 27, MANY, Anywhere;
    "newrelic-key", "NRII-", Word, 25, 40, Word;
    "newrelic-key", "NRIQ-", Word, 25, 40, Word;
    "newrelic-key", "NRJS-", Hex, 19, 19, Word;
    "newrelic-key", "NRBR-", Hex, 19, 19, Word;
    "contentful-token", "CFPAT-", Word, 40, MANY, Anywhere;
    "sourcegraph-token", "sgp_", Word, 40, MANY, Word;
    "buildkite-token", "bkua_", Hex, 40, MANY, Word;
    "circleci-token", "CCIPAT_", Word, 40, MANY, Anywhere;
    "sonar-token", "squ_", Hex, 40, MANY, Word;
    "sonar-token", "sqp_", Hex, 40, MANY, Word;
    "sonar-token", "sqa_", Hex, 40, MANY, Word;
    "jfrog-key", "AKCp", Alnum, 60, MANY, Anywhere;
    "jfrog-token", "cmVmdGtu", Base64, 48, MANY, Word;
    "hubspot-token", "pat-na1-", Word, 36, 36, Word;
    "hubspot-token", "pat-na2-", Word, 36, 36, Word;
    "hubspot-token", "pat-eu1-", Word, 36, 36, Word;
    "plaid-token", "access-production-", Word, 36, 36, Word;
    "plaid-token", "access-sandbox-", Word, 36, 36, Word;
    "paypal-token", "access_token$production$", Crypt, 40, MANY, Word;
    "square-token", "sq0atp-", Word, 22, MANY, Anywhere;
    "square-token", "sq0csp-", Word, 40, MANY, Anywhere;
    "square-token", "EAAA", Word, 58, 64, Word;
    "facebook-token", "EAA", Alnum, 100, MANY, Word;
    "typeform-token", "tfp_", Word, 40, MANY, Word;
    "heroku-key", "HRKU-", Word, 36, MANY, Word;
    "launchdarkly-key", "sdk-", Uuid, 36, 36, Word;
    "launchdarkly-key", "api-", Uuid, 36, 36, Word;
    "openshift-token", "sha256~", Word, 43, 43, Word;
    "onepassword-token", "ops_eyJ", Base64, 100, MANY, Word;
    "onepassword-key", "A3-", Groups, 36, 37, Word;
    "adobe-secret", "p8e-", Word, 32, 32, Word;
    "axiom-token", "xaat-", Uuid, 36, 36, Word;
    "axiom-token", "xapt-", Uuid, 36, 36, Word;
    "bitbucket-token", "BBDC-", Encoded, 40, 50, Word;
    "clickhouse-key", "4b1d", Alnum, 38, 38, Word;
    "defined-key", "dnkey-", Word, 70, MANY, Word;
    "docker-swarm-token", "SWMTKN-1-", Word, 60, MANY, Anywhere;
    "easypost-key", "EZAK", Alnum, 54, 54, Word;
    "easypost-key", "EZTK", Alnum, 54, 54, Word;
    "fireworks-key", "fw_", Alnum, 22, 24, Word;
    "flutterwave-key", "FLWSECK-", Word, 34, 34, Word;
    "flutterwave-key", "FLWSECK_TEST-", Word, 12, MANY, Word;
    "frameio-token", "fio-u-", Word, 60, MANY, Word;
    "klaviyo-key", "pk_", Hex, 34, 34, Word;
    // Their names end like too many others to be in the table of names.
    "vault-secret", "SECRET_ID=", Uuid, 36, 36, Address;
    "vault-secret", "secret_id=", Uuid, 36, 36, Address;
    "vault-secret", "secret_id\":\"", Uuid, 36, 36, Address;
    "vault-secret", "secret_id\": \"", Uuid, 36, 36, Address;
    "bitwarden-session", "BW_SESSION=", Base64, 86, 88, Address;
    "bitwarden-session", "BW_SESSION=\"", Base64, 86, 88, Address;
    "bitwarden-session", "BW_SESSION=\\\"", Base64, 86, 88, Address;
    "backblaze-key", "K00", Base64, 28, 28, Word;
    "octopus-key", "API-", Upper, 25, 32, Word;
    "prefect-key", "pnu_", Alnum, 36, 36, Word;
    "prefect-key", "pnb_", Alnum, 36, 36, Word;
    "razorpay-key", "rzp_live_", Alnum, 14, 14, Word;
    "razorpay-key", "rzp_test_", Alnum, 14, 14, Word;
    "robinhood-key", "rh-api-", Uuid, 36, 36, Word;
    "scalingo-token", "tk-us-", Word, 48, 48, Word;
    "settlemint-token", "sm_aat_", Alnum, 16, 16, Word;
    "settlemint-token", "sm_pat_", Alnum, 16, 16, Word;
    "settlemint-token", "sm_sat_", Alnum, 16, 16, Word;
    "twitter-token", "AAAAAAAAAAAAAAAAAAAAA", Encoded, 60, 100, Word;
    "ubidots-token", "BBFF-", Alnum, 30, 36, Word;
    "voiceflow-key", "VF.", Dotted, 41, 44, Word;
    "yandex-token", "t1.", Dotted, 150, MANY, Word;
    "yandex-key", "AQVN", Word, 35, 40, Word;
    "zoho-token", "1000.", Dotted, 65, 65, Word;
    "age-key", "AGE-SECRET-KEY-1", Upper, 50, MANY, Anywhere;
    // The base64 of `-----BEGIN … PRIVATE KEY`, as kubeconfig files and CI variables hold it.
    "private-key", "LS0tLS1CRUdJTiBQUklWQVRF", Base64, 20, MANY, Anywhere;
    "private-key", "LS0tLS1CRUdJTiBSU0Eg", Base64, 20, MANY, Anywhere;
    "private-key", "LS0tLS1CRUdJTiBFQyBQ", Base64, 20, MANY, Anywhere;
    "private-key", "LS0tLS1CRUdJTiBFTkNSWVBU", Base64, 20, MANY, Anywhere;
    "private-key", "LS0tLS1CRUdJTiBPUEVOU1NI", Base64, 20, MANY, Anywhere;
    "password-hash", "$2a$", Crypt, 50, 60, Word;
    "password-hash", "$2b$", Crypt, 50, 60, Word;
    "password-hash", "$2y$", Crypt, 50, 60, Word;
    "password-hash", "$1$", Crypt, 24, 40, Word;
    "password-hash", "$5$", Crypt, 40, 90, Word;
    "password-hash", "$6$", Crypt, 80, 130, Word;
    "password-hash", "$y$", Crypt, 50, 120, Word;
    "password-hash", "$apr1$", Crypt, 24, 40, Word;
    "password-hash", "$argon2", Crypt, 50, 200, Word;
    "password-hash", "{SHA}", Base64, 28, 28, Anywhere;
    "password-hash", "{SSHA}", Base64, 32, 64, Anywhere;
    "password-hash", "{SSHA256}", Base64, 48, 80, Anywhere;
    "password-hash", "{SSHA512}", Base64, 88, 128, Anywhere;
    "password-hash", "pbkdf2_sha256$", Crypt, 50, 120, Word;
    "webhook", "hooks.slack.com/services/", Path, 20, MANY, Address;
    "webhook", "hooks.slack.com/workflows/", Path, 20, MANY, Address;
    "webhook", "hooks.slack.com/triggers/", Path, 20, MANY, Address;
    "webhook", "discord.com/api/webhooks/", Path, 40, MANY, Address;
    "webhook", "discordapp.com/api/webhooks/", Path, 40, MANY, Address;
    "webhook", "webhook.office.com/webhookb2/", Path, 60, MANY, Address;
    "webhook", "outlook.office.com/webhook/", Path, 60, MANY, Address;
    "webhook", "hooks.zapier.com/hooks/catch/", Path, 10, MANY, Address;
    "webhook", "open.feishu.cn/open-apis/bot/v2/hook/", Path, 20, MANY, Address;
    "webhook", "open.larksuite.com/open-apis/bot/v2/hook/", Path, 20, MANY, Address;
    "webhook", "qyapi.weixin.qq.com/cgi-bin/webhook/send?key=", Path, 20, MANY, Address;
    "webhook", "api.telegram.org/bot", Path, 40, MANY, Address;
    "webhook", "maker.ifttt.com/trigger/", Path, 40, MANY, Address;
    "webhook", "events.pagerduty.com/integration/", Path, 30, MANY, Address;
    "webhook", "hooks.chime.aws/incomingwebhooks/", Path, 36, MANY, Address;
    "webhook", ".tines.com/webhook/", Path, 60, MANY, Address;
    "webhook", ".make.com/", Alnum, 30, 40, Address;
    "webhook", "hc-ping.com/", Uuid, 36, 36, Address;
    // Mattermost, whose servers have any name.
    "webhook", "/hooks/", Alnum, 26, 26, Address;
    // The key of a service that has it in its addresses.
    "api-key", "?appid=", Hex, 32, 32, Address;
    "api-key", "&appid=", Hex, 32, 32, Address;
    "api-key", ".infura.io/v3/", Hex, 32, 32, Address;
    "api-key", ".alchemy.com/v2/", Word, 32, 32, Address;
    "api-key", ".quiknode.pro/", Hex, 40, 40, Address;
};

/// A secret that is recognized by a marker in its middle.
pub struct Middle {
    pub name: &'static str,
    pub marker: &'static str,
    pub before: (Alphabet, usize, usize),
    pub after: (Alphabet, usize, usize),
    /// Both use the placeholders of the test data.
    #[cfg(test)]
    pub must: &'static str,
    #[cfg(test)]
    pub must_not: &'static str,
}

macro_rules! middles {
    ($($name:literal, $marker:literal, ($b:ident, $bl:literal, $bm:literal), ($a:ident, $al:literal, $am:expr), $must:literal, $not:literal;)*) => {
        &[$(Middle {
            name: $name, marker: $marker,
            before: (Alphabet::$b, $bl, $bm), after: (Alphabet::$a, $al, $am),
            #[cfg(test)] must: $must, #[cfg(test)] must_not: $not,
        },)*]
    };
}

/// Markers of four letters or more are found as words are, shorter ones as signs; these come first.
pub const MIDDLES: &[Middle] = middles! {
    "telegram-token", ":AA", (Digits, 8, 10), (Word, 32, 36), "{d10}:AA{w33}", "12:30:AA{w33}";
    "azure-secret", "Q~", (Dotted, 4, 4), (Dotted, 31, 34), "aB38Q~{w34}", "FAQ~{w10}";
    "mailchimp-key", "-us", (Hex, 32, 32), (Digits, 1, 2), "{h32}-us19", "build-us1";
    "salesforce-token", "!AQ", (Alnum, 15, 15), (Dotted, 80, usize::MAX), "00D{a12}!AQ{w94}", "WOW!AQ{z94}";
    "terraform-token", ".atlasv1.", (Alnum, 14, 14), (Word, 60, usize::MAX), "{a14}.atlasv1.{w64}", "x.atlasv1.y";
    "firebase-token", ":APA91b", (Word, 7, 30), (Word, 100, usize::MAX), "{w22}:APA91b{w134}", "x:APA91b{w20}";
    "newrelic-key", "FFFFNRAL", (Alnum, 32, 36), (Alnum, 0, 0), "{h36}FFFFNRAL", "0xFFFFNRAL";
    "newrelic-key", "-NRMA", (Alnum, 42, 42), (Alnum, 0, 0), "eu01xx{h36}-NRMA", "{h40}-NRMA";
    // The letters by which Azure's keys of each service can be told from other base64.
    "azure-key", "+ASt", (Base64, 76, 76), (Base64, 8, 8), "{b76}+ASt{a6}==", "{b70}+ASt{a6}==";
    "azure-key", "+ABa", (Base64, 76, 76), (Base64, 8, 8), "{b76}+ABa{a6}==", "{b70}+ABa{a6}==";
    "azure-key", "ACDb", (Base64, 76, 76), (Base64, 8, 8), "{b76}ACDb{a6}==", "{b70}ACDb{a6}==";
    "azure-key", "+ASb", (Base64, 33, 33), (Base64, 7, 7), "{b33}+ASb{a6}=", "{b30}+ASb{a6}=";
    "azure-key", "+AEh", (Base64, 33, 33), (Base64, 7, 7), "{b33}+AEh{a6}=", "{b30}+AEh{a6}=";
    "azure-key", "AIoT", (Base64, 33, 33), (Base64, 7, 7), "{b33}AIoT{a6}=", "{b30}AIoT{a6}=";
    "azure-key", "AzCa", (Base64, 33, 33), (Base64, 7, 7), "{b33}AzCa{a6}=", "{b30}AzCa{a6}=";
    "azure-key", "+ACR", (Base64, 42, 42), (Alnum, 6, 6), "{b42}+ACR{a6}", "{b40}+ACR{a6}";
    "azure-key", "AzFu", (Encoded, 44, 44), (Encoded, 5, 8), "{w44}AzFu{a6}==", "{w40}AzFu{a6}==";
    "azure-key", "AzSe", (Alnum, 42, 42), (Alnum, 6, 6), "{a42}AzSe{a6}", "{a40}AzSe{a6}";
    "azure-key", "AZDO", (Alnum, 76, 76), (Alnum, 4, 4), "{a76}AZDO{a4}", "{a70}AZDO{a4}";
    "azure-key", "ACOG", (Alnum, 76, 76), (Alnum, 4, 4), "{a76}ACOG{a4}", "{a70}ACOG{a4}";
};

/// The schemes between an `Authorization` and its secret.
pub const SCHEMES: &[&str] = &[
    "bearer",
    "basic",
    "token",
    "digest",
    "negotiate",
    "ntlm",
    "apikey",
    "api-key",
    "key",
    "ssws",
    "bot",
    "oauth",
    "geniekey",
    "splunk",
    "flyv1",
    "hmac",
    "signature",
    "aws4-hmac-sha256",
    "sharedkey",
    "jwt",
    "discogs",
    "mac",
    "dpop",
    "hawk",
];
