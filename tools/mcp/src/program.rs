//! A server that is a program: its words and variables, started behind the walls.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use config::McpServer;
use sandbox::Network;
use shell::{CommandConfinement, Environment, Exit, Service, ServiceOptions, start_service};
use tools::plain::plain_output;

use crate::connection::{Age, BoundedLines, ConnectError, Connection, ServerLimits};
use crate::entry::ServerEntry;
use crate::expand::{ExpandError, expand};
use crate::reach::{places_of, unwritable};

/// Where a server runs, and how programs are started there: their working directory is the tree.
#[derive(Debug, Clone)]
pub struct ServerPlace(ServiceOptions);

impl ServerPlace {
    /// Wraps how programs are started in a tree.
    pub const fn new(options: ServiceOptions) -> Self {
        Self(options)
    }

    pub(crate) fn tree(&self) -> &Path {
        &self.0.cwd
    }

    /// Returns the confinement of programs, if there is one.
    pub const fn fence(&self) -> Option<&CommandConfinement> {
        self.0.fence.as_ref()
    }

    /// Gives the network, or takes it.
    #[must_use]
    pub fn with_network(mut self, network: bool) -> Self {
        if let Some(fence) = &mut self.0.fence {
            fence.network = if network { Network::Host } else { Network::Own };
        }
        self
    }
}

/// A running program. Dropping it ends it with all that it started.
pub(crate) struct ServerProgram(Service);

impl ServerProgram {
    /// Lets it end by itself, and ends it after a while.
    pub(crate) async fn end(self) {
        self.0.end().await;
    }
}

/// Starts a program and connects to it.
pub(crate) async fn connect(
    entry: &ServerEntry,
    limits: ServerLimits,
    variables: &BTreeMap<String, String>,
    place: ServerPlace,
) -> Result<(Connection, ServerProgram), ConnectError> {
    let (words, options) = prepared(entry, variables, place)?;
    let mut age = Age::Handshake;
    loop {
        let started = start_service(&words, &options).await;
        let mut service = started.map_err(|error| ConnectError::Start(error.to_string()))?;
        let streams = service.take_streams();
        let (input, output) =
            streams.ok_or_else(|| ConnectError::Start("it has no output".to_owned()))?;
        let fault = Arc::new(OnceLock::new());
        let lines = BoundedLines::new(output, limits.max_message_bytes, Arc::clone(&fault));
        match Connection::open(&entry.name, limits, age, fault, (lines, input)).await {
            Ok(connection) => return Ok((connection, ServerProgram(service))),
            Err(ConnectError::Refused(_)) if age == Age::Handshake => age = Age::Discovery,
            Err(error) => return Err(why_not(error, service).await),
        }
    }
}

/// Adds to an error how the program ended, if it did, and what it said last.
async fn why_not(error: ConnectError, mut service: Service) -> ConnectError {
    const LAST_LINES: usize = 8;
    let ended = match &error {
        ConnectError::Late(_) => None,
        ConnectError::Start(_) | ConnectError::Refused(_) | ConnectError::Handshake(_) => {
            tokio::time::timeout(TO_END, service.wait()).await.ok()
        }
    };
    let said = plain_output(&service.stderr_text());
    let lines: Vec<&str> = said.lines().collect();
    let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default().join("\n");
    let said = if last.is_empty() { String::new() } else { format!("; it says:\n{last}") };
    match ended.map(|end| end.exit) {
        Some(Exit::NotFound) => ConnectError::Start("there is no such program".to_owned()),
        Some(Exit::NotStarted(why)) => ConnectError::Start(why),
        Some(Exit::Code(code)) => {
            ConnectError::Handshake(format!("it ended with status {code}{said}"))
        }
        Some(Exit::Signal(signal)) => {
            ConnectError::Handshake(format!("it was ended by signal {signal}{said}"))
        }
        Some(Exit::TimedOut) | None => ConnectError::Handshake(format!("{error}{said}")),
    }
}

/// How long a program that has closed its output may take to end.
const TO_END: Duration = Duration::from_secs(1);

/// Returns the words, and the options with the variables of the entry.
fn prepared(
    entry: &ServerEntry,
    variables: &BTreeMap<String, String>,
    place: ServerPlace,
) -> Result<(Vec<OsString>, ServiceOptions), ConnectError> {
    let McpServer { env, cwd, .. } = &entry.server;
    let expanded = |text: &String| {
        expand(text, &|name| variables.get(name).cloned())
            .map_err(|error| ConnectError::Start(error.to_string()))
    };
    let words = expanded_words(entry, variables);
    let words = words.map_err(|error| ConnectError::Start(error.to_string()))?;
    let seen = seen_places(entry, variables, place.tree());
    let written = written_places(entry, variables, place.tree()).map_err(ConnectError::Start)?;
    let ServerPlace(mut options) = place;
    if let Some(fence) = &mut options.fence {
        fence.read.extend(seen);
        fence.write = written;
        fence.home = Some(entry.name.clone());
    }
    let mut vars = options.env.vars.as_ref().clone();
    for (name, value) in env {
        vars.insert(name.clone(), expanded(value)?);
    }
    options.env = Environment { vars: Arc::new(vars) };
    options.cwd = options.cwd.join(expanded(cwd)?);
    Ok((words.into_iter().map(OsString::from).collect(), options))
}

fn expanded_words(
    entry: &ServerEntry,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<String>, ExpandError> {
    let McpServer { command, args, .. } = &entry.server;
    let words = [command].into_iter().chain(args);
    words.map(|word| expand(word, &|name| variables.get(name).cloned())).collect()
}

/// Returns the places outside the tree that a program sees because its entry names them.
pub(crate) fn seen_places(
    entry: &ServerEntry,
    variables: &BTreeMap<String, String>,
    tree: &Path,
) -> Vec<PathBuf> {
    let Ok(words) = expanded_words(entry, variables) else { return Vec::new() };
    let home = variables.get("HOME").map(PathBuf::from);
    let mut places = places_of(words.iter().map(String::as_str), home.as_deref(), tree);
    let expanded = |text: &String| expand(text, &|name| variables.get(name).cloned()).ok();
    places.extend(entry.server.read.iter().filter_map(expanded).map(|it| tree.join(it)));
    places
}

/// Returns the places outside the tree that a program writes to because its entry says so.
pub(crate) fn written_places(
    entry: &ServerEntry,
    variables: &BTreeMap<String, String>,
    tree: &Path,
) -> Result<Vec<PathBuf>, String> {
    let home = variables.get("HOME").map(PathBuf::from);
    let place = |text: &String| {
        let path = expand(text, &|name| variables.get(name).cloned());
        let path = tree.join(path.map_err(|error| error.to_string())?);
        match unwritable(&path, home.as_deref(), tree) {
            Some(why) => Err(format!("`write` names {}, {why}", path.display())),
            None => Ok(path),
        }
    };
    entry.server.write.iter().map(place).collect()
}
