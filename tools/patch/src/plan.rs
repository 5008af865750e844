//! From a model's answer to a complete set of changes, or a refusal. The only reading is done by the caller's closure.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use config::ApplyStrategy;
use serde::Serialize;

use super::around;
use super::aside::{self, PutAside};
use super::blocks;
use super::envelope::{self, Opened};
use super::file::Reader;
use super::lines::show;
use super::parse;
use super::planner::{self, Planner};
use super::refuse::{PatchMismatch, Reason, Refusal};
use super::resolve::{Intent, Known, Target, resolve};
use super::tolerance::{Repair, Tolerance, Tolerances};
use super::translate::{self, Translation};
use tree::{Change, ChangeSummary, Entry, FileHash, RepoPath, TreeError};

/// What a diff may touch, and what its author saw.
#[derive(Debug, Clone, Default)]
pub struct PatchScope {
    /// The only paths it may touch; none stands for every path inside the root.
    pub declared: Option<BTreeSet<RepoPath>>,
    /// The files as the author saw them. What is not in here is taken to be as it is now.
    pub bases: BTreeMap<RepoPath, BaseState>,
}

/// A file as the author of a diff saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseState {
    /// There was none.
    Missing,
    /// There was this one.
    File {
        /// Hash of its bytes.
        hash: FileHash,
        /// Its bytes; without them a file that changed meanwhile is refused, with them the changes are merged.
        bytes: Option<Bytes>,
    },
}

impl BaseState {
    /// A file of which the bytes are known.
    pub fn of(bytes: Bytes) -> BaseState {
        BaseState::File { hash: FileHash::of(&bytes), bytes: Some(bytes) }
    }
}

/// Bounds on a diff; none stands for no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PatchLimits {
    /// Size of the answer.
    pub max_diff_bytes: Option<usize>,
    /// Size of each file touched, before and after.
    pub max_file_bytes: Option<u64>,
    /// Paths touched.
    pub max_files: Option<usize>,
}

/// A diff that can be applied as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyPlan {
    /// What becomes of each path, in path order. Empty if everything is as the diff wants it already.
    pub changes: Vec<Change>,
    /// What was forgiven.
    pub repairs: Vec<Repair>,
    /// What was left out, in the order of the answer.
    pub put_aside: Vec<PutAside>,
}

/// A plan without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanSummary {
    /// What becomes of each path.
    pub files: Vec<ChangeSummary>,
    /// What was forgiven.
    pub repairs: Vec<Repair>,
    /// What was left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_aside: Vec<PutAside>,
}

impl ApplyPlan {
    /// Lines that are new, over all files.
    pub fn added(&self) -> usize {
        self.changes.iter().map(|change| change.line_counts().0).sum()
    }

    /// Lines that are gone, over all files.
    pub fn removed(&self) -> usize {
        self.changes.iter().map(|change| change.line_counts().1).sum()
    }

    /// The plan without its bytes, for the journal and the screen.
    pub fn summary(&self) -> PlanSummary {
        PlanSummary {
            files: self.changes.iter().map(Change::summary).collect(),
            repairs: self.repairs.clone(),
            put_aside: self.put_aside.clone(),
        }
    }
}

impl AsRef<[Change]> for ApplyPlan {
    fn as_ref(&self) -> &[Change] {
        &self.changes
    }
}

/// Reads what is at a path now.
pub type Current<'c> = dyn Fn(&RepoPath) -> Result<Entry, TreeError> + 'c;

/// Makes a plan of `answer`, forgiving everything that can only mean one thing.
pub fn prepare(
    answer: &[u8],
    scope: &PatchScope,
    strategy: ApplyStrategy,
    limits: &PatchLimits,
    current: &Current<'_>,
) -> Result<ApplyPlan, Refusal> {
    prepare_with(answer, scope, strategy, limits, current, Tolerances::ALL)
}

/// As [`prepare`], forgiving only what is `allowed`.
pub fn prepare_with(
    answer: &[u8],
    scope: &PatchScope,
    strategy: ApplyStrategy,
    limits: &PatchLimits,
    current: &Current<'_>,
    allowed: Tolerances,
) -> Result<ApplyPlan, Refusal> {
    if limits.max_diff_bytes.is_some_and(|max| answer.len() > max) {
        return Err(PatchMismatch::answer(Reason::DiffTooLarge).into());
    }
    let seen = RefCell::new(BTreeMap::new());
    let current: &Current<'_> = &|path| once(&seen, path, current);
    let read =
        |answer: &[u8], allowed| as_written(answer, scope, strategy, limits, current, allowed);
    let refusal = match read(answer, allowed) {
        Err(refusal) if allowed.allow(Tolerance::Translated) && refusal.is_of_form() => refusal,
        read => return read,
    };
    let Ok(said) = envelope::without_preamble(answer) else { return Err(refusal) };
    // What is read otherwise has to fit all the better: it is the files that say that it is meant so.
    let strictly = LOOSE.into_iter().fold(allowed, Tolerances::without);
    let has_entities = |plan: &ApplyPlan| {
        let mut before = plan.changes.iter().filter_map(|change| change.before.as_ref());
        before.any(|file| translate::has_entities(&file.bytes))
    };
    let (mut plans, mut unfit) = (Vec::new(), None);
    for Translation { diff, of_entities } in translate::readings(said) {
        match read(&diff, strictly) {
            Ok(plan) if !(of_entities && has_entities(&plan)) => plans.push(plan),
            Ok(_) => {}
            Err(other) => unfit = unfit.or(Some(other)),
        }
    }
    let mut plans = plans.into_iter();
    let Some(mut plan) = plans.next() else { return Err(refusal.although_understood(unfit)) };
    // A file that is to be made, and that such an answer leaves out, may be what it has no way to say.
    let is_left_out = |path: &&RepoPath| {
        matches!(current(path), Ok(Entry::Missing))
            && plan.changes.iter().all(|it| it.path != **path)
    };
    if plans.any(|other| other.changes != plan.changes)
        || scope.declared.iter().flatten().any(|path| is_left_out(&path))
    {
        return Err(refusal);
    }
    plan.repairs.insert(0, Repair::answer(Tolerance::Translated));
    Ok(plan)
}

