//! Turns a model's answer into a complete set of changes, or a refusal. Files are read only by the caller's closure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use config::ApplyStrategy;
use serde::Serialize;

use crate::answer::blocks::{self, Block};
use crate::answer::envelope;
use crate::answer::regions::Use;
use crate::answer::translate::{self, Translation};
use crate::diff::lines::lossy_text;
use crate::diff::parse;
use crate::names::put_aside::{self, PutAside};
use crate::names::resolve::{Intent, Known, Target, resolve};
use crate::place::rewrite::Reader;
use crate::plan::planner::{self, Planner};
use crate::plan::texts::Texts;
use crate::plan::tolerance::{Repair, Tolerance, Tolerances};
use crate::refusal::advice;
use crate::refusal::difference;
use crate::refusal::reasons::{PatchMismatch, Reason, Refusal};
use tree::{Change, ChangeSummary, Entry, FileHash, RepoPath, TreeError};

/// The files that a diff may touch, and what its author saw.
#[derive(Debug, Clone, Default)]
pub struct PatchScope {
    /// The only paths that the diff may touch; `None` allows every path inside the root.
    pub declared: Option<BTreeSet<RepoPath>>,
    /// The files as the author saw them. Files not listed are assumed unchanged since.
    pub bases: BTreeMap<RepoPath, BaseState>,
}

/// A file as the author of a diff saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseState {
    /// The file did not exist.
    Missing,
    /// The file existed.
    File {
        /// The hash of its bytes.
        hash: FileHash,
        /// Its bytes. Without them, a file that has changed since is refused; with them, the changes are merged.
        bytes: Option<Bytes>,
    },
}

impl BaseState {
    /// Creates the state of a file whose bytes are known.
    pub fn of(bytes: Bytes) -> BaseState {
        BaseState::File { hash: FileHash::of(&bytes), bytes: Some(bytes) }
    }
}

/// Limits on a diff; `None` stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PatchLimits {
    /// The maximum size of the answer, in bytes.
    pub max_diff_bytes: Option<usize>,
    /// The maximum size of each touched file, before and after, in bytes.
    pub max_file_bytes: Option<u64>,
    /// The maximum number of touched paths.
    pub max_files: Option<usize>,
}

/// A diff that can be applied completely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyPlan {
    /// The changes in path order; empty if the files already are as the diff wants them.
    pub changes: Vec<Change>,
    /// The tolerances used.
    pub repairs: Vec<Repair>,
    /// The sections left out, in the order of the answer.
    pub put_aside: Vec<PutAside>,
    /// The text that stands outside of the diff, if there is any. Nothing was concluded from it.
    pub remark: Option<String>,
}

/// A plan without file contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanSummary {
    /// The change of each path.
    pub files: Vec<ChangeSummary>,
    /// The tolerances used.
    pub repairs: Vec<Repair>,
    /// The sections left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_aside: Vec<PutAside>,
    /// The text that stands outside of the diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

impl ApplyPlan {
    /// Returns the number of added lines, over all files.
    pub fn added(&self) -> usize {
        self.changes.iter().map(|change| change.line_counts().0).sum()
    }

    /// Returns the number of removed lines, over all files.
    pub fn removed(&self) -> usize {
        self.changes.iter().map(|change| change.line_counts().1).sum()
    }

    /// Returns the plan without file contents, for the journal and the screen.
    pub fn summary(&self) -> PlanSummary {
        PlanSummary {
            files: self.changes.iter().map(Change::summary).collect(),
            repairs: self.repairs.clone(),
            put_aside: self.put_aside.clone(),
            remark: self.remark.clone(),
        }
    }
}

impl AsRef<[Change]> for ApplyPlan {
    fn as_ref(&self) -> &[Change] {
        &self.changes
    }
}

/// Reads the current entry at a path.
pub type Current<'c> = dyn Fn(&RepoPath) -> Result<Entry, TreeError> + 'c;

