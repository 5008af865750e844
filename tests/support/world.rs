//! A project, a provider and a home for the program: everything a scenario needs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use mock::Replies;
use tempfile::TempDir;

use super::{Program, Project, Provider, Run, shell};

/// Waits are short, and the check of the project may run.
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

/// Somebody who is not root.
const NOBODY: u32 = 65_534;

/// The key that everybody uses here.
pub(crate) const KEY: &str = "sk-0123456789abcdef0123456789abcdef";

/// A project with somebody to work on it.
pub(crate) struct World {
    pub(crate) project: Project,
    pub(crate) provider: Provider,
    home: TempDir,
}

impl World {
    /// The greeting project and a provider of these answers.
    pub(crate) fn greeting(answers: impl Into<Replies>) -> Self {
        Self::of(Project::greeting(), Provider::new(answers))
    }

    /// This project and this provider.
    pub(crate) fn of(project: Project, provider: Provider) -> Self {
        let home = tempfile::tempdir().unwrap();
        let world = Self { project, provider, home };
        fs::create_dir_all(world.home.path().join("config/deepseek")).unwrap();
        world.configure("")
    }

    /// The same, with `more` in the user's configuration: TOML whose tables are not those of this file.
    pub(crate) fn configure(self, more: &str) -> Self {
        let path = self.home.path().join("config/deepseek/config.toml");
        let base: toml::Table = CONFIG.parse().unwrap();
        let text = merged(base, more.parse().unwrap()).to_string();
        fs::write(path, text).unwrap();
        self
    }

    /// The same without a sandbox: what a command does to the workspace and beside it can be seen then.
    pub(crate) fn unconfined(self) -> Self {
        let path = self.home.path().join("config/deepseek/config.toml");
        let base: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let off = "sandbox.mode = \"off\"".parse().unwrap();
        fs::write(path, merged(base, off).to_string()).unwrap();
        self
    }

    /// The same, where those commands are listed that the defaults list.
    pub(crate) fn with_default_commands(self) -> Self {
        let path = self.home.path().join("config/deepseek/config.toml");
        let mut config: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        config.remove("policy");
        fs::write(path, config.to_string()).unwrap();
        self
    }

    /// The user's home directory.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Where the program keeps what it keeps.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// The program, in this world.
    pub(crate) fn deepseek<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Program {
        self.program(Path::new(env!("CARGO_BIN_EXE_deepseek")), args)
    }

    /// The program, started by a shell that has done `first`.
    pub(crate) fn after(&self, first: &str, args: &str) -> Program {
        let line = format!("{first}; exec {} {args}", env!("CARGO_BIN_EXE_deepseek"));
        self.program(Path::new("sh"), ["-c", &line])
    }

    /// The program, with arguments as a shell reads them.
    pub(crate) fn deepseek_by_shell(&self, args: &str) -> Program {
        self.after(":", args)
    }

    /// Another program, in this world.
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

    /// The program with a request, run by somebody who may read the workspace but not write to it.
    pub(crate) fn as_somebody_who_may_not_write(&self, request: &str) -> Program {
        let mode =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        mode(self.project.root(), 0o555);
        let probe = self.project.path("probe");
        if fs::write(&probe, "").is_err() {
            return self.request(request);
        }
        // Nothing stops root but not being root; and whoever it is instead has to get at everything else.
        fs::remove_file(probe).unwrap();
        let copy = self.home.path().join("deepseek");
        fs::copy(env!("CARGO_BIN_EXE_deepseek"), &copy).unwrap();
        fs::create_dir_all(self.state()).unwrap();
        mode(self.home.path(), 0o777);
        mode(&self.state(), 0o777);
        let mut program = self.program(&copy, as_a_program_wants_it(request));
        program.user(NOBODY);
        program
    }

    /// The program with a request, run by somebody who is not root and has everything here to himself.
    pub(crate) fn as_nobody(&self, request: &str) -> Program {
        if !rustix::process::geteuid().is_root() {
            return self.request(request);
        }
        let copy = self.home.path().join("deepseek");
        fs::copy(env!("CARGO_BIN_EXE_deepseek"), &copy).unwrap();
        let mut program = self.program(&copy, as_a_program_wants_it(request));
        for dir in [self.project.root(), self.home.path()] {
            shell(dir, &format!("chown -R {NOBODY}:{NOBODY} ."));
        }
        program.user(NOBODY);
        program
    }

    /// Has a request done, with every event on standard output.
    pub(crate) fn chat(&self, request: &str) -> Run {
        self.request(request).run()
    }

    /// Has a question answered, with every event on standard output.
    pub(crate) fn asks(&self, question: &str) -> Run {
        self.deepseek(["ask", question, "--output", "stream-json"]).run()
    }

    /// Says something that may be a request or a question, with every event on standard output.
    pub(crate) fn message(&self, message: &str) -> Program {
        let [prompt, text, rest @ .., _] = as_a_program_wants_it(message);
        self.deepseek([prompt, text].into_iter().chain(rest))
    }

    /// The program with a request, not started yet.
    pub(crate) fn request(&self, request: &str) -> Program {
        self.deepseek(as_a_program_wants_it(request))
    }
}

fn as_a_program_wants_it(request: &str) -> [&str; 7] {
    ["-p", request, "--approval", "auto", "--output", "stream-json", "--force-execute"]
}

/// `base` with the values of `more` in it.
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