/// What an answer that is read otherwise than it is written is not forgiven.
const LOOSE: [Tolerance; 16] = [
    Tolerance::Preamble,
    Tolerance::Tail,
    Tolerance::Eol,
    Tolerance::Trailing,
    Tolerance::Leaked,
    Tolerance::Indented,
    Tolerance::Near,
    Tolerance::Numbered,
    Tolerance::Marker,
    Tolerance::Punctuation,
    Tolerance::Space,
    Tolerance::Gaps,
    Tolerance::AlreadyApplied,
    Tolerance::NoHeader,
    Tolerance::Accents,
    Tolerance::Aside,
];

/// The plan of an answer as it is written.
fn as_written(
    answer: &[u8],
    scope: &PatchScope,
    strategy: ApplyStrategy,
    limits: &PatchLimits,
    current: &Current<'_>,
    allowed: Tolerances,
) -> Result<ApplyPlan, Refusal> {
    let answer = envelope::without_escapes(answer, allowed);
    let escaped = matches!(answer, Cow::Owned(_));
    let answer = envelope::open(&answer, allowed)?;
    let patch = parse::parse(&answer, allowed)?;
    let exists = |path: &RepoPath| !matches!(current(path), Ok(Entry::Missing));
    let known = Known { declared: scope.declared.as_ref(), exists: &exists, allowed };
    let targets = all(patch.sections.iter().map(|section| resolve(section, &known)))?;
    if let Some(bare) = without_others(&targets) {
        return Err(PatchMismatch::file(Reason::EmptyFileSection, bare.as_str()).into());
    }
    // A file that is there, or is to be made.
    let is_known = |path: &RepoPath| {
        let is_declared = scope.declared.as_ref().is_some_and(|declared| declared.contains(path));
        is_declared || matches!(current(path), Ok(Entry::File(_)))
    };
    if let Some(path) = blocks::may_be_drafts(&answer.lines, &patch.uses, &targets) {
        let mismatch = PatchMismatch::file(Reason::ContradictoryFileOps, path.as_str());
        return Err(mismatch
            .note("A tag is closed between two changes of it: if one is a draft, send only the other.")
            .into());
    }
    let declared = scope.declared.as_ref();
    let (lines, uses) = (&answer.lines, &patch.uses);
    if let Some(mismatch) = around::against(lines, uses, &targets, declared, &is_known) {
        return Err(mismatch.into());
    }
    if let Some(other) =
        targets.iter().find(|target| blocks::names_another(&answer.lines, target, &is_known))
    {
        let mismatch = PatchMismatch::file(Reason::ContradictoryHeaders, other.path.as_str());
        return Err(mismatch.note("The text around its hunks names another file.").into());
    }
    let (strays, targets): (Vec<_>, Vec<_>) =
        targets.into_iter().partition(|target| target.stray.is_some());
    if !strays.is_empty() && (targets.is_empty() || !may_be_put_aside(&strays, current, allowed)) {
        return Err(undeclared(&strays));
    }
    let touched: Vec<&RepoPath> = targets.iter().chain(&strays).flat_map(Target::paths).collect();
    if let Some(block) = blocks::whole_file(lines, uses, &touched, declared) {
        return Err(block.into());
    }
    if let Some(declared) = declared
        && let Some(block) = blocks::left_out(lines, uses, &touched, declared, &exists)
    {
        return Err(block.into());
    }
    let jobs = planner::group(&targets)?;
    if let Some(path) = answer.token.and_then(|token| about(token, &touched, current)) {
        let mismatch = PatchMismatch::file(Reason::StrayLine, path.as_str());
        return Err(mismatch.note("The answer ends in a token which this file has, too.").into());
    }
    let mut repairs = answer.repairs.clone();
    if escaped {
        repairs.push(Repair::answer(Tolerance::Leaked));
    }
    repairs.extend(patch.forgiven.iter().map(|tolerance| Repair::answer(*tolerance)));
    if let Some(block) = blocks::blocks(&answer.lines, &patch.uses).first() {
        if !allowed.allow(Tolerance::PassedOver) {
            return Err(
                PatchMismatch::line(Reason::UnsupportedFormat, &answer.lines, block.at).into()
            );
        }
        repairs.push(Repair::answer(Tolerance::PassedOver));
    }
    let says_more = |declared| around::says_more(lines, uses, &touched, declared, &exists);
    if !patch.forgiven.contains(&Tolerance::Tail) && declared.is_some_and(says_more) {
        if !allowed.allow(Tolerance::Tail) {
            return Err(PatchMismatch::answer(Reason::StrayLine).into());
        }
        repairs.push(Repair::answer(Tolerance::Tail));
    }
    for path in blocks::in_several(&targets, &patch.uses) {
        if !allowed.allow(Tolerance::Blocks) {
            return Err(PatchMismatch::file(Reason::ContradictoryFileOps, path.as_str()).into());
        }
        let file = Some(path.clone());
        repairs.push(Repair { file, ..Repair::answer(Tolerance::Blocks) });
    }
    if targets.iter().any(|target| target.forgives.contains(&Tolerance::NoHeader)) {
        repairs.push(Repair::answer(Tolerance::NoHeader));
    }
    for Target { path, forgives, .. } in &targets {
        let in_file = forgives.iter().filter(|tolerance| **tolerance != Tolerance::NoHeader);
        let of = |tolerance: &Tolerance| Repair {
            file: Some(path.clone()),
            ..Repair::answer(*tolerance)
        };
        repairs.extend(in_file.map(of));
    }
    let reader = Reader { allowed, blind_eol: answer.crlf };
    let plan = Planner::new(scope, strategy, limits, current, reader, repairs).plan(&jobs)?;
    if strays.is_empty() {
        Ok(plan)
    } else if aside::stands_alone(&strays, &targets, &plan.changes) {
        Ok(without(&strays, &answer, plan))
    } else {
        Err(undeclared(&strays))
    }
}

