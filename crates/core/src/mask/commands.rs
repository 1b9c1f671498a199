//! Programs that take a password on their command line by an option whose name does not say so, or print one.

use crate::mask::beginnings::{Begins, beginning_with};
use crate::mask::judge::Style;
use crate::mask::names::kind_of;

/// Where the secret is, relative to its option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `-pSECRET`
    Glued,
    /// `-p SECRET`
    Next,
    /// `-u user:SECRET`
    AfterColon,
    /// `-U user%SECRET`
    AfterPercent,
    /// `-b 'session=SECRET'`
    Cookies,
    /// `-u user,SECRET`
    AfterComma,
    /// The word with this number, options not counted: `htpasswd -b file user SECRET`
    Word(u8),
    /// `cargo login --registry here SECRET`, if it is random.
    LastWord,
    /// `sqlplus user/SECRET@host`
    AfterSlash,
    /// `xfreerdp /u:me /p:SECRET`
    Within,
    /// The program prints it: `op read op://vault/item`, and the secret on the next line.
    Printed,
    /// The program prints what its last word names: `printenv DB_PASSWORD`.
    PrintedByName,
}

pub struct SecretOption {
    pub program: &'static str,
    pub option: &'static str,
    pub form: Form,
    /// What else must be between the program and the option.
    pub with: &'static str,
    #[cfg(test)]
    pub must: &'static str,
    #[cfg(test)]
    pub must_not: &'static str,
}

macro_rules! commands {
    ($($program:literal, $option:literal, $form:expr, $with:literal, $must:literal, $not:literal;)*) => {
        &[$(SecretOption {
            program: $program, option: $option, form: $form, with: $with,
            #[cfg(test)] must: $must, #[cfg(test)] must_not: $not,
        },)*]
    };
}

use Form::*;

