//! The servers of a session: which tools of them may be offered, and the connections, which are opened when a tool is called
//! for the first time. Each tree has servers of its own, so that lanes do not meet in one.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use config::{Mcp, McpServer};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::Mutex;
use toolbox::{ServerTool, check_arguments, wire_name};

use crate::address::{self, HttpTarget};
use crate::approval::{ApprovalError, Approvals, Pin, ServerApproval};
use crate::connection::{CallListener, CallOutcome, ConnectError, Connection, ServerLimits};
use crate::definition::{ToolDefinition, ToolDrift, drift};
use crate::digest::EntryDigest;
use crate::entry::{Endpoint, ServerEntry};
use crate::expand::expand;
use crate::mcp_json::{McpJsonError, entries_of, read_mcp_json};
use crate::oauth::{Login, LoginError, NoTokens, TokenStore, Tokens};
use crate::program::{self, ServerPlace, ServerProgram};

/// What of the servers can be used.
#[derive(Debug, Default)]
pub struct UsableTools {
    /// The tools.
    pub tools: Vec<ServerTool>,
    /// Servers that cannot be used, with the reason and what to do.
    pub unusable: Vec<UnusableServer>,
}

/// A server that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableServer {
    /// The reason.
    pub why: String,
    /// Whether nothing may be done without it.
    pub required: bool,
}

/// Why a server has no tools.
#[derive(Debug, Error)]
pub enum McpServerError {
    /// The file of approvals cannot be used.
    #[error(transparent)]
    Approvals(#[from] ApprovalError),
    /// The file of the project cannot be used.
    #[error(transparent)]
    McpJson(#[from] McpJsonError),
    /// There is no such server.
    #[error("there is no MCP server `{0}`; those that there are: {1}")]
    NoServer(String, String),
    /// It is not approved.
    #[error("the MCP server `{0}` {1}; look at it and approve it with `deepseek mcp approve {0}`")]
    NotApproved(String, &'static str),
    /// Its entry is wrong.
    #[error("the MCP server `{0}` cannot be used: {1}")]
    Entry(String, String),
    /// It does not start or answer.
    #[error("the MCP server `{0}`: {1}")]
    Connect(String, ConnectError),
}

/// The servers of a session. Cheap to clone.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    /// The user's workspace, whose `.mcp.json` is read.
    workspace: PathBuf,
    /// The servers of the user's configuration.
    of_user: BTreeMap<String, McpServer>,
    approvals: Approvals,
    /// The variables that entries may name.
    variables: BTreeMap<String, String>,
    tokens: Tokens,
    running: std::sync::Mutex<HashMap<(PathBuf, String), Slot>>,
}

/// The place of a server that may be running.
type Slot = Arc<Mutex<Running>>;

#[derive(Default)]
struct Running {
    server: Option<ReadyServer>,
    starts: u32,
}

/// A server that was started or reached.
struct ReadyServer {
    connection: Connection,
    /// Ends the program when it is dropped.
    program: Option<ServerProgram>,
    digest: String,
    drift: ToolDrift,
    /// When the approval was given that its tools are compared with.
    approved_at: Option<String>,
}

/// A call of a tool.
pub struct ServerCall<'c> {
    /// The tool, as it was offered.
    pub tool: &'c ServerTool,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// Where the server runs.
    pub place: ServerPlace,
}

impl Servers {
    /// Returns the servers for a workspace: those of the user's configuration and those of its `.mcp.json`. Nothing is read or
    /// started yet. `variables` are those that entries may name; `dir` is the user's directory with the approvals; `tokens` are
    /// the logins at servers.
    pub fn new(
        workspace: &Path,
        of_user: BTreeMap<String, McpServer>,
        dir: &Path,
        variables: BTreeMap<String, String>,
        tokens: Arc<dyn TokenStore>,
    ) -> Self {
        Self(Arc::new(Inner {
            workspace: workspace.to_owned(),
            of_user,
            approvals: Approvals::in_dir(dir),
            variables,
            tokens: Tokens::new(tokens),
            running: std::sync::Mutex::default(),
        }))
    }

    /// Returns no servers.
    pub fn none() -> Self {
        let nowhere = Path::new("/dev/null");
        Self::new(nowhere, BTreeMap::new(), nowhere, BTreeMap::new(), Arc::new(NoTokens))
    }

