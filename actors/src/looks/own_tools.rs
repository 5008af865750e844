//! The tools of a trusted workspace. Finding them is an effect, and so is each run. They run like commands, and their
//! writes are discarded.

use config::Mode;
use facts::closed::JournalClosed;
use facts::event::Event;
use policy::quoted_word;
use serde_json::Value;
pub use toolbox::OwnTool;
use toolbox::{check_arguments, own_tools};
use tools::blocking::on_a_thread;

use crate::looks::look_effect::LookSources;
use crate::looks::look_result::LookResult;
use crate::looks::trial;
use crate::run::Run;
use crate::run::command_runner::CommandRunner;
use crate::run::effect::{Effect, Position, Trace};

/// Returns the workspace's tools for models; none if the user does not trust the workspace, or in plan mode.
pub async fn find_own_tools(commands: &CommandRunner) -> Result<Vec<OwnTool>, JournalClosed> {
    commands.run.perform(&mut Finding { commands }).await
}

/// Runs a tool with the given arguments, which it gets as JSON in its first argument.
pub(crate) async fn call_own_tool(
    sources: LookSources<'_>,
    name: &str,
    arguments: &str,
) -> Result<LookResult, JournalClosed> {
    let is_it = |tool: &&OwnTool| tool.name() == name || tool.wire_name() == name;
    let Some(tool) = sources.own.iter().find(is_it) else {
        return Ok(LookResult::Nothing(format!("there is no tool `{name}` in this workspace")));
    };
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    // In a recorded run of an early version, arguments were not checked.
    let is_checked = !sources.commands.run.publisher.takes_requests();
    let arguments = match serde_json::from_str::<Value>(arguments) {
        Ok(object @ Value::Object(_)) => {
            if is_checked && let Err(why) = check_arguments(&tool.parameters, &object) {
                let (name, takes) = (tool.name(), &tool.parameters);
                let why = format!("the arguments of {name} are wrong: {why}; it takes {takes}");
                return Ok(LookResult::Nothing(why));
            }
            object.to_string()
        }
        Ok(_) => return Ok(LookResult::Nothing("the arguments are no JSON object".to_owned())),
        Err(error) => return Ok(LookResult::Nothing(format!("the arguments are wrong: {error}"))),
    };
    let command = format!("{} {}", quoted_word(tool.path.as_str()), quoted_word(&arguments));
    trial::of_command(sources.commands, model::AgentRole::Analysis, &command).await
}

struct Finding<'f> {
    commands: &'f CommandRunner,
}

impl Effect for Finding<'_> {
    type Outcome = Vec<OwnTool>;
    type Stop = JournalClosed;
    // Nothing is recorded if there are no tools, as in earlier versions.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        let Event::ToolsFound { tools } = event else { return Trace::Foretold(Vec::new()) };
        Trace::Done(tools.clone())
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, JournalClosed> {
        let tree = self.commands.workspace.reader().clone();
        let root = tree.root().to_string_lossy();
        let is_trusted = run.config().trust.workspaces.iter().any(|path| *path == root);
        if !is_trusted || run.config().policy.mode == Mode::Plan {
            return Ok(Vec::new());
        }
        let reader = tree.clone();
        let (tools, wrong) = on_a_thread(move || own_tools(&reader)).await;
        for (path, why) in wrong {
            tracing::warn!(%path, %why, "a tool of the workspace is ignored");
        }
        if !tools.is_empty() {
            run.publish(Event::ToolsFound { tools: tools.clone() }).await?;
        }
        Ok(tools)
    }
}