/// Plans `answer`, tolerating every deviation that leaves it with exactly one meaning.
pub fn prepare(
    answer: &[u8],
    scope: &PatchScope,
    strategy: ApplyStrategy,
    limits: &PatchLimits,
    current: &Current<'_>,
) -> Result<ApplyPlan, Refusal> {
    prepare_with(answer, scope, strategy, limits, current, Tolerances::ALL)
}

/// Like [`prepare`], but with only the `allowed` tolerances.
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
    let texts = Texts::new(answer, current);
    let bases = scope.bases.iter().map(|(path, base)| (path.clone(), texts.base(path, base)));
    let scope = PatchScope { declared: scope.declared.clone(), bases: bases.collect() };
    let inputs = PlanInputs { scope, strategy, limits: *limits, texts };
    let plan = inputs.as_written(answer, allowed).or_else(|refusal| {
        let may_translate = allowed.allow(Tolerance::Translated) && refusal.is_of_form();
        if may_translate { inputs.translated(answer, allowed, refusal) } else { Err(refusal) }
    })?;
    match &plan.remark {
        Some(remark) if !allowed.allow(Tolerance::Remark) => Err(beside(remark).into()),
        Some(_) | None => Ok(plan),
    }
}

/// What an answer is planned for.
pub(crate) struct PlanInputs<'c> {
    pub(crate) scope: PatchScope,
    pub(crate) strategy: ApplyStrategy,
    pub(crate) limits: PatchLimits,
    pub(crate) texts: Texts<'c>,
}

/// Refuses an answer with text outside of the diff, where nobody would see it.
fn beside(remark: &str) -> PatchMismatch {
    let first = remark.lines().next().unwrap_or_default();
    PatchMismatch::answer(Reason::RemarkOutside).note(format!(
        "It begins with `{}`. If it matters, change the diff accordingly.",
        difference::cut(first, 1)
    ))
}

/// The tolerances that apply to a translated answer.
const STRICT: [Tolerance; 11] = [
    Tolerance::CrlfAnswer,
    Tolerance::Counts,
    Tolerance::Position,
    Tolerance::CutBlank,
    Tolerance::Sequential,
    Tolerance::PassedOver,
    Tolerance::Remark,
    Tolerance::Unchanged,
    Tolerance::Duplicate,
    Tolerance::Merged,
    Tolerance::Translated,
];

