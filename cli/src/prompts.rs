//! Prompts that a trusted workspace uses instead of the built-in ones, from `.deepseek/prompts`.

use std::fs;
use std::io;
use std::path::Path;

use actors::talk::prompts::Prompts;
use config::{Settings, WorkspaceTrust};
use front::error::{CliError, CliErrorKind};
use tools::regular::{self, MAX_NOTE_BYTES};

const DIR: &str = ".deepseek/prompts";

/// Returns the path of the workspace's own version of a prompt.
pub(crate) fn path_of(name: &str) -> String {
    format!("{DIR}/{name}.md")
}

/// Returns the prompts for a workspace. Its own prompts are used only if it is trusted; otherwise they cause a warning.
pub(crate) fn of_workspace(
    settings: &Settings,
    workspace: &Path,
) -> Result<(Prompts, Option<String>), CliError> {
    let failed = |path: &Path, why: String| {
        CliError::new(CliErrorKind::Usage, format!("{}: {why}", path.display()))
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
