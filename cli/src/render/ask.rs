//! An answer from the terminal: nothing typed before counts, and nothing is taken once it is not wanted any more.

use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actors::publisher::Answer;
use front::answer::{Offers, OnScreen, Said, read};
use front::paint::Paint;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::QueueSelector;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tui::Asks;

/// Asks until there is an answer. Ends early when the program is stopped, or the question withdrawn. With a paint, a change can be
/// reviewed on a screen of its own.
pub(super) async fn ask(
    question: OnScreen,
    screen: Option<Paint>,
    mut answer_to: oneshot::Sender<Answer>,
) {
    let asks = question.who.clone() + &question.asks;
    let files = question.offers.numbered().iter().fold(String::new(), |all, it| all + it + "\n");
    let whole = format!("{}{files}{asks}", question.shown);
    forget_what_was_typed();
    say(&whole);
    loop {
        let Some(line) = line(&mut answer_to).await else { return leave_open(answer_to) };
        match read(&line, &question.offers) {
            Said::Answer(answer) => {
                answer_to.send(answer).ok();
                return;
            }
            Said::Review if let (Some(paint), Some(taken)) = (screen, question.change) => {
                let reviewed = tui::review(&question.shown, taken, paint);
                match until_stopped(reviewed, &mut answer_to).await {
                    Some(Ok(Some(answer))) => {
                        answer_to.send(answer).ok();
                        return;
                    }
                    Some(Ok(None)) => say(&asks),
                    Some(Err(error)) => say(&format!("{error}\n{asks}")),
                    None => return leave_open(answer_to),
                }
            }
            Said::Show | Said::Review => {
                forget_what_was_typed();
                say(&whole);
            }
            Said::Unclear => {
                forget_what_was_typed();
                let known = format!("What can be typed: y, n, {}. ", words(&question, screen));
                say(&(known + &asks));
            }
        }
    }
}

/// Asks as a conversation does, by keys. Where the terminal is gone there is no answer.
pub(super) async fn ask_by_keys(question: OnScreen, answer_to: oneshot::Sender<Answer>, how: Asks) {
    forget_what_was_typed();
    if let Err(error) = tui::ask(question, answer_to, how).await {
        tracing::debug!(%error, "the terminal is gone");
    }
}

/// What can be typed beside yes and no.
pub(super) fn words(question: &OnScreen, screen: Option<Paint>) -> String {
    let review = if question.change.is_some() && screen.is_some() { ", review" } else { "" };
    question.offers.words().to_owned() + review
}

/// Leaves a question without an answer. The drive of the session hears of a stop, too, and withdraws it: that is not a no.
fn leave_open<T: Send + 'static>(mut answer_to: oneshot::Sender<T>) {
    tokio::spawn(async move { answer_to.closed().await });
}

/// Asks for a line of text. Ends early when the program is stopped, or the question withdrawn.
pub(super) async fn answer_in_words(question: &str, mut answer_to: oneshot::Sender<String>) {
    forget_what_was_typed();
    say(question);
    match line(&mut answer_to).await {
        Some(line) => drop(answer_to.send(line)),
        None => leave_open(answer_to),
    }
}

/// Asks a question that has nothing to do with a run, by keys where that is how it is asked. Only a yes is one.
pub(crate) async fn yes_or_no(question: &str, by_keys: Option<Asks>) -> bool {
    let (answer, answered) = oneshot::channel();
    if let Some(how) = by_keys {
        let asks = format!("{question} Do you want that?");
        let (who, shown, offers, change) = (String::new(), String::new(), Offers::YesOrNo, None);
        ask_by_keys(OnScreen { who, shown, asks, offers, change }, answer, how).await;
        return answered.await.is_ok_and(|answer| answer == Answer::Yes);
    }
    let asks = "Do you want that? [y/N] ".to_owned();
    let shown = format!("{question} ");
    let offers = Offers::Once;
    ask(OnScreen { who: String::new(), shown, asks, offers, change: None }, None, answer).await;
    answered.await.is_ok_and(|answer| answer == Answer::Yes)
}

/// What was typed before a question is on the screen is no answer to it.
fn forget_what_was_typed() {
    rustix::termios::tcflush(io::stdin(), QueueSelector::IFlush).ok();
}

fn say(text: &str) {
    if write!(io::stderr(), "{text}").and_then(|()| io::stderr().flush()).is_err() {
        tracing::debug!("nobody reads standard error any more");
    }
}

/// A line from the terminal, unless the program is stopped or the question withdrawn.
async fn line<T>(answer_to: &mut oneshot::Sender<T>) -> Option<String> {
    let given_up = Arc::new(AtomicBool::new(false));
    let listening = Arc::clone(&given_up);
    let said = tokio::task::spawn_blocking(move || line_from_terminal(&listening));
    let said = until_stopped(said, answer_to).await;
    given_up.store(true, Ordering::Relaxed);
    said.map(Result::unwrap_or_default)
}

/// What comes of `work`, unless the program is stopped before or the question withdrawn.
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

/// A line from the terminal, or nothing once it is not wanted any more. Nothing is taken from the terminal before a line is there.
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

/// Waits for Ctrl-C, the polite signal, or the end of the terminal.
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
