//! Tools of servers: which there are is found once per request, and each call is an effect. A call that was under way when
//! this program ended is not repeated: whether it was carried out is not known.

use std::borrow::Cow;
use std::time::Duration;

use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use facts::signal::Attendance;
use facts::words::{LackingServer, ToolCallEnd};
use futures_util::future::BoxFuture;
use mcp::{CallListener, CallOutcome, ServerCall, ServerPlace, UnusableServer, UsableTools};
use model::AgentRole;
use policy::{Act, Confinement, Stage, ToolKind, Verdict};
use sandbox::{Degree, Network};
use search::{BYTES_PER_TOKEN, estimate_tokens};
use serde_json::{Map, Value};
use shell::ServiceOptions;
use toolbox::{ServerTool, finding_tools};
use tools::blocking::on_a_thread;

use crate::looks::look_effect::LookSources;
use crate::looks::look_result::LookResult;
use crate::run::Run;
use crate::run::command_runner::{CommandPlace, CommandRunner};
use crate::run::effect::{Effect, Position, Trace};
use crate::run::server_tools::kind_of;
use crate::talk::asking_user;
use crate::talk::prompts::Prompt;

/// Finds the tools of servers for a request, and returns the servers that are required and cannot be used.
pub async fn find_server_tools(run: &Run) -> Result<Vec<Wording>, JournalClosed> {
    let FoundTools { tools, required } = run.perform(&mut Finding).await?;
    // A request looks for them once.
    run.server_tools.set(tools);
    Ok(required)
}

struct FoundTools {
    tools: Vec<ServerTool>,
    required: Vec<Wording>,
}

impl FoundTools {
    fn new(tools: Vec<ServerTool>, lacking: &[LackingServer]) -> Self {
        let required = lacking.iter().filter(|it| it.required).map(|it| it.why.clone()).collect();
        Self { tools, required }
    }
}

struct Finding;

impl Effect for Finding {
    type Outcome = FoundTools;
    type Stop = JournalClosed;
    // Nothing is recorded if there are no servers.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        let Event::ServerToolsFound { definitions, unusable, .. } = event else {
            return Trace::Foretold(FoundTools::new(Vec::new(), &[]));
        };
        let tools = serde_json::from_slice(&definitions.content).unwrap_or_default();
        Trace::Done(FoundTools::new(tools, unusable))
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, JournalClosed> {
        let servers = run.server_tools.servers().clone();
        let UsableTools { tools, unusable } = on_a_thread(move || servers.usable()).await;
        let lacking =
            |it: UnusableServer| LackingServer { why: Wording::of(&it.why), required: it.required };
        let unusable: Vec<LackingServer> = unusable.into_iter().map(lacking).collect();
        let found = FoundTools::new(tools, &unusable);
        if !found.tools.is_empty() || !unusable.is_empty() {
            let tools = found.tools.iter().map(|tool| tool.name.clone()).collect();
            let definitions = Blob::new(serde_json::to_vec(&found.tools).unwrap_or_default());
            run.publish(Event::ServerToolsFound { tools, definitions, unusable }).await?;
        }
        Ok(found)
    }
}

/// How the tools of servers are offered to a model that can call tools.
pub struct OfferedTools {
    /// Those that are offered with their definitions.
    pub defined: Vec<ServerTool>,
    /// The list of the others; empty if there are none.
    pub catalogue: String,
}

/// Returns the tools of servers for a model that can call tools.
pub fn offered(run: &Run, role: AgentRole) -> OfferedTools {
    let tools = run.server_tools.of(role);
    let settings = &run.config().mcp;
    let tokens = |tool: &ServerTool| {
        estimate_tokens(&tool.name)
            + estimate_tokens(&tool.description)
            + estimate_tokens(&tool.parameters.to_string())
    };
    if tools.iter().map(tokens).sum::<usize>() <= settings.definition_tokens {
        return OfferedTools { defined: tools, catalogue: String::new() };
    }
    let around = run.prompts().render(Prompt::ServerCatalogue, &[("tools", &"")]);
    let finding = serde_json::to_string(&toolbox::offers(finding_tools(), &[], &[]));
    let around = around.len() + finding.map_or(0, |json| json.len());
    let room = settings.catalogue_tokens.saturating_mul(BYTES_PER_TOKEN).saturating_sub(around);
    let list = mcp::catalogue(&tools, room);
    let catalogue = run.prompts().render(Prompt::ServerCatalogue, &[("tools", &list.trim_end())]);
    OfferedTools { defined: Vec::new(), catalogue }
}

