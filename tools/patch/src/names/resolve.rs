//! Resolves the headers of a section to one operation on named files. Every name is checked, whether it is used or not.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::diff::headers::{self, Name};
use crate::diff::lines::lossy_text;
use crate::diff::sections::{Hunk, Section};
use crate::plan::tolerance::{Tolerance, Tolerances};
use crate::refusal::advice;
use crate::refusal::difference::{self, LineDifference};
use crate::refusal::reasons::{PatchMismatch, Reason, Refusal};
use tree::{PathError, RepoPath};
use unicode_normalization::UnicodeNormalization as _;

/// Maximum number of declared files that a refusal names.
const DECLARED_NAMED: usize = 12;

/// The file and operation that a section resolves to.
#[derive(Debug)]
pub(crate) struct Target<'p, 'a> {
    pub(crate) path: RepoPath,
    pub(crate) intent: Intent,
    pub(crate) hunks: &'p [Hunk<'a>],
    /// The lines of the answer that the section spans, from 0.
    pub(crate) span: Range<usize>,
    /// The tolerances used.
    pub(crate) tolerates: Vec<Tolerance>,
    /// True if headers name the file completely; otherwise the section may be a line of a body that looks like a
    /// header.
    pub(crate) is_named: bool,
    /// The refusal that applies if the file is not declared.
    pub(crate) stray: Option<PatchMismatch>,
}

/// The operation on the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Intent {
    Create { executable: bool },
    Modify,
    Delete,
    Rename { from: RepoPath },
}

impl Target<'_, '_> {
    /// Yields every path that the section names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        let from = match &self.intent {
            Intent::Rename { from } => Some(from),
            Intent::Create { .. } | Intent::Modify | Intent::Delete => None,
        };
        std::iter::once(&self.path).chain(from)
    }
}

/// The information by which names are resolved.
pub(crate) struct Known<'k> {
    pub(crate) declared: Option<&'k BTreeSet<RepoPath>>,
    pub(crate) exists: &'k dyn Fn(&RepoPath) -> bool,
    pub(crate) allowed: Tolerances,
}

impl Known<'_> {
    /// Returns true if the path is declared, or if nothing is.
    pub(crate) fn may_change(&self, path: &RepoPath) -> bool {
        self.declared.is_none_or(|declared| declared.contains(path))
    }

    /// Returns true if the file exists and may be changed.
    pub(crate) fn has(&self, path: &RepoPath) -> bool {
        self.may_change(path) && (self.exists)(path)
    }

    /// Returns the only declared path that looks like `path`, or without declared paths the only existing one that differs
    /// from it in how accents are encoded.
    fn spelled(&self, path: &RepoPath) -> Option<RepoPath> {
        let text = path.as_str();
        if !self.allowed.allow(Tolerance::Accents) {
            return None;
        }
        let mut known: Vec<RepoPath> = match self.declared {
            Some(declared) if declared.contains(path) => return None,
            None if text.is_ascii() || (self.exists)(path) => return None,
            Some(declared) => {
                declared.iter().filter(|other| other.looks_like(path)).cloned().collect()
            }
            None => {
                let forms = [text.nfc().collect::<String>(), text.nfd().collect()];
                let forms = forms.iter().filter_map(|form| RepoPath::parse(form).ok());
                forms.filter(|form| (self.exists)(form)).collect()
            }
        };
        let only = known.pop();
        only.filter(|_| known.is_empty())
    }
}

