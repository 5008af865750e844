//! Questions on a plain terminal. Input typed before a question is discarded, and nothing is read after it is withdrawn.

use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use facts::signal::ApprovalAnswer;
use front::answer::{Offers, ShownQuestion, Typed, read_answer};
use front::error::CliError;
use front::exit;
use front::interrupts::Interrupts;
use front::paint::Paint;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::QueueSelector;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tui::{AlternateScreen, QuestionOptions, QuestionResult};

/// The alternate screen, where a change can be reviewed.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReviewScreen {
    pub(super) paint: Paint,
    pub(super) alternate: AlternateScreen,
}

/// Asks until there is an answer. Returns early if the program is stopped or the question withdrawn. With `screen`, a change
/// can be reviewed there.
pub(super) async fn ask_on_lines(
    question: ShownQuestion,
    screen: Option<ReviewScreen>,
    mut answer_to: oneshot::Sender<ApprovalAnswer>,
) {
    let asks = question.who.clone() + &question.asks;
    let files = question.offers.numbered().iter().fold(String::new(), |all, it| all + it + "\n");
    let whole = format!("{}{files}{asks}", question.shown);
    let Some(mut stop) = stop() else { return };
    forget_what_was_typed();
    say(&whole);
    loop {
        let Some(line) = line(&mut stop, &mut answer_to).await else {
            return leave_open(answer_to);
        };
        match read_answer(&line, &question.offers) {
            Typed::Answer(answer) => {
                if let Some(lasting) = question.offers.lasting(&answer) {
                    say(&format!("  {lasting}\n"));
                }
                answer_to.send(answer).ok();
                return;
            }
            Typed::Review if let (Some(screen), Some(taken)) = (screen, question.change) => {
                let ReviewScreen { paint, alternate } = screen;
                let reviewed = tui::review(&question.shown, taken, paint, alternate);
                match until_stopped(reviewed, &mut stop, &mut answer_to).await {
                    Some(Ok(Some(answer))) => {
                        answer_to.send(answer).ok();
                        return;
                    }
                    Some(Ok(None)) => say(&asks),
                    Some(Err(error)) => say(&format!("{error}\n{asks}")),
                    None => return leave_open(answer_to),
                }
            }
            Typed::Show | Typed::Review => {
                forget_what_was_typed();
                say(&whole);
            }
            Typed::Unclear => {
                forget_what_was_typed();
                let known = format!("Please type y, n, {}. ", words(&question, screen));
                say(&(known + &asks));
            }
        }
    }
}

/// Asks by single keys, as a conversation does. Without a terminal there is no answer. Returns early if the program is stopped or
/// the question withdrawn.
pub(super) async fn ask_by_keys(
    question: ShownQuestion,
    mut answer_to: oneshot::Sender<ApprovalAnswer>,
    how: QuestionOptions,
) {
    let Some(mut stop) = stop() else { return };
    let over = async {
        tokio::select! {
            _ = stop.next() => {}
            () = answer_to.closed() => {}
        }
    };
    match tui::ask_by_keys(question, how, over).await {
        Ok(QuestionResult { answer, printed }) => {
            super::record(&(printed + "\n"));
            match answer {
                Some(answer) => drop(answer_to.send(answer)),
                None => leave_open(answer_to),
            }
        }
        Err(error) => tracing::debug!(%error, "the terminal is gone"),
    }
}

/// Lists the answers other than yes and no.
pub(super) fn words(question: &ShownQuestion, screen: Option<ReviewScreen>) -> String {
    let review = if question.change.is_some() && screen.is_some() { ", review" } else { "" };
    question.offers.words().to_owned() + review
}

/// Listens for the signals that stop the program, from before a question is on the screen: none may come unseen in between. `None`,
/// as without a terminal, if that is not possible.
fn stop() -> Option<Interrupts> {
    Interrupts::listen()
        .inspect_err(|error| tracing::debug!(%error, "a question is not asked"))
        .ok()
}

/// Leaves a question unanswered, which is different from a no: whoever asks receives the stop as well and withdraws the question.
fn leave_open<T: Send + 'static>(mut answer_to: oneshot::Sender<T>) {
    tokio::spawn(async move { answer_to.closed().await });
}

/// Asks for a line of text. Returns early if the program is stopped or the question withdrawn.
pub(super) async fn answer_in_words(question: &str, mut answer_to: oneshot::Sender<String>) {
    let Some(mut stop) = stop() else { return };
    forget_what_was_typed();
    say(question);
    match line(&mut stop, &mut answer_to).await {
        Some(line) => drop(answer_to.send(line)),
        None => leave_open(answer_to),
    }
}

/// Asks a question outside a run, by single keys if `by_keys` says so. Anything but yes counts as no; an error means that the program
/// is stopped.
pub(crate) async fn yes_or_no(
    question: &str,
    by_keys: Option<QuestionOptions>,
) -> Result<bool, CliError> {
    let (answer, mut answered) = oneshot::channel();
    let (who, change) = (String::new(), None);
    if let Some(how) = by_keys {
        let (shown, asks, offers) = (String::new(), question.to_owned(), Offers::YesOrNo);
        ask_by_keys(ShownQuestion { who, shown, asks, offers, change }, answer, how).await;
    } else {
        let (shown, asks, offers) = (format!("{question} "), "[y/N] ".to_owned(), Offers::Once);
        ask_on_lines(ShownQuestion { who, shown, asks, offers, change }, None, answer).await;
    }
    match answered.try_recv() {
        Ok(answer) => Ok(answer == ApprovalAnswer::Yes),
        // There is no terminal.
        Err(TryRecvError::Closed) => Ok(false),
        Err(TryRecvError::Empty) => Err(exit::stopped_at_a_question()),
    }
}

/// Discards what was typed before the question was on the screen; it is not an answer.
fn forget_what_was_typed() {
    rustix::termios::tcflush(io::stdin(), QueueSelector::IFlush).ok();
}

fn say(text: &str) {
    super::record(text);
    if write!(io::stderr(), "{text}").and_then(|()| io::stderr().flush()).is_err() {
        tracing::debug!("standard error was closed");
    }
}

/// Reads a line from the terminal. Returns `None` if the program is stopped or the question withdrawn.
async fn line<T>(stop: &mut Interrupts, answer_to: &mut oneshot::Sender<T>) -> Option<String> {
    tui::restore_echo();
    let given_up = Arc::new(AtomicBool::new(false));
    let listening = Arc::clone(&given_up);
    let said = tokio::task::spawn_blocking(move || line_from_terminal(&listening));
    let said = until_stopped(said, stop, answer_to).await;
    given_up.store(true, Ordering::Relaxed);
    if said.is_none() {
        // The line of the question has not ended.
        say("\n");
    }
    said.map(Result::unwrap_or_default)
}

/// Awaits `work`. Returns `None` if the program is stopped or the question withdrawn first.
async fn until_stopped<T, A>(
    work: impl Future<Output = T>,
    stop: &mut Interrupts,
    answer_to: &mut oneshot::Sender<A>,
) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        _ = stop.next() => None,
        () = answer_to.closed() => None,
    }
}

/// Reads a line from the terminal, or returns an empty one once `given_up` is set. Reads only when input is available, so that
/// an abandoned question consumes nothing.
fn line_from_terminal(given_up: &AtomicBool) -> String {
    const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let stdin = io::stdin();
    while !given_up.load(Ordering::Relaxed) {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut ready, Some(&LOOK)).is_ok_and(|count| count > 0) {
            let mut line = String::new();
            return stdin.lock().read_line(&mut line).map(|_| line).unwrap_or_default();
        }
    }
    String::new()
}
