//! `deepseek tools`: lists the tools that models can call, including those of a trusted workspace. Calls nothing.

use clap::{Args, Subcommand};
use config::WorkspaceTrust;
use front::error::{CliError, CliErrorKind};
use serde_json::json;
use toolbox::{OwnTool, Tool, own_tools};
use tree::ReadTree;

use crate::flags::{Global, OutputFormat};
use crate::render;
use crate::surroundings::Surroundings;

/// List the tools that models can call.
#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all tools with their parameters; with `--output json`, with their schemas.
    List,
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &ToolsArgs,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let (mut own, wrong) = ReadTree::open(&workspace)
        .map(|tree| own_tools(&tree))
        .map_err(|error| CliError::new(CliErrorKind::Usage, error.to_string()))?;
    for (path, why) in wrong {
        render::warn(&format!("warning: ignored {path}: {why}"));
    }
    if settings.trust != WorkspaceTrust::Trusted && !own.is_empty() {
        let names: Vec<String> = own.drain(..).map(|tool| tool.name()).collect();
        let names = names.join(", ");
        render::warn(&format!(
            "warning: ignored {names}: this workspace is not trusted; to trust it: deepseek trust"
        ));
    }
    match args.action {
        Action::List => list(global.output, &own),
    }
    Ok(())
}

fn list(output: OutputFormat, own: &[OwnTool]) {
    if output == OutputFormat::Text {
        for tool in toolbox::tools() {
            render::print_line(&format!(
                "{} {}\n    {}",
                tool.name,
                tool.takes(),
                tool.description
            ));
        }
        for tool in own {
            render::print_line(&format!(
                "{} ({})\n    {}",
                tool.name(),
                tool.path,
                tool.description
            ));
        }
        return;
    }
    let each = |tool: &Tool| json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema() });
    let of_workspace = |tool: &OwnTool| json!({ "name": tool.name(), "description": tool.description, "parameters": tool.parameters, "path": tool.path });
    let tools = toolbox::tools().iter().map(each).chain(own.iter().map(of_workspace));
    let tools: Vec<serde_json::Value> = tools.collect();
    render::json_line(&tools.into());
}
