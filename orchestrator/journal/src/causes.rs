//! What each event of a session was caused by, back to what the user asked. Pure.
//!
//! A run goes one way through the stages, so a cause is the nearest earlier event of the run that can be one. Calls,
//! questions and retries name theirs.

use std::collections::BTreeMap;

use super::projection::answers::{Call, Moment, StoryEvent};

/// Events that end the work of a role, a check or lanes, on the way to the next.
const FAILURES: &[&str] = &["FailureClassified", "PatchRefused", "RoleCrashed", "LanesFinished"];
const PLANS: &[&str] = &["PlanCreated", "PlanRevised"];

/// What a run can end with.
const LAST_WORDS: &[&str] = &[
    "TurnAdded",
    "ModelReply",
    "ArchitectCompleted",
    "EditorCompleted",
    "ApplyCompleted",
    "ToolDenied",
    "VerifyCompleted",
    "FailureClassified",
    "RoleCrashed",
    "LanesFinished",
];

/// The run and the lane that an event belongs to.
type Whose<'s> = (Option<&'s str>, Option<&'s str>);

/// The latest events of each kind, by run and lane.
#[derive(Debug, Default)]
struct Seen<'s> {
    latest: BTreeMap<(Whose<'s>, &'s str), u64>,
    asks: BTreeMap<&'s str, u64>,
}

/// The number of the cause of each event of `story`, which begins with the first of its session.
pub fn causes(story: &[StoryEvent]) -> Vec<Option<u64>> {
    let mut seen = Seen::default();
    let causes = story.iter().map(|entry| {
        let cause = seen.cause(entry);
        seen.latest
            .insert(((entry.run.as_deref(), entry.lane.as_deref()), entry.name()), entry.seq);
        if let Moment::Proposal { ask, .. } = &entry.what {
            seen.asks.insert(ask, entry.seq);
        }
        cause
    });
    causes.collect()
}

/// The chain of causes of the event with this number: itself first.
pub fn chain(causes: &[Option<u64>], seq: u64) -> Vec<u64> {
    // A cause always comes before what it causes, so this ends.
    let cause = |seq: &u64| {
        let at = usize::try_from(seq.checked_sub(1)?).ok()?;
        causes.get(at).copied().flatten().filter(|cause| cause < seq)
    };
    std::iter::successors(Some(seq), cause).collect()
}

impl<'s> Seen<'s> {
    fn cause(&self, entry: &'s StoryEvent) -> Option<u64> {
        if let Moment::Reply { request } = &entry.what {
            return Some(*request);
        }
        if let Moment::Answer { ask, .. } = &entry.what
            && let Some(question) = self.asks.get(ask.as_str())
        {
            return Some(*question);
        }
        if entry.name() == "SessionStateChanged" {
            // It is written right behind its cause.
            return entry.seq.checked_sub(1);
        }
        self.nearest(entry, kinds_before(entry))
    }

    /// The nearest earlier event of the same lane, or else of its run, that is of one of these kinds.
    fn nearest(&self, entry: &'s StoryEvent, kinds: &[&'static str]) -> Option<u64> {
        let (run, lane) = (entry.run.as_deref(), entry.lane.as_deref());
        let latest = |whose: Whose<'s>| {
            kinds.iter().filter_map(|kind| self.latest.get(&(whose, *kind)).copied()).max()
        };
        latest((run, lane)).or_else(|| latest((run, None)))
    }
}

