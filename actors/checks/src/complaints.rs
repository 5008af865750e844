//! Recognizes in a command's output why it could not do its work: a missing prerequisite, or tests that did not build.
//! Pure.

use std::collections::BTreeMap;

use config::Complaints;
use tree::RepoPath;

use crate::verified::{Missing, MissingKind};

/// Maximum length of a name; anything longer is not taken for one.
const MAX_NAME: usize = 200;

/// The messages of tools, by tool.
pub type ComplaintTable = BTreeMap<String, Complaints>;

/// Something that a command complains about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingWithCure {
    /// What is missing.
    pub missing: Missing,
    /// The command that installs it, as the table has it; empty if none does.
    pub cure: String,
}

/// Returns what is missing according to the first line of `output` that matches a pattern. A package that is missing
/// because the same tool cannot reach the network is the network's fault.
pub fn first_missing(output: &str, table: &ComplaintTable) -> Option<MissingWithCure> {
    let kinds = |tool: &'_ Complaints| {
        [
            (MissingKind::Package, tool.package.clone()),
            (MissingKind::Program, tool.program.clone()),
            (MissingKind::Service, tool.service.clone()),
            (MissingKind::Network, tool.network.clone()),
            (MissingKind::Display, tool.display.clone()),
            (MissingKind::Confined, tool.confined.clone()),
        ]
    };
    let patterns =
        table.values().flat_map(|tool| kinds(tool).map(|(kind, said)| (tool, kind, said)));
    // Most patterns occur nowhere, which is quickly seen.
    let occurs = |pattern: &String| output.contains(pattern.split("{}").next().unwrap_or_default());
    let patterns: Vec<_> = patterns
        .flat_map(|(tool, kind, said)| said.into_iter().map(move |pattern| (tool, kind, pattern)))
        .filter(|(.., pattern)| occurs(pattern))
        .collect();
    let of_line = |line| {
        let said = patterns.iter().filter_map(move |(tool, kind, pattern)| {
            Some((*tool, *kind, says(line, pattern)?.name))
        });
        said.collect::<Vec<_>>()
    };
    let said = output.lines().map(of_line).find(|said| !said.is_empty())?;
    let (tool, kind, _) = *said.first()?;
    let same = || said.iter().filter(|(_, other, _)| *other == kind);
    let name = same().find_map(|(.., name)| *name).map(str::to_owned);
    let cure = same().map(|(tool, ..)| &tool.cure).find(|cure| !cure.is_empty());
    let is_offline = kind == MissingKind::Package && has(output, &tool.network);
    let kind = if is_offline { MissingKind::Network } else { kind };
    let missing = Missing { kind, name, cure: None };
    Some(MissingWithCure { missing, cure: cure.cloned().unwrap_or_default() })
}

/// Returns true if a line of `output` matches one of `patterns`.
pub fn has(output: &str, patterns: &[String]) -> bool {
    output.lines().any(|line| patterns.iter().any(|pattern| says(line, pattern).is_some()))
}

/// Returns true if `output` says that tests could not be built or collected.
pub fn is_unbuilt(output: &str, table: &ComplaintTable) -> bool {
    table.values().any(|tool| has(output, &tool.unbuilt))
}

/// A line that matches a pattern.
struct Said<'l> {
    /// The text at the pattern's placeholder, if it has one.
    name: Option<&'l str>,
}

/// Matches a line against a pattern.
fn says<'l>(line: &'l str, pattern: &str) -> Option<Said<'l>> {
    let Some((before, after)) = pattern.split_once("{}") else {
        return line.contains(pattern).then_some(Said { name: None });
    };
    if before.is_empty() {
        // The name is the last word before the text.
        let (name, _) = line.split_once(after)?;
        let name =
            name.rsplit(char::is_whitespace).next().unwrap_or(name).trim_matches(['\'', '"', ':']);
        return Some(Said { name: Some(name).filter(|name| !name.is_empty()) });
    }
    let mut from = line;
    while let Some((_, rest)) = from.split_once(before) {
        let name = if after.is_empty() {
            rest.split(|c: char| c.is_whitespace() || ",;)".contains(c)).next()
        } else {
            rest.split_once(after).map(|(name, _)| name)
        };
        let name = name.map(|name| name.trim_matches(['\'', '"', '`', '.', ':']));
        let is_name = |name: &&str| {
            !name.is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_whitespace)
        };
        if let Some(name) = name.filter(is_name) {
            return Some(Said { name: Some(name) });
        }
        from = rest;
    }
    None
}

/// Returns true if a package of this name could be part of the workspace, so that its absence is a fault of the code.
///
/// That holds for every path, and for names whose first or last part is a directory or a source file.
pub fn is_in_workspace<'p>(name: &str, paths: impl IntoIterator<Item = &'p RepoPath>) -> bool {
    const SOURCES: [&str; 17] = [
        "py", "pyi", "js", "jsx", "ts", "tsx", "mjs", "cjs", "go", "rs", "rb", "java", "php", "ex",
        "hs", "lua", "ml",
    ];
    if name.starts_with(['.', '/']) {
        return true;
    }
    let parts: Vec<&str> =
        name.split(['.', '/', ':']).map(|part| part.trim_start_matches('@')).collect();
    let ends = [parts.first(), parts.last()];
    let is_meant = |part: &str| ends.iter().flatten().any(|end| !part.is_empty() && **end == part);
    paths.into_iter().any(|path| {
        let (dirs, file) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        let source = file.rsplit_once('.').filter(|(_, ending)| SOURCES.contains(ending));
        dirs.split('/').any(is_meant) || source.is_some_and(|(stem, _)| is_meant(stem))
    })
}

