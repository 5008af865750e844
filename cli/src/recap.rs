//! The last turns of a session that is resumed, in a few lines. Pure.

use facts::delivery::{Delivery, Verified};
use facts::event::Event;
use facts::words::Side;
use front::describe;
use front::diff::harmless;
use orchestrator::request::LAST_REQUEST;
use tools::count::counted;
use tools::ids::short_id;

/// Number of turns that are shown.
const SHOWN: usize = 3;
/// Maximum number of characters of a line that are shown.
const LONGEST: usize = 200;

/// A request, its answer, and how it ended.
#[derive(Debug, Default)]
struct Turn {
    request: String,
    answer: Option<String>,
    ending: Option<Delivery>,
}

/// Summarizes the last turns of the session with this id from its events, in order. Returns `None` if there was no request.
pub(crate) fn recap_lines<'e>(
    session: &str,
    events: impl Iterator<Item = &'e Event>,
) -> Option<String> {
    let mut turns: Vec<Turn> = Vec::new();
    for event in events {
        take_in(&mut turns, event);
    }
    // The review of a delivery belongs to the delivery.
    turns.retain(|turn| turn.request != LAST_REQUEST);
    let earlier = turns.len().saturating_sub(SHOWN);
    let mut lines = Vec::new();
    if earlier > 0 {
        let requests = counted(earlier, "earlier request");
        lines.push(format!("  {requests}: `deepseek sessions show {}`", short_id(session)));
    }
    for turn in turns.iter().skip(earlier) {
        lines.push(format!("  › {}", beginning(&turn.request)));
        lines.push(format!("    {}", result(turn)));
    }
    (!turns.is_empty()).then(|| lines.join("\n"))
}

fn take_in(turns: &mut Vec<Turn>, event: &Event) {
    match (event, turns.last_mut()) {
        (Event::TurnAdded { speaker: Side::User, text, .. }, _) => {
            turns.push(Turn { request: text.clone(), ..Turn::default() });
        }
        (Event::TurnAdded { speaker: Side::Assistant, text, .. }, Some(turn)) => {
            turn.answer = Some(text.clone());
        }
        // What the steering model of an autopilot is asked is no turn.
        (Event::RunFinished { delivery, .. }, Some(turn)) if turn.ending.is_none() => {
            turn.ending = Some(delivery.clone());
        }
        _ => {}
    }
}

/// Returns the result of a request; for an answer, its first line.
fn result(turn: &Turn) -> String {
    match (&turn.ending, &turn.answer) {
        (None, _) => "interrupted".to_owned(),
        (Some(Delivery::Delivered { verified: Verified::NotNeeded }), Some(answer)) => {
            beginning(answer)
        }
        (Some(delivery), _) => beginning(&describe::outcome(delivery)),
    }
}

/// Returns the first line that is not blank, with an ellipsis if there is more.
fn beginning(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let mut shown: String = first.chars().take(LONGEST).collect();
    if shown.len() < first.len() || lines.next().is_some() {
        shown.push_str(" …");
    }
    harmless(&shown)
}

#[cfg(test)]
mod tests {
    use facts::amounts::Amount;

    use super::*;

    fn turn(speaker: Side, text: &str) -> Event {
        Event::TurnAdded { speaker, text: text.to_owned(), intent: None, card: None, course: None }
    }

    fn ended(delivery: Delivery) -> Event {
        let (spent, rollbacks) = (Amount::default(), Vec::new());
        Event::RunFinished { delivery, spent, spent_unknown: Amount::default(), rollbacks }
    }

    #[test]
    fn the_last_turns_are_summarized_in_a_few_lines() {
        let answered = || ended(Delivery::Delivered { verified: Verified::NotNeeded });
        let passed = || ended(Delivery::Delivered { verified: Verified::Passed });
        assert_eq!(recap_lines("s", [].iter()), None);
        let events = [
            turn(Side::User, "What is a lexer?\nIn one word."),
            turn(Side::Assistant, "\nA scanner.\n\nIt reads text.\n"),
            answered(),
            turn(Side::User, "Fix the greeting"),
            passed(),
            turn(Side::User, LAST_REQUEST),
            answered(),
            turn(Side::User, "And now\u{1b}[31m?"),
        ];
        insta::assert_snapshot!(recap_lines("s", events.iter()).unwrap(), @"
          › What is a lexer? …
            A scanner. …
          › Fix the greeting
            delivered, checks passed; whether one would fail without the change is not known
          › And now\u{fffd}[31m?
            interrupted
        ");
        let many: Vec<Event> =
            (0..40).flat_map(|n| [turn(Side::User, &"long ".repeat(n)), passed()]).collect();
        let text = recap_lines("01m80aa9hr33yegy", many.iter()).unwrap();
        assert!(
            text.starts_with("  37 earlier requests: `deepseek sessions show 33yegy`\n"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 7);
        assert!(text.lines().all(|line| line.chars().count() < 220), "{text}");
    }
}