impl PlanInputs<'_> {
    /// Plans the translation of an answer that was refused as it is written. It has to match more strictly: only the files
    /// confirm that it is what the answer means.
    fn translated(
        &self,
        answer: &[u8],
        allowed: Tolerances,
        refusal: Refusal,
    ) -> Result<ApplyPlan, Refusal> {
        let Ok(said) = envelope::without_preamble(answer) else { return Err(refusal) };
        let loose = Tolerance::ALL.iter().filter(|tolerance| !STRICT.contains(tolerance));
        let strictly = loose.fold(allowed, |all, tolerance| all.without(*tolerance));
        let has_entities = |plan: &ApplyPlan| {
            let mut before = plan.changes.iter().filter_map(|change| change.before.as_ref());
            before.any(|file| translate::has_entities(&file.bytes))
        };
        let (mut plans, mut unfit) = (Vec::new(), None);
        for Translation { diff, of_entities } in translate::readings(said) {
            match self.as_written(&diff, strictly) {
                Ok(plan) if of_entities && has_entities(&plan) || plan.remark.is_some() => {}
                Ok(plan) => plans.push(plan),
                Err(other) => unfit = unfit.or(Some(other)),
            }
        }
        let mut plans = plans.into_iter();
        let Some(mut plan) = plans.next() else { return Err(refusal.although_understood(unfit)) };
        // A declared file that does not exist yet and is left out may be something that the format cannot express.
        let is_left_out = |path: &RepoPath| {
            matches!(self.texts.entry(path), Ok(Entry::Missing))
                && plan.changes.iter().all(|it| it.path != *path)
        };
        if plans.any(|other| other.changes != plan.changes)
            || self.scope.declared.iter().flatten().any(is_left_out)
        {
            return Err(refusal);
        }
        plan.repairs.insert(0, Repair::of(Tolerance::Translated));
        let (lines, uses) = translate::prose(said);
        plan.remark = blocks::remark(&lines, &uses);
        Ok(plan)
    }

    /// Plans an answer as it is written, without translating it.
    fn as_written(&self, answer: &[u8], allowed: Tolerances) -> Result<ApplyPlan, Refusal> {
        let answer = envelope::without_escapes(answer, allowed);
        let escaped = matches!(answer, Cow::Owned(_));
        let answer = envelope::open(&answer, allowed)?;
        let patch = parse::parse(&answer, allowed)?;
        let declared = self.scope.declared.as_ref();
        let exists = |path: &RepoPath| !matches!(self.texts.entry(path), Ok(Entry::Missing));
        let known = Known { declared, exists: &exists, allowed };
        let targets = all(patch.sections.iter().map(|section| resolve(section, &known)));
        let targets = targets.map_err(|refusal| explained(refusal, &answer.lines))?;
        if let Some(bare) = without_others(&targets) {
            return Err(PatchMismatch::file(Reason::EmptyFileSection, bare.as_str()).into());
        }
        let (lines, uses) = (&answer.lines, &patch.uses);
        let is_known = |path: &RepoPath| {
            declared.is_some_and(|declared| declared.contains(path)) || self.is_file(path)
        };
        let mut headed = targets.iter();
        let contradicted = headed.find_map(|it| blocks::against_a_heading(lines, it, &is_known));
        if let Some(mismatch) = contradicted.or_else(|| blocks::against_two(&targets, uses)) {
            return Err(mismatch.into());
        }
        let (strays, targets): (Vec<_>, Vec<_>) =
            targets.into_iter().partition(|target| target.stray.is_some());
        let may_be_put_aside = allowed.allow(Tolerance::Aside)
            && strays.iter().all(|stray| self.may_be_put_aside(stray));
        if !strays.is_empty() && (targets.is_empty() || !may_be_put_aside) {
            return Err(undeclared(&strays));
        }
        let touched: Vec<&RepoPath> =
            targets.iter().chain(&strays).flat_map(Target::paths).collect();
        if let Some(block) = blocks::against_a_whole_file(lines, uses, &touched, declared) {
            return Err(block.into());
        }
        let jobs = planner::group(&targets)?;
        if let Some(path) = answer.token.and_then(|token| self.that_has(token, &touched)) {
            let mismatch = PatchMismatch::file(Reason::StrayLine, path.as_str());
            return Err(mismatch
                .note("The answer ends in a template token that this file also contains: leave it out, or add a context line after it.")
                .into());
        }
        let blocks = blocks::blocks(uses);
        if let Some(block) = blocks.first().filter(|_| !allowed.allow(Tolerance::PassedOver)) {
            return Err(PatchMismatch::line(Reason::UnsupportedFormat, lines, block.at).into());
        }
        let passed_over =
            |block: &Block| Repair::of(Tolerance::PassedOver).left_out(block.at + 1, block.end + 1);
        let mut repairs = answer.repairs.clone();
        repairs.extend(escaped.then_some(Repair::of(Tolerance::Leaked)));
        repairs.extend(patch.repairs.iter().cloned());
        repairs.extend(blocks.iter().map(passed_over));
        for Target { path, tolerates, .. } in &targets {
            let of = |tolerance: &Tolerance| Repair::of(*tolerance).file(path);
            repairs.extend(tolerates.iter().map(of));
        }
        let reader = Reader { allowed, blind_eol: answer.crlf };
        let mut plan = Planner::new(self, reader, repairs).plan(&jobs)?;
        plan.repairs.iter_mut().for_each(|repair| repair.quote(lines));
        let uses = with_prose(uses, &plan.repairs, lines);
        if let Some(mismatch) = blocks::against_two(&targets, &uses) {
            return Err(mismatch.into());
        }
        if let Some(at) = blocks::announces_more(lines, &uses) {
            return Err(PatchMismatch::line(Reason::ElidedCode, lines, at).into());
        }
        plan.remark = blocks::remark(lines, &uses);
        if !strays.is_empty() && !put_aside::stands_alone(&strays, &targets, &plan.changes) {
            return Err(undeclared(&strays));
        }
        for Target { path, span, .. } in &strays {
            let lines = lines.get(span.clone()).unwrap_or_default();
            plan.put_aside
                .push(PutAside { path: path.clone(), text: lossy_text(&lines.join(&b'\n')) });
            plan.repairs.push(Repair::of(Tolerance::Aside).file(path));
        }
        Ok(plan)
    }

    fn is_file(&self, path: &RepoPath) -> bool {
        matches!(self.texts.entry(path), Ok(Entry::File(_)))
    }

    /// Returns the file that contains this token.
    fn that_has<'p>(&self, token: &[u8], paths: &[&'p RepoPath]) -> Option<&'p RepoPath> {
        let has_it = |path: &&&RepoPath| match self.texts.entry(path) {
            Ok(Entry::File(state)) => memchr::memmem::find(&state.bytes, token).is_some(),
            _ => false,
        };
        paths.iter().find(has_it).copied()
    }

    /// Returns true if a section for an undeclared file applies to the current tree, and to an ordinary file only.
    fn may_be_put_aside(&self, stray: &Target<'_, '_>) -> bool {
        let is_sound = match stray.intent {
            Intent::Create { .. } => matches!(self.texts.entry(&stray.path), Ok(Entry::Missing)),
            Intent::Modify | Intent::Delete => self.is_file(&stray.path),
            Intent::Rename { .. } => false,
        };
        stray.is_named && is_sound && !stray.path.is_in_our_directory()
    }
}

