//! Finds what the user's programs need to run, beyond the directories in `PATH`: the environment that a program belongs
//! to, the targets of links, the interpreter of a script.
//!
//! The rules go by the form of a directory, never by its name, and only what is outside the workspace counts: a
//! repository can contain any link.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use tools::regular;

/// Maximum number of programs of one directory that are examined.
const MAX_PROGRAMS: usize = 4096;
/// Bytes at the start of a script in which its interpreter is named.
const FIRST_LINE: u64 = 256;
/// Maximum size of a file that describes a virtual environment, in bytes.
const MAX_NOTE_BYTES: u64 = 1 << 16;

/// What must not become readable because a program needs it.
pub(crate) struct ProgramSearchLimits<'l> {
    /// The home directory.
    pub(crate) home: Option<&'l Path>,
    /// Directories that must not be below something that becomes readable.
    pub(crate) kept: &'l [PathBuf],
    /// Directories of tools, of which the configuration says what is readable.
    pub(crate) tools: &'l BTreeSet<PathBuf>,
    /// Returns true if the files in a directory are secret.
    pub(crate) is_secret: &'l dyn Fn(&Path) -> bool,
}

/// Returns the directories and files that programs need, by their real paths. `path` are the directories of `PATH`
/// outside the workspace, `vars` the variables that commands get, `known` what is readable for other reasons.
pub(crate) fn needed(
    path: &[PathBuf],
    vars: &BTreeMap<String, String>,
    known: &BTreeSet<PathBuf>,
    limits: &ProgramSearchLimits<'_>,
) -> BTreeSet<PathBuf> {
    let listed: BTreeSet<PathBuf> = path.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
    let mut search = Search { known, listed: &listed, limits, found: BTreeSet::new() };
    for dir in path {
        search.environment_with(dir);
    }
    // Several entries of `PATH` often lead to one directory.
    for dir in &listed {
        search.programs_in(dir);
    }
    for value in vars.values().map(Path::new).filter(|value| value.is_absolute()) {
        if value.join("bin").is_dir() || is_environment(value) {
            search.add_dir(value);
        }
    }
    search.found
}

/// Returns true if a directory is a virtual environment or a conda environment.
fn is_environment(dir: &Path) -> bool {
    dir.join("pyvenv.cfg").is_file() || dir.join("conda-meta").is_dir()
}

struct Search<'s> {
    known: &'s BTreeSet<PathBuf>,
    /// The directories of `PATH`.
    listed: &'s BTreeSet<PathBuf>,
    limits: &'s ProgramSearchLimits<'s>,
    found: BTreeSet<PathBuf>,
}

impl Search<'_> {
    fn is_readable(&self, path: &Path) -> bool {
        let mut all = self.known.iter().chain(self.listed).chain(&self.found);
        all.any(|readable| path.starts_with(readable))
    }

    /// Adds a directory, if it may become readable. Returns whether it is readable now.
    fn add_dir(&mut self, dir: &Path) -> bool {
        let Ok(real) = dir.canonicalize() else { return false };
        if self.is_readable(&real) {
            return true;
        }
        let is_allowed = real.is_dir() && self.limits.allow(&real);
        if is_allowed {
            self.found.insert(real);
        }
        is_allowed
    }

    /// Adds the environment that has `dir` as its directory of programs, and the installation that a virtual environment
    /// was made from.
    fn environment_with(&mut self, dir: &Path) {
        let Some(root) = dir.parent().filter(|root| is_environment(root)) else { return };
        if !self.add_dir(root) {
            return;
        }
        let note = regular::read_text(&root.join("pyvenv.cfg"), MAX_NOTE_BYTES).unwrap_or_default();
        let home = note.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "home").then(|| PathBuf::from(value.trim()))
        });
        if let Some(home) = home.filter(|home| has_python(home)) {
            self.installation_with(&home);
        }
    }

    /// Adds the installation whose programs are in `dir`, or else the directory alone.
    fn installation_with(&mut self, dir: &Path) {
        let Ok(dir) = dir.canonicalize() else { return };
        if self.is_readable(&dir) {
            return;
        }
        let root = dir.parent().filter(|_| dir.ends_with("bin"));
        if !root.is_some_and(|root| self.add_dir(root)) {
            self.add_dir(&dir);
        }
    }

    /// Adds what the programs in a directory lead to.
    fn programs_in(&mut self, dir: &Path) {
        // Scripts of the system have interpreters of the system.
        let is_of_system = self.known.iter().any(|known| dir.starts_with(known));
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        for entry in entries.take(MAX_PROGRAMS) {
            let is_link = entry.file_type().is_ok_and(|it| it.is_symlink());
            let path = entry.path();
            let target = if is_link { end_of_links(&path) } else { path };
            // Most programs need nothing else, and resolving every path would take longer than a small check.
            if is_of_system && self.is_readable(&target) {
                continue;
            }
            let Ok(real) = target.canonicalize() else { continue };
            if !self.is_readable(&real) {
                self.add_target(dir, &real);
            }
            if let Some(interpreter) = interpreter(&real)
                && let Some(dir) = interpreter.parent()
            {
                self.environment_with(dir);
                self.installation_with(dir);
            }
        }
    }

    /// Adds what a link in `dir` leads to: the common prefix of both, as package managers have one; or the package that
    /// the target belongs to.
    fn add_target(&mut self, dir: &Path, target: &Path) {
        let Ok(dir) = dir.canonicalize() else { return };
        let prefix = dir.parent().filter(|prefix| target.starts_with(prefix));
        if prefix.is_some_and(|prefix| self.add_dir(prefix)) {
            return;
        }
        let packages = target.ancestors().filter(|dir| dir.ends_with("node_modules")).last();
        if packages.is_some_and(|packages| self.add_dir(packages)) {
            return;
        }
        if let Some(dir) = target.parent() {
            self.environment_with(dir);
            self.installation_with(dir);
        }
        if !self.is_readable(target) && self.limits.allow(target) {
            self.found.insert(target.to_owned());
        }
    }
}

