//! Combines the operations of a diff, file by file, into a complete set of changes. Files are read through a closure
//! only.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::diff::hunk_lines::Kind;
use crate::diff::sections::Hunk;
use crate::names::resolve::{Intent, Target};
use crate::place::already_applied;
use crate::place::new_file;
use crate::place::rewrite::{Reader, Rewritten};
use crate::plan::merge::merge;
use crate::plan::prepare::{ApplyPlan, BaseState, PlanInputs};
use crate::plan::tolerance::{Repair, Tolerance};
use crate::refusal::reasons::{PatchMismatch, Reason, Refusal};
use tree::{Change, Entry, FileMode, FileState, Op, RepoPath, TreeError};

/// One operation on a file, with all its hunks.
pub(crate) struct Job<'p, 'a> {
    path: &'p RepoPath,
    intent: &'p Intent,
    hunks: Vec<&'p Hunk<'a>>,
    /// Hunks of later sections for a file that this job creates.
    then: Vec<&'p Hunk<'a>>,
    /// True if the section is repeated.
    is_twice: bool,
}

/// Returns true if two sections have the same lines.
fn same_bodies(a: &[&Hunk<'_>], b: &[Hunk<'_>]) -> bool {
    let lines = |hunk: &Hunk<'_>| -> Vec<(Kind, Vec<u8>)> {
        hunk.shortest().iter().map(|line| (line.kind, line.text.to_vec())).collect()
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| lines(a) == lines(b))
}

/// Combines the sections of one file into one job. Any other path may be touched only once.
pub(crate) fn group<'p, 'a>(targets: &'p [Target<'p, 'a>]) -> Result<Vec<Job<'p, 'a>>, Refusal> {
    let clash = |path: &RepoPath| PatchMismatch::file(Reason::ContradictoryFileOps, path.as_str());
    let mut jobs: Vec<Job<'p, 'a>> = Vec::new();
    let mut at: BTreeMap<&RepoPath, usize> = BTreeMap::new();
    for Target { path, intent, hunks, .. } in targets {
        // Edits made under the old name move along with a rename.
        if let Intent::Rename { from } = intent
            && !at.contains_key(path)
            && let Some(edited) = at.get(from).copied()
            && let Some(job) = jobs.get_mut(edited).filter(|job| *job.intent == Intent::Modify)
        {
            (job.path, job.intent) = (path, intent);
            job.hunks.extend(hunks.iter());
            at.remove(from);
            at.insert(path, edited);
            continue;
        }
        match at.get(path).and_then(|at| jobs.get_mut(*at)) {
            Some(job) if job.stays() && *intent == Intent::Modify => {
                job.hunks.extend(hunks.iter());
            }
            Some(job)
                if job.creates()
                    && *intent == Intent::Modify
                    && hunks.iter().all(Hunk::has_old) =>
            {
                job.then.extend(hunks.iter());
            }
            // The same new file twice counts once.
            Some(job) if job.intent == intent && same_bodies(&job.hunks, hunks) => {
                job.is_twice = true;
            }
            Some(_) => return Err(clash(path).into()),
            None => {
                at.insert(path, jobs.len());
                let hunks = hunks.iter().collect();
                jobs.push(Job { path, intent, hunks, then: Vec::new(), is_twice: false });
            }
        }
    }
    let mut sources = BTreeSet::new();
    for source in jobs.iter().filter_map(Job::source) {
        // A source of a rename may be replaced, but not also be changed or deleted.
        let stays = at.get(source).and_then(|at| jobs.get(*at));
        let is_touched =
            stays.is_some_and(|job| matches!(job.intent, Intent::Modify | Intent::Delete));
        if !sources.insert(source) || is_touched {
            return Err(clash(source).into());
        }
    }
    Ok(jobs)
}

impl Job<'_, '_> {
    fn creates(&self) -> bool {
        matches!(self.intent, Intent::Create { .. })
    }

    /// Returns true if the file exists before and after the job.
    fn stays(&self) -> bool {
        matches!(self.intent, Intent::Modify | Intent::Rename { .. })
    }

    fn source(&self) -> Option<&RepoPath> {
        match self.intent {
            Intent::Rename { from } => Some(from),
            Intent::Create { .. } | Intent::Modify | Intent::Delete => None,
        }
    }

    fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        std::iter::once(self.path).chain(self.source())
    }
}

/// The file at a path, before and after.
#[derive(Debug, Default)]
struct Slot {
    before: Option<FileState>,
    after: Option<FileState>,
    from: Option<RepoPath>,
}

