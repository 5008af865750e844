//! What a failed command lacks, and what the user can do about it. Pure.
//!
//! What the command says comes first, its exit status second: a script that lacks a program ends like a program that is
//! missing itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sandbox::Degree;
use shell::{CommandLine, CommandOutcome, Exit};

use crate::complaints::{MissingWithCure, first_missing};
use crate::derive::Kinds;
use crate::outcome::{Check, ReadingRules};
use crate::project_kinds::{kind_below, kind_of};
use crate::verified::{Missing, MissingKind};

/// Returns what a command lacks, if it failed for that.
pub(crate) fn missing_prerequisite(
    command: &str,
    outcome: &CommandOutcome,
    text: &str,
    by: &ReadingRules<'_>,
) -> Option<Missing> {
    let is_not_found = match &outcome.exit {
        Exit::Code(0) | Exit::TimedOut | Exit::NotStarted(_) => return None,
        Exit::NotFound => true,
        Exit::Code(_) | Exit::Signal(_) => false,
    };
    let program = programs(command).next();
    let itself = || {
        let missing = Missing { kind: MissingKind::Program, name: program.clone(), cure: None };
        MissingWithCure { missing, cure: String::new() }
    };
    let denied = || {
        // Landlock denies what the user could do; nothing else tells it from a file's own mode.
        let is_denied = outcome.confined == Degree::Floor && text.lines().any(says_denied);
        let missing = Missing { kind: MissingKind::Confined, name: None, cure: None };
        is_denied.then(|| MissingWithCure { missing, cure: String::new() })
    };
    let said =
        first_missing(text, by.complaints).or_else(|| is_not_found.then(itself)).or_else(denied)?;
    let MissingWithCure { mut missing, cure } = said;
    if missing.kind == MissingKind::Program
        && let Some(dir) = missing.name.as_deref().and_then(by.dir_of)
    {
        return Some(installed(missing, outcome.confined, &dir.to_string_lossy()));
    }
    missing.cure = match missing.kind {
        MissingKind::Package => filled(&cure, &missing, command, by.kinds),
        MissingKind::Network => fetch(command, by.kinds),
        MissingKind::Program => {
            let name = missing.name.as_deref().unwrap_or_default();
            let kind = tested(command, by.kinds).map(|(kind, _)| kind);
            let is_own = kind.and_then(|kind| kind.programs.as_deref());
            let is_brought =
                is_own.is_some_and(|dir| name.starts_with(dir) || Some(name) != program.as_deref());
            is_brought.then(|| fetch(command, by.kinds)).flatten()
        }
        MissingKind::Service
        | MissingKind::Display
        | MissingKind::Walls
        | MissingKind::Confined
        | MissingKind::Hidden => None,
    };
    Some(missing)
}

/// Returns the absolute paths in the lines of an output which say that something is not there or not allowed.
pub fn refused_paths(output: &str) -> Vec<PathBuf> {
    /// More than one line of a program names.
    const MOST: usize = 100;
    let refuses = |line: &&str| says_absent(line) || says_denied(line);
    let words = |line: &'_ str| {
        let around = |c: char| c.is_whitespace() || "'\"`()[]{}<>,;=‘’“”".contains(c);
        let words = line.split(around).map(|word| word.trim_end_matches([':', '.']));
        let paths = words.filter(|word| word.len() > 1 && word.starts_with('/'));
        paths.map(PathBuf::from).collect::<Vec<_>>()
    };
    output.lines().filter(refuses).flat_map(words).take(MOST).collect()
}

/// Returns true if a line has the words of the C library for an absent file, which programs in every language pass on.
fn says_absent(line: &str) -> bool {
    line.to_ascii_lowercase().contains("no such file or directory")
}

/// Returns true if a line has the words of the C library for what is not allowed.
fn says_denied(line: &str) -> bool {
    line.to_ascii_lowercase().contains("permission denied")
}

/// Returns what is lacking if a path exists that the sandbox hides.
pub fn hidden_path(path: &Path) -> Missing {
    let path = path.to_string_lossy().into_owned();
    let cure = Some(format!("deepseek config add sandbox.read {}", policy::quoted_word(&path)));
    Missing { kind: MissingKind::Hidden, name: Some(path), cure }
}

/// Returns what is lacking if a program was not found that is installed: the sandbox hides it; without one, the command
/// itself does not find something.
fn installed(missing: Missing, confined: Degree, dir: &str) -> Missing {
    match confined {
        Degree::Full | Degree::Floor => {
            let cure =
                Some(format!("deepseek config add sandbox.read {}", policy::quoted_word(dir)));
            Missing { kind: MissingKind::Hidden, cure, ..missing }
        }
        Degree::None => Missing { name: None, ..missing },
    }
}

