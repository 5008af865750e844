//! A directory of a project, and the conditions on its files. Pure.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use config::alternatives;
use shell::CommandLine;

/// Number of files that match a pattern which are read to find a text.
const MOST_READ: usize = 8;

/// What derivation reads of a project.
pub struct Project<'p> {
    /// Returns the text of a file, if it exists.
    pub read: &'p dyn Fn(&str) -> Option<String>,
    /// Returns true if the path exists.
    pub exists: &'p dyn Fn(&str) -> bool,
    /// Returns the sorted names in a directory; `""` is the root.
    pub names: &'p dyn Fn(&str) -> Vec<String>,
    /// Returns true if a program of this name is installed.
    pub has_program: &'p dyn Fn(&str) -> bool,
}

impl Project<'_> {
    /// Returns true unless it is known that the program of a command is not installed.
    pub fn can_start(&self, command: &str) -> bool {
        CommandLine::named_program(command).is_none_or(|program| (self.has_program)(&program))
    }
}

/// A directory of a project.
pub(super) struct Site<'p> {
    project: &'p Project<'p>,
    /// The path of the directory, empty for the root.
    dir: String,
    /// The names in the directories that were listed.
    listed: Rc<RefCell<BTreeMap<String, Rc<[String]>>>>,
}

impl<'p> Site<'p> {
    /// Returns the root of a project.
    pub(super) fn root(project: &'p Project<'p>) -> Self {
        Self { project, dir: String::new(), listed: Rc::default() }
    }

    /// Returns true unless it is known that the program of a command is not installed.
    pub(super) fn can_start(&self, command: &str) -> bool {
        self.project.can_start(command)
    }

    /// Returns the path of the directory, empty for the root.
    pub(super) fn dir(&self) -> &str {
        &self.dir
    }

    /// Returns the directories below this one, without hidden ones. They are recorded by [`Self::note`] only.
    pub(super) fn below(&self) -> impl Iterator<Item = Self> {
        let names = self.names(&self.dir).to_vec().into_iter();
        let seen = names.filter(|name| !name.starts_with('.')).map(|name| joined(&self.dir, &name));
        let dirs = seen.filter(|dir| !self.names(dir).is_empty());
        dirs.map(|dir| Self { project: self.project, dir, listed: Rc::clone(&self.listed) })
    }

    /// Asks for this directory and those above it, which records them, so that a replay finds it again.
    pub(super) fn note(&self) {
        let ends = self.dir.match_indices('/').map(|(at, _)| at).chain([self.dir.len()]);
        for dir in ends.filter_map(|end| self.dir.get(..end)).filter(|dir| !dir.is_empty()) {
            (self.project.exists)(dir);
        }
    }

    /// Returns true if a condition of the configuration holds here: `[!]PATH[: TEXT[|TEXT]…]`.
    pub(super) fn holds(&self, condition: &str) -> bool {
        if let Some(unwanted) = condition.strip_prefix('!') {
            return !self.holds(unwanted);
        }
        let (pattern, texts) = match condition.split_once(": ") {
            Some((pattern, texts)) => (pattern, Some(texts.to_ascii_lowercase())),
            None => (condition, None),
        };
        let mut found = self.found(pattern);
        let Some(texts) = texts else { return found.next().is_some() };
        found.take(MOST_READ).filter_map(|path| (self.project.read)(&path)).any(|content| {
            let content = content.to_ascii_lowercase();
            texts.split('|').any(|text| content.contains(text))
        })
    }

    /// Returns the texts of the files that match one of `patterns`.
    pub(super) fn texts(&self, patterns: &[String]) -> impl Iterator<Item = String> {
        let paths = patterns.iter().flat_map(|pattern| self.found(pattern));
        paths.filter_map(|path| (self.project.read)(&path))
    }

    /// Returns the paths that match a pattern.
    fn found(&self, pattern: &str) -> impl Iterator<Item = String> {
        let matching = alternatives(pattern).into_iter().flat_map(|pattern| {
            let path = joined(&self.dir, &pattern);
            let (dir, name) = path.rsplit_once('/').unwrap_or(("", &path));
            let names = self.names(dir);
            let names = names.iter().filter(|it| matches(it, name)).map(|it| joined(dir, it));
            names.collect::<Vec<_>>()
        });
        // Listings are not recorded; what matters of them is, by asking for it.
        matching.filter(|path| (self.project.exists)(path))
    }

    fn names(&self, dir: &str) -> Rc<[String]> {
        if let Some(names) = self.listed.borrow().get(dir) {
            return Rc::clone(names);
        }
        let names: Rc<[String]> = (self.project.names)(dir).into();
        self.listed.borrow_mut().insert(dir.to_owned(), Rc::clone(&names));
        names
    }
}

/// Joins a path to a directory. `..` is resolved; above the root it leads nowhere.
fn joined(dir: &str, path: &str) -> String {
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        if part != ".." {
            parts.push(part);
        } else if parts.pop().is_none() {
            return "..".to_owned();
        }
    }
    parts.join("/")
}

/// Returns true if a name matches a pattern in which `*` stands for any text.
fn matches(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}