/// Collects the changes.
pub(crate) struct Planner<'s> {
    inputs: &'s PlanInputs<'s>,
    reader: Reader,
    /// Sources of renames; their paths are free for other files.
    sources: BTreeSet<RepoPath>,
    /// Sources of renames and deleted files; directories may take their place.
    leaving: BTreeSet<RepoPath>,
    slots: BTreeMap<RepoPath, Slot>,
    repairs: Vec<Repair>,
    /// Hunks that seem to be applied already elsewhere than stated, as they would be refused otherwise.
    done: Vec<PatchMismatch>,
}

pub(crate) type Outcome<T> = Result<T, Vec<PatchMismatch>>;

impl<'s> Planner<'s> {
    pub(crate) fn new(
        inputs: &'s PlanInputs<'s>,
        reader: Reader,
        repairs: Vec<Repair>,
    ) -> Planner<'s> {
        Planner {
            inputs,
            reader,
            sources: BTreeSet::new(),
            leaving: BTreeSet::new(),
            slots: BTreeMap::new(),
            repairs,
            done: Vec::new(),
        }
    }

    /// Runs every job; returns a plan only if all of them succeed.
    pub(crate) fn plan(mut self, jobs: &[Job<'_, '_>]) -> Result<ApplyPlan, Refusal> {
        let paths = jobs.iter().flat_map(Job::paths).collect::<BTreeSet<_>>().len();
        if self.inputs.limits.max_files.is_some_and(|max| paths > max) {
            return Err(PatchMismatch::answer(Reason::TooManyFiles).into());
        }
        self.sources = jobs.iter().filter_map(Job::source).cloned().collect();
        let deleted = jobs.iter().filter(|job| *job.intent == Intent::Delete).map(|job| job.path);
        self.leaving = self.sources.iter().chain(deleted).cloned().collect();
        let mut mismatches = Vec::new();
        for job in jobs {
            mismatches.extend(self.run(job).err().unwrap_or_default());
        }
        // If some hunks are applied already, another one that seems to be pending may be applied as well.
        if !self.done.is_empty() && jobs.iter().any(|job| self.is_open(job)) {
            mismatches.append(&mut self.done);
        }
        if mismatches.is_empty() { self.finish() } else { Err(Refusal { mismatches }) }
    }

    fn run(&mut self, job: &Job<'_, '_>) -> Outcome<()> {
        let Job { path, intent, hunks, then, is_twice } = job;
        if *is_twice {
            if !self.allows(Tolerance::Duplicate) {
                return refused(path, Reason::ContradictoryFileOps);
            }
            self.tolerate(path, Repair::of(Tolerance::Duplicate));
        }
        match intent {
            Intent::Create { executable } => self.create(path, hunks, then, *executable),
            Intent::Modify => self.modify(path, hunks),
            Intent::Delete => self.delete(path, hunks),
            Intent::Rename { from } => self.rename(from, path, hunks),
        }
    }

    /// Returns true if it is unclear whether a hunk of the job still has to be applied.
    fn is_open(&self, job: &Job<'_, '_>) -> bool {
        let path = job.source().unwrap_or(job.path);
        let Ok(Some(now)) = self.read(path) else { return false };
        let base = self.other_base(path, &now).ok().flatten();
        already_applied::is_open(base.unwrap_or(&now.bytes), &job.hunks)
    }

    fn create(
        &mut self,
        path: &RepoPath,
        hunks: &[&Hunk<'_>],
        then: &[&Hunk<'_>],
        executable: bool,
    ) -> Outcome<()> {
        let mut made = new_file::create(hunks, path.as_str(), self.reader.allowed)?;
        if !then.is_empty() {
            if !self.allows(Tolerance::Sequential) {
                return refused(path, Reason::ContradictoryFileOps);
            }
            let edited = self.reader.rewrite(&made.bytes, then, path.as_str())?;
            made.repairs.extend(edited.repairs);
            made.repairs.push(Repair::of(Tolerance::Sequential));
            made.bytes = edited.bytes;
        }
        let bytes = self.checked(path, made)?;
        match self.read(path)? {
            Some(there) if there.bytes == bytes && self.allows(Tolerance::AlreadyApplied) => {
                self.tolerate(path, Repair::of(Tolerance::AlreadyApplied));
                return Ok(());
            }
            Some(_) if !self.sources.contains(path) => return refused(path, Reason::FileExists),
            Some(_) | None => {}
        }
        if !path.is_portable() {
            return refused(path, Reason::NonPortableName);
        }
        self.arrive(path, FileState { bytes, mode: FileMode::of_file(executable) }, None)
    }

    fn modify(&mut self, path: &RepoPath, hunks: &[&Hunk<'_>]) -> Outcome<()> {
        let Some(now) = self.read(path)? else {
            let creates = hunks.iter().all(|hunk| {
                hunk.numbers.is_some_and(|numbers| (numbers.old, numbers.old_count) == (0, 0))
            });
            return match self.inputs.scope.bases.get(path) {
                Some(BaseState::File { .. }) => refused(path, Reason::StaleBase),
                Some(BaseState::Missing) | None if creates => self.create(path, hunks, &[], false),
                Some(BaseState::Missing) | None => refused(path, Reason::FileNotFound),
            };
        };
        let bytes = self.rewrite(path, &now, hunks)?;
        let after = Some(FileState { bytes, mode: now.mode });
        let before = Some(self.inputs.texts.on_disk(path, now));
        self.slots.insert(path.clone(), Slot { before, after, from: None });
        Ok(())
    }

    fn delete(&mut self, path: &RepoPath, hunks: &[&Hunk<'_>]) -> Outcome<()> {
        let Some(now) = self.read(path)? else { return refused(path, Reason::FileNotFound) };
        if self.other_base(path, &now)?.is_some() {
            return refused(path, Reason::StaleBase);
        }
        let is_empty = if hunks.is_empty() {
            now.bytes.is_empty()
        } else {
            let rewritten = self.reader.rewrite(&now.bytes, hunks, path.as_str());
            let refuse = |found: Vec<_>| found.into_iter().map(delete_mismatch).collect::<Vec<_>>();
            rewritten.map_err(refuse)?.bytes.is_empty()
        };
        if !is_empty {
            return refused(path, Reason::DeleteMismatch);
        }
        let before = Some(self.inputs.texts.on_disk(path, now));
        self.slots.insert(path.clone(), Slot { before, after: None, from: None });
        Ok(())
    }

    fn rename(&mut self, from: &RepoPath, to: &RepoPath, hunks: &[&Hunk<'_>]) -> Outcome<()> {
        let Some(now) = self.read(from)? else { return refused(from, Reason::FileNotFound) };
        let there = self.read(to)?;
        if there.is_some() && !self.sources.contains(to) {
            return refused(to, Reason::FileExists);
        }
        if !to.is_portable() {
            return refused(to, Reason::NonPortableName);
        }
        let bytes = self.rewrite(from, &now, hunks)?;
        let after = FileState { bytes, mode: now.mode };
        let before = Some(self.inputs.texts.on_disk(from, now));
        self.slots.entry(from.clone()).or_default().before = before;
        self.arrive(to, after, Some(from.clone()))
    }

    /// Adds a file at `path`, which another file may leave.
    fn arrive(&mut self, path: &RepoPath, after: FileState, from: Option<RepoPath>) -> Outcome<()> {
        let before = self.read(path)?.map(|now| self.inputs.texts.on_disk(path, now));
        let slot = self.slots.entry(path.clone()).or_default();
        *slot = Slot { before, after: Some(after), from };
        Ok(())
    }

    /// Reads the file at `path`, if it exists; anything but a text file is refused.
    fn read(&self, path: &RepoPath) -> Outcome<Option<FileState>> {
        match self.inputs.texts.entry(path) {
            Ok(Entry::Missing) => Ok(None),
            Ok(Entry::File(state)) if memchr::memchr(0, &state.bytes).is_some() => {
                refused(path, Reason::BinaryTarget)
            }
            Ok(Entry::File(state)) if self.is_too_large(&state.bytes) => {
                refused(path, Reason::FileTooLarge)
            }
            Ok(Entry::File(state)) => Ok(Some(state)),
            Ok(Entry::TooLarge { .. }) => refused(path, Reason::FileTooLarge),
            Ok(Entry::Directory) => refused(path, Reason::DirectoryTarget),
            Ok(Entry::Symlink) | Err(TreeError::ThroughSymlink { .. }) => {
                refused(path, Reason::Symlink)
            }
            Ok(Entry::Other) => refused(path, Reason::NotARegularFile),
            Err(TreeError::ParentNotDirectory { .. }) => {
                let mut above = std::iter::successors(path.parent(), RepoPath::parent);
                if above.any(|above| self.leaving.contains(&above)) {
                    Ok(None)
                } else {
                    refused(path, Reason::ParentNotDirectory)
                }
            }
            Err(TreeError::KeptOff { why, .. }) => {
                let mismatch = PatchMismatch::file(Reason::NotOnDisk, path.as_str());
                Err(vec![mismatch.note(format!("{path}: {why}."))])
            }
            Err(TreeError::Root { .. } | TreeError::Io { .. }) => refused(path, Reason::Unreadable),
        }
    }

    fn is_too_large(&self, bytes: &[u8]) -> bool {
        self.inputs.limits.max_file_bytes.is_some_and(|max| bytes.len() as u64 > max)
    }

    /// Returns the bytes that the author saw, if they differ from the current ones.
    fn other_base(&self, path: &RepoPath, now: &FileState) -> Outcome<Option<&'s Bytes>> {
        match self.inputs.scope.bases.get(path) {
            None => Ok(None),
            // Bytes are as reliable as their hash, and faster to compare.
            Some(BaseState::File { bytes: Some(bytes), .. }) => {
                Ok(Some(bytes).filter(|bytes| **bytes != now.bytes))
            }
            Some(BaseState::File { hash, .. }) if *hash == now.hash() => Ok(None),
            Some(BaseState::File { bytes: None, .. } | BaseState::Missing) => {
                refused(path, Reason::StaleBase)
            }
        }
    }

    /// Applies `hunks` to what the author saw of `path`, and merges the result with what has changed since. Returns the
    /// bytes in the encoding of the file.
    fn rewrite(&mut self, path: &RepoPath, now: &FileState, hunks: &[&Hunk<'_>]) -> Outcome<Bytes> {
        if hunks.is_empty() {
            return Ok(self.inputs.texts.on_disk(path, now.clone()).bytes);
        }
        let other = self.other_base(path, now)?;
        let mut made = self.reader.rewrite(other.unwrap_or(&now.bytes), hunks, path.as_str())?;
        if let Some(base) = other
            && made.bytes != now.bytes
        {
            if !self.allows(Tolerance::Merged) {
                return refused(path, Reason::StaleBase);
            }
            let merged = merge(base, &now.bytes, &made.bytes, self.inputs.strategy);
            made.bytes = merged.or_else(|reason| refused(path, reason))?;
            made.repairs.push(Repair::of(Tolerance::Merged));
        }
        let text = self.checked(path, made)?;
        self.inputs.texts.encoded(path, text)
    }

    fn allows(&self, tolerance: Tolerance) -> bool {
        self.reader.allowed.allow(tolerance)
    }

    /// Records the tolerances used, and refuses a file that grew too large.
    fn checked(&mut self, path: &RepoPath, made: Rewritten) -> Outcome<Bytes> {
        if self.is_too_large(&made.bytes) {
            return refused(path, Reason::FileTooLarge);
        }
        let Rewritten { bytes, repairs, done } = made;
        for repair in repairs {
            self.tolerate(path, repair);
        }
        self.done.extend(done);
        Ok(bytes.into())
    }

    /// Records a tolerance used in a file.
    fn tolerate(&mut self, path: &RepoPath, repair: Repair) {
        self.repairs.push(repair.file(path));
    }

    /// Converts the slots to changes. A rename whose source is replaced becomes a change of two files.
    fn finish(self) -> Result<ApplyPlan, Refusal> {
        let stays = |path: &RepoPath| self.slots.get(path).is_some_and(|slot| slot.after.is_some());
        let mut above = self.slots.keys().filter(|path| stays(path)).filter_map(|path| {
            std::iter::successors(path.parent(), RepoPath::parent)
                .find(|above| stays(above))
                .map(|_| path)
        });
        if let Some(blocked) = above.next() {
            return Err(PatchMismatch::file(Reason::ParentNotDirectory, blocked.as_str()).into());
        }
        let arrives_whole = |slot: &Slot| match &slot.from {
            Some(from) if slot.before.is_none() && !stays(from) => Some(from.clone()),
            Some(_) | None => None,
        };
        let moved: BTreeSet<RepoPath> = self.slots.values().filter_map(arrives_whole).collect();
        let mut changes = Vec::new();
        for (path, slot) in &self.slots {
            let (mut before, after) = (slot.before.clone(), slot.after.clone());
            let op = match (&before, &after) {
                (None, None) => continue,
                (Some(_), None) if moved.contains(path) => continue,
                (Some(before), Some(after)) if before.bytes == after.bytes => continue,
                (Some(_), Some(_)) => Op::Modify,
                (Some(_), None) => Op::Delete,
                (None, Some(_)) => match arrives_whole(slot) {
                    Some(from) => {
                        before = self.slots.get(&from).and_then(|slot| slot.before.clone());
                        Op::Rename { from }
                    }
                    None => Op::Create,
                },
            };
            changes.push(Change { path: path.clone(), op, before, after });
        }
        Ok(ApplyPlan { changes, repairs: self.repairs, put_aside: Vec::new(), remark: None })
    }
}

fn refused<T>(path: &RepoPath, reason: Reason) -> Outcome<T> {
    Err(vec![PatchMismatch::file(reason, path.as_str())])
}

/// Reports a deletion that does not match under one reason, whatever the cause.
fn delete_mismatch(mismatch: PatchMismatch) -> PatchMismatch {
    if [Reason::HunkNotFound, Reason::AmbiguousHunk].contains(&mismatch.reason) {
        PatchMismatch { reason: Reason::DeleteMismatch, ..mismatch }
    } else {
        mismatch
    }
}