/// Fills in a cure of the table; `None` if it cannot be filled.
fn filled(cure: &str, missing: &Missing, command: &str, kinds: &Kinds) -> Option<String> {
    if cure.is_empty() {
        return None;
    }
    let cure = if cure.contains("{fetch}") {
        cure.replace("{fetch}", &fetch(command, kinds)?)
    } else {
        cure.to_owned()
    };
    match (cure.contains("{}"), &missing.name) {
        (true, Some(name)) => Some(cure.replace("{}", name)),
        (true, None) => None,
        (false, _) => Some(cure),
    }
}

/// Returns the kind of project that a command tests, and the directory below the command's own in which it does so.
fn tested<'k>(
    command: &str,
    kinds: &'k Kinds,
) -> Option<(&'k config::ProjectKind, Option<String>)> {
    let line = CommandLine::parse(command).ok()?;
    let mut dir = None;
    for segment in line.segments() {
        let text = segment.words.join(" ");
        if let Some(kind) = kind_of(&text, kinds) {
            return Some((kinds.get(kind)?, dir));
        }
        if let Some((kind, below)) = kind_below(&segment.words, kinds) {
            return Some((kinds.get(kind)?, Some(below.to_owned())));
        }
        if let [program, to] = segment.words.as_slice()
            && program == "cd"
        {
            dir = Some(to.clone());
        }
    }
    None
}

/// A command that loads what lock files name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locked {
    /// The command.
    pub fetch: String,
    /// Where such a lock file may be, relative to the directory in which commands run.
    pub files: Vec<PathBuf>,
}

/// Returns the command that could bring what a check lacks, if lock files can name it. `locks` are names of lock files
/// by manifest.
pub fn locked_fetch(
    check: &Check,
    kinds: &Kinds,
    locks: &BTreeMap<String, Vec<String>>,
) -> Option<Locked> {
    let cure = check.missing.as_ref()?.cure.as_ref()?;
    let fetch = fetch(&check.command, kinds).filter(|fetch| fetch == cure)?;
    let (kind, dir) = tested(&check.command, kinds)?;
    let names = kind.manifests.iter().filter_map(|manifest| locks.get(manifest)).flatten();
    let dir = PathBuf::from(dir.unwrap_or_default());
    Some(Locked { fetch, files: names.map(|name| dir.join(name)).collect() })
}

/// Returns the command that loads the packages of the project that a command tests: the one that begins with its
/// program, else the first.
fn fetch(command: &str, kinds: &Kinds) -> Option<String> {
    let (kind, dir) = tested(command, kinds)?;
    let programs: Vec<String> = programs(command).collect();
    let is_own = |fetch: &&String| {
        fetch.split(' ').next().is_some_and(|first| programs.iter().any(|program| program == first))
    };
    let fetch = kind.fetch.iter().find(is_own).or_else(|| kind.fetch.first())?;
    Some(match dir {
        Some(dir) => format!("cd {} && {fetch}", policy::quoted_word(&dir)),
        None => fetch.clone(),
    })
}

