//! Decides whether a request looks large enough to ask a model to split it into lanes. Pure: it counts and does not
//! understand.

use search::{TermKind, extract};
use tools::words::is_han;

/// Points for each list item and each path.
const POINTS_EACH: usize = 10;
/// Maximum number of list items counted, and of paths.
const MOST_EACH: usize = 4;
/// Maximum number of words counted: prose alone is not a reason to split.
const MOST_WORDS: usize = 30;
/// First components that make `src/parser` a path, unlike `and/or`.
const ROOTS: [&str; 16] = [
    "app", "apps", "bin", "cmd", "crates", "doc", "docs", "examples", "internal", "lib",
    "packages", "pkg", "scripts", "src", "test", "tests",
];

/// Returns true if a request reaches `threshold` points, so that a model may be asked to split it.
pub fn worth_planning(request: &str, threshold: u32) -> bool {
    points(request) >= usize::try_from(threshold).unwrap_or(usize::MAX)
}

/// Counts one point per word, and ten for each list item and for each file or directory named.
fn points(request: &str) -> usize {
    let prose = outside_fences(request);
    let listed = listed(&prose).min(MOST_EACH);
    let named = named(&prose).min(MOST_EACH);
    words(&prose).min(MOST_WORDS) + POINTS_EACH * (listed + named)
}

/// Returns the request without fenced blocks: a pasted log is not a list of tasks.
fn outside_fences(request: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in request.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// Counts words; two Chinese characters count as one.
fn words(prose: &str) -> usize {
    let words = prose.split(|c: char| c.is_whitespace() || is_han(c));
    let words = words.filter(|word| word.contains(char::is_alphanumeric)).count();
    words + prose.chars().filter(|c| is_han(*c)).count().div_ceil(2)
}

/// Counts list items and numbered points at the start of lines, and `1) … 2) …` within lines.
fn listed(prose: &str) -> usize {
    let (mut items, mut inline) = (0, 0);
    for line in prose.lines() {
        let mut words = line.split_whitespace().peekable();
        // A marker followed by nothing does not count.
        if words.next_if(|word| is_marker(word)).is_some() {
            items += usize::from(words.peek().is_some());
            continue;
        }
        if line.trim_start().split_once('、').is_some_and(|(number, _)| is_number(number)) {
            items += 1;
            continue;
        }
        for word in words {
            // Only numbers that count up from one: `(see 3)` is not a list item.
            inline += usize::from(inner_number(word) == Some(inline + 1));
        }
    }
    // A single `1)` is not a list.
    items + if inline > 1 { inline } else { 0 }
}

/// Matches `-`, `*`, `+`, `•`, `1.`, `1)` and `(1)`.
fn is_marker(word: &str) -> bool {
    matches!(word, "-" | "*" | "+" | "•")
        || word.strip_suffix('.').is_some_and(is_number)
        || inner_number(word).is_some()
}

/// Returns the number in `1)` or `(1)`.
fn inner_number(word: &str) -> Option<usize> {
    let number = word.strip_suffix(')')?;
    let number = number.strip_prefix('(').unwrap_or(number);
    is_number(number).then(|| number.parse().ok())?
}

fn is_number(text: &str) -> bool {
    (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Counts the distinct files and directories named.
fn named(prose: &str) -> usize {
    let paths: Vec<String> = extract(prose)
        .into_iter()
        .filter(|term| matches!(term.kind, TermKind::Path { .. }))
        .map(|term| term.text.trim_start_matches("./").to_owned())
        .collect();
    let is_counted = |path: &&String| {
        // Between Chinese characters a path is found both with and without them.
        let holds_another = path.contains(is_han)
            && paths.iter().any(|other| other != *path && path.contains(other.as_str()));
        !holds_another && is_surely_path(path, prose)
    };
    let mut counted: Vec<&String> = paths.iter().filter(is_counted).collect();
    counted.sort();
    counted.dedup();
    counted.len()
}

/// Returns true unless the path may be a pair of words such as `and/or`.
fn is_surely_path(path: &str, prose: &str) -> bool {
    let Some((first, rest)) = path.split_once('/') else { return true };
    path.rsplit('/').next().is_some_and(|name| name.contains('.'))
        || rest.contains('/')
        || ROOTS.contains(&first)
        || prose.contains(&format!("{path}/"))
        || prose.contains(&format!("`{path}`"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOG: &str = "It fails, why?\n```\n- a/b.rs\n- c/d.rs\n- e/f.rs\nand many more words\n```";

    #[test]
    fn points_of_requests() {
        for (request, worth) in [
            ("", 0),
            ("Fix the typo in README", 15),
            ("build the UI, the API and the tests, and document them", 11),
            ("Use read/write locks and/or I/O threads", 6),
            ("Rename src/cart.rs to src/basket.rs", 24),
            ("Look at ./src/cart.rs, src/cart.rs and `src/cart.rs`:12", 16),
            (
                "Add rate limiting to api/, tests for it in tests/api, and a page in docs/limits.md",
                45,
            ),
            ("See https://example.com/a/b/c.html (and 3) for version 2.", 7),
            ("Do this: 1) a parser 2) a printer 3) the docs", 41),
            ("Two things:\n- a parser\n- a printer\n-\n", 26),
            ("1. a parser\n2. a printer\n10) docs\n(4) tests\n5. more", 52),
            ("修复解析器", 3),
            ("1、修复src/main.rs中的错误\n2、更新docs/说明.md", 50),
            (LOG, 3),
        ] {
            assert_eq!(points(request), worth, "{request}");
        }
    }

    #[test]
    fn reaching_the_threshold_is_enough() {
        let request = "Two things:\n- a parser\n- a printer";
        assert!(worth_planning(request, 26));
        assert!(!worth_planning(request, 27));
        assert!(worth_planning("", 0));
    }

    #[test]
    fn words_and_paths_are_counted_up_to_a_maximum() {
        let report = "it does not work when I press the button that I made yesterday ".repeat(50);
        assert_eq!(points(&report), MOST_WORDS);
        let files: Vec<String> = (0..50).map(|n| format!("src/f{n}.rs")).collect();
        assert_eq!(points(&files.join(" ")), MOST_WORDS + POINTS_EACH * MOST_EACH);
    }

    proptest! {
        #[test]
        fn points_have_a_maximum(request in "(\\PC|- |\n|1\\) |a/b/c|```){0,60}") {
            prop_assert!(points(&request) <= MOST_WORDS + 2 * POINTS_EACH * MOST_EACH);
        }
    }
}
