//! Cases in which the engine chooses or omits something: nearby places, copied line numbers, sections put aside.

use proptest::prelude::*;

use crate::tests::testing::{Files, applied, path, plan_of};
use crate::*;

/// Creates a file of `len` unique lines, except that `alike` is at each of the given lines, from 1.
fn file_with(alike: &[&str], at: &[usize], len: usize) -> String {
    let mut lines: Vec<String> = (1..=len).map(|n| format!("line {n}")).collect();
    for start in at {
        for (index, text) in alike.iter().enumerate() {
            lines[start - 1 + index] = (*text).to_owned();
        }
    }
    lines.join("\n") + "\n"
}

const ALIKE: [&str; 3] = ["}", "", "#[test]"];

fn insertion(stated: usize) -> String {
    format!("@@ -{stated},3 +{stated},4 @@\n }}\n \n+// new\n #[test]\n")
}

#[test]
fn a_hunk_is_placed_next_to_its_line_although_it_also_matches_far_away() {
    let before = file_with(&ALIKE, &[16, 99, 181, 264], 300);
    for stated in 261..=267 {
        let (after, repairs) = applied(&before, &insertion(stated)).unwrap();
        let lines: Vec<&str> = after.lines().collect();
        assert_eq!((lines[262], lines[265], lines[266]), ("line 263", "// new", "#[test]"));
        let near = (stated != 264).then_some((Tolerance::Near, Some(264)));
        assert_eq!(repairs, Vec::from_iter(near), "{stated}");
    }
    let plan = plan_of(
        &Files::default().file("f", &before),
        &["f"],
        &format!("--- a/f\n+++ b/f\n{}", insertion(263)),
    );
    let told = plan.unwrap().repairs[0].to_string();
    assert!(
        told.starts_with("f: hunk 1: chose the match") && told.ends_with("at line 264"),
        "{told}"
    );
}

#[test]
fn a_tie_is_refused() {
    for (places, stated) in [
        (&[16, 264][..], 260),
        (&[16, 264], 268),
        (&[225, 264], 263),
        (&[16, 264, 303], 265),
        (&[261, 264], 262),
    ] {
        let before = file_with(&ALIKE, places, 400);
        let refused = applied(&before, &insertion(stated));
        assert_eq!(refused, Err(Reason::AmbiguousHunk), "{places:?} {stated}");
    }
    let far_enough = file_with(&ALIKE, &[224, 264, 304], 400);
    assert!(applied(&far_enough, &insertion(263)).is_ok());
}

#[test]
fn a_loose_match_or_a_finished_change_nearby_is_a_tie_as_well() {
    let mut before = file_with(&ALIKE, &[16, 264], 300);
    assert!(applied(&before, &insertion(263)).is_ok());
    let loosely = file_with(&["  }", "", " #[test]"], &[280], 300);
    for (at, line) in loosely.lines().enumerate().skip(279).take(3) {
        before = before.replace(&format!("line {}\n", at + 1), &format!("{line}\n"));
    }
    assert_eq!(applied(&before, &insertion(263)), Err(Reason::AmbiguousHunk));
    let done = file_with(&["}", "", "// new", "#[test]"], &[280], 300);
    let before: Vec<&str> = done.lines().collect();
    let twice = file_with(&ALIKE, &[16, 264], 300);
    let merged =
        twice.lines().zip(&before).enumerate().map(|(at, (a, b))| if at < 279 { a } else { *b });
    let merged = merged.collect::<Vec<_>>().join("\n") + "\n";
    assert_eq!(applied(&merged, &insertion(263)), Err(Reason::AmbiguousHunk));
}

#[test]
fn near_is_not_needed_where_only_other_hunks_moved_the_lines() {
    // The second hunk uses line numbers of the new file: its lines are there once the first is applied.
    let before = file_with(&ALIKE, &[16, 262, 102], 300);
    let hunks = format!("@@ -259,2 +259,4 @@\n line 259\n+}}\n+\n line 260\n{}", insertion(264));
    let (after, _) = applied(&before, &hunks).unwrap();
    assert_eq!(after.lines().filter(|line| *line == "// new").count(), 1);
    assert_eq!(after.lines().nth(265), Some("// new"));
}

