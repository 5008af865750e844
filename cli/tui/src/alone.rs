//! Prompts outside of a conversation: picking a session, reviewing a change, answering a question by keys.

use std::time::{Duration, Instant};

use actors::publisher::Answer;
use actors::workspace::Taken;
use front::answer::ShownQuestion;
use front::error::{CliError, Kind};
use front::paint::Paint;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::conversation::{AlternateScreen, Conversation, DEAF, Facts};
use crate::keys::{Key, Keys};
use crate::paint;
use crate::picker::{KeptSession, Picker};
use crate::screen::{Frame, Narrowing, Screen, whole};
use crate::terminal::{self, Terminal, visit, write};
use crate::visit::{Does, Review, Visit};

/// Lets the user choose one of these sessions, newest first. Returns its id; `None` if the user cancels.
pub async fn pick(kept: Vec<KeptSession>, paint: Paint) -> Result<Option<String>, CliError> {
    let picked = alone(Visit::Sessions(Picker::new(kept)), paint).await;
    match picked.map_err(|error| error.hint("name the session: deepseek -r ID"))? {
        Does::Resumes(id) => Ok(Some(id)),
        Does::Stays | Does::Leaves | Does::Answers(_) => Ok(None),
    }
}

/// Lets the user review a painted diff file by file. Returns the answer; `None` if the user goes back or the text is not a diff.
pub async fn review(diff: &str, taken: Taken, paint: Paint) -> Result<Option<Answer>, CliError> {
    let Some(review) = Review::of(diff, taken) else { return Ok(None) };
    match alone(Visit::Review(review), paint).await? {
        Does::Answers(answer) => Ok(Some(answer)),
        Does::Stays | Does::Leaves | Does::Resumes(_) => Ok(None),
    }
}

/// Shows a full-screen view until a key ends it. The terminal is restored on drop.
async fn alone(mut shown: Visit, paint: Paint) -> Result<Does, CliError> {
    let gone = |error: std::io::Error| CliError::caused(Kind::Internal, &error);
    let mut resized = signal(SignalKind::window_change()).map_err(gone)?;
    let (mut terminal, typed) = Terminal::enter().map_err(gone)?;
    let mut keys = Keys::default();
    let mut pressed = keys.feed(&typed);
    visit(true);
    loop {
        let size = Terminal::size();
        for key in pressed {
            match shown.key(&key, size) {
                Does::Stays => {}
                ended @ (Does::Leaves | Does::Answers(_) | Does::Resumes(_)) => return Ok(ended),
            }
        }
        write(&whole(&shown.rows(size, paint), size)).map_err(gone)?;
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

/// Asks a question as in a conversation: answered by keys, below the printed text. Returns without an answer if the question is
/// withdrawn.
pub async fn ask(
    question: ShownQuestion,
    answer: oneshot::Sender<Answer>,
    how: QuestionOptions,
) -> Result<(), CliError> {
    /// How often to check whether the question was withdrawn.
    const TICK: Duration = Duration::from_millis(200);
    let gone = |error: std::io::Error| CliError::caused(Kind::Internal, &error);
    let mut resized = signal(SignalKind::window_change()).map_err(gone)?;
    let (mut terminal, typed) = Terminal::enter().map_err(gone)?;
    let begun = Instant::now();
    let facts = Facts { alternate_screen: how.alternate_screen, ..Facts::default() };
    let mut it = Conversation::for_a_question(facts, how.paint, question, answer);
    let mut screen = Screen::new(if how.cuts { Narrowing::Cuts } else { Narrowing::Wraps });
    let mut keys = Keys::default();
    let mut pressed = keys.feed(&typed);
    loop {
        let size = Terminal::size();
        it.size = size;
        for key in pressed {
            press(&mut it, key, begun.elapsed());
        }
        it.drop_withdrawn(begun.elapsed());
        if let Some(shown) = &it.visit {
            let rows = whole(&shown.rows(size, how.paint), size);
            if !terminal::is_away() {
                write(&screen.leave(size)).map_err(gone)?;
                visit(true);
            }
            write(&rows).map_err(gone)?;
        } else {
            visit(false);
            let above = it.output.take();
            let is_answered = it.asked.is_empty();
            let frame = if is_answered {
                Frame::default()
            } else {
                paint::frame(&it, size, begun.elapsed())
            };
            write(&screen.show(&above, &frame, size)).map_err(gone)?;
            if is_answered {
                return write(&screen.leave(size)).map_err(gone);
            }
        }
        let wait = keys.patience().unwrap_or(TICK).min(TICK);
        pressed = tokio::select! {
            typed = terminal.read() => keys.feed(&typed.map_err(gone)?),
            () = tokio::time::sleep(wait) => keys.lapse(),
            _ = resized.recv() => Vec::new(),
        };
    }
}

/// Handles a key at a question outside of a conversation. As there, letters do not answer once others were typed.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other key is treated alike")]
fn press(it: &mut Conversation, key: Key, at: Duration) {
    let is_topmost =
        it.visit.is_none() && it.asked.front().is_some_and(|asked| asked.words.is_none());
    match key {
        // Typed before the question was seen.
        Key::Char(_) if at < DEAF => {}
        Key::Esc if is_topmost && it.has_draft() => drop(it.composer.take()),
        Key::Enter | Key::CtrlEnter if is_topmost && it.has_draft() => {
            it.hint_at("Esc removes the text; then y and n answer", at);
        }
        Key::Esc | Key::Ctrl('c' | 'd') if is_topmost => it.answer_question(Answer::No, at),
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
    fn a_letter_within_words_is_no_answer() {
        let at = Duration::from_secs(1);
        let (who, shown, asks) = (String::new(), String::new(), "Apply it?".to_owned());
        let question = ShownQuestion { who, shown, asks, offers: Offers::YesOrNo, change: None };
        let (sender, mut answer) = oneshot::channel();
        let facts = Facts::default();
        let mut it = Conversation::for_a_question(facts, Paint::Plain, question, sender);
        for letter in "try later".chars() {
            press(&mut it, Key::Char(letter), at);
        }
        press(&mut it, Key::Enter, at);
        assert!(answer.try_recv().is_err(), "nothing is decided yet");
        press(&mut it, Key::Esc, at);
        press(&mut it, Key::Char('y'), at);
        assert_eq!(answer.try_recv(), Ok(Answer::Yes));
    }
}
