//! A workspace with files, and a state directory next to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::talk::prompts::Prompts;
use config::{Config, Inputs};
use facts::signal::Attendance;
use mcp::Servers;
use orchestrator::root::Setup;
use orchestrator::workspace::places::WorkspacePlaces;
use sandbox::Sandbox;
use shell::Environment;
use tempfile::TempDir;
use tools::clock::{CountingIds, FixedClock, Timestamp};
use tools::redact::Redactor;

use crate::{AnswerSource, ScriptedModel};

/// A workspace and a state directory, removed on drop.
pub struct World {
    dir: TempDir,
}

impl World {
    /// Creates a workspace, in memory if possible: these tests are not about disks.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self::of(dir.unwrap(), files)
    }

    /// Creates a workspace in a new directory below `dir`, for example in the build directory, so that it is on a disk.
    pub fn below<S: AsRef<str>>(dir: &str, files: &[(S, String)]) -> Self {
        Self::of(tempfile::tempdir_in(dir).unwrap(), files)
    }

    /// Creates a workspace with a greeting that does not greet the world yet.
    pub fn greeting() -> Self {
        Self::new(&[("greet.txt", "hello\n")])
    }

    fn of<S: AsRef<str>, T: AsRef<str>>(dir: TempDir, files: &[(S, T)]) -> Self {
        let world = Self { dir };
        fs::create_dir_all(world.state()).unwrap();
        fs::create_dir_all(world.workspace()).unwrap();
        for (path, text) in files {
            world.write(path.as_ref(), text.as_ref());
        }
        world
    }

    /// Returns the root of the workspace.
    pub fn workspace(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Returns the state directory.
    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Returns the directory of the session.
    pub fn session(&self) -> PathBuf {
        self.state().join("session")
    }

    /// Reads a file of the workspace.
    pub fn read(&self, path: &str) -> String {
        let path = self.workspace().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a file of the workspace, and creates its parent directories.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the contents of the files at the top of the workspace, by name.
    pub fn files(&self) -> BTreeMap<String, String> {
        let names = fs::read_dir(self.workspace()).unwrap();
        let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.map(|name| (name.clone(), self.read(&name))).collect()
    }

    /// Returns the default configuration with these settings.
    pub fn config(flags: &[(&'static str, &str)]) -> Arc<Config> {
        let flags = flags.iter().map(|(key, value)| (*key, "test", (*value).to_owned())).collect();
        let inputs = Inputs { workspace_root: PathBuf::from("/"), flags, ..Inputs::default() };
        Arc::new(config::resolve_layers(&inputs).unwrap().config)
    }

    /// Sets up a session with this model. The clock is fixed, and ids are counted.
    pub fn setup<S: AnswerSource>(&self, model: &Arc<S>, flags: &[(&'static str, &str)]) -> Setup {
        let model = Arc::new(ScriptedModel(Arc::clone(model)));
        let state = self.state();
        Setup {
            workspace: self.workspace().canonicalize().unwrap(),
            session_dir: self.session(),
            cache: state.join("cache"),
            places: WorkspacePlaces {
                commits: state.join("commits"),
                checkpoints: state.join("checkpoints.git"),
                lanes: state.join("lanes"),
                state,
            },
            config: Self::config(flags),
            model,
            clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
            ids: Arc::new(CountingIds::default()),
            env: Environment::default(),
            redactor: Redactor::default(),
            sandbox: Arc::new(Sandbox::off()),
            servers: Servers::none(),
            prompts: Prompts::default(),
            attendance: Attendance::Unattended,
            version: "test".to_owned(),
        }
    }
}
