//! Works out what a command sees, reads and writes, from the settings, the machine and the tree.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tools::regular;

use crate::ground::{CommandNeeds, ConfinementLevel, Degree, Ground};
use crate::orders::{FileSystemView, Grants, Network, Orders, ProcessLimits, Walls};
use crate::programs;
use crate::scratch::ScratchLayers;
use crate::secrets_and_caches::{Survey, Tree, TreeWrites, survey};

/// Paths in a tree that are never written to.
const FIXED: [&str; 2] = [".git", ".deepseek"];
/// Devices that are writable at level `Floor`.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];
/// The file in a home directory with the settings of git.
const GIT_SETTINGS: &str = ".gitconfig";
/// The variable that names another one.
const GIT_SETTINGS_VARIABLE: &str = "GIT_CONFIG_GLOBAL";
/// What commands have of their own.
const OWN: [&str; 2] = ["/dev", "/proc"];
/// Shared memory, which at level `Floor` is that of all the user's programs.
const SHARED_MEMORY: &str = "/dev/shm";

/// Orders for a command, and what belongs to them.
pub(crate) struct WallPlan {
    pub(crate) orders: Orders,
    /// Variables to set for the command.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Directories that were created.
    pub(crate) made: Vec<PathBuf>,
    /// The temporary directory, at level `Floor`.
    pub(crate) scratch: Option<tempfile::TempDir>,
}

/// The paths outside the tree that a command can use.
#[derive(Default)]
pub(crate) struct Outside {
    read: BTreeSet<PathBuf>,
    /// Directories under a discarded layer of writes.
    pub(crate) layered: BTreeSet<PathBuf>,
    /// Symbolic links on the way to the readable paths, each with its target.
    links: BTreeSet<(PathBuf, PathBuf)>,
    env: Vec<(OsString, OsString)>,
}

impl Ground {
    /// Works out what a command gets at `level`; `None` if it is not confined.
    pub(crate) fn plan(
        &self,
        level: &ConfinementLevel,
        wanted: &CommandNeeds<'_>,
    ) -> io::Result<Option<WallPlan>> {
        let mut tree = *wanted.tree;
        if level.degree() != Degree::Full {
            // Without mounts, a tree is seen where it is.
            tree.at = tree.root;
        }
        let wanted = &CommandNeeds { tree: &tree, ..*wanted };
        let survey = survey(wanted.tree, &self.settings.caches)?;
        let mut outside = self.outside(wanted);
        let (mut caches, made) = if wanted.tree.writes.keep_caches() {
            (survey.caches.clone(), make(&survey))
        } else {
            (Vec::new(), Vec::new())
        };
        caches.extend(made.iter().cloned());
        outside.env.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
        // Git looks for the repository above the tree, which is a mount.
        outside.env.push(("GIT_DISCOVERY_ACROSS_FILESYSTEM".into(), "1".into()));
        if wanted.network == Network::Own {
            let offline = self.settings.offline.iter();
            outside.env.extend(offline.map(|(name, value)| (name.into(), value.into())));
        }
        let (walls, scratch) = match level {
            ConfinementLevel::Full(_) => {
                outside.env.push(("TMPDIR".into(), "/tmp".into()));
                if self.home().is_none() {
                    outside.env.push(("HOME".into(), "/tmp".into()));
                }
                let home = self.home().and_then(|home| home.canonicalize().ok());
                let home = home.unwrap_or_else(|| "/tmp".into());
                let settings = home.join(GIT_SETTINGS);
                self.name_git_settings(&settings, &mut outside);
                let mut view = self.view(wanted, survey, &outside, &caches)?;
                if !settings.starts_with(wanted.tree.at) {
                    let text = self.git_settings().text.clone();
                    view.made.push((settings.into(), text));
                }
                (Walls::Full(Box::new(view)), None)
            }
            ConfinementLevel::Floor { .. } => {
                let scratch = self.scratch()?;
                let home = private(&self.real_home(wanted))?;
                let settings = home.join(GIT_SETTINGS);
                regular::write_regular_file(&settings, self.git_settings().text.as_bytes())?;
                self.name_git_settings(&settings, &mut outside);
                outside.env.push(("TMPDIR".into(), scratch.path().into()));
                outside.env.push(("HOME".into(), home.clone().into()));
                caches.extend([home, scratch.path().to_owned()]);
                caches.extend(wanted.write.iter().filter_map(|path| path.canonicalize().ok()));
                (Walls::Floor(self.grants(wanted, &survey, &outside, &caches)?), Some(scratch))
            }
            ConfinementLevel::None(_) | ConfinementLevel::Off => return Ok(None),
        };
        let limits = ProcessLimits {
            processes: self.settings.max_processes,
            file_bytes: self.settings.max_file_bytes,
        };
        let parent = rustix::process::getpid().as_raw_nonzero().get();
        let CommandNeeds { streams, network, .. } = *wanted;
        let orders = Orders { parent, streams, walls, network, limits };
        Ok(Some(WallPlan { orders, env: outside.env, made, scratch }))
    }

