//! Finds the project root above a directory. Pure: the caller says which files exist.

use std::path::Path;

use config::root_manifests;

/// Entries that only a project root has.
const ROOTS: [&str; 2] = [".deepseek", ".git"];

/// Returns the nearest directory from `from` upwards that is a project root; else the nearest with a manifest, or the
/// one above it if that has a manifest of the same kind, as for the modules of a build; else `from`. The search stops
/// below `home` and below the root of the file system.
pub(crate) fn project<'p>(
    from: &'p Path,
    home: Option<&Path>,
    is_there: &dyn Fn(&Path) -> bool,
) -> &'p Path {
    let ends = |dir: &Path| Some(dir) == home || dir.parent().is_none();
    let above = from.ancestors().skip(1).take_while(|dir| !ends(dir));
    let above = above.take_while(|_| !ends(from));
    let dirs = || std::iter::once(from).chain(above.clone());
    let has = |dir: &Path, name: &str| is_there(&dir.join(name));
    if let Some(root) = dirs().find(|dir| ROOTS.iter().any(|name| has(dir, name))) {
        return root;
    }
    let kinds = root_manifests();
    let is_of = |dir: &Path, kind: &[String]| kind.iter().any(|name| has(dir, name));
    let nearest = dirs().find_map(|dir| Some((dir, kinds.iter().find(|kind| is_of(dir, kind))?)));
    let Some((nearest, kind)) = nearest else { return from };
    let nested = dirs().skip_while(|dir| *dir != nearest).take_while(|dir| is_of(dir, kind));
    nested.last().unwrap_or(nearest)
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
        for manifest in
            ["pom.xml", "mix.exs", "build.gradle.kts", "CMakeLists.txt", "composer.json"]
        {
            assert_eq!(
                of("/home/me/p/a/src", &[&format!("/home/me/p/a/{manifest}")]),
                "/home/me/p/a"
            );
        }
        assert_eq!(of("/home/me/p/docs", &["/home/me/p/docs/Makefile"]), "/home/me/p/docs");
    }

    #[test]
    fn the_modules_of_a_build_are_one_project() {
        let modules =
            ["/home/me/p/pom.xml", "/home/me/p/core/pom.xml", "/home/me/p/core/io/pom.xml"];
        assert_eq!(of("/home/me/p/core/io/src", &modules), "/home/me/p");
        let apart = ["/home/me/p/pom.xml", "/home/me/p/tools/x/pom.xml"];
        assert_eq!(of("/home/me/p/tools/x", &apart), "/home/me/p/tools/x");
        let other = ["/home/me/p/package.json", "/home/me/p/core/Cargo.toml"];
        assert_eq!(of("/home/me/p/core", &other), "/home/me/p/core");
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