impl ProgramSearchLimits<'_> {
    /// Returns true if a real path may become readable because a program needs it.
    fn allow(&self, path: &Path) -> bool {
        let is_of_tool = self.tools.iter().any(|tool| tool.starts_with(path));
        !is_of_tool && self.allow_listed(path) && !(self.is_secret)(path)
    }

    /// Returns true if a directory may become readable because `PATH` lists it.
    pub(crate) fn allow_listed(&self, dir: &Path) -> bool {
        let holds = |kept: &Path| kept.starts_with(dir);
        let is_too_much = dir.parent().is_none()
            || self.home.is_some_and(holds)
            || self.kept.iter().any(|kept| holds(kept));
        !is_too_much
    }
}

/// Follows a link, and the links that it leads to.
fn end_of_links(link: &Path) -> PathBuf {
    /// Maximum number of links followed, as in the kernel.
    const MAX_LINKS: usize = 40;
    let mut at = link.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(to) = fs::read_link(&at) else { break };
        at = lexically_normal(&at.parent().unwrap_or(&at).join(to));
    }
    at
}

/// Removes `.` and `..` from an absolute path.
pub(crate) fn lexically_normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

/// Returns true if a directory has a Python interpreter.
fn has_python(dir: &Path) -> bool {
    ["python", "python3"].iter().any(|name| dir.join(name).is_file())
}