    /// Makes commands read these settings of git where the user has named a file for them.
    fn name_git_settings(&self, settings: &Path, outside: &mut Outside) {
        if self.places.passed.contains_key(GIT_SETTINGS_VARIABLE) {
            outside.env.push((GIT_SETTINGS_VARIABLE.into(), settings.into()));
        }
    }

    /// Creates a directory for temporary files.
    pub(crate) fn scratch(&self) -> io::Result<tempfile::TempDir> {
        let dir = private(&self.places.private.join("tmp"))?;
        tempfile::Builder::new().prefix("command-").tempdir_in(dir)
    }

    /// Returns the home directory, if it is one: a user without an entry in the password file may have `/`, or a directory
    /// of the system, which commands need.
    fn home(&self) -> Option<&Path> {
        let system = self.settings.read.iter().map(String::as_str).chain(OWN);
        let home = self.places.home.as_deref().filter(|home| home.is_absolute() && home.is_dir());
        home.filter(|home| !system.clone().any(|path| Path::new(path).starts_with(home)))
    }

    /// Collects the paths outside the tree that are readable or get a layer for writes.
    pub(crate) fn outside(&self, wanted: &CommandNeeds<'_>) -> Outside {
        let mut outside = Outside::default();
        for path in &self.settings.read {
            if let Some(path) = self.expanded(path) {
                outside.add_to_read(&path);
            }
        }
        let mut tool_dirs = BTreeSet::new();
        for tool in self.settings.tools.values() {
            let named = self.places.vars.get(&tool.variable).filter(|value| value.starts_with('/'));
            let dir = named.map_or_else(|| self.expanded(&tool.home), |value| Some(value.into()));
            let Some(dir) = dir.filter(|dir| dir.is_dir()) else { continue };
            for name in &tool.read {
                outside.add_to_read(&below(&dir, name));
            }
            for name in &tool.layered {
                let path = below(&dir, name);
                if let Ok(real) = path.canonicalize() {
                    outside.layered.insert(real);
                }
            }
            tool_dirs.extend(dir.canonicalize());
            if !tool.variable.is_empty() {
                outside.env.push((tool.variable.clone().into(), dir.into()));
            }
        }
        self.add_programs(wanted.tree, &tool_dirs, &mut outside);
        // Everything kept for the workspace is in one directory.
        let own = self.places.private.parent().unwrap_or(&self.places.private);
        for dir in (wanted.tree.git_dirs)(own).iter().chain(wanted.read) {
            outside.add_to_read(dir);
        }
        for file in &self.git_settings().files {
            let named = file.strip_prefix("/").unwrap_or(file).to_string_lossy();
            if !(wanted.tree.is_secret)(&named) {
                outside.add_to_read(file);
            }
        }
        for dir in packages_above(wanted.tree.at) {
            outside.add_to_read(&dir);
        }
        if wanted.network == Network::Host {
            // `/etc/resolv.conf` may be a link to somewhere else.
            outside.add_to_read(Path::new("/etc/resolv.conf"));
        }
        if let Some(home) = self.home() {
            outside.add_links(home);
        }
        let tree = wanted.tree.at;
        outside.read.retain(|path| !path.starts_with(tree));
        outside.layered.retain(|path| !path.starts_with(tree));
        outside
    }

    /// Returns the first of these paths that exists, and that commands in a tree do not see.
    pub(crate) fn first_hidden(
        &self,
        wanted: &CommandNeeds<'_>,
        paths: &[PathBuf],
    ) -> Option<PathBuf> {
        let outside = self.outside(wanted);
        let cache = self.home().map(|home| home.join(".cache"));
        let seen: Vec<&Path> = OWN
            .iter()
            .map(Path::new)
            .chain([wanted.tree.at, wanted.tree.root])
            .chain(outside.read.iter().chain(&outside.layered).map(PathBuf::as_path))
            .chain(cache.as_deref())
            .collect();
        // The directories above what is seen are there.
        let is_seen =
            |path: &Path| seen.iter().any(|it| path.starts_with(it) || it.starts_with(path));
        let mut there = paths.iter().filter_map(|path| Some((path, path.canonicalize().ok()?)));
        there.find(|(path, real)| !is_seen(path) && !is_seen(real)).map(|(path, _)| path.clone())
    }

