//! Names whose value is a secret: variables, fields, headers and options have similar names. Only tables and lookup.

/// What a name says about its value, which decides how much the value has to look like a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A person may have chosen it: short, words.
    Password,
    /// A machine made it: long, random.
    Secret,
    /// Some key; many are harmless, so the value must clearly be random.
    Key,
    /// `acme_key`, not in capitals: like [`Kind::Key`], but the value must be as random as a vendor makes it.
    QuietKey,
    /// The words of which a wallet is made.
    Seed,
    /// `Authorization`: a scheme, then the secret.
    Authorization,
    /// `Cookie`: names and values.
    Cookie,
}

/// The end of a name, in capitals and without `_` and `-`.
pub struct NameEnd {
    pub end: &'static str,
    pub kind: Kind,
    /// Whether it may follow other letters directly (`identitytoken`) or must be a separate word (`auth`, not `oauth`).
    pub glued: bool,
    #[cfg(test)]
    pub must: &'static str,
    #[cfg(test)]
    pub must_not: &'static str,
}

macro_rules! ends {
    ($($end:literal, $kind:ident, $glued:literal, $must:literal, $not:literal;)*) => {
        &[$(NameEnd {
            end: $end, kind: Kind::$kind, glued: $glued,
            #[cfg(test)] must: $must, #[cfg(test)] must_not: $not,
        },)*]
    };
}

