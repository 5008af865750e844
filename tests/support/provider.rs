//! The fake DeepSeek in this process, on a runtime of its own.

use std::net::SocketAddr;

use mock::{Exchange, Options, Replies, Server};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A provider that answers what it was told to.
pub(crate) struct Provider {
    server: Server,
    _runtime: Runtime,
}

impl Provider {
    /// Answers from a script or a function.
    pub(crate) fn new(source: impl Into<Replies>) -> Self {
        Self::with(source, Options::default())
    }

    /// The same, set up otherwise.
    pub(crate) fn with(source: impl Into<Replies>, options: Options) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        let addr = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = runtime.block_on(Server::start(addr, source, options, None)).unwrap();
        Self { server, _runtime: runtime }
    }

    /// Where it is.
    pub(crate) fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Exchange> {
        self.server.requests()
    }

    /// Whether every request has been answered, or its connection closed.
    pub(crate) fn is_idle(&self) -> bool {
        self.server.in_flight() == 0
    }

    /// Who asked, in order: `architect editor editor`.
    pub(crate) fn roles(&self) -> String {
        let requests = self.requests();
        let roles = requests.iter().map(|seen| role(seen).to_owned());
        roles.collect::<Vec<_>>().join(" ")
    }

    /// The requests of one role.
    pub(crate) fn of(&self, wanted: &str) -> Vec<Exchange> {
        self.requests().into_iter().filter(|seen| role(seen) == wanted).collect()
    }

    /// What the last message of a role's `number`th request says, counted from one.
    pub(crate) fn told(&self, role: &str, number: usize) -> String {
        let requests = self.of(role);
        let messages = requests[number - 1].request.json["messages"].as_array().unwrap();
        messages.last().unwrap()["content"].as_str().unwrap().to_owned()
    }

    /// Every message of every request, as one text.
    pub(crate) fn everything_said(&self) -> String {
        let requests = self.requests();
        let messages =
            requests.iter().filter_map(|seen| seen.request.json["messages"].as_array().cloned());
        let texts = messages.flatten().map(|message: Value| message["content"].to_string());
        texts.collect::<Vec<_>>().join("\n")
    }
}

fn role(seen: &Exchange) -> &str {
    seen.request.header("x-agent-role").unwrap_or("none")
}
