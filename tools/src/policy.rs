//! Whether an effect may happen: one pure function, asked for every read into a prompt, patch and command.

use std::fmt;

use config::{Approval, Mode, Policy, SafetyGate};
use globset::{Glob, GlobSet, GlobSetBuilder};
use thiserror::Error;

use crate::shell::CommandLine;

/// The user's policy, ready to be asked.
#[derive(Debug, Clone)]
pub struct Rules {
    mode: Mode,
    approval: Approval,
    gate: SafetyGate,
    allow: Vec<Pattern>,
    deny: Vec<Pattern>,
    secrets: GlobSet,
}

/// An effect that wants to happen.
#[derive(Debug, Clone, Copy)]
pub enum Action<'a> {
    /// A file's content goes into a prompt.
    Read {
        /// Workspace-relative path.
        path: &'a str,
    },
    /// A patch is written to the workspace.
    Patch {
        /// Files it touches.
        files: usize,
        /// Lines it adds and removes.
        lines: usize,
    },
    /// A command is run.
    Command(&'a CommandLine),
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Allow,
    /// Somebody has to say yes.
    Ask {
        /// Why.
        why: String,
    },
    /// It may not, whoever says yes.
    Deny {
        /// Why.
        why: String,
    },
}

/// A rule that can not be used.
#[derive(Debug, Error)]
#[error("`{rule}` in policy.secret_files is not a glob")]
pub struct PolicyError {
    rule: String,
    source: globset::Error,
}

impl Rules {
    /// Compiles the policy.
    pub fn new(policy: &Policy, gate: SafetyGate) -> Result<Self, PolicyError> {
        let mut secrets = GlobSetBuilder::new();
        for rule in &policy.secret_files {
            let glob = Glob::new(&rule.to_ascii_lowercase())
                .map_err(|source| PolicyError { rule: rule.clone(), source })?;
            secrets.add(glob);
        }
        let secrets = secrets
            .build()
            .map_err(|source| PolicyError { rule: "the list as a whole".to_owned(), source })?;
        Ok(Self {
            mode: policy.mode,
            approval: policy.approval,
            gate,
            allow: policy.allow_commands.iter().map(|rule| Pattern::new(rule)).collect(),
            deny: policy.deny_commands.iter().map(|rule| Pattern::new(rule)).collect(),
            secrets,
        })
    }

    /// Whether `action` may happen.
    pub fn decide(&self, action: Action<'_>) -> Verdict {
        match action {
            Action::Read { path } => self.decide_read(path),
            Action::Patch { .. } | Action::Command(_) if self.mode == Mode::Plan => {
                deny("plan mode reads only")
            }
            Action::Patch { files, lines } => self.decide_patch(files, lines),
            Action::Command(command) => self.decide_command(command),
        }
    }

    fn decide_read(&self, path: &str) -> Verdict {
        // Case-folded, because a file system may be.
        if self.secrets.is_match(path.to_ascii_lowercase()) {
            return deny("it is listed in policy.secret_files");
        }
        Verdict::Allow
    }

    fn decide_patch(&self, files: usize, lines: usize) -> Verdict {
        if self.mode == Mode::Yolo {
            return Verdict::Allow;
        }
        if files > self.gate.max_files_without_approval
            || lines > self.gate.max_loc_without_approval
        {
            return self.ask(format!("the patch is large: {files} files, {lines} lines"));
        }
        match self.approval {
            Approval::Suggest => self.ask("the patch changes your files".to_owned()),
            Approval::Auto | Approval::Never => Verdict::Allow,
        }
    }

    fn decide_command(&self, command: &CommandLine) -> Verdict {
        if let Some(words) = command.segments().iter().find(|words| self.denies(words)) {
            return deny(&format!("`{}` is listed in policy.deny_commands", words.join(" ")));
        }
        if let Some(what) = command.opaque() {
            // Its words can not be told apart, so any of them may be the one.
            let words: Vec<String> = loose_words(command.text());
            if (0..words.len()).any(|at| words.get(at..).is_some_and(|rest| self.denies(rest))) {
                return deny(&format!(
                    "the command has {what}, and a word listed in policy.deny_commands"
                ));
            }
        }
        if self.mode == Mode::Yolo {
            return Verdict::Allow;
        }
        if let Some(what) = command.opaque() {
            return self.ask(format!("the command has {what}"));
        }
        let mut words = command.segments().iter().flatten();
        if let Some(word) = words.find(|word| self.names_a_secret(word)) {
            return self.ask(format!("`{word}` is listed in policy.secret_files"));
        }
        let stranger = command.segments().iter().find(|words| !self.allows(words));
        stranger.map_or(Verdict::Allow, |words| {
            self.ask(format!("`{}` is not listed in policy.allow_commands", words.join(" ")))
        })
    }

