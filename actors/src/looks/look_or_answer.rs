//! Decides what to do with an answer of a model that may look before it answers: show what it asked for, ask for a
//! correction, accept, or give up. A pure table; every step is bounded, so every inquiry ends.

use model::ToolChoice;

use crate::calls::model_call::{AnswerLength, AnswerLimits};

/// The state of an inquiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inquiry {
    /// Repair turns left.
    repairs: u32,
    /// Answers that may still ask to see something.
    looks: u32,
    /// The maximum length of the next answer.
    length: AnswerLength,
    /// True once an answer was empty.
    was_empty: bool,
    /// True once an answer was cut.
    was_cut: bool,
    /// True once there was a doubt about an answer.
    was_doubted: bool,
}

/// How an answer was classified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It asks to see something.
    Looks,
    /// It keeps the contract.
    Usable,
    /// It keeps the contract, but there is an objection.
    Objectionable,
    /// It keeps the contract, but there is an objection that is raised only once.
    Doubtful,
    /// It breaks the contract.
    Broken,
    /// It was cut off at its maximum length.
    Cut,
    /// It is empty.
    Empty,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InquiryStep {
    /// Show the model what it asked for; it may ask `left` more times.
    Show { left: u32 },
    /// Tell it what is wrong, and let it answer again.
    Repair,
    /// Accept the answer.
    Take,
    /// Give up: there is no answer, unless an earlier one was usable.
    GiveUp,
}

impl Inquiry {
    pub(crate) const fn new(repairs: u32, looks: u32) -> Self {
        let (was_empty, was_cut, was_doubted) = (false, false, false);
        Self { repairs, looks, length: AnswerLength::Usual, was_empty, was_cut, was_doubted }
    }

    /// Returns true if an answer was cut.
    pub(crate) const fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Returns true if the next answer may ask to see something.
    pub(crate) const fn may_look(&self) -> bool {
        self.looks > 0
    }

    /// Returns the limits of the next answer.
    pub(crate) const fn limits(&self) -> AnswerLimits {
        let tools = if self.may_look() { ToolChoice::Auto } else { ToolChoice::None };
        AnswerLimits { length: self.length, tools }
    }

    /// Returns the next step after an answer. A look when none is left breaks the contract.
    pub(crate) fn after(&mut self, heard: Heard) -> InquiryStep {
        if heard == Heard::Cut || (heard == Heard::Empty && self.was_empty) {
            self.length = AnswerLength::Double;
        }
        self.was_empty |= heard == Heard::Empty;
        self.was_cut |= heard == Heard::Cut;
        let insists = heard == Heard::Doubtful && self.was_doubted;
        self.was_doubted |= heard == Heard::Doubtful;
        match heard {
            Heard::Usable => InquiryStep::Take,
            Heard::Doubtful if insists => InquiryStep::Take,
            Heard::Looks if self.looks > 0 => {
                self.looks -= 1;
                InquiryStep::Show { left: self.looks }
            }
            _ if self.repairs > 0 => {
                self.repairs -= 1;
                InquiryStep::Repair
            }
            Heard::Objectionable | Heard::Doubtful => InquiryStep::Take,
            Heard::Looks | Heard::Broken | Heard::Cut | Heard::Empty => InquiryStep::GiveUp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Heard; 7] = [
        Heard::Looks,
        Heard::Usable,
        Heard::Objectionable,
        Heard::Doubtful,
        Heard::Broken,
        Heard::Cut,
        Heard::Empty,
    ];

    /// Collects every possible course of an inquiry, with the number of answers it took.
    fn go(inquiry: Inquiry, answers: u32, ends: &mut Vec<(u32, InquiryStep)>) {
        for heard in ALL {
            let mut next = inquiry;
            match next.after(heard) {
                end @ (InquiryStep::Take | InquiryStep::GiveUp) => ends.push((answers + 1, end)),
                InquiryStep::Show { .. } | InquiryStep::Repair => go(next, answers + 1, ends),
            }
        }
    }

    #[test]
    fn every_inquiry_ends_within_its_bounds() {
        let mut ends = Vec::new();
        go(Inquiry::new(2, 2), 0, &mut ends);
        assert_eq!(ends.iter().map(|(answers, _)| *answers).max(), Some(5));
        assert!(ends.iter().any(|(answers, end)| (*answers, *end) == (1, InquiryStep::Take)));
        assert!(ends.iter().any(|(answers, end)| (*answers, *end) == (5, InquiryStep::GiveUp)));
    }

    #[test]
    fn the_step_after_each_answer() {
        let table: Vec<String> = [(1, 1), (0, 1), (1, 0), (0, 0)]
            .into_iter()
            .flat_map(|(repairs, looks)| {
                ALL.map(|heard| {
                    let step = Inquiry::new(repairs, looks).after(heard);
                    format!("{repairs} repairs, {looks} looks, {heard:?}: {step:?}")
                })
            })
            .collect();
        insta::assert_snapshot!(table.join("\n"));
    }

    #[test]
    fn a_doubt_is_raised_once_and_an_objection_as_long_as_repairs_are_left() {
        let steps = |heard| {
            let mut inquiry = Inquiry::new(2, 0);
            [inquiry.after(heard), inquiry.after(heard), inquiry.after(heard)]
        };
        assert_eq!(
            steps(Heard::Objectionable),
            [InquiryStep::Repair, InquiryStep::Repair, InquiryStep::Take]
        );
        assert_eq!(
            steps(Heard::Doubtful),
            [InquiryStep::Repair, InquiryStep::Take, InquiryStep::Take]
        );
    }

    #[test]
    fn tools_are_withdrawn_once_no_look_is_left() {
        let mut inquiry = Inquiry::new(1, 1);
        assert_eq!(inquiry.limits().tools, ToolChoice::Auto);
        inquiry.after(Heard::Looks);
        assert_eq!(inquiry.limits().tools, ToolChoice::None);
    }

    #[test]
    fn a_cut_or_repeatedly_empty_answer_gets_twice_the_room() {
        let mut inquiry = Inquiry::new(5, 0);
        inquiry.after(Heard::Empty);
        assert_eq!(inquiry.length, AnswerLength::Usual);
        inquiry.after(Heard::Empty);
        assert_eq!(inquiry.length, AnswerLength::Double);
        let mut inquiry = Inquiry::new(5, 0);
        inquiry.after(Heard::Cut);
        assert_eq!(inquiry.length, AnswerLength::Double);
    }
}
