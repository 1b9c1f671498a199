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
    "REQUIREPASS", Password, true, "requirepass «{a20}»", "requirepass no";
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
    "PUBLISHABLEKEY",
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
];

/// No name in any of the tables is longer than this.
const LONGEST_TABLE_NAME: usize = 96;

/// A name in capitals without its separators, and where words begin in it.
struct Compact {
    letters: [u8; LONGEST_TABLE_NAME],
    length: usize,
    /// One bit for each letter at which a word begins.
    begins: u128,
}

fn compact(name: &[u8]) -> Option<Compact> {
    let mut compact = Compact { letters: [0; LONGEST_TABLE_NAME], length: 0, begins: 0 };
    let mut before = b'_';
    for &byte in name {
        if byte.is_ascii_alphanumeric() {
            let slot = compact.letters.get_mut(compact.length)?;
            *slot = byte.to_ascii_uppercase();
            let begins = !before.is_ascii_alphanumeric()
                || (byte.is_ascii_uppercase() && !before.is_ascii_uppercase())
                || (byte.is_ascii_alphabetic() && before.is_ascii_digit());
            compact.begins |= u128::from(begins) << compact.length;
            compact.length += 1;
        }
        before = byte;
    }
    Some(compact)
}

impl Compact {
    /// Whether the first `end` letters end with `word`, as a separate word or glued to others.
    #[inline(always)]
    fn ends_with(&self, end: usize, word: &str, glued: bool) -> bool {
        let word = word.as_bytes();
        end >= word.len()
            && self.letters[end - 1] == word[word.len() - 1]
            && &self.letters[end - word.len()..end] == word
            && (glued || self.begins >> (end - word.len()) & 1 == 1)
    }
}

/// What a name says about its value, if anything.
pub fn kind_of(name: &[u8]) -> Option<Kind> {
    let end = without_number(name, name.len());
    let ends_there = |end: usize| {
        let compact = may_end(name, end, &TAILS).then(|| compact(&name[..end]))??;
        ending(&compact, compact.length, name)
    };
    ends_there(end).or_else(|| ends_there(without_suffix(name, end)?))
}

/// Whether a name that matters could end at `end`. Cheap enough to ask for every `:` and `=`.
pub fn may_matter(bytes: &[u8], end: usize) -> bool {
    let end = without_number(bytes, end);
    may_end(bytes, end, &TAILS) || without_suffix(bytes, end).is_some_and(|end| may_end(bytes, end, &TAILS))
}

fn without_number(bytes: &[u8], end: usize) -> usize {
    let digits = bytes[..end].iter().rev().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    let end = end - digits;
    let joint = digits > 0 && end > 0 && matches!(bytes[end - 1], b'_' | b' ');
    end - usize::from(joint)
}

/// Where a name ends without its suffix from [`SUFFIXES`].
fn without_suffix(bytes: &[u8], end: usize) -> Option<usize> {
    if !may_end(bytes, end, &SUFFIX_TAILS) {
        return None;
    }
    let suffix = SUFFIXES.iter().find(|suffix| {
        let start = end.saturating_sub(suffix.len());
        start > 1
            && matches!(bytes[start - 1], b'_' | b'-')
            && bytes[start..end].eq_ignore_ascii_case(suffix.as_bytes())
    })?;
    Some(end - suffix.len() - 1)
}

fn ending(compact: &Compact, end: usize, name: &[u8]) -> Option<Kind> {
    let row = NAME_ENDS.iter().find(|row| compact.ends_with(end, row.end, row.glued))?;
    if HARMLESS.iter().any(|harmless| compact.ends_with(end, harmless, true)) {
        return None;
    }
    // `FirebaseAuth` is a part of a program.
    if row.end == "AUTH" && name[0].is_ascii_uppercase() && name.iter().any(u8::is_ascii_lowercase) {
        return None;
    }
    // `key` alone, `sortKey`: only longer rows and the names of environment variables and of headers say enough. What
    // joins its words by signs says something.
    let header = matches!(name, [b'x' | b'X', b'-', ..]);
    let variable = name.iter().all(|byte| !byte.is_ascii_lowercase()) && end > row.end.len();
    let loud = header || variable || row.end != "KEY";
    let quiet = name.len() > 6 && matches!(name[name.len() - 4], b'_' | b'-');
    match row.kind {
        Kind::Key if !loud => quiet.then_some(Kind::QuietKey),
        kind => Some(kind),
    }
}

#[inline(always)]
fn may_end(bytes: &[u8], end: usize, tails: &[u64; TAIL_WORDS]) -> bool {
    if end < 2 {
        return false;
    }
    let third = end.checked_sub(3).map_or(b'_', |third| bytes[third]);
    let index = tail_index(third, bytes[end - 2], bytes[end - 1]);
    tails[index / 64] >> (index % 64) & 1 == 1
}

/// Whether a name whose value follows after a blank could end with these four letters. Asked for many words of any
/// text, so it knows only the names that are used like this.
#[inline(always)]
pub fn may_end_before_blank(tail: [u8; 4]) -> bool {
    if !may_end(&tail, 4, &TAILS) {
        return false;
    }
    let tail = u32::from_be_bytes(tail) | 0x2020_2020;
    const fn letters(word: &[u8; 4]) -> u32 {
        u32::from_be_bytes(*word) | 0x2020_2020
    }
    const WORDS: [u32; 12] = [
        letters(b"word"),
        letters(b"sswd"),
        letters(b"pass"),
        letters(b"oken"),
        letters(b"cret"),
        letters(b"_key"),
        letters(b"-key"),
        letters(b"ikey"),
        letters(b"skey"),
        letters(b"_pwd"),
        letters(b"otpw"),
        letters(b" key"),
    ];
    WORDS.contains(&tail)
}

const LETTERS: usize = 32;
const TAIL_WORDS: usize = LETTERS * LETTERS * LETTERS / 64;
/// Names that matter because of what is beside or below them.
pub const SPECIAL: &[&str] = &["VALUE", "DEFAULT", "DATA", "THIN", "KTY", "RESULT"];

static TAILS: [u64; TAIL_WORDS] = {
    let mut tails = [0; TAIL_WORDS];
    let mut i = 0;
    while i < NAME_ENDS.len() {
        tails = with_tail(tails, NAME_ENDS[i].end.as_bytes());
        i += 1;
    }
    let mut i = 0;
    while i < SPECIAL.len() {
        tails = with_tail(tails, SPECIAL[i].as_bytes());
        i += 1;
    }
    tails
};

static SUFFIX_TAILS: [u64; TAIL_WORDS] = {
    let mut tails = [0; TAIL_WORDS];
    let mut i = 0;
    while i < SUFFIXES.len() {
        tails = with_tail(tails, SUFFIXES[i].as_bytes());
        i += 1;
    }
    tails
};

/// Only letters count, in either case: `_PW` and `.pw` are the same.
const fn tail_index(a: u8, b: u8, c: u8) -> usize {
    const fn letter(byte: u8) -> usize {
        if byte.is_ascii_alphabetic() { (byte & 31) as usize } else { 0 }
    }
    (letter(a) * LETTERS + letter(b)) * LETTERS + letter(c)
}

const fn with_tail(mut tails: [u64; TAIL_WORDS], end: &[u8]) -> [u64; TAIL_WORDS] {
    let n = end.len();
    // A separator may precede a short one.
    let third = if n > 2 { end[n - 3] } else { b'_' };
    let index = tail_index(third, end[n - 2], end[n - 1]);
    tails[index / 64] |= 1 << (index % 64);
    tails
}
