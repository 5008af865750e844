//! The environment of the process, read once in `main`: variables, directories, terminals. And what is derived from
//! it: the settings, the server and key, and the directories for state.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::access::{Access, access};
use config::{AltScreen, Config, FileText, Inputs, Settings, Tui};
use front::error::{CliError, CliErrorKind};
use front::paint::{Background, Paint};
use front::run_view::Commits;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp::Servers;
use orchestrator::workspace::places::WorkspacePlaces;
use sandbox::Sandbox;
use shell::Environment;
use tools::redact::{Redactor, values_of_variables};
use tools::regular;
use tui::{AlternateScreen, UserCall};

use crate::flags::flag_settings::{check_model, flag_settings, quoted_toml, subagents};
use crate::flags::{Color, Global, OutputFormat};
use crate::key_store::{KeptKey, KeyStore, TokenPlaces};
use crate::workspace::project;

/// The largest configuration file, or `.env`, that is read, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Set by a shell's completion script when it asks for completions. The value is the name of the shell.
pub(crate) const COMPLETING: &str = "DEEPSEEK_COMPLETE";

/// Returns the shell that asks for completions, if this is such a call.
pub(crate) fn completing() -> Option<String> {
    std::env::var(COMPLETING).ok().filter(|shell| !shell.is_empty())
}

/// Where a command of the program is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandSource {
    Shell,
    /// As a slash command, in a conversation in plain lines.
    PlainLines,
    /// As a slash command, in a conversation that has lent its terminal: questions are asked as it asks them.
    LiveRows,
}

/// The environment of the process.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    pub(crate) vars: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
    pub(crate) stdin_is_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
    pub(crate) given: CommandSource,
    /// The session of the conversation in which a command is given.
    pub(crate) conversation: Option<String>,
}

impl Surroundings {
    /// Reads the environment.
    pub(crate) fn read() -> Result<Self, CliError> {
        let cwd = std::env::current_dir().map_err(|error| {
            CliError::new(CliErrorKind::Usage, format!("cannot use the current directory: {error}"))
        })?;
        Ok(Self {
            vars: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            cwd,
            stdin_is_terminal: io::stdin().is_terminal(),
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            given: CommandSource::Shell,
            conversation: None,
        })
    }

    fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the user's editor command, with its options.
    pub(crate) fn editor(&self) -> Option<&str> {
        ["VISUAL", "EDITOR"]
            .into_iter()
            .find_map(|name| self.var(name).filter(|it| !it.trim().is_empty()))
    }

    /// Returns the pager command for long output, with its options; `None` without a terminal or if the user wants no pager.
    pub(crate) fn pager(&self, global: &Global) -> Option<String> {
        const USUAL: &str = "less -FRX";
        let is_read = self.stdout_is_terminal && self.stdin_is_terminal && !global.plain;
        let pager = self.vars.get("PAGER").map_or(USUAL, String::as_str).trim();
        let is_one = !pager.is_empty() && pager != "cat" && self.var("TERM") != Some("dumb");
        (is_read && is_one && global.output == OutputFormat::Text).then(|| pager.to_owned())
    }

    /// Formats a recorded timestamp in the user's time zone, to the minute. Text that is not a timestamp is returned unchanged.
    pub(crate) fn local(&self, moment: &str) -> String {
        let zone = self.var("TZ").and_then(|name| TimeZone::get(name).ok());
        let zone = zone.unwrap_or_else(TimeZone::system);
        moment.parse::<Timestamp>().map_or_else(
            |_| moment.to_owned(),
            |at| at.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string(),
        )
    }

    /// Returns how to colour standard error.
    pub(crate) fn paint(&self, flag: Color) -> Paint {
        self.painted(flag, self.stderr_is_terminal)
    }

    /// Returns how to colour standard output.
    pub(crate) fn paint_out(&self, flag: Color) -> Paint {
        self.painted(flag, self.stdout_is_terminal)
    }

    /// Returns the terminal's background, if a variable tells it.
    pub(crate) fn background(&self) -> Option<Background> {
        self.var("COLORFGBG").and_then(Background::of_variable)
    }

