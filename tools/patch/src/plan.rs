//! Turns a model's answer into a complete set of changes, or a refusal. Files are read only by the caller's closure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use config::ApplyStrategy;
use serde::Serialize;

use super::advice;
use super::blocks;
use super::envelope::{self, Opened};
use super::file::Reader;
use super::line_use::Use;
use super::lines::show;
use super::lost_text::{self, Lost};
use super::parse;
use super::planner::{self, Planner};
use super::put_aside::{self, PutAside};
use super::refuse::{PatchMismatch, Reason, Refusal};
use super::resolve::{Intent, Known, Target, resolve};
use super::same_file;
use super::surrounding_text;
use super::texts::Texts;
use super::tolerance::{Repair, Tolerance, Tolerances};
use super::translate::{self, Translation};
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyPlan {
    /// The changes in path order; empty if the files already are as the diff wants them.
    pub changes: Vec<Change>,
    /// The tolerances used.
    pub repairs: Vec<Repair>,
    /// The sections left out, in the order of the answer.
    pub put_aside: Vec<PutAside>,
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
    let scope = &PatchScope { declared: scope.declared.clone(), bases: bases.collect() };
    let current: &Current<'_> = &|path| texts.entry(path);
    let read =
        |answer: &[u8], allowed| as_written(answer, scope, strategy, limits, &texts, allowed);
    let refusal = match read(answer, allowed) {
        Err(refusal) if allowed.allow(Tolerance::Translated) && refusal.is_of_form() => refusal,
        read => return read,
    };
    let Ok(said) = envelope::without_preamble(answer) else { return Err(refusal) };
    // A translation has to match more strictly: only the files confirm that it is what the answer means.
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
    // A declared file that does not exist yet and is left out may be something that the format cannot express.
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
    let above =
        memchr::memchr_iter(b'\n', answer.get(..answer.len() - said.len()).unwrap_or_default())
            .count();
    let (lines, uses) = translate::prose(said);
    let touched: Vec<&RepoPath> = plan.changes.iter().map(|change| &change.path).collect();
    let exists = |path: &RepoPath| !matches!(current(path), Ok(Entry::Missing));
    let declared = scope.declared.as_ref();
    let more = surrounding_text::says_more(&lines, &uses, &touched, declared, &exists);
    let notes = more.into_iter().map(|at| {
        let mut note = Repair::answer(Tolerance::Tail).left_out(at + 1, at + 1);
        note.quote(&lines);
        Repair { line: Some(at + above + 1), last_line: Some(at + above + 1), ..note }
    });
    let notes: Vec<Repair> = notes.collect();
    plan.repairs.extend(notes);
    Ok(plan)
}

/// The tolerances that do not apply to a translated answer.
const LOOSE: [Tolerance; 17] = [
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
    Tolerance::Sides,
    Tolerance::Aside,
];