    /// Returns the approvals.
    pub fn approvals(&self) -> &Approvals {
        &self.0.approvals
    }

    /// Returns all entries. Blocks.
    pub fn entries(&self) -> Result<Vec<ServerEntry>, McpJsonError> {
        let Inner { workspace, of_user, .. } = &*self.0;
        Ok(entries_of(of_user, read_mcp_json(workspace)?))
    }

    /// Returns one entry. Blocks.
    pub fn entry(&self, name: &str) -> Result<ServerEntry, McpServerError> {
        let entries = self.entries()?;
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let found = entries.iter().find(|entry| entry.name == name).cloned();
        found.ok_or_else(|| McpServerError::NoServer(name.to_owned(), names))
    }

    /// Returns the digest of an entry. Blocks.
    pub fn digest(&self, entry: &ServerEntry) -> EntryDigest {
        EntryDigest::of(entry, &self.0.workspace)
    }

    /// Returns the places outside the workspace that a program sees because its entry names them. Blocks.
    pub fn seen(&self, entry: &ServerEntry) -> Vec<PathBuf> {
        program::seen_places(entry, &self.0.variables, &self.0.workspace)
    }

    /// Returns the places outside the workspace that a program writes to because its entry says so. Blocks.
    pub fn written(&self, entry: &ServerEntry) -> Result<Vec<PathBuf>, McpServerError> {
        let places = program::written_places(entry, &self.0.variables, &self.0.workspace);
        places.map_err(|why| McpServerError::Entry(entry.name.clone(), why))
    }

