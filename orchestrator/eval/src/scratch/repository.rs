//! Scratch repositories: what a variant works on. They know nothing of what comes after the parent of a commit, and have
//! the packages that the user has installed beside the project.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tree::{copy_directory, remove_tree};

use crate::drawn::commits::git;
use crate::drawn::exercises::OF_THE_SOLUTION;
use crate::eval_error::EvalError;
use crate::results::record::{CaseOrigin, EvalCase};

/// A scratch repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scratch {
    /// The top of its work tree.
    pub(crate) top: PathBuf,
    /// The path at which programs see the top, where they can see it at another one.
    pub(crate) seen: PathBuf,
    /// The workspace below the top.
    pub(crate) below: PathBuf,
}

/// What scratch repositories are made from.
#[derive(Debug, Clone)]
pub(crate) struct ScratchSource {
    /// The top of the user's repository; `None` for exercises.
    pub(crate) top: Option<PathBuf>,
    /// The workspace below the top.
    pub(crate) below: PathBuf,
    /// Names of directories in which package managers install the packages of a project.
    pub(crate) package_dirs: Vec<String>,
    /// Larger directories are not copied.
    pub(crate) max_bytes: u64,
}

/// What was found while a scratch repository was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Directories with installed packages, which were copied.
    pub(crate) environments: Vec<PathBuf>,
    /// Those that are too large to be copied.
    pub(crate) left: Vec<PathBuf>,
}

impl Scratch {
    /// Returns the workspace, as it is on disk.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.top.join(&self.below)
    }

    /// Returns the workspace, as programs see it.
    pub(crate) fn seen_workspace(&self) -> PathBuf {
        self.seen.join(&self.below)
    }

    /// Makes the repository of a case in `dir`, which is emptied first. Blocks.
    pub(crate) fn make(
        case: &EvalCase,
        source: &ScratchSource,
        dir: &Path,
    ) -> Result<(Self, Carried), EvalError> {
        let file = |error: io::Error| EvalError::File { path: dir.to_owned(), error };
        if dir.exists() {
            remove_tree(dir).map_err(file)?;
        }
        fs::create_dir_all(dir).map_err(file)?;
        let scratch = Self::find(case, source, dir);
        let top = &scratch.top;
        let carried = match (&case.origin, &source.top) {
            (CaseOrigin::Commit { parent, .. }, Some(user)) => {
                fs::create_dir(top).map_err(file)?;
                without_future(user, parent, top)?;
                carry(user, top, source).map_err(file)?
            }
            (CaseOrigin::Commit { id, .. }, None) => {
                return Err(EvalError::NoCommit { id: id.clone() });
            }
            (CaseOrigin::Exercise { dir: exercise, .. }, _) => {
                let exercise = Path::new(exercise);
                copy_exercise(exercise, top, source)?;
                begin(top)?;
                git(top, &["add", "--all", "--force"])?;
                commit(top, "The exercise")?;
                carry_of_language(exercise, top, source).map_err(file)?
            }
        };
        Ok((scratch, carried))
    }

    /// Returns the repository that [`Self::make`] made in `dir`.
    pub(crate) fn find(case: &EvalCase, source: &ScratchSource, dir: &Path) -> Self {
        let name = match (&case.origin, &source.top) {
            (CaseOrigin::Exercise { dir, .. }, _) => Path::new(dir).file_name(),
            (CaseOrigin::Commit { .. }, Some(user)) => user.file_name(),
            (CaseOrigin::Commit { .. }, None) => None,
        };
        let top = dir.join(name.unwrap_or(OsStr::new("tree")));
        match (&case.origin, &source.top) {
            (CaseOrigin::Commit { .. }, Some(user)) => {
                Self { top, seen: user.clone(), below: source.below.clone() }
            }
            (CaseOrigin::Exercise { .. } | CaseOrigin::Commit { .. }, _) => {
                Self { seen: top.clone(), top, below: PathBuf::new() }
            }
        }
    }

    /// Returns those of these paths, relative to the top, that are in the workspace, relative to that.
    pub(crate) fn below_workspace(&self, paths: &[String]) -> Vec<String> {
        let below = |path: &String| {
            let path = Path::new(path).strip_prefix(&self.below).ok()?;
            Some(path.to_string_lossy().into_owned())
        };
        paths.iter().filter_map(below).collect()
    }

    /// Returns what differs from the commit that the variant began with, as a diff.
    pub(crate) fn diff(&self) -> Result<Vec<u8>, EvalError> {
        git(&self.top, &["add", "--all"])?;
        git(&self.top, &["diff", "--cached", "--no-color", "--no-ext-diff", "HEAD"])
    }
}

