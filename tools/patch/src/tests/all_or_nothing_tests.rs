//! Answers that would lose a part, that are cut off, or that only show a change: nothing of them is applied. The files
//! are `f` with the lines `a`, `b` and `c`, `g` with `b`, and a page.

use config::ApplyStrategy;

use crate::tests::testing::Files;
use crate::{ApplyPlan, PatchLimits, PatchScope, Refusal, prepare};

const DIFF: &str = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n";
const OTHER: &str = "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-b\n+B\n";
const BLOCK: &str = "f\n<<<<<<< SEARCH\na\n=======\nA\n>>>>>>> REPLACE\n";
const PAGE: &str = "<p>&lt;hr&gt;</p>\n<hr>\n<b>x</b>\n";

/// Plans `answer`; without `declared`, every file may change.
fn plan(declared: Option<&str>, answer: &str) -> Result<ApplyPlan, Refusal> {
    let files = Files::default().file("f", "a\nb\nc\n").file("g", "b\n").file("page", PAGE);
    let declared = declared.map(|path| [crate::tests::testing::path(path)].into());
    let scope = PatchScope { declared, ..PatchScope::default() };
    let (auto, limits) = (ApplyStrategy::Auto, PatchLimits::default());
    prepare(answer.as_bytes(), &scope, auto, &limits, &|path| files.read(path))
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n{body}*** End Patch\n")
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Returns those of `answers` that are applied; empty if all are refused.
fn applied(declared: Option<&str>, answers: &[String]) -> String {
    let applied = answers.iter().filter(|answer| plan(declared, answer).is_ok());
    applied.flat_map(|answer| [answer.as_str(), "\n----\n"]).collect()
}

#[test]
fn nothing_next_to_a_change_in_any_form_is_lost() {
    for answer in [DIFF.to_owned(), BLOCK.to_owned(), patch(""), format!("```\n{}```\n", patch(""))]
    {
        assert!(plan(None, &answer).is_ok(), "{answer}");
        assert!(
            plan(None, &format!("Here it is:\n\n{answer}\nThat is all.\n")).is_ok(),
            "{answer}"
        );
    }
    let beside = [
        "2. and\n\n   --- a/g\n   +++ b/g\n   @@ -1 +1 @@\n   -b\n   +B\n",
        "> --- a/g\n> +++ b/g\n> @@ -1 +1 @@\n> -b\n> +B\n",
        "- g:\n\n  g\n  <<<<<<< SEARCH\n  b\n  =======\n  B\n  >>>>>>> REPLACE\n",
        "g\n<<<< SEARCH\nb\n====\nB\n>>>> REPLACE\n",
        "```python new.py\nprint(1)\n```\n",
        "[... remaining blocks omitted ...]\n",
        "+more\n-c\n",
        "\u{2212}c\n",
        "g\n```text\n",
    ];
    for change in [DIFF, BLOCK, &patch("")] {
        let answers = beside.map(|beside| format!("{change}\n{beside}"));
        assert_eq!(applied(None, &answers), "");
    }
    assert_eq!(applied(None, &[format!("-b\n+B\n\n{DIFF}")]), "");
}

#[test]
fn another_form_is_accepted_only_if_every_line_has_its_place() {
    let answers = [
        format!("{BLOCK}\ng\n```\nB\n```\n"),
        format!("{BLOCK}In g:\n{}", BLOCK.strip_prefix("f\n").unwrap()),
        BLOCK.replace(">>>>>>> REPLACE", "*** Delete File: LICENSE"),
        BLOCK.replace("\nA\n", "\nA\n```\n").replace("f\n<", "f\n```\n<"),
        format!("<!-- superseded\n{BLOCK}-->\nNothing to change.\n"),
        BLOCK.replace('\n', "\r\n"),
        BLOCK.replace("A\n", "A\n\\ No newline at end of file\n"),
        patch("\nextra = 3\n"),
        patch("*** End of File\n"),
        patch("*** Add File: new\n+1\n\n+2\n"),
        patch("").replace("@@", "@@ class B:"),
        patch("").replace("File: f", "File: f 2024-01-02 10:11:12"),
        "--- a/f\n+++ b/f\n@ @@\n- a\n+ A\n@@ @@\n- c\n+ C\n".to_owned(),
        "--- a/f\n+++ b/f\n@@ @@\n  a\n- b\n+    B\n".to_owned(),
        "--- a/f\n+++ b/f\n@@ @@\n  a\n- b\n+ re".to_owned(),
        "```diff f\n@@ -1 +1 @@\n-a\n+A\n\n**g**\n\n@@ -1 +1 @@\n-b\n+B\n```\n".to_owned(),
        "g\n```diff f\n@@ -1 +1 @@\n-a\n+A\n```\n".to_owned(),
        "```diff f\n@@ -0,0 +1 @@\n+A\n```\n".to_owned(),
    ];
    assert_eq!(applied(None, &answers), "");
}

#[test]
fn json_may_contain_only_a_diff() {
    let (diff, other) = (json(DIFF), json(OTHER));
    for answer in [
        format!("{{\"diff\": {diff}}}"),
        format!("{{\"path\": \"f\", \"patch\": {diff}, \"note\": \"done\"}}"),
    ] {
        assert!(plan(None, &answer).is_ok(), "{answer}");
    }
    let answers = [
        format!("{{\"diff\": {diff}, \"diff\": {other}}}"),
        format!("{{\"diff\": {diff}, \"patch\": {other}}}"),
        format!("[{{\"diff\": {diff}}}, {{\"path\": \"g\", \"delete\": true}}]"),
        format!("{{\"diff\": {diff}, \"reverse\": true}}"),
        format!("{{\"path\": \"g\", \"diff\": {diff}}}"),
        format!("{{\"path\": \"docs/p.md\", \"content\": {}}}", json(&format!("Example:\n{DIFF}"))),
        format!("[\"git\", \"apply\", \"-R\", {diff}]"),
        format!("{{\"diff\": {diff}}}\n{{\"diff\": {other}}}"),
        format!("{{\"diff\": {}}}", json(&format!("{DIFF}\nq = 1\n"))),
    ];
    assert_eq!(applied(None, &answers), "");
}

#[test]
fn changes_in_reasoning_are_never_applied() {
    let draft = BLOCK.replace("\nA\n", "\ndraft\n");
    let answers = [
        format!("<think>\nMaybe\n{draft}No, that br"),
        format!("<think>\n{}No.\n</think>\nI need to see more first.\n", patch("")),
        format!("Maybe\n{draft}No.\n</think>\nI need to see more first.\n"),
    ];
    assert_eq!(applied(None, &answers), "");
    let made = plan(None, &format!("<think>\n{draft}</think>\n{BLOCK}")).unwrap();
    let after = made.changes[0].after.as_ref().unwrap();
    assert_eq!(after.bytes, "A\nb\nc\n");
}

#[test]
fn a_change_that_is_only_shown_is_not_applied() {
    let answers = [
        format!("docs/p.md\n\n````md\n# How\n\n```diff\n{DIFF}```\n````\n"),
        format!("Do not do this:\n\n````text\nFor instance:\n```diff\n{DIFF}```\n````\n"),
        format!("```python\nHELP = '''\n{DIFF}'''\n```\n"),
        format!("<write path=\"docs/p.md\">\nUse it so:\n\n{BLOCK}</write>\n"),
    ];
    assert_eq!(applied(None, &answers), "");
    assert!(plan(None, &format!("````\n```diff\n{DIFF}```\n````\n")).is_ok(), "only wrapped twice");
    let after_fence = "```\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,3 @@\n+1\n+2\n\n```\n3```\n";
    assert_eq!(
        applied(None, &[after_fence.to_owned()]),
        "",
        "a line of the file is after the fence"
    );
    // Each fence surrounds all others, and none is closed.
    assert_eq!(applied(None, &["```x\n".repeat(200_000) + DIFF]), "");
}

#[test]
fn hunks_without_names_are_not_assigned_to_another_file_than_the_one_named_nearby() {
    let hunk = "@@ @@\n-b\n+B\n";
    assert!(plan(Some("f"), &format!("```diff\n{hunk}```\n")).is_ok());
    let answers = [format!("```diff g\n{hunk}```\n"), format!("### g\n\n```diff\n{hunk}```\n")];
    assert_eq!(applied(Some("f"), &answers), "");
    assert_eq!(applied(None, &[format!("```diff g\n{DIFF}```\n")]), "");
}

#[test]
fn an_answer_that_ends_inside_a_fence_may_have_been_cut_anywhere() {
    let long = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+return compute\n";
    assert!(plan(None, &format!("```diff\n{long}")).is_ok(), "only the fence is missing");
    let answers = [
        format!("```diff\n{}", long.strip_suffix("ute\n").unwrap()),
        "```diff\n--- a/f\n+++ b/f\n@@ @@\n a\n-b\n".to_owned(),
        format!("```diff\n{DIFF}```\n\n```diff\n--- a/g\n"),
        format!("```diff\n{DIFF}--- /dev/null\n+++ b/n.py\n"),
        format!("{DIFF}\nb.py\n```diff\n"),
        "f\n```\n<<<<<<< SEARCH\na\n=======\nA\n>>>>>>> REPLACE\n".to_owned(),
    ];
    assert_eq!(applied(None, &answers), "");
}

#[test]
fn entities_are_decoded_only_if_the_file_has_none() {
    let hunk = |body: &str| format!("--- a/page\n+++ b/page\n@@ @@\n{body}");
    let answers =
        [hunk("-&lt;hr&gt;\n+&lt;br&gt;\n"), hunk(" &lt;b&gt;x&lt;/b&gt;\n+<i>1 &lt; 2</i>\n")];
    assert_eq!(applied(None, &answers), "");
}

#[test]
fn a_hunk_that_matches_loosely_elsewhere_may_already_be_applied() {
    let files = Files::default().file("f", "a  b\nc\nx\nd\n\na b\nc\nd\n");
    let answer = "--- a/f\n+++ b/f\n@@ -9,4 +9,3 @@\n a b\n c\n-x\n d\n";
    let refusal = crate::tests::testing::plan_of(&files, &["f"], answer).unwrap_err();
    assert_eq!(refusal.mismatches[0].reason.code(), "ambiguous_hunk");
}
