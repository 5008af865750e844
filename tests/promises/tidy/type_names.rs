//! A type that is visible outside its file has a name of its own in the workspace.

use std::collections::{BTreeMap, BTreeSet};

use super::offenders::assert_unbroken;
use super::sources::sources;

/// Names that say what a type is in its file, and are used only with its module.
const COMMON: [&str; 4] = ["Args", "Error", "Msg", "State"];

#[test]
fn names_of_visible_types_are_unique() {
    assert_unbroken("A visible type has a name of its own", &shared(&sources()));
}

#[test]
fn a_shared_type_name_is_found() {
    let file = |name: &str, code: &str| (format!("krate/src/{name}.rs"), code.to_owned());
    let sources = [
        file("lib", "mod a;\n#[cfg(not(unix))]\nmod b;\nmod c;\n"),
        file(
            "a",
            "pub struct Layers;\npub(super) enum Found {}\nenum Own {}\npub type State = u8;\n",
        ),
        file("b", "pub enum Layers {}\n"),
        file("c", "pub(crate) trait Found<T> {}\npub struct Own;\npub struct State;\n"),
    ];
    let shared = shared(&sources);
    assert_eq!(shared.keys().collect::<Vec<_>>(), ["Found"]);
    assert_eq!(shared["Found"], "krate/src/a.rs, krate/src/c.rs");
}

/// Returns the names that several visible types have, each with their files.
fn shared(sources: &[(String, String)]) -> BTreeMap<String, String> {
    let stand_ins = stand_ins(sources);
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, code) in sources.iter().filter(|(path, _)| !stand_ins.contains(path)) {
        for name in code.lines().filter_map(visible_type) {
            files.entry(name).or_default().push(path);
        }
    }
    let shared = files.into_iter().filter(|(name, at)| at.len() > 1 && !COMMON.contains(name));
    shared.map(|(name, at)| (name.to_owned(), at.join(", "))).collect()
}

/// Returns the name of the type that a line declares, if other files can see it.
fn visible_type(line: &str) -> Option<&str> {
    let after = line.trim_start().strip_prefix("pub")?;
    let after = after.strip_prefix('(').map_or(Some(after), |it| Some(it.split_once(')')?.1))?;
    let (kind, name) = after.strip_prefix(' ')?.split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "type", "union"].contains(&kind);
    is_type.then(|| name.split(|c: char| !c.is_alphanumeric()).next())?
}

/// Returns the files of modules that are declared under `#[cfg(not(…))]`: their types stand in for those of another module.
fn stand_ins(sources: &[(String, String)]) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for (path, code) in sources {
        let place = path.trim_end_matches(".rs");
        let root = ["/lib", "/main", "/mod"].iter().find_map(|end| place.strip_suffix(end));
        let lines: Vec<&str> = code.lines().collect();
        for pair in lines.windows(2) {
            let module = pair[1].strip_prefix("mod ").and_then(|it| it.strip_suffix(';'));
            if let (true, Some(module)) = (pair[0].starts_with("#[cfg(not("), module) {
                files.insert(format!("{}/{module}.rs", root.unwrap_or(place)));
            }
        }
    }
    files
}