/// Resolves `section`.
pub(crate) fn resolve<'p, 'a>(
    section: &'p Section<'a>,
    known: &Known<'_>,
) -> Result<Target<'p, 'a>, Refusal> {
    let refuse = |reason| {
        let file = Some(shown_name(section)).filter(|name| !name.is_empty());
        PatchMismatch { file, ..PatchMismatch::answer(reason) }
    };
    let refuse_names = |reason| {
        let differ =
            || advice::on_two_names(section, known).filter(|_| reason == Reason::PathMismatch);
        let note = advice::on_null(section).or_else(differ);
        let note = note.or_else(|| advice::on_odd_names(section, known));
        PatchMismatch { note, ..refuse(reason) }
    };
    check_policy(section).map_err(refuse)?;
    let names = Names::of(section, known).map_err(refuse_names)?;
    let resolved = if section.rename_from.is_some() || section.rename_to.is_some() {
        names.rename(known)
    } else {
        names.single(section, known)
    };
    let (path, intent) = resolved.map_err(refuse_names)?;
    let mut target = Target {
        path,
        intent,
        hunks: &section.hunks,
        span: section.span.clone(),
        is_named: section.git.is_some() || section.old.is_some() && section.new.is_some(),
        tolerates: Vec::new(),
        stray: None,
    };
    target.stray = known.declared.and_then(|declared| {
        let stray = target.paths().find(|path| !declared.contains(*path))?;
        Some(undeclared(stray, declared))
    });
    let has_names = section.old.is_some() || section.new.is_some() || section.git.is_some();
    // A rename needs no other headers.
    let is_headerless = !has_names && !matches!(target.intent, Intent::Rename { .. });
    let changes_nothing = section.hunks.is_empty() && target.intent == Intent::Modify;
    let is_bare = changes_nothing && target.stray.is_none();
    // With an `index` line, the section had content, which is lost.
    if is_bare && (section.index.is_some() || !known.allowed.allow(Tolerance::Unchanged)) {
        return Err(refuse(Reason::EmptyFileSection).into());
    }
    target.tolerates.extend(is_headerless.then_some(Tolerance::NoHeader));
    target.tolerates.extend(names.respelled.then_some(Tolerance::Accents));
    target.tolerates.extend(is_bare.then_some(Tolerance::Unchanged));
    Ok(target)
}