#[cfg(test)]
mod tests {
    use config::Inputs;

    use super::*;

    fn table() -> ComplaintTable {
        config::resolve_layers(&Inputs::default()).unwrap().config.commands.complaints
    }

    #[test]
    fn the_output_of_tools_names_what_is_missing() {
        use MissingKind::{Confined, Display, Network, Package, Program, Service};
        for (output, kind, name) in [
            (
                "E   ModuleNotFoundError: No module named 'tree_sitter'",
                Package,
                Some("tree_sitter"),
            ),
            ("/usr/bin/python3: No module named pytest", Package, Some("pytest")),
            ("Error: Cannot find module 'left-pad'\nRequire stack:", Package, Some("left-pad")),
            (
                "x.go:3:8: no required module provides package example.com/y; to add it:",
                Package,
                Some("example.com/y"),
            ),
            ("error: no matching package named `serde2` found", Package, Some("serde2")),
            ("check.sh: line 3: jq: command not found", Program, Some("jq")),
            ("sh: 1: eslint: not found", Program, Some("eslint")),
            ("psql: error: connection to server failed: Connection refused", Service, None),
            ("curl: (6) Could not resolve host: crates.io", Network, Some("crates.io")),
            (
                "error: no matching package named `ansi_term` found\nlocation searched: crates.io index\nAs a reminder, you're using offline mode (--offline)",
                Network,
                Some("ansi_term"),
            ),
            (
                "[ERROR] Plugin x could not be resolved: Could not transfer artifact x:pom:2.6 from/to central (https://repo.example): transfer failed for https://repo.example/x.pom: Unknown host repo.example: Name or service not known -> [Help 1]",
                Network,
                Some("repo.example"),
            ),
            (
                "> Could not GET 'https://repo.example/junit.pom'.",
                Network,
                Some("https://repo.example/junit.pom"),
            ),
            (
                "[ERROR] Could not create local repository at /h/.m2/repository -> [Help 1]",
                Confined,
                Some("/h/.m2/repository"),
            ),
            (
                "x.go:2:8: a@v1: Get \"https://p.example/a\": dial tcp: lookup p.example on 10.0.0.1:53: no such host",
                Network,
                Some("p.example"),
            ),
            (
                "x.go:2:8: missing go.sum entry for module providing package example.com/y (imported by z); to add:",
                Package,
                Some("example.com/y"),
            ),
            (
                "Could not find gem 'rspec-nope' in locally installed gems. (Bundler::GemNotFound)",
                Package,
                Some("rspec-nope"),
            ),
            ("bundler: command not found: rspec", Program, Some("rspec")),
            (
                "a.rb:1:in `require': cannot load such file -- nope_gem (LoadError)",
                Package,
                Some("nope_gem"),
            ),
            (
                "PHP Warning:  require(/w/vendor/autoload.php): Failed to open stream: No such file",
                Package,
                None,
            ),
            (
                "Could not find Hex, which is needed to build dependency :jason",
                Package,
                Some("jason"),
            ),
            (
                "error NETSDK1004: Assets file '/w/obj/project.assets.json' not found. Run a NuGet package restore",
                Package,
                Some("/w/obj/project.assets.json"),
            ),
            (
                "Error: Error when performing the request to https://registry.example/pnpm/latest; for troubleshooting",
                Network,
                Some("https://registry.example/pnpm/latest"),
            ),
            (
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
                Service,
                None,
            ),
            ("xterm: Xt error: Can't open display:\nError: cannot open display: :0", Display, None),
            ("touch: cannot touch '/etc/x': Read-only file system", Confined, Some("/etc/x")),
            ("sh: 1: vendor/bin/phpunit: not found", Program, Some("vendor/bin/phpunit")),
        ] {
            let found =
                first_missing(&format!("running\n{output}\n"), &table()).expect(output).missing;
            assert_eq!((found.kind, found.name.as_deref()), (kind, name), "{output}");
        }
        for output in ["FAILED t.py::a - assert 1 == 2", "file not found", "x: not found in y", ""]
        {
            assert_eq!(first_missing(output, &table()), None, "{output}");
        }
    }

    #[test]
    fn a_build_failure_is_not_a_test_failure() {
        for output in [
            "error[E0425]: cannot find function `f` in this scope",
            "ERROR collecting tests/test_a.py",
            "ERROR: test_a (unittest.loader._FailedTest.test_a)",
            "FAIL\tx [build failed]",
            "src/a.test.ts(1,9): error TS2305: no exported member",
        ] {
            assert!(is_unbuilt(output, &table()), "{output}");
        }
        for output in ["test a ... FAILED", "AssertionError: 1 != 2", "--- FAIL: TestA"] {
            assert!(!is_unbuilt(output, &table()), "{output}");
        }
    }

    #[test]
    fn a_module_of_the_workspace_is_not_a_missing_package() {
        let paths = ["shop/cart.py", "src/util/mod.rs", "pytest.ini", "web/lib/format.ts"]
            .map(|path| RepoPath::parse(path).unwrap());
        for (name, is_own) in [
            ("shop.rules", true),
            ("cart", true),
            ("./format", true),
            ("@web/format", true),
            ("example.com/mod/util", true),
            ("pytest", false),
            ("requests.sessions", false),
        ] {
            assert_eq!(is_in_workspace(name, &paths), is_own, "{name}");
        }
    }
}