    /// Adds the directories in `PATH`, and what the programs in them need.
    fn add_programs(&self, tree: &Tree<'_>, tools: &BTreeSet<PathBuf>, outside: &mut Outside) {
        let found = self.programs.get_or_init(|| {
            let is_secret = |path: &Path| {
                let named = path.strip_prefix("/").unwrap_or(path).to_string_lossy();
                (tree.is_secret)(&named) || (tree.is_secret)(&format!("{named}/x"))
            };
            let own = [tree.at.to_owned(), tree.root.to_owned()];
            let kept: Vec<PathBuf> = self.places.kept.iter().cloned().chain(own).collect();
            let (home, is_secret) = (self.home(), &is_secret);
            let limits = programs::ProgramSearchLimits { home, kept: &kept, tools, is_secret };
            let path = self.places.vars.get("PATH").map(String::as_str).unwrap_or_default();
            let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute());
            // Shims run programs from the directory that contains theirs.
            let dirs = dirs.map(|dir| match dir.parent() {
                Some(beside) if dir.ends_with("shims") => beside.to_owned(),
                _ => dir,
            });
            let in_tree = |dir: &Path| dir.starts_with(tree.at) || dir.starts_with(tree.root);
            let dirs: Vec<PathBuf> =
                dirs.filter(|dir| !in_tree(dir) && limits.allow_listed(dir)).collect();
            let mut found = programs::needed(&dirs, &self.places.passed, &outside.read, &limits);
            found.retain(|path| !in_tree(path));
            found.extend(dirs);
            found
        });
        for path in found {
            outside.add_to_read(path);
        }
    }

    /// Returns the directory that stands for the home directory of a command where there are no mounts.
    fn real_home(&self, wanted: &CommandNeeds<'_>) -> PathBuf {
        wanted.home.map_or_else(|| self.places.private.join("home"), |name| self.kept_home(name))
    }

    fn expanded(&self, path: &str) -> Option<PathBuf> {
        match path.strip_prefix("~/") {
            Some(rest) => Some(self.home()?.join(rest)),
            None => Some(path.into()),
        }
    }

    fn hidden(&self) -> impl Iterator<Item = PathBuf> {
        let real = |path: &String| self.expanded(path)?.canonicalize().ok();
        // Commands run as the user, so paths that the user cannot read need not be hidden.
        let can_be_read = |path: &PathBuf| access(path, Access::READ_OK).is_ok();
        self.settings.hidden.iter().filter_map(real).filter(can_be_read)
    }

    fn view(
        &self,
        wanted: &CommandNeeds<'_>,
        survey: Survey,
        outside: &Outside,
        caches: &[PathBuf],
    ) -> io::Result<FileSystemView> {
        let Tree { root, at: tree, writes, .. } = *wanted.tree;
        // If the tree contains the home directory, the home directory is not hidden.
        let home = self.home().filter(|home| !home.starts_with(tree));
        let home = home.and_then(|home| home.canonicalize().ok());
        let mut kept = Vec::new();
        let mut kept_home = None;
        match (&home, wanted.home) {
            (Some(_), Some(name)) => kept_home = Some(private(&self.kept_home(name))?.into()),
            (Some(home), None) => {
                let cache = private(&self.places.private.join("cache"))?;
                kept.push((cache.into(), home.join(".cache").into()));
            }
            (None, _) => {}
        }
        let write = wanted.write.iter().filter_map(|path| path.canonicalize().ok());
        kept.extend(write.map(|path| (path.clone().into(), path.into())));
        let shown = |path: &Path| path.strip_prefix(root).map(|path| tree.join(path));
        let fixed = FIXED
            .iter()
            .filter(|name| root.join(name).symlink_metadata().is_ok_and(|data| !data.is_symlink()));
        let is_in_cache = |path: &PathBuf| caches.iter().any(|cache| path.starts_with(cache));
        let secrets = survey.secrets.into_iter().filter(|path| !is_in_cache(path));
        let secrets = secrets.filter_map(|path| shown(&path).ok());
        let caches = caches.iter().filter_map(|path| Some((path.into(), shown(path).ok()?.into())));
        Ok(FileSystemView {
            cwd: shown(wanted.cwd).unwrap_or_else(|_| wanted.cwd.to_owned()).into(),
            tree: tree.into(),
            source: root.into(),
            is_kept: writes == TreeWrites::Kept,
            held: wanted.layers.map(ScratchLayers::held),
            read: os(&outside.read),
            links: outside
                .links
                .iter()
                .map(|(path, to)| (path.clone().into(), to.clone().into()))
                .collect(),
            layered: os(&outside.layered),
            kept,
            home: home.map(OsString::from),
            kept_home,
            fixed: fixed.map(|name| tree.join(name).into()).collect(),
            hidden: secrets.chain(self.hidden()).map(OsString::from).collect(),
            caches: caches.collect(),
            made: Vec::new(),
            scratch_bytes: self.settings.scratch_bytes,
        })
    }

    fn grants(
        &self,
        wanted: &CommandNeeds<'_>,
        survey: &Survey,
        outside: &Outside,
        write: &[PathBuf],
    ) -> io::Result<Grants> {
        let hidden: Vec<PathBuf> = survey.secrets.iter().cloned().chain(self.hidden()).collect();
        let mut grants = Grants { write: os(write), ..Grants::default() };
        grants.write.extend(DEVICES.map(OsString::from));
        let whole = [PathBuf::from("/proc"), "/dev/random".into(), "/dev/urandom".into()];
        let tree = wanted.tree.root.to_owned();
        grants.write.push(SHARED_MEMORY.into());
        for path in outside.read.iter().chain(&outside.layered).chain(&whole).chain([&tree]) {
            let access = if path == &tree && wanted.tree.writes == TreeWrites::Kept {
                &mut grants.write
            } else {
                &mut grants.read
            };
            let mut list = Vec::new();
            grant_without(path, &hidden, access, &mut list)?;
            grants.list.append(&mut list);
        }
        Ok(grants)
    }
}