/// A part of a file below a heading, with the same lines as any other part.
fn part(heading: &str) -> String {
    format!("{heading}\n    check(x)\n    y = x * 2\n    return y\n\n")
}

#[test]
fn a_line_number_that_the_heading_contradicts_is_refused() {
    let before = part("def alpha(x):") + &part("def beta(x):");
    let hunk = |line: usize, heading: &str| {
        format!(
            "@@ -{line},3 +{line},3 @@ {heading}\n     check(x)\n-    y = x * 2\n+    y = x * 3\n     return y\n"
        )
    };
    assert_eq!(applied(&before, &hunk(2, "def beta(x):")), Err(Reason::AmbiguousHunk));
    assert_eq!(applied(&before, &hunk(7, "def alpha(x):")), Err(Reason::AmbiguousHunk));
    for (line, heading) in [
        (2, "def alpha(x):"),
        (7, "def beta(x):"),
        (2, "def gamma(x):"),
        (2, "check(x)"),
        (7, "def be"),
    ] {
        let after = applied(&before, &hunk(line, heading)).map(|(after, _)| after);
        let changed = after.unwrap().lines().position(|line| line.ends_with('3'));
        assert_eq!(changed, Some(line), "{heading}");
    }
    let others = part("int alpha(int x) {") + &part("void beta(int x) {");
    let heading = "int alpha(int x) {";
    assert_eq!(applied(&others, &hunk(7, heading)), Err(Reason::AmbiguousHunk));
    let without_context = |stated: usize| {
        format!("@@ -{stated},2 +{stated},1 @@ def alpha(x):\n-    check(x)\n     y = x * 2\n")
    };
    for line in [2, 7] {
        let after = applied(&before, &without_context(line));
        assert!(after.is_ok(), "the heading is right above, or of context left out");
    }
    let many: String = (0..20).map(|n| part(&format!("def of_{n}(x):"))).collect();
    assert_eq!(applied(&many, &hunk(2, "def of_19(x):")), Err(Reason::AmbiguousHunk));
    let first = without_context(97).replace("alpha", "of_0");
    assert_eq!(applied(&many, &first), Err(Reason::AmbiguousHunk));
    let elsewhere = before.replacen("y = x * 2", "y = x * 4", 2).replacen('4', "2", 1);
    assert!(applied(&elsewhere, &hunk(2, "def beta(x):")).is_ok(), "it does not match there");
    let files = Files::default().file("f", &before);
    let answer = format!("--- a/f\n+++ b/f\n{}", hunk(2, "def beta(x):"));
    let told = plan_of(&files, &["f"], &answer).unwrap_err().for_model();
    for text in ["at line 2, as its header states", "at line 7, below `def beta(x):`"] {
        assert!(told.contains(text), "{told}");
    }
}

#[test]
fn a_line_number_that_the_other_hunks_contradict_is_refused() {
    let before = file_with(&ALIKE, &[20, 30, 40, 50, 60], 80);
    let change = |stated: usize, line: usize| {
        format!("@@ -{stated} +{stated} @@\n-line {line}\n+new {line}\n")
    };
    let refused = |hunks: [String; 3]| applied(&before, &hunks.concat()).err();
    let (ambiguous, insertion) = (Some(Reason::AmbiguousHunk), insertion(30));
    let middle = || insertion.clone();
    assert_eq!(refused([change(5, 5), middle(), change(56, 56)]), None);
    assert_eq!(refused([change(8, 5), middle(), change(56, 56)]), None, "nothing is 3 lines up");
    assert_eq!(refused([change(5, 15), middle(), change(56, 56)]), ambiguous, "10 lines down");
    assert_eq!(refused([change(5, 5), middle(), change(66, 56)]), ambiguous, "10 lines up");
    assert_eq!(refused([change(2, 35), middle(), change(56, 56)]), ambiguous, "not in order");
    assert_eq!(refused([change(35, 35), middle(), change(56, 56)]), None, "no order at all");
    assert_eq!(refused([change(30, 5), middle(), change(56, 56)]), ambiguous, "the same line");
    let files = Files::default().file("f", &before);
    let answer = format!("--- a/f\n+++ b/f\n{}{insertion}", change(5, 15));
    let told = plan_of(&files, &["f"], &answer).unwrap_err().for_model();
    for text in ["at line 30, as its header states, but also at line 40", "hunk 1 is at line 15"] {
        assert!(told.contains(text), "{told}");
    }
}

