//! `deepseek tools`: what models may call. Nothing is called.

use clap::{Args, Subcommand};
use serde_json::json;
use toolbox::Tool;

use crate::flags::{Global, Output};
use crate::render;

/// List the tools that models may call.
#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List them with their parameters; with `--output json` with their schemas.
    List,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &ToolsArgs) {
    match args.action {
        Action::List => list(global.output),
    }
}

fn list(output: Output) {
    if output == Output::Text {
        for tool in toolbox::tools() {
            render::line(&format!("{} {}\n    {}", tool.name, tool.takes(), tool.description));
        }
        return;
    }
    let each = |tool: &Tool| json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema() });
    let tools: Vec<serde_json::Value> = toolbox::tools().iter().map(each).collect();
    render::json_line(&tools.into());
}
