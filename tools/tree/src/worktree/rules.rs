//! Ignore rules of a repository, as they hold for a directory below where they stand. Pure.

use globset::GlobBuilder;

/// What the rules of a directory say about one below it, whose names from there are `below`: rules with the same meaning, to
/// stand at the top of it.
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
        // It holds for a name, at any depth.
        return vec![rule.to_owned()];
    }
    let names: Vec<&str> = pattern.trim_start_matches('/').split('/').collect();
    let mut found = Vec::new();
    descend(&names, below, &mut found);
    found.sort();
    found.dedup();
    found.into_iter().map(|rest| format!("{no}/{rest}{end}")).collect()
}

/// What is left of a pattern's `names` after those of the directories on the way; nothing if it is about others, or about one
/// of them as a whole.
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
    fn rules_are_lowered_to_the_directory_they_are_about() {
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
    fn at_the_top_they_are_as_they_were() {
        let rules = "*.log\n/a/b\n!x/\na/**\n";
        assert_eq!(lowered(rules, &[]), "*.log\n/a/b\n!x/\n/a/**\n");
    }
}
