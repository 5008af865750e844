//! What a mission is worth to be told: its steps, its small questions as a count, its card. Pure.

use std::time::Duration;

use actors::child::ChildEnd;
use actors::event::Event;
use actors::words::{CardAnswer, MissionPhase, ResearchStep};

use super::RunView;

/// The small questions of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Questions {
    asked: usize,
    ended: usize,
    failed: usize,
}

impl Questions {
    /// Takes in what happened to one.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are those of its call")]
    fn event(&mut self, event: &Event) {
        match event {
            Event::ChildAsked { .. } => self.asked += 1,
            Event::ChildEnded { end } => {
                self.ended += 1;
                self.failed += usize::from(!matches!(end, ChildEnd::Answered(_)));
            }
            _ => {}
        }
    }

    /// How many are answered of how many; nothing where none was asked.
    fn told(self) -> Option<String> {
        let Self { asked, ended, failed } = self;
        let failed = if failed == 0 { String::new() } else { format!(", {failed} without answer") };
        (asked > 0).then(|| format!("{ended} of {asked} questions{failed}"))
    }
}

impl RunView {
    /// Tells of an event of a small question: only how many there are.
    pub(super) fn child_event(&mut self, event: &Event) {
        self.questions.event(event);
        self.waiting = self.questions.told();
    }

    /// Tells of an event that is about a mission.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is not about missions")]
    pub(super) fn mission_event(&mut self, event: &Event, at: Duration) {
        match event {
            Event::MissionPhaseChanged { to: MissionPhase::Researching, .. } => {
                self.questions = Questions::default();
                self.enter("research", "", at);
            }
            Event::MissionPhaseChanged { to: MissionPhase::Executing, .. } => {
                self.enter("carry out the mission", "", at);
            }
            Event::SourcesRead { files, files_total, .. } => {
                self.say(format!("  read {files} of {files_total} files"));
            }
            Event::ResearchStep { step, round, asked, answered, new } => {
                let what = match step {
                    ResearchStep::Claims => "claims checked".to_owned(),
                    ResearchStep::Sampling | ResearchStep::Program | ResearchStep::Hypotheses => {
                        format!("{new} new findings")
                    }
                };
                self.say(format!(
                    "  {} {round}: {answered} of {asked} questions answered, {what}",
                    step.name()
                ));
            }
            Event::ResearchCut { .. } => {
                self.say("  the time that is left is kept for the card");
            }
            Event::CardMade { version, hash, .. } => {
                self.say(format!("  mission card {version}: {hash}"));
            }
            Event::CardAnswered { answer, .. } => self.say(match answer {
                CardAnswer::Approved => "  the card is approved",
                CardAnswer::Rejected => "  the card is rejected",
                CardAnswer::Modify(_) => "  the card is to be changed",
                CardAnswer::NoOne => "  no one is there to approve the card",
            }),
            Event::TaskAnswered { task, answer } => {
                let how = if answer.is_some() { "done" } else { "no answer" };
                self.say(format!("  task {task}: {how}"));
            }
            Event::MissionReported { stale, .. } if !stale.is_empty() => {
                self.say(format!("  the lines of {} findings have changed since", stale.len()));
            }
            _ => {}
        }
    }
}
