//! The lines and rows shown for a mission: its steps, the number of its child questions, its card. Pure.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use actors::calls::call_order::QueuePlace;
use actors::talk::child_question::ChildEnd;
use checks::wording::short_number;
use facts::event::Event;
use facts::words::{CardAnswer, MissionPhase, ResearchStep};
use tools::count::counted;
use unicode_width::UnicodeWidthStr as _;

use super::RunView;
use crate::diff::harmless;
use crate::lanes::rows::cut_to_width;

/// Most waiting questions that are shown one by one; the others are only counted.
const MOST_SHOWN: usize = 3;

/// The progress of a mission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissionState {
    /// The current phase; `None` if the run is not a mission, or not yet.
    pub phase: Option<MissionPhase>,
    /// Number of child questions, including those that wait for a worker.
    pub asked: usize,
    /// Number of them that have ended.
    pub ended: usize,
    /// Number of them that ended without an answer.
    pub failed: usize,
    /// Number of findings so far.
    pub findings: usize,
    /// Prompt tokens of the questions since the last step that were in the provider's cache, as the common prefix is that was
    /// sent first.
    pub from_cache: u64,
    /// The questions that have not ended, by number.
    pub open: BTreeMap<u32, QuestionState>,
}

/// The state of a child question that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionState {
    /// It waits for a worker.
    Queued,
    /// A worker has it and waits, for this reason.
    Waits(String),
    /// The model call is running.
    AtWork,
}

impl MissionState {
    /// Records an event of a child question.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other events belong to its call")]
    fn question(&mut self, number: u32, event: &Event) {
        match event {
            Event::ChildAsked { .. } => {
                self.asked += 1;
                self.open.insert(number, QuestionState::Queued);
            }
            Event::ModelRequest { .. } => self.set_state(number, QuestionState::AtWork),
            Event::ModelReply { usage: Some(usage), .. } => {
                self.from_cache += usage.hit.unwrap_or_default();
            }
            Event::ChildEnded { end } => {
                self.open.remove(&number);
                self.ended += 1;
                self.failed += usize::from(!matches!(end, ChildEnd::Answered(_)));
            }
            _ => {}
        }
    }

    fn set_state(&mut self, number: u32, now: QuestionState) {
        // The call that primes the cache has a number, but is not a question.
        if let Some(state) = self.open.get_mut(&number) {
            *state = now;
        }
    }

    /// Returns why the next questions wait, and their places in the queue.
    fn waiting(&self) -> Vec<String> {
        let waits = self.open.iter().filter_map(|(number, state)| match state {
            QuestionState::Waits(why) => Some(format!("question {number}: {why}")),
            QuestionState::Queued | QuestionState::AtWork => None,
        });
        let queued = self.open.iter().filter(|(_, state)| **state == QuestionState::Queued);
        let taken = self.open.len() - queued.clone().count();
        let why = match taken {
            0 => "the common prefix is sent first".to_owned(),
            taken => format!("{taken} are running"),
        };
        // Their places follow those of the questions that a worker has.
        let queued = (waits.clone().count() + 1..).zip(queued).map(|(place, (number, _))| {
            format!("question {number}: queued {}: {why}", QueuePlace(place))
        });
        waits.chain(queued).take(MOST_SHOWN).collect()
    }

    /// Returns the progress in as few rows of at most `width` cells as possible; no rows if no mission is running.
    pub(super) fn rows(&self, width: usize) -> Vec<String> {
        let Some(phase) = self.phase.filter(|phase| *phase != MissionPhase::Done) else {
            return Vec::new();
        };
        let stages = [
            (MissionPhase::Researching, "research"),
            (MissionPhase::AwaitingApproval, "card"),
            (MissionPhase::Executing, "execute"),
        ];
        let stage = |(stage, name): (MissionPhase, &str)| match stage.cmp(&phase) {
            Ordering::Less => format!("✓ {name}"),
            Ordering::Equal => format!("● {name}"),
            Ordering::Greater => format!("○ {name}"),
        };
        let Self { asked, ended, failed, findings, .. } = *self;
        let queued = self.open.values().filter(|state| **state == QuestionState::Queued).count();
        let taken = self.open.len() - queued;
        let counts = [
            (asked, format!("{ended} of {}", counted(asked, "question"))),
            (taken, format!("{taken} running")),
            (queued, format!("{queued} queued")),
            (failed, format!("{failed} unanswered")),
            (findings, counted(findings, "finding")),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text);
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
        rows.extend(self.waiting().iter().map(|row| cut_to_width(row, width.saturating_sub(2))));
        rows.into_iter().map(|row| format!("  {row}")).collect()
    }
}

impl RunView {
    /// Records an event of a child question.
    pub(super) fn child_event(&mut self, number: u32, event: &Event) {
        self.mission.question(number, event);
    }

    /// Records why a child question waits.
    pub(super) fn child_waits(&mut self, number: u32, why: &str) {
        self.mission.set_state(number, QuestionState::Waits(harmless(why)));
    }

    /// Returns the progress of the mission; the default if the run is not one.
    pub const fn mission(&self) -> &MissionState {
        &self.mission
    }