/// Refuses an undeclared path, and suggests the declared path that may be meant.
fn undeclared(path: &RepoPath, declared: &BTreeSet<RepoPath>) -> PatchMismatch {
    let near = declared.iter().find(|declared| {
        let (long, short) = (declared.as_str(), path.as_str());
        long.ends_with(&format!("/{short}"))
            || short.ends_with(&format!("/{long}"))
            || declared.name() == path.name()
            || difference::look_alike(long, short)
    });
    let mismatch = PatchMismatch::file(Reason::UndeclaredFile, path.as_str());
    if let Some(near) = near {
        let differ = LineDifference::between(path.as_str(), near.as_str());
        let differ = differ.filter(|_| !near.as_str().is_ascii()).map(|it| {
            format!(
                " They differ at column {}: {} in the diff, {} in the declared path.",
                it.column, it.expected, it.found
            )
        });
        return mismatch.note(format!("Did you mean `{near}`?{}", differ.unwrap_or_default()));
    }
    let names: Vec<&str> = declared.iter().take(DECLARED_NAMED).map(RepoPath::as_str).collect();
    let more = match declared.len().saturating_sub(DECLARED_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    mismatch.note(format!("Declared files: {}{more}.", names.join(", ")))
}

/// Returns the name of a section for messages.
fn shown_name(section: &Section<'_>) -> String {
    let path = |name: &Option<Name>| match name {
        Some(Name::Path(path)) => Some(lossy_text(path)),
        Some(Name::Null | Name::Bad) | None => None,
    };
    [&section.rename_to, &section.new, &section.old, &section.rename_from]
        .into_iter()
        .find_map(path)
        .or_else(|| section.git.map(lossy_text))
        .unwrap_or_default()
}

/// Checks what no section may do, whatever it names.
fn check_policy(section: &Section<'_>) -> Result<(), Reason> {
    for mode in [section.new_file_mode, section.deleted_file_mode].into_iter().flatten() {
        match mode.trim_ascii_end() {
            b"100644" | b"100755" => {}
            b"120000" => return Err(Reason::Symlink),
            _ => return Err(Reason::UnsupportedMode),
        }
    }
    let index_mode = section.index.and_then(|index| index.split(|byte| *byte == b' ').nth(1));
    match index_mode.unwrap_or_default().trim_ascii_end() {
        b"120000" => return Err(Reason::Symlink),
        b"160000" => return Err(Reason::UnsupportedMode),
        // The rest of an index line may be made up by the model.
        _ => {}
    }
    if section.is_binary {
        return Err(Reason::BinaryPatch);
    }
    if section.copies {
        return Err(Reason::CopyUnsupported);
    }
    if section.changes_mode {
        return Err(Reason::ModeChange);
    }
    let renames = section.rename_from.is_some() || section.rename_to.is_some();
    let operations =
        [section.new_file_mode.is_some(), section.deleted_file_mode.is_some(), renames];
    if operations.iter().filter(|given| **given).count() > 1 {
        return Err(Reason::ContradictoryHeaders);
    }
    // Trailing spaces after the name of an existing file mean nothing; in a new name they may be intended.
    let made = match &section.rename_to {
        Some(to) => spelled(to),
        None if creates(section) => section.new.as_ref().map_or(section.git, spelled),
        None => None,
    };
    if made.is_some_and(|name| name.ends_with(b" ")) {
        return Err(Reason::NonPortableName);
    }
    Ok(())
}

fn creates(section: &Section<'_>) -> bool {
    section.old == Some(Name::Null) || section.new_file_mode.is_some()
}

/// The paths that a name can mean: without its prefix, then complete. Empty for `/dev/null`.
pub(crate) type Paths = Vec<RepoPath>;

/// The names of a section as the paths they can mean, all inside the workspace.
struct Names {
    old: Option<Paths>,
    new: Option<Paths>,
    rename_from: Option<Paths>,
    rename_to: Option<Paths>,
    /// The readings of the `diff --git` line, if there is one, as old and new name.
    git: Option<Vec<[Paths; 2]>>,
    /// True if a name looks like that of the file, but is not the same.
    respelled: bool,
}

impl Names {
    /// Reads all names; every one must be inside the workspace, with and without its prefix.
    fn of(section: &Section<'_>, known: &Known<'_>) -> Result<Names, Reason> {
        let paths = |name: &Option<Name>| name.as_ref().map(candidates).transpose();
        let mut names = Names {
            old: paths(&section.old)?,
            new: paths(&section.new)?,
            rename_from: paths(&section.rename_from)?,
            rename_to: paths(&section.rename_to)?,
            git: section.git.map(git_candidates).transpose()?,
            respelled: false,
        };
        let given = [&mut names.old, &mut names.new, &mut names.rename_from, &mut names.rename_to];
        let in_git = names.git.iter_mut().flatten().flatten();
        for path in given.into_iter().flatten().chain(in_git).flatten() {
            if let Some(spelled) = known.spelled(path) {
                *path = spelled;
                names.respelled = true;
            }
        }
        Ok(names)
    }

    /// Resolves a section that renames a file.
    fn rename(&self, known: &Known<'_>) -> Result<(RepoPath, Intent), Reason> {
        let (Some(from), Some(to)) = (&self.rename_from, &self.rename_to) else {
            return Err(Reason::ContradictoryHeaders);
        };
        // Git writes these two without a prefix.
        let choose = |paths: &Paths| {
            choose(&paths.iter().rev().collect::<Vec<_>>(), known)
                .ok_or(Reason::ContradictoryHeaders)
        };
        let (from, to) = (choose(from)?, choose(to)?);
        let agrees = |name: &Option<Paths>, path: &RepoPath| {
            name.as_ref().is_none_or(|paths| paths.contains(path))
        };
        let named = |old, new| agrees(&self.old, old) && agrees(&self.new, new);
        // A separate section may use the old or the new name for both sides.
        let agree = named(&from, &to) || named(&to, &to) || named(&from, &from);
        if from == to || !agree || !self.git_agrees(&from, &to) {
            return Err(Reason::ContradictoryHeaders);
        }
        Ok((to, Intent::Rename { from }))
    }

    /// Resolves a section about one path.
    fn single(
        &self,
        section: &Section<'_>,
        known: &Known<'_>,
    ) -> Result<(RepoPath, Intent), Reason> {
        let creates = creates(section);
        let deletes = section.new == Some(Name::Null) || section.deleted_file_mode.is_some();
        if creates && deletes {
            return Err(Reason::ContradictoryHeaders);
        }
        let given = [&self.old, &self.new].into_iter().flatten().filter(|paths| !paths.is_empty());
        let names: Vec<&Paths> = given.collect();
        let paths = match names.as_slice() {
            [old, new] => shared(old, new).collect(),
            [name] => name.iter().collect(),
            _ => self.git_paths()?,
        };
        let path = match choose(&paths, known) {
            Some(path) => path,
            None if section.git.is_some() || !names.is_empty() => return Err(Reason::PathMismatch),
            None => only_declared(known)?,
        };
        if !self.git_agrees(&path, &path) {
            return Err(Reason::ContradictoryHeaders);
        }
        let intent = if creates {
            let mode = section.new_file_mode.unwrap_or_default().trim_ascii_end();
            Intent::Create { executable: mode == b"100755" }
        } else if deletes {
            Intent::Delete
        } else {
            Intent::Modify
        };
        Ok((path, intent))
    }

    /// Returns the paths that both names of `diff --git` can mean.
    fn git_paths(&self) -> Result<Vec<&RepoPath>, Reason> {
        let readings = self.git.iter().flatten();
        let paths: Vec<&RepoPath> = readings.flat_map(|[old, new]| shared(old, new)).collect();
        if self.git.is_some() && paths.is_empty() { Err(Reason::PathMismatch) } else { Ok(paths) }
    }

    /// Returns true if the `diff --git` line, if there is one, can mean these names.
    fn git_agrees(&self, from: &RepoPath, to: &RepoPath) -> bool {
        let means = |paths: &Paths, path| paths.is_empty() || paths.contains(path);
        let agrees = |[old, new]: &[Paths; 2]| means(old, from) && means(new, to);
        self.git.as_ref().is_none_or(|readings| readings.iter().any(agrees))
    }
}

/// Yields the paths that both of two names can mean.
fn shared<'p>(old: &'p Paths, new: &'p Paths) -> impl Iterator<Item = &'p RepoPath> {
    old.iter().filter(|path| new.contains(path))
}

/// Returns the readings of a `diff --git` line with both names inside the workspace; at least one is required.
fn git_candidates(git: &[u8]) -> Result<Vec<[Paths; 2]>, Reason> {
    let mut sound = Vec::new();
    let mut wrong = None;
    for (old, new) in headers::git_names(git) {
        match candidates(&old).and_then(|old| Ok([old, candidates(&new)?])) {
            Ok(paths) => sound.push(paths),
            Err(reason) => wrong = wrong.or(Some(reason)),
        }
    }
    if sound.is_empty() { Err(wrong.unwrap_or(Reason::ContradictoryHeaders)) } else { Ok(sound) }
}

/// Returns a name as it is written.
fn spelled(name: &Name) -> Option<&[u8]> {
    match name {
        Name::Path(raw) => Some(raw),
        Name::Null | Name::Bad => None,
    }
}

/// Returns the paths that a name can mean.
pub(crate) fn candidates(name: &Name) -> Result<Paths, Reason> {
    let raw = match name {
        Name::Null => return Ok(Vec::new()),
        Name::Bad => return Err(Reason::BadQuotedPath),
        Name::Path(raw) => raw.trim_ascii_end(),
    };
    let stripped = match raw {
        [b'a' | b'b' | b'i' | b'w' | b'c' | b'o', b'/', rest @ ..] => Some(rest),
        _ => None,
    };
    stripped
        .into_iter()
        .chain([raw])
        .map(|path| RepoPath::from_bytes(path).map_err(|error| reason_of(error, path)))
        .collect()
}

fn reason_of(error: PathError, path: &[u8]) -> Reason {
    match error {
        // A drive without a separator can be part of a file name on other systems.
        PathError::Absolute if matches!(path, [b'a'..=b'z' | b'A'..=b'Z', b':', next, ..] if !b"/\\".contains(next)) => {
            Reason::NonPortableName
        }
        PathError::Empty | PathError::EmptyComponent => Reason::EmptyPath,
        PathError::Absolute => Reason::AbsolutePath,
        PathError::Escape => Reason::PathEscape,
        PathError::GitDir => Reason::GitDirWrite,
        PathError::ControlCharacter => Reason::ControlCharInPath,
        PathError::Backslash => Reason::BackslashInPath,
        PathError::TooLong => Reason::NameTooLong,
        PathError::NotUtf8 => Reason::NonPortableName,
    }
}

/// Chooses the declared path among `paths`, else the existing one, else the first; `None` if there are two such paths.
fn choose(paths: &[&RepoPath], known: &Known<'_>) -> Option<RepoPath> {
    let is_declared =
        |path: &&RepoPath| known.declared.is_some_and(|declared| declared.contains(*path));
    let exists = |path: &&RepoPath| (known.exists)(path);
    let paths = paths.iter().copied();
    let mut chosen: Vec<&RepoPath> = paths.clone().filter(is_declared).collect();
    if chosen.is_empty() {
        chosen = paths.clone().filter(exists).collect();
    }
    match chosen.as_slice() {
        [only] => Some((*only).clone()),
        [] => paths.into_iter().next().cloned(),
        _ => None,
    }
}

/// Assigns hunks without headers to the only declared file.
fn only_declared(known: &Known<'_>) -> Result<RepoPath, Reason> {
    let mut declared = known.declared.into_iter().flatten();
    match (declared.next(), declared.next()) {
        (Some(only), None) if known.allowed.allow(Tolerance::NoHeader) => Ok(only.clone()),
        _ => Err(Reason::NoFileHeader),
    }
}