/// Returns the instructions of a role, with the tools of servers that it may call in lines of text.
pub fn with_server_tools(run: &Run, role: AgentRole, instructions: String) -> String {
    let tools = run.server_tools.of(role);
    if tools.is_empty() {
        return instructions;
    }
    let room = run.config().mcp.catalogue_tokens.saturating_mul(BYTES_PER_TOKEN);
    let line =
        |tool: &ServerTool| format!("- {} {}: {}", tool.name, tool.parameters, tool.description);
    let lines: Vec<String> = tools.iter().map(line).collect();
    let mut list = lines.join("\n");
    if list.len() > room {
        list = mcp::catalogue(&tools, room);
        list.push_str(&run.prompts().render(Prompt::ServerToolsFind, &[]));
    }
    let tools = run.prompts().render(Prompt::ServerTools, &[("tools", &list.trim_end())]);
    format!("{}\n\n{}", instructions.trim_end(), tools.trim_end())
}

/// Finds tools by words.
pub(crate) fn find(run: &Run, role: AgentRole, words: &str) -> LookResult {
    let settings = &run.config().mcp;
    let room = settings.definition_tokens.saturating_mul(BYTES_PER_TOKEN);
    LookResult::Told(mcp::find_tools(&run.server_tools.of(role), words, room))
}

/// Calls a tool of a server with arguments that are JSON.
pub(crate) async fn call_server_tool(
    sources: LookSources<'_>,
    role: AgentRole,
    name: &str,
    arguments: &str,
) -> Result<LookResult, JournalClosed> {
    let run = &sources.commands.run;
    let nothing = |why: String| Ok(LookResult::Nothing(why));
    let Some(tool) = run.server_tools.of(role).into_iter().find(|tool| tool.name == name) else {
        return nothing(format!("there is no tool `{name}` that you may call"));
    };
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    let masked = run.redactor.redact(arguments);
    let arguments: Map<String, Value> = match serde_json::from_str(&masked) {
        Ok(arguments) => arguments,
        Err(error) => return nothing(format!("the arguments are no JSON object: {error}")),
    };
    let kind = kind_of(&tool);
    let rules = &run.terms.rules;
    let verdict = rules.decide(Stage::Planning, Act::Tool(kind), Confinement::Full);
    // Lanes may call what only reads, and have no user to ask about the rest.
    if !(kind == ToolKind::Reading && verdict == Verdict::Allow) {
        let shown = format!("{} {} {masked}", tool.server, tool.tool);
        if let Err(denied) = sources.commands.workspace.permit_tool(kind, shown).await {
            return nothing(denied.why.to_string());
        }
    }
    let mut calling =
        Calling { commands: sources.commands, role, tool: &tool, arguments, masked, begun: false };
    let (end, text) = run.perform(&mut calling).await?;
    let (server, prompts) = (&tool.server, run.prompts());
    Ok(match end {
        ToolCallEnd::Answered => LookResult::Told(
            prompts.render(Prompt::ServerAnswer, &[("server", server), ("text", &text)]),
        ),
        ToolCallEnd::Failed => LookResult::Nothing(
            prompts.render(Prompt::ServerAnswer, &[("server", server), ("text", &text)]),
        ),
        ToolCallEnd::Refused | ToolCallEnd::Unknown => LookResult::Nothing(text),
    })
}

struct Calling<'c> {
    commands: &'c CommandRunner,
    role: AgentRole,
    tool: &'c ServerTool,
    arguments: Map<String, Value>,
    /// The arguments as they are sent and recorded.
    masked: Cow<'c, str>,
    /// True once the call is recorded.
    begun: bool,
}