pub const NAME_ENDS: &[NameEnd] = ends! {
    "PASSWORD", Password, true, "DB_PASSWORD=«{p12}»", "password=get_password()";
    "PASSWD", Password, true, "passwd: «{p12}»", "passwd: passwd";
    "PASSPHRASE", Password, true, "key_passphrase = \"«{p20}»\"", "passphrase: string";
    "PASSCODE", Password, true, "passcode=«{a10}»", "passcode=$1";
    "PASSWRD", Password, true, "dbpasswrd=«{p12}»", "passwrd=";
    "PRESHAREDKEY", Secret, true, "pre-shared-key ascii-text \"«{a26}»\"", "pre_shared_key: str";
    "PSKSECRET", Password, true, "set psksecret ENC «{b44}==»", "psksecret: bytes";
    "REQUIREPASS", Password, true, "requirepass «{a20}»", "requirepass no";
    "AUTHTOK", Password, true, "ldap_default_authtok = «{a18}»", "ldap_default_authtok_type = password";
    "MASTERAUTH", Password, true, "masterauth=«{a20}»", "masterauth: none";
    "STOREPASS", Password, true, "-storepass «{a12}»", "-storepass file";
    "KEYPASS", Password, true, "-keypass «{a12}»", "-keypass file";
    "SSHPASS", Password, true, "SSHPASS=«{p12}»", "SSHPASS=$P";
    "ROOTPW", Password, true, "rootpw «{a12}»", "rootpw none";
    "DBPASS", Password, true, "--dbpass=«{a12}»", "dbpass=$P";
    "USERPASS", Password, true, "userpass: «{a12}»", "userpass: true";
    "ROOTPASS", Password, true, "rootpass=«{a12}»", "rootpass=";
    "ADMINPASS", Password, true, "adminpass=«{a12}»", "adminpass=None";
    "PASS", Password, false, "SMTP_PASS=«{p12}»", "--- PASS: TestLogin (0.00s)";
    "PWD", Password, false, "MYSQL_PWD=«{p12}»", "OLDPWD=/home/me/x1";
    "PSK", Password, false, "psk=\"«{p12}»\"", "psk=none";
    "PW", Password, false, "bind_pw = \"«{p12}»\"", "pw: string";
    // The same in other languages; capitals outside of ASCII count as small letters do.
    "PASSWORT", Password, true, "Passwort: «{p12}»", "passwort: Passwort";
    "KENNWORT", Password, true, "kennwort=«{p12}»", "\"kennwort\": \"Kennwort\"";
    "CONTRASEÑA", Password, true, "contraseña: «{p12}»", "\"contraseña\": \"Contraseña\"";
    "CONTRASENA", Password, true, "contrasena=«{p12}»", "contrasena: contrasena";
    "CLAVE", Secret, false, "clave = \"«{p12}»\"", "clave: primaria";
    "SENHA", Password, true, "senha: «{p12}»", "\"senha\": \"Senha\"";
    "PALAVRAPASSE", Password, true, "palavra-passe: «{p12}»", "palavra-passe: Palavra-passe";
    "MOTDEPASSE", Password, true, "mot de passe : «{p12}»", "\"motDePasse\": \"Mot de passe\"";
    "MDP", Password, false, "mdp=«{p12}»", "mdp: mdp";
    "WACHTWOORD", Password, true, "wachtwoord: «{p12}»", "\"wachtwoord\": \"Wachtwoord\"";
    "HASŁO", Password, true, "hasło: «{p12}»", "\"hasło\": \"Hasło\"";
    "HASLO", Password, false, "db_haslo=«{p12}»", "haslo: haslo";
    "HESLO", Password, false, "heslo: «{p12}»", "heslo: heslo";
    "LÖSENORD", Password, true, "lösenord: «{p12}»", "lösenord: Lösenord";
    "PASSORD", Password, true, "passord: «{p12}»", "passord: passord";
    // Both cases of its first letter.
    "ароль", Password, true, "пароль: «{p12}»", "\"пароль\": \"Пароль\"";
    "TOKEN", Secret, true, "identitytoken=«{a40}»", "nextToken=token1";
    "SECRET", Secret, true, "client_secret: «{a32}»", "secret: SecretStr";
    "APIKEY", Secret, true, "X-Api-Key: «{a32}»", "api_key = api_key2";
    "ACCESSKEY", Secret, true, "SecretAccessKey: «{b40}»", "access_key: config.accessKey";
    "SECRETKEY", Secret, true, "secret_key = '«{a40}»'", "secretKey: string";
    "PRIVATEKEY", Secret, true, "PrivateKey = «{b43}=»", "private_key: PathBuf";
    "SIGNINGKEY", Secret, true, "signing_key: «{h64}»", "signingKey: SigningKey";
    "ENCRYPTIONKEY", Secret, true, "encryption_key=«{b43}=»", "encryption_key=None";
    "MASTERKEY", Secret, true, "RAILS_MASTER_KEY=«{h32}»", "master_key: true";
    "VALIDATIONKEY", Secret, true, "validationKey=\"«{A128}»\"", "validationKey=\"AutoGenerate\"";
    "DECRYPTIONKEY", Secret, true, "decryptionKey=\"«{A48}»\"", "decryption_key: str";
    "PRIMARYKEY", QuietKey, true, "primary_key: «{a32}»", "primary_key: order_id_v2";
    "JWT", Key, false, "--set secrets.jwt=«{a40}»", "jwt: jsonwebtoken";
    "ACCOUNTKEY", Secret, true, "AccountKey=«{b86}==»", "account_key=get()";
    "AUTHKEY", Secret, true, "X-Auth-Key: «{h37}»", "auth_key: AuthKey";
    "SHAREDKEY", Secret, true, "shared_key: «{b44}»", "sharedKey: shared";
    "SUBSCRIPTIONKEY", Secret, true, "Ocp-Apim-Subscription-Key: «{h32}»", "subscription_key: str";
    "LICENSEKEY", Secret, true, "license_key: «{h40}»", "licenseKey: string";
    "CLIENTKEY", Secret, true, "client-key: «{b200}»", "client-key: /etc/ssl/client.key";
    "DEPLOYKEY", Secret, true, "deploy_key=«{a40}»", "deploy_key: true";
    "SERVICEKEY", Secret, true, "service_key=«{a40}»", "serviceKey: name";
    "SERVERKEY", Secret, true, "server_key=«{a40}»", "server_key: /etc/x.key";
    "APPKEY", Secret, true, "app_key: «{h40}»", "appKey: 'main'";
    "CONSUMERKEY", Secret, true, "consumer_key=«{a25}»", "consumer_key=key";
    "ROUTINGKEY", Key, true, "routing_key=«{l32}»", "routing_key=order.created.17.v2";
    "STORAGEKEY", Key, true, "AZURE_STORAGE_KEY=«{b86}==»", "storageKey: 'user.settings.v2'";
    "HMACKEY", Secret, true, "hmac_key=«{h64}»", "hmac_key: &[u8]";
    "CREDENTIALS", Secret, true, "credentials: «{a40}»", "credentials: 'include'";
    "CREDENTIAL", Secret, true, "credential=«{a40}»", "credential: Credential";
    "CREDS", Secret, false, "CREDS=«{a40}»", "creds=load()";
    "AUTH", Secret, false, "_auth=«{b32}»", "auth: jwt";
    "BEARER", Secret, false, "--oauth2-bearer «{a40}»", "bearer: true";
    "SIGNATURE", Secret, false, "X-Amz-Signature=«{h64}»", "signature: Signature";
    "SIG", Secret, false, "&sig=«{a43}%3D»", "sig: fn(u8) -> u8";
    "SALT", Secret, false, "AUTH_SALT = '«{a64}»'", "salt: bytes";
    "DEVICECODE", Secret, true, "\"device_code\": \"«{h40}»\"", "device_code: str";
    "SECRETBODY", Secret, true, "secret-body=«{a40}»", "secret_body=body";
    "JSESSIONID", Secret, true, "JSESSIONID=«{A32}»", "JSESSIONID=none";
    "PHPSESSID", Secret, true, "PHPSESSID=«{l26}»", "PHPSESSID=phpsessid";
    "MNEMONIC", Seed, true, "MNEMONIC=\"«lake fox river moon cup tree sun road bird hill cat door»\"", "Mnemonic: \"insert after a line\"";
    "SEEDPHRASE", Seed, true, "seed_phrase: '«lake fox river moon cup tree sun road bird hill cat door»'", "seed_phrase: str";
    "KEY", Key, false, "OPENAI_KEY=«{a40}»", "CACHE_KEY=«»{a40}";
    "AUTHORIZATION", Authorization, true, "Authorization: Bearer «{a40}»", "Authorization: required";
    "COOKIE", Cookie, false, "Cookie: session=«{a32}»", "Cookie: lang=en";
    "COOKIES", Cookie, false, "cookies: session=«{a32}»", "cookies: lang=en";
};