    /// Returns true if a conversation can keep live rows at the bottom of the terminal: the terminal supports it and
    /// nothing else writes there.
    pub(crate) fn has_live_rows(&self, global: &Global) -> bool {
        let is_terminal =
            self.stdin_is_terminal && self.stdout_is_terminal && self.stderr_is_terminal;
        let can = self.var("TERM").is_some_and(|term| term != "dumb");
        let logs = global.verbose > 0 || self.var("DEEPSEEK_LOG").is_some();
        is_terminal && can && !logs && !global.plain && global.output == OutputFormat::Text
    }

    /// Returns a text that names commands of the program as they are given here.
    pub(crate) fn naming(&self, text: &str) -> String {
        match self.given {
            CommandSource::Shell => text.to_owned(),
            CommandSource::PlainLines | CommandSource::LiveRows => tui::as_slash_commands(text),
        }
    }

    /// Returns whether the alternate screen may be used, given the flags and the configuration.
    pub(crate) fn alternate_screen(&self, global: &Global) -> AlternateScreen {
        let settings = self.workspace(global).and_then(|dir| self.settings(global, &dir));
        settings.map_or(AlternateScreen::Never, |it| self.screen(global, &it.config.tui))
    }

    /// Like [`Self::alternate_screen`], with these settings.
    pub(crate) fn screen(&self, global: &Global, tui: &Tui) -> AlternateScreen {
        // The consoles of Linux and of old terminals have one screen.
        let has_one = |term: &str| term != "linux" && !term.starts_with("vt");
        let may = match tui.alt_screen {
            AltScreen::Auto => self.var("TERM").is_some_and(has_one),
            AltScreen::Always => true,
            AltScreen::Never => false,
        };
        match (may && self.has_live_rows(global), tui.mouse_capture) {
            (true, false) => AlternateScreen::Allowed,
            (true, true) => AlternateScreen::WithMouse,
            (false, _) => AlternateScreen::Never,
        }
    }

    /// Returns how to ask a question by single keys; `None` in plain lines.
    pub(crate) fn asks(&self, global: &Global) -> Option<tui::QuestionOptions> {
        (self.given == CommandSource::LiveRows).then(|| tui::QuestionOptions {
            paint: self.paint(global.color),
            alternate_screen: self.alternate_screen(global),
            cuts: self.terminal_cuts(),
        })
    }

    /// Returns how this terminal can notify its user. Few show notifications; those identify themselves.
    pub(crate) fn calls(&self) -> UserCall {
        let shows = ["iTerm.app", "WezTerm", "ghostty"];
        match self.var("TERM_PROGRAM") {
            Some(name) if shows.contains(&name) => UserCall::ByNotification,
            Some(_) | None => UserCall::ByBell,
        }
    }

    /// Returns true if the terminal cuts rows when it is narrowed instead of rewrapping them. Few do; those identify themselves.
    pub(crate) fn terminal_cuts(&self) -> bool {
        let term = self.var("TERM").unwrap_or_default();
        let is_screen = term.starts_with("screen") && self.var("TMUX").is_none();
        term == "linux" || is_screen || self.var("XTERM_VERSION").is_some()
    }

