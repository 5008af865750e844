//! Detects added lines that were shortened: dots stand for the rest of a line that otherwise resembles the removed one.
//! Pure.

use super::body::{HunkLine, Kind};
use super::elision;
use super::file_style::FileStyle;
use super::single_marks::{replaced, same_start};

/// Languages in which few lines end in dots.
const LANGUAGES: [&str; 24] = [
    "rs", "c", "h", "cc", "cpp", "hpp", "cxx", "java", "go", "kt", "cs", "swift", "py", "pyi",
    "js", "mjs", "ts", "tsx", "jsx", "sql", "css", "php", "json", "toml",
];
/// The minimum length of a part that two lines share.
const SHARED: usize = 8;

/// Returns an added line that ends in dots in place of the rest of a line of code.
pub(super) fn found<'h, 'a>(
    style: &FileStyle<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<&'h HunkLine<'a>> {
    let mut added = body.iter().enumerate().filter(|(_, line)| line.kind == Kind::Added);
    added.find_map(|(at, line)| {
        let is_shortened = elision::ends_in_dots(line.text)
            && style.is_of(&LANGUAGES)
            && replaced(body, at).any(|old| shortens(style, old.text, line.text));
        is_shortened.then_some(line)
    })
}

/// Returns true if `new` is the start of a line that resembles `old`, and dots.
fn shortens(style: &FileStyle<'_>, old: &[u8], new: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(new) else { return false };
    let head = text.trim_end().trim_end_matches(['.', '…']);
    let full = old.trim_ascii();
    // Python has an object that is written as dots.
    let open = |text: &[u8]| {
        let count = |signs: &[u8]| text.iter().filter(|byte| signs.contains(byte)).count();
        count(b"([{") > count(b")]}")
    };
    let may_be_object = style.is_of(&["py", "pyi"])
        && !head.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '"')
        && (open(full) || !open(head.as_bytes()));
    let head = head.trim().as_bytes();
    let is_code = elision::is_code(full)
        && full.iter().any(|byte| b"=(){}[];\"".contains(byte))
        && !elision::ends_in_dots(full);
    let start = same_start(head, full);
    let end = head.get(head.len().saturating_sub(SHARED)..).unwrap_or_default();
    let goes_on_alike =
        || start >= SHARED && full.len() > head.len() && memchr::memmem::find(full, end).is_some();
    !may_be_object
        && is_code
        && full.len() >= start + 2
        && (3 * start >= 2 * head.len() && start > 2 || goes_on_alike())
}

#[cfg(test)]
mod tests {
    use super::super::body::read_all;
    use super::*;

    fn is_shortened(name: &str, hunk: &str) -> bool {
        let lines: Vec<&[u8]> = hunk.lines().map(str::as_bytes).collect();
        found(&FileStyle::of(b"x\n", name), &read_all(&lines, 1)).is_some()
    }

    #[test]
    fn the_start_of_a_line_and_dots_is_found() {
        for (name, hunk) in [
            ("a.py", "-    return Cache(size=64)\n+    return Cache(si..."),
            ("a.py", "-    return Cache(size=64)\n+    return Cache(si\u{2026}"),
            ("a.py", "-    return Cache(size=64)\n+    return Cache(size=..."),
            ("a.rs", "-let a = f(b, c);\n+let a = f(b, ..."),
            (
                "a.js",
                "-var a=[\"k0\",\"k1\",\"k2\",\"k3\",\"k4\"]\n+var a=[\"K0\",\"k1\",\"k2\",\"k3...",
            ),
            (
                "a.js",
                "-var a=[\"k0\",\"k1\",\"k2\",\"k3\",\"k4\"]\n+var a=[\"k0\",\"k5\",\"k2\",\"k3...",
            ),
        ] {
            assert!(is_shortened(name, hunk), "{hunk}");
        }
    }

    #[test]
    fn dots_that_may_be_meant_are_left() {
        for (name, hunk) in [
            ("a.py", "-def f(x): pass\n+def f(x): ..."),
            ("a.py", "-def f(x=1,\n+def f(x=..."),
            ("a.py", "-x: int = 1\n+x: int = ..."),
            ("a.py", "-    Loading the file.\n+    Loading..."),
            ("a.py", "-# Loading (the file).\n+# Loading..."),
            ("a.cpp", "-    std::forward<Args>(args)\n+    std::forward<Args>(args)..."),
            ("a.yml", "-title: \"Loading\"\n+title: Loading..."),
            ("a.sh", "-echo \"Loading\"\n+echo Loading..."),
            ("a.md", "-f(x) and more\n+f(x)..."),
            ("a.rs", "-let a = 0..n;\n+let a = 0.."),
            ("a.js", "-f(a)\n+log(loading..."),
        ] {
            assert!(!is_shortened(name, hunk), "{hunk}");
        }
    }
}