    /// Returns the tools of the approved servers, without starting one. Blocks.
    pub fn usable(&self) -> UsableTools {
        let mut usable = UsableTools::default();
        let entries = match self.entries() {
            Ok(entries) => entries,
            Err(error) => {
                usable.unusable.push(UnusableServer { why: error.to_string(), required: false });
                return usable;
            }
        };
        let approved = self.approvals().read();
        for entry in entries.into_iter().filter(|entry| !entry.server.disabled) {
            let approval = match &approved {
                Ok(approved) => {
                    self.approval_in(approved, &entry).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            match approval {
                Ok(approval) => usable.tools.extend(offered(&approval)),
                Err(why) => {
                    let required = entry.server.required;
                    usable.unusable.push(UnusableServer { why, required });
                }
            }
        }
        usable
    }

    /// Returns the approval of a server. Blocks.
    pub fn approval(&self, entry: &ServerEntry) -> Result<ServerApproval, McpServerError> {
        self.approval_in(&self.approvals().read()?, entry)
    }

    fn approval_in(
        &self,
        approved: &[ServerApproval],
        entry: &ServerEntry,
    ) -> Result<ServerApproval, McpServerError> {
        let name = || entry.name.clone();
        entry.endpoint().map_err(|error| McpServerError::Entry(name(), error.to_string()))?;
        let digest = self.digest(entry);
        if let Some(approval) = approved.iter().find(|it| it.holds_for(&entry.name, &digest)) {
            return Ok(approval.clone());
        }
        let why = if approved.iter().any(|it| it.server == entry.name) {
            "differs from what you approved, or a file that it names does"
        } else {
            "is not approved"
        };
        Err(McpServerError::NotApproved(name(), why))
    }

    /// Starts a server to see its tools, whether it is approved or not: the user asked for it by name.
    pub async fn look(
        &self,
        settings: &Mcp,
        entry: &ServerEntry,
        place: ServerPlace,
    ) -> Result<Vec<ToolDefinition>, McpServerError> {
        let failed = |error| McpServerError::Connect(entry.name.clone(), error);
        let (connection, program) = self.connect(settings, entry, place).await.map_err(failed)?;
        let tools = connection.tools().await.map_err(failed);
        drop(connection);
        if let Some(program) = program {
            program.end().await;
        }
        tools
    }

    /// Calls a tool, on a server that is started if it does not run.
    pub async fn call(
        &self,
        settings: &Mcp,
        ServerCall { tool, arguments, place }: ServerCall<'_>,
        listener: &mut dyn CallListener,
    ) -> CallOutcome {
        let slot = self.slot(place.tree(), &tool.server);
        // Calls of one server wait here for each other.
        let mut running = slot.lock().await;
        let pin = match self.ready(settings, &mut running, tool, place).await {
            Ok(pin) => pin,
            Err(why) => return CallOutcome::Refused(why),
        };
        let Some(ReadyServer { connection, .. }) = &running.server else {
            return CallOutcome::Refused("the server is gone".to_owned());
        };
        let definition = &pin.definition;
        if let Err(why) = check_arguments(&definition.parameters, &Value::Object(arguments.clone()))
        {
            let takes = &definition.parameters;
            return CallOutcome::Refused(format!(
                "the arguments are wrong: {why}; it takes {takes}"
            ));
        }
        let called = (definition.name.as_str(), definition.result.as_ref());
        let outcome = connection.call(called, arguments, listener).await;
        if connection.is_closed() {
            running.server = None;
        }
        outcome
    }

    /// Begins a login at a server, for `scopes`, or else those of its entry.
    pub async fn login(&self, entry: &ServerEntry, scopes: &[String]) -> Result<Login, LoginError> {
        let refused = |why| LoginError::Entry(entry.name.clone(), why);
        let target = self.target(entry)?;
        let challenge = target.challenge().await.map_err(refused)?;
        let Inner { variables, tokens, .. } = &*self.0;
        let McpServer { client_id, client_secret, scopes: own, .. } = &entry.server;
        let scopes = if scopes.is_empty() { own } else { scopes };
        let expanded = |text| {
            let text = expand(text, &|name| variables.get(name).cloned());
            let text = text.map_err(|error| refused(error.to_string()))?;
            Ok::<_, LoginError>(Some(text).filter(|text| !text.is_empty()))
        };
        let (id, secret) = (expanded(client_id)?, expanded(client_secret)?);
        let client = id.map(|id| (id, secret));
        Login::discover(target.url, &challenge, (client, scopes), tokens.clone()).await
    }

    /// Forgets the login at a server. Returns true if there was one.
    pub async fn logout(&self, entry: &ServerEntry) -> Result<bool, LoginError> {
        Ok(self.0.tokens.forget(&self.target(entry)?.url).await?)
    }

    fn target(&self, entry: &ServerEntry) -> Result<HttpTarget, LoginError> {
        let refused = |why| LoginError::Entry(entry.name.clone(), why);
        match entry.endpoint().map_err(|error| refused(error.to_string()))? {
            Endpoint::Program => {
                Err(refused("it is a program, which gets its keys as variables".to_owned()))
            }
            Endpoint::Address => HttpTarget::of(entry, &self.0.variables).map_err(refused),
        }
    }

    /// Ends all servers.
    pub async fn end(&self) {
        self.end_those(|_| true).await;
    }

    /// Ends the servers of one tree.
    pub async fn end_in(&self, tree: &Path) {
        self.end_those(|it| it == tree).await;
    }

    async fn end_those(&self, is_meant: impl Fn(&Path) -> bool) {
        let slots: Vec<Slot> = {
            let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.extract_if(|(tree, _), _| is_meant(tree)).map(|(_, slot)| slot).collect()
        };
        for slot in slots {
            // One that is in a call is ended when that is dropped.
            let Ok(mut running) = slot.try_lock() else { continue };
            if let Some(ReadyServer { connection, program, .. }) = running.server.take() {
                drop(connection);
                if let Some(program) = program {
                    program.end().await;
                }
            }
        }
    }

    fn slot(&self, tree: &Path, server: &str) -> Slot {
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(running.entry((tree.to_owned(), server.to_owned())).or_default())
    }

    /// Makes sure that a server runs as it was approved, and returns the approved form of the tool. Otherwise says why the tool
    /// cannot be called.
    async fn ready(
        &self,
        settings: &Mcp,
        running: &mut Running,
        tool: &ServerTool,
        place: ServerPlace,
    ) -> Result<Pin, String> {
        let (servers, name) = (self.clone(), tool.server.clone());
        let approved = tools::blocking::on_a_thread(move || {
            let entry = servers.entry(&name)?;
            let approval = servers.approval(&entry)?;
            Ok::<_, McpServerError>((entry, approval))
        });
        let (entry, approval) = approved.await.map_err(|error| error.to_string())?;
        let is_another = |it: &ReadyServer| it.digest != approval.digest.hash;
        if running.server.as_ref().is_some_and(|it| it.connection.is_closed() || is_another(it)) {
            running.server = None;
        }
        if running.server.is_none() {
            if running.starts > settings.max_restarts {
                let starts = running.starts;
                return Err(format!(
                    "the server was started {starts} times and ended each time (mcp.max_restarts); `deepseek mcp check {}` shows why",
                    entry.name
                ));
            }
            if running.starts > 0 {
                tokio::time::sleep(BEFORE_RESTART * (1 << running.starts.min(6))).await;
            }
            running.starts += 1;
            let place = place.with_network(approval.network);
            let connected = self.connect(settings, &entry, place).await;
            let (connection, program) = connected
                .map_err(|error| McpServerError::Connect(entry.name.clone(), error).to_string())?;
            let (digest, drift) = (approval.digest.hash.clone(), ToolDrift::default());
            let approved_at = None;
            running.server = Some(ReadyServer { connection, program, digest, drift, approved_at });
        }
        let is_new = |it: &ReadyServer| {
            it.connection.has_new_tools() || it.approved_at.as_ref() != Some(&approval.at)
        };
        if running.server.as_ref().is_some_and(is_new) {
            self.compare(running, &approval).await?;
        }
        let drift = running.server.as_ref().map(|it| &it.drift);
        let (server, name) = (&tool.server, &tool.tool);
        if drift.is_some_and(|drift| drift.is_changed(name)) {
            return Err(format!(
                "the server defines `{name}` otherwise than you approved, so it is blocked; `deepseek mcp check {server}` shows the difference"
            ));
        }
        if drift.is_some_and(|drift| drift.gone.contains(name)) {
            return Err(format!("the server has no tool `{name}` any more"));
        }
        let mut pins = approval.tools.into_iter();
        pins.find(|pin| pin.definition.name == *name)
            .ok_or_else(|| format!("you have not approved `{name}` of `{server}`"))
    }

    /// Compares the tools of a running server with those that were approved.
    async fn compare(
        &self,
        running: &mut Running,
        approval: &ServerApproval,
    ) -> Result<(), String> {
        let Some(ready) = &mut running.server else { return Ok(()) };
        let now = ready.connection.tools().await;
        let now = now
            .map_err(|error| McpServerError::Connect(approval.server.clone(), error).to_string())?;
        ready.drift = drift(approval.tools.iter().map(|pin| &pin.definition), &now);
        ready.approved_at = Some(approval.at.clone());
        Ok(())
    }

    async fn connect(
        &self,
        settings: &Mcp,
        entry: &ServerEntry,
        place: ServerPlace,
    ) -> Result<(Connection, Option<ServerProgram>), ConnectError> {
        let limits = limits(settings, &entry.server);
        let endpoint = entry.endpoint();
        match endpoint.map_err(|error| ConnectError::Start(error.to_string()))? {
            Endpoint::Program => {
                let variables = &self.0.variables;
                let (connection, program) =
                    program::connect(entry, limits, variables, place).await?;
                Ok((connection, Some(program)))
            }
            Endpoint::Address => {
                let Inner { variables, tokens, .. } = &*self.0;
                Ok((address::connect(entry, limits, variables, tokens).await?, None))
            }
        }
    }
}

/// The time before the first restart; it doubles with each.
const BEFORE_RESTART: Duration = Duration::from_millis(125);

/// Returns the bounds of a server.
fn limits(settings: &Mcp, server: &McpServer) -> ServerLimits {
    let seconds = |own: Option<u64>, all| Duration::from_secs(own.unwrap_or(all));
    ServerLimits {
        start: seconds(server.start_timeout_seconds, settings.start_timeout_seconds),
        call: seconds(server.call_timeout_seconds, settings.call_timeout_seconds),
        whole: server.max_call_seconds.map(Duration::from_secs),
        max_message_bytes: settings.max_message_bytes,
        max_questions: settings.max_questions,
    }
}

/// Returns the approved tools as they are offered.
fn offered(approval: &ServerApproval) -> impl Iterator<Item = ServerTool> + '_ {
    let usable = approval.tools.iter().filter(|pin| pin.definition.fault().is_none());
    usable.map(|Pin { definition, reads, first }| ServerTool {
        server: approval.server.clone(),
        tool: definition.name.clone(),
        name: wire_name(&approval.server, &definition.name),
        description: definition.description.clone(),
        parameters: definition.parameters.clone(),
        reads: *reads,
        destroys: definition.hints.destructive == Some(true),
        first: *first,
    })
}
