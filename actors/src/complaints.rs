//! Recognizes in a command's output why it could not do its work: a missing prerequisite, or tests that did not build.
//! Pure.

use std::collections::BTreeMap;

use config::Complaints;
use tree::RepoPath;

use crate::verified::{Missing, MissingKind};

/// Maximum length of a name; anything longer is not taken for one.
const MAX_NAME: usize = 200;

/// Returns what is missing according to the first line of `output` that matches a pattern.
pub fn missing(output: &str, table: &BTreeMap<String, Complaints>) -> Option<Missing> {
    let kinds = |tool: &'_ Complaints| {
        [
            (MissingKind::Package, tool.package.clone()),
            (MissingKind::Program, tool.program.clone()),
            (MissingKind::Service, tool.service.clone()),
            (MissingKind::Network, tool.network.clone()),
        ]
    };
    let patterns: Vec<_> = table.values().flat_map(kinds).collect();
    output.lines().find_map(|line| {
        patterns.iter().find_map(|(kind, patterns)| {
            let said = patterns.iter().find_map(|pattern| says(line, pattern))?;
            Some(Missing { kind: *kind, name: said.name.map(str::to_owned) })
        })
    })
}

/// Returns true if `output` says that tests could not be built or collected.
pub fn is_unbuilt(output: &str, table: &BTreeMap<String, Complaints>) -> bool {
    let patterns = || table.values().flat_map(|tool| &tool.unbuilt);
    output.lines().any(|line| patterns().any(|pattern| says(line, pattern).is_some()))
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
    const SOURCES: [&str; 12] =
        ["py", "pyi", "js", "jsx", "ts", "tsx", "mjs", "cjs", "go", "rs", "rb", "java"];
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

    fn table() -> BTreeMap<String, Complaints> {
        config::resolve(&Inputs::default()).unwrap().config.commands.complaints
    }

    #[test]
    fn the_output_of_tools_names_what_is_missing() {
        use MissingKind::{Network, Package, Program, Service};
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
        ] {
            let found = missing(&format!("running\n{output}\n"), &table()).expect(output);
            assert_eq!((found.kind, found.name.as_deref()), (kind, name), "{output}");
        }
        for output in ["FAILED t.py::a - assert 1 == 2", "file not found", "x: not found in y", ""]
        {
            assert_eq!(missing(output, &table()), None, "{output}");
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
