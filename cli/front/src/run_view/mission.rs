//! What a mission is worth to be told: its steps, its small questions as a count, its card. Pure.

use std::cmp::Ordering;
use std::time::Duration;

use actors::child::ChildEnd;
use actors::event::Event;
use actors::words::{CardAnswer, MissionPhase, ResearchStep};

use unicode_width::UnicodeWidthStr as _;

use super::RunView;

/// How a mission stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MissionState {
    /// Where it is; none where the run is no mission, or none yet.
    pub phase: Option<MissionPhase>,
    /// Small questions that were asked, those that wait for a worker among them.
    pub asked: usize,
    /// Those of them that have ended.
    pub ended: usize,
    /// And of those the ones that have no answer.
    pub failed: usize,
    /// What was found so far.
    pub findings: usize,
}

impl MissionState {
    /// Takes in what happened to a small question.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are those of its call")]
    fn question(&mut self, event: &Event) {
        match event {
            Event::ChildAsked { .. } => self.asked += 1,
            Event::ChildEnded { end } => {
                self.ended += 1;
                self.failed += usize::from(!matches!(end, ChildEnd::Answered(_)));
            }
            _ => {}
        }
    }

    /// It in rows of at most `width` cells, as few as hold it; none where there is no mission at work.
    pub(super) fn rows(&self, width: usize) -> Vec<String> {
        let Some(phase) = self.phase.filter(|phase| *phase != MissionPhase::Done) else {
            return Vec::new();
        };
        let stages = [
            (MissionPhase::Researching, "research"),
            (MissionPhase::AwaitingApproval, "card"),
            (MissionPhase::Executing, "carry out"),
        ];
        let stage = |(stage, name): (MissionPhase, &str)| match stage.cmp(&phase) {
            Ordering::Less => format!("✓ {name}"),
            Ordering::Equal => format!("● {name}"),
            Ordering::Greater => format!("○ {name}"),
        };
        let Self { asked, ended, failed, findings, .. } = *self;
        let open = asked.saturating_sub(ended);
        let counts = [
            (asked, format!("{ended} of {asked} questions")),
            (open, format!("{open} open")),
            (failed, format!("{failed} without answer")),
            (findings, format!("{findings} findings")),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(_, told)| told);
        let mut rows = vec![stages.map(stage).join("  ")];
        for (nth, count) in counts.enumerate() {
            match rows.last_mut() {
                Some(row) if nth > 0 && row.width() + count.width() + 5 <= width => {
                    row.push_str(" · ");
                    row.push_str(&count);
                }
                Some(_) | None => rows.push(count),
            }
        }
        rows.into_iter().map(|row| format!("  {row}")).collect()
    }
}

impl RunView {
    /// Takes in an event of a small question: only how many there are is shown.
    pub(super) fn child_event(&mut self, event: &Event) {
        self.mission.question(event);
    }

    /// How the mission stands, if the run is one.
    pub const fn mission(&self) -> &MissionState {
        &self.mission
    }

    /// The same in a few rows, none wider than `width` cells.
    pub fn mission_rows(&self, width: usize) -> Vec<String> {
        self.mission.rows(width)
    }

    /// Tells of an event that is about a mission.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is not about missions")]
    pub(super) fn mission_event(&mut self, event: &Event, at: Duration) {
        if let Event::MissionPhaseChanged { to, .. } = event {
            self.mission.phase = Some(*to);
        }
        match event {
            Event::MissionPhaseChanged { to: MissionPhase::Researching, .. } => {
                self.enter("research", "", at);
            }
            Event::MissionPhaseChanged { to: MissionPhase::Executing, .. } => {
                self.enter("carry out the mission", "", at);
            }
            Event::SourcesRead { files, files_total, .. } => {
                self.say(format!("  read {files} of {files_total} files"));
            }
            Event::ResearchStep { step, round, asked, answered, new } => {
                self.mission.findings += new;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mission_is_told_in_as_few_rows_as_hold_it() {
        let at_work = MissionState {
            phase: Some(MissionPhase::Researching),
            asked: 36,
            ended: 12,
            failed: 1,
            findings: 14,
        };
        insta::assert_snapshot!(at_work.rows(80).join("\n"), @"
          ● research  ○ card  ○ carry out
          12 of 36 questions · 24 open · 1 without answer · 14 findings
        ");
        insta::assert_snapshot!(at_work.rows(40).join("\n"), @"
          ● research  ○ card  ○ carry out
          12 of 36 questions · 24 open
          1 without answer · 14 findings
        ");
        let carried_out = MissionState { phase: Some(MissionPhase::Executing), ..at_work };
        assert_eq!(carried_out.rows(80)[0], "  ✓ research  ✓ card  ● carry out");
        assert!(MissionState { phase: Some(MissionPhase::Done), ..at_work }.rows(80).is_empty());
        assert!(MissionState::default().rows(80).is_empty(), "a run that is no mission");
    }
}
