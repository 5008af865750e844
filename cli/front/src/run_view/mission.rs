//! What a mission is worth to be told: its steps, its small questions as a count, its card. Pure.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use actors::child::ChildEnd;
use actors::event::Event;
use actors::turns::Place;
use actors::words::{CardAnswer, MissionPhase, ResearchStep};
use unicode_width::UnicodeWidthStr as _;

use super::RunView;
use crate::diff::harmless;
use crate::lanes::rows::cut;

/// Questions that are shown one by one; of the others there are numbers.
const MOST_SHOWN: usize = 3;

/// How a mission stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// Those that have not ended, by their numbers.
    pub open: BTreeMap<u32, Stands>,
}

/// How a small question stands that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stands {
    /// No worker has it yet.
    Queued,
    /// A worker has it, and waits.
    Waits(String),
    /// The model is asked.
    AtWork,
}

impl MissionState {
    /// Takes in what happened to a small question.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are those of its call")]
    fn question(&mut self, number: u32, event: &Event) {
        match event {
            Event::ChildAsked { .. } => {
                self.asked += 1;
                self.open.insert(number, Stands::Queued);
            }
            Event::ModelRequest { .. } => self.stands(number, Stands::AtWork),
            Event::ChildEnded { end } => {
                self.open.remove(&number);
                self.ended += 1;
                self.failed += usize::from(!matches!(end, ChildEnd::Answered(_)));
            }
            _ => {}
        }
    }

    fn stands(&mut self, number: u32, now: Stands) {
        // What is sent ahead of all questions is none.
        if let Some(stands) = self.open.get_mut(&number) {
            *stands = now;
        }
    }

    /// Why the next questions wait, each with its place in the queue.
    fn waiting(&self) -> Vec<String> {
        let waits = self.open.iter().filter_map(|(number, stands)| match stands {
            Stands::Waits(why) => Some(format!("question {number}: {why}")),
            Stands::Queued | Stands::AtWork => None,
        });
        let queued = self.open.iter().filter(|(_, stands)| **stands == Stands::Queued);
        let taken = self.open.len() - queued.clone().count();
        let why = match taken {
            0 => "what all have in common is sent first".to_owned(),
            taken => format!("{taken} are asked at once"),
        };
        // They come after those that a worker has.
        let queued = (waits.clone().count() + 1..).zip(queued).map(|(place, (number, _))| {
            format!("question {number}: queued {}: {why}", Place(place))
        });
        waits.chain(queued).take(MOST_SHOWN).collect()
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
        let queued = self.open.values().filter(|stands| **stands == Stands::Queued).count();
        let taken = self.open.len() - queued;
        let counts = [
            (asked, format!("{ended} of {}", counted(asked, "question"))),
            (taken, format!("{taken} at work")),
            (queued, format!("{queued} queued")),
            (failed, format!("{failed} without answer")),
            (findings, counted(findings, "finding")),
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
        rows.extend(self.waiting().iter().map(|row| cut(row, width.saturating_sub(2))));
        rows.into_iter().map(|row| format!("  {row}")).collect()
    }
}

/// So many of something.
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

impl RunView {
    /// Takes in an event of a small question.
    pub(super) fn child_event(&mut self, number: u32, event: &Event) {
        self.mission.question(number, event);
    }

    /// Takes in why a small question waits.
    pub(super) fn child_waits(&mut self, number: u32, why: &str) {
        self.mission.stands(number, Stands::Waits(harmless(why)));
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
                        counted(*new, "new finding")
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
                let findings = counted(stale.len(), "finding");
                self.say(format!("  the lines of {findings} have changed since"));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mission that has asked 36 questions, of which ten are at work and two wait for the provider.
    fn at_work() -> MissionState {
        let stands = |number: u32| match number {
            13..21 => Stands::AtWork,
            21 => Stands::Waits("attempt 2 of 5 in 1.2 s".to_owned()),
            22 => Stands::Waits("queued 1st: at most 4 model calls are in flight".to_owned()),
            _ => Stands::Queued,
        };
        MissionState {
            phase: Some(MissionPhase::Researching),
            asked: 36,
            ended: 12,
            failed: 1,
            findings: 14,
            open: (13..=36).map(|number| (number, stands(number))).collect(),
        }
    }

    #[test]
    fn a_mission_is_told_in_as_few_rows_as_hold_it() {
        insta::assert_snapshot!(at_work().rows(80).join("\n"), @"
          ● research  ○ card  ○ carry out
          12 of 36 questions · 10 at work · 14 queued · 1 without answer · 14 findings
          question 21: attempt 2 of 5 in 1.2 s
          question 22: queued 1st: at most 4 model calls are in flight
          question 23: queued 3rd: 10 are asked at once
        ");
        insta::assert_snapshot!(at_work().rows(40).join("\n"), @"
          ● research  ○ card  ○ carry out
          12 of 36 questions · 10 at work
          14 queued · 1 without answer
          14 findings
          question 21: attempt 2 of 5 in 1.2 s
          question 22: queued 1st: at most 4 mo…
          question 23: queued 3rd: 10 are asked…
        ");
        let carried_out = MissionState { phase: Some(MissionPhase::Executing), ..at_work() };
        assert_eq!(carried_out.rows(80)[0], "  ✓ research  ✓ card  ● carry out");
        assert!(MissionState { phase: Some(MissionPhase::Done), ..at_work() }.rows(80).is_empty());
        assert!(MissionState::default().rows(80).is_empty(), "a run that is no mission");
    }

    #[test]
    fn what_goes_ahead_of_all_questions_is_waited_for() {
        let open = (2..=9).map(|number| (number, Stands::Queued)).collect();
        let asked = MissionState { open, asked: 8, ended: 0, failed: 0, findings: 0, ..at_work() };
        insta::assert_snapshot!(asked.rows(80).join("\n"), @"
          ● research  ○ card  ○ carry out
          0 of 8 questions · 8 queued
          question 2: queued 1st: what all have in common is sent first
          question 3: queued 2nd: what all have in common is sent first
          question 4: queued 3rd: what all have in common is sent first
        ");
    }
}
