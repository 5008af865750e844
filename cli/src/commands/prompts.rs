//! `deepseek prompts`: what is said to models, and where each text is from. Those of a trusted workspace stand in
//! `.deepseek/prompts`.

use std::fs;
use std::io;
use std::path::Path;

use actors::prompts::{Prompt, Prompts, may_name};
use clap::{Args, Subcommand};
use config::{Settings, WorkspaceTrust};
use tools::regular::{self, MAX_NOTE_BYTES};

use crate::error::{CliError, Kind};
use crate::flags::{Global, Output};
use crate::render;
use crate::surroundings::Surroundings;

/// List the texts that are said to models, or print one.
#[derive(Debug, Args)]
pub(crate) struct PromptsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List them with their variables, and where each is from.
    List,
    /// Print one as it is, to begin one of your own with.
    Show {
        /// Its name.
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
    let (prompts, warning) = of_workspace(&settings, &workspace)?;
    if let Some(warning) = warning {
        render::warn(&format!("warning: {warning}"));
    }
    match &args.action {
        Action::List => list(&prompts, global.output),
        Action::Show { name } => {
            let prompt = Prompt::ALL.into_iter().find(|prompt| prompt.name() == name);
            let prompt = prompt.ok_or_else(|| {
                CliError::new(Kind::Usage, format!("there is no prompt `{name}`"))
                    .hint("`deepseek prompts list` lists them")
            })?;
            render::line(prompts.text(prompt));
        }
    }
    Ok(())
}

fn list(prompts: &Prompts, output: Output) {
    let from = |prompt: Prompt| {
        if prompts.is_own(prompt) { path_of(prompt.name()) } else { "built in".to_owned() }
    };
    if output == Output::Text {
        let width = Prompt::ALL.iter().map(|prompt| prompt.name().len()).max().unwrap_or_default();
        for prompt in Prompt::ALL {
            let (name, variables) = (prompt.name(), may_name(prompt).join(" "));
            render::line(&format!("{name:width$}  {}  {variables}", from(prompt)));
        }
        return;
    }
    let each = Prompt::ALL.map(|prompt| {
        let (name, variables) = (prompt.name(), may_name(prompt));
        serde_json::json!({ "name": name, "from": from(prompt), "variables": variables })
    });
    render::json_line(&serde_json::Value::from(each.to_vec()));
}

const DIR: &str = ".deepseek/prompts";

fn path_of(name: &str) -> String {
    format!("{DIR}/{name}.md")
}

/// The texts for a workspace, its own among them if it is trusted; a warning, if it has some and is not.
pub(crate) fn of_workspace(
    settings: &Settings,
    workspace: &Path,
) -> Result<(Prompts, Option<String>), CliError> {
    let failed = |path: &Path, why: String| {
        CliError::new(Kind::Usage, format!("{}: {why}", path.display()))
            .hint("`deepseek prompts list` lists names and variables")
    };
    let dir = workspace.join(DIR);
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((Prompts::default(), None));
        }
        Err(error) => return Err(failed(&dir, error.to_string())),
    };
    if settings.trust != WorkspaceTrust::Trusted {
        let warning = format!(
            "{DIR} is not used: this workspace is not trusted; to trust it: deepseek trust"
        );
        return Ok((Prompts::default(), Some(warning)));
    }
    let mut texts = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(&dir, error.to_string()))?.path();
        if let Some(name) = name_of(&path) {
            let text = regular::read_text(&path, MAX_NOTE_BYTES)
                .map_err(|error| failed(&path, error.to_string()))?;
            texts.push((name, text.trim_end().to_owned()));
        }
    }
    let root = workspace.display().to_string();
    let prompts = Prompts::with(&root, texts).map_err(|error| failed(&dir, error.to_string()))?;
    Ok((prompts, None))
}

fn name_of(path: &Path) -> Option<String> {
    let is_text = path.extension().is_some_and(|extension| extension == "md");
    path.file_stem().filter(|_| is_text)?.to_str().map(str::to_owned)
}