    /// Whether a rule forbids these words, whatever stands before the program: assignments, or a program that runs another.
    fn denies(&self, words: &[String]) -> bool {
        const RUNNERS: [&str; 8] =
            ["env", "nice", "nohup", "time", "timeout", "command", "exec", "xargs"];
        let runs_another = |word: &String| RUNNERS.contains(&base_name(word)) || word.contains('=');
        let begins_with_runner = words.first().is_some_and(runs_another);
        let starts = if begins_with_runner { words.len() } else { 1 };
        (0..starts).any(|at| {
            words.get(at..).is_some_and(|rest| self.deny.iter().any(|rule| rule.forbids(rest)))
        })
    }

    /// Whether these words are listed, and none of what follows could make the program run, read or write something else.
    fn allows(&self, words: &[String]) -> bool {
        self.allow.iter().any(|rule| {
            rule.admits(words) && words.iter().skip(rule.words.len()).all(|word| is_harmless(word))
        })
    }

    /// Whether a word of a command is, or ends in, the path of a secret file.
    fn names_a_secret(&self, word: &str) -> bool {
        let path = word.rsplit(['=', ':']).next().unwrap_or(word).trim_start_matches("./");
        !path.is_empty()
            && (self.secrets.is_match(path.to_ascii_lowercase())
                || self.secrets.is_match(base_name(path)))
    }

    fn ask(&self, why: String) -> Verdict {
        match self.approval {
            Approval::Never => deny(&format!("{why}, and policy.approval is never")),
            Approval::Suggest | Approval::Auto => Verdict::Ask { why },
        }
    }
}

fn deny(why: &str) -> Verdict {
    Verdict::Deny { why: why.to_owned() }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow => write!(f, "allow"),
            Self::Ask { why } => write!(f, "ask: {why}"),
            Self::Deny { why } => write!(f, "deny: {why}"),
        }
    }
}

/// Options of test runners and their like that only say what is checked and how it is told.
const HARMLESS: [&str; 58] = [
    "--",
    "--all",
    "--all-features",
    "--all-targets",
    "--benches",
    "--bins",
    "--check",
    "--ci",
    "--color",
    "--count",
    "--coverage",
    "--deny",
    "--doc",
    "--exact",
    "--examples",
    "--exclude",
    "--failfast",
    "--features",
    "--if-present",
    "--ignored",
    "--include-ignored",
    "--jobs",
    "--keyword",
    "--lib",
    "--locked",
    "--maxfail",
    "--message-format",
    "--name-only",
    "--no-default-features",
    "--no-fail-fast",
    "--nocapture",
    "--offline",
    "--oneline",
    "--package",
    "--porcelain",
    "--profile",
    "--quiet",
    "--release",
    "--run",
    "--runInBand",
    "--short",
    "--silent",
    "--skip",
    "--stat",
    "--tb",
    "--test",
    "--test-threads",
    "--tests",
    "--verbose",
    "--workspace",
    "-count",
    "-cover",
    "-race",
    "-run",
    "-short",
    "-timeout",
    "-D",
    "-W",
];

/// Whether an argument can be let through unseen: a known option, or a word that stays in the workspace and is no pattern,
/// no assignment and no secret. Unknown options are asked for, because programs have too many that do something else.
fn is_harmless(word: &str) -> bool {
    if word.starts_with('-') {
        let option = word.split_once('=').map_or(word, |(option, _)| option);
        let letters = word.trim_start_matches('-').trim_end_matches(|c: char| c.is_ascii_digit());
        let short = !word.starts_with("--")
            && letters.len() < 4
            && letters.chars().all(|c| "vqsxkjpnmra".contains(c));
        return HARMLESS.contains(&option) || short;
    }
    let leaves = word.starts_with(['/', '~']) || word.split('/').any(|part| part == "..");
    !leaves && !word.contains(['*', '?', '[', '='])
}

/// The last component of a path.
fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The words of a text that nobody can parse.
fn loose_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A command rule: words that must begin the command, or be all of it when there is no final `*`.
#[derive(Debug, Clone)]
struct Pattern {
    words: Vec<String>,
    open: bool,
}

impl Pattern {
    fn new(rule: &str) -> Self {
        let open = rule.ends_with('*');
        let words = rule.trim_end_matches('*').split_whitespace().map(str::to_owned).collect();
        Self { words, open }
    }