/// Rows of one program must be adjacent.
pub const COMMANDS: &[SecretOption] = commands! {
    "curl", "-u", AfterColon, "", "curl -u me:«{p12}» https://example.com", "curl -u me https://example.com";
    "curl", "--user", AfterColon, "", "curl --user 'me:«{p12}»' x", "curl --user $U:$P x";
    "curl", "-U", AfterColon, "", "curl -U me:«{p12}» x", "curl -U me x";
    "curl", "--proxy-user", AfterColon, "", "curl --proxy-user me:«{p12}» x", "curl --proxy-user me x";
    "curl", "-b", Cookies, "", "curl -b 'sid=«{a32}»' x", "curl -b cookies.txt x";
    "curl", "--cookie", Cookies, "", "curl --cookie sid=«{a32}» x", "curl --cookie lang=en x";
    "http", "-a", AfterColon, "", "http -a me:«{p12}» GET example.com", "http -a me GET example.com";
    "mysql", "-p", Glued, "", "mysql -u root -p«{a12}» shop", "mysql -u root -p shop";
    "mysqldump", "-p", Glued, "", "mysqldump -p«{a12}» shop", "mysqldump -p shop";
    "mysqladmin", "-p", Glued, "", "mysqladmin -p«{a12}» ping", "mysqladmin -p ping";
    "mysqlimport", "-p", Glued, "", "mysqlimport -p«{a12}» x", "mysqlimport -p x";
    "mariadb", "-p", Glued, "", "mariadb -p«{a12}» shop", "mariadb -p shop";
    "mariadb-dump", "-p", Glued, "", "mariadb-dump -p«{a12}» shop", "mariadb-dump -p shop";
    "sshpass", "-p", Glued, "", "sshpass -p«{a12}» ssh h", "sshpass -e ssh -p 2222 h";
    "sshpass", "-p", Next, "", "sshpass -p '«{p12}»' ssh h", "sshpass -p \"$P\" ssh h";
    "7z", "-p", Glued, "", "7z a -p«{a12}» x.7z y", "7z a x.7z -path";
    "7za", "-p", Glued, "", "7za a -p«{a12}» x.7z y", "7za a x.7z -path";
    "zip", "-P", Next, "", "zip -P «{a12}» x.zip y", "zip -P $P x.zip y";
    "unzip", "-P", Next, "", "unzip -P «{a12}» x.zip", "unzip -P $P x.zip";
    "docker", "-p", Next, "login", "docker login -u me -p «{p12}» r", "docker run -p 8080:80 nginx";
    "podman", "-p", Next, "login", "podman login -u me -p «{p12}» r", "podman run -p 8080:80 nginx";
    "az", "keyvault secret show", Printed, "", "$ az keyvault secret show -n db --query value -o tsv\n«{p12}»", "$ az keyvault list -o tsv\nx1y2z3w4";
    "az", "-p", Next, "login", "az login -u a -p «{p12}»", "az vm list -p x1y2z3";
    "oc", "-p", Next, "login", "oc login -u a -p «{p12}»", "oc process -p NAME=x1y2";
    "redis-cli", "-a", Next, "", "redis-cli -a «{a20}» ping", "redis-cli -a $P ping";
    "ldapsearch", "-w", Next, "", "ldapsearch -D cn=a -w «{a12}»", "ldapsearch -w $P";
    "ldapadd", "-w", Next, "", "ldapadd -w «{a12}» -f x", "ldapadd -W -f x";
    "ldapmodify", "-w", Next, "", "ldapmodify -w «{a12}» -f x", "ldapmodify -W -f x";
    "ldappasswd", "-s", Next, "", "ldappasswd -s «{a12}» cn=a", "ldappasswd -S cn=a";
    "mongo", "-p", Next, "", "mongo -u a -p «{p12}» db", "mongo -p";
    "mongosh", "-p", Next, "", "mongosh -u a -p «{p12}» db", "mongosh -p";
    "mongodump", "-p", Next, "", "mongodump -u a -p «{p12}»", "mongodump -p";
    "mongorestore", "-p", Next, "", "mongorestore -u a -p «{p12}»", "mongorestore -p";
    "sqlcmd", "-P", Next, "", "sqlcmd -S db -U sa -P «{p12}»", "sqlcmd -E -Q x";
    "bcp", "-P", Next, "", "bcp t out f -U sa -P «{p12}»", "bcp t out f -T";
    "cqlsh", "-p", Next, "", "cqlsh -u a -p «{p12}»", "cqlsh h -p";
    "clickhouse-client", "--password", Next, "", "clickhouse-client --password «{p12}»", "clickhouse-client --port 9000";
    "smbclient", "-U", AfterPercent, "", "smbclient //h/s -U 'me%«{a12}»'", "smbclient //h/s -U me";
    "rpcclient", "-U", AfterPercent, "", "rpcclient -U 'me%«{a12}»' h", "rpcclient -U me h";
    "gh", "-b", Next, "secret set", "gh secret set X -b «{a40}»", "gh pr create -b a1b2c3d4e5f6";
    "gh", "--body", Next, "secret set", "gh secret set X --body «{a40}»", "gh pr create --body a1b2c3d4e5f6";
    "gh", "auth token", Printed, "", "$ gh auth token\n«{a40}»", "$ gh auth status\nx1y2z3w4v5u6";
    "htpasswd", "-b", Word(3), "", "htpasswd -bB f me '«{p12}»'", "htpasswd -b f me $P";
    "htpasswd", "-n", Word(2), "", "htpasswd -nbB me '«{p12}»'", "htpasswd -nB me2";
    "rabbitmqctl", "add_user", Word(3), "", "rabbitmqctl add_user me «{p12}»", "rabbitmqctl add_user me $P";
    "rabbitmqctl", "change_password", Word(3), "", "rabbitmqctl change_password me «{p12}»", "rabbitmqctl change_password me $P";
    "cargo", "login", LastWord, "", "cargo login --registry here «{a32}»", "cargo login --registry kellnr-4";
    "vault", "login", LastWord, "", "vault login s.«{a24}»", "vault login -method=userpass username=me";
    "vault", "-field=", Printed, "", "$ vault kv get -field=password kv/db\n«{p12}»", "$ vault list kv\ndb-1a2b3c";
    "composer", "http-basic", Word(4), "", "composer config http-basic.repo.acme.com me «{h60}»", "composer config http-basic.repo.acme.com --unset";
    "composer", "github-oauth", Word(3), "", "composer config -g github-oauth.github.com «{h40}»", "composer config github-oauth.github.com";
    "composer", "gitlab-token", Word(3), "", "composer config gitlab-token.gitlab.com «{a20}»", "composer config gitlab-token.gitlab.com";
    "poetry", "http-basic", Word(4), "", "poetry config http-basic.here me «{p12}»", "poetry config http-basic.here me $P";
    "poetry", "pypi-token", Word(3), "", "poetry config pypi-token.here «{a40}»", "poetry config pypi-token.here --unset";
    "wandb", "login", LastWord, "", "wandb login «{h40}»", "wandb login --relogin";
    "steamcmd", "+login", Word(2), "", "steamcmd +login me «{p12}» +quit", "steamcmd +login anonymous +quit";
    "mc", "alias", Word(6), "", "mc alias set here https://s3.acme.com me «{a40}»", "mc alias list here";
    "net", "use", Word(3), "", "net use \\\\\\\\fs01\\\\ipc$ /user:me «{p12}»", "net use Z: \\\\\\\\fs01\\\\share7a /persistent:no";
    "net", "use", Word(4), "", "net use Z: \\\\\\\\fs01\\\\share «{p12}» /user:me", "net use Z: \\\\\\\\fs01\\\\share /user:me";
    "net", "user", Word(3), "", "net user bob «{p12}» /add", "net user bob /active:no";
    "wpa_passphrase", "", Word(2), "", "wpa_passphrase here «{p12}»", "wpa_passphrase here $P";
    "lftp", "-u", AfterComma, "", "lftp -u me,«{p12}» ftp.acme.com", "lftp -u me ftp.acme.com";
    "sqlplus", "", AfterSlash, "", "sqlplus -s me/«{p12}»@db:1521/x", "sqlplus / as sysdba";
    "expdp", "", AfterSlash, "", "expdp me/«{p12}»@db schemas=x", "expdp me directory=x";
    "impdp", "", AfterSlash, "", "impdp me/«{p12}»@db schemas=x", "impdp me directory=x";
    "xfreerdp", "/p:", Within, "", "xfreerdp /u:me /p:'«{p12}»' /v:here", "xfreerdp /u:me /p:$P";
    "rdesktop", "-p", Next, "", "rdesktop -u me -p «{p12}» here", "rdesktop -u me -p -";
    "ipmitool", "-P", Next, "", "ipmitool -H h -U me -P «{p12}» power on", "ipmitool -H h -P $P power on";
    "snmpwalk", "-A", Next, "", "snmpwalk -v3 -A «{p12}» h", "snmpwalk -v3 -A $P h";
    "snmpwalk", "-X", Next, "", "snmpwalk -v3 -X «{p12}» h", "snmpwalk -v3 -X $P h";
    "masterauth", "", Word(1), "", "masterauth «{p12}»", "masterauth none";
    "printenv", "", PrintedByName, "", "$ printenv HEROKU_API_KEY\n«{h8}-{h4}-{h4}-{h4}-{h12}»", "$ printenv PATH\n/usr/bin:/bin";
    "echo", "", PrintedByName, "", "$ echo \"${DB_PASSWORD}\"\n«{p12}»", "$ echo $HOSTNAME\nbuild-7a2f9c";
    "terraform", "output -raw", PrintedByName, "", "$ terraform output -raw db_password\n«{p12}»", "$ terraform output -raw cluster_id\nc-8f2k1x9a";
    "op", "read", Printed, "", "$ op read op://Eng/DB/password\n«{p20}»", "$ op read --help\nUsage: x1y2z3w4 op";
    "pass", "show", Printed, "", "$ pass show work/db\n«{p12}»", "the tests pass show\n0a1b2c3d4e5f";
    "gopass", "show", Printed, "", "$ gopass show -o work/db\n«{p12}»", "$ gopass ls\ngopass-1a2b";
    "lpass", "show", Printed, "", "$ lpass show -p db\n«{p12}»", "$ lpass ls\ndb7a-x2";
    "bw", "get password", Printed, "", "$ bw get password db\n«{p12}»", "$ bw get item db\ndb7a-x2";
    "secret-tool", "lookup", Printed, "", "$ secret-tool lookup app db\n«{p12}»", "$ secret-tool search app db\n[/org/x1y2z3]";
    "security", "find-generic-password", Printed, "", "$ security find-generic-password -w -s db\n«{p12}»", "$ security list-keychains\nlogin7a.keychain";
    "heroku", "auth:token", Printed, "", "$ heroku auth:token\n«{a40}»", "$ heroku apps\nmy-app-1a2b3c";
    "fly", "auth token", Printed, "", "$ fly auth token\n«{a60}»", "$ fly auth whoami\nme1a2b@x3.io";
    "gcloud", "print-access-token", Printed, "", "$ gcloud auth print-access-token\n«{a60}»", "$ gcloud config get project\nacme-prod-1a2b3c";
    "gcloud", "print-identity-token", Printed, "", "$ gcloud auth print-identity-token\n«{a60}»", "$ gcloud auth list\nme1a2b@x3.io";
    "gcloud", "secrets versions access", Printed, "", "$ gcloud secrets versions access latest --secret=db\n«{p12}»", "$ gcloud secrets list\ndb-1a2b3c";
    "aws", "get-secret-value", Printed, "", "$ aws secretsmanager get-secret-value --secret-id db --query SecretString --output text\n«{p12}»", "$ aws s3 ls\nbucket-1a2b3c";
    "aws", "get-parameter", Printed, "", "$ aws ssm get-parameter --name /db --with-decryption --query Parameter.Value --output text\n«{p12}»", "$ aws sts get-caller-identity\nx1y2z3w4";
    "aws", "get-login-password", Printed, "", "$ aws ecr get-login-password\n«{a200}»", "$ aws ecr describe-images\nx1y2z3w4";
    "kubectl", ".data.", Printed, "", "$ kubectl get secret db -o jsonpath='{.data.password}' | base64 -d\n«{p12}»", "$ kubectl get pods -o name\npod/api-7f9c4d-x2k1p";
    "kubectl", "create token", Printed, "", "$ kubectl create token ci\n«{a60}»", "$ kubectl get ns -o name\nnamespace/x1y2z3";
    "doppler", "--plain", Printed, "", "$ doppler secrets get DB --plain\n«{p12}»", "$ doppler me\nx1y2z3w4";
    "openssl", "rand", Printed, "", "$ openssl rand -hex 32\n«{h64}»", "$ openssl version\nOpenSSL-3.0.2-1ubuntu1";
    "openssl", "-k", Next, "enc", "openssl enc -aes-256-cbc -k «{a12}» -in x", "openssl enc -kfile x1y2z3";
    "ssh-keygen", "-N", Next, "", "ssh-keygen -t ed25519 -N '«{p12}»' -f k", "ssh-keygen -t ed25519 -N '' -f k";
    "ssh-keygen", "-P", Next, "", "ssh-keygen -p -P «{a12}» -f k", "ssh-keygen -p -P \"$P\" -f k";
    "plink", "-pw", Next, "", "plink -ssh me@h -pw «{a12}» ls", "plink -ssh me@h -pw $P ls";
    "pscp", "-pw", Next, "", "pscp -pw «{a12}» x me@h:", "pscp -pw $P x me@h:";
    "twine", "-p", Next, "", "twine upload -u me -p «{a20}» dist/x", "twine upload -u me -p $P dist/x";
    "helm", "-p", Next, "login", "helm registry login -u me -p «{a20}» r", "helm registry login -u me -p $P r";
    "skopeo", "-p", Next, "login", "skopeo login -u me -p «{a20}» r", "skopeo login -u me -p $P r";
    "buildah", "-p", Next, "login", "buildah login -u me -p «{a20}» r", "buildah login -u me -p $P r";
    "nerdctl", "-p", Next, "login", "nerdctl login -u me -p «{a20}» r", "nerdctl run -p 8080:80 nginx";
    "Unity", "-serial", Next, "", "Unity -quit -serial «T4-{A4}-{A4}-{A4}-{A4}-{A4}» -logFile -", "Unity -quit -serial $S";
    "cat", "master.key", Printed, "", "$ cat config/master.key\n«{h32}»", "$ cat config/keys.txt\n{h32}";
    "cat", "/run/secrets/", Printed, "", "$ cat /run/secrets/db\n«{p12}»", "$ cat /run/lock/db\nx1y2z3w4";
    "cat", "serviceaccount/token", Printed, "", "$ cat /var/run/x/serviceaccount/token\n«{a60}»", "$ cat serviceaccount/namespace\nx1y2z3w4";
    "cat", ".vault", Printed, "", "$ cat ~/.vault-token\n«{a40}»", "$ cat ~/.vaults1\n{{} x";
    "cat", "password.txt", Printed, "", "$ cat secrets/db_password.txt\n«{p12}»", "$ cat words.txt\nx1y2z3w4";
    "cat", "token.txt", Printed, "", "$ cat token.txt\n«{a40}»", "$ cat token.rs\nx1y2z3w4";
    "codecov", "-t", Next, "", "codecov -t «{h8}-{h4}-{h4}-{h4}-{h12}» -f x", "codecov -t $T -f x";
    "mosquitto_passwd", "-b", Word(3), "", "mosquitto_passwd -b f me «{p12}»", "mosquitto_passwd -b f me $P";
    "mosquitto_pub", "-P", Next, "", "mosquitto_pub -u me -P «{a12}» -t t", "mosquitto_pub -P $P -t t";
    "mosquitto_sub", "-P", Next, "", "mosquitto_sub -u me -P «{a12}» -t t", "mosquitto_sub -P $P -t t";
};

