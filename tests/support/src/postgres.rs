use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A PostgreSQL of the test's own: temporary directory, a port of its own, ended with the test.
pub struct Postgres {
    programs: PathBuf,
    port: u16,
    /// Who it runs as, if not whoever runs the tests.
    account: Option<(u32, u32)>,
    directory: tempfile::TempDir,
}

/// Why there is none.
type Missing = String;

impl Postgres {
    pub fn start() -> Result<Postgres, Missing> {
        let programs = find().ok_or("no PostgreSQL here (initdb, pg_ctl)")?;
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let account = account(directory.path())?;
        let postgres = Postgres { programs, port: crate::free_port(), account, directory };
        let data = postgres.data();
        if let Some((user, group)) = postgres.account {
            std::os::unix::fs::chown(postgres.directory.path(), Some(user), Some(group))
                .map_err(|error| error.to_string())?;
        }
        postgres.run(
            "initdb",
            &["-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
        )?;
        let settings = format!(
            "port = {}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\nshared_buffers = 16MB\n",
            postgres.port,
            postgres.directory.path().display()
        );
        let file = Path::new(&data).join("postgresql.auto.conf");
        std::fs::write(file, settings).map_err(|error| error.to_string())?;
        postgres.up()?;
        Ok(postgres)
    }

    fn data(&self) -> String {
        self.directory.path().join("data").display().to_string()
    }

    /// Lets only those in who speak TLS, and shows them this certificate.
    pub fn require_tls(&self, certificate: &Path, key: &Path) {
        use std::os::unix::fs::PermissionsExt;
        for (from, name) in [(certificate, "server.crt"), (key, "server.key")] {
            let to = Path::new(&self.data()).join(name);
            std::fs::copy(from, &to).unwrap();
            std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o600)).unwrap();
            if let Some((user, group)) = self.account {
                std::os::unix::fs::chown(&to, Some(user), Some(group)).unwrap();
            }
        }
        let who = "local all all trust\nhostssl all hub all trust\nhost all postgres all trust\n";
        std::fs::write(Path::new(&self.data()).join("pg_hba.conf"), who).unwrap();
        for step in
            ["CREATE ROLE hub SUPERUSER LOGIN", "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()"]
        {
            self.query(step);
        }
    }

    /// Starts it, again after [`Postgres::down`].
    pub fn up(&self) -> Result<(), Missing> {
        let log = self.directory.path().join("log").display().to_string();
        self.run("pg_ctl", &["-D", &self.data(), "-l", &log, "-w", "-t", "60", "start"])
    }

    /// As if the power had failed.
    pub fn down(&self) {
        let _ = self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// What a client program prints about this server.
    fn said_by(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(self.programs.join(program))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"])
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What a query answers, one row a line.
    pub fn query(&self, sql: &str) -> String {
        self.said_by("psql", &["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql]).trim().to_owned()
    }

    /// Everything that is stored, as text.
    pub fn dump(&self) -> String {
        self.said_by("pg_dump", &["--inserts", "postgres"])
    }

    /// What was written before it was stored, also what was deleted since.
    pub fn write_ahead_log(&self) -> Vec<u8> {
        let _ = self.query("CHECKPOINT");
        let files = std::fs::read_dir(Path::new(&self.data()).join("pg_wal")).unwrap();
        let files = files.map(|file| file.unwrap().path()).filter(|path| path.is_file());
        files.flat_map(|path| std::fs::read(path).unwrap()).collect()
    }

    /// What it says about itself.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    fn run(&self, name: &str, arguments: &[&str]) -> Result<(), Missing> {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(self.programs.join(name));
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{name} ended with {status}")),
            Err(error) => Err(format!("{name}: {error}")),
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.down();
    }
}

/// PostgreSQL does not run as root: then it runs as the distribution's `postgres`. `directory` is ours, as it was made.
fn account(directory: &Path) -> Result<Option<(u32, u32)>, Missing> {
    use std::os::unix::fs::MetadataExt;
    if directory.metadata().is_ok_and(|meta| meta.uid() != 0) {
        return Ok(None);
    }
    let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = table.lines().find(|line| line.starts_with("postgres:"));
    let line = line.ok_or("no user postgres, and PostgreSQL does not run as root")?;
    let mut fields = line.split(':').skip(2);
    let mut number = || fields.next().and_then(|field| field.parse().ok());
    Ok(number().zip(number()))
}

fn find() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok();
    let mut places: Vec<PathBuf> =
        versions.into_iter().flatten().flatten().map(|version| version.path().join("bin")).collect();
    places.sort();
    places.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    places
        .into_iter()
        .rev()
        .find(|place| ["initdb", "pg_ctl", "psql", "pg_dump"].iter().all(|name| place.join(name).is_file()))
}
