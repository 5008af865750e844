//! Translates the ignore rules of a repository for a directory below the one they are in. Pure.

use globset::GlobBuilder;

/// Returns rules with the same meaning for a directory below, to be put at its top. `below` are the names on the way
/// from the directory with `rules`.
pub(super) fn lowered(rules: &str, below: &[&str]) -> String {
    rules.lines().flat_map(|rule| lower(rule, below)).map(|rule| rule + "\n").collect()
}

fn lower(rule: &str, below: &[&str]) -> Vec<String> {
    if rule.trim().is_empty() || rule.starts_with('#') {
        return Vec::new();
    }
    let (no, pattern) = rule.strip_prefix('!').map_or(("", rule), |pattern| ("!", pattern));
    let (pattern, end) = pattern.strip_suffix('/').map_or((pattern, ""), |pattern| (pattern, "/"));
    if !pattern.contains('/') {
        // The pattern matches a name at any depth.
        return vec![rule.to_owned()];
    }
    let names: Vec<&str> = pattern.trim_start_matches('/').split('/').collect();
    let mut found = Vec::new();
    descend(&names, below, &mut found);
    found.sort();
    found.dedup();
    found.into_iter().map(|rest| format!("{no}/{rest}{end}")).collect()
}

/// Collects what is left of a pattern's `names` after matching the directories in `below`. Finds nothing if the pattern
/// is about other directories, or about one of these as a whole.
fn descend(names: &[&str], below: &[&str], found: &mut Vec<String>) {
    match (names, below) {
        ([], _) => {}
        (names, []) => found.push(names.join("/")),
        (["**", rest @ ..], [_, deeper @ ..]) => {
            descend(rest, below, found);
            descend(names, deeper, found);
        }
        ([name, rest @ ..], [first, deeper @ ..]) => {
            if matches(name, first) {
                descend(rest, deeper, found);
            }
        }
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    glob.is_ok_and(|glob| glob.compile_matcher().is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_translated_for_the_directory_below() {
        let rules = "# words\n\n*.log\n!keep.log\nout/\n/a/b/x\n/a/*/y/\n/other/x\n/a\na/b/\n**/z\n**/b/v\na/**/w\n!/a/b/\\*\n/**\n";
        let lowered = lowered(rules, &["a", "b"]);
        let wanted = [
            "*.log",
            "!keep.log",
            "out/",
            "/x",
            "/y/",
            "/**/z",
            "/**/b/v",
            "/v",
            "/**/w",
            "!/\\*",
            "/**",
        ];
        let mut lines: Vec<&str> = lowered.lines().collect();
        let mut wanted = wanted.to_vec();
        lines.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(lines, wanted);
    }

    #[test]
    fn rules_at_the_top_keep_their_meaning() {
        let rules = "*.log\n/a/b\n!x/\na/**\n";
        assert_eq!(lowered(rules, &[]), "*.log\n/a/b\n!x/\n/a/**\n");
    }
}
