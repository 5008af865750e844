//! Finds the project root above a directory. Pure: the caller says which files exist.

use std::path::Path;

/// Entries that only a project root has, and manifests, which its subdirectories may have too.
const ROOTS: [&str; 2] = [".deepseek", ".git"];
const MANIFESTS: [&str; 4] = ["Cargo.toml", "package.json", "pyproject.toml", "go.mod"];

/// Returns the nearest directory from `from` upwards that is a project root, else the nearest with a manifest, else `from`.
/// The search stops below `home` and below the root of the file system.
pub(crate) fn project<'p>(
    from: &'p Path,
    home: Option<&Path>,
    is_there: &dyn Fn(&Path) -> bool,
) -> &'p Path {
    let ends = |dir: &Path| Some(dir) == home || dir.parent().is_none();
    let above = from.ancestors().skip(1).take_while(|dir| !ends(dir));
    let above = above.take_while(|_| !ends(from));
    let dirs = || std::iter::once(from).chain(above.clone());
    let has =
        |names: &[&str]| dirs().find(|dir| names.iter().any(|name| is_there(&dir.join(name))));
    has(&ROOTS).or_else(|| has(&MANIFESTS)).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'p>(from: &'p str, there: &[&str]) -> &'p str {
        let is_there = |path: &Path| there.iter().any(|there| Path::new(there) == path);
        project(Path::new(from), Some(Path::new("/home/me")), &is_there).to_str().unwrap()
    }

    #[test]
    fn a_project_is_found_from_below() {
        let repository = ["/home/me/p/.git", "/home/me/p/a/Cargo.toml"];
        assert_eq!(of("/home/me/p/a/src", &repository), "/home/me/p");
        assert_eq!(of("/home/me/p", &repository), "/home/me/p");
        assert_eq!(
            of("/home/me/p/a/src", &["/home/me/p/a/.deepseek", "/home/me/p/.git"]),
            "/home/me/p/a"
        );
        assert_eq!(of("/home/me/p/a/src", &["/home/me/p/a/Cargo.toml"]), "/home/me/p/a");
        assert_eq!(of("/home/me/p/a", &[]), "/home/me/p/a");
    }

    #[test]
    fn home_is_the_project_only_when_started_there() {
        let dotfiles = ["/home/me/.git", "/.git", "/home/.deepseek"];
        assert_eq!(of("/home/me/p", &dotfiles), "/home/me/p");
        assert_eq!(of("/home/me", &dotfiles), "/home/me");
        assert_eq!(of("/srv/p", &dotfiles), "/srv/p");
        assert_eq!(of("/", &dotfiles), "/");
    }
}
