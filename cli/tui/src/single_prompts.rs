//! Prompts outside of a conversation: picking a session, reviewing a change, answering a question by keys.

use std::pin::pin;
use std::time::{Duration, Instant};

use facts::signal::Acceptance;
use facts::signal::ApprovalAnswer;
use front::answer::ShownQuestion;
use front::error::{CliError, CliErrorKind};
use front::paint::Paint;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::conversation::{AlternateScreen, Conversation, Facts};
use crate::keys::{Key, Keys};
use crate::paint;
use crate::picker::{KeptSession, Picker};
use crate::screen::{Frame, Narrowing, Screen, whole};
use crate::terminal::{self, HeldTerminal, write_to_terminal};
use crate::visit::{Does, PatchReview, Visit};

/// Lets the user choose one of these sessions, newest first. Returns its id; `None` if the user cancels.
pub async fn pick(
    kept: Vec<KeptSession>,
    paint: Paint,
    screen: AlternateScreen,
) -> Result<Option<String>, CliError> {
    let picked = alone(Visit::Sessions(Picker::new(kept)), paint, screen).await;
    match picked.map_err(unpicked)? {
        Does::Resumes(id) => Ok(Some(id)),
        Does::Stays | Does::Leaves | Does::Answers(_) => Ok(None),
    }
}

/// The error of a list that cannot be shown.
fn unpicked(error: CliError) -> CliError {
    error.hint("name the session: `deepseek -r ID`")
}

/// Lets the user review a painted diff file by file. Returns the answer; `None` if the user goes back or the text is not a diff.
pub async fn review(
    diff: &str,
    taken: Acceptance,
    paint: Paint,
    screen: AlternateScreen,
) -> Result<Option<ApprovalAnswer>, CliError> {
    let Some(review) = PatchReview::of(diff, taken) else { return Ok(None) };
    match alone(Visit::Review(review), paint, screen).await? {
        Does::Answers(answer) => Ok(Some(answer)),
        Does::Stays | Does::Leaves | Does::Resumes(_) => Ok(None),
    }
}

/// Shows a full-screen view until a key ends it. The terminal is restored on drop.
async fn alone(mut shown: Visit, paint: Paint, screen: AlternateScreen) -> Result<Does, CliError> {
    let gone = |error: std::io::Error| CliError::caused(CliErrorKind::Internal, &error);
    let mut resized = signal(SignalKind::window_change()).map_err(gone)?;
    let (mut terminal, typed) = HeldTerminal::enter().map_err(gone)?;
    let mut keys = Keys::default();
    let mut pressed = keys.feed(&typed);
    terminal::visit(screen);
    loop {
        let size = HeldTerminal::size();
        for key in pressed {
            match shown.key(&key, size) {
                Does::Stays => {}
                ended @ (Does::Leaves | Does::Answers(_) | Does::Resumes(_)) => return Ok(ended),
            }
        }
        write_to_terminal(&whole(&shown.rows(size, paint), size)).map_err(gone)?;
        let patience = keys.patience();
        let wait = async {
            match patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        pressed = tokio::select! {
            typed = terminal.read() => keys.feed(&typed.map_err(gone)?),
            () = wait => keys.lapse(),
            _ = resized.recv() => Vec::new(),
        };
    }
}

/// How a question is asked at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuestionOptions {
    /// Whether to use colours.
    pub paint: Paint,
    /// Whether a change can be reviewed on the alternate screen.
    pub alternate_screen: AlternateScreen,
    /// True if the terminal cuts off rows that become too long when it is narrowed.
    pub cuts: bool,
}

/// A question that was asked.
#[derive(Debug)]
pub struct QuestionResult {
    /// The answer; `None` if it was over before.
    pub answer: Option<ApprovalAnswer>,
    /// The lines that were printed.
    pub printed: String,
}