/// Returns the interpreter that a script names in its first line.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut first = Vec::new();
    let file =
        File::open(script).ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    file.take(FIRST_LINE).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    let path = Path::new(std::ffi::OsStr::from_bytes(word));
    (path.is_absolute() && path.is_file()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A home directory with some files, directories and links.
    struct Home(tempfile::TempDir);

    impl Home {
        fn with(files: &[(&str, &str)], links: &[(&str, &str)]) -> Self {
            let home = Self(tempfile::tempdir().unwrap());
            for (path, content) in files {
                let at = home.at(path);
                fs::create_dir_all(at.parent().unwrap()).unwrap();
                fs::write(&at, content.replace("HOME", home.at("").to_str().unwrap())).unwrap();
                fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
            }
            for (link, to) in links {
                let at = home.at(link);
                fs::create_dir_all(at.parent().unwrap()).unwrap();
                symlink(to.replace("HOME", home.at("").to_str().unwrap()), at).unwrap();
            }
            home
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn needed(&self, path: &[&str], vars: &[(&str, &str)]) -> Vec<String> {
            let home = self.at("");
            let path: Vec<PathBuf> = path.iter().map(|dir| self.at(dir)).collect();
            let vars = vars.iter().map(|(name, dir)| {
                ((*name).to_owned(), self.at(dir).to_string_lossy().into_owned())
            });
            let limits = ProgramSearchLimits {
                home: Some(home.as_path()),
                kept: &[self.at(".local/share"), self.at("work/project")],
                tools: &[self.at(".cargo")].into(),
                is_secret: &|path| path.components().any(|part| part.as_os_str() == ".aws"),
            };
            let known = ["/usr", "/bin"].map(PathBuf::from).into();
            let found = needed(&path, &vars.collect(), &known, &limits);
            let short = |path: PathBuf| path.strip_prefix(&home).unwrap().display().to_string();
            found.into_iter().map(short).collect()
        }
    }

    #[test]
    fn the_environment_of_a_program_is_needed_wherever_it_is() {
        let home = Home::with(
            &[
                ("envs/p/pyvenv.cfg", "home = HOME/pythons/3.12/bin\n"),
                ("envs/p/bin/tool", ""),
                ("pythons/3.12/bin/python3", ""),
                ("mamba/envs/q/conda-meta/history", ""),
                ("mamba/envs/q/bin/python", ""),
                ("jdk/bin/java", ""),
            ],
            &[],
        );
        assert_eq!(home.needed(&["envs/p/bin"], &[]), ["envs/p", "pythons/3.12"]);
        assert_eq!(home.needed(&["mamba/envs/q/bin"], &[]), ["mamba/envs/q"]);
        assert_eq!(home.needed(&[], &[("JAVA_HOME", "jdk"), ("X", "envs")]), ["jdk"]);
    }

    #[test]
    fn links_lead_to_their_prefix_or_their_package() {
        let home = Home::with(
            &[
                ("npm/lib/node_modules/a/cli.js", ""),
                ("brew/Cellar/b/1/bin/b", ""),
                (".local/share/x/c/bin/c", ""),
                ("pnpm/5/node_modules/.pnpm/d/node_modules/d/cli.js", ""),
                ("e.sh", ""),
                ("tools/f/f.sh", ""),
            ],
            &[
                ("npm/bin/a", "../lib/node_modules/a/cli.js"),
                ("brew/bin/b", "../Cellar/b/1/bin/b"),
                (".local/bin/c", "../share/x/c/bin/c"),
                (".local/bin/d", "HOME/pnpm/5/node_modules/.pnpm/d/node_modules/d/cli.js"),
                (".local/bin/e", "HOME/e.sh"),
                (".local/bin/f", "HOME/tools/f/f.sh"),
            ],
        );
        assert_eq!(home.needed(&["npm/bin"], &[]), ["npm"]);
        assert_eq!(home.needed(&["brew/bin"], &[]), ["brew"]);
        assert_eq!(
            home.needed(&[".local/bin"], &[]),
            [".local/share/x/c", "e.sh", "pnpm/5/node_modules", "tools/f"]
        );
    }

    #[test]
    fn a_script_needs_its_interpreter() {
        let home = Home::with(
            &[
                ("bin/tool", "#!HOME/envs/p/bin/python -u\n"),
                ("envs/p/pyvenv.cfg", ""),
                ("envs/p/bin/python", ""),
                ("bin/other", "#!/bin/sh\n"),
            ],
            &[],
        );
        let found = home.needed(&["bin"], &[]);
        assert!(found.contains(&"envs/p".to_owned()), "{found:?}");
        assert!(
            found.iter().all(|path| path == "envs/p" || !path.starts_with("envs")),
            "{found:?}"
        );
    }

    #[test]
    fn the_home_directory_what_holds_the_project_and_secrets_stay_hidden() {
        let home = Home::with(
            &[
                ("pyvenv.cfg", "home = HOME/.aws\n"),
                ("bin/x", ""),
                ("work/pyvenv.cfg", ""),
                ("work/bin/y", ""),
                (".aws/python3", ""),
                ("envs/p/pyvenv.cfg", "home = HOME/.aws\n"),
                ("envs/p/bin/tool", ""),
            ],
            &[("bin/aws", "HOME/.aws/python3")],
        );
        assert_eq!(home.needed(&["bin"], &[("A", ""), ("B", "work")]), Vec::<String>::new());
        assert_eq!(home.needed(&["work/bin"], &[]), Vec::<String>::new());
        assert_eq!(home.needed(&["envs/p/bin"], &[]), ["envs/p"]);
    }
}