/// Creates a repository without hooks of the user.
fn begin(top: &Path) -> Result<(), EvalError> {
    git(top, &["init", "--quiet", "--template="])?;
    git(top, &["symbolic-ref", "HEAD", "refs/heads/main"])?;
    git(top, &["config", "gc.auto", "0"])?;
    Ok(())
}

fn commit(top: &Path, message: &str) -> Result<(), EvalError> {
    let author = ["-c", "user.name=deepseek", "-c", "user.email=deepseek@localhost"];
    let rest = ["-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify", "-m", message];
    git(top, &[author.as_slice(), &rest].concat()).map(drop)
}

/// Makes `top` a repository with the commit `id` and those before it. Its objects are copied, not borrowed: nothing leads
/// to later ones.
fn without_future(user: &Path, id: &str, top: &Path) -> Result<(), EvalError> {
    begin(top)?;
    let (from, refspec) = (user.to_string_lossy(), format!("{id}:refs/heads/main"));
    let fetch = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--update-shallow",
        "--update-head-ok",
    ];
    // The second version of the protocol serves commits that no branch names.
    let words = [&["-c", "protocol.version=2"][..], &fetch, &[&from, &refspec]].concat();
    git(top, &words)?;
    // What the user ignores in this repository alone.
    let excluded = git(user, &["rev-parse", "--git-path", "info/exclude"])?;
    let excluded = user.join(String::from_utf8_lossy(&excluded).trim());
    let info = top.join(".git/info");
    fs::create_dir_all(&info).ok();
    fs::copy(excluded, info.join("exclude")).ok();
    git(top, &["checkout", "--quiet", "--force", "main"])?;
    Ok(())
}

/// Copies the directories with installed packages that git does not track in the user's tree, and lets git ignore them.
/// Other untracked files may be built from later commits.
fn carry(user: &Path, top: &Path, source: &ScratchSource) -> io::Result<Carried> {
    let words = ["ls-files", "--others", "--directory", "-z"];
    let listed = git(user, &words).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let mut carried = Carried::default();
    for name in listed.split('\0').filter_map(|name| name.strip_suffix('/')) {
        let (from, to) = (user.join(name), top.join(name));
        let is_packages = source.package_dirs.iter().any(|dir| from.ends_with(dir));
        let is_environment = is_packages || has_interpreter(&from);
        if !is_environment || to.symlink_metadata().is_ok() {
            continue;
        }
        let Some(parent) = to.parent() else { continue };
        fs::create_dir_all(parent)?;
        if copy_directory(&from, &to, source.max_bytes)? {
            carried.environments.push(PathBuf::from(name));
        } else {
            carried.left.push(PathBuf::from(name));
        }
    }
    ignore(top, &carried.environments)?;
    Ok(carried)
}

/// Copies the packages that are installed for all exercises of a language, beside them.
fn carry_of_language(exercise: &Path, top: &Path, source: &ScratchSource) -> io::Result<Carried> {
    let mut carried = Carried::default();
    let Some(language) = exercise.ancestors().nth(3) else { return Ok(carried) };
    for name in &source.package_dirs {
        let (from, to) = (language.join(name), top.join(name));
        if from.is_dir() && !to.exists() && copy_directory(&from, &to, source.max_bytes)? {
            carried.environments.push(PathBuf::from(name));
        }
    }
    ignore(top, &carried.environments)?;
    Ok(carried)
}

/// Lets git ignore directories of a scratch repository.
fn ignore(top: &Path, dirs: &[PathBuf]) -> io::Result<()> {
    let info = top.join(".git/info");
    fs::create_dir_all(&info)?;
    let mut excluded =
        fs::OpenOptions::new().append(true).create(true).open(info.join("exclude"))?;
    dirs.iter().try_for_each(|dir| writeln!(excluded, "\n/{}/", dir.display()))
}

/// Returns true for an environment of Python or conda, by what each has in it.
fn has_interpreter(dir: &Path) -> bool {
    dir.join("pyvenv.cfg").is_file() || dir.join("conda-meta").is_dir()
}

/// Copies an exercise without its reference solution.
fn copy_exercise(from: &Path, to: &Path, source: &ScratchSource) -> Result<(), EvalError> {
    let file = |error| EvalError::File { path: from.to_owned(), error };
    if !copy_directory(from, to, source.max_bytes).map_err(file)? {
        let why = "it is too large to be copied".to_owned();
        return Err(EvalError::Exercise { dir: from.to_owned(), why });
    }
    OF_THE_SOLUTION.iter().try_for_each(|name| remove_tree(&to.join(name))).map_err(file)
}