/// Asks a question as in a conversation: answered by keys, below the printed text. Returns without an answer when it is `over`. Text
/// that was typed at the question and is not its answer goes to whoever has the terminal next.
pub async fn ask_by_keys(
    question: ShownQuestion,
    how: QuestionOptions,
    over: impl Future<Output = ()>,
) -> Result<QuestionResult, CliError> {
    let gone = |error: std::io::Error| CliError::caused(CliErrorKind::Internal, &error);
    let mut resized = signal(SignalKind::window_change()).map_err(gone)?;
    let (mut terminal, typed) = HeldTerminal::enter().map_err(gone)?;
    let begun = Instant::now();
    let facts = Facts { alternate_screen: how.alternate_screen, ..Facts::default() };
    let (answer, mut answered) = oneshot::channel();
    let mut it = Conversation::for_a_question(facts, how.paint, question, answer);
    let mut screen = Screen::new(if how.cuts { Narrowing::Cuts } else { Narrowing::Wraps });
    let mut keys = Keys::default();
    let mut pressed = keys.feed(&typed);
    let mut over = pin!(over);
    let mut is_over = false;
    loop {
        let size = HeldTerminal::size();
        it.size = size;
        for key in pressed {
            press(&mut it, key, begun.elapsed());
        }
        is_over |= it.asked.is_empty();
        if let Some(shown) = it.visit.as_ref().filter(|_| !is_over) {
            let rows = whole(&shown.rows(size, how.paint), size);
            if !terminal::is_away() {
                write_to_terminal(&screen.leave(size)).map_err(gone)?;
                terminal::visit(how.alternate_screen);
            }
            write_to_terminal(&rows).map_err(gone)?;
        } else {
            terminal::leave();
            let above = it.output.take();
            let frame =
                if is_over { Frame::default() } else { paint::frame(&it, size, begun.elapsed()) };
            write_to_terminal(&screen.show(&above, &frame, size)).map_err(gone)?;
            if is_over {
                write_to_terminal(&screen.leave(size)).map_err(gone)?;
                terminal::give_back(&it.composer.text());
                let printed = it.output.lines().join("\n");
                return Ok(QuestionResult { answer: answered.try_recv().ok(), printed });
            }
        }
        let at = begun.elapsed();
        // A hint disappears after a while.
        let hint = it.wakes(at).map(|wakes| wakes.saturating_sub(at));
        let patience = keys.patience().into_iter().chain(hint).min();
        let wait = async {
            match patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        pressed = tokio::select! {
            typed = terminal.read() => keys.feed(&typed.map_err(gone)?),
            () = wait => if keys.patience().is_some() { keys.lapse() } else { Vec::new() },
            _ = resized.recv() => Vec::new(),
            () = &mut over => {
                is_over = true;
                Vec::new()
            }
        };
    }
}

/// Handles a key at a question outside of a conversation. What is typed besides is kept, but cannot be sent here.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other key is treated alike")]
fn press(it: &mut Conversation, key: Key, at: Duration) {
    let is_in_words = it.asked.front().is_some_and(|asked| asked.words.is_some());
    let is_topmost = it.visit.is_none() && !it.asked.is_empty() && !is_in_words;
    match key {
        Key::Esc if is_topmost && !it.has_draft() => it.answer_question(ApprovalAnswer::No, at),
        Key::Ctrl('c' | 'd') if is_topmost => it.answer_question(ApprovalAnswer::No, at),
        Key::Enter if it.is_answered_by_the_input() => drop(it.key(key, at)),
        Key::Enter | Key::CtrlEnter | Key::Tab | Key::BackTab
            if it.visit.is_none() && !is_in_words =>
        {
            it.hint_to_answer(at);
        }
        key => {
            it.key(key, at);
            it.menu = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use front::answer::Offers;

    use super::*;

    #[test]
    fn a_session_that_cannot_be_picked_can_be_named() {
        let error = unpicked(CliError::new(CliErrorKind::Internal, "why"));
        assert_eq!(error.advice(), Some("name the session: `deepseek -r ID`"));
    }

    /// Asks a question, types this 1 s later, and returns the answer and what is left in the input.
    fn typed(text: &str) -> (Option<ApprovalAnswer>, String) {
        let (answer, mut answered) = oneshot::channel();
        let question = ShownQuestion {
            who: String::new(),
            shown: String::new(),
            asks: "Apply it?".to_owned(),
            offers: Offers::YesOrNo,
            change: None,
        };
        let mut it = Conversation::for_a_question(Facts::default(), Paint::Plain, question, answer);
        for key in Keys::default().feed(text.as_bytes()) {
            press(&mut it, key, Duration::from_secs(1));
        }
        (answered.try_recv().ok(), it.composer.text())
    }

    #[test]
    fn words_at_a_question_are_kept_and_do_not_answer_it() {
        for (keys, answer, left) in [
            ("y", None, "y"),
            ("y\r", Some(ApprovalAnswer::Yes), ""),
            ("n\r", Some(ApprovalAnswer::No), ""),
            ("\x1bn", Some(ApprovalAnswer::No), ""),
            ("\x03", Some(ApprovalAnswer::No), ""),
            ("try later", None, "try later"),
            ("try later\x1by", Some(ApprovalAnswer::Yes), "try later"),
            ("/undo\r", None, "/undo"),
            ("!ls\r\x1bn", Some(ApprovalAnswer::No), "!ls"),
            ("maybe\x03", Some(ApprovalAnswer::No), "maybe"),
            ("try later\x1b", None, "try later"),
            ("try later\x15y\r", Some(ApprovalAnswer::Yes), ""),
            ("\x15\x03", Some(ApprovalAnswer::No), ""),
            // The first letter of a message is not an answer.
            ("you should say hi\r", None, "you should say hi"),
            ("also check the docs", None, "also check the docs"),
            // What is typed after the answer is not lost either, and is not sent.
            ("y\rfix it\r", Some(ApprovalAnswer::Yes), "fix it"),
        ] {
            assert_eq!(typed(keys), (answer, left.to_owned()), "{keys:?}");
        }
    }
}