/// Plans an answer as it is written, without translating it.
fn as_written(
    answer: &[u8],
    scope: &PatchScope,
    strategy: ApplyStrategy,
    limits: &PatchLimits,
    texts: &Texts<'_>,
    allowed: Tolerances,
) -> Result<ApplyPlan, Refusal> {
    let current: &Current<'_> = &|path| texts.entry(path);
    let answer = envelope::without_escapes(answer, allowed);
    let escaped = matches!(answer, Cow::Owned(_));
    let answer = envelope::open(&answer, allowed)?;
    let mut patch = parse::parse(&answer, allowed)?;
    let exists = |path: &RepoPath| !matches!(current(path), Ok(Entry::Missing));
    let known = Known { declared: scope.declared.as_ref(), exists: &exists, allowed };
    same_file::name_sections(&mut patch.sections, &answer.lines, &patch.uses, &known, current);
    let targets = all(patch.sections.iter().map(|section| resolve(section, &known)));
    let targets = targets.map_err(|refusal| explained(refusal, &answer.lines))?;
    if let Some(bare) = without_others(&targets) {
        return Err(PatchMismatch::file(Reason::EmptyFileSection, bare.as_str()).into());
    }
    // The file exists or is declared.
    let is_known = |path: &RepoPath| {
        let is_declared = scope.declared.as_ref().is_some_and(|declared| declared.contains(path));
        is_declared || matches!(current(path), Ok(Entry::File(_)))
    };
    if let Some(path) = blocks::may_be_drafts(&answer.lines, &patch.uses, &targets) {
        let mismatch = PatchMismatch::file(Reason::ContradictoryFileOps, path.as_str());
        return Err(mismatch
            .note("A tag is closed between two changes of this file: if one is a draft, send only the other.")
            .into());
    }
    let declared = scope.declared.as_ref();
    let (lines, uses) = (&answer.lines, &patch.uses);
    if let Some(mismatch) = surrounding_text::against(lines, uses, &targets, declared, &is_known) {
        return Err(mismatch.into());
    }
    if let Some(other) =
        targets.iter().find(|target| blocks::names_another(&answer.lines, target, &is_known))
    {
        let mismatch = PatchMismatch::file(Reason::ContradictoryHeaders, other.path.as_str());
        return Err(mismatch.note("The text around its hunks names another file: write the same path there and in the headers.").into());
    }
    let (strays, targets): (Vec<_>, Vec<_>) =
        targets.into_iter().partition(|target| target.stray.is_some());
    if !strays.is_empty() && (targets.is_empty() || !may_be_put_aside(&strays, current, allowed)) {
        return Err(undeclared(&strays));
    }
    let touched: Vec<&RepoPath> = targets.iter().chain(&strays).flat_map(Target::paths).collect();
    if let Some(block) = blocks::whole_file(lines, uses, &touched, declared, &exists) {
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
        return Err(mismatch
            .note("The answer ends in a template token that this file also contains: leave it out, or add a context line after it.")
            .into());
    }
    let mut repairs = answer.repairs.clone();
    if escaped {
        repairs.push(Repair::answer(Tolerance::Leaked));
    }
    repairs.extend(patch.repairs.iter().cloned());
    for block in blocks::blocks(&answer.lines, &patch.uses) {
        if !allowed.allow(Tolerance::PassedOver) {
            return Err(
                PatchMismatch::line(Reason::UnsupportedFormat, &answer.lines, block.at).into()
            );
        }
        repairs.push(Repair::answer(Tolerance::PassedOver).left_out(block.at + 1, block.end + 1));
    }
    let notes = text_to_note(lines, uses, &targets, &touched, declared, &exists)?;
    note_text(&mut repairs, lines, &notes, allowed)?;
    for path in blocks::in_several(&targets, &patch.uses) {
        if !allowed.allow(Tolerance::Blocks) {
            return Err(alternatives(path).into());
        }
        let file = Some(path.clone());
        repairs.push(Repair { file, ..Repair::answer(Tolerance::Blocks) });
    }
    if targets.iter().any(|target| target.tolerates.contains(&Tolerance::NoHeader)) {
        repairs.push(Repair::answer(Tolerance::NoHeader));
    }
    for Target { path, tolerates, .. } in &targets {
        let in_file = tolerates.iter().filter(|tolerance| **tolerance != Tolerance::NoHeader);
        let of = |tolerance: &Tolerance| Repair {
            file: Some(path.clone()),
            ..Repair::answer(*tolerance)
        };
        repairs.extend(in_file.map(of));
    }
    let reader = Reader { allowed, blind_eol: answer.crlf };
    let mut plan = Planner::new(scope, strategy, limits, texts, reader, repairs).plan(&jobs)?;
    plan.repairs.iter_mut().for_each(|repair| repair.quote(lines));
    if strays.is_empty() {
        Ok(plan)
    } else if put_aside::stands_alone(&strays, &targets, &plan.changes) {
        Ok(without(&strays, &answer, plan))
    } else {
        Err(undeclared(&strays))
    }
}

