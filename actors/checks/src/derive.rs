//! Derives the commands that check a project from its files, by the table of kinds in the configuration. Pure.
//!
//! A command that could not fail is never derived: passing would prove nothing.

mod makefile;
mod readme;
mod selected;
mod site;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use config::{OnlyTests, ProjectKind, TestCommand};

use self::makefile::recipe;
use self::readme::named_in_readme;
pub use self::selected::derive_for_tests;
pub use self::site::Project;
use self::site::Site;
use crate::project_kinds::kind_of;
use crate::proves_nothing::proves_nothing;

/// The most commands derived for directories below the root.
const MOST_BELOW: usize = 4;
/// The most directories below the root that are looked into.
const MOST_DIRS: usize = 64;

/// The kinds of projects, by name.
pub type Kinds = BTreeMap<String, ProjectKind>;

/// A derived command.
struct Derived {
    /// The name of the kind of project.
    kind: String,
    command: String,
    /// The commands that it runs, if it is a target of a Makefile.
    recipe: Option<Vec<String>>,
    /// How only some files with tests are run.
    only: Option<OnlyTests>,
}

/// Returns the commands for the kinds of project found, one per kind, if possible one whose program is installed. What
/// the project says itself comes first: the target of its Makefile; its README counts if nothing else is known. If
/// nothing in the root can be tested, the directories below it are.
pub fn derive(project: &Project<'_>, kinds: &Kinds) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for Derived { command, .. } in all_derived(project, kinds) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
}

fn all_derived(project: &Project<'_>, kinds: &Kinds) -> Vec<Derived> {
    let root = Site::root(project);
    let mut derived = with_own_words_first(derived_in(&root, kinds), kinds);
    let is_there = |kind: &str| derived.iter().any(|it| it.kind == kind);
    if let Some((kind, command)) = named_in_readme(&root, kinds)
        && !is_there(kind)
    {
        derived.push(Derived { kind: kind.to_owned(), command, recipe: None, only: None });
    }
    if derived.is_empty() {
        derived = derived_below(&root, kinds);
    }
    derived
}

/// Returns the commands for a directory, one for each kind.
fn derived_in(site: &Site<'_>, kinds: &Kinds) -> Vec<Derived> {
    let of_kind = |(name, kind): (&String, &ProjectKind)| {
        let usable =
            |test| usable(site, kind, test).map(|(command, recipe)| (command, recipe, test));
        let mut all = kind.tests.iter().filter_map(usable);
        let first = all.next()?;
        // What is installed can be used. If nothing is, the user is told what to install.
        let can_start = |(command, _, _): &(String, _, _)| site.can_start(command);
        let (command, recipe, test) =
            if can_start(&first) { first } else { all.find(can_start).unwrap_or(first) };
        let (kind, only) = (name.clone(), test.only.clone());
        proves_nothing(&command).is_none().then_some(Derived { kind, command, recipe, only })
    };
    kinds.iter().filter_map(of_kind).collect()
}

/// Returns a command of a kind for a directory if its conditions hold, and the recipe if it is a target.
fn usable(
    site: &Site<'_>,
    kind: &ProjectKind,
    test: &TestCommand,
) -> Option<(String, Option<Vec<String>>)> {
    let command = match site.dir() {
        "" => test.run.clone()?,
        dir => test.below.as_ref()?.replace("{}", dir),
    };
    if !test.all.iter().all(|condition| site.holds(condition)) {
        return None;
    }
    let is_any = |conditions: &[String]| conditions.iter().any(|condition| site.holds(condition));
    if !is_any(if test.any.is_empty() { &kind.manifests } else { &test.any }) {
        return None;
    }
    let recipe = match &test.target {
        None => None,
        Some(target) => Some(site.texts(&kind.manifests).find_map(|text| recipe(&text, target))?),
    };
    if test.scripts.is_empty() {
        return Some((command, recipe));
    }
    let script = site.texts(&kind.manifests).find_map(|text| script(&text, &test.scripts))?;
    Some((command.replace("{script}", script), recipe))
}

/// Returns the first of `names` that is a script of a manifest in JSON and could fail.
fn script<'s>(manifest: &str, names: &'s [String]) -> Option<&'s str> {
    let manifest: serde_json::Value = serde_json::from_str(manifest).ok()?;
    let could_fail = |name: &&String| {
        let line = match manifest.pointer(&format!("/scripts/{name}")) {
            Some(serde_json::Value::String(line)) => line.clone(),
            Some(serde_json::Value::Array(lines)) => {
                lines.iter().filter_map(|line| line.as_str()).collect::<Vec<_>>().join(" && ")
            }
            Some(_) | None => return false,
        };
        // npm's own placeholder fails, but tests nothing.
        !line.is_empty() && !line.contains("no test specified") && proves_nothing(&line).is_none()
    };
    names.iter().find(could_fail).map(String::as_str)
}

/// Moves targets of a Makefile to the front. A target that wraps another command adds nothing; one that runs the tests
/// of a kind in its own way replaces the command of that kind.
fn with_own_words_first(derived: Vec<Derived>, kinds: &Kinds) -> Vec<Derived> {
    let (own, mut others): (Vec<Derived>, Vec<Derived>) =
        derived.into_iter().partition(|it| it.recipe.is_some());
    let mut first = Vec::new();
    for target in own {
        let lines = target.recipe.as_deref().unwrap_or_default();
        let wraps = |other: &Derived| lines.iter().any(|line| line.contains(&other.command));
        if others.iter().any(wraps) {
            continue;
        }
        let runs: Vec<&str> = lines.iter().filter_map(|line| kind_of(line, kinds)).collect();
        others.retain(|other| !runs.contains(&other.kind.as_str()));
        first.push(target);
    }
    first.extend(others);
    first
}

/// Returns the commands for the directories one level below the root, or two if there are none.
fn derived_below(root: &Site<'_>, kinds: &Kinds) -> Vec<Derived> {
    let mut sites: Vec<Site<'_>> = root.below().take(MOST_DIRS).collect();
    for _ in 0..2 {
        let mut found = Vec::new();
        for site in &sites {
            let derived = derived_in(site, kinds);
            if !derived.is_empty() {
                site.note();
            }
            found.extend(derived);
            if found.len() >= MOST_BELOW {
                found.truncate(MOST_BELOW);
                break;
            }
        }
        if !found.is_empty() {
            return found;
        }
        sites = sites.iter().flat_map(Site::below).take(MOST_DIRS).collect();
    }
    Vec::new()
}
