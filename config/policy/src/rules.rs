//! The user's rules: they classify an act and, with the table, decide whether it may happen. Pure.

use config::{Approval, Mode, Policy, SafetyGate};
use globset::{Glob, GlobSet, GlobSetBuilder};
use thiserror::Error;
use unicode_normalization::UnicodeNormalization as _;

use crate::command::{PolicyCommand, SimpleCommand, base_name, hands_on};
use crate::decide::{
    Action, CommandKind, Confinement, Patch, Secrecy, Stage, ToolKind, Verdict, decide,
};
use crate::listed::{ListedCommand, Rule, Unlisted, rule_for};
use crate::patch_total::{ChangeSize, PatchTotal, Touched};
use crate::spelling::{is_ignorable, spells};

/// The user's policy, compiled.
#[derive(Debug, Clone)]
pub struct PolicyRules {
    mode: Mode,
    approval: Approval,
    gate: SafetyGate,
    allow: ListedCommand,
    deny: Vec<Rule>,
    secrets: GlobSet,
    executed: GlobSet,
}

/// An act to be decided.
#[derive(Debug, Clone, Copy)]
pub enum Act<'a> {
    /// A file's content is put into a prompt.
    Read {
        /// Workspace-relative path.
        path: &'a str,
    },
    /// A patch is written to the workspace.
    Patch {
        /// Who wrote it.
        author: Author,
        /// Files it touches, relative to the workspace.
        paths: &'a [&'a str],
        /// How much it changes, including the earlier patches of the run.
        size: ChangeSize,
    },
    /// A command is run.
    Command(&'a PolicyCommand),
    /// A command gets network access.
    Network(&'a PolicyCommand),
    /// A tool of a server is called.
    Tool(ToolKind),
}

/// Who wrote a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A model.
    Model,
    /// The user, or an undo patch that the user asked for.
    User,
}

/// An invalid rule.
#[derive(Debug, Error)]
#[error("`{rule}` in {list} is not a glob")]
pub struct PolicyError {
    rule: String,
    list: &'static str,
    source: Option<globset::Error>,
}

/// An act classified for the table, with the reason for its kind.
struct Classified {
    action: Action,
    said: String,
}

impl PolicyRules {
    /// Compiles the policy. Fails if an entry is not a valid glob.
    pub fn new(policy: &Policy, gate: SafetyGate) -> Result<Self, PolicyError> {
        Ok(Self {
            mode: policy.mode,
            approval: policy.approval,
            gate,
            allow: ListedCommand::new(policy),
            deny: policy.deny_commands.iter().map(|rule| Rule::new(rule)).collect(),
            secrets: globs(&policy.secret_files, "policy.secret_files")?,
            executed: globs(&policy.executed_files, "policy.executed_files")?,
        })
    }

    /// Decides whether `act` may happen.
    pub fn decide(&self, stage: Stage, act: Act<'_>, confinement: Confinement) -> Verdict {
        let Classified { action, said } = self.classify(act);
        let verdict = decide(self.mode, self.approval, stage, action, confinement);
        let is_barred = matches!(verdict, Verdict::Deny { .. } | Verdict::Stage { .. });
        verdict.map(|why| {
            // The reason given for an act explains its kind; reasons that are not about the act explain themselves.
            let said =
                if why.is_of_the_effect() && !said.is_empty() { said } else { why.to_string() };
            let never = is_barred && why.is_question();
            if never { format!("{said}, and policy.approval is never") } else { said }
        })
    }

    /// Returns how much a patch changes, with the earlier patches of the run.
    pub fn sized(&self, before: &PatchTotal, patch: &[Touched<'_>]) -> ChangeSize {
        before.with(patch, self.gate.gate_lines_per_file)
    }

    /// Returns the flag with which an act that is asked about, staged or denied would happen; `None` if no flag allows it.
    pub fn flag_for(
        &self,
        stage: Stage,
        act: Act<'_>,
        confinement: Confinement,
    ) -> Option<&'static str> {
        let action = self.classify(act).action;
        let allows = |mode, approval| {
            matches!(decide(mode, approval, stage, action, confinement), Verdict::Allow)
        };
        let flags =
            [(self.mode, Approval::Auto, "--approval auto"), (Mode::Yolo, self.approval, "--yolo")];
        flags.into_iter().find(|(mode, approval, _)| allows(*mode, *approval)).map(|it| it.2)
    }

