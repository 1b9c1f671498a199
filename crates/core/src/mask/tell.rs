//! What people tell each other: `the password is X`, `password (it's "X")`, `log in with admin / X`, in the languages that
//! most of them write.

use crate::mask::Secret;
use crate::mask::assign::{ValueAt, value_from};
use crate::mask::bytes::{is_blank, line_end, listed, next_line, run_up_to, starts_with_ignore_case};
use crate::mask::judge::{Judged, Style, is_secret, is_wordy};
use crate::mask::names::Kind;
use std::collections::VecDeque;
use std::ops::Range;

/// Between a name and what it is.
const VERBS: &str = "is|ist|est|es|é|è|was|war|era|lautet|jest|->|=>|→|–|—|still|now";
/// Between that and the value.
const ADVERBS: &str = "now|still|just|simply|set to|currently|always|jetzt|noch|einfach|aktuell|immer|ahora|maintenant\
        |toujours|agora|adesso|ora|nu|generated for root@localhost";
/// What opens a remark: `password (it's "X")`.
const REMARKS: &str = "it's |it’s |it is |is |ist |es ist |c'est |es |é |è |=";
/// Where somebody is told to log in, or how.
const LOGINS: &str = "log in|log into|login|logge|logt|sign in|signin|credential|creds|account|anmeld|zugang|konto\
        |connect|connexion|identifiant|compte|credencial|cuenta|sesión|acceso|acced|conta |credenzial\
        |inlog|aanmeld|user|benutzer|usuario|usuário|utente|utilisateur|gebruiker|password|passwort|ssh ";
/// Words before a name whose value follows without a verb: `with password X`.
const BEFORE: &str = "with|mit|avec|con|com|met|and|und|et|e|y|en|i|z|dem|la|le|el|het|the|root|admin|is|ist";
const MOST_LOGINS: usize = 16;
/// How far a login is from the secret.
const WIDEST: usize = 120;

/// How far the value is from the name that ends before `rest`, if somebody tells it, or says what it is `set` to.
pub fn between(rest: &[u8], set: bool) -> Option<usize> {
    let blanks = |from: usize| from + run_up_to(rest, from, 2, is_blank);
    let at = blanks(0);
    if let Some(inner) = rest.get(at..).and_then(|rest| rest.strip_prefix(b"(")) {
        let remark = listed(REMARKS)
            .find(|remark| starts_with_ignore_case(inner, remark))
            .map_or(0, |remark| remark.len());
        return (at > 0).then_some(at + 1 + remark);
    }
    let word = |at: usize, list: &'static str| {
        let fits = |word: &&str| {
            rest[at..].starts_with(word.as_bytes()) && matches!(rest.get(at + word.len()), Some(b' ' | b':'))
        };
        listed(list).find(fits).map_or(at, |word| at + word.len())
    };
    // Few words begin like one of them.
    let may_begin = matches!(
        rest.get(at),
        Some(b'i' | b'e' | b'w' | b'l' | b'j' | b's' | b'n' | b'-' | b'=' | 0xc3 | 0xe2)
    );
    let verb = if at > 0 && may_begin { word(at, VERBS) } else { at };
    let verb = if verb > at { verb } else { about(rest, set)? };
    let adverb = word(blanks(verb), ADVERBS);
    let end = if adverb > blanks(verb) { adverb } else { verb };
    let end = end + usize::from(rest.get(end) == Some(&b':'));
    let value = blanks(end);
    (value > end).then_some(value)
}

/// ` for staging is `: where the verb ends.
fn about(rest: &[u8], set: bool) -> Option<usize> {
    const ABOUT: &str = " for | of | on | to | für | von | zu | para | pour | de | per | voor | du | des | del | della \
        | do | da | van ";
    let talks = listed(ABOUT).any(|word| rest.starts_with(word.as_bytes()));
    let words = run_up_to(rest, 0, 56, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'_' | b'.' | b'@' | b'\'' | 0x80..)
    });
    let lead = &rest[..words];
    let verb = || {
        [" is", " ist", " est", " es", " é", " è", " lautet"].iter().find_map(|verb| {
            let after = memchr::memmem::find(lead, verb.as_bytes())? + verb.len();
            matches!(rest.get(after), Some(b' ' | b':')).then_some(after)
        })
    };
    // `Password for 'https://me@host': X`
    if let Some(address) = rest.strip_prefix(b" for '") {
        let length = run_up_to(address, 0, WIDEST, |byte| !matches!(byte, b'\'' | b'\n'));
        return address[length..].starts_with(b"':").then_some(6 + length + 1);
    }
    // `Password for user postgres: X`
    let colon = || (words > 5 && rest.get(words) == Some(&b':')).then_some(words);
    // `I set SITE_PASSWORD to X`
    if let Some(word) = [" to ", " auf ", " à "].iter().find(|word| set && rest.starts_with(word.as_bytes()))
    {
        return verb().or_else(colon).or(Some(word.len() - 1));
    }
    talks.then(|| verb().or_else(colon))?
}