    /// Whether the rule lets these words go ahead: narrowly, the program by its bare name.
    ///
    /// The last word of `npm run test*` also admits `test:unit`.
    fn admits(&self, words: &[String]) -> bool {
        if words.len() < self.words.len() || (!self.open && words.len() > self.words.len()) {
            return false;
        }
        let last = self.words.len().saturating_sub(1);
        self.words.iter().zip(words).enumerate().all(|(at, (rule, word))| {
            let goes_on = self.open && at == last && at > 0;
            rule == word
                || (goes_on
                    && word
                        .strip_prefix(rule.as_str())
                        .is_some_and(|rest| rest.starts_with([':', '-', '.'])))
        })
    }

    /// Whether the rule forbids these words: widely, the program by any path or suffix, the rest in order with anything between.
    fn forbids(&self, words: &[String]) -> bool {
        let (Some(program), Some(rule)) = (words.first(), self.words.first()) else { return false };
        let name = base_name(program);
        let same = name == rule
            || (self.open
                && name.strip_prefix(rule.as_str()).is_some_and(|rest| rest.starts_with('.')));
        let mut rest = words.iter().skip(1);
        same && self.words.iter().skip(1).all(|rule| rest.any(|word| word == rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(approval: Approval, mode: Mode) -> Rules {
        let config = config::resolve(&config::Inputs::default()).unwrap().config;
        let policy = Policy { approval, mode, ..config.policy };
        Rules::new(&policy, config.agent_loop.safety_gate).unwrap()
    }

    fn command(rules: &Rules, text: &str) -> String {
        rules.decide(Action::Command(&CommandLine::parse(text).unwrap())).to_string()
    }

    /// What each rule set says of one action.
    fn verdicts(rules: &Rules) -> Vec<(&'static str, String)> {
        let patch = |files| rules.decide(Action::Patch { files, lines: 9 }).to_string();
        let read = |path| rules.decide(Action::Read { path }).to_string();
        vec![
            ("read src/lib.rs", read("src/lib.rs")),
            ("read .env", read(".env")),
            ("patch 1 file", patch(1)),
            ("patch 9 files", patch(9)),
            ("cargo test", command(rules, "cargo test -q")),
            ("./build.sh", command(rules, "./build.sh")),
            ("cargo test && git push", command(rules, "cargo test && git push")),
        ]
    }

    /// One line for each combination: this is the table that users are shown.
    fn table() -> String {
        let mut lines = Vec::new();
        for mode in [Mode::Plan, Mode::Agent, Mode::Yolo] {
            for approval in [Approval::Suggest, Approval::Auto, Approval::Never] {
                for (name, verdict) in verdicts(&rules(approval, mode)) {
                    lines.push(format!("{mode:?} {approval:?} | {name} | {verdict}"));
                }
            }
        }
        lines.join("\n")
    }

    #[test]
    fn the_whole_table() {
        insta::assert_snapshot!(table());
    }

    #[test]
    fn commands_are_matched_by_words() {
        let rules = rules(Approval::Auto, Mode::Agent);
        for allowed in [
            "cargo test",
            "cargo test --workspace",
            "npm test",
            "pytest -q tests",
            "go test ./...",
            "cargo test 2>&1 | rg error",
            "npm run test:unit",
            "cargo fmt --check",
        ] {
            assert_eq!(command(&rules, allowed), "allow", "{allowed}");
        }
        for asked in [
            "cargo testify",
            "cargo run",
            "RUSTC_WRAPPER=x cargo test",
            "cargo test > out",
            "cargo test $(x)",
            "rg --pre ./x y",
            "git diff --output=x",
            "cargo fmt",
            "cargo --config x test",
            "./x/cargo test",
            "git diff --no-index /dev/null README.md",
            "rg key .env",
            "git diff -- config/.env.local",
            "git show HEAD:.env",
            "make test --eval=x",
            "go test -exec ./x ./...",
            "make test --eva=x",
            "make test -f other.mk",
            "make test SHELL=x",
            "git diff /dev/null ../outside.txt",
            "git diff HEAD .e*",
            "cargo clippy --fix",
        ] {
            assert!(command(&rules, asked).starts_with("ask"), "{asked}");
        }
        for denied in [
            "sudo ls",
            "cargo test && sudo ls",
            "/usr/bin/sudo ls",
            "cargo test | git push -f",
            "mkfs.ext4 /dev/x",
            "git -C . push",
            "env A=1 sudo ls",
            "A=1 git push",
            "echo $(sudo ls)",
        ] {
            assert!(command(&rules, denied).starts_with("deny"), "{denied}");
        }
    }

    #[test]
    fn secrets_are_never_read_in_any_mode() {
        for path in [
            ".env",
            ".env.local",
            "a/b/.env",
            "keys/server.PEM",
            ".ssh/id_rsa",
            "home/.aws/credentials",
        ] {
            let verdict = rules(Approval::Auto, Mode::Yolo).decide(Action::Read { path });
            assert!(matches!(verdict, Verdict::Deny { .. }), "{path}");
        }
    }
}
