//! The rows of the table of lanes, with as many columns as fit. Pure.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use facts::amounts::Spending;
use facts::lane_id::LaneId;
use model::price::Usd;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{Lane, LaneTable, Stage};
use crate::diff::harmless;
use crate::paint::Paint;
use checks::wording::short_number;

/// Cells before the title: two spaces, the lane's number, and a gap.
const BEFORE: usize = 5;
/// Widths of the columns on the right, including the gap before each. Later columns are dropped first.
const ELAPSED: usize = 8;
const TOKENS: usize = 10;
const COST: usize = 10;
const HIT: usize = 9;
/// Minimum width of title and state together, including the gap between them.
const MIN_LEFT: usize = 27;
/// Maximum width of the state.
const MAX_STATE: usize = 40;
/// Below this width of title and state, the title is dropped.
const MIN_WITH_TITLE: usize = 20;

/// The widths of the columns; 0 for a title that does not fit.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    title: usize,
    state: usize,
    /// How many of the columns on the right are shown.
    right: usize,
}

impl Layout {
    /// Lays out a table of this width; `longest` is the width of its longest title.
    fn of(width: usize, longest: usize) -> Self {
        let mut room = width.saturating_sub(BEFORE);
        let mut right = 0;
        for column in [ELAPSED, TOKENS, COST, HIT] {
            if room < MIN_LEFT + column {
                break;
            }
            room -= column;
            right += 1;
        }
        if room < MIN_WITH_TITLE {
            return Self { title: 0, state: room, right };
        }
        let title = longest.min(room * 2 / 5);
        Self { title, state: (room - title - 1).min(MAX_STATE), right }
    }
}

impl LaneTable {
    /// Returns a row for each lane, none wider than `width`. `at` is the time since the run started.
    pub(crate) fn rows(&self, width: usize, at: Duration, paint: Paint) -> Vec<String> {
        let titles = self.lanes.values().map(|lane| harmless(&lane.title).width());
        let layout = Layout::of(width, titles.max().unwrap_or_default());
        self.in_order().map(|(id, lane)| self.row(id, lane, &layout, at, paint)).collect()
    }

    fn row(&self, id: LaneId, lane: &Lane, layout: &Layout, at: Duration, paint: Paint) -> String {
        let mut row = format!("  {id} ");
        if layout.title > 0 {
            row.push_str(&cell(&harmless(&lane.title), layout.title));
            row.push(' ');
        }
        let state = cell(&self.state(lane), layout.state);
        let word = state.trim_end();
        let colour = Style::new().fg_color(Some(colour(&lane.stage).into()));
        row.push_str(&paint.with(colour, word));
        row.push_str(&" ".repeat(state.len() - word.len()));
        let begun = lane.since.is_some() || lane.took > Duration::ZERO;
        let running = lane.since.map_or(Duration::ZERO, |since| at.saturating_sub(since));
        let right = [
            (ELAPSED, begun.then(|| clock(lane.took + running))),
            (
                TOKENS,
                Some(format!("{} tok", short_number(lane.tokens()))).filter(|_| lane.tokens() > 0),
            ),
            (COST, lane.cost()),
            (HIT, lane.hit_share()),
        ];
        for (wide, text) in right.into_iter().take(layout.right) {
            let text = text.unwrap_or_default();
            row.push_str(&" ".repeat(wide.saturating_sub(text.width()).max(1)));
            row.push_str(&text);
        }
        row.trim_end().to_owned()
    }

    /// Describes in a few words what a lane is doing.
    fn state(&self, lane: &Lane) -> String {
        let doing = lane.doing();
        match (&lane.stage, &lane.waiting) {
            // The words before the colon are enough.
            (Stage::Waiting, Some(why)) => harmless(why.split(':').next().unwrap_or_default()),
            (Stage::Waiting, None) => self.before(lane),
            (Stage::Planning | Stage::Editing(_) | Stage::Opening, Some(why)) => {
                format!("{doing} · {}", harmless(why))
            }
            _ => doing,
        }
    }