/// `admin / X`, at the slash, and `admin:X` or `admin/X`, at the sign, where somebody is told to log in; and the same on
/// the next lines, if it is a list.
pub fn login(bytes: &[u8], at: usize) -> Option<(Secret, VecDeque<Secret>)> {
    let (start, span) = pair(bytes, at)?;
    // Both directions: in German the verb comes last.
    let lead = &bytes[start.saturating_sub(WIDEST)..start];
    let rest = &bytes[span.end..line_end(bytes, span.end, WIDEST / 2)];
    let says = |text: &[u8]| listed(LOGINS).any(|word| contains(text, word));
    if !says(lead) && !says(rest) {
        return None;
    }
    let mut others = VecDeque::new();
    let mut line = next_line(bytes, line_end(bytes, span.end, WIDEST));
    while line > span.end && others.len() < MOST_LOGINS {
        let end = line_end(bytes, line, WIDEST);
        let sign = memchr::memmem::find(&bytes[line..end], b" / ").map(|sign| line + sign + 1);
        let Some((_, span)) = sign.and_then(|sign| pair(bytes, sign)).filter(|(_, span)| span.end <= end)
        else {
            break;
        };
        others.extend(Secret::new("password", span));
        line = next_line(bytes, end).max(end);
        if line == end {
            break;
        }
    }
    Some((Secret::new("password", span)?, others))
}

/// Where the user begins before the sign at `at`, and the password after it.
fn pair(bytes: &[u8], at: usize) -> Option<(usize, Range<usize>)> {
    let spaced = bytes[at.checked_sub(1)?] == b' ';
    let end = at - usize::from(spaced);
    let end = end
        - bytes[..end].iter().rev().take(2).take_while(|byte| matches!(byte, b'`' | b'"' | b'\'')).count();
    let user = bytes[..end]
        .iter()
        .rev()
        .take(40)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@'))
        .count();
    let start = end - user;
    let after = at + 1 + usize::from(bytes.get(at + 1) == Some(&b' '));
    let part =
        start.checked_sub(1).is_some_and(|before| matches!(bytes[before], b'/' | b':' | b'=' | b'$' | b'{'));
    let glued = !spaced && after > at + 1;
    if !(2..40).contains(&user) || part || glued {
        return None;
    }
    let value = value_from(bytes, after).filter(|value| value.span.start <= after + 2)?;
    let text = &bytes[value.span.clone()];
    let path = text.iter().any(|byte| matches!(byte, b'/' | b'\\' | b':' | b'@'));
    // `this / that / the other`
    let list = bytes[value.span.end..].starts_with(b" / ");
    (!path && !list && tells(bytes, &value)).then(|| (start, trimmed(bytes, &value)))
}

/// Whether the value is a password and not another word of a list.
fn tells(bytes: &[u8], value: &ValueAt) -> bool {
    let judged = value.judged(bytes);
    let text = judged.bytes;
    let has = |class: fn(&u8) -> bool| text.iter().any(class);
    // `eu-west-1`, `qcow2`
    let word =
        is_wordy(text) && (text.len() < 8 || has(|byte| matches!(byte, b'-' | b'_'))) || text.len() < 5;
    let capital = has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    (!word || capital)
        && text.iter().filter(|byte| byte.is_ascii_alphabetic()).count() >= 2
        && is_secret(Kind::Password, Style::Told, &Judged { quoted: false, ..judged })
}

/// Without the sign that ends a sentence.
pub fn trimmed(bytes: &[u8], value: &ValueAt) -> Range<usize> {
    let Range { start, end } = value.whole(bytes);
    start..end - usize::from(!value.quoted && bytes[..end].ends_with(b"."))
}

fn contains(text: &[u8], word: &str) -> bool {
    let Some(&first) = word.as_bytes().first() else { return true };
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), text)
        .any(|at| starts_with_ignore_case(&text[at..], word))
}

