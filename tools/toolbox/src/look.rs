//! What a model asks to see, either by a line of its answer or by a tool call.

use std::fmt;

use serde::{Deserialize, Serialize};
use tree::RepoPath;

/// Something that a model asks to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// A file, or lines of one.
    Context {
        /// The path of the file.
        path: RepoPath,
        /// The first and last line, from one; `None` for the whole file.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        lines: Option<(usize, usize)>,
    },
    /// Lines that match a regular expression.
    Search {
        /// The regular expression.
        pattern: String,
        /// The files to search; `None` for all.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        glob: Option<String>,
    },
    /// The definition and the uses of a name.
    Symbol {
        /// The name.
        name: String,
    },
    /// The content of a directory.
    List {
        /// The directory; `None` for the workspace itself.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        directory: Option<RepoPath>,
    },
    /// The output of a command.
    Run {
        /// The command.
        command: String,
    },
    /// The branch, and which files are changed, staged or new.
    GitStatus,
    /// A change as a diff.
    GitDiff {
        /// Commits as `git diff` accepts them; `None` for uncommitted changes.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        range: Option<String>,
        /// True to show staged changes only.
        #[serde(default)]
        staged: bool,
        /// Show only this file or directory.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        path: Option<RepoPath>,
    },
    /// A commit, or a file as of a commit.
    GitShow {
        /// The commit.
        revision: String,
        /// The file; `None` to show the commit.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        path: Option<RepoPath>,
        /// Lines of the file, as with [`Look::Context`].
        #[serde(skip_serializing_if = "Option::is_none", default)]
        lines: Option<(usize, usize)>,
    },
    /// The files and lines that match a description.
    Query {
        /// The description.
        words: String,
        /// The most files to show; `None` for as many as fit.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        most: Option<usize>,
        /// The files to search; `None` for all.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        glob: Option<String>,
    },
    /// The result of a program over files.
    Program {
        /// The source of the program.
        program: String,
        /// Paths and patterns of the files that it can read; empty for all.
        #[serde(default)]
        paths: Vec<String>,
    },
    /// The output of a tool of the workspace.
    Own {
        /// The name of the tool, in either of its spellings.
        name: String,
        /// The arguments, as the model wrote them.
        arguments: String,
    },
    /// The answer of a tool of a server.
    ServerTool {
        /// The name of the tool.
        name: String,
        /// The arguments, as the model wrote them.
        arguments: String,
    },
    /// Tools of servers that fit a description.
    FindTool {
        /// The description.
        words: String,
    },
    /// The user's answer to a question.
    Ask {
        /// The question.
        question: String,
    },
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Context { path, lines } => write!(f, "{path}{}", suffix(*lines)),
            Self::Search { pattern, glob: Some(glob) } => write!(f, "`{pattern}` in {glob}"),
            Self::Search { pattern, glob: None } => write!(f, "`{pattern}`"),
            Self::Symbol { name } => write!(f, "symbol {name}"),
            Self::List { directory: Some(directory) } => write!(f, "{directory}/"),
            Self::List { directory: None } => f.write_str("./"),
            Self::Run { command } => write!(f, "`{command}`"),
            Self::GitStatus => f.write_str("git status"),
            Self::GitDiff { range, staged, path } => {
                let uncommitted = if *staged { "staged changes" } else { "uncommitted changes" };
                write!(f, "git diff of {}", range.as_deref().unwrap_or(uncommitted))?;
                path.as_ref().map_or(Ok(()), |path| write!(f, " in {path}"))
            }
            Self::GitShow { revision, path: None, .. } => write!(f, "git show {revision}"),
            Self::GitShow { revision, path: Some(path), lines } => {
                write!(f, "git show {revision}:{path}{}", suffix(*lines))
            }
            Self::Query { words, most, glob } => {
                most.map_or(Ok(()), |most| write!(f, "{most} "))?;
                write!(f, "files about \"{words}\"")?;
                glob.as_ref().map_or(Ok(()), |glob| write!(f, " in {glob}"))
            }
            Self::Program { program, paths } => {
                let lines = program.lines().count();
                write!(f, "a program of {lines} line{}", if lines == 1 { "" } else { "s" })?;
                if paths.is_empty() { Ok(()) } else { write!(f, " over {}", paths.join(", ")) }
            }
            Self::FindTool { words } => write!(f, "tools for \"{words}\""),
            Self::Own { name, arguments } | Self::ServerTool { name, arguments } => {
                write!(f, "{name} {arguments}")
            }
            Self::Ask { question } => write!(f, "question \"{question}\""),
        }
    }
}

/// Formats lines as a suffix of a path.
fn suffix(lines: Option<(usize, usize)>) -> String {
    match lines {
        None => String::new(),
        Some((first, usize::MAX)) => format!(":{first}-"),
        Some((first, last)) => format!(":{first}-{last}"),
    }
}

/// Splits a path from the lines after it: `:7`, `:3-9`, `:3-9,20-30`. The path itself may contain colons.
pub fn ranged(target: &str) -> (&str, Vec<(usize, usize)>) {
    let number = |text: &str| text.trim().trim_start_matches('L').parse::<usize>().ok();
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some((number(first)?, number(last)?))
    };
    let ranged = target.rsplit_once(':').and_then(|(path, ranges)| {
        Some((path, ranges.split(',').map(range).collect::<Option<Vec<_>>>()?))
    });
    ranged.unwrap_or((target, Vec::new()))
}
