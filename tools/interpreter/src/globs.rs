//! Converts globs to regular expressions, and recognizes paths. Pure.

/// Converts a glob to a regular expression over whole paths. `**` matches any directories, `*` and `?` stay within a
/// name, `{a,b}` matches either. A glob without `/` matches names in any directory; one that ends in `/` matches
/// everything below that directory.
pub(crate) fn regular(glob: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let mut regular = String::from(if glob.contains('/') { "^" } else { "(^|/)" });
    let (mut rest, mut open) = (glob, 0_usize);
    while let Some(c) = rest.chars().next() {
        let (taken, part) = match c {
            '*' if rest.starts_with("**/") => (3, "(.*/)?".to_owned()),
            '*' if rest.starts_with("**") => (2, ".*".to_owned()),
            '*' => (1, "[^/]*".to_owned()),
            '?' => (1, "[^/]".to_owned()),
            '{' => {
                open += 1;
                (1, "(".to_owned())
            }
            '}' if open > 0 => {
                open -= 1;
                (1, ")".to_owned())
            }
            ',' if open > 0 => (1, "|".to_owned()),
            _ => (c.len_utf8(), regex::escape(c.encode_utf8(&mut [0; 4]))),
        };
        regular.push_str(&part);
        rest = rest.get(taken..).unwrap_or_default();
    }
    regular.push_str(if glob.ends_with('/') { ".*$" } else { "$" });
    regular
}

/// Returns whether a text can only be a path: words separated by `/`, with a file extension.
pub(crate) fn is_surely_path(text: &str) -> bool {
    let is_of_path = |c: char| c.is_alphanumeric() || "_-./+@".contains(c);
    let Some((above, name)) = text.rsplit_once('/') else { return false };
    let is_named = |(stem, ending): (&str, &str)| {
        !stem.is_empty() && (1..=5).contains(&ending.len()) && !ending.starts_with(char::is_numeric)
    };
    !above.is_empty()
        && !text.contains("//")
        && text.chars().all(is_of_path)
        && name.rsplit_once('.').is_some_and(is_named)
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn globs_match_paths() {
        for (glob, path, expected) in [
            ("*.rs", "src/a.rs", true),
            ("a.rs", "src/aa.rs", false),
            ("src/*.rs", "src/a.rs", true),
            ("./src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/b/c/a.rs", true),
            ("**/*.{rs,py}", "b/a.py", true),
            ("src/", "src/b/a.rs", true),
            ("src/", "lib/src/a.rs", false),
            ("src/**", "src/b/a.rs", true),
            ("a+b?.md", "a+bc.md", true),
            ("tests/*.rs", "tests.rs", false),
        ] {
            let regular = Regex::new(&regular(glob)).unwrap();
            assert_eq!(regular.is_match(path), expected, "{glob} {path}: {regular}");
        }
    }

    #[test]
    fn paths_are_recognized() {
        for path in ["src/a.rs", "crates/core/flags/defs.rs", "./a-b/c.test.ts"] {
            assert!(is_surely_path(path), "{path}");
        }
        for text in
            ["a.rs", "a b/c.rs", "https://example.org/x.html", "1/2.5", "src/", "/x.y", "a/b\nc.d"]
        {
            assert!(!is_surely_path(text), "{text}");
        }
    }
}
