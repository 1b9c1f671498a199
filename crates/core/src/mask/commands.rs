//! Programs that take a password on their command line by an option whose name does not say so. Only tables.

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
    /// The third word that is not an option: `htpasswd -b file user SECRET`
    ThirdWord,
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
    ($($program:literal, $option:literal, $form:ident, $with:literal, $must:literal, $not:literal;)*) => {
        &[$(SecretOption {
            program: $program, option: $option, form: Form::$form, with: $with,
            #[cfg(test)] must: $must, #[cfg(test)] must_not: $not,
        },)*]
    };
}

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
    "htpasswd", "-b", ThirdWord, "", "htpasswd -b f me «{p12}»", "htpasswd -b f me $P";
    "htpasswd", "-bc", ThirdWord, "", "htpasswd -bc f me «{p12}»", "htpasswd -bc f me";
    "rabbitmqctl", "add_user", ThirdWord, "", "rabbitmqctl add_user me «{p12}»", "rabbitmqctl add_user me $P";
    "rabbitmqctl", "change_password", ThirdWord, "", "rabbitmqctl change_password me «{p12}»", "rabbitmqctl change_password me $P";
    "mosquitto_pub", "-P", Next, "", "mosquitto_pub -u me -P «{a12}» -t t", "mosquitto_pub -P $P -t t";
    "mosquitto_sub", "-P", Next, "", "mosquitto_sub -u me -P «{a12}» -t t", "mosquitto_sub -P $P -t t";
    "openssl", "-k", Next, "enc", "openssl enc -aes-256-cbc -k «{a12}» -in x", "openssl enc -kfile x1y2z3";
};

/// Words that take from a pipe what `echo` or `printf` puts into it.
pub struct Piped {
    pub word: &'static str,
    /// What comes before the secret: `user:`.
    pub user: bool,
    #[cfg(test)]
    pub must: &'static str,
    #[cfg(test)]
    pub must_not: &'static str,
}

macro_rules! piped {
    ($($word:literal, $user:literal, $must:literal, $not:literal;)*) => {
        &[$(Piped { word: $word, user: $user, #[cfg(test)] must: $must, #[cfg(test)] must_not: $not },)*]
    };
}

pub const PIPED: &[Piped] = piped! {
    "chpasswd", true, "echo \"root:«{a12}»\" | chpasswd", "cat users7a.txt | chpasswd";
    "--password-stdin", false, "echo «{a20}» | docker login -u me --password-stdin r", "echo $CR_PAT | docker login -u me --password-stdin r";
    "--with-token", false, "echo '«{a40}»' | gh auth login --with-token", "echo \"$T\" | gh auth login --with-token";
};

/// Functions that take a password.
pub struct Call {
    pub words: &'static str,
    /// Which of its arguments is the secret, counted from 1.
    pub argument: usize,
    #[cfg(test)]
    pub must: &'static str,
    #[cfg(test)]
    pub must_not: &'static str,
}

macro_rules! calls {
    ($($words:literal, $argument:literal, $must:literal, $not:literal;)*) => {
        &[$(Call { words: $words, argument: $argument, #[cfg(test)] must: $must, #[cfg(test)] must_not: $not },)*]
    };
}

pub const CALLS: &[Call] = calls! {
    "login(", 2, "smtp.login(\"me\", \"«{a16}»\")", "login(\"me\", password1)";
    "basic_auth(", 2, "req.basic_auth('me', '«{a16}»')", "req.basic_auth('me', ENV['P1'])";
    "basic_auth ", 2, "req.basic_auth 'me', '«{a16}»'", "req.basic_auth 'me', 'dashboard'";
    "basicAuth(", 2, "client.basicAuth(\"me\", \"«{a16}»\")", "client.basicAuth(\"me\", pass1)";
    "mysqli_connect(", 3, "mysqli_connect(\"db\", \"root\", \"«{a16}»\", \"shop\")", "mysqli_connect($host1, $user1, $pass1)";
    "jwt.sign(", 2, "jwt.sign({id: 1, name}, '«{a32}»')", "jwt.sign(claims1, process.env.JWT1)";
    "jwt.verify(", 2, "jwt.verify(token, '«{a32}»')", "jwt.verify(token1, 'public-key')";
    "jwt.encode(", 2, "jwt.encode(claims, \"«{a32}»\", algorithm=\"HS256\")", "jwt.encode(claims, key, \"HS256\")";
    "jwt.decode(", 2, "jwt.decode(token, \"«{a32}»\")", "jwt.decode(token1, settings.key1)";
    "SetBasicAuth(", 2, "req.SetBasicAuth(\"me\", \"«{a16}»\")", "req.SetBasicAuth(user1, pass1)";
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
    "IDENTIFIED BY ", "CREATE USER a IDENTIFIED BY '«{p12}»'", "CREATE USER a IDENTIFIED BY ?";
    "snyk auth ", "snyk auth «{h8}-{h4}-{h4}-{h4}-{h12}»", "snyk auth --help";
    "ConvertTo-SecureString ", "ConvertTo-SecureString \"«{p12}»\" -AsPlainText", "ConvertTo-SecureString $p -AsPlainText";
    "ConvertTo-SecureString -String ", "ConvertTo-SecureString -String '«{p12}»'", "ConvertTo-SecureString -String $p";
};