    /// Names the lanes that must end before this one starts, or says that it is queued.
    fn before(&self, lane: &Lane) -> String {
        let is_open = |id: &&LaneId| {
            let other = self.lanes.get(id);
            other.is_some_and(|other| other.stage == Stage::Waiting || other.stage.is_running())
        };
        let open: Vec<String> = lane.after.iter().filter(is_open).map(LaneId::to_string).collect();
        if open.is_empty() { "queued".to_owned() } else { format!("after {}", open.join(", ")) }
    }
}

impl Lane {
    /// Describes the stage.
    pub(super) fn doing(&self) -> String {
        let doing = match &self.stage {
            Stage::Waiting => "queued".to_owned(),
            Stage::Opening => "starting".to_owned(),
            Stage::Planning => "planning".to_owned(),
            Stage::Editing(iteration) => format!("editing {iteration}"),
            Stage::Applying => "applying".to_owned(),
            Stage::Checking(commands) => match commands.first() {
                Some(command) => format!("checking: {}", harmless(command)),
                None => "checking".to_owned(),
            },
            Stage::Done => "done".to_owned(),
            Stage::Merged => "merged".to_owned(),
            Stage::Empty => "empty".to_owned(),
            Stage::Failed => "failed".to_owned(),
            Stage::Conflicted => "conflict".to_owned(),
        };
        if self.attempt > 1 && self.stage.is_running() { format!("again: {doing}") } else { doing }
    }

    /// Tokens used, including an estimate for the current answer.
    fn tokens(&self) -> u64 {
        self.spent.known.tokens + u64::try_from(self.received / 4).unwrap_or_default()
    }

    fn cost(&self) -> Option<String> {
        let Spending { known, unknown } = self.spent;
        let cost = known.nano_usd;
        match (self.cost_unknown || unknown.calls > 0, known.calls + unknown.calls) {
            (_, 0) => None,
            (true, _) if cost == Usd::default() => Some("?".to_owned()),
            (true, _) => Some(format!("> {cost}")),
            (false, _) => Some(cost.to_string()),
        }
    }

    fn hit_share(&self) -> Option<String> {
        let share = (self.hit * 100).checked_div(self.prompt)?;
        Some(format!("{share}% hit"))
    }
}

const fn colour(stage: &Stage) -> AnsiColor {
    match stage {
        Stage::Waiting | Stage::Empty => AnsiColor::BrightBlack,
        Stage::Opening
        | Stage::Planning
        | Stage::Editing(_)
        | Stage::Applying
        | Stage::Checking(_) => AnsiColor::Blue,
        Stage::Done | Stage::Merged => AnsiColor::Green,
        Stage::Conflicted => AnsiColor::Yellow,
        Stage::Failed => AnsiColor::Red,
    }
}

/// Cuts `text` to at most `wide` cells of the terminal.
pub(crate) fn cut_to_width(text: &str, wide: usize) -> String {
    let text = text.replace('\t', " ");
    if text.width() <= wide {
        return text;
    }
    let mut shown = String::new();
    let mut left = wide.saturating_sub(1);
    for c in text.chars() {
        let Some(rest) = left.checked_sub(c.width().unwrap_or_default()) else { break };
        left = rest;
        shown.push(c);
    }
    if wide > 0 {
        shown.push('…');
    }
    shown
}

/// Pads or cuts `text` to exactly `wide` cells of the terminal.
fn cell(text: &str, wide: usize) -> String {
    let mut shown = cut_to_width(text, wide);
    let missing = wide.saturating_sub(shown.width());
    shown.extend(std::iter::repeat_n(' ', missing));
    shown
}

/// Formats a duration as `0:07`, `12:30`, `1:02:03`, or `25 h` from ten hours on.
fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        1..10 => format!("{hours}:{minutes:02}:{seconds:02}"),
        _ => format!("{hours} h"),
    }
}
