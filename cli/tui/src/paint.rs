//! Lays out the live rows of a conversation. On a small terminal, the least important rows are left out. Pure.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use checks::wording::short_number;
use facts::grammar::plan::StepMark;
use front::answer::{self, Offers, ShownQuestion, Typed};
use front::diff::harmless;
use model::price::Usd;
use unicode_width::UnicodeWidthStr as _;

use crate::composer::Laid;
use crate::conversation::{Conversation, CurrentWork, PendingQuestion, YOLO};
use crate::screen::{Frame, ScreenSize};
use crate::styled;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const PROMPT: &str = "› ";
/// A terminal with fewer rows has no row of settings.
const ROWS_WITH_STATUS: usize = 5;
/// Text that is not printed yet takes at most this part of the rows. When a terminal becomes half as wide and half as high, it
/// wraps the live rows into four times their share of the screen. It moves what does not fit into its history, where nothing
/// can be erased.
const OPEN_PART: usize = 8;
const MOST_OFFERS: usize = 8;
const MOST_QUEUED: usize = 3;
const MOST_OF_A_QUESTION: usize = 4;
const MOST_OF_KEYS: usize = 3;

/// Returns the live rows at this time.
pub(crate) fn frame(it: &Conversation, size: ScreenSize, at: Duration) -> Frame {
    let (width, height) = (usize::from(size.columns), usize::from(size.rows));
    let mut room = Room(height.saturating_sub(1).max(1));
    let asked = it.asked.front();
    let laid = match asked.and_then(|asked| Some((asked, asked.words.as_ref()?))) {
        Some((asked, words)) if asked.wants_words() => words.laid(width, "answer: "),
        Some((asked, words)) if !asked.only.is_empty() => words.laid(width, "left out, because: "),
        Some((_, words)) => words.laid(width, "no, because: "),
        None if it.search.is_some() => it.composer.laid(width, "search: "),
        None => it.composer.laid(width, PROMPT),
    };
    let is_input =
        !it.is_alone || it.has_draft() || asked.is_some_and(|asked| asked.words.is_some());
    let (input, cursor) = if is_input {
        visible(laid, room.at_most((height / 3).max(1)))
    } else {
        (Vec::new(), (0, 0))
    };
    room.take(input.len());
    let status = if it.is_alone {
        let hint = it.hint(at).map(|hint| colour(it, AnsiColor::Yellow, hint));
        room.last(hint.into_iter().collect(), 1)
    } else if height >= ROWS_WITH_STATUS {
        room.last(vec![status(it, width, at)], 1)
    } else {
        Vec::new()
    };
    let left = room.at_most(MOST_OF_A_QUESTION + MOST_OF_KEYS);
    let question = asked.map(|asked| question(it, asked, width, left)).unwrap_or_default();
    let question = room.last(question, MOST_OF_A_QUESTION + MOST_OF_KEYS);
    let menu = room.last(menu(it, room.at_most(MOST_OFFERS)), MOST_OFFERS);
    let progress = room.last(progress(it, at), 1);
    let queue = room.last(queue(it, room.at_most(MOST_QUEUED)), MOST_QUEUED + 1);
    let open = tail(&it.output.answer.open(), width, room.at_most((height / OPEN_PART).max(1)));
    let open = room.last(open, height);
    let is_request = it.work.is_a_request();
    let lanes = if is_request { it.run.lane_rows(width, at) } else { Vec::new() };
    let lanes = room.first(lanes);
    let mission = if is_request { it.run.mission_rows(width) } else { Vec::new() };
    let mission = room.first(mission);
    let steps = room.first(if is_request { steps(it) } else { Vec::new() });
    let above = [open, steps, mission, lanes, progress, queue, question].concat();
    let row = above.len() + cursor.1;
    let above = above.into_iter().map(|row| cut(row, width)).collect();
    let menu = menu.into_iter().map(|row| cut(row, width)).collect();
    let rows = [above, input, menu, status].concat();
    let number = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
    Frame { rows, cursor: (number(cursor.0), number(row)) }
}

/// The number of rows that are still free.
struct Room(usize);

impl Room {
    fn at_most(&self, rows: usize) -> usize {
        self.0.min(rows)
    }

    fn take(&mut self, rows: usize) {
        self.0 = self.0.saturating_sub(rows);
    }

