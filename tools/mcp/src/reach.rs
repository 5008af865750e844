//! What of this machine a server that is a program sees besides the workspace and what every command sees: the places that its
//! entry names. Asks only whether they exist.

use std::path::{Path, PathBuf};

/// Returns the places that the words of an entry name by absolute paths, each with what belongs to it. `home` and what is above
/// it are never whole.
pub(crate) fn places_of<'w>(
    words: impl Iterator<Item = &'w str>,
    home: Option<&Path>,
    tree: &Path,
) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for word in words {
        // A path may be the value of an option.
        let value = word.split_once('=').filter(|_| word.starts_with('-')).map(|(_, value)| value);
        let path = Path::new(value.unwrap_or(word));
        if !path.is_absolute() || path.starts_with(tree) || !path.exists() {
            continue;
        }
        let is_whole = |place: &&Path| {
            place.parent().is_some() && !home.is_some_and(|home| home.starts_with(place))
        };
        let place = Some(with_its_own(path)).filter(is_whole).unwrap_or(path);
        if is_whole(&place) && !places.iter().any(|it| it == place) {
            places.push(place.to_owned());
        }
    }
    places
}

/// Returns why a program may not write to a place; `None` if it may. The tree is changed by edits only.
pub(crate) fn unwritable(place: &Path, home: Option<&Path>, tree: &Path) -> Option<&'static str> {
    let Ok(place) = place.canonicalize() else { return Some("which is not there") };
    let is_above = |of: &Path| of.canonicalize().is_ok_and(|of| of.starts_with(&place));
    if place.starts_with(tree) || is_above(tree) {
        return Some("but no server writes to the workspace");
    }
    let is_whole = place.parent().is_none() || home.is_some_and(is_above);
    is_whole.then_some("which holds your home directory; name a place in it")
}

/// Returns the directory of what belongs to a named path: all packages that are installed with one, the environment of a program
/// in its `bin`, the directory of another file.
fn with_its_own(path: &Path) -> &Path {
    let packages = path.ancestors().filter(|it| it.ends_with("node_modules")).last();
    if let Some(packages) = packages {
        return packages;
    }
    if path.is_dir() {
        return path;
    }
    let dir = path.parent().unwrap_or(path);
    if dir.ends_with("bin") { dir.parent().unwrap_or(dir) } else { dir }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_server_writes_neither_to_the_tree_nor_to_a_whole_home() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("home/notes")).unwrap();
        fs::create_dir_all(at("home/tree/a")).unwrap();
        let why = |name: &str| unwritable(&at(name), Some(&at("home")), &at("home/tree"));
        assert_eq!(why("home/notes"), None);
        assert!(why("home/none").unwrap().contains("not there"));
        for inside in ["home/tree", "home/tree/a", "home/notes/../tree/a", "home"] {
            assert!(why(inside).unwrap().contains("workspace"), "{inside}");
        }
        fs::create_dir_all(at("other/tree")).unwrap();
        let why = unwritable(&at("home"), Some(&at("home")), &at("other/tree"));
        assert!(why.unwrap().contains("home directory"));
    }

    #[test]
    fn a_named_file_is_seen_with_what_belongs_to_it_and_no_home_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        for file in [
            "home/tools/node_modules/@scope/server/dist/index.js",
            "home/venv/bin/python",
            "home/servers/own/main.py",
            "home/alone.js",
            "home/docs/a.md",
            "tree/server.py",
        ] {
            fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
            fs::write(dir.path().join(file), "").unwrap();
        }
        let places = |words: &[&str]| -> Vec<String> {
            let words: Vec<String> =
                words.iter().map(|it| it.replace('@', &dir.path().display().to_string())).collect();
            let words = words.iter().map(String::as_str);
            let places = places_of(words, Some(&home), &dir.path().join("tree"));
            let short = |it: PathBuf| it.strip_prefix(dir.path()).unwrap().display().to_string();
            places.into_iter().map(short).collect()
        };
        assert_eq!(places(&["node", "@/home/servers/own/main.py"]), ["home/servers/own"]);
        assert_eq!(places(&["@/home/venv/bin/python", "-m", "server"]), ["home/venv"]);
        assert_eq!(places(&["--root=@/home/docs", "@/home/docs"]), ["home/docs"]);
        assert_eq!(places(&["@/home/alone.js"]), ["home/alone.js"]);
        assert!(places(&["@/home", "/", "@/tree/server.py", "@/none", "home/docs"]).is_empty());
        let own = dir.path().join("home/tools/node_modules/@scope/server/dist/index.js");
        assert!(with_its_own(&own).ends_with("tools/node_modules"));
    }
}
