//! Finds later versions of a project's own package that are installed on this machine: a variant that reads them knows the
//! future.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tools::regular;

/// The largest manifest that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// How deep below a place packages are looked for.
const MAX_DEPTH: usize = 6;
/// Maximum number of directories that are listed.
const MAX_DIRS: usize = 20_000;

/// A package that a project makes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnPackage {
    name: String,
    /// Absent if its manifest does not say it.
    version: Option<String>,
}

/// Returns a line for each directory in one of these places that has a later version of a package that the project at `root`
/// makes, or one whose order is not known. Blocks.
pub(crate) fn later_versions(root: &Path, places: &[PathBuf]) -> Vec<String> {
    let own = own_packages(root);
    let mut found = Vec::new();
    let mut left = MAX_DIRS;
    for place in places.iter().filter(|_| !own.is_empty()) {
        look_into(place, &own, 0, &mut left, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

fn look_into(
    dir: &Path,
    own: &[OwnPackage],
    depth: usize,
    left: &mut usize,
    found: &mut Vec<String>,
) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_in_modules = dir.file_name() == Some(OsStr::new("node_modules"));
        let installed = own.iter().find_map(|package| {
            let named = version_in(&name, &package.name).filter(|_| !is_editable(&path));
            let version = named.or_else(|| {
                (is_in_modules && name == package.name).then(|| npm_version(&path))?
            })?;
            is_later(&version, package.version.as_deref())
                .then(|| format!("{} {version}", package.name))
        });
        if let Some(installed) = installed {
            let at = path.parent().unwrap_or(&path).display();
            found.push(format!("a later version is installed: {installed} in {at}"));
        } else if depth < MAX_DEPTH && *left > 0 {
            *left -= 1;
            look_into(&path, own, depth + 1, left, found);
        }
    }
}

/// Returns the packages that the manifests at `root` name.
fn own_packages(root: &Path) -> Vec<OwnPackage> {
    let read = |name: &str| regular::read_text(&root.join(name), MAX_BYTES).ok();
    let toml = |name: &str, table: &str| {
        let document: toml::Table = read(name)?.parse().ok()?;
        let table = document.get(table)?;
        let text = |key: &str| Some(table.get(key)?.as_str()?.to_owned());
        Some(OwnPackage { name: text("name")?, version: text("version") })
    };
    let npm = || {
        let document: Value = serde_json::from_str(&read("package.json")?).ok()?;
        let text = |key: &str| Some(document.get(key)?.as_str()?.to_owned());
        Some(OwnPackage { name: text("name")?, version: text("version") })
    };
    let go = || {
        let text = read("go.mod")?;
        let module = text.lines().find_map(|line| line.strip_prefix("module "))?.trim();
        let last = module.rsplit('/').next()?;
        Some(OwnPackage { name: last.to_owned(), version: None })
    };
    let all = [toml("Cargo.toml", "package"), toml("pyproject.toml", "project"), npm(), go()];
    all.into_iter().flatten().collect()
}

/// Returns the version in the name of a directory such as `NAME-1.2.3`, `NAME-1.2.3.dist-info` or `NAME@v1.2.3`. Package
/// managers write `-`, `_` and capitals in their own ways.
fn version_in(dir: &str, package: &str) -> Option<String> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '.'], "_");
    let rest = dir.char_indices().find_map(|(at, c)| {
        let (name, rest) = dir.split_at(at);
        let is_it = (c == '-' || c == '@') && plain(name) == plain(package);
        is_it.then(|| rest.get(1..)).flatten()
    })?;
    let version = rest.trim_start_matches('v');
    let end = version.find(".dist").unwrap_or(version.len());
    let version = version.get(..end)?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

/// Returns true for the record of a package that is installed as a reference to its sources, which are those of the project.
fn is_editable(dir: &Path) -> bool {
    let text = regular::read_text(&dir.join("direct_url.json"), MAX_BYTES).unwrap_or_default();
    let document: Value = serde_json::from_str(&text).unwrap_or_default();
    document.pointer("/dir_info/editable").and_then(Value::as_bool) == Some(true)
}

fn npm_version(dir: &Path) -> Option<String> {
    let text = regular::read_text(&dir.join("package.json"), MAX_BYTES).ok()?;
    let document: Value = serde_json::from_str(&text).ok()?;
    Some(document.get("version")?.as_str()?.to_owned())
}

/// Returns true if `found` is later than `own`, or if that is not known.
fn is_later(found: &str, own: Option<&str>) -> bool {
    let Some(own) = own else { return true };
    let numbers = |version: &str| -> Vec<u64> {
        let parts = version.split(|c: char| !c.is_ascii_digit());
        parts.take(3).map(|part| part.parse().unwrap_or_default()).collect()
    };
    numbers(found) > numbers(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_names_of_directories() {
        for (dir, package, version) in [
            ("ripgrep-14.1.0", "ripgrep", Some("14.1.0")),
            ("grep-cli-0.1.10", "grep-cli", Some("0.1.10")),
            ("grep-cli-0.1.10", "grep", None),
            ("Flask_SQLAlchemy-3.1.1.dist-info", "flask-sqlalchemy", Some("3.1.1")),
            ("goldmark@v1.7.8", "goldmark", Some("1.7.8")),
            ("ripgrep", "ripgrep", None),
        ] {
            assert_eq!(version_in(dir, package).as_deref(), version, "{dir}");
        }
        assert!(is_later("1.10.0", Some("1.9.9")) && !is_later("1.9.9", Some("1.10.0")));
        assert!(!is_later("1.2.3", Some("1.2.3")) && is_later("0.1.0", None));
    }

    #[test]
    fn later_versions_are_found_wherever_a_package_manager_puts_them() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("p/Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"1.2.0\"\n");
        write("p/package.json", r#"{"name": "small", "version": "2.0.0"}"#);
        write("cargo/registry/src/index/tiny-1.3.0/x", "");
        write("cargo/registry/src/index/tiny-1.1.0/x", "");
        write("env/node_modules/small/package.json", r#"{"version": "2.0.1"}"#);
        let places = [root.path().join("cargo"), root.path().join("env")];
        let found = later_versions(&root.path().join("p"), &places);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("small 2.0.1") && found[1].contains("tiny 1.3.0"), "{found:?}");
    }
}
