//! Questions on a plain terminal. Input typed before a question is discarded, and nothing is read after it is withdrawn.

use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actors::publisher::Answer;
use front::answer::{Offers, ShownQuestion, Typed, read};
use front::paint::Paint;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::QueueSelector;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tui::QuestionOptions;

/// Asks until there is an answer. If the program is stopped or the question withdrawn first, returns where the answer is
/// expected: no answer is different from a no, so the caller decides when to drop it. With `screen`, a change can be reviewed
/// on the alternate screen.
pub(super) async fn ask(
    question: ShownQuestion,
    screen: Option<Paint>,
    mut answer_to: oneshot::Sender<Answer>,
) -> Option<oneshot::Sender<Answer>> {
    let asks = question.who.clone() + &question.asks;
    let files = question.offers.numbered().iter().fold(String::new(), |all, it| all + it + "\n");
    let whole = format!("{}{files}{asks}", question.shown);
    forget_what_was_typed();
    say(&whole);
    loop {
        let Some(line) = line(&mut answer_to).await else { return Some(answer_to) };
        match read(&line, &question.offers) {
            Typed::Answer(answer) => {
                answer_to.send(answer).ok();
                return None;
            }
            Typed::Review if let (Some(paint), Some(taken)) = (screen, question.change) => {
                let reviewed = tui::review(&question.shown, taken, paint);
                match until_stopped(reviewed, &mut answer_to).await {
                    Some(Ok(Some(answer))) => {
                        answer_to.send(answer).ok();
                        return None;
                    }
                    Some(Ok(None)) => say(&asks),
                    Some(Err(error)) => say(&format!("{error}\n{asks}")),
                    None => return Some(answer_to),
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

/// Asks by single keys, as a conversation does. Without a terminal there is no answer.
pub(super) async fn ask_by_keys(
    question: ShownQuestion,
    answer_to: oneshot::Sender<Answer>,
    how: QuestionOptions,
) {
    forget_what_was_typed();
    if let Err(error) = tui::ask(question, answer_to, how).await {
        tracing::debug!(%error, "the terminal is gone");
    }
}

/// Lists the answers other than yes and no.
pub(super) fn words(question: &ShownQuestion, screen: Option<Paint>) -> String {
    let review = if question.change.is_some() && screen.is_some() { ", review" } else { "" };
    question.offers.words().to_owned() + review
}

/// Asks for a line of text. If the program is stopped first, the question stays open until the session's driver, which
/// receives the stop as well, withdraws it.
pub(super) async fn answer_in_words(question: &str, mut answer_to: oneshot::Sender<String>) {
    forget_what_was_typed();
    say(question);
    match line(&mut answer_to).await {
        Some(line) => drop(answer_to.send(line)),
        None => drop(tokio::spawn(async move { answer_to.closed().await })),
    }
}

/// Asks a question outside a run, by single keys if `by_keys` says so. Anything but yes counts as no. Returns `None` if the
/// program is stopped.
pub(crate) async fn yes_or_no(question: &str, by_keys: Option<QuestionOptions>) -> Option<bool> {
    let (answer, answered) = oneshot::channel();
    let (who, change) = (String::new(), None);
    if let Some(how) = by_keys {
        let (shown, asks) = (String::new(), question.to_owned());
        let offers = Offers::YesOrNo;
        ask_by_keys(ShownQuestion { who, shown, asks, offers, change }, answer, how).await;
    } else {
        let (shown, asks) = (format!("{question} "), "[y/N] ".to_owned());
        let offers = Offers::Once;
        let open = ask(ShownQuestion { who, shown, asks, offers, change }, None, answer).await;
        if open.is_some() {
            return None;
        }
    }
    Some(answered.await.is_ok_and(|answer| answer == Answer::Yes))
}

/// Discards what was typed before the question was on the screen; it is not an answer.
fn forget_what_was_typed() {
    rustix::termios::tcflush(io::stdin(), QueueSelector::IFlush).ok();
}

fn say(text: &str) {
    if write!(io::stderr(), "{text}").and_then(|()| io::stderr().flush()).is_err() {
        tracing::debug!("standard error was closed");
    }
}

/// Reads a line from the terminal. Returns `None` if the program is stopped or the question withdrawn.
async fn line<T>(answer_to: &mut oneshot::Sender<T>) -> Option<String> {
    let given_up = GivesUp::default();
    let listening = Arc::clone(&given_up.0);
    let said = tokio::task::spawn_blocking(move || line_from_terminal(&listening));
    until_stopped(said, answer_to).await.map(Result::unwrap_or_default)
}

/// Tells a reading thread on drop that nobody waits for the line any more.
#[derive(Debug, Default)]
struct GivesUp(Arc<AtomicBool>);

impl Drop for GivesUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Awaits `work`. Returns `None` if the program is stopped or the question withdrawn first.
async fn until_stopped<T, A>(
    work: impl Future<Output = T>,
    answer_to: &mut oneshot::Sender<A>,
) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = stop_signal() => None,
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

/// Waits for SIGINT, SIGTERM, SIGHUP or SIGQUIT.
async fn stop_signal() {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
    ];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup), Ok(mut quit)] = kinds.map(signal)
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
        _ = quit.recv() => {}
    }
}
