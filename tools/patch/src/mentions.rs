//! Recognizes lines beside a diff that are about something which it does not do: requests to a program, diffs that are
//! struck out, and mentions of other files. Pure.

use tree::RepoPath;

use super::blocks;

/// The maximum length of the ending of a file name.
const MAX_ENDING: usize = 8;

/// Returns true if a line can only be meant for a program, or is a line of a diff that is struck out: `NEED_FILE|a.py`,
/// `<tool_call>{"name": …`, `~~--- a/a.py~~`.
pub(super) fn is_of_another_kind(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    match line.first() {
        Some(b'N' | b'`') => asks(line),
        Some(b'<') => memchr::memmem::find(line, b">{\"").is_some(),
        Some(b'~') => is_struck(line),
        _ => false,
    }
}

/// Returns true for `NEED_CONTEXT|a.py`: a word in capitals and a bar.
fn asks(line: &[u8]) -> bool {
    let rest = line.strip_prefix(b"`").unwrap_or(line).strip_prefix(b"NEED_").unwrap_or_default();
    let word = rest.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
    word > 0 && rest.get(word) == Some(&b'|')
}

/// Returns true for a header of a diff that is struck out.
fn is_struck(line: &[u8]) -> bool {
    let marks: [&[u8]; 4] = [b"--- ", b"+++ ", b"@@ ", b"diff --git "];
    let rest = line.strip_prefix(b"~~").unwrap_or_default();
    marks.iter().any(|mark| rest.starts_with(mark))
}

/// Returns true if a line below a diff names a file that the diff does not touch: one that exists; or one below a
/// directory that exists, in backquotes, or at the head of something.
pub(super) fn names_another(
    line: &[u8],
    touched: &[&RepoPath],
    exists: &dyn Fn(&RepoPath) -> bool,
) -> bool {
    let is_below_a_name = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    let is_touched = |name: &RepoPath| {
        let name = name.as_str();
        touched
            .iter()
            .map(|path| path.as_str())
            .any(|path| is_below_a_name(path, name) || is_below_a_name(name, path))
    };
    let is_quoted =
        |name: &RepoPath| memchr::memmem::find(line, format!("`{name}`").as_bytes()).is_some();
    let is_heading = line.trim_ascii_end().ends_with(b":");
    let is_below = |name: &RepoPath| {
        let has_parent = || name.parent().is_some_and(|parent| exists(&parent));
        name.as_str().contains('/') && (is_heading || is_quoted(name) || has_parent())
    };
    let is_file = |name: &&RepoPath| is_like_a_file(name) && !is_touched(name);
    blocks::paths_in(line).iter().filter(is_file).any(|name| exists(name) || is_below(name))
}

/// Returns true if a name is like that of a file: `a.py`, `Makefile`, `README`; not `1.5`.
pub(super) fn is_like_a_file(name: &RepoPath) -> bool {
    let name = name.name();
    let is_ending = |text: &str| {
        (1..=MAX_ENDING).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let has_ending =
        name.rsplit_once('.').is_some_and(|(stem, it)| !stem.is_empty() && is_ending(it));
    let is_capital = || name.len() > 3 && name.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_recipe = || name.ends_with("file") && name.starts_with(|c: char| c.is_ascii_uppercase());
    has_ending || is_recipe() || is_capital()
}

#[cfg(test)]
mod tests {
    use super::super::testing::path;
    use super::*;

    #[test]
    fn lines_for_programs_and_struck_diffs_are_recognized() {
        for line in [
            "NEED_CONTEXT|a.py:1-20",
            "`NEED_FILE|a.py|why`",
            "<tool_call>{\"name\": \"run\"}</tool_call>",
            "~~--- a/a.py~~",
            "~~@@ -1 +1 @@~~",
        ] {
            assert!(is_of_another_kind(line.as_bytes()), "{line}");
        }
        for line in ["NEED_FOO is set.", "NEED|a", "<b>{x}</b>", "~~old~~", "`x`", "No.", ""] {
            assert!(!is_of_another_kind(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn other_files_are_told_apart_from_those_of_the_diff_and_from_other_words() {
        let touched = path("app/cache.py");
        let exists = |name: &RepoPath| {
            matches!(name.as_str(), "app" | "app/cache.py" | "README.md" | "docs" | "Makefile")
        };
        let names = |line: &str| names_another(line.as_bytes(), &[&touched], &exists);
        for line in [
            "Il faut aussi modifier `src/other.py`.",
            "`app/other.py` も修正する必要があります。",
            "See README.md.",
            "and in app/other.py:",
            "lib/other.py:",
            "s/foo/bar/ in docs/a.md",
            "`Makefile`: [-old-]{+new+}",
        ] {
            assert!(names(line), "{line}");
        }
        for line in [
            "`app/cache.py` is faster now, as `cache.py` and b/app/cache.py show.",
            "It uses `os.path` and 1.5/2.5 of it, e.g. and/or.",
            "It is from src/other.py in another project.",
            "See https://example.com/docs",
            "Done.",
        ] {
            assert!(!names(line), "{line}");
        }
    }
}
