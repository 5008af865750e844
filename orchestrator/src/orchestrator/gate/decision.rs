//! What policy says to an effect, and what it said in a recorded run.

use actors::closed::JournalClosed;
use actors::effect::{Effect, Position, Trace};
use actors::event::Event;
use actors::run::Run;
use actors::words::Asked;
use policy::{Act, Confinement, Stage, Verdict};
use sandbox::Degree;
use shell::{CommandLine, confinement};

use super::Gate;

/// Where the effect happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goes {
    /// In the workspace.
    IntoTheWorkspace,
    /// In a copy of it, where commands run.
    IntoACopy,
}

/// The effect of asking policy. What it said in a recorded run is told by the events that followed from it.
pub(super) struct Decision<'g> {
    pub(super) gate: &'g Gate,
    pub(super) stage: Stage,
    pub(super) act: Act<'g>,
    pub(super) goes: Goes,
    pub(super) what: &'g Asked,
}

impl Effect for Decision<'_> {
    type Outcome = Verdict;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Verdict> {
        let recorded = recorded_verdict(event, self.what).unwrap_or(Verdict::Allow);
        // What barred it then is not known now, but that it was barred is.
        let was_barred = matches!(recorded, Verdict::Deny { .. });
        if was_barred || self.gate.run.publisher.takes_requests() || self.could_be(&recorded) {
            Trace::Foretold(recorded)
        } else {
            Trace::Absent
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Verdict, JournalClosed> {
        if let Some(barred) = self.gate.bars(self.stage, self.act) {
            return Ok(barred);
        }
        let confinement = if self.runs() {
            confinement(&run.sandbox, &run.confinement().await)
        } else {
            // Nothing is run by it.
            Confinement::Full
        };
        let verdict = self.verdict(confinement);
        if self.gate.grant.is_some() {
            return Ok(verdict);
        }
        // What runs behind walls harms nothing outside, and what a lane wrote is asked for when it comes out.
        let stays_within = self.goes == Goes::IntoACopy && confinement.is_confined();
        let is_allowed = || match self.what {
            // A lane may have changed what the command runs.
            Asked::Command(text) if run.scope().lane().is_none() => CommandLine::parse(text)
                .is_ok_and(|line| self.gate.always.allows(&line, degree(confinement))),
            Asked::Command(_) | Asked::Network(_) | Asked::Patch(_) => false,
        };
        let is_asked = matches!(verdict, Verdict::Ask { .. });
        Ok(if is_asked && (stays_within || is_allowed()) { Verdict::Allow } else { verdict })
    }
}

impl Decision<'_> {
    /// What policy says, and the approved card of a mission where there is one: it answers what it names, and what it does not
    /// name is asked with the difference, whatever is allowed elsewhere. How far commands are confined it does not answer.
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
            (_, Asked::Command(text)) if grant.names(text) => None,
            (_, Asked::Network(_)) => Some("allows no network".to_owned()),
            (_, Asked::Command(text) | Asked::Patch(text)) => {
                Some(format!("does not name `{text}`"))
            }
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

    /// Whether commands run by it.
    fn runs(&self) -> bool {
        matches!(self.act, Act::Command(_)) || self.goes == Goes::IntoACopy
    }

    /// Whether policy says so on some machine: how far commands were confined on the one that it was recorded on is not known.
    fn could_be(&self, recorded: &Verdict) -> bool {
        let levels = if self.runs() { Confinement::ALL.as_slice() } else { &[Confinement::Full] };
        levels.iter().map(|level| self.verdict(*level)).any(|verdict| {
            match (&verdict, recorded) {
                (Verdict::Allow, Verdict::Allow)
                | (Verdict::Ask { .. }, Verdict::Ask { .. })
                | (Verdict::Stage { .. }, Verdict::Stage { .. }) => true,
                // The user had allowed it always, or it stayed within its walls.
                (Verdict::Ask { .. }, Verdict::Allow) => self.runs(),
                _ => false,
            }
        })
    }
}

/// What policy said to `what`, if an event tells that it did not simply let it go ahead.
#[expect(clippy::wildcard_enum_match_arm, reason = "other events come of no verdict")]
fn recorded_verdict(event: &Event, what: &Asked) -> Option<Verdict> {
    match event {
        Event::ApprovalAsked { action, why, .. } if action == what => {
            Some(Verdict::Ask { why: why.to_string() })
        }
        Event::ApprovalDenied { ask: None, action, why, .. } if action == what => {
            Some(Verdict::Deny { why: why.to_string() })
        }
        // What was said to the same command in answer to another lane.
        Event::ApprovalDenied { ask: Some(_), action, why, .. } if action == what => {
            Some(Verdict::Ask { why: why.to_string() })
        }
        Event::ApprovalGiven { .. } => Some(Verdict::Ask { why: String::new() }),
        _ => None,
    }
}

/// How far commands are confined, without what the user thinks of it.
const fn degree(confinement: Confinement) -> Degree {
    match confinement {
        Confinement::Full => Degree::Full,
        Confinement::Floor { .. } => Degree::Floor,
        Confinement::None | Confinement::Off => Degree::None,
    }
}