/// Returns the programs that a command runs, in order.
fn programs(command: &str) -> impl Iterator<Item = String> {
    let line = CommandLine::parse(command).ok();
    let words = line.into_iter().flat_map(|line| {
        line.segments().iter().filter_map(|it| it.words.first().cloned()).collect::<Vec<_>>()
    });
    words.filter(|program| program != "cd")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacking(command: &str, exit: &Exit, output: &str, confined: Degree) -> Option<Missing> {
        let config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
        let installed = ["npm", "python3", "cargo", "jq"];
        let by = ReadingRules {
            excerpt_bytes: 1000,
            complaints: &config.commands.complaints,
            kinds: &config.projects,
            dir_of: &|name| installed.contains(&name).then(|| PathBuf::from("/opt/my tools")),
        };
        let outcome = CommandOutcome {
            confined,
            exit: exit.clone(),
            ..CommandOutcome::not_started(String::new())
        };
        missing_prerequisite(command, &outcome, output, &by)
    }

    /// A command, how it ended and what it said, and what it lacks by kind, name and cure.
    type Case =
        (&'static str, Exit, &'static str, MissingKind, Option<&'static str>, Option<&'static str>);

    const OFFLINE: &str =
        "error: no matching package named `x` found\nAs a reminder, you're using offline mode";

    const CASES: &[Case] = &[
        (
            "npm test",
            Exit::NotFound,
            "> jest\n\nsh: 1: jest: not found\n",
            MissingKind::Program,
            Some("jest"),
            Some("npm install"),
        ),
        (
            "pnpm test",
            Exit::Code(1),
            "sh: 1: jest: not found\n",
            MissingKind::Program,
            Some("jest"),
            Some("pnpm install"),
        ),
        (
            "make test",
            Exit::NotFound,
            "sh: 1: eslint: not found\n",
            MissingKind::Program,
            Some("eslint"),
            None,
        ),
        (
            "npm test",
            Exit::Code(1),
            "Error: Cannot find module 'left-pad'\n",
            MissingKind::Package,
            Some("left-pad"),
            Some("npm install"),
        ),
        (
            "vendor/bin/phpunit",
            Exit::NotFound,
            "",
            MissingKind::Program,
            Some("vendor/bin/phpunit"),
            Some("composer install"),
        ),
        ("gradle test", Exit::NotFound, "", MissingKind::Program, Some("gradle"), None),
        (
            "python3 -m pytest -q",
            Exit::Code(1),
            "/usr/bin/python3: No module named pytest\n",
            MissingKind::Package,
            Some("pytest"),
            Some("python3 -m pip install pytest"),
        ),
        (
            "python3 -m pytest -q",
            Exit::Code(1),
            "ModuleNotFoundError: No module named 'yaml'\n",
            MissingKind::Package,
            Some("yaml"),
            None,
        ),
        (
            "cargo test --lib",
            Exit::Code(1),
            OFFLINE,
            MissingKind::Network,
            Some("x"),
            Some("cargo fetch"),
        ),
        (
            "cd api && cargo test",
            Exit::Code(1),
            OFFLINE,
            MissingKind::Network,
            Some("x"),
            Some("cd api && cargo fetch"),
        ),
        (
            "npm --prefix 'a b' test",
            Exit::Code(127),
            "sh: 1: jest: not found\n",
            MissingKind::Program,
            Some("jest"),
            Some("cd 'a b' && npm install"),
        ),
        (
            "go test ./...",
            Exit::Code(1),
            "dial tcp: lookup p.example on 10.0.0.1:53: no such host",
            MissingKind::Network,
            Some("p.example"),
            Some("go mod download"),
        ),
        (
            "bundle exec rspec",
            Exit::Code(1),
            "bundler: command not found: rspec",
            MissingKind::Program,
            Some("rspec"),
            None,
        ),
        (
            "mvn test -B",
            Exit::Code(1),
            "Unknown host repo.example: Name or service not known",
            MissingKind::Network,
            Some("repo.example"),
            None,
        ),
        (
            "mvn test -B",
            Exit::Code(1),
            "Could not create local repository at /h/.m2/repository",
            MissingKind::Confined,
            Some("/h/.m2/repository"),
            None,
        ),
        (
            "sh check.sh",
            Exit::NotFound,
            "sh: 1: jq: not found\n",
            MissingKind::Hidden,
            Some("jq"),
            Some("deepseek config add sandbox.read '/opt/my tools'"),
        ),
        (
            "npm test",
            Exit::Code(1),
            "connect ECONNREFUSED 127.0.0.1:5432",
            MissingKind::Service,
            None,
            None,
        ),
    ];

    #[test]
    fn what_is_missing_is_named_with_its_cure() {
        for (command, exit, output, kind, name, cure) in CASES {
            let found = lacking(command, exit, output, Degree::Full).expect(command);
            let found = (found.kind, found.name.as_deref(), found.cure.as_deref());
            assert_eq!(found, (*kind, *name, *cure), "{command}: {output}");
        }
    }

    #[test]
    fn a_path_is_refused_by_the_words_of_the_c_library() {
        let paths = |text: &str| {
            let paths = refused_paths(text).into_iter();
            paths.map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        for (text, refused) in [
            ("cat: /srv/data/a.csv: No such file or directory", "/srv/data/a.csv"),
            ("FileNotFoundError: [Errno 2] No such file or directory: '/srv/a.csv'", "/srv/a.csv"),
            ("Error: ENOENT: no such file or directory, open '/srv/a.csv'", "/srv/a.csv"),
            ("open /srv/a.csv: no such file or directory", "/srv/a.csv"),
            ("java.io.FileNotFoundException: /srv/a.csv (No such file or directory)", "/srv/a.csv"),
            ("sh: 1: cannot create /srv/a: Permission denied", "/srv/a"),
            ("read /srv/a.csv\nFAILED a.py", ""),
            ("a.csv: No such file or directory", ""),
        ] {
            assert_eq!(paths(text), refused, "{text}");
        }
    }

    #[test]
    fn what_the_floor_denies_is_confined() {
        let denied = "PermissionError: [Errno 13] Permission denied: '/dev/ptmx'\n";
        let kind = |confined| {
            lacking("pytest", &Exit::Code(1), denied, confined).map(|missing| missing.kind)
        };
        assert_eq!(kind(Degree::Floor), Some(MissingKind::Confined));
        assert_eq!((kind(Degree::Full), kind(Degree::None)), (None, None));
    }

    #[test]
    fn what_is_installed_is_never_called_missing() {
        let unconfined = lacking("npm test", &Exit::NotFound, "", Degree::None).unwrap();
        assert_eq!((unconfined.kind, unconfined.name), (MissingKind::Program, None));
        let confined = lacking("npm test", &Exit::NotFound, "", Degree::Floor).unwrap();
        assert_eq!(confined.kind, MissingKind::Hidden);
        assert_eq!(
            lacking("npm test", &Exit::Code(0), "sh: 1: jest: not found", Degree::Full),
            None
        );
        assert_eq!(lacking("npm test", &Exit::Code(1), "FAIL a.test.js", Degree::Full), None);
    }
}
