//! The fake DeepSeek API, in the test's process, on its own runtime.

use std::net::SocketAddr;

use mock::{Exchange, Options, Replies, Server};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A provider with scripted answers.
pub(crate) struct Provider {
    server: Server,
    _runtime: Runtime,
}

impl Provider {
    /// Starts a provider that answers from a script or a function.
    pub(crate) fn new(source: impl Into<Replies>) -> Self {
        Self::with(source, Options::default())
    }

    /// Like [`Self::new`], with options.
    pub(crate) fn with(source: impl Into<Replies>, options: Options) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        let addr = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = runtime.block_on(Server::start(addr, source, options, None)).unwrap();
        Self { server, _runtime: runtime }
    }

    /// Returns the URL it listens at.
    pub(crate) fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<Exchange> {
        self.server.requests()
    }

    /// Returns true if every request has been answered or its connection closed.
    pub(crate) fn is_idle(&self) -> bool {
        self.server.in_flight() == 0
    }

    /// Returns the roles of the requests, in order: `architect editor editor`.
    pub(crate) fn roles(&self) -> String {
        let requests = self.requests();
        let roles = requests.iter().map(|seen| role(seen).to_owned());
        roles.collect::<Vec<_>>().join(" ")
    }

    /// Returns the requests of one role.
    pub(crate) fn of(&self, wanted: &str) -> Vec<Exchange> {
        self.requests().into_iter().filter(|seen| role(seen) == wanted).collect()
    }

    /// Returns the text of the last message in a role's `number`th request, counted from one.
    pub(crate) fn last_message(&self, role: &str, number: usize) -> String {
        let requests = self.of(role);
        let messages = requests[number - 1].request.json["messages"].as_array().unwrap();
        messages.last().unwrap()["content"].as_str().unwrap().to_owned()
    }

    /// Returns all messages of all requests, as one text.
    pub(crate) fn all_messages(&self) -> String {
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
