//! An HTTP server for tests, which answers each request by a function, and the entry and approval of a server at its address.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use config::access::Secret;
use config::{Mcp, McpServer, defaults_of};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use shell::{Environment, ServiceOptions};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::{
    CallListener, CallOutcome, McpServerError, Pin, ServerApproval, ServerCall, ServerEntry,
    ServerPlace, Servers, TokenStore, ToolDefinition,
};

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct HttpAsked {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    /// The names are in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl HttpAsked {
    /// Returns the body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Returns the name of the call.
    pub(crate) fn called(&self) -> String {
        self.json()["method"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What is answered.
pub(crate) enum HttpSaid {
    /// A status, headers and a body.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// A stream that begins so and never ends.
    Endless(String),
    /// Nothing: the connection is closed.
    Nothing,
}

impl HttpSaid {
    pub(crate) fn json(body: &Value) -> Self {
        Self::Answer(200, vec![("content-type", "application/json".into())], body.to_string())
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Answer(status, Vec::new(), String::new())
    }

    pub(crate) fn event(body: &Value) -> Self {
        let body = format!("event: message\ndata: {body}\n\n");
        Self::Answer(200, vec![("content-type", "text/event-stream".into())], body)
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Self::Answer(_, headers, _) = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

/// A running server.
pub(crate) struct FakeHttp {
    /// Its origin.
    pub(crate) origin: String,
    asked: Arc<Mutex<Vec<HttpAsked>>>,
}

impl FakeHttp {
    /// Starts a server. `answer` gets the origin and the request.
    pub(crate) async fn start(
        answer: impl Fn(&str, &HttpAsked) -> HttpSaid + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<HttpAsked>>>::default();
        let (seen, own, answer) = (Arc::clone(&asked), origin.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, own, answer) = (Arc::clone(&seen), own.clone(), Arc::clone(&answer));
                tokio::spawn(async move {
                    serve(stream, |request| {
                        seen.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
                        answer(&own, request)
                    })
                    .await
                    .ok();
                });
            }
        });
        Self { origin, asked }
    }

    /// Returns the requests so far.
    pub(crate) fn asked(&self) -> Vec<HttpAsked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how often something was called.
    pub(crate) fn calls(&self, method: &str) -> usize {
        self.asked().iter().filter(|asked| asked.called() == method).count()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: impl FnOnce(&HttpAsked) -> HttpSaid,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let body = String::from_utf8_lossy(&body).into_owned();
    match answer(&HttpAsked { method, path, headers, body }) {
        HttpSaid::Answer(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            head += &format!("content-length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(body.as_bytes()).await?;
            stream.shutdown().await
        }
        HttpSaid::Endless(begin) => {
            let head =
                "HTTP/1.1 200 X\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
            stream.write_all(format!("{head}{begin}").as_bytes()).await?;
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                stream.write_all(b": still here\n\n").await?;
            }
        }
        HttpSaid::Nothing => Ok(()),
    }
}

/// The tool of the server below.
pub(crate) fn adding() -> Value {
    json!({ "name": "add", "description": "Adds.", "inputSchema": { "type": "object" } })
}

/// Answers as a server of tools with a handshake and sessions does.
pub(crate) fn older(asked: &HttpAsked) -> HttpSaid {
    let id = asked.json()["id"].clone();
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    match (asked.method.as_str(), asked.called().as_str()) {
        ("POST", "initialize") => HttpSaid::json(&result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "fake", "version": "1" },
        })))
        .with("mcp-session-id", "session-1"),
        ("POST", "notifications/initialized" | "notifications/cancelled") => HttpSaid::status(202),
        ("POST", "tools/list") => HttpSaid::json(&result(json!({ "tools": [adding()] }))),
        ("POST", "tools/call") => HttpSaid::json(&result(json!({
            "content": [{ "type": "text", "text": "3" }],
        }))),
        ("DELETE", _) => HttpSaid::status(200),
        _ => HttpSaid::status(405),
    }
}

/// Keeps secrets in memory.
#[derive(Default)]
pub(crate) struct Kept(Mutex<BTreeMap<String, Secret>>);

impl Kept {
    /// Returns everything that is kept, as one text.
    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.values().map(Secret::expose).collect()
    }

    /// Keeps what another store keeps.
    pub(crate) fn copy(&self, other: &Self) {
        let kept = other.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }
}

impl TokenStore for Kept {
    fn read(&self, name: &str) -> io::Result<Option<Secret>> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned())
    }

    fn keep(&self, name: &str, secret: &Secret) -> io::Result<()> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(name.to_owned(), secret.clone());
        Ok(())
    }

    fn forget(&self, name: &str) -> io::Result<bool> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name).is_some())
    }
}

/// The servers of a user who has one, at an address.
pub(crate) struct FakeSession {
    pub(crate) servers: Servers,
    pub(crate) settings: Mcp,
    pub(crate) kept: Arc<Kept>,
    home: TempDir,
}

impl FakeSession {
    pub(crate) fn with(server: McpServer) -> Self {
        let home = tempfile::tempdir().unwrap();
        let kept = Arc::<Kept>::default();
        let store: Arc<dyn TokenStore> = Arc::<Kept>::clone(&kept);
        let variables = BTreeMap::from([("KEY".to_owned(), "k-1".to_owned())]);
        let of_user = BTreeMap::from([("fake".to_owned(), server)]);
        let servers = Servers::new(home.path(), of_user, home.path(), variables, store);
        Self { servers, settings: defaults_of("mcp").unwrap(), kept, home }
    }

    pub(crate) fn at(url: &str) -> Self {
        Self::with(McpServer { url: url.to_owned(), ..McpServer::default() })
    }

    pub(crate) fn entry(&self) -> ServerEntry {
        self.servers.entry("fake").unwrap()
    }

    fn place(&self) -> ServerPlace {
        let tree: &Path = self.home.path();
        let options = ServiceOptions {
            cwd: tree.to_owned(),
            env: Environment { vars: Arc::default() },
            fence: None,
            notes: None,
            kill_grace: Duration::from_millis(10),
            keep_stderr_bytes: 1000,
        };
        ServerPlace::new(options)
    }

    /// Returns the tools that the server has.
    pub(crate) async fn look(&self) -> Result<Vec<ToolDefinition>, McpServerError> {
        self.servers.look(&self.settings, &self.entry(), self.place()).await
    }

    /// Approves the tool of the fake server as it is.
    pub(crate) fn approve(&self) {
        let definition = ToolDefinition {
            name: "add".into(),
            description: "Adds.".into(),
            parameters: json!({ "type": "object" }),
            result: None,
            hints: crate::ToolHints::default(),
        };
        let approval = ServerApproval {
            server: "fake".into(),
            digest: self.servers.digest(&self.entry()),
            at: String::new(),
            network: false,
            tools: vec![Pin { definition, reads: true, first: false }],
        };
        self.servers.approvals().add(approval).unwrap();
    }

    /// Calls the tool.
    pub(crate) async fn call(&self) -> CallOutcome {
        let usable = self.servers.usable();
        let tool = usable.tools.first().unwrap();
        let call = ServerCall { tool, arguments: Map::new(), place: self.place() };
        self.servers.call(&self.settings, call, &mut Silent).await
    }
}

/// Answers nothing.
struct Silent;

impl CallListener for Silent {
    fn answer(&mut self, _: String, _: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn progress(&mut self, _: &str) {}
}
