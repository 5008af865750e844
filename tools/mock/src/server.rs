//! The sockets of the fake: accepts connections, decides about requests under one lock, and sends the responses.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::ReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use super::http;
use super::play::{AfterAnswer, play};
use super::state::State;
use super::{Answerer, Exchange, Options, Replies};

/// The pause after an error in accepting. Accepting fails when the process has too many open files; the pause lets some
/// close.
const AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(10);

/// Why the fake cannot start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The address is in use or not local.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// The log cannot be written.
    #[error("cannot write the log {}", path.display())]
    Log {
        /// The path of the log.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
}

/// A running fake. Dropping it closes its port and all connections.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

impl Server {
    /// Starts a server on `addr`, whose port may be 0 to choose a free one. If `log` is given, each request is also
    /// written to it as a line of JSON.
    pub async fn start(
        addr: SocketAddr,
        source: impl Into<Replies>,
        options: Options,
        log: Option<&Path>,
    ) -> Result<Self, ServerError> {
        let listen = |source| ServerError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;
        let log = match log {
            Some(path) => Some(File::create(path).map_err(|source| {
                let path = path.to_owned();
                ServerError::Log { path, source }
            })?),
            None => None,
        };
        let closed = Duration::from_millis(options.connection_refused_ms);
        let source = source.into();
        let asked = if let Replies::Asked(it) = &source { Some(it.clone()) } else { None };
        let shared = Arc::new(Shared {
            started: Instant::now(),
            connections: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            state: Mutex::new(State::new(source, options, log)),
            asked,
        });
        let accepting = tokio::spawn(accept(listener, closed, Arc::clone(&shared))).abort_handle();
        Ok(Self { addr, shared, accepting })
    }

    /// Returns the address it listens on.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns its base URL.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns the requests so far, oldest first. Each is recorded before the first byte of its answer.
    pub fn requests(&self) -> Vec<Exchange> {
        self.shared.state().exchanges()
    }

    /// Returns the number of requests in flight.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

#[derive(Debug)]
struct Shared {
    started: Instant,
    connections: AtomicU64,
    in_flight: AtomicUsize,
    state: Mutex<State>,
    /// Who is asked for replies before a request is decided about.
    asked: Option<Answerer>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a request while it is being answered.
struct InFlight<'a>(&'a AtomicUsize);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Accepts connections. They run in this task and end with it.
async fn accept(mut listener: TcpListener, closed: Duration, shared: Arc<Shared>) {
    if !closed.is_zero() {
        let Ok(addr) = listener.local_addr() else { return };
        drop(listener);
        sleep(closed).await;
        listener = match TcpListener::bind(addr).await {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(%addr, %error, "another process took the port while it was closed");
                return;
            }
        };
    }
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&shared)))),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(AFTER_ACCEPT_ERROR).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Answers the requests of one connection, one after the other.
async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let after = converse(&mut stream, &shared).await;
    if matches!(after, Ok(AfterAnswer::Reset))
        && let Err(error) = stream.set_zero_linger()
    {
        tracing::debug!(%error, "the connection is closed instead of reset");
    }
}

async fn converse(stream: &mut TcpStream, shared: &Shared) -> io::Result<AfterAnswer> {
    stream.set_nodelay(true)?;
    let connection = shared.connections.fetch_add(1, Ordering::Relaxed) + 1;
    let (mut reader, mut writer) = stream.split();
    let mut buffer = Vec::new();
    while let Some(incoming) = http::read_request(&mut reader, &mut writer, &mut buffer).await? {
        let in_flight = shared.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        let counted = InFlight(&shared.in_flight);
        let at = shared.started.elapsed();
        let given = match &shared.asked {
            Some(answerer) if incoming.path.ends_with("/chat/completions") => {
                tokio::select! {
                    biased;
                    reply = answerer.reply(incoming.as_received()) => Some(reply),
                    () = gone(&mut reader, &mut buffer) => return Ok(AfterAnswer::Keep),
                }
            }
            Some(_) | None => None,
        };
        let decision = shared.state().decide(&incoming, given, (at, connection, in_flight));
        let answered = async {
            sleep_if(decision.delay).await;
            if let Some((prompt, message)) = &decision.stored {
                shared.state().store(prompt, message);
            }
            play(&mut writer, &decision.answer, &decision.repeated, || drop(counted)).await
        };
        let after = tokio::select! {
            biased;
            after = answered => after?,
            () = gone(&mut reader, &mut buffer) => return Ok(AfterAnswer::Keep),
        };
        if after == AfterAnswer::Reset {
            return Ok(after);
        }
    }
    Ok(AfterAnswer::Keep)
}

async fn sleep_if(wait: Duration) {
    if !wait.is_zero() {
        sleep(wait).await;
    }
}

/// Completes when the client closes the connection. Bytes that it sends until then are kept.
async fn gone(reader: &mut ReadHalf<'_>, buffer: &mut Vec<u8>) {
    while matches!(reader.read_buf(buffer).await, Ok(1..)) {}
}