impl Effect for Calling<'_> {
    type Outcome = (ToolCallEnd, String);
    type Stop = JournalClosed;

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are not of a call")]
    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        match event {
            Event::ServerToolCalled { tool, .. } if *tool == self.tool.name && !self.begun => {
                self.begun = true;
                Trace::Begun
            }
            // The server asked the user something.
            Event::UserAsked { .. } | Event::UserAnswered { .. } if self.begun => Trace::Begun,
            Event::ServerToolAnswered { tool, end, told, .. } if *tool == self.tool.name => {
                Trace::Done((*end, String::from_utf8_lossy(&told.content).into_owned()))
            }
            _ => Trace::Absent,
        }
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, JournalClosed> {
        let ServerTool { server, name, .. } = self.tool;
        let begin = run.clock.now();
        let outcome = if self.begun {
            CallOutcome::Unknown("this program ended during the call".to_owned())
        } else {
            let called = Event::ServerToolCalled {
                role: self.role,
                server: server.clone(),
                tool: name.clone(),
                arguments: self.masked.to_string(),
            };
            run.record(called).await?;
            self.call(run).await
        };
        let (end, text) = match outcome {
            CallOutcome::Answered { mut text, failed: false } => {
                // "Written" is true for the server only.
                if !self.tool.reads && run.confinement().await.degree() != Degree::None {
                    let note = run.prompts().render(Prompt::ServerDiscards, &[]);
                    text = format!("{text}\n{}", note.trim_end());
                }
                (ToolCallEnd::Answered, text)
            }
            CallOutcome::Answered { text, failed: true } => (ToolCallEnd::Failed, text),
            CallOutcome::Refused(why) => (ToolCallEnd::Refused, why),
            CallOutcome::Unknown(why) => {
                let again = if self.tool.reads { "" } else { ", so do not simply call it again" };
                let why = format!("{why}; whether the tool did its work is unknown{again}");
                (ToolCallEnd::Unknown, why)
            }
        };
        let text = run.redactor.redact(&text).into_owned();
        let elapsed = run.clock.now().duration_since(begin);
        let answered = Event::ServerToolAnswered {
            server: server.clone(),
            tool: name.clone(),
            end,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or_default(),
            told: Blob::new(text.clone()),
        };
        run.record(answered).await?;
        Ok((end, text))
    }
}

impl Calling<'_> {
    async fn call(&self, run: &Run) -> CallOutcome {
        let server = &self.tool.server;
        let (commands, root) = (self.commands, self.commands.workspace.reader().root());
        let reach = Network::Own;
        let fence = commands.fence(&CommandPlace::discarding(&*commands.workspace, reach));
        let settings = &run.config().commands;
        let options = ServiceOptions {
            cwd: root.to_owned(),
            env: run.env.clone(),
            fence: Some(fence),
            notes: Some(commands.notes()),
            kill_grace: Duration::from_millis(settings.kill_grace_ms),
            keep_stderr_bytes: settings.output_journal_bytes,
        };
        let call = ServerCall {
            tool: self.tool,
            arguments: self.arguments.clone(),
            place: ServerPlace::new(options),
        };
        run.publisher.show_wait(format!("{server}: {}", self.tool.tool));
        let mut hearing = Hearing { run, role: self.role, server };
        run.server_tools.servers().call(&run.config().mcp, call, &mut hearing).await
    }
}

/// What a call has to do with the user.
struct Hearing<'h> {
    run: &'h Run,
    role: AgentRole,
    server: &'h str,
}

impl CallListener for Hearing<'_> {
    fn answer(&mut self, question: String, if_empty: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            match self.run.attendance {
                Attendance::Attended => {
                    let asked =
                        asking_user::asked_by_server(self.run, self.role, &question, &if_empty);
                    asked.await.ok().flatten()
                }
                Attendance::Unattended => None,
            }
        })
    }

    fn progress(&mut self, text: &str) {
        if !text.is_empty() {
            self.run.publisher.show_wait(format!("{}: {text}", self.server));
        }
    }
}