#[test]
fn copied_line_numbers_are_removed() {
    let before = "one\ntwo\n\nfour\nfive\n";
    for hunk in [
        "@@ -2,3 +2,3 @@\n    2| two\n    3|\n-   4| four\n+   4| 4\n",
        "@@ -1,3 +1,3 @@\n    2| two\n    3|\n-   4| four\n+4\n",
        "@@ @@\n   2| two\n   3|\n-  4| four\n+4\n",
    ] {
        let (after, repairs) = applied(before, hunk).unwrap();
        assert_eq!(after, "one\ntwo\n\n4\nfive\n", "{hunk}");
        assert!(repairs.contains(&(Tolerance::Numbered, Some(2))), "{repairs:?}");
    }
    let crlf =
        applied(&before.replace('\n', "\r\n"), "@@ -4 +4 @@\n-   4| four\n+   4| 4\n").unwrap();
    assert_eq!(crlf.0, "one\r\ntwo\r\n\r\n4\r\nfive\r\n");
    let wrong = "@@ -2,3 +2,3 @@\n    2| two\n    3|\n-   5| four\n+   5| 4\n";
    assert_eq!(applied(before, wrong), Err(Reason::HunkNotFound));
}

#[test]
fn numbers_that_are_content_stay() {
    let listing = "   1| a\n   2| b\n   3| c\n";
    let right = "@@ -2 +2 @@\n-   2| b\n+   2| B\n";
    assert_eq!(
        applied(listing, right).unwrap(),
        ("   1| a\n   2| B\n   3| c\n".to_owned(), vec![])
    );
    let shown = "@@ -2 +2 @@\n-   2|    2| b\n+   2| B\n";
    assert_eq!(applied(listing, shown), Err(Reason::HunkNotFound), "the added line is ambiguous");
    let table = "@@ -1,2 +1,3 @@\n one\n+  12| x\n two\n";
    assert_eq!(applied("one\ntwo\n", table).unwrap().0, "one\n  12| x\ntwo\n");
}

/// Lines, some of which look numbered, with these spaces before the number.
fn listing(spaces: &str) -> impl Strategy<Value = Vec<String>> {
    let numbered = proptest::string::string_regex(&format!("{spaces}[1-9]\\| ?[ab]?")).unwrap();
    proptest::collection::vec(prop_oneof!["[ab]{0,2}".boxed(), numbered.boxed()], 1..9)
}

proptest! {
    #[test]
    fn a_diff_without_copied_numbers_is_applied_unchanged(before in listing(" {0,4}"), after in listing(" {0,4}"), context in 0_usize..4) {
        let [before, after] = [before, after].map(|lines| lines.join("\n") + "\n");
        prop_assume!(before != after);
        let diff = similar::TextDiff::from_lines(&before, &after);
        let hunks = diff.unified_diff().context_radius(context).to_string();
        if let Ok((made, repairs)) = applied(&before, &hunks) {
            prop_assert_eq!(made, after);
            prop_assert_eq!(repairs, vec![]);
        }
    }

    #[test]
    fn copied_numbers_never_lead_to_a_wrong_text(before in listing(" {0,2}"), after in listing(" {0,2}"), context in 0_usize..4, added in 0..3) {
        let [before, after] = [before, after].map(|lines| lines.join("\n") + "\n");
        prop_assume!(before != after);
        let diff = similar::TextDiff::from_lines(&before, &after);
        let mut hunks = String::new();
        for hunk in diff.unified_diff().context_radius(context).iter_hunks() {
            hunks += &format!("{}\n", hunk.header());
            let is_numbered = hunk.iter_changes().any(|change| change.old_index().is_some());
            for change in hunk.iter_changes() {
                let number = change.old_index().or(change.new_index().filter(|_| added > 0));
                let number = number.filter(|_| is_numbered).map(|at| at + 1);
                let line = change.value().trim_end();
                let line = number.map_or_else(|| line.to_owned(), |number| numbered(line, number));
                let line = if number.is_some() && line.is_empty() { format!("{:>4}|", number.unwrap()) } else { line };
                hunks += &format!("{}{line}\n", change.tag());
            }
        }
        if let Ok((made, _)) = applied(&before, &hunks) {
            let trim = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
            prop_assert_eq!(trim(&made), trim(&after), "{}", hunks);
        }
    }
}