    /// Takes the last rows that fit, at most `most`.
    fn last(&mut self, rows: Vec<String>, most: usize) -> Vec<String> {
        let kept = self.at_most(most).min(rows.len());
        self.take(kept);
        rows.into_iter().rev().take(kept).rev().collect()
    }

    /// Takes the first rows that fit.
    fn first(&mut self, mut rows: Vec<String>) -> Vec<String> {
        rows.truncate(self.0);
        self.take(rows.len());
        rows
    }
}

/// Returns the rows of the input around the cursor, and the position of the cursor in them.
fn visible(laid: Laid, most: usize) -> (Vec<String>, (usize, usize)) {
    let (x, y) = laid.cursor;
    let first = (y + 1).saturating_sub(most.max(1));
    let rows: Vec<String> = laid.rows.into_iter().skip(first).take(most.max(1)).collect();
    (rows.iter().map(|row| harmless(row)).collect(), (x, y - first))
}

fn dim(it: &Conversation, text: &str) -> String {
    it.paint.with(Style::new().dimmed(), text)
}

fn colour(it: &Conversation, colour: AnsiColor, text: &str) -> String {
    it.paint.with(Style::new().fg_color(Some(colour.into())), text)
}

/// Returns the row with settings and usage, as far as it fits. A hint replaces it for a moment.
fn status(it: &Conversation, width: usize, at: Duration) -> String {
    if let Some(hint) = it.hint(at) {
        return colour(it, AnsiColor::Yellow, hint);
    }
    let used = it.run.used();
    let longer = it.run.thinker().map(|model| format!("{model} thinks longer"));
    let model = longer.unwrap_or_else(|| it.facts.model.clone());
    let mut parts = vec![it.facts.mode.clone(), it.facts.approval.clone(), model];
    // These count from the start of the last request; `/cost` adds up all of them.
    let tokens = used.prompt + used.output;
    if tokens > 0 {
        let noun = if tokens == 1 { "token" } else { "tokens" };
        parts.push(format!("request: {} {noun}", short_number(tokens)));
    }
    parts.extend(used.cost.map(|cost| cost.to_string()));
    if it.facts.budget_usd > 0.0 {
        let budget = Usd::from_dollars(it.facts.budget_usd);
        parts.push(format!("{} left", budget.saturating_sub(used.cost.unwrap_or_default())));
    }
    if let Some(share) = (used.hit * 100).checked_div(used.prompt - used.hit_unknown) {
        parts.push(format!("{share}% hit"));
    }
    let mut line = String::new();
    for part in parts {
        let longer = if line.is_empty() { part } else { format!("{line} · {part}") };
        if longer.width() >= width {
            break;
        }
        line = longer;
    }
    // That nothing is asked should be seen.
    if it.facts.mode == YOLO { colour(it, AnsiColor::Yellow, &line) } else { dim(it, &line) }
}

/// Returns the rows of a question, and the keys that answer it.
fn question(it: &Conversation, asked: &PendingQuestion, width: usize, most: usize) -> Vec<String> {
    let many = it.asked.len();
    let count = if many > 1 { format!(" (1 of {many})") } else { String::new() };
    let ShownQuestion { who, asks, .. } = &asked.on_screen;
    let mut rows = wrapped(&format!("? {who}{asks}{count}"), width);
    rows.truncate(MOST_OF_A_QUESTION);
    if let Some(first) = rows.first_mut() {
        *first = colour(it, AnsiColor::Yellow, first);
    }
    let said = answer::read_answer(&it.composer.text(), &asked.on_screen.offers);
    let keys = if asked.wants_words() && asked.words.is_some() {
        format!("  Enter answers; with nothing typed: {}", harmless(asked.if_empty()))
    } else if asked.wants_words() {
        format!("  Alt-a answer · Alt-n no answer: {}", harmless(asked.if_empty()))
    } else if asked.words.is_some() && !asked.only.is_empty() {
        "  Enter applies the rest, with the reason if there is one · Esc goes back".to_owned()
    } else if asked.words.is_some() {
        "  Enter says no, with the reason if there is one · Esc goes back".to_owned()
    } else if it.has_draft() && said != Typed::Unclear {
        match said {
            Typed::Answer(answer) => match asked.on_screen.offers.lasting(&answer) {
                Some(lasting) => format!("  Enter: {lasting}"),
                None => "  Enter answers".to_owned(),
            },
            Typed::Show | Typed::Review | Typed::Unclear => "  Enter shows it".to_owned(),
        }
    } else {
        let alt = if it.has_draft() { "Alt-" } else { "" };
        let (always, no) = match asked.on_screen.offers {
            Offers::Always(_) => (format!("{alt}a always · "), "no, and why"),
            Offers::Files(_) | Offers::Once => (String::new(), "no, and why"),
            Offers::YesOrNo => (String::new(), "no"),
        };
        let enter = if it.has_draft() { "" } else { ", then Enter" };
        let more = match &asked.on_screen {
            ShownQuestion { change: Some(_), .. } if it.facts.alternate_screen.is_allowed() => {
                "d review"
            }
            ShownQuestion { change: Some(_), .. } => "d show the diff",
            ShownQuestion { shown, .. } if shown.is_empty() => "",
            ShownQuestion { .. } => "s show",
        };
        let more = if more.is_empty() { String::new() } else { format!(" · {alt}{more}") };
        format!("  {alt}y yes · {always}{alt}n {no}{more}{enter}")
    };
    // All keys are shown even on a narrow terminal, unless that would hide the question.
    let in_rows = wrapped(&keys, width);
    let keys = if rows.len() + in_rows.len() > most { vec![keys] } else { in_rows };
    // The end of the text says what the user should decide.
    let kept = most.saturating_sub(keys.len()).max(1);
    rows.drain(..rows.len().saturating_sub(kept));
    rows.extend(keys);
    rows
}

