//! A connection to a server: the handshake of both ages of the protocol, the list of tools, and calls one after the other.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam, ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, RequestContext, RoleClient,
    RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::Instant;

use crate::content::text_of;
use crate::definition::{ToolDefinition, ToolHints};
use crate::failure::HttpFailure;
use crate::question::{ServerQuestion, ask};

/// The bounds of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerLimits {
    /// Time to be ready.
    pub(crate) start: Duration,
    /// Time to answer a call.
    pub(crate) call: Duration,
    /// Time for a call up to which progress extends it.
    pub(crate) whole: Option<Duration>,
    /// Size of a message, in bytes.
    pub(crate) max_message_bytes: usize,
    /// Questions to the user during one call.
    pub(crate) max_questions: usize,
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// It could not be started.
    #[error("it cannot be started: {0}")]
    Start(String),
    /// It took too long.
    #[error("it was not ready after {0} s (mcp.start_timeout_seconds)")]
    Late(u64),
    /// It refuses the handshake; a server of the newer age does.
    #[error("{0}")]
    Refused(String),
    /// It does not speak the protocol.
    #[error("{0}")]
    Handshake(String),
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// The tool answered.
    Answered {
        /// Its answer.
        text: String,
        /// Whether it says that it failed.
        failed: bool,
    },
    /// It was not carried out: the reason.
    Refused(String),
    /// Whether it was carried out is not known: the reason.
    Unknown(String),
}

/// The client's side of the protocol, as far as servers may ask for something.
struct Client {
    server: String,
    asked: mpsc::Sender<ServerQuestion>,
    progress: watch::Sender<String>,
    tools_changed: Arc<AtomicBool>,
    max_questions: usize,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        let me = Implementation::new("deepseek", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, me)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        wanted: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ask(&self.server, wanted, &self.asked, self.max_questions).await)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.send_replace(progress_words(&params));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.store(true, Ordering::Relaxed);
    }
}

/// What comes in while a call is under way.
struct Inbox {
    questions: mpsc::Receiver<ServerQuestion>,
    progress: watch::Receiver<String>,
}

/// A server that is ready. Dropping it closes the connection.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Client>,
    limits: ServerLimits,
    /// Calls wait here for each other.
    inbox: Mutex<Inbox>,
    tools_changed: Arc<AtomicBool>,
    fault: Arc<OnceLock<String>>,
}

/// The two ages of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// With a handshake.
    Handshake,
    /// Without one: a server is asked what it can.
    Discovery,
}

/// Listens while a call is under way.
pub trait CallListener: Send {
    /// Puts a question of the server to the user; `if_empty` says what an empty answer means. `None` if there is no user.
    fn answer(&mut self, question: String, if_empty: String) -> BoxFuture<'_, Option<String>>;

    /// Takes what the server says about its progress.
    fn progress(&mut self, text: &str);
}

