//! What stops a request or the program from outside: signals, as values.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::error::{CliError, Kind};

/// What stops a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl-C: the request, and nothing else.
    Stop,
    /// The polite signal, or a terminal that is gone: everything.
    Leave,
}

/// Interrupts as they come. From the first of them on, the signals no longer end the process by themselves.
#[derive(Debug)]
pub struct Interrupts(mpsc::Receiver<Interrupt>);

impl Interrupts {
    /// Listens from now on. Needs a runtime.
    pub fn listen() -> Result<Self, CliError> {
        let failed =
            |error| CliError::new(Kind::Internal, format!("cannot listen to signals: {error}"));
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        let mut quit = signal(SignalKind::quit()).map_err(failed)?;
        let (tell, told) = mpsc::channel(2);
        tokio::spawn(async move {
            loop {
                let interrupt = tokio::select! {
                    _ = interrupt.recv() => Interrupt::Stop,
                    _ = terminate.recv() => Interrupt::Leave,
                    _ = hangup.recv() => Interrupt::Leave,
                    _ = quit.recv() => Interrupt::Leave,
                };
                if tell.send(interrupt).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self(told))
    }

    /// The next one. Nothing is lost when this is dropped before it is there.
    pub async fn next(&mut self) -> Interrupt {
        match self.0.recv().await {
            Some(interrupt) => interrupt,
            None => std::future::pending().await,
        }
    }

    /// Comes back when the whole program is asked to end.
    pub async fn leave(&mut self) {
        while self.next().await != Interrupt::Leave {}
    }
}
