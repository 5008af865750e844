//! The permissions of an approved card, so that the user is not asked again, and what goes beyond them. Pure.

use actors::run::workspace::Unapproved;
use lanes::team::split::path_pattern::Pattern;
use tree::RepoPath;

use crate::card::phases::Approved;

/// The permissions of an approved card.
#[derive(Debug, Clone)]
pub struct Grant {
    writes: Vec<Pattern>,
    commands: Vec<String>,
    /// Whether commands may use the network.
    pub network: bool,
}

impl From<&Approved> for Grant {
    fn from(approved: &Approved) -> Self {
        let tasks = || approved.card().subtasks.iter();
        Self {
            writes: tasks().flat_map(|task| task.writes.clone()).collect(),
            commands: tasks().flat_map(|task| task.commands.clone()).collect(),
            network: approved.card().capabilities.network,
        }
    }
}

impl Grant {
    /// Returns the paths that the card does not allow changing.
    pub fn beyond<'p>(&self, paths: &[&'p str]) -> Vec<&'p str> {
        let named = |path: &str| {
            RepoPath::parse(path).is_ok_and(|path| self.writes.iter().any(|it| it.matches(&path)))
        };
        paths.iter().copied().filter(|path| !named(path)).collect()
    }

    /// Returns the files and commands of a plan that the card does not allow; `None` if it allows them all.
    pub fn beyond_plan(&self, files: &[RepoPath], commands: &[String]) -> Option<Unapproved> {
        let files: Vec<&str> = files.iter().map(RepoPath::as_str).collect();
        let commands = commands.iter().map(String::as_str).filter(|command| !self.names(command));
        let planned: Vec<String> =
            self.beyond(&files).into_iter().chain(commands).map(str::to_owned).collect();
        let writes = self.writes.iter().map(ToString::to_string).collect();
        let commands = self.commands.clone();
        (!planned.is_empty()).then_some(Unapproved { planned, writes, commands })
    }

    /// Returns true if the card names exactly this command.
    pub fn names(&self, command: &str) -> bool {
        self.commands.iter().any(|named| named.trim() == command.trim())
    }
}