impl Outside {
    /// Adds an existing path by its real location, along with the link that leads there.
    fn add_to_read(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else { return };
        // A path outside the tree never stands for the whole file system.
        if real == Path::new("/") {
            return;
        }
        self.add_links(path);
        self.read.insert(real);
    }

    /// Adds the symbolic links on the way to a path.
    fn add_links(&mut self, path: &Path) {
        /// Maximum number of links followed, as in the kernel.
        const MAX_LINKS: usize = 40;
        let mut waiting = vec![path.to_owned()];
        for _ in 0..MAX_LINKS {
            let Some(path) = waiting.pop() else { return };
            let ancestors: Vec<&Path> = path.ancestors().collect();
            let first =
                ancestors.into_iter().rev().find_map(|at| Some((at, fs::read_link(at).ok()?)));
            let Some((at, says)) = first else { continue };
            let rest = path.strip_prefix(at).unwrap_or(Path::new(""));
            let target = at.parent().unwrap_or(at).join(&says);
            if self.links.insert((at.to_owned(), says)) {
                waiting.push(programs::lexically_normal(&target.join(rest)));
            }
        }
    }
}

/// Grants access to `path` except for hidden paths below it. Landlock rules can only add access, so a directory with
/// hidden content is only listed, and its other entries are granted one by one.
fn grant_without(
    path: &Path,
    hidden: &[PathBuf],
    access: &mut Vec<OsString>,
    list: &mut Vec<OsString>,
) -> io::Result<()> {
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        if hidden.iter().any(|hidden| path.starts_with(hidden)) {
            continue;
        }
        if !hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            access.push(path.into());
            continue;
        }
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            // The target of a link is granted, or not, at its own location.
            if !entry.file_type()?.is_symlink() {
                waiting.push(entry.path());
            }
        }
        list.push(path.into());
    }
    Ok(())
}

/// Returns the directories of packages above a package: those that Node.js searches for what the package itself does not
/// have, up to the top of the repository.
fn packages_above(tree: &Path) -> Vec<PathBuf> {
    if !tree.join("package.json").is_file() || tree.join(".git").exists() {
        return Vec::new();
    }
    let above: Vec<&Path> = tree.ancestors().skip(1).collect();
    let Some(top) = above.iter().position(|dir| dir.join(".git").exists()) else {
        return Vec::new();
    };
    let dirs = above.into_iter().take(top + 1).map(|dir| dir.join("node_modules"));
    dirs.filter(|dir| dir.is_dir()).collect()
}

/// Creates missing caches, so that what is built in them persists.
fn make(survey: &Survey) -> Vec<PathBuf> {
    let single = survey.missing_caches.iter();
    single.filter(|dir| fs::create_dir(dir).is_ok()).cloned().collect()
}

/// Creates a directory private to the user, and returns its real path.
fn private(dir: &Path) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    dir.canonicalize()
}

fn below(dir: &Path, name: &str) -> PathBuf {
    if name == "." { dir.to_owned() } else { dir.join(name) }
}

fn os<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<OsString> {
    paths.into_iter().map(OsString::from).collect()
}
