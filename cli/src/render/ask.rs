//! A yes or a no from the terminal: nothing typed before counts, and nothing is taken once it is not wanted any more.

use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actors::publisher::Answer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::QueueSelector;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Asks a question that has nothing to do with a run. Only a yes is one.
pub(crate) async fn yes_or_no(question: &str) -> bool {
    forget_what_was_typed();
    if write!(io::stderr(), "{question} [y/N] ").is_err() {
        return false;
    }
    let (answer, answered) = oneshot::channel();
    heard(answer).await;
    answered.await.is_ok_and(|answer| answer == Answer::Yes)
}

/// What was typed before a question is no answer to it.
fn forget_what_was_typed() {
    rustix::termios::tcflush(io::stdin(), QueueSelector::IFlush).ok();
}

/// Reads the answer to a question that is on the screen. Ends early when the program is stopped, or the question withdrawn.
pub(super) async fn answer(answer_to: oneshot::Sender<Answer>) {
    forget_what_was_typed();
    heard(answer_to).await;
}

async fn heard(mut answer_to: oneshot::Sender<Answer>) {
    let given_up = Arc::new(AtomicBool::new(false));
    let listening = Arc::clone(&given_up);
    let said = tokio::task::spawn_blocking(move || line_from_terminal(&listening));
    let answer = tokio::select! {
        said = said => match said.unwrap_or_default().trim().to_lowercase().as_str() {
            "y" | "yes" => Answer::Yes,
            _ => Answer::No,
        },
        // The drive of the session hears of it, too, and withdraws the question: that is not a no.
        () = stop_signal() => {
            given_up.store(true, Ordering::Relaxed);
            tokio::spawn(async move { answer_to.closed().await });
            return;
        }
        () = answer_to.closed() => {
            given_up.store(true, Ordering::Relaxed);
            return;
        }
    };
    answer_to.send(answer).ok();
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