    /// Decides whether `path` may be read into a prompt.
    pub fn may_read(&self, path: &str) -> Verdict {
        // Reading runs nothing, so confinement does not matter.
        self.decide(Stage::Planning, Act::Read { path }, Confinement::Full)
    }

    /// Returns the rules to add to `policy.allow_commands` for a command to run without asking; empty if no rule could
    /// allow it.
    pub fn missing_rules(&self, command: &PolicyCommand) -> Vec<String> {
        let forbidden = self.mode == Mode::Plan
            || self.denied(command).is_some()
            || self.unlistable(command).is_some();
        if forbidden {
            return Vec::new();
        }
        // A rule is for a command; a part that only sets variables cannot be listed.
        if command.segments.iter().any(|segment| segment.words.is_empty()) {
            return Vec::new();
        }
        self.unlisted(command).map(|(segment, _)| rule_for(segment)).collect()
    }

    /// Returns true if a command is denied only because `policy.approval` is `never`.
    pub fn denies_by_approval(&self, command: &PolicyCommand) -> bool {
        self.mode == Mode::Agent
            && self.approval == Approval::Never
            && self.denied(command).is_none()
    }

    fn classify(&self, act: Act<'_>) -> Classified {
        match act {
            Act::Read { path } => {
                let source = if self.is_secret(path) { Secrecy::Secret } else { Secrecy::Plain };
                Classified { action: Action::Read(source), said: String::new() }
            }
            Act::Patch { author, paths, size } => {
                let (patch, said) = self.classify_patch(author, paths, size);
                Classified { action: Action::Patch(patch), said }
            }
            Act::Command(command) => {
                let (listing, said) = self.classify_command(command);
                Classified { action: Action::Command(listing), said }
            }
            Act::Network(_) => Classified { action: Action::Network, said: String::new() },
            Act::Tool(kind) => Classified { action: Action::Tool(kind), said: String::new() },
        }
    }

    fn classify_patch(&self, author: Author, paths: &[&str], size: ChangeSize) -> (Patch, String) {
        let first = |is: &dyn Fn(&str) -> bool| paths.iter().copied().find(|path| is(path));
        if author == Author::Model {
            if let Some(path) = first(&is_ours) {
                return (
                    Patch::Protected,
                    format!("models may not change {path}: it configures this program or git"),
                );
            }
            if let Some(path) = first(&|path| self.is_secret(path)) {
                return (
                    Patch::Protected,
                    format!("models may not change {path}: it is listed in policy.secret_files"),
                );
            }
            if let Some(path) = first(&|path| self.executed.is_match(path.to_ascii_lowercase())) {
                return (
                    Patch::Executed,
                    format!("the patch changes {path}, which other tools execute or follow"),
                );
            }
        }
        let ChangeSize { files, lines, .. } = size;
        if files > self.gate.max_files_without_approval
            || lines > self.gate.max_loc_without_approval
        {
            return (Patch::Larger, size.to_string());
        }
        (Patch::Within, String::new())
    }

    fn classify_command(&self, command: &PolicyCommand) -> (CommandKind, String) {
        if let Some(why) = self.denied(command) {
            return (CommandKind::Denied, why);
        }
        if let Some(why) = self.unlistable(command) {
            return (CommandKind::Other, why);
        }
        match self.unlisted(command).next() {
            Some((segment, why)) => {
                (CommandKind::Other, format!("{} {why}", named(command, segment)))
            }
            None => (CommandKind::Listed, String::new()),
        }
    }