/// Returns the uses of lines, now that it is known where hunks end and prose begins.
fn with_prose(uses: &[Use], repairs: &[Repair], lines: &[&[u8]]) -> Vec<Use> {
    let mut uses = uses.to_vec();
    let tails = repairs.iter().filter(|repair| repair.tolerance == Tolerance::Tail);
    for (first, last) in tails.filter_map(|tail| Some((tail.line?, tail.last_line?))) {
        for at in first.saturating_sub(1)..last {
            let is_blank = lines.get(at).is_none_or(|line| line.trim_ascii().is_empty());
            if let Some(what) = uses.get_mut(at) {
                *what = if is_blank { Use::Blank } else { Use::Prose };
            }
        }
    }
    uses
}

/// Explains hunks without names if the answer has names that could not be read.
fn explained(mut refusal: Refusal, lines: &[&[u8]]) -> Refusal {
    let is_bare = |it: &&mut PatchMismatch| it.reason == Reason::NoFileHeader && it.note.is_none();
    if let Some(mismatch) = refusal.mismatches.iter_mut().find(is_bare) {
        mismatch.note = advice::on_lost_names(lines);
    }
    refusal
}

/// Returns a file that is named without a change at the end of the diff: the rest may be lost.
fn without_others<'t>(targets: &'t [Target<'_, '_>]) -> Option<&'t RepoPath> {
    let is_bare = |target: &&Target<'_, '_>| target.tolerates.contains(&Tolerance::Unchanged);
    targets.last().filter(is_bare).map(|target| &target.path)
}

/// Refuses a diff for the files that it must not touch.
fn undeclared(strays: &[Target<'_, '_>]) -> Refusal {
    Refusal { mismatches: strays.iter().filter_map(|target| target.stray.clone()).collect() }
}

/// Collects all values, or all errors.
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