    fn painted(&self, flag: Color, is_terminal: bool) -> Paint {
        let is_coloured = match flag {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                is_terminal && self.var("NO_COLOR").is_none() && self.var("TERM") != Some("dumb")
            }
        };
        let paint = if is_coloured { Paint::Colour } else { Paint::Plain };
        self.background().map_or(paint, |background| paint.on(background))
    }

    /// Returns the file of this program.
    pub(crate) fn program() -> Result<PathBuf, CliError> {
        std::env::current_exe().map_err(|error| {
            CliError::new(CliErrorKind::Internal, format!("cannot find this program: {error}"))
        })
    }

    /// Returns the absolute workspace: `--workspace`, or the project around the current directory.
    pub(crate) fn workspace(&self, global: &Global) -> Result<PathBuf, CliError> {
        let dir =
            global.workspace.as_ref().map_or_else(|| self.project_here(), |dir| self.cwd.join(dir));
        let unusable = |error: io::Error| {
            let dir = dir.display();
            let why = if error.kind() == io::ErrorKind::NotFound {
                "there is no such directory".to_owned()
            } else {
                error.to_string()
            };
            let error = format!("cannot use the workspace {dir}: {why}");
            CliError::new(CliErrorKind::Usage, error)
                .hint("name an existing directory: `--workspace DIR`")
        };
        let dir = dir.canonicalize().map_err(unusable)?;
        if !dir.is_dir() {
            return Err(unusable(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        Ok(dir)
    }

    /// Returns the project around the current directory.
    fn project_here(&self) -> PathBuf {
        let from = self.cwd.canonicalize().unwrap_or_else(|_| self.cwd.clone());
        let owner = |path: &Path| path.symlink_metadata().ok().map(|data| data.uid());
        // A marker that another user put into a parent directory does not count.
        let is_there = |path: &Path| owner(path).is_some_and(|it| Some(it) == owner(&from));
        project(&from, self.home_dir().as_deref(), &is_there).to_owned()
    }

    /// Returns the home directory with symlinks resolved.
    fn home_dir(&self) -> Option<PathBuf> {
        Path::new(self.var("HOME")?).canonicalize().ok()
    }

    /// Returns whether delivered changes can be committed: only if the workspace is in a git repository.
    pub(crate) fn offers_commits(&self, global: &Global) -> Commits {
        let is_there = |dir: PathBuf| dir.ancestors().any(|dir| dir.join(".git").exists());
        if self.workspace(global).is_ok_and(is_there) {
            Commits::Offered
        } else {
            Commits::NotOffered
        }
    }

    /// Returns the current directory relative to the workspace, if it is below it.
    pub(crate) fn within(&self, workspace: &Path) -> Option<PathBuf> {
        let here = self.cwd.canonicalize().ok()?;
        let within = here.strip_prefix(workspace).ok()?;
        (!within.as_os_str().is_empty()).then(|| within.to_owned())
    }

    /// Returns a warning if the workspace is the home directory or the root of the file system.
    pub(crate) fn too_wide(&self, workspace: &Path) -> Option<&'static str> {
        if Some(workspace) == self.home_dir().as_deref() {
            return Some(
                "the workspace is your home directory: change to a project, or name one with --workspace",
            );
        }
        let is_root = workspace.parent().is_none();
        is_root.then_some(
            "the workspace is the whole file system: change to a project, or name one with --workspace",
        )
    }

    fn home(&self, variable: &str, below: &str) -> Result<PathBuf, CliError> {
        if let Some(dir) = self.var(variable).filter(|dir| Path::new(dir).is_absolute()) {
            return Ok(PathBuf::from(dir));
        }
        self.var("HOME").map(|home| Path::new(home).join(below)).ok_or_else(|| {
            CliError::new(CliErrorKind::Usage, "neither HOME nor the XDG variables are set")
                .hint("set HOME, or set DEEPSEEK_HOME for the program's own state")
        })
    }

    /// Returns the state directory, which holds sessions and caches.
    pub(crate) fn state_dir(&self) -> Result<PathBuf, CliError> {
        if let Some(dir) = self.var("DEEPSEEK_HOME") {
            return Ok(self.cwd.join(dir));
        }
        Ok(self.home("XDG_STATE_HOME", ".local/state")?.join("deepseek"))
    }

    /// Returns the directory that records commits in progress, of all workspaces.
    pub(crate) fn commits(&self) -> Result<PathBuf, CliError> {
        Ok(self.state_dir()?.join("commits"))
    }

    /// Returns the directories that a workspace's checkpoints, lanes and commits are kept in.
    pub(crate) fn places(&self, workspace: &Path) -> Result<WorkspacePlaces, CliError> {
        let own = self.workspace_state(workspace)?;
        let checkpoints = own.join("checkpoints.git");
        let lanes = own.join("lanes");
        Ok(WorkspacePlaces {
            state: self.state_dir()?,
            commits: self.commits()?,
            checkpoints,
            lanes,
        })
    }

    /// Returns the state directory of one workspace.
    pub(crate) fn workspace_state(&self, workspace: &Path) -> Result<PathBuf, CliError> {
        Ok(journal::workspace_state(&self.state_dir()?, workspace))
    }

    /// Returns the sandbox for commands in a workspace.
    pub(crate) fn sandbox(
        &self,
        settings: &Settings,
        workspace: &Path,
    ) -> Result<Arc<Sandbox>, CliError> {
        let passed = self.seen_by_commands(&settings.config).vars;
        let places = sandbox::SandboxPlaces {
            home: self.var("HOME").map(PathBuf::from),
            workspace: workspace.to_owned(),
            private: self.workspace_state(workspace)?.join("commands"),
            vars: self.vars.clone(),
            passed: Arc::unwrap_or_clone(passed),
            kept: self.data_dirs(),
        };
        Ok(Arc::new(Sandbox::new(settings.config.sandbox.clone(), places)))
    }

    /// Returns the directories in which the user's programs keep data, this one among them.
    fn data_dirs(&self) -> Vec<PathBuf> {
        let dirs = [
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_CACHE_HOME", ".cache"),
        ];
        let dirs = dirs.into_iter().filter_map(|(name, below)| self.home(name, below).ok());
        dirs.chain(self.state_dir()).map(|dir| dir.canonicalize().unwrap_or(dir)).collect()
    }

    /// Returns the path of the user's configuration file.
    pub(crate) fn user_config(&self, global: &Global) -> Result<PathBuf, CliError> {
        match &global.config {
            Some(path) => Ok(self.cwd.join(path)),
            None => Ok(self.home("XDG_CONFIG_HOME", ".config")?.join("deepseek/config.toml")),
        }
    }

    /// Returns the store of the key that `auth login` keeps.
    pub(crate) fn key_store(&self) -> Result<KeyStore, CliError> {
        let file = self.home("XDG_CONFIG_HOME", ".config")?.join("deepseek/key");
        Ok(KeyStore::new("api-key", file, self.may_have_keyring()))
    }

    fn may_have_keyring(&self) -> bool {
        // Except on macOS, keyrings are reached through the session bus.
        let bus = self.var("DBUS_SESSION_BUS_ADDRESS").or(self.var("XDG_RUNTIME_DIR"));
        bus.is_some() || cfg!(target_os = "macos")
    }

    /// Resolves the settings for a workspace.
    pub(crate) fn settings(&self, global: &Global, workspace: &Path) -> Result<Settings, CliError> {
        let user = self.user_config(global).ok();
        let user = match user {
            Some(path) => read_config(&path)?,
            None => None,
        };
        if user.is_none()
            && let Some(path) = &global.config
        {
            return Err(CliError::new(
                CliErrorKind::Usage,
                format!("there is no file {}", path.display()),
            ));
        }
        let inputs = Inputs {
            user,
            workspace: read_workspace_config(workspace)?,
            workspace_root: workspace.to_owned(),
            profile: global
                .profile
                .clone()
                .or_else(|| self.var("DEEPSEEK_PROFILE").map(str::to_owned)),
            env: self.env_settings(),
            flags: flag_settings(global),
            set: global.set.clone(),
        };
        let mut settings = config::resolve_layers(&inputs).map_err(|error| {
            let is_in = |file: &Option<FileText>| {
                file.as_ref().is_some_and(|file| error.is_in(&file.path.display().to_string()))
            };
            let hint = if is_in(&inputs.workspace) {
                "`deepseek config edit --local` opens the file"
            } else if is_in(&inputs.user) {
                "`deepseek config edit` opens the file"
            } else {
                "`deepseek config show` lists every key with its value"
            };
            CliError::caused(CliErrorKind::Usage, &error).hint(hint)
        })?;
        if global.model.is_some() {
            // A retired name is one of today's by now.
            let model = &settings.config.llm.base_model.model;
            check_model(&settings, model).map_err(|why| CliError::new(CliErrorKind::Usage, why))?;
        }
        settings.warnings.extend(global.max_subagents.and_then(|asked| subagents(asked).1));
        Ok(settings)
    }

    fn env_settings(&self) -> Vec<(&'static str, &'static str, String)> {
        [
            ("llm.base_url", "DEEPSEEK_BASE_URL"),
            ("llm.max_think_model.model", "DEEPSEEK_MODEL"),
            ("llm.base_model.model", "DEEPSEEK_MODEL"),
            ("missions.verdict_model", "DEEPSEEK_MODEL"),
            ("policy.approval", "DEEPSEEK_APPROVAL"),
        ]
        .into_iter()
        .filter_map(|(key, name)| Some((key, name, quoted_toml(self.var(name)?))))
        .collect()
    }

    /// Returns the environment that commands see.
    pub(crate) fn seen_by_commands(&self, config: &Config) -> Environment {
        let keys = ["DEEPSEEK_API_KEY", config.llm.api_key_env.as_str()];
        Environment::of(&self.vars, &config.commands.env, &keys)
    }

    /// Returns the servers of tools for a workspace. Their entries may name every variable but those of the API key.
    pub(crate) fn servers(&self, workspace: &Path, config: &Config) -> Result<Servers, CliError> {
        let keys = ["DEEPSEEK_API_KEY", config.llm.api_key_env.as_str()];
        let mut variables = self.vars.clone();
        variables.retain(|name, _| !keys.contains(&name.as_str()));
        let of_user = config.mcp.servers.clone();
        let dir = self.home("XDG_CONFIG_HOME", ".config")?.join("deepseek/mcp-tokens");
        let tokens = Arc::new(TokenPlaces { dir, has_keyring: self.may_have_keyring() });
        Ok(Servers::new(workspace, of_user, &self.state_dir()?, variables, tokens))
    }

    /// Returns a redactor for the secret values in the environment.
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new("", values_of_variables(&self.vars))
    }

    /// Returns the server and the key, with warnings about sources that could not be read.
    pub(crate) fn access(&self, settings: &Settings, workspace: &Path) -> Access {
        let dotenv = workspace.join(".env");
        let (text, warning) = match regular::read_text(&dotenv, MAX_SETTINGS_BYTES) {
            Ok(text) => (Some(text), None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, None),
            Err(error) => (None, Some(format!("cannot read {}: {error}", dotenv.display()))),
        };
        let given = self.var(&settings.config.llm.api_key_env).is_some();
        let (kept, unread) = match self.key_store().map(|store| store.read()) {
            _ if given => (None, None),
            Ok(Ok(kept)) => (kept, None),
            Ok(Err(error)) => (None, Some(format!("the stored key is not used: {error}"))),
            Err(_) => (None, None),
        };
        let kept = kept.as_ref().map(|KeptKey { key, place }| (key.expose(), place.as_str()));
        let mut access = access(settings, &self.vars, kept, text.as_deref());
        access.warnings.extend(warning.into_iter().chain(unread));
        access
    }
}

/// Reads the workspace's configuration file. Symlinks are rejected: the target could be a file that models may patch.
fn read_workspace_config(workspace: &Path) -> Result<Option<FileText>, CliError> {
    let dir = workspace.join(".deepseek");
    let path = dir.join("config.toml");
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|data| data.is_symlink());
    if let Some(link) = [&dir, &path].into_iter().find(|path| is_link(path)) {
        let what = format!("{} must not be a symlink", link.display());
        return Err(CliError::new(CliErrorKind::Usage, what)
            .hint("models could patch its target: replace it with a regular file, or remove it"));
    }
    read_config(&path)
}

/// Reads a configuration file. Returns `None` if it does not exist.
pub(crate) fn read_config(path: &Path) -> Result<Option<FileText>, CliError> {
    match regular::read_text(path, MAX_SETTINGS_BYTES) {
        Ok(text) => Ok(Some(FileText { path: path.to_owned(), text })),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(CliError::new(
            CliErrorKind::Usage,
            format!("cannot read {}: {error}", path.display()),
        )),
    }
}
