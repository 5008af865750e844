//! Unix signals that stop a request or the whole program, as values.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::error::{CliError, CliErrorKind};

/// What a signal asks to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// `SIGINT` (Ctrl-C): stop only the request.
    Stop,
    /// `SIGTERM`, `SIGHUP` or `SIGQUIT`: stop the whole program.
    Leave,
}

/// A stream of interrupts. Once it is created, these signals no longer end the process by themselves.
#[derive(Debug)]
pub struct Interrupts(mpsc::Receiver<Interrupt>);

impl Interrupts {
    /// Starts to listen. Must be called within a Tokio runtime.
    pub fn listen() -> Result<Self, CliError> {
        let failed = |error| {
            CliError::new(CliErrorKind::Internal, format!("cannot listen for signals: {error}"))
        };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        let mut quit = signal(SignalKind::quit()).map_err(failed)?;
        let (sender, receiver) = mpsc::channel(2);
        tokio::spawn(async move {
            loop {
                let interrupt = tokio::select! {
                    _ = interrupt.recv() => Interrupt::Stop,
                    _ = terminate.recv() => Interrupt::Leave,
                    _ = hangup.recv() => Interrupt::Leave,
                    _ = quit.recv() => Interrupt::Leave,
                    () = sender.closed() => return,
                };
                if sender.send(interrupt).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self(receiver))
    }

    /// Waits for the next interrupt. Cancel safe.
    pub async fn next(&mut self) -> Interrupt {
        match self.0.recv().await {
            Some(interrupt) => interrupt,
            None => std::future::pending().await,
        }
    }

    /// Returns once the whole program should stop.
    pub async fn leave(&mut self) {
        while self.next().await != Interrupt::Leave {}
    }
}