    /// Returns the progress of the mission in a few rows, none wider than `width` cells.
    pub fn mission_rows(&self, width: usize) -> Vec<String> {
        self.mission.rows(width)
    }

    /// Records and shows an event about a mission.
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
                self.enter("execute the mission", "", at);
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
                let cached = match std::mem::take(&mut self.mission.from_cache) {
                    0 => String::new(),
                    tokens => format!(", {} tokens from the cache", short_number(tokens)),
                };
                self.say(format!(
                    "  {} {round}: {answered} of {asked} questions answered, {what}{cached}",
                    step.name()
                ));
            }
            Event::ResearchCut { .. } => {
                self.say("  research ends early to leave enough of the budget for the card");
            }
            Event::CardMade { version, hash, .. } => {
                self.say(format!("  mission card {version}: {hash}"));
            }
            Event::CardAnswered { answer, .. } => self.say(match answer {
                CardAnswer::Approved => "  the card is approved",
                CardAnswer::Rejected => "  the card is rejected",
                CardAnswer::Modify(_) => "  changes to the card are requested",
                CardAnswer::NoOne => {
                    "  the card needs approval, and there is no terminal to ask on"
                }
            }),
            Event::EvidenceCompared { stale, changed } => {
                let findings = counted(stale.len(), "finding");
                if !stale.is_empty() {
                    self.say(format!(
                        "  the lines of {findings} have changed since they were read"
                    ));
                }
                let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
                if !changed.is_empty() {
                    let changed = harmless(&changed.join(", "));
                    self.say(format!("  changed since the card was made: {changed}"));
                }
            }
            Event::TaskAnswered { task, answer } => {
                let how = if answer.is_some() { "done" } else { "no answer" };
                self.say(format!("  task {task}: {how}"));
            }
            Event::MissionReported { stale, .. } if !stale.is_empty() => {
                let findings = counted(stale.len(), "finding");
                self.say(format!("  stale: the lines of {findings} have changed since"));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mission with 36 questions, of which ten have a worker; two of these wait for the provider.
    fn at_work() -> MissionState {
        let state = |number: u32| match number {
            13..21 => QuestionState::AtWork,
            21 => QuestionState::Waits("attempt 2 of 5 in 1.2 s".to_owned()),
            22 => {
                QuestionState::Waits("queued 1st: at most 4 model calls are in flight".to_owned())
            }
            _ => QuestionState::Queued,
        };
        MissionState {
            phase: Some(MissionPhase::Researching),
            asked: 36,
            ended: 12,
            failed: 1,
            findings: 14,
            from_cache: 0,
            open: (13..=36).map(|number| (number, state(number))).collect(),
        }
    }

    #[test]
    fn the_progress_of_a_mission_takes_as_few_rows_as_possible() {
        insta::assert_snapshot!(at_work().rows(80).join("\n"), @"
          ● research  ○ card  ○ execute
          12 of 36 questions · 10 running · 14 queued · 1 unanswered · 14 findings
          question 21: attempt 2 of 5 in 1.2 s
          question 22: queued 1st: at most 4 model calls are in flight
          question 23: queued 3rd: 10 are running
        ");
        insta::assert_snapshot!(at_work().rows(40).join("\n"), @"
          ● research  ○ card  ○ execute
          12 of 36 questions · 10 running
          14 queued · 1 unanswered · 14 findings
          question 21: attempt 2 of 5 in 1.2 s
          question 22: queued 1st: at most 4 mo…
          question 23: queued 3rd: 10 are runni…
        ");
        let executing = MissionState { phase: Some(MissionPhase::Executing), ..at_work() };
        assert_eq!(executing.rows(80)[0], "  ✓ research  ✓ card  ● execute");
        assert!(MissionState { phase: Some(MissionPhase::Done), ..at_work() }.rows(80).is_empty());
        assert!(
            MissionState::default().rows(80).is_empty(),
            "a run that is not a mission has no rows"
        );
    }

    #[test]
    fn what_the_questions_had_from_the_cache_is_counted() {
        let usage = Some(model::Usage { prompt: 900, hit: Some(800), ..model::Usage::default() });
        let reply = Event::ModelReply {
            call: 1,
            role: model::AgentRole::Child,
            outcome: "ok".to_owned(),
            message: None,
            error: None,
            usage,
            cost_nano_usd: None,
            charged: facts::amounts::Amount::default(),
            avoidable_misses: 0,
            answer: None,
        };
        let mut mission = at_work();
        (13..16).for_each(|number| mission.question(number, &reply));
        assert_eq!(mission.from_cache, 2400);
    }

    #[test]
    fn questions_wait_until_their_common_prefix_is_sent() {
        let open = (2..=9).map(|number| (number, QuestionState::Queued)).collect();
        let asked = MissionState { open, asked: 8, ended: 0, failed: 0, findings: 0, ..at_work() };
        insta::assert_snapshot!(asked.rows(80).join("\n"), @"
          ● research  ○ card  ○ execute
          0 of 8 questions · 8 queued
          question 2: queued 1st: the common prefix is sent first
          question 3: queued 2nd: the common prefix is sent first
          question 4: queued 3rd: the common prefix is sent first
        ");
    }
}