/// Whether one of the programs in `line` prints a secret and nothing else.
pub fn prints_secret(line: &str) -> bool {
    let ends = |byte: &u8| matches!(byte, b'|' | b';' | b'&' | b'\n' | b'(' | b'`');
    line.as_bytes().split(ends).any(|part| {
        let mut words = part.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let program = words.find(|word| !word.contains(&b'=') && *word != b"sudo").unwrap_or_default();
        let mut four = [b' '; 4];
        let length = program.len().min(4);
        four[..length].copy_from_slice(&program[..length]);
        beginning_with(four).any(|what| {
            let Begins::Program(row) = what else { return false };
            let row = &COMMANDS[usize::from(row)];
            row.program.as_bytes() == program && prints(row, part)
        })
    })
}

/// Whether a program with these words prints a secret.
pub fn prints(row: &SecretOption, words: &[u8]) -> bool {
    let announced = || memchr::memmem::find(words, row.option.as_bytes()).is_some();
    match row.form {
        Form::Printed => announced(),
        Form::PrintedByName => {
            let last =
                words.split(u8::is_ascii_whitespace).rfind(|word| !word.is_empty()).unwrap_or_default();
            // `"${NAME}"`
            let variable = |byte: &u8| matches!(byte, b'$' | b'{' | b'}' | b'"');
            let from = last.iter().position(|byte| !variable(byte)).unwrap_or(last.len());
            let to = last.iter().rposition(|byte| !variable(byte)).map_or(from, |at| at + 1);
            let refers = row.program != "echo" || last[..from].contains(&b'$');
            announced() && refers && kind_of(&last[from..to]).is_some()
        }
        _ => false,
    }
}