/// The kinds of events that can be what caused one.
fn kinds_before(entry: &StoryEvent) -> &'static [&'static str] {
    match (entry.name(), &entry.what) {
        // What the user says has no cause in here.
        ("TurnAdded", Moment::Turn { speaker, .. }) if speaker == "user" => &[],
        ("RouterDecision", Moment::Decision { reason, .. }) if reason != "model" => &["TurnAdded"],
        (
            "TurnAdded" | "RouterDecision" | "PlanRefused" | "PlanCreated" | "PlanRevised"
            | "DraftRefused" | "ContextRequested" | "LanesPlanned" | "LanesDeclined",
            _,
        ) => &["ModelReply"],
        ("RunStarted", _) => &["RouterDecision"],
        ("EvidenceGathered", _) => &["RunStarted"],
        ("LanesBegun", _) => &["LanesPlanned"],
        ("LaneSpawned", _) => &["LanesBegun", "LaneConflicted", "LanesBisected"],
        ("LaneCompleted" | "LaneFailed", _) => LAST_WORDS,
        ("LaneMerged" | "LaneConflicted" | "LanesMerged", _) => {
            &["LanesBegun", "LaneMerged", "LaneConflicted", "LanesBisected"]
        }
        ("LanesBisected", _) => &["VerifyCompleted"],
        ("LanesFinished", _) => &[
            "LanesBegun",
            "LaneMerged",
            "LaneConflicted",
            "LanesBisected",
            "VerifyCompleted",
            "PatchStaged",
            "PatchApplied",
            "PatchNotApplied",
        ],
        ("ArchitectStarted", _) => &[
            "FailureClassified",
            "PatchRefused",
            "RoleCrashed",
            "LaneSpawned",
            "LanesDeclined",
            "EvidenceGathered",
        ],
        ("ModelRequest", Moment::Call(call)) => before_call(call),
        ("ArchitectCompleted", _) => &["ModelReply", "PlanRefused", "PlanCreated", "PlanRevised"],
        ("EditorStarted", _) => {
            &["FailureClassified", "PatchRefused", "RoleCrashed", "PlanCreated", "PlanRevised"]
        }
        ("FilesRead", _) => &[
            "ModelReply",
            "ArchitectCompleted",
            "FailureClassified",
            "PatchRefused",
            "ApplyStarted",
        ],
        ("EditorCompleted", _) => &["ModelReply", "DraftRefused"],
        ("ApplyStarted", _) => &["EditorCompleted"],
        // A way back is staged because of what failed.
        ("PatchStaged", Moment::Patch(patch)) if patch.is_way_back() => FAILURES,
        ("PatchStaged" | "PatchRefused", _) => &["ApplyStarted", "LanesMerged"],
        (_, Moment::Proposal { effect, .. } | Moment::Answer { effect: Some(effect), .. }) => {
            before_effect(effect)
        }
        ("CheckpointCreated", _) => &["PatchStaged", "ToolApproved"],
        ("PatchCommitting", _) => &["CheckpointCreated"],
        ("PatchApplied", _) => &["PatchCommitting", "PatchStaged"],
        ("PatchNotApplied", _) => &["PatchCommitting", "CheckpointCreated", "PatchStaged"],
        ("ApplyCompleted", _) => &["ApplyStarted", "PatchApplied", "PatchRefused", "ToolDenied"],
        ("BaselineSkipped", _) => &["EditorCompleted"],
        ("VerifyStarted", _) => &["ApplyCompleted", "LanesMerged"],
        ("VerificationRun", Moment::Command { baseline: true, .. }) => PLANS,
        ("VerificationRun" | "VerifyCompleted", _) => &["VerifyStarted"],
        ("FailureClassified", _) => &["VerifyCompleted", "PatchRefused", "DraftRefused"],
        ("StepMarked", _) => {
            &["VerifyCompleted", "FailureClassified", "PatchRefused", "ToolDenied"]
        }
        ("CallDropped", _) => &["ModelRequest"],
        ("RoleCrashed", _) => {
            &["ArchitectStarted", "EditorStarted", "ApplyStarted", "VerifyStarted"]
        }
        ("RunFinished", _) => LAST_WORDS,
        _ => &[],
    }
}

fn before_call(call: &Call) -> &'static [&'static str] {
    match (call.retry, call.role.as_str()) {
        (0, "architect") => &["ArchitectStarted", "PlanRefused"],
        (0, "editor") => &["EditorStarted", "DraftRefused", "ContextRequested"],
        (0, "analysis" | "lane-planner") => &["EvidenceGathered"],
        (0, _) => &["TurnAdded"],
        (_, _) => &["ModelReply"],
    }
}

fn before_effect(effect: &str) -> &'static [&'static str] {
    if effect.starts_with("patch ") { &["PatchStaged"] } else { PLANS }
}