/// Returns the text, by its first and last line from 0, that is left out although it may be about a change.
fn text_to_note(
    lines: &[&[u8]],
    uses: &[Use],
    targets: &[Target<'_, '_>],
    touched: &[&RepoPath],
    declared: Option<&BTreeSet<RepoPath>>,
    exists: &dyn Fn(&RepoPath) -> bool,
) -> Result<Vec<[usize; 2]>, Refusal> {
    let mut notes: Vec<[usize; 2]> = Vec::new();
    for lost in lost_text::below_added_lines(lines, uses, targets) {
        match lost {
            Lost::Line(at) => return Err(lost_text::refuse(lines, at).into()),
            Lost::Text(text) => notes.push(text),
        }
    }
    let more = surrounding_text::says_more(lines, uses, touched, declared, exists);
    let more = more.into_iter().chain(surrounding_text::doubts(lines, uses, targets));
    notes.extend(more.map(|at| [at, at]));
    Ok(notes)
}

/// Records text of the answer, by its first and last line from 0, that is left out although it may be about a change.
fn note_text(
    repairs: &mut Vec<Repair>,
    lines: &[&[u8]],
    notes: &[[usize; 2]],
    allowed: Tolerances,
) -> Result<(), Refusal> {
    for [first, last] in notes {
        if !allowed.allow(Tolerance::Tail) {
            return Err(PatchMismatch::line(Reason::StrayLine, lines, *first).into());
        }
        let note = Repair::answer(Tolerance::Tail).left_out(first + 1, last + 1);
        if !repairs.contains(&note) {
            repairs.push(note);
        }
    }
    Ok(())
}

/// Explains hunks without names if the answer has names that could not be read.
fn explained(mut refusal: Refusal, lines: &[&[u8]]) -> Refusal {
    let is_bare = |it: &&mut PatchMismatch| it.reason == Reason::NoFileHeader && it.note.is_none();
    if let Some(mismatch) = refusal.mismatches.iter_mut().find(is_bare) {
        mismatch.note = advice::on_lost_names(lines);
    }
    refusal
}

/// Returns the file that contains this token.
fn about<'p>(token: &[u8], paths: &[&'p RepoPath], current: &Current<'_>) -> Option<&'p RepoPath> {
    let has_it = |path: &&&RepoPath| match current(path) {
        Ok(Entry::File(state)) => memchr::memmem::find(&state.bytes, token).is_some(),
        _ => false,
    };
    paths.iter().find(has_it).copied()
}

/// Returns a file that is named without a change at the end of the diff: the rest may be lost.
fn without_others<'t>(targets: &'t [Target<'_, '_>]) -> Option<&'t RepoPath> {
    let is_bare = |target: &&Target<'_, '_>| target.tolerates.contains(&Tolerance::Unchanged);
    targets.last().filter(is_bare).map(|target| &target.path)
}

/// Returns true if these sections for undeclared files apply to the current tree, and to ordinary files only.
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

/// Refuses a diff for the files that it must not touch.
fn undeclared(strays: &[Target<'_, '_>]) -> Refusal {
    Refusal { mismatches: strays.iter().filter_map(|target| target.stray.clone()).collect() }
}

/// Refuses an answer with several blocks for a file.
fn alternatives(path: &RepoPath) -> PatchMismatch {
    PatchMismatch::file(Reason::ContradictoryFileOps, path.as_str())
        .note("Two blocks of the answer change this file, and may be alternatives: send one diff.")
}

/// Adds the omitted sections to the plan.
fn without(strays: &[Target<'_, '_>], answer: &Opened<'_>, mut plan: ApplyPlan) -> ApplyPlan {
    for Target { path, span, .. } in strays {
        let lines = answer.lines.get(span.clone()).unwrap_or_default();
        plan.put_aside.push(PutAside { path: path.clone(), text: show(&lines.join(&b'\n')) });
        let file = Some(path.clone());
        plan.repairs.push(Repair { file, ..Repair::answer(Tolerance::Aside) });
    }
    plan
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
