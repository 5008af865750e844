//! The settings of the user's git that hold for commands, as git itself resolves them: identity, line ends, ignored files,
//! safe directories, filters. Helpers, hooks, signing and addresses, which may hold secrets, are not among them.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::ground::{GitSettings, Ground};
use crate::probe::ends_within;

/// The scopes of settings that are in no repository.
const SCOPES: [&str; 2] = ["system", "global"];
/// Settings that name a file of the user; and where the file is without them, in the directory of git's settings.
const FILES: [(&str, Option<&str>); 3] = [
    ("core.excludesfile", Some("ignore")),
    ("core.attributesfile", Some("attributes")),
    ("diff.orderfile", None),
];

/// A name with a value; without one it means true.
type Setting = (String, Option<String>);

impl Ground {
    /// Returns the settings of the user's git for the workspace. The first call asks git. Blocks.
    pub(crate) fn git_settings(&self) -> &GitSettings {
        self.git.get_or_init(|| {
            let said = self
                .said_by_git(&self.places.workspace)
                .or_else(|_| self.said_by_git(Path::new("/")));
            let said = said.inspect_err(|error| tracing::debug!(%error, "no settings of git"));
            let mut settings: Vec<Setting> = listed(&said.unwrap_or_default());
            settings.retain(|(name, _)| self.settings.git.iter().any(|it| is_meant(it, name)));
            let files = self.files_named(&mut settings);
            GitSettings { text: written(&settings), files }
        })
    }

    /// Returns what git says about its settings in a directory. Nothing of a repository runs then.
    fn said_by_git(&self, dir: &Path) -> io::Result<String> {
        let mut said = tempfile::tempfile()?;
        #[expect(clippy::disallowed_methods, reason = "it has its own deadline")]
        let mut git = Command::new("git");
        git.args(["config", "--list", "--show-scope", "--null"]).current_dir(dir);
        git.env_clear().envs(&self.places.vars).stdin(Stdio::null()).stderr(Stdio::null());
        let mut git = git.stdout(File::try_clone(&said)?).spawn()?;
        if !ends_within(&git, Duration::from_millis(self.settings.probe_timeout_ms)) {
            git.kill()?;
        }
        if !git.wait()?.success() {
            return Err(io::Error::other("git did not list its settings"));
        }
        let mut text = String::new();
        said.rewind()?;
        said.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Gives the files that settings name by their full paths, also where git finds them without a setting.
    fn files_named(&self, settings: &mut Vec<Setting>) -> Vec<PathBuf> {
        let home = self.places.home.as_deref();
        let config = self.places.vars.get("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty());
        let config = config.map(PathBuf::from).or_else(|| Some(home?.join(".config")));
        let mut files = Vec::new();
        for (name, usual) in FILES {
            let mut named = settings.iter_mut().filter(|(it, _)| it == name);
            if let Some((_, value)) = named.next_back() {
                let Some(text) = value else { continue };
                if let (Some(below), Some(home)) = (text.strip_prefix("~/"), home) {
                    *text = home.join(below).to_string_lossy().into_owned();
                }
                files.push(PathBuf::from(&*text));
            } else if let (Some(dir), Some(usual)) = (&config, usual)
                && let file = dir.join("git").join(usual)
                && file.is_file()
            {
                settings.push((name.to_owned(), Some(file.to_string_lossy().into_owned())));
                files.push(file);
            }
        }
        files.retain(|file| file.is_absolute() && file.is_file());
        files
    }
}

/// Parses the output of `git config --list --show-scope --null`.
fn listed(said: &str) -> Vec<Setting> {
    let mut words = said.split('\0');
    let mut settings = Vec::new();
    while let (Some(scope), Some(setting)) = (words.next(), words.next()) {
        if SCOPES.contains(&scope) {
            settings.push(match setting.split_once('\n') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (setting.to_owned(), None),
            });
        }
    }
    settings
}

/// Returns true if a pattern, a name or the beginning of names before `*`, means a setting.
fn is_meant(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => {
            name.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
        }
        None => pattern.eq_ignore_ascii_case(name),
    }
}

/// Writes settings as a configuration file of git.
fn written(settings: &[Setting]) -> String {
    let quoted = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{}\"", text.replace('\n', "\\n").replace('\t', "\\t"))
    };
    let mut text = String::new();
    for (name, value) in settings {
        let Some((section, rest)) = name.split_once('.') else { continue };
        let header = match rest.rsplit_once('.') {
            Some((subsection, _)) => format!("[{section} {}]", quoted(subsection)),
            None => format!("[{section}]"),
        };
        let variable = rest.rsplit_once('.').map_or(rest, |(_, variable)| variable);
        let value = value.as_ref().map(|value| format!(" = {}", quoted(value)));
        writeln!(text, "{header}\n\t{variable}{}", value.unwrap_or_default()).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_outside_repositories_are_listed_and_written_back() {
        let said = "global\0user.name\nA \"quoted\" \\ name\0local\0user.name\nhere\0system\0filter.a.b.clean\nx\ty\0global\0core.quotepath\0";
        let settings = listed(said);
        assert_eq!(settings.len(), 3);
        let text = "[user]\n\tname = \"A \\\"quoted\\\" \\\\ name\"\n[filter \"a.b\"]\n\tclean = \"x\\ty\"\n[core]\n\tquotepath\n";
        assert_eq!(written(&settings), text);
    }

    #[test]
    fn names_are_compared_without_their_case() {
        assert!(is_meant("core.excludesFile", "core.excludesfile"));
        assert!(is_meant("filter.*", "filter.lfs.clean") && is_meant("Safe.*", "safe.directory"));
        assert!(!is_meant("user.name", "user.names") && !is_meant("filter.*", "filters.x"));
    }
}