/// Names that end like the above but are harmless: positions in a list, tokens of a language model, public keys.
pub const HARMLESS: &[&str] = &[
    "PAGETOKEN",
    "NEXTTOKEN",
    "CONTINUATIONTOKEN",
    "SYNCTOKEN",
    "CURSORTOKEN",
    "RESUMETOKEN",
    "STARTINGTOKEN",
    "PAGINATIONTOKEN",
    "CANCELLATIONTOKEN",
    "CANCELTOKEN",
    "EOSTOKEN",
    "BOSTOKEN",
    "PADTOKEN",
    "UNKTOKEN",
    "SEPTOKEN",
    "CLSTOKEN",
    "MASKTOKEN",
    "STOPTOKEN",
    "STARTTOKEN",
    "ENDTOKEN",
    "PERTOKEN",
    "PUBLICKEY",
    "PUBLICKEYTOKEN",
    "PUBLICTOKEN",
    "PUBLISHABLEKEY",
    "SITEKEY",
    "CACHEKEY",
    "FOREIGNKEY",
    "SORTKEY",
    "PARTITIONKEY",
    "HOSTKEY",
    "GPGKEY",
    "FILEKEY",
    "IMAGEKEY",
    "CONTENTKEY",
    "HASHKEY",
    "LOCKKEY",
    "ROWKEY",
    "STATEKEY",
    "ASSETKEY",
    "BUCKETKEY",
    "FINGERPRINTKEY",
    "WEBSOCKETKEY",
    "IDEMPOTENCYKEY",
    "OBJECTKEY",
    "GROUPKEY",
    "TOKENKEY",
    "LOOKUPKEY",
    "DEDUPKEY",
    "UNIQUEKEY",
    "QUERYKEY",
];