/// The file that has such a token in its text.
fn about<'p>(token: &[u8], paths: &[&'p RepoPath], current: &Current<'_>) -> Option<&'p RepoPath> {
    let has_it = |path: &&&RepoPath| match current(path) {
        Ok(Entry::File(state)) => memchr::memmem::find(&state.bytes, token).is_some(),
        _ => false,
    };
    paths.iter().find(has_it).copied()
}

/// A file that is named, in which nothing is changed, where nothing else is, or where the answer ends: the rest may be lost.
fn without_others<'t>(targets: &'t [Target<'_, '_>]) -> Option<&'t RepoPath> {
    let is_bare = |target: &&Target<'_, '_>| target.forgives.contains(&Tolerance::Unchanged);
    targets.last().filter(is_bare).map(|target| &target.path)
}

/// Whether these sections, of files that are not declared, are about what is there, and about files like any other.
fn may_be_put_aside(strays: &[Target<'_, '_>], current: &Current<'_>, allowed: Tolerances) -> bool {
    let is_sound = |Target { path, intent, .. }: &Target<'_, '_>| match intent {
        Intent::Create { .. } => matches!(current(path), Ok(Entry::Missing)),
        Intent::Modify | Intent::Delete => matches!(current(path), Ok(Entry::File(_))),
        Intent::Rename { .. } => false,
    };
    let may_go = |target: &Target<'_, '_>| {
        target.is_named && is_sound(target) && !target.path.is_in_our_directory()
    };
    allowed.allow(Tolerance::Aside) && strays.iter().all(may_go)
}

/// The refusal of a diff for the files that it must not touch.
fn undeclared(strays: &[Target<'_, '_>]) -> Refusal {
    Refusal { mismatches: strays.iter().filter_map(|target| target.stray.clone()).collect() }
}

/// The plan, with what was left out of it.
fn without(strays: &[Target<'_, '_>], answer: &Opened<'_>, mut plan: ApplyPlan) -> ApplyPlan {
    for Target { path, span, .. } in strays {
        let lines = answer.lines.get(span.clone()).unwrap_or_default();
        plan.put_aside.push(PutAside { path: path.clone(), text: show(&lines.join(&b'\n')) });
        let file = Some(path.clone());
        plan.repairs.push(Repair { file, ..Repair::answer(Tolerance::Aside) });
    }
    plan
}

/// Looks at a path the first time only: a plan is about one picture of the tree.
fn once(
    seen: &RefCell<BTreeMap<RepoPath, Entry>>,
    path: &RepoPath,
    current: &Current<'_>,
) -> Result<Entry, TreeError> {
    if let Some(entry) = seen.borrow().get(path) {
        return Ok(entry.clone());
    }
    let entry = current(path)?;
    seen.borrow_mut().insert(path.clone(), entry.clone());
    Ok(entry)
}

/// All values, or all errors.
fn all<T>(results: impl Iterator<Item = Result<T, Refusal>>) -> Result<Vec<T>, Refusal> {
    let (mut values, mut mismatches) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(refusal) => mismatches.extend(refusal.mismatches),
        }
    }
    if mismatches.is_empty() { Ok(values) } else { Err(Refusal { mismatches }) }
}