/// Returns true if the live rows can show the whole question.
pub(crate) fn has_room_for(asks: &str, size: ScreenSize) -> bool {
    wrapped(&format!("? {asks}"), usize::from(size.columns)).len() <= MOST_OF_A_QUESTION
}

fn menu(it: &Conversation, most: usize) -> Vec<String> {
    let Some(menu) = &it.menu else { return Vec::new() };
    let first = (menu.chosen + 1).saturating_sub(most);
    let offers = menu.offers.iter().enumerate().skip(first).take(most);
    offers
        .map(|(at, (text, about))| {
            let text = harmless(text.lines().next().unwrap_or_default());
            let row = format!("{text:<12} {}", harmless(about));
            let row = row.trim_end();
            if at == menu.chosen { format!("❯ {row}") } else { dim(it, &format!("  {row}")) }
        })
        .collect()
}

fn progress(it: &Conversation, at: Duration) -> Vec<String> {
    let spinner = usize::try_from(at.as_millis() / 125).unwrap_or_default() % SPINNER.len();
    let spinner = SPINNER.get(spinner).copied().unwrap_or_default();
    match it.work {
        CurrentWork::Idle => Vec::new(),
        CurrentWork::Shell => vec![format!("{spinner} the command is running · Ctrl-C stops it")],
        // The spinner is hidden while a question waits for the user.
        CurrentWork::Busy if !it.asked.is_empty() => Vec::new(),
        CurrentWork::Busy => vec![format!("{spinner} {}", it.run.progress(at))],
        CurrentWork::Stopping => vec![format!("{spinner} stopping; Ctrl-C again stops at once")],
    }
}

fn queue(it: &Conversation, most: usize) -> Vec<String> {
    let count = it.queue.len();
    let shown = if count > most { most.saturating_sub(1) } else { count };
    let mut rows: Vec<String> = it
        .queue
        .iter()
        .take(shown)
        .map(|request| dim(it, &format!("  queued: {}", first_line(&request.text))))
        .collect();
    if count > shown {
        rows.push(dim(it, &format!("  {} more queued", count - shown)));
    }
    if it.paused {
        rows.push(colour(
            it,
            AnsiColor::Yellow,
            "  the queue is paused: Enter continues, Up edits, /queue clear drops",
        ));
    }
    rows
}

fn first_line(text: &str) -> String {
    harmless(text.lines().next().unwrap_or_default())
}

fn steps(it: &Conversation) -> Vec<String> {
    let row = |(step, mark): &(String, Option<StepMark>)| match mark {
        Some(StepMark::Done) => format!("  {} {step}", colour(it, AnsiColor::Green, "✓")),
        Some(StepMark::Failed) => format!("  {} {step}", colour(it, AnsiColor::Red, "✗")),
        Some(StepMark::Untouched) => format!("  · {step} (its files are unchanged)"),
        None => format!("  · {step}"),
    };
    it.run.steps().iter().map(row).collect()
}