/// What may follow the name proper: `SECRET_KEY_BASE`, `API_KEY_2`.
pub const SUFFIXES: &[&str] = &[
    "BASE",
    "OLD",
    "NEW",
    "PROD",
    "PRODUCTION",
    "DEV",
    "TEST",
    "STAGING",
    "LIVE",
    "PLAIN",
    "FALLBACK",
    "DATA",
    "PRIMARY",
    "SECONDARY",
    "MAIN",
    "DEFAULT",
    "PREVIOUS",
    "CURRENT",
    "BACKUP",
    "DB",
    "BDD",
    "BD",
    "ADMIN",
    "ROOT",
    "MYSQL",
    "POSTGRES",
    "REDIS",
    "SMTP",
    "MAIL",
    "WIFI",
];

/// Where `word` begins if the letters of `name` end with it, as a separate word or glued to others.
fn word_at_end(name: &[u8], word: &str, glued: bool) -> Option<usize> {
    let mut at = name.len();
    for letter in word.bytes().rev() {
        at = at.checked_sub(1)?;
        while !(name[at].is_ascii_alphanumeric() || name[at] >= 0x80) {
            at = at.checked_sub(1)?;
        }
        if capital(at.checked_sub(1).map_or(b'_', |before| name[before]), name[at]) != letter {
            return None;
        }
    }
    let first = name[at];
    let begins = at.checked_sub(1).is_none_or(|before| {
        let before = name[before];
        !before.is_ascii_alphanumeric()
            || (first.is_ascii_uppercase() && !before.is_ascii_uppercase())
            || (first.is_ascii_alphabetic() && before.is_ascii_digit())
    });
    (glued || begins).then_some(at)
}

/// `ñ` and `Ñ`, `ł` and `Ł` differ in their second byte.
#[inline(always)]
const fn capital(before: u8, byte: u8) -> u8 {
    match (before, byte) {
        (0xc3, 0xa0..=0xbe) => byte - 0x20,
        (0xc5, 0x82) => 0x81,
        _ => byte.to_ascii_uppercase(),
    }
}

/// What a name says about its value, if anything.
pub fn kind_of(name: &[u8]) -> Option<Kind> {
    let end = without_number(name, name.len());
    let ends_there = |end: usize| (may_end(name, end) & NAME != 0).then(|| ending(&name[..end], name))?;
    ends_there(end).or_else(|| ends_there(without_suffix(name, end)?))
}

/// Whether a name that matters could end at `end`. Cheap enough to ask for every `:` and `=`.
#[inline(always)]
pub fn may_matter(bytes: &[u8], end: usize) -> bool {
    let end = if end > 0 && bytes[end - 1].is_ascii_digit() { without_number(bytes, end) } else { end };
    match may_end(bytes, end) {
        0 => false,
        SUFFIX => may_matter_before_suffix(bytes, end),
        _ => true,
    }
}

#[inline(never)]
fn may_matter_before_suffix(bytes: &[u8], end: usize) -> bool {
    without_suffix(bytes, end).is_some_and(|end| may_end(bytes, end) & NAME != 0)
}

fn without_number(bytes: &[u8], end: usize) -> usize {
    let digits = bytes[..end].iter().rev().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    let end = end - digits;
    let joint = digits > 0 && end > 0 && matches!(bytes[end - 1], b'_' | b' ');
    end - usize::from(joint)
}

/// Where a name ends without its suffix from [`SUFFIXES`].
fn without_suffix(bytes: &[u8], end: usize) -> Option<usize> {
    if may_end(bytes, end) & SUFFIX == 0 {
        return None;
    }
    let length =
        bytes[..end].iter().rev().take(LONGEST_SUFFIX).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let start = end - length;
    let apart = start > 1 && matches!(bytes[start - 1], b'_' | b'-');
    let known = |suffix: &str| bytes[start..end].eq_ignore_ascii_case(suffix.as_bytes());
    (apart && SUFFIXES.iter().any(|suffix| known(suffix))).then(|| start - 1)
}

const LONGEST_SUFFIX: usize = "PRODUCTION".len();

