//! `deepseek prompts`: shows the prompts sent to models, and the source of each.

use actors::talk::prompts::{Prompt, Prompts, may_name};
use clap::{Args, Subcommand};
use front::error::{CliError, CliErrorKind};

use crate::flags::{Global, OutputFormat};
use crate::prompts::{of_workspace, path_of};
use crate::render;
use crate::surroundings::Surroundings;

/// List the prompts sent to models, or print one.
#[derive(Debug, Args)]
pub(crate) struct PromptsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all prompts with their sources and variables.
    List,
    /// Print a prompt unmodified, as a starting point for your own.
    Show {
        /// The prompt's name.
        name: String,
    },
}

/// Runs the command.
pub(crate) fn run(
    around: &Surroundings,
    global: &Global,
    args: &PromptsArgs,
) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let (prompts, warning) = match (of_workspace(&settings, &workspace), &args.action) {
        // The list is how to find out what is wrong with a prompt of the workspace.
        (Err(error), Action::List) => (Prompts::default(), Some(error.message().to_owned())),
        (found, _) => found?,
    };
    if let Some(warning) = warning {
        render::warn(&format!("warning: {warning}"));
    }
    match &args.action {
        Action::List => list(&prompts, global.output),
        Action::Show { name } => {
            let prompt = Prompt::ALL.into_iter().find(|prompt| prompt.name() == name);
            let prompt = prompt.ok_or_else(|| {
                CliError::new(CliErrorKind::Usage, format!("there is no prompt `{name}`"))
                    .hint("`deepseek prompts list` lists them")
            })?;
            render::print_line(prompts.text(prompt));
        }
    }
    Ok(())
}

fn list(prompts: &Prompts, output: OutputFormat) {
    let from = |prompt: Prompt| {
        if prompts.is_own(prompt) { path_of(prompt.name()) } else { "built in".to_owned() }
    };
    if output == OutputFormat::Text {
        let width = Prompt::ALL.iter().map(|prompt| prompt.name().len()).max().unwrap_or_default();
        for prompt in Prompt::ALL {
            let (name, variables) = (prompt.name(), may_name(prompt).join(" "));
            render::print_line(&format!("{name:width$}  {}  {variables}", from(prompt)));
        }
        return;
    }
    let each = Prompt::ALL.map(|prompt| {
        let (name, variables) = (prompt.name(), may_name(prompt));
        serde_json::json!({ "name": name, "from": from(prompt), "variables": variables })
    });
    render::json_line(&serde_json::Value::from(each.to_vec()));
}
