//! `deepseek init`: writes instructions for agents and a configuration file, based on the files of the project.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use checks::derive::{Project, derive};
use clap::Args;
use front::error::{CliError, CliErrorKind};
use serde_json::json;
use tools::regular;

use crate::flags::{Global, OutputFormat};
use crate::render;
use crate::surroundings::Surroundings;

/// The largest project file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// The most directories that are listed.
const LISTED: usize = 20;

/// Write AGENTS.md and .deepseek/config.toml for this project.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {}

/// Runs the command.
pub(crate) fn run(around: &Surroundings, global: &Global, _: &InitArgs) -> Result<(), CliError> {
    let workspace = around.workspace(global)?;
    let read = |name: &str| regular::read_text(&workspace.join(name), MAX_BYTES).ok();
    let exists = |name: &str| workspace.join(name).exists();
    let names = |dir: &str| names(&workspace.join(dir), &|_| true);
    let kinds = around.settings(global, &workspace)?.config.projects;
    // The instructions are for every machine.
    let has_program = |_: &str| true;
    let project =
        Project { read: &read, exists: &exists, names: &names, has_program: &has_program };
    let checks = derive(&project, &kinds);
    let name = workspace.file_name().map(|name| name.to_string_lossy().into_owned());
    let dirs = names_of_dirs(&workspace);
    let files = [
        ("AGENTS.md", instructions(name.as_deref().unwrap_or("This project"), &checks, &dirs)),
        (".deepseek/config.toml", CONFIGURATION.to_owned()),
    ];
    let mut written = Vec::new();
    for (path, text) in files {
        let is_new = create(&workspace.join(path), &text).map_err(|error| {
            CliError::new(CliErrorKind::NotDelivered, format!("cannot write {path}: {error}"))
        })?;
        if is_new {
            written.push(path);
        }
        if global.output != OutputFormat::Text {
            continue;
        }
        if is_new {
            render::warn(&format!("{path}:"));
            let indented = text.lines().map(|line| format!("  {line}").trim_end().to_owned());
            render::text(&render::harmless(&(indented.collect::<Vec<_>>().join("\n") + "\n")));
        } else {
            render::warn(&format!("{path} already exists; it is left unchanged"));
        }
    }
    if global.output != OutputFormat::Text {
        render::json_line(&json!({ "written": written, "checks": checks }));
    }
    Ok(())
}

/// Creates a file and its directory. Returns false if the file already exists.
fn create(path: &Path, text: &str) -> io::Result<bool> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Lists the wanted names in a directory, sorted.
fn names(dir: &Path, is_wanted: &dyn Fn(&fs::DirEntry) -> bool) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().filter(is_wanted);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Lists the top-level directories that are neither hidden nor ignored by git.
fn names_of_dirs(workspace: &Path) -> Vec<String> {
    const SEEN: usize = 20_000;
    let listing = tree::list_files(workspace, SEEN);
    let first = |path: &str| path.split_once('/').map(|(dir, _)| dir.to_owned());
    let mut dirs: Vec<String> =
        listing.files.iter().filter_map(|file| first(file.path.as_str())).collect();
    dirs.sort();
    dirs.dedup();
    dirs.retain(|dir| !dir.starts_with('.'));
    dirs
}

/// Composes the text of AGENTS.md.
fn instructions(name: &str, checks: &[String], dirs: &[String]) -> String {
    let mut text = format!(
        "# {name}\n\nInstructions for coding agents. They are part of every request, so keep them short and true.\n"
    );
    if !checks.is_empty() {
        text.push_str("\n## Checks\n\nA change is done when these pass:\n\n");
        text.extend(checks.iter().map(|check| format!("- `{check}`\n")));
    }
    if !dirs.is_empty() {
        text.push_str("\n## Layout\n\n");
        text.extend(dirs.iter().take(LISTED).map(|dir| format!("- `{dir}/`\n")));
        if dirs.len() > LISTED {
            text.push_str(&format!("- and {} more\n", dirs.len() - LISTED));
        }
    }
    text
}

/// A configuration file in which everything is commented out.
const CONFIGURATION: &str = "\
# Settings of this project for deepseek. To list all keys with their defaults: deepseek config show
# In an untrusted workspace, only settings that lower limits apply. To trust it: deepseek trust

# [policy]
# approval = \"suggest\"

# [budget]
# usd = 0.50
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_configuration_is_valid() {
        let settings =
            CONFIGURATION.lines().filter(|line| line.starts_with("# [") || line.contains(" = "));
        let settings: Vec<&str> = settings.map(|line| line.trim_start_matches("# ")).collect();
        for text in [CONFIGURATION, &settings.join("\n")] {
            let file = config::FileText { path: "c".into(), text: text.to_owned() };
            let inputs = config::Inputs { user: Some(file), ..config::Inputs::default() };
            config::resolve_layers(&inputs).unwrap();
        }
    }

    #[test]
    fn instructions_list_checks_and_directories() {
        insta::assert_snapshot!(instructions("greeter", &["cargo test".to_owned()], &["src".to_owned()]), @"
        # greeter

        Instructions for coding agents. They are part of every request, so keep them short and true.

        ## Checks

        A change is done when these pass:

        - `cargo test`

        ## Layout

        - `src/`
        ");
        assert!(!instructions("x", &[], &[]).contains("Checks"));
    }
}