const CODE: &str = "def total(items):\n    return sum(items)\n";

/// Returns what is put aside of a diff that changes `cart.py` and has another section.
fn aside(added: &str, section: &str) -> Result<Vec<PutAside>, Reason> {
    let files = Files::default()
        .file("cart.py", CODE)
        .file("helpers.py", "def old_way():\n    pass\n")
        .file("CHANGELOG.md", "# Changes\n")
        .file("test_cart.py", "def test_total():\n    assert True\n");
    let rest = format!(
        "--- a/cart.py\n+++ b/cart.py\n@@ -1,2 +1,2 @@\n def total(items):\n-    return sum(items)\n+{added}\n"
    );
    let forms = [format!("{rest}{section}"), format!("{section}{rest}")];
    let [last, first] = forms.map(|answer| plan_of(&files, &["cart.py"], &answer));
    assert_eq!(last.is_ok(), first.is_ok(), "the order does not matter");
    let plan = last.map_err(|refusal| refusal.mismatches[0].reason)?;
    assert_eq!(
        plan.changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(),
        ["cart.py"]
    );
    Ok(plan.put_aside)
}

const CHANGELOG: &str = "--- a/CHANGELOG.md\n+++ b/CHANGELOG.md\n@@ -1 +1,3 @@\n # Changes\n+\n+- total: max of items\n";

#[test]
fn a_section_that_the_rest_does_not_need_is_put_aside_and_kept() {
    let kept = aside("    return max(items)", CHANGELOG).unwrap();
    let expected = PutAside { path: path("CHANGELOG.md"), text: CHANGELOG.trim_end().to_owned() };
    assert_eq!(kept, [expected]);
    let other = "--- a/test_cart.py\n+++ b/test_cart.py\n@@ -1,2 +1,2 @@\n def test_total():\n-    assert True\n+    assert False\n";
    assert_eq!(aside("    return max(items)", other).unwrap().len(), 1);
}

#[test]
fn a_section_that_the_rest_needs_is_not_put_aside() {
    let helper = "--- a/helpers.py\n+++ b/helpers.py\n@@ -1,2 +1,2 @@\n-def old_way():\n+def best(items):\n     pass\n";
    let created = "--- /dev/null\n+++ b/lib/rules.py\n@@ -0,0 +1 @@\n+LIMIT = 3\n";
    let module = created.replace("rules.py", "__init__.py");
    let moved = "--- a/helpers.py\n+++ b/helpers.py\n@@ -1,2 +1 @@\n-def old_way():\n     pass\n";
    let renamed = "diff --git a/helpers.py b/more.py\nrename from helpers.py\nrename to more.py\n";
    let into = "diff --git a/helpers.py b/cart.py\nrename from helpers.py\nrename to cart.py\n";
    for (added, section) in [
        ("    return best(items)", helper),
        ("    return rules.check(items)", created),
        ("    return lib.check(items)", &module),
        ("    return items[:LIMIT]", created),
        ("    return old_way()", moved),
        ("    return max(items)", renamed),
    ] {
        assert_eq!(aside(added, section), Err(Reason::UndeclaredFile), "{added}");
    }
    assert!(aside("    return max(items)", into).is_err());
    for (added, section) in [("    return max(items)", helper), ("    return max(items)", created)]
    {
        assert_eq!(aside(added, section).unwrap().len(), 1, "{section}");
    }
}