impl Connection {
    /// Connects to a server of one age. `fault` is what is wrong with its messages, if something is.
    pub(crate) async fn open<T, E, A>(
        server: &str,
        limits: ServerLimits,
        age: Age,
        fault: Arc<OnceLock<String>>,
        transport: T,
    ) -> Result<Self, ConnectError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (asked, questions) = mpsc::channel(1);
        let (progress, heard) = watch::channel(String::new());
        let tools_changed = Arc::new(AtomicBool::default());
        let client = Client {
            server: server.to_owned(),
            asked,
            progress,
            tools_changed: Arc::clone(&tools_changed),
            max_questions: limits.max_questions,
        };
        let lifecycle = match age {
            Age::Handshake => ClientLifecycleMode::Initialize,
            Age::Discovery => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
            }
        };
        let ready = serve_client_with_lifecycle(client, transport, lifecycle);
        let ready = tokio::time::timeout(limits.start, ready).await;
        let service = ready.map_err(|_| ConnectError::Late(limits.start.as_secs()))?;
        let service = service.map_err(|error| match fault.get() {
            Some(fault) => ConnectError::Handshake(fault.clone()),
            None if refuses_handshake(&error) => ConnectError::Refused(error.to_string()),
            None => match HttpFailure::of_start(&error) {
                Some(HttpFailure::Strange(why)) => ConnectError::Refused(why),
                Some(failure) => ConnectError::Handshake(failure.to_string()),
                None => ConnectError::Handshake(error.to_string()),
            },
        })?;
        let inbox = Mutex::new(Inbox { questions, progress: heard });
        Ok(Self { service, limits, inbox, tools_changed, fault })
    }

    /// Returns the tools that the server has now.
    pub(crate) async fn tools(&self) -> Result<Vec<ToolDefinition>, ConnectError> {
        self.tools_changed.store(false, Ordering::Relaxed);
        if self.service.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        let listed = tokio::time::timeout(self.limits.start, self.service.list_all_tools()).await;
        let tools = listed
            .map_err(|_| ConnectError::Late(self.limits.start.as_secs()))?
            .map_err(|error| ConnectError::Handshake(self.said(&error)))?;
        Ok(tools.into_iter().map(defined).collect())
    }

    /// Returns true if the server said that its tools have changed since they were listed.
    pub(crate) fn has_new_tools(&self) -> bool {
        self.tools_changed.load(Ordering::Relaxed)
    }

    /// Returns true if the server is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed() || self.fault.get().is_some()
    }

    /// Calls a tool. The user's time to answer a question does not count.
    pub(crate) async fn call(
        &self,
        (tool, result_schema): (&str, Option<&Value>),
        arguments: Map<String, Value>,
        listener: &mut dyn CallListener,
    ) -> CallOutcome {
        let ServerLimits { call: limit, whole, max_questions, .. } = self.limits;
        let mut inbox = self.inbox.lock().await;
        let Inbox { questions, progress: heard } = &mut *inbox;
        heard.mark_unchanged();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        // A server of the newer age asks by its answer, and is called again with what it asked for.
        let rounds = max_questions.max(1);
        let mut call = pin!(self.service.call_tool_with_mrtr_max_rounds(params, rounds));
        let mut last = Instant::now() + whole.unwrap_or(limit).max(limit);
        let mut until = Instant::now() + limit;
        loop {
            tokio::select! {
                biased;
                result = &mut call => return match result {
                    Ok(result) => CallOutcome::Answered {
                        text: text_of(&result, result_schema),
                        failed: result.is_error == Some(true),
                    },
                    Err(error) => self.failed(&error),
                },
                Some(question) = questions.recv() => {
                    let asked = Instant::now();
                    // The server may have given up; then the answer is dropped.
                    let ServerQuestion { text, if_empty, reply } = question;
                    reply.send(listener.answer(text, if_empty).await).ok();
                    (until, last) = (until + asked.elapsed(), last + asked.elapsed());
                }
                Ok(()) = heard.changed() => {
                    let text = heard.borrow_and_update().clone();
                    listener.progress(&text);
                    if whole.is_some() {
                        until = (Instant::now() + limit).min(last);
                    }
                }
                () = tokio::time::sleep_until(until) => {
                    let is_used_up = whole.is_some() && until >= last;
                    let setting = if is_used_up {
                        "max_call_seconds of the server"
                    } else {
                        "mcp.call_timeout_seconds"
                    };
                    return CallOutcome::Unknown(format!("it did not answer in time ({setting})"));
                }
            }
        }
    }

    fn failed(&self, error: &ServiceError) -> CallOutcome {
        if let ServiceError::McpError(refused) = error {
            let (message, code) = (&refused.message, refused.code.0);
            return CallOutcome::Refused(format!("the server refuses: {message} ({code})"));
        }
        match HttpFailure::of_call(error) {
            Some(HttpFailure::Refused(why) | HttpFailure::Strange(why)) => {
                CallOutcome::Refused(why)
            }
            Some(HttpFailure::Unknown(_)) | None => CallOutcome::Unknown(self.said(error)),
        }
    }

    /// Returns what went wrong in words.
    fn said(&self, error: &ServiceError) -> String {
        match (self.fault.get(), error) {
            (Some(fault), _) => fault.clone(),
            (None, ServiceError::TransportClosed | ServiceError::Cancelled { .. }) => {
                "the server ended".to_owned()
            }
            (None, other) => {
                HttpFailure::of_call(other).map_or_else(|| other.to_string(), |it| it.to_string())
            }
        }
    }
}

/// Returns true if a server refused the handshake as such: one of the newer age has none.
const fn refuses_handshake(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::NoCompatibleProtocolVersion { .. }
    )
}

/// Returns what a server says about its progress; how far it is if it says nothing.
fn progress_words(said: &ProgressNotificationParam) -> String {
    let message = said.message.as_deref().filter(|message| !message.trim().is_empty());
    match (message, said.total) {
        (Some(message), _) => message.to_owned(),
        (None, Some(total)) => format!("{} of {total}", said.progress),
        (None, None) => said.progress.to_string(),
    }
}

/// Converts a tool.
fn defined(tool: Tool) -> ToolDefinition {
    let hints = tool.annotations.map_or_else(ToolHints::default, |said| ToolHints {
        read_only: said.read_only_hint,
        destructive: said.destructive_hint,
        idempotent: said.idempotent_hint,
        open_world: said.open_world_hint,
    });
    ToolDefinition {
        name: tool.name.into_owned(),
        description: tool.description.map(Into::into).unwrap_or_default(),
        parameters: Value::Object(tool.input_schema.as_ref().clone()),
        result: tool.output_schema.map(|schema| Value::Object(schema.as_ref().clone())),
        hints,
    }
}

/// The output of a server, which ends at a line that is too long.
pub(crate) struct BoundedLines<R> {
    inner: R,
    max_bytes: usize,
    line: usize,
    fault: Arc<OnceLock<String>>,
}

impl<R> BoundedLines<R> {
    pub(crate) const fn new(inner: R, max_bytes: usize, fault: Arc<OnceLock<String>>) -> Self {
        Self { inner, max_bytes, line: 0, fault }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        let mut lines = read.split(|byte| *byte == b'\n');
        let mut longest = self.line + lines.next().map_or(0, <[u8]>::len);
        self.line = longest;
        for line in lines {
            self.line = line.len();
            longest = longest.max(line.len());
        }
        if longest > self.max_bytes {
            let max = self.max_bytes;
            self.fault
                .set(format!("it sent a message of more than {max} bytes (mcp.max_message_bytes)"))
                .ok();
            buffer.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn output_ends_at_a_line_that_is_too_long() {
        let fault = Arc::new(OnceLock::new());
        let text = format!("{}\n{}\nafter\n", "a".repeat(90), "b".repeat(101));
        let mut lines = BoundedLines::new(text.as_bytes(), 100, Arc::clone(&fault));
        let mut read = Vec::new();
        let mut small = [0; 7];
        loop {
            let count = lines.read(&mut small).await.unwrap();
            if count == 0 {
                break;
            }
            read.extend_from_slice(&small[..count]);
        }
        assert!(!String::from_utf8(read).unwrap().contains("after"));
        assert!(fault.get().unwrap().contains("more than 100 bytes"));
    }
}