/// Words that take from a pipe what `echo` or `printf` puts into it.
pub struct Piped {
    pub word: &'static str,
    pub what: Pipes,
    #[cfg(test)]
    pub must: &'static str,
    #[cfg(test)]
    pub must_not: &'static str,
}

/// What is piped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pipes {
    Secret,
    /// `user:SECRET`
    AfterColon,
    /// Either of them, or something harmless; what comes out is as secret.
    Encoded,
}

macro_rules! piped {
    ($($word:literal, $what:ident, $must:literal, $not:literal;)*) => {
        &[$(Piped { word: $word, what: Pipes::$what, #[cfg(test)] must: $must, #[cfg(test)] must_not: $not },)*]
    };
}

pub const PIPED: &[Piped] = piped! {
    "chpasswd", AfterColon, "echo \"root:«{a12}»\" | chpasswd", "cat users7a.txt | chpasswd";
    "sudo -S", Secret, "echo '«{p12}»' | sudo -S systemctl restart x", "echo done | tee x4; sudo -S ls";
    "passwd --stdin", Secret, "echo «{p12}» | passwd --stdin root", "echo x1y2z3w4 | tool --stdin";
    "--passphrase-fd", Secret, "echo '«{p12}»' | gpg --batch --passphrase-fd 0 -d x", "cat x1 | gpg --passphrase-fd 0 -d x";
    "--password-stdin", Secret, "echo «{a20}» | docker login -u me --password-stdin r", "echo $CR_PAT | docker login -u me --password-stdin r";
    "--with-token", Secret, "echo '«{a40}»' | gh auth login --with-token", "echo \"$T\" | gh auth login --with-token";
    "base64", Encoded, "$ echo -n 'me:«{a12}»' | base64\n«{b22}==»", "echo -n 'title: a2' | base64; echo «aGVsbG8=» | base64 -d";
    "docker secret create", Secret, "printf '«{a12}»' | docker secret create db -", "echo $P | docker secret create db -";
    "podman secret create", Secret, "printf '«{a12}»' | podman secret create db -", "echo $P | podman secret create db -";
    "gh secret set", Secret, "echo «{a12}» | gh secret set DB", "echo $P | gh secret set DB";
    "wrangler secret put", Secret, "echo «{a12}» | wrangler secret put DB", "echo $P | wrangler secret put DB";
    "gcloud secrets", Secret, "echo -n '«{a12}»' | gcloud secrets create db --data-file=-", "echo -n $P | gcloud secrets create db --data-file=-";
    "cryptsetup", Secret, "echo -n '«{a12}»' | cryptsetup luksOpen /dev/sdb1 x -", "cat k1 | cryptsetup luksOpen /dev/sdb1 x -";
    "vercel env add", Secret, "echo «{a12}» | vercel env add DB production", "echo $P | vercel env add DB production";
};

/// Functions that take a password.
pub struct Call {
    pub words: &'static str,
    /// Which of its arguments is the secret, counted from 1.
    pub argument: usize,
    /// How much the argument has to look like a secret: [`Style::Data`] if it can be nothing else.
    pub style: Style,
    #[cfg(test)]
    pub must: &'static str,
    #[cfg(test)]
    pub must_not: &'static str,
}

macro_rules! calls {
    ($($words:literal, $argument:literal, $style:ident, $must:literal, $not:literal;)*) => {
        &[$(Call { words: $words, argument: $argument, style: Style::$style, #[cfg(test)] must: $must, #[cfg(test)] must_not: $not },)*]
    };
}

pub const CALLS: &[Call] = calls! {
    "UsernamePasswordCredentials(", 2, Data, "new UsernamePasswordCredentials(\"me\", \"«{a16}»\")", "new UsernamePasswordCredentials(user1, pass1)";
    "PasswordAuthentication(", 2, Data, "new PasswordAuthentication(\"me\", \"«{a16}»\")", "new PasswordAuthentication(user1, pass1)";
    "HTTPBasicAuth(", 2, Data, "HTTPBasicAuth('me', '«{a16}»')", "HTTPBasicAuth(user1, pass1)";
    "DriverManager.getConnection(", 3, Data, "DriverManager.getConnection(\"jdbc:x\", \"me\", \"«regenbogen12»\")", "DriverManager.getConnection(url1, user1, pass1)";
    "getConnection(", 3, Beside, "source.getConnection(\"jdbc:x\", \"me\", \"«{a16}»\")", "getConnection(\"primary\", \"orders\", \"customers-table\")";
    "mysql_connect(", 3, Data, "mysql_connect('db', 'me', '«{a16}»')", "mysql_connect($host1, $user1, $pass1)";
    "ftp_login(", 3, Data, "ftp_login($c, 'me', '«{a16}»')", "ftp_login($c, $user1, $pass1)";
    "ldap_bind(", 3, Data, "ldap_bind($c, 'cn=me', '«{a16}»')", "ldap_bind($c, $user1, $pass1)";
    "SignedString(", 1, Beside, "t.SignedString([]byte(\"«{a32}»\"))", "t.SignedString(key1)";
    "HMAC256(", 1, Beside, "Algorithm.HMAC256(\"«{a32}»\")", "Algorithm.HMAC256(secret1)";
    "SymmetricSecurityKey(", 1, Beside, "new SymmetricSecurityKey(Encoding.UTF8.GetBytes(\"«{a32}»\"))", "new SymmetricSecurityKey(bytes1)";
    "SecretKeySpec(", 1, Beside, "new SecretKeySpec(\"«{a32}»\".getBytes(), \"AES\")", "new SecretKeySpec(bytes1, \"AES\")";
    "Fernet(", 1, Beside, "Fernet(b\"«{w43}=»\")", "Fernet(key1)";
    "hmac.new(", 1, Beside, "hmac.new(b'«{a32}»', body, 'sha256')", "hmac.new(key1, body)";
    "createHmac(", 2, Beside, "createHmac('sha256', '«{h64}»')", "createHmac('sha256', process.env.KEY1)";
    "createCipheriv(", 2, Beside, "createCipheriv('aes-256-cbc', '«{a32}»', iv)", "createCipheriv('aes-256-cbc', key1, iv)";
    "createDecipheriv(", 2, Beside, "createDecipheriv('aes-256-cbc', '«{a32}»', iv)", "createDecipheriv('aes-256-cbc', key1, iv)";
    "HMAC.hexdigest(", 2, Beside, "OpenSSL::HMAC.hexdigest('SHA256', '«{h64}»', data)", "OpenSSL::HMAC.hexdigest('SHA256', key1, data)";
    "hash_hmac(", 3, Beside, "hash_hmac('sha256', $body, '«{h64}»')", "hash_hmac('sha256', $body, $key1)";
    "JWT.encode(", 2, Beside, "JWT.encode(payload, '«{a32}»', 'HS256')", "JWT.encode(payload, key1, 'HS256')";
    "JWT.decode(", 2, Beside, "JWT.decode(token, '«{a32}»')", "JWT.decode(token1, key1)";
    "login(", 1, Beside, "client.login(\"«{a26}.{a6}.{a38}»\")", "login(\"me1@Example2.com\")";
    "NetworkCredential(", 2, Data, "new NetworkCredential(\"me\", \"«{a16}»\")", "new NetworkCredential(user1, pass1)";
    "PDO->__construct(", 3, Data, "#0 /x.php(9): PDO->__construct('mysql:host=db', 'root', '«{p12}»')", "#0 /x.php(9): PDO->__construct(Array)";
    "PDO(", 3, Data, "new PDO('mysql:host=db', 'me', '«{a16}»')", "new PDO($dsn1, $user1, $pass1)";
    "algoliasearch(", 2, Beside, "algoliasearch(\"A1\", \"«{h32}»\")", "algoliasearch(appId1, apiKey1)";
    "login(", 2, Beside, "smtp.login(\"me\", \"«{a16}»\")", "login(\"me\", password1)";
    "basic_auth(", 2, Beside, "req.basic_auth('me', '«{a16}»')", "req.basic_auth('me', ENV['P1'])";
    "basic_auth ", 2, Beside, "req.basic_auth 'me', '«{a16}»'", "req.basic_auth 'me', 'dashboard'";
    "basicAuth(", 2, Beside, "client.basicAuth(\"me\", \"«{a16}»\")", "client.basicAuth(\"me\", pass1)";
    "mysqli_connect(", 3, Data, "mysqli_connect(\"db\", \"root\", \"«{a16}»\", \"shop\")", "mysqli_connect($host1, $user1, $pass1)";
    "jwt.sign(", 2, Beside, "jwt.sign({id: 1, name}, '«{a32}»')", "jwt.sign(claims1, process.env.JWT1)";
    "jwt.verify(", 2, Beside, "jwt.verify(token, '«{a32}»')", "jwt.verify(token1, 'public-key')";
    "jwt.encode(", 2, Beside, "jwt.encode(claims, \"«{a32}»\", algorithm=\"HS256\")", "jwt.encode(claims, key, \"HS256\")";
    "jwt.decode(", 2, Beside, "jwt.decode(token, \"«{a32}»\")", "jwt.decode(token1, settings.key1)";
    "SetBasicAuth(", 2, Data, "req.SetBasicAuth(\"me\", \"«{a16}»\")", "req.SetBasicAuth(user1, pass1)";
    "bearer_auth(", 1, Beside, "client.post(&url).bearer_auth(\"«{a40}»\")", "client.post(&url).bearer_auth(token1)";
    "setBearerAuth(", 1, Beside, "headers.setBearerAuth(\"«{a40}»\")", "headers.setBearerAuth(token1)";
    "SetAuthToken(", 1, Beside, "client.SetAuthToken(\"«{a40}»\")", "client.SetAuthToken(token1)";
    "setBasicAuth(", 2, Data, "headers.setBasicAuth(\"me\", \"«{p12}»\")", "headers.setBasicAuth(user1, pass1)";
    "Credentials.basic(", 2, Data, "Credentials.basic(\"me\", \"«{p12}»\")", "Credentials.basic(user1, pass1)";
    "BasicAWSCredentials(", 2, Beside, "new BasicAWSCredentials(\n    \"AK1\",\n    \"«{b40}»\")", "new BasicAWSCredentials(\n    id1,\n    key1)";
    "AwsBasicCredentials.create(", 2, Beside, "AwsBasicCredentials.create(\"AK1\", \"«{b40}»\")", "AwsBasicCredentials.create(id1, key1)";
    "StorageSharedKeyCredential(", 2, Beside, "new StorageSharedKeyCredential(\"me\", \"«{b86}==»\")", "new StorageSharedKeyCredential(name1, key1)";
    "AzureKeyCredential(", 1, Beside, "AzureKeyCredential(\"«{h32}»\")", "AzureKeyCredential(os.environ[\"KEY1\"])";
    "ClientSecretCredential(", 3, Beside, "ClientSecretCredential(tenant, app, \"«{a40}»\")", "ClientSecretCredential(tenant1, app1, secret1)";
    "DBI->connect(", 3, Data, "DBI->connect(\"dbi:Pg:dbname=x\", 'me', '«Palette-14-Rot»')", "DBI->connect($dsn1, 'me', $ENV{PASS1})";
    "DBI.connect(", 3, Data, "DBI.connect('dbi:Pg:x', 'me', '«{p12}»')", "DBI.connect(dsn1, user1, pass1)";
};

/// Words that a secret follows, in quotes or clearly random.
pub struct Phrase {
    pub words: &'static str,
    #[cfg(test)]
    pub must: &'static str,
    #[cfg(test)]
    pub must_not: &'static str,
}

macro_rules! phrases {
    ($($words:literal, $must:literal, $not:literal;)*) => {
        &[$(Phrase { words: $words, #[cfg(test)] must: $must, #[cfg(test)] must_not: $not },)*]
    };
}

pub const PHRASES: &[Phrase] = phrases! {
    "-setcookie ", "-setcookie «{A20}»", "-setcookie monster";
    "snmp-server community ", "snmp-server community «{a12}» RO 99", "snmp-server community public RO";
    "IDENTIFIED BY ", "CREATE USER a IDENTIFIED BY '«{p12}»'", "CREATE USER a IDENTIFIED BY ?";
    "mysql_native_password BY ", "IDENTIFIED WITH mysql_native_password BY '«{p12}»'", "IDENTIFIED WITH mysql_native_password BY ?";
    "caching_sha2_password BY ", "IDENTIFIED WITH caching_sha2_password BY '«{p12}»'", "IDENTIFIED WITH caching_sha2_password BY ?";
    "6379> AUTH ", "127.0.0.1:6379> AUTH «{a20}»", "127.0.0.1:6379> AUTH default";
    "snyk auth ", "snyk auth «{h8}-{h4}-{h4}-{h4}-{h12}»", "snyk auth --help";
    "ConvertTo-SecureString ", "ConvertTo-SecureString \"«{p12}»\" -AsPlainText", "ConvertTo-SecureString $p -AsPlainText";
    "ConvertTo-SecureString -String ", "ConvertTo-SecureString -String '«{p12}»'", "ConvertTo-SecureString -String $p";
};