/// Wraps a sentence into rows of this width. Rows after the first are indented.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    const INDENT: &str = "  ";
    let rows = styled::wrapped(text, width.saturating_sub(INDENT.len()));
    let indented = |(at, row): (usize, String)| {
        let row = row.trim_end();
        if at == 0 { row.to_owned() } else { format!("{INDENT}{row}") }
    };
    rows.into_iter().enumerate().map(indented).collect()
}

/// Cuts a painted row to this width, with an ellipsis if it was too long.
fn cut(row: String, width: usize) -> String {
    if styled::width(&row) <= width {
        return row;
    }
    let mut shown = String::new();
    let mut column = 0;
    for (at, part) in row.split("\x1b[").enumerate() {
        let text = match part.split_once('m') {
            Some((codes, text)) if at > 0 => {
                shown.push_str(&format!("\x1b[{codes}m"));
                text
            }
            Some(_) | None => part,
        };
        for c in text.chars() {
            column += unicode_width::UnicodeWidthChar::width(c).unwrap_or_default();
            if column < width {
                shown.push(c);
            }
        }
    }
    let end = if row.contains('\x1b') { "\x1b[0m…" } else { "…" };
    shown + end
}

/// Returns the last rows of text that is not printed yet, wrapped to this width.
fn tail(text: &str, width: usize, most: usize) -> Vec<String> {
    if text.is_empty() || width == 0 {
        return Vec::new();
    }
    let rows: Vec<String> = text.lines().flat_map(|line| styled::wrapped(line, width)).collect();
    let first = rows.len().saturating_sub(most);
    rows.into_iter().skip(first).collect()
}

#[cfg(test)]
mod tests {
    use front::paint::Paint;

    use super::*;
    use crate::conversation::Facts;
    use crate::markdown::Page;

    #[test]
    fn the_rows_of_an_answer_that_arrives_fit_a_terminal_of_half_the_size() {
        for (columns, rows) in [(80, 24), (120, 50), (200, 60)] {
            let size = ScreenSize { columns, rows };
            let facts = Facts {
                mode: "agent".to_owned(),
                approval: "suggest".to_owned(),
                model: "deepseek-flash".to_owned(),
                ..Facts::default()
            };
            let mut it = Conversation::new(facts, Paint::Plain, Vec::new());
            it.work = CurrentWork::Busy;
            let page = Page { paint: Paint::Plain, width: usize::from(columns) };
            it.output.answer.take_in(&"word ".repeat(2_000), page);
            let live = frame(&it, size, Duration::ZERO);
            assert!(live.rows.concat().contains("word word"), "{live:#?}");
            let half = usize::from(columns / 2);
            let after: usize =
                live.rows.iter().map(|row| styled::width(row).max(1).div_ceil(half)).sum();
            assert!(after <= usize::from(rows / 2), "{after} rows: {live:#?}");
        }
    }

    #[test]
    fn the_row_of_settings_shows_the_model_that_thinks_longer() {
        let model = "deepseek-flash".to_owned();
        let facts = Facts { model, ..Facts::default() };
        let mut it = Conversation::new(facts, Paint::Plain, Vec::new());
        assert!(status(&it, 80, Duration::ZERO).ends_with("deepseek-flash"));
        let escalated = facts::event::Event::RouterEscalation {
            role: model::AgentRole::Analysis,
            reason_codes: Vec::new(),
            from: "deepseek-flash".to_owned(),
            to: "deepseek-v4-pro".to_owned(),
        };
        it.run.earlier(&facts::scope::Scope::SESSION, &escalated, Duration::ZERO);
        assert!(status(&it, 80, Duration::ZERO).ends_with("deepseek-v4-pro thinks longer"));
        it.run.submitted(Duration::ZERO);
        assert!(status(&it, 80, Duration::ZERO).ends_with("deepseek-flash"));
    }

    #[test]
    fn a_row_that_is_too_long_ends_with_an_ellipsis() {
        assert_eq!(cut("six ab".to_owned(), 6), "six ab");
        assert_eq!(cut("seven a".to_owned(), 6), "seven…");
        assert_eq!(cut("\x1b[2mqueued: x\x1b[0m".to_owned(), 9), "\x1b[2mqueued: x\x1b[0m");
        assert_eq!(cut("\x1b[2mqueued: x\x1b[0m".to_owned(), 6), "\x1b[2mqueue\x1b[0m\x1b[0m…");
        assert_eq!(cut("你好吗".to_owned(), 5), "你好…");
    }
}
