//! The decision of policy about an effect, live or reconstructed from a recorded run.

use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::words::EffectToApprove;
use policy::{Act, Confinement, Stage, Verdict};
use sandbox::Degree;
use shell::{CommandLine, confinement};

use super::Gate;

/// Where the effect happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goes {
    /// In the workspace.
    IntoTheWorkspace,
    /// In a copy of the workspace, where commands run.
    IntoACopy,
}

/// The effect of asking policy. In a recorded run, the decision follows from the later events.
pub(super) struct GateDecision<'g> {
    pub(super) gate: &'g Gate,
    pub(super) stage: Stage,
    pub(super) act: Act<'g>,
    pub(super) goes: Goes,
    pub(super) what: &'g EffectToApprove,
}

impl Effect for GateDecision<'_> {
    type Outcome = Verdict;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Verdict> {
        let recorded = recorded_verdict(event, self.what).unwrap_or(Verdict::Allow);
        // The rule that denied it is not recorded, only the denial.
        let was_barred = matches!(recorded, Verdict::Deny { .. });
        if was_barred || self.gate.run.publisher.takes_requests() || self.could_be(&recorded) {
            Trace::Foretold(recorded)
        } else {
            Trace::Absent
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Verdict, JournalClosed> {
        if let Some(barred) = self.gate.denied_since(self.stage, self.act) {
            return Ok(barred);
        }
        let confinement = if self.runs() {
            confinement(&run.sandbox, &run.confinement().await)
        } else {
            // It runs nothing.
            Confinement::Full
        };
        let verdict = self.verdict(confinement);
        if self.gate.grant.is_some() {
            return Ok(verdict);
        }
        // Confined commands harm nothing outside, and a lane's changes need approval when they leave it.
        let stays_within = self.goes == Goes::IntoACopy && confinement.is_confined();
        let is_allowed = || match self.what {
            // Not in lanes: a lane may have changed what the command runs.
            EffectToApprove::Command(text) if run.scope().lane().is_none() => {
                CommandLine::parse(text)
                    .is_ok_and(|line| self.gate.always.allows(&line, degree(confinement)))
            }
            EffectToApprove::Command(_)
            | EffectToApprove::Network(_)
            | EffectToApprove::Tool(_)
            | EffectToApprove::Patch(_) => false,
        };
        let is_asked = matches!(verdict, Verdict::Ask { .. });
        Ok(if is_asked && (stays_within || is_allowed()) { Verdict::Allow } else { verdict })
    }
}

impl GateDecision<'_> {
    /// Returns the decision of policy, or of a mission's approved card if there is one. The card allows what it names;
    /// everything else needs approval, whatever is allowed elsewhere. It does not decide about confinement.
    fn verdict(&self, confinement: Confinement) -> Verdict {
        let rules = &self.gate.run.terms.rules;
        let verdict = rules.decide(self.stage, self.act, confinement);
        let Some(grant) = &self.gate.grant else { return verdict };
        if matches!(verdict, Verdict::Deny { .. } | Verdict::Stage { .. }) {
            return verdict;
        }
        let beyond = match (self.act, self.what) {
            (Act::Patch { paths, .. }, _) => Some(grant.beyond(paths).join(", "))
                .filter(|beyond| !beyond.is_empty())
                .map(|beyond| format!("does not name `{beyond}`")),
            (_, EffectToApprove::Command(text)) if grant.names(text) => None,
            (_, EffectToApprove::Network(_)) => {
                (!grant.network).then(|| "allows no network".to_owned())
            }
            (
                _,
                EffectToApprove::Command(text)
                | EffectToApprove::Patch(text)
                | EffectToApprove::Tool(text),
            ) => Some(format!("does not name `{text}`")),
        };
        if let Some(beyond) = beyond {
            return Verdict::Ask { why: format!("the approved mission card {beyond}") };
        }
        let at_best = rules.decide(self.stage, self.act, Confinement::Full);
        let is_about_walls = matches!(at_best, Verdict::Allow) || !confinement.is_confined();
        if matches!(verdict, Verdict::Ask { .. }) && is_about_walls && self.runs() {
            return verdict;
        }
        Verdict::Allow
    }

    /// Returns true if it runs commands.
    fn runs(&self) -> bool {
        matches!(self.act, Act::Command(_)) || self.goes == Goes::IntoACopy
    }

    /// Returns true if policy decides so at some level of confinement: the level on the recording machine is not known.
    fn could_be(&self, recorded: &Verdict) -> bool {
        let levels = if self.runs() { Confinement::ALL.as_slice() } else { &[Confinement::Full] };
        levels.iter().map(|level| self.verdict(*level)).any(|verdict| {
            match (&verdict, recorded) {
                (Verdict::Allow, Verdict::Allow)
                | (Verdict::Ask { .. }, Verdict::Ask { .. })
                | (Verdict::Stage { .. }, Verdict::Stage { .. }) => true,
                // The user had always allowed it, or it was confined.
                (Verdict::Ask { .. }, Verdict::Allow) => self.runs(),
                _ => false,
            }
        })
    }
}

/// Returns the recorded decision about `what`, if an event shows that it was not simply allowed.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events follow from no verdict")]
fn recorded_verdict(event: &Event, what: &EffectToApprove) -> Option<Verdict> {
    match event {
        Event::ApprovalAsked { action, why, .. } if action == what => {
            Some(Verdict::Ask { why: why.to_string() })
        }
        Event::ApprovalDenied { ask: None, action, why, .. } if action == what => {
            Some(Verdict::Deny { why: why.to_string() })
        }
        // An earlier answer about the same command, repeated for another lane.
        Event::ApprovalDenied { ask: Some(_), action, why, .. } if action == what => {
            Some(Verdict::Ask { why: why.to_string() })
        }
        Event::ApprovalGiven { .. } => Some(Verdict::Ask { why: String::new() }),
        _ => None,
    }
}

/// Returns the degree of confinement, regardless of whether the user accepted it.
const fn degree(confinement: Confinement) -> Degree {
    match confinement {
        Confinement::Full => Degree::Full,
        Confinement::Floor { .. } => Degree::Floor,
        Confinement::None | Confinement::Off => Degree::None,
    }
}