/// Whether somebody says before the name at `at` that it was set.
pub fn is_set(bytes: &[u8], at: usize) -> bool {
    const SETS: &str = "set |setting |changed |change |habe |setze |mis |changé ";
    let lead = line_before(bytes, at);
    let lead = &lead[lead.len().saturating_sub(24)..];
    listed(SETS).any(|word| contains(lead, word))
}

/// ` (was X)`, right after a secret.
pub fn previous(bytes: &[u8]) -> Option<Secret> {
    const WORDS: &str = "was |was: |previously |formerly |before: |old: |vorher |vorher: |früher |avant c'était |avant : \
        |avant |antes |antes era |prima |prima era ";
    let inner = bytes.strip_prefix(b" (").or_else(|| bytes.strip_prefix(b", "))?;
    let word =
        listed(WORDS).filter(|word| starts_with_ignore_case(inner, word)).max_by_key(|word| word.len())?;
    let value = value_from(bytes, 2 + word.len())?;
    let likely = is_secret(Kind::Password, Style::Told, &value.judged(bytes));
    if likely { Secret::new("secret", trimmed(bytes, &value)) } else { None }
}

/// Whether the name at `at` belongs to what somebody says, so that its value may follow at once: `with password X`,
/// `user me, pw X`.
pub fn announced(bytes: &[u8], at: usize) -> bool {
    let lead = line_before(bytes, at);
    let trimmed = lead.trim_ascii_end();
    let last = trimmed.rsplit(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
    let before = listed(BEFORE).any(|word| last.eq_ignore_ascii_case(word.as_bytes()));
    lead.len() > trimmed.len() && (before || (last.ends_with(b",") && of_user(bytes, at)))
}

/// `what's the wifi pw again?` and, alone on the next line, what it is, with or without who says it. The name is
/// `start..end`.
pub fn answered(bytes: &[u8], start: usize, end: usize, kind: Kind) -> Option<Secret> {
    const ASKING: &str = "what|which|remind|was ist|was war|wie |welche|quel|cuál|cual |qual |wat is|jakie";
    let more = run_up_to(bytes, end, 40, |byte| !matches!(byte, b'?' | b'\n' | b'.' | b':' | b'='));
    let question = end + more;
    let line = next_line(bytes, question + 1);
    if kind != Kind::Password || bytes.get(question) != Some(&b'?') || line == question + 1 {
        return None;
    }
    let lead = line_before(bytes, start);
    if !listed(ASKING).any(|word| contains(lead, word)) {
        return None;
    }
    let name =
        run_up_to(bytes, line, 24, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    let says = name > 0 && bytes[(line + name).min(bytes.len())..].starts_with(b": ");
    let value = value_from(bytes, if says { line + name + 2 } else { line })?;
    let after = value.whole(bytes).end + usize::from(value.quoted);
    let alone = after >= bytes.len() || next_line(bytes, after) > after || bytes[after] == b'"';
    // A word on the next line may be a heading, if nobody says it.
    let heading = !says && is_wordy(&bytes[value.span.clone()]);
    let likely = alone && !heading && is_secret(kind, Style::Told, &value.judged(bytes));
    if likely { Secret::new("password", trimmed(bytes, &value)) } else { None }
}

/// Whether a user is named before `at` on the same line.
pub fn of_user(bytes: &[u8], at: usize) -> bool {
    const USERS: &str = "user|login|account|benutzer|usuario|usuário|utente|utilisateur|gebruiker|@";
    let lead = line_before(bytes, at);
    listed(USERS).any(|word| contains(lead, word))
}

/// Whether the name at `at` begins a line, and the line above begins with a user's.
pub fn below_user(bytes: &[u8], at: usize) -> bool {
    let from = at.saturating_sub(WIDEST);
    let lead = &bytes[from..at];
    // With line ends as they are, or as JSON writes them.
    let Some(lead) = lead.strip_suffix(b"\n").or_else(|| lead.strip_suffix(b"\\n")) else { return false };
    let plain = lead.iter().rposition(|byte| matches!(byte, b'\n' | b'"')).map_or(0, |end| end + 1);
    let escaped = memchr::memmem::rfind(lead, b"\\n").map_or(0, |end| end + 2);
    let line = &lead[plain.max(escaped)..];
    ["user", "login", "email", "e-mail", "benutzer", "usuario", "utilisateur"]
        .iter()
        .any(|word| starts_with_ignore_case(line, word) && line.contains(&b':'))
}

fn line_before(bytes: &[u8], at: usize) -> &[u8] {
    let lead = &bytes[at.saturating_sub(64)..at];
    &lead[lead.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)..]
}

#[cfg(test)]
mod tests {
    use crate::mask::text;

    /// The secret of each is between `«` and `»`.
    const TOLD: &[&str] = &[
        "the password is «sunflower7» now, please retry",
        r#"password (it's "«sunflower»")"#,
        "log in with admin / «Winter#2023»",
        "user foo, pw «bar1x»",
        "user: foo pass: «bar12»",
        "creds are admin:«Sommer2024!»",
        "login with root/«t00rToor!» please",
        "Das Passwort lautet «Apfelmus99»",
        "mit dem Passwort «Apfelmus99» anmelden",
        "Das Kennwort ist jetzt «Apfel-Mus99»",
        "le mot de passe est «Fromage!42»",
        "mot de passe : «Fromage!42»",
        "mdp: «Fromage!42»",
        "con la contraseña «Gato99negro»",
        "a senha é «Cachorro#7»",
        "senha: «cachorro77»",
        "la password è «Gatto!88»",
        "het wachtwoord is «Fiets2024»",
        "Wachtwoord: «Fiets2024»",
        "hasło: «Kot!2024»",
        "Logins:\n- admin / «Sommer2024!»\n- editor / «Herbst.88»",
        "Password for user postgres: «hunter22»",
        "Enter password: «hunter22»",
        "New password: «Frosty!Lake9»",
        "Password for 'https://lena@git.acme.test': «Frosty9Lake»",
        "[sudo] password for lena: «frosty99»",
        "lena@host's password: «frosty99»",
        "The new password -> «Frosty!9»",
        r#"const pw = process.env.DB_PASSWORD || "«geheim123»";"#,
        "const pw = process.env.JWT_SECRET ?? '«my-dev-jwt-x9»'",
        r#"password = os.getenv("DB_PASSWORD", "«geheim123»")"#,
        r#"SECRET = os.environ.get("APP_PASSWORD") or "«geheim123»""#,
        "password = config('DB_PASSWORD', default='«geheim123»')",
        "password = config('DB_PASSWORD', cast=str, default='«geheim123»')",
        r#"val pw = System.getenv("DB_PASSWORD") ?: "«geheim123»""#,
        r#"val pw = sys.env.getOrElse("DB_PASSWORD", "«geheim123»")"#,
        r#"let p = env::var("DB_PASSWORD").unwrap_or("«geheim123»".into());"#,
        r#"let p = env::var("DB_PASSWORD").unwrap_or_else(|_| "«geheim123»".to_string());"#,
        "password: ${DB_PASSWORD:-«geheim123»}",
        "password: ${DB_PASSWORD:«geheim123»}",
        r#"viper.SetDefault("db.password", "«geheim123»")"#,
        "this.config.get('DB_PASSWORD', '«geheim123»')",
        r#"parser.add_argument("--password", default="«geheim123»")"#,
        r#"@click.option("--password", default="«geheim123»", help="x")"#,
        r#"var p = Environment.GetEnvironmentVariable("DB_PASSWORD") ?? "«geheim123»";"#,
        r#"password: "{{ lookup('env', 'DB_PASSWORD') | default('«geheim123»', true) }}""#,
        r#"password: "{{ db_password | default('«geheim123»') }}""#,
        r#"static const char *WIFI_PASSWORD = "«gartenzwerg»";"#,
        r#"#define MQTT_PASSWORD "«gartenzwerg»""#,
        r#"echo -n "«geheim123»" | base64"#,
        "printf 'admin:«geheim123»' | openssl base64",
        "{ user: 'anna', kennwort: '«blumentopf»' }",
        "benutzer = anna\nkennwort = «blumentopf12»",
        r#""contraseña": "«Perro_2020»","#,
        "usuario=root\nclave=«Perro#2020x»",
        r#""senha": "«gato1234»""#,
        "MDP_BDD=«chaton75»",
        "PIN/password: «98431276»",
        "you can use test@acme.test / «Test1234!» to sign in",
        "Zugang: Benutzer kim, Passwort «Bergsee77»",
        "| User | Passwort |\n|------|----------|\n| kim | «Bergsee77» |",
        "pw=«bergsee77» user=kim",
        "wifi password: «sonnenblume22»",
        "lena: whats the wifi pw again?\ntom: «regenbogenfisch12»\nlena: thx",
        "tom: wie war nochmal das wlan passwort?\nlena: «sonnenblume22»",
        "char wifi_password[] = \"«gartenzwerg»\";",
        "char wifi_password[32] = \"«gartenzwerg»\";",
        "what is the root password?\n«Regen#12»",
        "HikariConfig - password.......................\"«regenbogen12»\"",
        "jdbc.password........: «regenbogen12»",
        "client secret....... «0djQLq8h7RT8Q4pZ»",
        "<Pass encoding=\"base64\">«h0DPmWedWR7xX61EBYRQ»</Pass>",
        "SESSION_SECRET=«keyboard-kitten-77»",
        "*hmac_secret = (const uint8_t *)\"«NNgWc7fMsmu5P5jy7o1s1CMVpUzQNoAI»\";",
        "String password = (String) \"«regenbogen12»\";",
        "headers:\n  Authorization:\n  - Basic «nc3dlKuDjeHrUBjJ7Ya99PISLC6gTylR»",
        "headers:\n  X-Api-Key:\n    - «nc3dlKuDjeHrUBjJ7Ya99PISLC6gTylR»",
        r#"The passphrase is "«purple monkey dishwasher»""#,
        "credentials: admin/«Sommer2024!»",
    ];

    const SAID: &[&str] = &[
        "the password is required",
        "the password is wrong!",
        "the password is hashed with argon2id",
        "the password is sha256-hashed and stored in users.password_hash",
        "password is too short (min 8 chars)",
        "password is not set",
        "the password is in /etc/app/db.conf",
        "the password is stored in vault2",
        "The password is base64-encoded",
        "Password is case-sensitive",
        "the password is end-to-end encrypted",
        "the password is 8 characters long",
        "the password was changed 3 days ago",
        "Passwort vergessen?",
        "Das Passwort ist falsch",
        "Das Passwort ist zu kurz (mindestens 8 Zeichen)",
        "Das Passwort ist abgelaufen, bitte in Schritt2 neu setzen",
        "mit admin / user rechten",
        "log in with Google / GitHub",
        "login with Google/GitHub",
        "sign in with email / password",
        "log in with GitHub / GitLab v2",
        "le mot de passe est obligatoire",
        "le mot de passe est incorrect",
        "mot de passe oublié ?",
        "la contraseña es obligatoria",
        "a senha é obrigatória",
        "la password è obbligatoria",
        "het wachtwoord is verplicht",
        r#""login.password": "Contraseña""#,
        r#""password": "Kennwort""#,
        r#""password": "Пароль""#,
        r#""password": "密码""#,
        r#""password": "Mot de passe""#,
        r#""password": "Wachtwoord","#,
        r#""senha": "Digite sua senha""#,
        "password: 'Mínimo 8 caracteres'",
        "password (optional)",
        "password (min 8 characters)",
        "password (8-20 characters)",
        "password (sha256)",
        "Password (again)",
        r#"if (form.get("password") or "").strip():"#,
        r#"const x = el.querySelector('[name="password"]') || document"#,
        r#"password = request.form.get("password", "")"#,
        "pass = passed / total2",
        "rate = passed / (passed + failed1)",
        "a / b2 user",
        "// user password handling v2",
        "the account uses http2 / h2c",
        "session({ secret: process.env.SESSION_SECRET })",
        "secret: 'my-app-secrets'",
        "secretName: acme-tls-wildcard",
        r#"secret: "acme-prod-tls""#,
        "token: 'github-actions-bot-account'",
        r#"className="password-input-wrapper-large""#,
        r#""secret": "Client-Secret-Key""#,
        "echo -n 'hello' | base64",
        "echo -n 'hello world' | base64",
        "echo 'aGVsbG8gd29ybGQ=' | base64 -d",
        "cat file1.txt | base64 -w0",
        r#"ENV.fetch("DB_PASSWORD")"#,
        r#"ENV.fetch("DB_PASSWORD") { raise "missing" }"#,
        r#"ENV.fetch("DB_PASSWORD", "")"#,
        r#"process.env.DB_PASSWORD || """#,
        "process.env.DB_PASSWORD || defaultPassword",
        r#"os.getenv("DB_PASSWORD", "password")"#,
        r#"os.getenv("DB_PASSWORD", "changeme")"#,
        "config('DB_PASSWORD', default='')",
        r#"const TOKEN_KEY: &str = "access_token";"#,
        r#"const STORAGE_KEY: &str = "user-settings-v2";"#,
        "#define PASS_MAX 64",
        r#"#define TOKEN_STRING "string""#,
        "set password wrong2",
        "with password auth2",
        "user foo, password optional",
        "AWS Secret Access Key [None]: ",
        "AWS Secret Access Key [****************ABCD]: ",
        "Enter password: ",
        "New password (again):",
        "Password: ********",
        "[INFO]: started x1y2z3",
        "users[password]: required2",
        "Password for user postgres: ",
        "the token is expired2",
        "the password for user2 is invalid",
        "the password field is called password2",
        "login: POST /api/v1/login",
        "account / region: 1234 / eu-west-1",
        "credentials: see README.md / docs2",
        "admin/users2",
        "sign in at admin/login2.html",
        "login as root / sudo2",
        "root:x:0:0:root:/root:/bin/bash",
        "chown root:root2 file",
        "clave primaria: id_usuario",
        r#""clave": "usuario_id""#,
        "Palavra-chave: async",
        "publicKeyToken=b77a5c561934e089",
        "password was reset by admin@acme.test",
        "password => 'required|min8'",
        "$password => bcrypt($x1)",
        "'password' => Hash::make('x')",
        "user / group: www-data / www-data2",
        r#""errors.password.short": "Das Passwort ist zu kurz""#,
        "PASS: test_user1 (0.1s)",
        "The password must match ^[a-z0-9]{8}$",
        "password is ${PASSWORD}",
        "password is <your password>",
        "password is null",
        "password is undefined",
        "password is config.db.password",
        "password is self.password1",
        "the password is MySecret.from_env",
        "const password = user.password || generatePassword()",
        "the key is user:1234:profile",
        "pass -> fail2",
        "forgot your password?\nSign-up2",
        "Passwort vergessen oder wie ist das Passwort?\nHilfe2",
        "char password[] = \"\";",
        "password[0] = chars[i2];",
        "form[password][]=$x1",
        "input[type=password]=a1",
        "what is the password policy?\nlength12",
        "which pass?\nsecond1",
        "JWT_SECRET=jwt-signing-01",
        "what is the password?\ntom: ask lena42 about it",
        "what hashes the password?\nargon2id",
        "which password?\ntom: the one in vault2",
        "what about the token?\nv2.1.0-rc4",
        "user?.password?.length2",
        "Checking the password.......ok",
        "Resetting password......... done2",
        "password.......................<masked>",
        "password........: ********",
        "client secret........: yes",
        "type your password... then wait2",
        "<Password required=\"true\">Enter your password</Password>",
        "<password-field class=\"wide\">Home12</password-field>",
        "<Token type=\"x\">Identifier</Token>",
        "<Password ref=\"a1b2c3d4\"/><Name>x7Kq29fLm2</Name>",
        "SESSION_SECRET=acme-secret-01",
        "SESSION_SECRET=acme-prod",
        "token = (const char *)argv[1];",
        "password = (String) request.getParameter(\"password\");",
        "Authorization:\n- required",
        "Authorization:\n- Bearer <TOKEN>",
        "password:\n  - required\n  - min8",
        "token:\n  - name: access1\n    value: 3",
        "secret:\n  - projects/acme/secrets/db/versions/3",
        "the tests pass => ok1",
    ];

    #[test]
    fn a_long_value_is_masked_to_its_end() {
        let long = format!("aB3$x7{}", "é9".repeat(60));
        for lead in ["the password is ", "what is the password?\n", "password........: "] {
            let masked = text(&format!("{lead}{long}")).into_owned();
            assert!(
                masked == format!("{lead}[masked:secret]") || masked == format!("{lead}[masked:password]"),
                "{masked}"
            );
        }
    }

    #[test]
    fn what_people_tell_is_masked_and_what_they_say_about_it_is_not() {
        for told in TOLD {
            let secret = told.split(['«', '»']).nth(1).unwrap_or_default();
            let masked = text(&told.replace(['«', '»'], "")).into_owned();
            assert!(!masked.contains(secret), "{told} became {masked}");
            assert_eq!(text(&masked), masked.as_str(), "masking twice is masking once");
        }
        for said in SAID {
            assert_eq!(text(said), *said);
        }
    }
}