fn ending(end: &[u8], name: &[u8]) -> Option<Kind> {
    let (order, offsets) = &BY_LAST;
    let last = usize::from(end[end.len() - 1] & 31);
    let rows = order[usize::from(offsets[last])..usize::from(offsets[last + 1])].iter();
    let mut rows = rows.map(|row| &NAME_ENDS[usize::from(*row)]);
    let (row, start) = rows.find_map(|row| Some((row, word_at_end(end, row.end, row.glued)?)))?;
    // No harmless name ends like that of a password, and all say more than `token` and `key`.
    let harmless = |word: &&'static str| {
        let more = word.strip_suffix(row.end);
        more.is_some_and(|more| word_at_end(&end[..start], more, true).is_some())
    };
    if row.kind != Kind::Password && start > 0 && HARMLESS.iter().any(harmless) {
        return None;
    }
    // `FirebaseAuth` is a part of a program; `X-Service-Auth` is a header.
    let part = || name[0].is_ascii_uppercase() && name.iter().any(u8::is_ascii_lowercase);
    if row.end == "AUTH" && part() && !name.contains(&b'-') {
        return None;
    }
    // `key` alone, `sortKey`: only longer rows and the names of environment variables and of headers say enough. What
    // joins its words by signs says something.
    let header = matches!(name, [b'x' | b'X', b'-', ..]);
    let variable = name.iter().all(|byte| !byte.is_ascii_lowercase())
        && end[..start].iter().any(u8::is_ascii_alphanumeric);
    let loud = header || variable || row.end != "KEY";
    let quiet = name.len() > 6 && matches!(name[name.len() - 4], b'_' | b'-');
    match row.kind {
        Kind::Key if !loud => quiet.then_some(Kind::QuietKey),
        kind => Some(kind),
    }
}

/// The rows of [`NAME_ENDS`] by the last five bits of their last letter, and where each letter begins.
static BY_LAST: ([u8; NAME_ENDS.len()], [u8; LETTERS + 1]) = {
    let (mut order, mut offsets) = ([0; NAME_ENDS.len()], [0; LETTERS + 1]);
    let (mut filled, mut letter) = (0, 0);
    while letter < LETTERS {
        let mut i = 0;
        while i < NAME_ENDS.len() {
            let end = NAME_ENDS[i].end.as_bytes();
            if (end[end.len() - 1] & 31) as usize == letter {
                order[filled] = i as u8;
                filled += 1;
            }
            i += 1;
        }
        letter += 1;
        offsets[letter] = filled as u8;
    }
    (order, offsets)
};

/// What could end at `end`: [`NAME`], [`SUFFIX`], both.
#[inline(always)]
fn may_end(bytes: &[u8], end: usize) -> u64 {
    if end < 2 {
        return 0;
    }
    let before = |back: usize| end.checked_sub(back).map_or(b'_', |at| bytes[at]);
    let index = tail_index(&LETTER_OF, before(3), bytes[end - 2], bytes[end - 1]);
    let what = TAILS.threes[index / 32] >> (2 * (index % 32)) & 3;
    if what == 0 {
        return 0;
    }
    // A word of a name may begin with the third letter, whatever the table's name has there.
    let fourth = usize::from(LETTER_OF[usize::from(before(4))]);
    let sum = four_sum(fourth, index);
    if fourth == 0 { what } else { what & (TAILS.fours[sum / 32] >> (2 * (sum % 32))) }
}

/// Whether a name whose value follows after a blank could end with these four letters. Asked for many words of any
/// text, so it knows only the names that are used like this.
#[inline(always)]
pub fn may_end_before_blank(tail: [u8; 4]) -> bool {
    if may_end(&tail, 4) & NAME == 0 {
        return false;
    }
    let tail = u32::from_be_bytes(tail) | 0x2020_2020;
    const fn letters(word: &[u8; 4]) -> u32 {
        u32::from_be_bytes(*word) | 0x2020_2020
    }
    const WORDS: [u32; 17] = [
        letters(b"word"),
        letters(b"sswd"),
        letters(b"pass"),
        letters(b"oken"),
        letters(b"cret"),
        letters(b"_key"),
        letters(b"-key"),
        letters(b".key"),
        letters(b"ikey"),
        letters(b"skey"),
        letters(b"_pwd"),
        letters(b"otpw"),
        letters(b" key"),
        letters(b" pwd"),
        letters(b"oord"),
        letters(b"e\xc3\xb1a"),
        letters(b"s\xc5\x82o"),
    ];
    const SHORT: [u32; 2] = [letters(b"\0_pw") & 0xff_ffff, letters(b"\0 pw") & 0xff_ffff];
    WORDS.contains(&tail) || SHORT.contains(&(tail & 0xff_ffff))
}

