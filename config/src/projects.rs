//! The kinds of projects in the configuration, as far as they can be understood without looking at files. Pure.

use std::collections::BTreeMap;

use serde::Deserialize as _;
use toml::Value;

use crate::layers::defaults;
use crate::schema::{OR_SOURCES, ProjectKind};

/// Returns the patterns that one with `{a,b}` stands for.
pub fn alternatives(pattern: &str) -> Vec<String> {
    let parts = pattern.split_once('{').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once('}')?;
        Some((before, inside, after))
    });
    let Some((before, inside, after)) = parts else { return vec![pattern.to_owned()] };
    let of = |one: &str| alternatives(&format!("{before}{one}{after}"));
    inside.split(',').flat_map(of).collect()
}

/// Returns the names of the files by which a directory is taken for a project, by kind. The user's settings do not
/// count, since which of them hold depends on the directory.
pub fn root_manifests() -> Vec<Vec<String>> {
    let kinds = defaults().remove("projects").unwrap_or(Value::Boolean(false));
    let kinds = BTreeMap::<String, ProjectKind>::deserialize(kinds).unwrap_or_default();
    let names = |kind: &ProjectKind| {
        let all = kind.manifests.iter().flat_map(|pattern| alternatives(pattern));
        all.filter(|name| !name.contains('*')).collect()
    };
    kinds.values().filter(|kind| kind.is_root).map(names).collect()
}

/// Returns the directories that tools make beside a file, each as the file's name and the directory: caches, outputs that
/// are not called like sources, and what has the packages of a project. The user's settings do not count.
pub fn made_beside() -> Vec<(String, String)> {
    let mut all = defaults();
    let mut sandbox = all.remove("sandbox").unwrap_or(Value::Boolean(false));
    let mut table = |name: &str| {
        let table = sandbox.as_table_mut().and_then(|sandbox| sandbox.remove(name));
        let table =
            BTreeMap::<String, Vec<String>>::deserialize(table.unwrap_or(Value::Boolean(false)));
        table.unwrap_or_default()
    };
    let built = table("caches").into_iter().chain(table("outputs"));
    let built = built.flat_map(|(file, dirs)| dirs.into_iter().map(move |dir| (file.clone(), dir)));
    let kinds = all.remove("projects").unwrap_or(Value::Boolean(false));
    let kinds = BTreeMap::<String, ProjectKind>::deserialize(kinds).unwrap_or_default();
    let packages = kinds.values().flat_map(|kind| {
        let dir = kind.programs.iter().filter_map(|programs| Some(programs.split_once('/')?.0));
        let manifests = kind.manifests.iter().flat_map(|pattern| alternatives(pattern));
        dir.flat_map(move |dir| manifests.clone().map(move |file| (file, dir.to_owned())))
    });
    built.filter(|(_, dir)| !dir.ends_with(OR_SOURCES)).chain(packages).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_alternatives() {
        assert_eq!(
            alternatives("{build,settings}.gradle{,.kts}"),
            ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"]
        );
        assert_eq!(alternatives("pom.xml"), ["pom.xml"]);
        assert_eq!(alternatives("a{b"), ["a{b"]);
    }

    #[test]
    fn tools_make_caches_outputs_and_packages_beside_a_manifest() {
        let made = made_beside();
        let has = |file: &str, dir: &str| made.contains(&(file.to_owned(), dir.to_owned()));
        assert!(has("package.json", "node_modules") && has("composer.json", "vendor"));
        assert!(has("Cargo.toml", "target") && has("CMakeLists.txt", "build"));
        assert!(!made.iter().any(|(_, dir)| dir.starts_with("lib") || dir.ends_with(OR_SOURCES)));
    }

    #[test]
    fn every_kind_but_those_that_are_everywhere_shows_a_root() {
        let names = root_manifests().concat();
        for name in [
            "Cargo.toml",
            "package.json",
            "pom.xml",
            "build.gradle.kts",
            "CMakeLists.txt",
            "deno.jsonc",
        ] {
            assert!(names.iter().any(|it| it == name), "{name}");
        }
        assert!(!names.iter().any(|name| name == "Makefile" || name.contains(['*', '{'])));
    }
}
