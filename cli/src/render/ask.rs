//! An answer from the terminal: nothing typed before counts, and nothing is taken once it is not wanted any more.

use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actors::publisher::Answer;
use front::answer::{Offers, OnScreen, Said, read};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::QueueSelector;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Asks until there is an answer. Ends early when the program is stopped, or the question withdrawn.
pub(super) async fn ask(question: OnScreen, mut answer_to: oneshot::Sender<Answer>) {
    let whole = format!("{}{}{}", question.shown, question.who, question.asks);
    forget_what_was_typed();
    say(&whole);
    loop {
        let Some(line) = line(&mut answer_to).await else {
            // The drive of the session hears of a stop, too, and withdraws the question: that is not a no.
            tokio::spawn(async move { answer_to.closed().await });
            return;
        };
        match read(&line, &question.offers) {
            Said::Answer(answer) => {
                answer_to.send(answer).ok();
                return;
            }
            Said::Show => {
                forget_what_was_typed();
                say(&whole);
            }
            Said::Unclear => {
                forget_what_was_typed();
                let known = format!("What can be typed: y, n, {}. ", question.offers.words());
                say(&(known + &question.who + &question.asks));
            }
        }
    }
}

/// Asks for a line of text. Ends early when the program is stopped, or the question withdrawn.
pub(super) async fn answer_in_words(question: &str, mut answer_to: oneshot::Sender<String>) {
    forget_what_was_typed();
    say(question);
    match line(&mut answer_to).await {
        Some(line) => drop(answer_to.send(line)),
        None => drop(tokio::spawn(async move { answer_to.closed().await })),
    }
}

/// Asks a question that has nothing to do with a run. Only a yes is one.
pub(crate) async fn yes_or_no(question: &str) -> bool {
    let (answer, answered) = oneshot::channel();
    let asks = "Do you want that? [y/N] ".to_owned();
    ask(
        OnScreen { who: String::new(), shown: format!("{question} "), asks, offers: Offers::Once },
        answer,
    )
    .await;
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
    tokio::select! {
        said = said => return Some(said.unwrap_or_default()),
        () = stop_signal() => {}
        () = answer_to.closed() => {}
    }
    given_up.store(true, Ordering::Relaxed);
    None
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
