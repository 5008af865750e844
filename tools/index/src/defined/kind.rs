//! Determines the purpose of a file from its path: source ranks before tests, and tests before documents. Pure.

use tree::RepoPath;

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// Program code.
    Source,
    /// Tests of the program.
    Test,
    /// Documents, configuration and data.
    Document,
    /// Files that repeat other content or say nothing about the program: lock files, changelogs, templates. They count
    /// only when the request names them.
    Aside,
}

impl FileKind {
    /// Returns the kind of the file at `path`.
    pub fn of(path: &RepoPath) -> FileKind {
        let lower = path.as_str().to_ascii_lowercase();
        let name = lower.rsplit('/').next().unwrap_or(&lower);
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        if is_aside(&lower, name, stem) {
            FileKind::Aside
        } else if is_test(&lower, stem) {
            FileKind::Test
        } else if is_document(&lower, extension) {
            FileKind::Document
        } else {
            FileKind::Source
        }
    }

    /// Returns the kind of a file of this size: a long header is a library in a single file, which repeats what others wrote.
    pub fn of_size(path: &RepoPath, bytes: u64) -> FileKind {
        const MOST_HEADER_BYTES: u64 = 100_000;
        const HEADERS: [&str; 4] = ["h", "hh", "hpp", "hxx"];
        let extension = path.as_str().rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_single_header = bytes > MOST_HEADER_BYTES && HEADERS.contains(&extension);
        if is_single_header { FileKind::Aside } else { Self::of(path) }
    }

    /// Returns the factor applied to the score of such a file.
    pub(crate) fn weight(self) -> f64 {
        match self {
            FileKind::Source => 1.0,
            FileKind::Test => 0.5,
            FileKind::Document => 0.3,
            FileKind::Aside => 0.0,
        }
    }
}

/// Returns whether the file at `path` is generated and not meant to be read, such as lock files, minified code and the
/// launchers that build tools put into a project. A diff of it says nothing.
pub fn is_generated(path: &str) -> bool {
    const ENDS: [&str; 11] = [
        ".lock",
        "-lock.json",
        "-lock.yaml",
        ".min.js",
        ".min.css",
        ".map",
        ".sum",
        "gradlew",
        "gradlew.bat",
        "mvnw",
        "mvnw.cmd",
    ];
    let lower = path.to_ascii_lowercase();
    ENDS.iter().any(|end| lower.ends_with(end))
}

fn is_aside(path: &str, name: &str, stem: &str) -> bool {
    const ENDS: [&str; 5] = [".svg", ".snap", ".po", ".pot", ".csv"];
    const STEMS: [&str; 10] = [
        "changelog",
        "changes",
        "history",
        "news",
        "license",
        "licence",
        "copying",
        "authors",
        "contributors",
        "releases",
    ];
    const PARTS: [&str; 4] = ["issue_template", "pull_request_template", "relnotes/", "changelog/"];
    let is_text = !name.contains('.')
        || [".md", ".txt", ".rst", ".adoc"].iter().any(|end| name.ends_with(end));
    let is_stem = STEMS.iter().any(|known| {
        stem == *known
            || stem.strip_prefix(known).is_some_and(|rest| rest.starts_with(['-', '.', '_']))
    });
    is_generated(name)
        || ENDS.iter().any(|end| name.ends_with(end))
        || (is_text && is_stem)
        || PARTS.iter().any(|part| path.contains(part))
}

fn is_test(path: &str, stem: &str) -> bool {
    const DIRECTORIES: [&str; 10] = [
        "test",
        "tests",
        "t",
        "spec",
        "specs",
        "__tests__",
        "testing",
        "testdata",
        "fixtures",
        "benches",
    ];
    let word = |word: &str| matches!(word, "test" | "tests" | "spec");
    path.rsplit('/').skip(1).any(|part| DIRECTORIES.contains(&part))
        || stem.split(['_', '-', '.']).next().is_some_and(word)
        || stem.rsplit(['_', '-', '.']).next().is_some_and(word)
}

fn is_document(path: &str, extension: &str) -> bool {
    const EXTENSIONS: [&str; 24] = [
        "md", "rst", "txt", "adoc", "html", "htm", "css", "json", "jsonl", "yaml", "yml", "toml",
        "ini", "cfg", "conf", "xml", "tex", "1", "5", "7", "bib", "env", "lst", "tsv",
    ];
    const DIRECTORIES: [&str; 4] = ["docs", "doc", "documentation", "website"];
    EXTENSIONS.contains(&extension)
        || path.rsplit('/').skip(1).any(|dir| DIRECTORIES.contains(&dir))
        || is_hidden(path)
}

/// Returns true if the path has a part that begins with a dot: what belongs to tools rather than to the program.
pub fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_header_is_a_library_of_others() {
        let kind = |path: &str, bytes| FileKind::of_size(&RepoPath::parse(path).unwrap(), bytes);
        assert_eq!(kind("test/catch.hpp", 650_000), FileKind::Aside);
        assert_eq!(kind("src/list.hpp", 20_000), FileKind::Source);
        assert_eq!(kind("src/sqlite3.c", 8_000_000), FileKind::Source);
    }

    #[test]
    fn paths_determine_the_kind_of_a_file() {
        for (path, kind) in [
            ("src/main.rs", FileKind::Source),
            ("src/latest.rs", FileKind::Source),
            ("src/changes.rs", FileKind::Source),
            ("Makefile", FileKind::Source),
            ("t/t0001.sh", FileKind::Test),
            ("src/parse_tests.rs", FileKind::Test),
            ("src/test_parse.py", FileKind::Test),
            ("a/b.spec.ts", FileKind::Test),
            ("README.md", FileKind::Document),
            ("docs/conf.py", FileKind::Document),
            (".gitignore", FileKind::Document),
            ("CHANGELOG.md", FileKind::Aside),
            ("HISTORY-1.txt", FileKind::Aside),
            ("Cargo.lock", FileKind::Aside),
            (".github/ISSUE_TEMPLATE/bug.md", FileKind::Aside),
        ] {
            assert_eq!(FileKind::of(&RepoPath::parse(path).unwrap()), kind, "{path}");
        }
    }
}
