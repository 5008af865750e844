//! Recognizes the errors that compilers and interpreters report. Pure.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Diagnostic, diagnostic};

struct Patterns {
    compiler: Regex,
    javac: Regex,
    rustc: Regex,
    arrow: Regex,
    panic: Regex,
    exception: Regex,
}

// ASCII classes throughout: building the Unicode tables would take longer than checking a small project.
static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    Some(Patterns {
        compiler: Regex::new(r"^\s*([0-9A-Za-z_./\\-]+\.[0-9A-Za-z_]+)[:(]([0-9]+)[:,]?(?:[0-9]+)?\)?:? *(?:fatal )?(?:(error|Error)(?-u:\b):?)?\s*(TS[0-9]+|[A-Z][0-9]{3,4})?:?\s*(.+)$").ok()?,
        javac: Regex::new(r"^([^ \t:]+\.[0-9A-Za-z_]+):\[[0-9]+,[0-9]+\] (.+)$").ok()?,
        rustc: Regex::new(r"^error(?:\[(E[0-9]+)\])?: (.+)$").ok()?,
        arrow: Regex::new(r"^\s*--> ([^:]+):[0-9]+:[0-9]+").ok()?,
        panic: Regex::new(r"^thread '([^']+)'(?: \([0-9]+\))? panicked at ([^:]+):[0-9]+:[0-9]+:$").ok()?,
        exception: Regex::new(r"^(?:[0-9A-Za-z_]+\.)*([0-9A-Za-z_]*(?:Error|Exception)): (.*)$").ok()?,
    })
});

fn group(captures: &Captures<'_>, at: usize) -> String {
    captures.get(at).map_or("", |group| group.as_str()).to_owned()
}

/// Parses an error of rustc, or a panic.
pub(super) fn rust(line: &str, after: &[String]) -> Option<Diagnostic> {
    let patterns = PATTERNS.as_ref()?;
    if let Some(found) = patterns.rustc.captures(line) {
        let message = group(&found, 2);
        let is_summary = ["could not compile", "aborting due to", "test failed", "test run failed"]
            .iter()
            .any(|summary| message.starts_with(summary));
        // Zig's failed tests are not errors of a compiler.
        if is_summary || message.ends_with("failed:") {
            return None;
        }
        let file = after.iter().take(3).find_map(|line| patterns.arrow.captures(line));
        let file = file.map(|found| group(&found, 1)).unwrap_or_default();
        return Some(diagnostic(&group(&found, 1), &file, &message));
    }
    let found = patterns.panic.captures(line)?;
    let message = after.iter().take_while(|line| !line.starts_with("note:") && !line.is_empty());
    let message: Vec<&str> = message.take(3).map(|line| line.trim()).collect();
    Some(diagnostic(&group(&found, 1), &group(&found, 2), &message.join(" ")))
}

/// Parses an exception, or an error with its place.
pub(super) fn error(line: &str) -> Option<Diagnostic> {
    let patterns = PATTERNS.as_ref()?;
    if let Some(found) = patterns.exception.captures(line) {
        return Some(diagnostic(&group(&found, 1), "", &group(&found, 2)));
    }
    if let Some(found) = patterns.javac.captures(line) {
        return Some(diagnostic("", &group(&found, 1), &group(&found, 2)));
    }
    let found = patterns.compiler.captures(line)?;
    let is_go = is_go_line(&group(&found, 1));
    let is_error = found.get(3).is_some() || found.get(4).is_some() || is_go;
    let warns = group(&found, 5).trim_start().to_ascii_lowercase().starts_with("warning");
    // The output of a Go test is indented; that of the compiler is not.
    let is_of_test = is_go && line.starts_with(char::is_whitespace);
    let code = if is_of_test { "go test".to_owned() } else { group(&found, 4) };
    (is_error && !warns).then(|| diagnostic(&code, &group(&found, 1), &group(&found, 5)))
}

/// Go reports `file.go:12:3: message` without the word "error".
fn is_go_line(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, extension)| extension == "go")
}
