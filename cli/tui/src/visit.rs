//! Views on the alternate screen: the review of a change file by file, the transcript, the list of sessions. Pure.

mod pages;
mod review;

use anstyle::{AnsiColor, Style};
use facts::signal::ApprovalAnswer;
use front::paint::Paint;
use unicode_width::UnicodeWidthStr as _;

use crate::keys::Key;
use crate::picker::Picker;
use crate::screen::ScreenSize;

pub(crate) use self::pages::Pages;
pub(crate) use self::review::PatchReview;

/// The number of lines that a step of the mouse wheel scrolls.
const WHEEL: usize = 3;

/// What the alternate screen shows.
#[derive(Debug)]
pub(crate) enum Visit {
    /// The change that needs approval.
    Review(PatchReview),
    /// The output printed so far.
    Transcript(Pages),
    /// Sessions to resume.
    Sessions(Picker),
}

/// The effect of a key on a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Does {
    /// The visit continues.
    Stays,
    /// The visit ends.
    Leaves,
    /// The visit ends with this answer to the question.
    Answers(ApprovalAnswer),
    /// The visit ends with the session of this id, to be resumed.
    Resumes(String),
}

impl Visit {
    /// Returns the rows of the screen.
    pub(crate) fn rows(&self, size: ScreenSize, paint: Paint) -> Vec<String> {
        match self {
            Self::Review(review) => review.rows(size, paint),
            Self::Transcript(pages) => {
                let keys =
                    ["transcript", "q goes back", "Up Down PageUp PageDown", "g start", "G end"];
                pages.rows(size, &bar(paint, &fitting(size, 2, &keys)))
            }
            Self::Sessions(picker) => picker.rows(size, paint),
        }
    }

    /// Handles a key on a screen of this size.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only the wheel is translated here")]
    pub(crate) fn key(&mut self, key: &Key, size: ScreenSize) -> Does {
        let turned = match key {
            Key::WheelUp => Some(Key::Up),
            Key::WheelDown => Some(Key::Down),
            _ => None,
        };
        if let Some(arrow) = turned {
            // Reading goes by lines, choosing by sessions.
            let steps = if matches!(self, Self::Sessions(_)) { 1 } else { WHEEL };
            (0..steps).for_each(|_| drop(self.key(&arrow, size)));
            return Does::Stays;
        }
        match self {
            Self::Review(review) => review.key(key, size),
            Self::Transcript(pages) => pages.key(key, size),
            Self::Sessions(picker) => picker.key(key, size),
        }
    }
}

/// Joins these parts, the most important first, as far as they fit; at least the first `least` of them.
fn fitting(size: ScreenSize, least: usize, parts: &[&str]) -> String {
    let joined = |count| parts.iter().take(count).copied().collect::<Vec<_>>().join(" · ");
    let fits = |count: &usize| joined(*count).width() <= usize::from(size.columns);
    joined((least..=parts.len()).rev().find(fits).unwrap_or(least))
}

/// Formats the bar at the bottom.
fn bar(paint: Paint, text: &str) -> String {
    paint.with(Style::new().invert(), text)
}

/// Formats text in one colour.
pub(crate) fn coloured(paint: Paint, colour: AnsiColor, text: &str) -> String {
    paint.with(Style::new().fg_color(Some(colour.into())), text)
}