const LETTERS: usize = 32;
/// The number of a letter, in either case; one for all bytes outside of ASCII; 0 for what is not a letter.
static LETTER_OF: [u8; 256] = letters();

const fn letters() -> [u8; 256] {
    let mut letters = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        letters[byte] = match byte as u8 {
            byte @ (b'a'..=b'z' | b'A'..=b'Z') => byte & 31,
            0x80.. => 31,
            _ => 0,
        };
        byte += 1;
    }
    letters
}
const TAIL_WORDS: usize = LETTERS * LETTERS * LETTERS / 64;
/// Names that matter because of what is beside or below them.
pub const SPECIAL: &[&str] = &["VALUE", "DEFAULT", "DATA", "THIN", "KTY", "RESULT", "ACCOUNTS"];

/// A name from [`NAME_ENDS`] or [`SPECIAL`].
const NAME: u64 = 1;
/// One of [`SUFFIXES`].
const SUFFIX: u64 = 2;

/// How names and suffixes end: two bits for their last three letters, and for each hash of the last four.
struct Tails {
    threes: [u64; 2 * TAIL_WORDS],
    fours: [u64; FOUR_SUMS / 32],
}

const FOUR_SUM_BITS: u32 = 12;
const FOUR_SUMS: usize = 1 << FOUR_SUM_BITS;

#[inline(always)]
const fn four_sum(fourth: usize, three: usize) -> usize {
    (((fourth << 15 | three) as u32).wrapping_mul(0x9e37_79b1) >> (32 - FOUR_SUM_BITS)) as usize
}

static TAILS: Tails = {
    let mut tails = Tails { threes: [0; 2 * TAIL_WORDS], fours: [0; FOUR_SUMS / 32] };
    let mut i = 0;
    while i < NAME_ENDS.len() {
        tails = with_tail(tails, NAME_ENDS[i].end.as_bytes(), NAME);
        i += 1;
    }
    let mut i = 0;
    while i < SPECIAL.len() {
        tails = with_tail(tails, SPECIAL[i].as_bytes(), NAME);
        i += 1;
    }
    let mut i = 0;
    while i < SUFFIXES.len() {
        tails = with_tail(tails, SUFFIXES[i].as_bytes(), SUFFIX);
        i += 1;
    }
    tails
};

/// Only letters count, in either case: `_PW` and `.pw` are the same. All bytes outside of ASCII are one letter.
#[inline(always)]
const fn tail_index(of: &[u8; 256], a: u8, b: u8, c: u8) -> usize {
    (of[a as usize] as usize * LETTERS + of[b as usize] as usize) * LETTERS + of[c as usize] as usize
}

const fn with_tail(mut tails: Tails, end: &[u8], what: u64) -> Tails {
    let (n, letters) = (end.len(), letters());
    // A separator may precede a short one, and anything a shorter one.
    let third = if n > 2 { end[n - 3] } else { b'_' };
    let index = tail_index(&letters, third, end[n - 2], end[n - 1]);
    tails.threes[index / 32] |= what << (2 * (index % 32));
    let mut fourth = if n > 3 { letters[end[n - 4] as usize] as usize } else { 0 };
    let last = if n > 3 { fourth } else { LETTERS - 1 };
    while fourth <= last {
        let sum = four_sum(fourth, index);
        tails.fours[sum / 32] |= what << (2 * (sum % 32));
        fourth += 1;
    }
    tails
}
