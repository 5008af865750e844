//! Explains how to write as a diff what a shell command next to the diff does to a file. Pure.

use tree::RepoPath;

/// Commands that change the text of files.
const EDITORS: &str = "awk cat cp echo ed ex gawk gsed patch perl printf python python3 ruby sed tee touch truncate vi vim";

/// Returns what to write instead of the command in `line`, which names the file `path`; `None` if it is not a command.
pub(super) fn instead(line: &[u8], path: &RepoPath, exists: bool) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let words: Vec<&str> = text
        .split_whitespace()
        .skip_while(|word| matches!(*word, "$" | "%" | "#" | "sudo"))
        .collect();
    let (name, rest) = match words.as_slice() {
        ["git", name @ ("mv" | "rm"), rest @ ..] | [name, rest @ ..] => (*name, rest),
        [] => return None,
    };
    let is_path = |word: &&&str| RepoPath::parse(word).is_ok() && !word.starts_with('-');
    let named: Vec<&&str> = rest.iter().filter(is_path).collect();
    let how = match (name, named.as_slice()) {
        ("mv", [from, to]) => format!(
            "a renaming as `diff --git a/{from} b/{to}`, `rename from {from}`, `rename to {to}`"
        ),
        ("rm" | "unlink", [_, ..]) => {
            format!(
                "a deletion as `--- a/{path}`, `+++ /dev/null`, and every line of the file after `-`"
            )
        }
        ("chmod", [_, ..]) => {
            "only changes of text: the mode of a file that exists stays".to_owned()
        }
        (name, _) if !EDITORS.split(' ').any(|it| it == name) => return None,
        _ if exists => {
            format!("its result as hunks: `--- a/{path}`, `+++ b/{path}`, `@@ -l,n +l,n @@`")
        }
        _ => new_file(path),
    };
    Some(format!("runs `{name}`. No command is run: write {how}."))
}

/// Describes the form of a new file.
pub(super) fn new_file(path: &RepoPath) -> String {
    format!(
        "a new file as `--- /dev/null`, `+++ b/{path}`, `@@ -0,0 +1,n @@`, and its lines after `+`"
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::path;
    use super::*;

    #[test]
    fn the_form_of_what_a_command_does_is_shown() {
        let of = |line: &str| instead(line.as_bytes(), &path("a.py"), true);
        for (line, form) in [
            ("sed -i 's/a/b/' a.py", "hunks"),
            ("$ ed a.py <<'E'", "hunks"),
            ("awk '{print}' a.py > t && mv t a.py", "hunks"),
            ("git mv a.py b.py", "rename to b.py"),
            ("$ rm a.py", "+++ /dev/null"),
            ("chmod +x a.py", "mode"),
        ] {
            assert!(of(line).is_some_and(|text| text.contains(form)), "{line}");
        }
        for line in ["import os", "", "cargo test a.py", "a.py"] {
            assert_eq!(of(line), None, "{line}");
        }
        let made = instead(b"cat > a.py <<E", &path("a.py"), false).unwrap();
        assert!(made.contains("--- /dev/null"));
    }
}
