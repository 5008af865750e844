//! Whether an effect may happen: one pure function, asked for every read into a prompt, patch and command.

use std::fmt;

use config::{Approval, Mode, Policy, SafetyGate};
use globset::{Glob, GlobSet, GlobSetBuilder};
use thiserror::Error;

use self::commands::{Listed, Rule, Unlisted, base_name, rule_for};
use crate::shell::CommandLine;
use crate::tree::RepoPath;

mod commands;

pub use self::commands::quoted;

/// The user's policy, ready to be asked.
#[derive(Debug, Clone)]
pub struct Rules {
    mode: Mode,
    approval: Approval,
    gate: SafetyGate,
    allow: Listed,
    deny: Vec<Rule>,
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
        /// Who wrote it.
        author: Author,
        /// Files it touches.
        paths: &'a [&'a RepoPath],
        /// Lines it adds and removes.
        lines: usize,
    },
    /// A command is run.
    Command(&'a CommandLine),
}

/// Who wrote a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A model.
    Model,
    /// The user, or a way back that the user asked for.
    User,
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
    source: Option<globset::Error>,
}

/// Groups of alternatives that a glob may have.
const MAX_ALTERNATIVES: usize = 32;

impl Rules {
    /// Compiles the policy.
    pub fn new(policy: &Policy, gate: SafetyGate) -> Result<Self, PolicyError> {
        let mut secrets = GlobSetBuilder::new();
        for rule in &policy.secret_files {
            let invalid = |source| PolicyError { rule: rule.clone(), source };
            // Alternatives in alternatives are read by recursion.
            if rule.matches('{').count() > MAX_ALTERNATIVES {
                return Err(invalid(None));
            }
            let glob =
                Glob::new(&rule.to_ascii_lowercase()).map_err(|error| invalid(Some(error)))?;
            secrets.add(glob);
        }
        let secrets = secrets.build().map_err(|error| PolicyError {
            rule: "the list as a whole".to_owned(),
            source: Some(error),
        })?;
        Ok(Self {
            mode: policy.mode,
            approval: policy.approval,
            gate,
            allow: Listed::new(&policy.allow_commands, &policy.options),
            deny: policy.deny_commands.iter().map(|rule| Rule::new(rule)).collect(),
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
            Action::Patch { author, paths, lines } => self.decide_patch(author, paths, lines),
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

    fn decide_patch(&self, author: Author, paths: &[&RepoPath], lines: usize) -> Verdict {
        let ours = paths.iter().find(|path| path.is_in_our_directory());
        if let (Author::Model, Some(path)) = (author, ours) {
            return deny(&format!("no model changes {path}: it says what this program may do"));
        }
        if self.mode == Mode::Yolo {
            return Verdict::Allow;
        }
        let files = paths.len();
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
        if let Some(why) = self.denied(command) {
            return deny(&why);
        }
        if self.mode == Mode::Yolo {
            return Verdict::Allow;
        }
        if let Some(why) = self.unlistable(command) {
            return self.ask(why);
        }
        let unlisted = self.unlisted(command).next();
        unlisted
            .map_or(Verdict::Allow, |(words, why)| self.ask(format!("`{}` {why}", words.join(" "))))
    }

    /// Why a command never runs, if it is on the deny list.
    fn denied(&self, command: &CommandLine) -> Option<String> {
        if let Some(words) = command.segments().iter().find(|words| self.denies(words)) {
            return Some(format!("`{}` is listed in policy.deny_commands", words.join(" ")));
        }
        let what = command.opaque()?;
        // Its words can not be told apart, so any of them may be the one.
        let words: Vec<String> = loose_words(command.text());
        (0..words.len())
            .any(|at| words.get(at..).is_some_and(|rest| self.denies(rest)))
            .then(|| format!("the command has {what}, and a word listed in policy.deny_commands"))
    }

    /// Why no rule can list a command.
    fn unlistable(&self, command: &CommandLine) -> Option<String> {
        if let Some(what) = command.opaque() {
            return Some(format!("the command has {what}"));
        }
        let mut words = command.segments().iter().flatten();
        let secret = words.find(|word| self.names_a_secret(word))?;
        Some(format!("`{secret}` is listed in policy.secret_files"))
    }

    fn unlisted<'a>(
        &'a self,
        command: &'a CommandLine,
    ) -> impl Iterator<Item = (&'a [String], Unlisted<'a>)> {
        command.segments().iter().filter_map(|words| {
            Some((words.as_slice(), self.allow.admits(words, command.expands()).err()?))
        })
    }

    /// The rules that are missing in `policy.allow_commands` for a command to run without asking; none if there can not be any.
    pub fn missing_rules(&self, command: &CommandLine) -> Vec<String> {
        let forbidden = self.mode == Mode::Plan
            || self.denied(command).is_some()
            || self.unlistable(command).is_some();
        if forbidden {
            return Vec::new();
        }
        self.unlisted(command).map(|(words, _)| rule_for(words)).collect()
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

/// The words of a text that nobody can parse.
fn loose_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
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
        let patch = |names: &[&str], author| {
            let paths: Vec<RepoPath> =
                names.iter().map(|it| RepoPath::parse(it).unwrap()).collect();
            let paths: Vec<&RepoPath> = paths.iter().collect();
            rules.decide(Action::Patch { author, paths: &paths, lines: 9 }).to_string()
        };
        let read = |path| rules.decide(Action::Read { path }).to_string();
        vec![
            ("read src/lib.rs", read("src/lib.rs")),
            ("read .env", read(".env")),
            ("patch 1 file", patch(&["a"], Author::Model)),
            ("patch 9 files", patch(&["a"; 9], Author::Model)),
            ("patch .deepseek/config.toml", patch(&["a", ".deepseek/config.toml"], Author::Model)),
            ("rewind .deepseek/config.toml", patch(&[".deepseek/config.toml"], Author::User)),
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
    fn listed_commands_run_with_the_options_that_are_named_for_them() {
        let rules = rules(Approval::Auto, Mode::Agent);
        for allowed in [
            "cargo test",
            "cargo test --workspace -p config -- --nocapture --test-threads=1 some_test",
            "cargo test -j4 --features a,b",
            "cargo clippy --all-targets -- -D warnings -Aclippy::pedantic",
            "cargo fmt --all -- --check",
            "cargo build --release",
            "npm test",
            "npm run test -- --runInBand",
            "npm run test:unit",
            "yarn test --watchAll=false",
            "pytest -q tests",
            "pytest -xvs -k 'not slow' --maxfail=2 tests/test_a.py::test_b",
            "pytest 'tests/test_a.py::test[1]'",
            "python3 -m pytest -rA tests",
            "python -m unittest discover -s tests -p 'test_*.py' -v",
            "go test ./...",
            "go test -race -run TestX -count=1 ./pkg/...",
            "make test",
            "make -s test",
            "make test -j4 --no-print-directory",
            "node --test",
            "node --test tests/a.test.js b.test.mjs",
            "cargo test 2>&1 | rg error",
            "rg -n -A3 'fn main' src",
            "grep -q 'hello world' greet.txt",
            "cargo clippy -- -D clippy::all -Wunused_variables",
            "test -f out.txt",
            "test -n x -a -d src",
            "true",
        ] {
            let is_make = allowed == "make -s test";
            let verdict = command(&rules, allowed);
            // Options come after the words of a rule: what stands before them may give them another meaning.
            assert_eq!(verdict == "allow", !is_make, "{allowed}: {verdict}");
        }
    }

    /// C2, H7 and M1 of a review of the fence, and variants: each of these ran unasked, or nearly did.
    #[test]
    fn no_rule_admits_an_option_that_it_does_not_name() {
        let rules = rules(Approval::Auto, Mode::Agent);
        for asked in [
            "node --test-only -p \"require('child_process').execSync('id')\"",
            "node --test-timeout=9 evil.js",
            "node --test -r ./evil.js",
            "node --test --import ./evil.mjs",
            "node --test --test-reporter=./evil.js",
            "node --test -p 1",
            "node -e 1 --test",
            "node --test=evil.js",
            "node --testx",
            "make test deploy",
            "make test-deploy",
            "make test.x",
            "make test --eval=x",
            "make test --eva=x",
            "make test -f other.mk",
            "make test -fother.mk",
            "make test -sf other.mk",
            "make test SHELL=x",
            "make test -n",
            "make test -C other",
            "npm run test-deploy",
            "npm run test deploy",
            "npm test deploy",
            "npm run test:e2e",
            "npm test --script-shell=./x",
            "npm test --prefix other",
            "yarn test --cwd other",
            "pnpm test -C other",
            "git status",
            "git diff-evil",
            "git show HEAD",
            "git log --show-signature",
            "git diff --no-index /dev/null README.md",
            "git diff --output=x",
            "cargo testify",
            "cargo run",
            "cargo fmt",
            "cargo --config x test",
            "cargo test --config x",
            "cargo test --config=x",
            "cargo test -Zunstable-options",
            "cargo test --target-dir out",
            "cargo clippy --fix",
            "cargo clippy -- -Clinker=./x",
            "cargo build --out-dir x",
            "RUSTC_WRAPPER=x cargo test",
            "./x/cargo test",
            "cargo test > out",
            "cargo test $(x)",
            "pytest -p evil",
            "pytest -pevil",
            "pytest -c evil.cfg",
            "pytest -o addopts=x",
            "pytest --rootdir=x",
            "pytest --basetemp=src",
            "pytest -xp evil",
            "pytest @args.txt",
            "pytest ../elsewhere",
            "pytest /tmp/x",
            "python -m evil -m pytest",
            "python -m pytest_evil",
            "python evil.py -m pytest",
            "go test -exec ./x ./...",
            "go test -toolexec=./x",
            "go test -vettool=./x",
            "go test -overlay=x",
            "go vet -vettool ./x",
            "go test -pgo=x",
            "go test -args x",
            "go test -run",
            "go test -run -exec ./x",
            "rg --pre ./x y",
            "rg -f .e y",
            "rg --hidden y",
            "rg key .env",
            "grep -f list x",
            "grep -R x .",
            "test -v x",
            "grep x .e*",
            "true x",
            "python3 -m unittest 'open(\"x\")' timeit.main",
            "python3 -m unittest os.abort",
            "python3 -m unittest tests.test_a",
            "cargo test --doc -- --skip='zz --logfile x'",
            "cargo test 'zz --logfile x'",
            "cargo clippy -- -Wunused__CLIPPY_HACKERY__-Clinker=./evil.sh",
            "cargo clippy -- -W unused__CLIPPY_HACKERY__@x",
            "cargo clippy -- --deny=x --emit=dep-info=y",
            "grep -rh TOKEN .",
            "make test 22>/dev/null",
            "make test '2'>/dev/null",
            "make test ''>/dev/null",
            "X=1 make test",
        ] {
            assert!(command(&rules, asked).starts_with("ask"), "{asked}");
        }
    }

    #[test]
    fn denied_commands_are_found_whatever_stands_before_them() {
        let rules = rules(Approval::Auto, Mode::Agent);
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