#[test]
fn a_section_for_a_forbidden_path_refuses_the_whole_diff() {
    for (at, reason) in [
        (".git/config", Reason::GitDirWrite),
        ("../out", Reason::PathEscape),
        ("/etc/passwd", Reason::AbsolutePath),
        (".deepseek/config.toml", Reason::UndeclaredFile),
    ] {
        let section = format!("--- /dev/null\n+++ {at}\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(aside("    return max(items)", &section), Err(reason), "{at}");
    }
}

#[test]
fn a_section_that_does_not_apply_is_not_put_aside() {
    let missing = "--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-a\n+b\n";
    let there = "--- /dev/null\n+++ b/helpers.py\n@@ -0,0 +1 @@\n+a\n";
    let content = "+++ helpers.py\n@@ @@\n-    pass\n+    return\n";
    for section in [missing, there, content] {
        let refused = aside("    return max(items)", section);
        assert_eq!(refused, Err(Reason::UndeclaredFile), "{section}");
    }
}

#[test]
fn what_several_undeclared_files_share_is_said_once() {
    let declared: Vec<String> = (0..14).map(|number| format!("src/{number:02}.py")).collect();
    let declared: Vec<&str> = declared.iter().map(String::as_str).collect();
    let diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n-a\n+b\n";
    let files = Files::default().file("x.py", "a\n").file("y.py", "a\n");
    let told = plan_of(&files, &declared, diff).unwrap_err().for_model();
    assert!(told.contains("x.py: undeclared_file") && told.contains("y.py: undeclared_file"));
    let list = "src/11.py and 2 more.";
    for said in [list, "Change declared files only."] {
        assert_eq!(told.matches(said).count(), 1, "{said} in {told}");
    }
}

#[test]
fn nothing_is_put_aside_if_nothing_would_be_left() {
    let files = Files::default().file("cart.py", CODE).file("CHANGELOG.md", "# Changes\n");
    let reason = |answer: &str| {
        let refusal = plan_of(&files, &["cart.py"], answer).unwrap_err();
        refusal.mismatches.iter().map(|mismatch| mismatch.reason).collect::<Vec<_>>()
    };
    assert_eq!(reason(CHANGELOG), [Reason::UndeclaredFile]);
    let section = |old: &str, new: &str| {
        format!(
            "--- a/cart.py\n+++ b/cart.py\n@@ -1,2 +1,2 @@\n-{old}\n+{new}\n     return sum(items)\n{CHANGELOG}"
        )
    };
    let there_already = section("def sums(items):", "def total(items):");
    assert_eq!(reason(&there_already), [Reason::UndeclaredFile]);
    let misplaced = section("def sums(items):", "def other(items):");
    assert_eq!(reason(&misplaced), [Reason::HunkNotFound], "only what the author can fix");
}

#[test]
fn a_hunk_without_old_lines_is_placed_only_if_all_others_are_where_they_say() {
    let before = file_with(&[], &[], 20);
    let insertion = "@@ -5,0 +6 @@\n+new\n";
    let change = |line: usize| {
        format!("@@ -{line} +{} @@\n-line 12\n+line twelve\n", line + usize::from(line > 5))
    };
    let (after, _) = applied(&before, &format!("{insertion}{}", change(12))).unwrap();
    assert_eq!(after.lines().nth(5), Some("new"));
    for line in [11, 13, 15] {
        let moved = applied(&before, &format!("{insertion}{}", change(line)));
        assert_eq!(moved, Err(Reason::NoAnchor), "{line}");
    }
    // The top of the file needs no number, and a hunk without a number says nothing about others.
    let top = format!("@@ -0,0 +1 @@\n+new\n{}", change(15));
    assert!(applied(&before, &top).unwrap().0.starts_with("new\nline 1\n"));
    assert!(applied(&before, &format!("{insertion}@@\n-line 12\n+line twelve\n")).is_ok());
}