    /// Returns true if a path is listed as secret. Ignores case, because file systems may.
    fn is_secret(&self, path: &str) -> bool {
        // Names that differ only in the form of their characters look the same to whoever names one.
        let plain: String = path.nfkc().filter(|c| !is_ignorable(*c)).collect();
        self.secrets.is_match(plain.to_ascii_lowercase())
    }

    /// Returns why a command never runs, if it is on the deny list.
    fn denied(&self, command: &PolicyCommand) -> Option<String> {
        let mut all = command.segments.iter().chain(&command.inner);
        if let Some(segment) = all.find(|segment| self.denies(&segment.words)) {
            return Some(format!("{} is listed in policy.deny_commands", named(command, segment)));
        }
        let unread = command.opaque.as_ref()?;
        // The words cannot be delimited reliably, so a command could begin at any of them.
        let words: Vec<String> = loose_words(&unread.text);
        (0..words.len()).any(|at| words.get(at..).is_some_and(|rest| self.forbids(rest))).then(
            || {
                format!(
                    "the command has {}, and a word listed in policy.deny_commands",
                    unread.what
                )
            },
        )
    }

    /// Returns why no rule can list a command, if so.
    fn unlistable(&self, command: &PolicyCommand) -> Option<String> {
        if let Some(unread) = &command.opaque {
            return Some(format!("the command has {}", unread.what));
        }
        let mut words = command.segments.iter().flat_map(|segment| &segment.words);
        let secret = words.find(|word| self.names_a_secret(word))?;
        Some(format!("`{secret}` is listed in policy.secret_files"))
    }

    fn unlisted<'a>(
        &'a self,
        command: &'a PolicyCommand,
    ) -> impl Iterator<Item = (&'a SimpleCommand, Unlisted<'a>)> {
        let segments = command.segments.iter();
        segments.filter_map(|segment| Some((segment, self.allow.admits(segment).err()?)))
    }

    /// Returns true if a rule forbids these words, including after a program that runs another.
    fn denies(&self, words: &[String]) -> bool {
        let begins_with_assignment = words.first().is_some_and(|word| word.contains('='));
        let starts = if hands_on(words) || begins_with_assignment { words.len() } else { 1 };
        (0..starts).any(|at| words.get(at..).is_some_and(|rest| self.forbids(rest)))
    }

    fn forbids(&self, words: &[String]) -> bool {
        self.deny.iter().any(|rule| rule.forbids(words))
    }

    /// Returns true if a word of a command is, or ends in, the path of a secret file.
    fn names_a_secret(&self, word: &str) -> bool {
        let path = word.rsplit(['=', ':']).next().unwrap_or(word).trim_start_matches("./");
        !path.is_empty() && (self.is_secret(path) || self.is_secret(base_name(path)))
    }
}

/// Returns how messages refer to a part of a command: "it" if it is all of it.
fn named(command: &PolicyCommand, part: &SimpleCommand) -> String {
    if command.segments == [part.clone()] { "it".to_owned() } else { format!("`{part}`") }
}

/// Returns true if a path is in this program's directory or git's.
fn is_ours(path: &str) -> bool {
    const NAMES: [&str; 4] = [".deepseek", "deepse~1", ".git", "git~1"];
    path.split('/').any(|part| spells(part, &NAMES))
}

/// Maximum number of alternative groups in a glob.
const MAX_ALTERNATIVES: usize = 32;

fn globs(rules: &[String], list: &'static str) -> Result<GlobSet, PolicyError> {
    let mut globs = GlobSetBuilder::new();
    for rule in rules {
        let invalid = |source| PolicyError { rule: rule.clone(), list, source };
        // Nested alternatives are parsed recursively.
        if rule.matches('{').count() > MAX_ALTERNATIVES {
            return Err(invalid(None));
        }
        let glob = Glob::new(&rule.to_ascii_lowercase()).map_err(|error| invalid(Some(error)))?;
        globs.add(glob);
    }
    globs.build().map_err(|error| PolicyError {
        rule: "the list as a whole".to_owned(),
        list,
        source: Some(error),
    })
}

/// Splits a text that cannot be parsed into words.
fn loose_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
