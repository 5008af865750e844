//! A project, a provider and a home directory: everything a scenario needs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use mock::Replies;
use tempfile::TempDir;

use super::{Program, Project, Provider, Run, shell};

/// The user's configuration in tests: short waits, and the project's check is allowed.
const CONFIG: &str = r#"
[llm]
connect_timeout_seconds = 5
max_retries = 2
retry_base_ms = 1
retry_max_ms = 20

[policy]
allow_commands = ["sh check.sh", "make test"]

[commands]
kill_grace_ms = 50
"#;

/// The id of an unprivileged user.
const NOBODY: u32 = 65_534;

/// The API key in all tests.
pub(crate) const KEY: &str = "sk-0123456789abcdef0123456789abcdef";

/// A project, the provider that serves it, and the user's home directory.
pub(crate) struct World {
    pub(crate) project: Project,
    pub(crate) provider: Provider,
    home: TempDir,
}

impl World {
    /// Creates a world of the greeting project and a provider with these answers.
    pub(crate) fn greeting(answers: impl Into<Replies>) -> Self {
        Self::of(Project::greeting(), Provider::new(answers))
    }

    /// Creates a world of this project and this provider.
    pub(crate) fn of(project: Project, provider: Provider) -> Self {
        let home = tempfile::tempdir().unwrap();
        let world = Self { project, provider, home };
        fs::create_dir_all(world.home.path().join("config/deepseek")).unwrap();
        world.configure("")
    }

    /// Sets the user's configuration to the test defaults plus `more`. Values in `more` win.
    pub(crate) fn configure(self, more: &str) -> Self {
        let path = self.home.path().join("config/deepseek/config.toml");
        let base: toml::Table = CONFIG.parse().unwrap();
        let text = merged(base, more.parse().unwrap()).to_string();
        fs::write(path, text).unwrap();
        self
    }

    /// Turns the sandbox off, so that a test can see what a command does inside and outside the workspace.
    pub(crate) fn unconfined(self) -> Self {
        let path = self.home.path().join("config/deepseek/config.toml");
        let base: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let off = "sandbox.mode = \"off\"".parse().unwrap();
        fs::write(path, merged(base, off).to_string()).unwrap();
        self
    }

    /// Allows the commands that the program's defaults allow, instead of those of the tests.
    pub(crate) fn with_default_commands(self) -> Self {
        let path = self.home.path().join("config/deepseek/config.toml");
        let mut config: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        config.remove("policy");
        fs::write(path, config.to_string()).unwrap();
        self
    }

    /// Returns the user's home directory.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns the program's state directory, `DEEPSEEK_HOME`.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// Prepares the program with these arguments, in this world.
    pub(crate) fn deepseek<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Program {
        self.program(Path::new(env!("CARGO_BIN_EXE_deepseek")), args)
    }

    /// Prepares the program, started by a shell that runs `first` before it.
    pub(crate) fn after(&self, first: &str, args: &str) -> Program {
        let line = format!("{first}; exec {} {args}", env!("CARGO_BIN_EXE_deepseek"));
        self.program(Path::new("sh"), ["-c", &line])
    }

    /// Prepares the program, with arguments parsed by a shell.
    pub(crate) fn deepseek_by_shell(&self, args: &str) -> Program {
        self.after(":", args)
    }

    /// Prepares another program, in this world.
    pub(crate) fn program<'a>(
        &self,
        file: &Path,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Program {
        let mut program = Program::new(file, self.project.root());
        program
            .args(args)
            .env("HOME", self.home.path())
            .env("XDG_CONFIG_HOME", self.home.path().join("config"))
            .env("DEEPSEEK_HOME", self.state())
            .env("DEEPSEEK_BASE_URL", self.provider.base_url())
            .env("DEEPSEEK_API_KEY", KEY);
        program
    }

    /// Prepares a request by a user who may read the workspace but not write to it.
    pub(crate) fn as_user_without_write_permission(&self, request: &str) -> Program {
        let mode =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        mode(self.project.root(), 0o555);
        let probe = self.project.path("probe");
        if fs::write(&probe, "").is_err() {
            return self.request(request);
        }
        // Permissions do not stop root, so another user runs the program and needs access to everything else.
        fs::remove_file(probe).unwrap();
        let copy = self.home.path().join("deepseek");
        fs::copy(env!("CARGO_BIN_EXE_deepseek"), &copy).unwrap();
        fs::create_dir_all(self.state()).unwrap();
        mode(self.home.path(), 0o777);
        mode(&self.state(), 0o777);
        let mut program = self.program(&copy, request_args(request));
        program.user(NOBODY);
        program
    }

    /// Prepares a request by an unprivileged user who owns everything in this world.
    pub(crate) fn as_unprivileged_user(&self, request: &str) -> Program {
        if !rustix::process::geteuid().is_root() {
            return self.request(request);
        }
        let copy = self.home.path().join("deepseek");
        fs::copy(env!("CARGO_BIN_EXE_deepseek"), &copy).unwrap();
        let mut program = self.program(&copy, request_args(request));
        for dir in [self.project.root(), self.home.path()] {
            shell(dir, &format!("chown -R {NOBODY}:{NOBODY} ."));
        }
        program.user(NOBODY);
        program
    }

    /// Runs an edit request, with every event on standard output.
    pub(crate) fn chat(&self, request: &str) -> Run {
        self.request(request).run()
    }

    /// Asks a question, with every event on standard output.
    pub(crate) fn asks(&self, question: &str) -> Run {
        self.deepseek(["ask", question, "--output", "stream-json"]).run()
    }

    /// Prepares a message that may be a request or a question, with every event on standard output.
    pub(crate) fn message(&self, message: &str) -> Program {
        let [prompt, text, rest @ .., _] = request_args(message);
        self.deepseek([prompt, text].into_iter().chain(rest))
    }

    /// Prepares an edit request, with every event on standard output.
    pub(crate) fn request(&self, request: &str) -> Program {
        self.deepseek(request_args(request))
    }
}

fn request_args(request: &str) -> [&str; 7] {
    ["-p", request, "--approval", "auto", "--output", "stream-json", "--force-execute"]
}

/// Merges two tables. Values in `more` win.
fn merged(mut base: toml::Table, more: toml::Table) -> toml::Table {
    for (key, value) in more {
        match (base.remove(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => {
                base.insert(key, merged(old, new).into());
            }
            (_, value) => drop(base.insert(key, value)),
        }
    }
    base
}
