//! Finds definitions by patterns for single lines, for languages without a grammar. Pure. The patterns are fast,
//! bounded and right about ordinary code.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::defined::definitions::Definition;

/// Maximum length of a definition whose end is found by its indentation, in lines.
const MAX_LINES: usize = 200;

/// Finds the definitions in a file with this extension.
pub(crate) fn definitions_by_pattern(extension: &str, text: &str, most: usize) -> Vec<Definition> {
    let Some(pattern) = pattern(extension) else { return Vec::new() };
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for captures in pattern.captures_iter(text).take(most) {
        let Some(whole) = captures.get(0) else { continue };
        line += newlines(text.get(counted..whole.start()).unwrap_or_default());
        counted = whole.start();
        found.extend(definition(&captures, line, &lines));
    }
    found
}

/// Returns the pattern for a language. In each alternative, the first matching group is the kind and the last is the
/// name; a single group is the name of a function.
fn pattern(extension: &str) -> Option<&'static Regex> {
    static JAVA: LazyLock<Option<Regex>> = LazyLock::new(|| {
        const MODIFIERS: &str =
            "public|private|protected|static|final|abstract|sealed|synchronized|default|native";
        let pattern = concat!(
            r"(?m)^[ \t]*(?:(?:(?:MODIFIERS)[ \t]+)*(class|interface|enum|record)[ \t]+([^ \t\r\n(<{]+)",
            r"|(?:(?:MODIFIERS)[ \t]+)+[^(=;\n]*?[ \t]([^ \t\r\n(=;]+)[ \t]*\([^;\n]*$)",
        );
        Regex::new(&pattern.replace("MODIFIERS", MODIFIERS)).ok()
    });
    static C: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = concat!(
            r"(?m)^(?:(?:(?:typedef|static|extern)[ \t]+)*(struct|enum|union|class|namespace)",
            r"(?:[ \t]+class)?[ \t]+([A-Za-z_][^ \t\r\n({:;]*)[ \t]*(?:[:{][^;\n]*)?$",
            r"|#[ \t]*(define)[ \t]+([^ \t\r\n(]+)",
            r"|[A-Za-z_][^\n;={}#()]*[ \t*&]([A-Za-z_~][^ \t\r\n();={}]*)[ \t]*\([^;\n]*$)",
        );
        Regex::new(pattern).ok()
    });
    static RUBY: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^[ \t]*(def|class|module)[ \t]+([^ \t\r\n(<;]+)").ok());
    static SHELL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?m)^(?:function[ \t]+)?([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\(\)").ok()
    });
    match extension {
        "java" | "kt" | "cs" => JAVA.as_ref(),
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" => C.as_ref(),
        "rb" => RUBY.as_ref(),
        "sh" | "bash" => SHELL.as_ref(),
        _ => None,
    }
}

fn definition(captures: &Captures<'_>, line: usize, lines: &[&str]) -> Option<Definition> {
    let mut groups = captures.iter().skip(1).flatten().map(|group| group.as_str());
    let first = groups.next()?;
    let (kind, name) = groups.last().map_or(("fn", first), |name| (first, name));
    let text = lines.get(line - 1).copied().unwrap_or_default();
    let last = if kind == "define" { line } else { last_line(line, lines) };
    let number = |line: usize| u32::try_from(line).ok();
    Some(Definition {
        kind: kind.to_owned(),
        name: name.to_owned(),
        first: number(line)?,
        line: number(line)?,
        last: number(last)?,
        depth: u32::from(indent(text) > 0),
    })
}

/// Returns the last line of the definition that begins on `line`, judging by indentation.
fn last_line(line: usize, lines: &[&str]) -> usize {
    let base = indent(lines.get(line - 1).copied().unwrap_or_default());
    let mut last = line;
    for (text, next) in lines.iter().zip(1..).skip(line).take(MAX_LINES) {
        let word = text.trim();
        if word.is_empty() {
            continue;
        }
        if indent(text) <= base {
            if word.starts_with('}') || word == "end" {
                return next;
            }
            // A line that starts with one of these continues the signature.
            if !word.starts_with([')', ']', '{']) {
                break;
            }
        }
        last = next;
    }
    last
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}
