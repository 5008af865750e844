//! Answers of which a part was once lost, or something else was written: each gives the intended change or a refusal.

use super::testing::{Files, applied, open_plan_of, path, plan_of};
use super::{Reason, Refusal, Tolerance};

/// Applies `answer` to the file `f`; returns the new text or the first reason for refusing it.
#[track_caller]
fn after(before: &str, answer: &str) -> Result<String, Reason> {
    let files =
        if before.is_empty() { Files::default() } else { Files::default().file("f", before) };
    let reason = |refusal: Refusal| refusal.mismatches[0].reason;
    let plan = plan_of(&files, &["f", "g.py"], answer).map_err(reason)?;
    let change = plan.changes.iter().find(|change| change.path == path("f"));
    let state = change.and_then(|change| change.after.as_ref());
    Ok(state.map_or(before.to_owned(), |state| String::from_utf8(state.bytes.to_vec()).unwrap()))
}

const NEW: &str = "--- /dev/null\n+++ b/f\n";
const NAMES: &str = "--- a/f\n+++ b/f\n";
const ABC: &str = "a\nb\n\nc\n";

#[test]
fn hunks_on_the_result_of_others_are_placed_in_order() {
    let file = "one\nv=1\nend\n\ntwo\nv=1\nend\n\n";
    let hunks = "@@ -1,3 +1,3 @@\n one\n-v=1\n+v=2\n end\n@@ -5,2 +5,2 @@\n-two\n+TWO\n v=1\n\
        @@ -5,3 +5,3 @@\n TWO\n-v=1\n+v=2\n end\n@@ -6,3 +6,2 @@\n v=2\n end\n-\n";
    assert_eq!(applied(file, hunks).unwrap_err(), Reason::HunkNotFound);
    let (text, _) = applied(file, hunks.split("@@ -6").next().unwrap()).unwrap();
    assert_eq!(text, "one\nv=2\nend\n\nTWO\nv=2\nend\n\n");
}

#[test]
fn lines_that_a_hunk_added_itself_are_not_a_second_place() {
    let hunks = "@@ -1,3 +1,2 @@\n a\n-b\n c\n@@ -4,2 +4,3 @@\n e\n }\n+tail\n";
    let (text, _) = applied("a\nb\nc\nd\ne\n}\n", hunks).unwrap();
    assert_eq!(text, "a\nc\nd\ne\n}\ntail\n");
}

#[test]
fn lines_without_markers_after_a_blank_one_are_not_prose() {
    let new = format!("{NEW}@@ -0,0 +1,5 @@\n+import os\n\nX = 1\nY = 2\nZ = 3\n");
    assert_eq!(after("", &new), Err(Reason::NewFileHasOldLines));
    assert_eq!(after("", &format!("```diff\n{new}```\n")), Err(Reason::NewFileHasOldLines));
    let hunk = format!("{NAMES}@@ -1,2 +1,5 @@\n a\n-b\n+B\n\nx\ny\n");
    assert_eq!(after(ABC, &hunk), Err(Reason::HunkNotFound));
    // Inside a fence, a wrong count makes no difference.
    let fenced = format!("```diff\n{}```\n", hunk.replace("+1,5", "+1,2"));
    assert_eq!(after(ABC, &fenced.replace("-1,2", "-1,3")), Err(Reason::HunkNotFound));
    let prose = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n\nThat is all.\n");
    assert_eq!(after(ABC, &prose).unwrap(), "a\nB\n\nc\n");
}

#[test]
fn a_bare_fence_does_not_end_the_text() {
    let new = format!("```diff\n{NEW}@@ -0,0 +1,5 @@\n+Run:\n```\n+cargo test\n```\n+Done.\n```\n");
    assert_eq!(after("", &new), Err(Reason::StrayLine));
    let hunk = format!("```diff\n{NAMES}@@ -1,2 +1,5 @@\n a\n b\n+x\n```\n+y\n```\n");
    assert_eq!(after(ABC, &hunk), Err(Reason::StrayLine));
    let indented = format!("```diff\n{NAMES}@@ -1,2 +1,5 @@\n a\n b\n+x\n```\n     y\n```\n");
    assert_eq!(after(ABC, &indented), Err(Reason::StrayLine));
}

#[test]
fn a_fence_that_is_closed_twice_did_not_end_the_first_time() {
    let answer = |end: &str| {
        format!("```\n--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n\n a\n-b\n+B\n\n```\nC\n c{end}")
    };
    assert_eq!(after("a\nb\nc\n", &answer("```")), Err(Reason::StrayLine));
}

#[test]
fn a_summary_is_told_apart_from_changes_or_refused() {
    let answer =
        |blank: &str| format!("{NAMES}@@ -1,2 +1,2 @@\n{blank}-b\n+B\n\n+ Added the line\n");
    assert_eq!(after(ABC, &answer(" a\n")), Err(Reason::StrayLine));
    assert_eq!(after("a\nb\nc\n", &answer(" a\n")).unwrap(), "a\nB\nc\n");
    let uncounted = answer(" a\n").replace("-1,2 +1,2", "-1,9 +1,9");
    assert_eq!(after(ABC, &uncounted), Err(Reason::StrayLine));
}

#[test]
fn other_formats_next_to_a_diff_are_refused() {
    let diff = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    for other in [
        "------- SEARCH\nx\n=======\ny\n+++++++ REPLACE\n",
        "g.py\n<<<<<<<SEARCH\nx\n=======\ny\n>>>>>>>REPLACE\n",
        "`g.py`:\n```python\nx = 1\n```\n",
        "```python g.py\nx = 1\n```\n",
        "```python\n# g.py\nx = 1\n```\n",
        "*** Begin Patch\n*** Add File: g.py\n+x = 1\n*** End Patch\n",
    ] {
        for diff in [diff.clone(), format!("```diff\n{diff}```\n\n")] {
            assert_eq!(after(ABC, &(diff + other)), Err(Reason::UnsupportedFormat), "{other}");
        }
    }
}

#[test]
fn reasoning_without_an_opening_tag_is_removed() {
    let draft = format!("{NAMES}@@ -4 +4 @@\n-c\n+draft\n");
    let diff = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    for thought in [
        format!("Maybe\n{draft}no.\n</think>\n\n"),
        format!("{draft}</think>\n"),
        format!("Hm. <think>\n{draft}</think>\n"),
        format!("<thinking>\n{draft}</thinking>\n"),
        format!("< think >\n{draft}< /think >\n"),
        format!("&lt;think&gt;\n{draft}&lt;/think&gt;\n"),
        format!("Thinking...\n{draft}...done thinking.\n"),
        format!("<unused94>thought\n{draft}<unused95>\n"),
        format!("{draft}<\u{ff5c}end\u{2581}of\u{2581}thinking\u{ff5c}>\n"),
    ] {
        assert_eq!(after(ABC, &(thought.clone() + &diff)).unwrap(), "a\nB\n\nc\n", "{thought}");
    }
    let content = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+</think>\n");
    assert_eq!(after(ABC, &content).unwrap(), "a\n</think>\n\nc\n");
}

#[test]
fn text_glued_to_the_last_line_is_removed() {
    let diff = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B");
    let token = "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>";
    for answer in [
        format!("```diff\n{diff}```"),
        format!("```diff\n{diff}```\n"),
        format!("{diff}<|im_end|>"),
        format!("{diff}{token}\n"),
        format!("```diff\n{diff}\n```{token}"),
    ] {
        assert_eq!(after(ABC, &answer).unwrap(), "a\nB\n\nc\n", "{answer}");
    }
    let about = "a\nb\n<|im_end|>\n";
    assert_eq!(after(about, &format!("{diff}<|im_end|>")), Err(Reason::StrayLine));
    assert_eq!(after(ABC, &format!("{diff}\n+<|im_end|>\n")), Err(Reason::StrayLine));
    let comment = format!("```diff\n{diff}\n+/// ```\n").replace("+1,2", "+1,3");
    assert_eq!(after(ABC, &comment).unwrap(), "a\nB\n/// ```\n\nc\n");
}

#[test]
fn a_no_newline_marker_may_have_a_plus_before_it() {
    let end = "\\ No newline at end of file";
    let answer = |new: usize| format!("{NEW}@@ -0,0 +1,{new} @@\n+x\n+y\n+{end}\n");
    for new in [2, 3] {
        assert_eq!(after("", &answer(new)).unwrap(), "x\ny");
    }
    let of_diffs = format!("{NEW}@@ -0,0 +1,4 @@\n+@@ -1 +1 @@\n+-x\n++y\n+{end}\n");
    assert_eq!(after("", &of_diffs).unwrap(), format!("@@ -1 +1 @@\n-x\n+y\n{end}\n"));
}

#[test]
fn an_incomplete_change_is_refused() {
    let hunks = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -4 +4,3 @@\n-c\n";
    assert_eq!(after(ABC, &format!("```diff\n{NAMES}{hunks}```\n")), Err(Reason::TruncatedDiff));
    let cut = format!("{NAMES}@@ -1,2 +1,4 @@\n a\n-b\n\\ No ");
    assert_eq!(after("a\nb", &cut), Err(Reason::TruncatedDiff));
    let left_out = format!("{NAMES}@@ -1,2 +1,9 @@\n a\n-b\n\n[... remaining lines omitted ...]\n");
    assert_eq!(after(ABC, &left_out), Err(Reason::ElidedCode));
}

#[test]
fn changes_of_one_file_in_two_blocks_are_recorded() {
    let block = |hunk: &str| format!("```diff\n{NAMES}{hunk}```\n");
    let first = block("@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    let second = block("@@ -4 +4 @@\n-c\n+C\n");
    let answer = format!("{first}\nOr:\n\n{second}");
    let plan = plan_of(&Files::default().file("f", ABC), &["f"], &answer).unwrap();
    let told: Vec<Tolerance> = plan.repairs.iter().map(|repair| repair.tolerance).collect();
    assert_eq!(told, [Tolerance::Blocks]);
}

#[test]
fn empty_files_can_be_created_in_every_form() {
    for answer in [
        "--- /dev/null\n+++ b/f\n",
        "--- /dev/null\n+++ b/f\n@@ -0,0 +0,0 @@\n",
        "```diff\n--- /dev/null\n+++ b/f\n```\n",
        "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..e69de29\n",
    ] {
        assert_eq!(after("", answer).as_deref(), Ok(""), "{answer}");
    }
    // The content was lost.
    for answer in [
        "--- /dev/null\n+++ b/f\nimport os\n",
        "```diff\n--- /dev/null\n+++ b/f\n\nimport os\n```\n",
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n",
        "--- /dev/null\n+++ b/f",
    ] {
        assert!(after("", answer).is_err(), "{answer}");
    }
    assert_eq!(after("", "--- /dev/null\n+++ b/f\n+a\n+b\n").unwrap(), "a\nb\n");
    let two = "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n@@ -0,0 +3 @@\n+c\n";
    assert_eq!(after("", two).unwrap(), "a\nb\nc\n");
}

#[test]
fn names_of_another_file_begin_a_section_below_a_complete_one() {
    let edit = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    let outcome = |answer: &str| {
        let files = Files::default().file("f", ABC).file("h", "x\n");
        let plan = plan_of(&files, &["f", "g", "h"], answer)
            .map_err(|refusal| refusal.mismatches[0].reason)?;
        Ok(plan.changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>())
    };
    // A whole file without a hunk header.
    for file in ["--- /dev/null\n+++ b/g\n+1\n+\n+2\n", "--- a/h\n+++ /dev/null\n-x\n"] {
        assert_eq!(outcome(&format!("{edit}{file}")).unwrap().len(), 2, "{file}");
        assert_eq!(outcome(&format!("{file}{edit}")).unwrap().len(), 2, "{file}");
    }
    // An empty file without names.
    let git = "diff --git a/g b/g\nnew file mode 100644\n";
    for index in ["", "index 0000000..e69de29\n"] {
        assert_eq!(outcome(&format!("{git}{index}{edit}")).unwrap(), ["f", "g"], "{index}");
    }
    for wrong in [
        format!("{git}index 0000000..4d9ae35\n{edit}"),
        format!("{git}--- /dev/null\n+++ b/h\n@@ -0,0 +1 @@\n+y\n"),
        format!("diff --git a/g b/g\n{edit}"),
    ] {
        assert_eq!(outcome(&wrong), Err(Reason::ContradictoryHeaders), "{wrong}");
    }
}

#[test]
fn counted_lines_that_look_like_names_of_a_new_file_are_content() {
    let before = "a\n-- /dev/null\nb\n";
    let hunk = format!("{NAMES}@@ -1,3 +1,3 @@\n a\n--- /dev/null\n+++ c\n b\n");
    assert_eq!(after(before, &hunk).as_deref(), Ok("a\n++ c\nb\n"));
}

/// Returns the refusal of an answer for the file `f`, as shown to a model.
fn told(before: &str, answer: &str) -> String {
    let files = Files::default().file("f", before);
    plan_of(&files, &["f", "caf\u{e9}.py"], answer).unwrap_err().for_model()
}

#[test]
fn a_difference_is_shown_with_its_surroundings() {
    let long = "x = 1; ".repeat(40);
    let answer = format!("{NAMES}@@ -1,2 +1 @@\n-{long}slip\n b\n");
    let text = told(&format!("{long}slap\nb\n"), &answer);
    assert!(
        text.contains("They differ at column 283: `i` in the diff, `a` in the file."),
        "{text}"
    );
    assert!(text.contains("x = 1; slip`") && text.contains("x = 1; slap`"), "{text}");
}

#[test]
fn invisible_characters_are_named() {
    let hunk = |line: &str| format!("{NAMES}@@ -1,2 +1,2 @@\n-{line}\n+x\n b\n");
    let text = told("a\u{200b}c\nb\n", &hunk("ac"));
    assert!(text.contains("column 2: `c` in the diff, U+200B in the file"), "{text}");
    let text = told("a\nb\n", &hunk("a").replace("-a", "\u{2212}a"));
    assert!(
        text.contains("Line 4 of the diff begins with U+2212, which is not a marker."),
        "{text}"
    );
    let named = "--- a/caf\u{200b}\u{e9}.py\n+++ b/caf\u{200b}\u{e9}.py\n@@ -1 +1 @@\n-a\n+b\n";
    let text = told("a\n", named);
    assert!(text.contains("They differ at column 4: U+200B in the diff, U+00E9"), "{text}");
}

#[test]
fn advice_on_names_with_extra_text_gives_the_correct_headers() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    let advice = "write `--- a/caf\u{e9}.py` and `+++ b/caf\u{e9}.py`";
    for [old, new] in [
        ["\u{201c}a/caf\u{e9}.py\u{201d}", "\u{201c}b/caf\u{e9}.py\u{201d}"],
        ["a//caf\u{e9}.py", "b//caf\u{e9}.py"],
        ["https://h.org/o/blob/main/caf\u{e9}.py", "https://h.org/o/blob/main/caf\u{e9}.py"],
    ] {
        let text = told("a\n", &format!("--- {old}\n+++ {new}\n{hunk}"));
        assert!(text.contains(advice), "{old}: {text}");
    }
    let text = told("a\n", &format!("--- a//xcaf\u{e9}.py\n+++ b//xcaf\u{e9}.py\n{hunk}"));
    assert!(!text.contains(advice), "{text}");
}

#[test]
fn a_byte_order_mark_of_a_file_stays() {
    let file = "\u{feff}using A;\nusing B;\n";
    let hunk = format!("{NAMES}@@ -1,2 +1,3 @@\n-using A;\n+using AA;\n+using X;\n using B;\n");
    assert_eq!(after(file, &hunk).unwrap(), "\u{feff}using AA;\nusing X;\nusing B;\n");
    let without = format!("{NAMES}@@ -1 +1 @@\n-\u{feff}using A;\n+using A;\n");
    assert_eq!(after(file, &without).unwrap(), "using A;\nusing B;\n");
    let deleted = "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-using A;\n-using B;\n";
    assert_eq!(plan_of(&Files::default().file("f", file), &["f"], deleted).unwrap().removed(), 2);
}

#[test]
fn a_refusal_says_which_form_would_work() {
    let rename = told(ABC, "--- a/f\n+++ b/caf\u{e9}.py\n@@ -1 +1 @@\n-a\n+b\n");
    assert!(rename.contains("`rename from f`, `rename to caf\u{e9}.py`"), "{rename}");
    let nameless = told(ABC, "@@ -1 +1 @@\n-a\n+b\n");
    assert!(nameless.contains("\nno_file_header: "), "{nameless}");
    let whole = told(ABC, "```python\na\n```\n");
    assert!(whole.contains("Line 1 opens a code block"), "{whole}");
}

/// Plans `answer`; returns its changes or the reasons for refusing it, and the tolerances used.
fn made(files: &Files, declared: &[&str], answer: &str) -> (Vec<String>, Vec<Tolerance>) {
    let plan = match plan_of(files, declared, answer) {
        Ok(plan) => plan,
        Err(refusal) => return (vec![refusal.mismatches[0].reason.code().to_owned()], Vec::new()),
    };
    let told = |change: &tree::Change| {
        let text = change.after.as_ref().map_or_else(String::new, |state| {
            String::from_utf8_lossy(&state.bytes).replace('\n', " ")
        });
        format!("{:?} {}: {}", change.op, change.path, text.trim_end())
    };
    let repairs = plan.repairs.iter().map(|repair| repair.tolerance).collect();
    (plan.changes.iter().map(told).collect(), repairs)
}

#[test]
fn a_hunk_that_changes_nothing_is_skipped_next_to_others() {
    let file = "a\nb\nc\nd\ne\n";
    let files = Files::default().file("f", file);
    let outcome = |hunks: &str| made(&files, &["f"], &format!("{NAMES}{hunks}"));
    let changed = vec!["Modify f: a b c d E".to_owned()];
    let real = "@@ -4,2 +4,2 @@\n d\n-e\n+E\n";
    let unchanged = vec![Tolerance::Unchanged];
    assert_eq!(outcome(&format!("@@ -1,2 +1,2 @@\n a\n b\n{real}")), (changed.clone(), unchanged));
    // The hunk may have lost a marker, or does not match the file, or is the only one.
    for (hunks, reason) in [
        (format!("@@ -1,3 +1,2 @@\n a\n b\n c\n{real}"), "empty_hunk"),
        (format!("@@ -1,2 +1,2 @@\n a\n x\n{real}"), "empty_hunk"),
        ("@@ -1,2 +1,2 @@\n a\n b\n".to_owned(), "empty_hunk"),
    ] {
        assert_eq!(outcome(&hunks).0, [reason], "{hunks}");
    }
}

#[test]
fn a_file_without_a_hunk_is_skipped_before_others() {
    let files = Files::default().file("f", "a\n").file("g", "b\n");
    let outcome = |answer: &str| made(&files, &["f", "g"], answer);
    let [bare, real] = ["--- a/f\n+++ b/f\n", "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-b\n+B\n"];
    let changed = vec!["Modify g: B".to_owned()];
    assert_eq!(outcome(&format!("{bare}{real}")), (changed, vec![Tolerance::Unchanged]));
    // The rest may be lost.
    let indexed = format!("diff --git a/f b/f\nindex 1111111..2222222 100644\n{bare}");
    for answer in [format!("{real}{bare}"), bare.to_owned(), format!("{indexed}{real}")] {
        assert_eq!(outcome(&answer).0, ["empty_file_section"], "{answer}");
    }
}

#[test]
fn a_renamed_or_new_file_may_be_edited_in_a_separate_section() {
    let files = Files::default().file("f", "a\nb\n");
    let outcome = |answer: &str| made(&files, &["f", "g"], answer).0;
    let rename = "diff --git a/f b/g\nrename from f\nrename to g\n";
    let edit = |name: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n");
    let renamed = ["Rename { from: RepoPath(\"f\") } g: A b"];
    assert_eq!(outcome(&format!("{rename}{}", edit("g"))), renamed);
    assert_eq!(outcome(&format!("{}{rename}", edit("f"))), renamed);
    assert_eq!(outcome(&format!("{rename}{}", edit("f"))), renamed);
    let apart = |name: &str| format!("diff --git a/{name} b/{name}\n{}", edit(name));
    assert_eq!(outcome(&format!("{rename}{}", apart("g"))), renamed);
    assert_eq!(outcome(&format!("{rename}{}", apart("f"))), ["contradictory_file_ops"]);

    let create = "--- /dev/null\n+++ b/g\n@@ -0,0 +1,2 @@\n+a\n+b\n";
    assert_eq!(outcome(&format!("{create}{}", edit("g"))), ["Create g: A b"]);
    let more = "--- a/g\n+++ b/g\n@@ -0,0 +1 @@\n+c\n";
    assert_eq!(outcome(&format!("{create}{more}")), ["contradictory_file_ops"]);
    let other = edit("g").replace("-a", "-x");
    assert_eq!(outcome(&format!("{create}{other}")), ["hunk_not_found"]);
}

#[test]
fn a_path_with_accents_encoded_differently_must_be_unique() {
    let [composed, apart] = ["caf\u{e9}.py", "cafe\u{301}.py"];
    let edit = |name: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n");
    let files =
        |names: &[&str]| names.iter().fold(Files::default(), |files, name| files.file(name, "a\n"));
    for (given, there) in [(apart, composed), (composed, apart)] {
        let outcome = made(&files(&[there]), &[there], &edit(given));
        assert_eq!(outcome, (vec![format!("Modify {there}: b")], vec![Tolerance::Accents]));
        let exact = made(&files(&[composed, apart]), &[composed, apart], &edit(given));
        assert_eq!(exact, (vec![format!("Modify {given}: b")], Vec::new()));
    }
    let twins = ["e\u{301}\u{e9}.py", "\u{e9}e\u{301}.py"];
    assert_eq!(made(&files(&twins), &twins, &edit("\u{e9}\u{e9}.py")).0, ["undeclared_file"]);
}

#[test]
fn drafts_before_the_answer_are_removed_in_every_form() {
    let draft = format!("{NAMES}@@ -1 +1,2 @@\n a\n+DRAFT\n");
    let last = format!("{NAMES}@@ -4 +4 @@\n-c\n+D\n");
    for answer in [
        format!("{draft}</think>Here it is:\n{last}"),
        format!("<think>Hm.</think>\nOr so:\n<think>\n{draft}</think>\n{last}"),
        format!("<Think>\n{draft}</Think>\n{last}"),
        format!("[THINK]\n{draft}[/THINK]\n{last}"),
        format!("<draft>\n{draft}</draft>\n{last}"),
        format!(
            "<|channel|>analysis<|message|>\n{draft}<|end|><|channel|>final<|message|>\n{last}"
        ),
    ] {
        assert_eq!(after(ABC, &answer).as_deref(), Ok("a\nb\n\nD\n"), "{answer}");
    }
    let tags = format!("<try>\n{draft}</try>\n<last>\n{last}</last>\n");
    assert_eq!(after(ABC, &tags), Err(Reason::ContradictoryFileOps));
    let files = Files::default().file("f", ABC);
    let words = format!("{draft}\nThat is wrong. Instead of the above:\n\n{last}");
    let plan = plan_of(&files, &["f"], &words).unwrap();
    assert!(plan.repairs.iter().any(|repair| repair.tolerance == Tolerance::Blocks));
}

#[test]
fn hunks_for_another_file_are_not_applied_to_the_previous_one() {
    let first = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    for heading in ["### g.py", "Then in `g.py`:", "Index: g.py\n====", "*** g.py ***"] {
        let answer = format!("{first}\n{heading}\n\n@@ -4 +4 @@\n-c\n+C\n");
        assert_eq!(after(ABC, &answer), Err(Reason::ContradictoryHeaders), "{heading}");
    }
    let remark = format!("{first}\nAnd further down:\n\n@@ -4 +4 @@\n-c\n+C\n");
    assert_eq!(after(ABC, &remark).as_deref(), Ok("a\nB\n\nC\n"));
}

#[test]
fn a_block_about_a_declared_file_is_not_skipped() {
    let first = format!("```diff\n{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n```\n");
    for rest in [
        "2. Second:\n   ```diff\n   --- a/g.py\n   +++ b/g.py\n   @@ -1 +1 @@\n   -x\n   +y\n   ```\n",
        "```json\n{\"path\": \"g.py\", \"new\": \"y\"}\n```\n",
        "```xml\n<edit path=\"g.py\">y</edit>\n```\n",
        "Finally, create g.py.\n\nIt holds the words.\n\n```text\nhello\n```\n",
    ] {
        assert_eq!(after(ABC, &format!("{first}{rest}")), Err(Reason::UnsupportedFormat), "{rest}");
    }
    for rest in [
        "Try it:\n\n```sh\nmake\nmake check FILES=g.py\n```\n",
        "g.py stays.\n",
        "```text\nok\n```\n",
    ] {
        assert_eq!(after(ABC, &format!("{first}{rest}")).as_deref(), Ok("a\nB\n\nc\n"), "{rest}");
    }
}

#[test]
fn code_directly_after_a_hunk_is_not_skipped() {
    let hunk = format!("{NAMES}@@ -1,2 +1,3 @@\n a\n b\n+SRCS = main.c util.c\n");
    for code in ["parse.c emit.c\n", "d = 4\n", "}\n"] {
        assert_eq!(after(ABC, &format!("{hunk}{code}")), Err(Reason::StrayLine), "{code}");
        let fenced = format!("```diff\n{hunk}{code}```\n");
        assert_eq!(after(ABC, &fenced), Err(Reason::StrayLine), "{fenced}");
    }
    for remark in ["That is all.\n", "**Note**\n", "</diff>\n", "\n---\n\nDone.\n"] {
        assert!(after(ABC, &format!("{hunk}{remark}")).is_ok(), "{remark}");
    }
    // A line that closes something that the hunk opens belongs to the hunk.
    let script =
        format!("{NEW}@@ -0,0 +1,4 @@\n+#!/bin/sh\n+cat > c <<EOF\n+k=1\nEOF\nchmod 600 c\n");
    assert_eq!(after("", &script), Err(Reason::NewFileHasOldLines));
    let page = format!("```diff\n{NEW}@@ -0,0 +1,2 @@\n+<p>\n</p>\n```\n");
    assert_eq!(after("", &page), Err(Reason::NewFileHasOldLines));
}

#[test]
fn operations_also_count_below_names_and_alone() {
    let script = "--- /dev/null\n+++ b/g.py\nnew file mode 100755\n@@ -0,0 +1 @@\n+x\n";
    let plan = plan_of(&Files::default(), &["g.py"], script).unwrap();
    let mode = plan.changes[0].after.as_ref().unwrap().mode;
    assert_eq!(mode, tree::FileMode::of_file(true));
    let hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    let files = Files::default().file("f", ABC);
    let renamed = format!("rename from f\nrename to g.py\n{NAMES}{hunk}").replace("b/f", "b/g.py");
    let plan = plan_of(&files, &["f", "g.py"], &renamed).unwrap();
    assert_eq!(plan.changes[0].path, path("g.py"));
    for lines in ["old mode 100644\nnew mode 100755\n", "copy from f\ncopy to g.py\n"] {
        let behind = format!("{NAMES}{hunk}{lines}");
        assert_eq!(after(ABC, &behind), Err(Reason::StrayLine), "{lines}");
        assert!(after(ABC, &format!("{NAMES}{lines}{hunk}")).is_err(), "{lines}");
    }
}

/// Returns the reason for refusing `answer`, and the refusal as shown to a model.
fn refused(name: &str, before: &str, answer: &str) -> (Reason, String) {
    let files = Files::default().file(name, before);
    let refusal = plan_of(&files, &[name], answer).unwrap_err();
    (refusal.mismatches[0].reason, refusal.for_model())
}

#[test]
fn a_refusal_of_an_added_line_shows_the_line() {
    for (name, before, hunk, reason, told) in [
        (
            "a.go",
            "f\n\ta()\n\tb()\n",
            "@@ -2,2 +2,3 @@\n \ta()\n+    c()\n \tb()\n",
            Reason::IndentStyleMismatch,
            "Line 5 of the diff is indented with spaces where the file has tabs: `    c()`.",
        ),
        (
            "a.py",
            "x = 1\ny = 2\n",
            "@@ -1,2 +1 @@\n-x = 1\n-y = 2\n+# ...\n",
            Reason::ElidedCode,
            "Line 6 of the diff replaces code that it does not show: `# ...`.",
        ),
        (
            "a.py",
            "x = 1\n",
            "@@ -1 +1 @@\n-x = 1\n+x = 2\"\"\"\n",
            Reason::DamagedLine,
            "Line 5 of the diff ends in `\"\"\"`, which closes nothing in the file: `x = 2\"\"\"`.",
        ),
    ] {
        let (given, text) = refused(name, before, &format!("--- a/{name}\n+++ b/{name}\n{hunk}"));
        assert_eq!(given, reason, "{hunk}");
        assert!(text.contains(told), "{text}");
    }
    let new = "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+x = 1\n+y = 2\"\"\"\n";
    let refusal = plan_of(&Files::default(), &["a.py"], new).unwrap_err();
    assert!(refusal.for_model().contains("Line 5 of the diff ends in"), "{refusal}");
}

#[test]
fn quotes_around_the_diff_are_removed_from_its_last_line() {
    let diff = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B");
    assert_eq!(after(ABC, &format!("diff = \"\"\"\n{diff}\"\"\"")).unwrap(), "a\nB\n\nc\n");
    let glued = format!("{diff}\"\"\"");
    assert_eq!(after(ABC, &glued), Err(Reason::DamagedLine));
    assert_eq!(after(&format!("\"\"\"\n{ABC}"), &glued).unwrap(), "\"\"\"\na\nB\"\"\"\n\nc\n");
}

#[test]
fn a_statement_that_the_answer_is_incomplete_is_told_apart_from_remarks() {
    let diff = format!("```diff\n{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    for end in [
        "\n# (remaining hunks omitted for brevity)\n```\n",
        "```\n\n(continued in the next message…)\n",
        "```\n\n[output truncated]\n",
    ] {
        let reason = after(ABC, &format!("{diff}{end}")).unwrap_err();
        assert!([Reason::StrayLine, Reason::ElidedCode].contains(&reason), "{end}: {reason}");
    }
    for end in [
        "\n(The tests pass.)\n",
        "\n+1 line, -1 line in total.\n",
        "\n+-----+-----+\n| old | new |\n+-----+-----+\n",
        "\nThe rest of the file is unchanged.\n",
    ] {
        assert_eq!(after(ABC, &format!("{diff}```\n{end}")).unwrap(), "a\nB\n\nc\n", "{end}");
    }
    assert_eq!(after(ABC, &format!("{diff}```\n\n+1 more\n")), Err(Reason::StrayLine));
}

#[test]
fn names_that_are_not_headers_must_name_the_only_declared_file() {
    let hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    for names in ["### a/f\n### b/f", "---a/f\n+++b/f", "---- a/f\n++++ b/f"] {
        let files = Files::default().file("f", ABC);
        let plan = plan_of(&files, &["f"], &format!("```diff\n{names}\n{hunk}```\n")).unwrap();
        let told: Vec<Tolerance> = plan.repairs.iter().map(|repair| repair.tolerance).collect();
        assert_eq!(told, [Tolerance::NoHeader], "{names}");
        let both = plan_of(&files, &["f", "g.py"], &format!("```diff\n{names}\n{hunk}```\n"));
        assert_eq!(both.unwrap_err().mismatches[0].reason, Reason::NoFileHeader, "{names}");
    }
    let files = Files::default().file("f", ABC).file("g.py", ABC);
    let other = plan_of(&files, &["f"], &format!("```diff\n### a/g.py\n{hunk}```\n"));
    assert_eq!(other.unwrap_err().mismatches[0].reason, Reason::ContradictoryHeaders);
}

#[test]
fn a_refusal_of_a_format_names_the_closest_match() {
    let block = "f\n<<<<<<< SEARCH\na\nx\n=======\na\nB\n>>>>>>> REPLACE\n";
    let (reason, text) = refused("f", ABC, block);
    assert_eq!(reason, Reason::UnsupportedFormat);
    let place = "The closest match begins at line 1 of the file: the answer has `x` there, but line 2 of the file is `b`.";
    assert!(text.contains(place), "{text}");
    let past = block.replace("a\nx\n", "c\nx\n");
    assert!(refused("f", ABC, &past).1.contains("the file ends before that, at line 4."));
}

#[test]
fn lines_that_end_in_a_lone_carriage_return_are_refused() {
    let diff = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    let (reason, text) = refused("f", ABC, &diff.replace('\n', "\r"));
    assert_eq!(reason, Reason::UnsupportedFormat);
    assert!(text.contains("carriage return"), "{text}");
}

#[test]
fn blocks_that_repeat_or_complete_each_other_are_applied_and_recorded() {
    let block = |hunk: &str| format!("```diff\n{NAMES}{hunk}```\n");
    let [first, second] = ["@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "@@ -4 +4 @@\n-c\n+C\n"].map(block);
    let files = Files::default().file("f", ABC);
    let told = |answer: &str| {
        let plan = plan_of(&files, &["f"], answer).unwrap();
        plan.repairs.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let is_told =
        "f: applied every block of the answer that changes the file; they may be alternatives";
    assert_eq!(told(&format!("First attempt:\n\n{first}\nAnd the rest:\n\n{second}")), [is_told]);
    let twice = format!("Option A:\n\n{first}\nOption B:\n\n{first}");
    assert!(told(&twice).contains(&is_told.to_owned()), "{:?}", told(&twice));
    assert_eq!(after(ABC, &twice).unwrap(), "a\nB\n\nc\n");
    let other = block("@@ -1,2 +1,2 @@\n a\n-b\n+other\n");
    let reason = after(ABC, &format!("Option A:\n\n{first}\nOption B:\n\n{other}"));
    assert_eq!(reason, Err(Reason::ConflictingHunks));
}

/// Two functions with the same lines, far apart, the second with the lines `changed` inserted.
fn twins(changed: &str) -> String {
    let filler = "    x = 0\n".repeat(60);
    let part =
        |name: &str, more: &str| format!("def {name}(x):\n    open(x)\n{more}    close(x)\n\n");
    format!("{}{filler}\n{}", part("alpha", ""), part("beta", changed))
}

#[test]
fn a_hunk_is_not_moved_out_of_the_part_that_its_header_names() {
    let lines = " open(x)\n-    close(x)\n+    shut(x)\n".replace(" open", "     open");
    let changed = twins("    # new\n");
    for header in ["@@ -66,2 +66,2 @@ def beta(x):", "@@ def beta(x): @@"] {
        let answer = format!("{NAMES}{header}\n{lines}");
        assert_eq!(after(&changed, &answer), Err(Reason::AmbiguousHunk), "{header}");
    }
    for header in ["@@ -66,2 +66,2 @@ def alpha(x):", "@@ -66,2 +66,2 @@ def none(x):"] {
        let made = after(&changed, &format!("{NAMES}{header}\n{lines}")).unwrap();
        assert!(made.starts_with("def alpha(x):\n    open(x)\n    shut(x)\n"), "{header}");
    }
    let below = changed.replace("alpha", "gamma").replace("beta", "alpha").replace("gamma", "beta");
    let reversed: String = below.replace("    # new\n", "");
    let reversed = reversed.replacen("    open(x)\n", "    open(x)\n    # new\n", 1);
    let answer = format!("{NAMES}@@ -2,2 +2,2 @@ def beta(x):\n{lines}");
    assert_eq!(after(&reversed, &answer), Err(Reason::AmbiguousHunk), "another part is between");
}

#[test]
fn the_same_change_of_two_places_is_not_merged_into_one() {
    let hunk = |header: &str| format!("{header}\n     open(x)\n-    close(x)\n+    shut(x)\n");
    let changed = twins("    # new\n");
    let both = |a: &str, b: &str| after(&changed, &format!("{NAMES}{}{}", hunk(a), hunk(b)));
    assert_eq!(both("@@ -2,2 +2,2 @@", "@@ -66,2 +66,2 @@"), Err(Reason::AmbiguousHunk));
    assert_eq!(both("@@ def alpha(x): @@", "@@ def beta(x): @@"), Err(Reason::AmbiguousHunk));
    for twice in ["@@ -2,2 +2,2 @@", "@@ @@", "@@ -2,2 +2,2 @@ def alpha(x):"] {
        assert!(both(twice, twice).is_ok(), "{twice}");
    }
    assert!(both("@@ -2,2 +2,2 @@", "@@ -4,2 +4,2 @@").is_ok());
}

#[test]
fn a_new_file_that_is_far_too_short_was_cut_off() {
    let lines = "+x\n".repeat(20);
    let new = |said: usize| format!("```diff\n{NEW}@@ -0,0 +1,{said} @@\n{lines}```\n");
    for said in [31, 100] {
        assert_eq!(after("", &new(said)), Err(Reason::TruncatedDiff), "{said}");
    }
    for said in [15, 20, 21, 29] {
        assert_eq!(after("", &new(said)).unwrap(), "x\n".repeat(20), "{said}");
    }
    let short = format!("{NEW}@@ -0,0 +1,5 @@\n+x\n");
    assert_eq!(after("", &short).unwrap(), "x\n", "a few are miscounted");
}

#[test]
fn a_no_newline_marker_may_lack_its_backslash() {
    let end = "No newline at end of file";
    let new = format!("```diff\n{NEW}@@ -0,0 +1 @@\n+x\n{end}\n```\n");
    assert_eq!(after("", &new).unwrap(), "x");
    let added = format!("{NAMES}@@ -4 +4,2 @@\n c\n+{end}.\n");
    assert_eq!(after(ABC, &added).unwrap(), format!("{ABC}{end}.\n"));
}

#[test]
fn context_of_a_list_that_lost_its_markers_is_not_added() {
    let list = "+ added 19\n+ added 20\n+ added 21\n";
    let hunk = "@@ -1,3 +1,3 @@\n+ added 19\n-+ added 20\n++ added twenty\n+ added 21\n";
    assert_eq!(after(list, &format!("{NAMES}{hunk}")), Err(Reason::StrayLine));
    let added = "@@ -1,2 +1,3 @@\n a\n+ added\n b\n";
    assert_eq!(after(ABC, &format!("{NAMES}{added}")).unwrap(), "a\n added\nb\n\nc\n");
}

#[test]
fn a_change_made_under_another_heading_does_not_count_as_applied() {
    let done = twins("").replacen("    close(x)\n", "    audit(x)\n    close(x)\n", 1);
    let drifted = done.replace("def beta(x):\n    open(x)\n", "def beta(x):\n    open(x, 1)\n");
    let hunk = "     open(x)\n+    audit(x)\n     close(x)\n";
    for header in ["@@ -68,2 +68,3 @@ def beta(x):", "@@ def beta(x): @@"] {
        let answer = format!("{NAMES}{header}\n{hunk}");
        assert_eq!(after(&drifted, &answer), Err(Reason::HunkNotFound), "{header}");
    }
    let answer = format!("{NAMES}@@ -30,2 +30,3 @@ def alpha(x):\n{hunk}");
    assert_eq!(after(&drifted, &answer).unwrap(), drifted);
}

#[test]
fn a_hunk_without_numbers_may_build_on_the_one_before() {
    let file = format!("foo(x)\ndone(x)\n{}bar(x)\ndone(x)\n", "y\n".repeat(40));
    let first = "@@ @@\n-foo(x)\n+bar(x)\n done(x)\n";
    let second = "@@ @@\n bar(x)\n+more(x)\n done(x)\n";
    let both = format!("{NAMES}{first}{second}");
    assert_eq!(after(&file, &both), Err(Reason::AmbiguousHunk));
    assert!(after(&file, &format!("{NAMES}{second}")).is_ok());
    let apart = both.replace("+bar(x)", "+baz(x)");
    assert!(after(&file, &apart).is_ok());
}

#[test]
fn a_hunk_that_ends_in_a_change_before_its_counts_was_cut_off() {
    let file = "a\nb\nc\nd\ne\nf\ng\n";
    let cut = |counts: &str| format!("```diff\n{NAMES}@@ -1,{counts} @@\n a\n-b\n+B\n```\n");
    assert_eq!(after(file, &cut("5 +1,5")), Err(Reason::TruncatedDiff));
    for counts in ["2 +1,2", "2 +1,3", "3 +1,2"] {
        assert_eq!(after(file, &cut(counts)).unwrap(), file.replace('b', "B"), "{counts}");
    }
    assert_eq!(after("a\nb\n", &cut("5 +1,5")).unwrap(), "a\nB\n", "the file ends there as well");
    assert_eq!(after(file, &cut("5 +1,2")), Err(Reason::TruncatedDiff), "only removed lines");
    assert!(after(file, &cut("4 +1,2")).is_ok(), "two lines may be a miscount");
    let without_context = cut("6 +1,2").replace(" a\n", "-a\n+A\n");
    assert!(after(file, &without_context).is_ok(), "a diff without context");
}

#[test]
fn a_token_in_brackets_is_removed_from_an_added_line_if_nothing_else_has_its_name() {
    let diff = |old: &str| format!("{NAMES}@@ -1,2 +1,3 @@\n a\n {old}\n+d()[EOS]\n");
    assert_eq!(after("a\nb\n", &diff("b")).unwrap(), "a\nb\nd()\n");
    assert_eq!(after("a\nEOS = 3\n", &diff("EOS = 3")).unwrap(), "a\nEOS = 3\nd()[EOS]\n");
    let file = "a\nb\nc\nEOS = 3\n";
    assert_eq!(after(file, &diff("b")), Err(Reason::StrayLine), "the file has that name");
    let context = format!("{NAMES}@@ -1,2 +1,2 @@\n-a\n+A\n b[EOS]\n");
    assert_eq!(after("a\nb[EOS]\n", &context).unwrap(), "A\nb[EOS]\n");
}

#[test]
fn a_fence_before_a_token_is_removed_although_it_is_not_opened() {
    let diff = |old: &str, last: &str| format!("{NAMES}@@ -1,2 +1,3 @@\n a\n {old}\n+{last}\n");
    assert_eq!(after("a\nb\n", &diff("b", "d```<|im_end|>")).unwrap(), "a\nb\nd\n");
    assert_eq!(after("a\nb\n", &diff("b", "d```")).unwrap(), "a\nb\nd```\n");
    assert_eq!(after("a\n```\n", &diff("```", "d```<|im_end|>")).unwrap(), "a\n```\nd\n");
    assert_eq!(after("a\nb\n", &diff("b", "`d` ```d```</s>")).unwrap(), "a\nb\n`d` ```d```\n");
}

#[test]
fn code_in_a_fence_is_not_a_remark() {
    let diff = format!("```diff\n{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n\n");
    for code in ["}\n", "func helper() int {\n\treturn 1\n}\n", "x = 1\n"] {
        let answer = format!("{diff}{code}```\n");
        assert_eq!(after(ABC, &answer), Err(Reason::StrayLine), "{code}");
    }
    let remark = format!("{diff}Now the end of it:\n\n@@ -4 +4 @@\n-c\n+C\n```\n");
    assert_eq!(after(ABC, &remark).unwrap(), "a\nB\n\nC\n");
}

#[test]
fn headers_below_the_name_of_another_file_contradict_it() {
    let hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    let files = || Files::default().file("f", ABC).file("g.py", ABC);
    for heading in ["### `g.py`", "**g.py**", "g.py:", "== g.py =="] {
        let answer = format!("{heading}\n\n```diff\n{NAMES}{hunk}```\n");
        let refusal = plan_of(&files(), &["f", "g.py"], &answer).unwrap_err();
        assert_eq!(refusal.mismatches[0].reason, Reason::ContradictoryHeaders, "{heading}");
    }
    for heading in ["### `f`", "As `g.py` does it:", "### `none.py`", "The change:"] {
        let answer = format!("{heading}\n\n```diff\n{NAMES}{hunk}```\n");
        assert!(plan_of(&files(), &["f", "g.py"], &answer).is_ok(), "{heading}");
    }
}

#[test]
fn sentences_around_a_diff_may_begin_like_its_lines() {
    let diff = format!("```diff\n{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n```\n");
    for said in [
        "-1 is returned if nothing is found.",
        "-v prints more.",
        "-> see the docs",
        "@@ marks a hunk, by the way.",
        "+3 \u{2212}1",
        "\u{2212}1 line",
    ] {
        for answer in [format!("{said}\n\n{diff}"), format!("{diff}\n{said}\n")] {
            assert_eq!(after(ABC, &answer).unwrap(), "a\nB\n\nc\n", "{answer}");
        }
    }
    let heading = format!("{NAMES}@@ The beginning of it all.\n\n+B\n c\n");
    assert_eq!(after(ABC, &heading).unwrap(), "a\nb\n\nB\nc\n");
    let bare = format!("{NAMES}@@ The beginning of it all.\na\n-b\n+B\n");
    assert_eq!(after(ABC, &bare).unwrap(), "a\nB\n\nc\n");
    let second = format!("{NAMES}@@ @@\n-b\n+B\n@@ The end of it all.\n\n-c\n+C\n");
    assert_eq!(after(ABC, &second).unwrap(), "a\nB\n\nC\n");
    for line in ["-x = 1", "+x is new.", "@@ -4 +4 @@ the end of it.", "@@ the end of it. @@"] {
        assert!(after(ABC, &format!("{diff}\n{line}\n")).is_err(), "{line}");
    }
}

#[test]
fn code_after_a_diff_is_not_prose() {
    let diff = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    for (code, fenced) in
        [("fn helper() -> u32 {\n    1\n}\n", false), ("def f():\n", false), ("}\n", true)]
    {
        let answer = if fenced {
            format!("```diff\n{diff}```\n\n{code}")
        } else {
            format!("{diff}\n{code}")
        };
        assert_eq!(after(ABC, &answer), Err(Reason::StrayLine), "{code}");
    }
    assert!(after(ABC, &format!("{diff}\nNow run the tests:\n\n    make\n")).is_ok());
    assert!(after(ABC, &format!("Instead of\n}}\nthere is:\n\n{diff}")).is_ok(), "before it");
}

#[test]
fn no_prose_is_accepted_between_names_and_hunks_in_a_fence() {
    let answer = |line: &str| format!("```diff\n{NAMES}{line}\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n```\n");
    for line in ["# also remove the function below", "Also remove c."] {
        assert_eq!(after(ABC, &answer(line)), Err(Reason::StrayLine), "{line}");
        assert_eq!(after(ABC, &answer(&format!("\n{line}"))), Err(Reason::StrayLine), "{line}");
    }
    assert!(after(ABC, &answer("")).is_ok());
    let git = answer("").replace("--- a/f", "diff --git a/f b/f\nindex 1..2 100644\n--- a/f");
    assert!(after(ABC, &git).is_ok());
}

#[test]
fn a_fence_in_a_list_may_be_closed_with_its_indentation() {
    let answer = |close: &str, counts: &str| {
        format!("1. Change:\n\n   ```diff\n{NAMES}@@ -1,2 +1,{counts} @@\n a\n-b\n+B\n{close}\n")
    };
    assert_eq!(after(ABC, &answer("   ```", "2")).unwrap(), "a\nB\n\nc\n");
    assert_eq!(after(ABC, &answer("```", "2")).unwrap(), "a\nB\n\nc\n");
    for (close, counts) in [("  ```", "2"), ("   ```", "3"), ("   ~~~", "2")] {
        assert!(after(ABC, &answer(close, counts)).is_err(), "{close} {counts}");
    }
    let added = answer("+   ```\n   ```", "3");
    assert_eq!(after(ABC, &added).unwrap(), "a\nB\n   ```\n\nc\n");
}

#[test]
fn reasoning_is_recognized_by_the_name_of_its_tag() {
    let draft = format!("{NAMES}@@ -4 +4 @@\n-c\n+draft\n");
    let diff = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    for [open, close] in [
        ["<seed:think>", "</seed:think>"],
        ["<THINK>", "</THINK>"],
        ["<reflection>", "</reflection>"],
        ["<|begin_of_thought|>", "<|end_of_thought|>"],
    ] {
        let answer = format!("{open}\n{draft}{close}\n\n{diff}");
        assert_eq!(after(ABC, &answer).unwrap(), "a\nB\n\nc\n", "{open}");
    }
    // Text between two blocks of reasoning is not reasoning.
    let open = "<reflection>\nno</reflection>\n";
    let two = format!("{open}{diff}<reflection>\nyes\n</reflection>\n");
    assert_ne!(after(ABC, &two), Err(Reason::NoDiff));
    let other = format!("<steps>\n{draft}</steps>\n\n{diff}");
    assert_eq!(after(ABC, &other), Err(Reason::ContradictoryFileOps));
}

#[test]
fn a_sentence_after_the_diff_may_begin_with_a_dash() {
    let diff = format!("```diff\n{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n```\n");
    for said in [
        "-1 is returned if nothing is found.",
        "-> see the docs",
        "rename from the UI is as before.",
    ] {
        assert_eq!(after(ABC, &format!("{diff}\n{said}\n")).unwrap(), "a\nB\n\nc\n", "{said}");
    }
    let miscounted = diff.replace("+1,2 @@", "+1,3 @@");
    let said = format!("{miscounted}\n-1 is returned if nothing is found.\n");
    assert_eq!(after(ABC, &said), Err(Reason::StrayLine));
}

#[test]
fn a_rename_after_a_broken_header_needs_no_other_names() {
    let answer = "dif --git a/f b/g.py\nsimilarity index 100%\nrename from f\nrename to g.py\n";
    let plan = plan_of(&Files::default().file("f", ABC), &["f", "g.py"], answer).unwrap();
    assert!(plan.repairs.is_empty() && plan.changes.len() == 1, "{:?}", plan.repairs);
}

#[test]
fn a_note_quotes_the_first_line_that_was_left_out() {
    let notes = |answer: &str| {
        let files = Files::default().file("f", "a\nb\nc\nd\ne\nf\n");
        let plan = plan_of(&files, &["f", "g"], answer).unwrap();
        let noted = plan.repairs.iter().filter(|repair| repair.last_line.is_some());
        noted.map(ToString::to_string).collect::<Vec<_>>()
    };
    let (first, second) = ("@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "@@ -5,2 +5,2 @@\n e\n-f\n+F\n");
    let names = "--- a/f\n+++ b/f\n";
    let dropped = "dropped blank lines or prose around the hunk";
    // Among the hunks of a fence, one note for each run of lines.
    let among = format!(
        "```diff\n{names}{first}\nNext, the last line.\nIt is short.\n{second}\nThat is it.\n```\n"
    );
    assert_eq!(
        notes(&among),
        [
            format!("{dropped}, lines 9 to 10 of the answer: `Next, the last line.`"),
            format!("{dropped}, line 16 of the answer: `That is it.`")
        ]
    );
    // After a hunk with wrong counts.
    let after = format!(
        "{names}{}\nThat is it.\n\nDone.\n",
        first.replace("1,2 @@", "1,1 @@").replace("-1,2", "-1,1")
    );
    assert_eq!(
        notes(&after),
        [format!("f: hunk 1: {dropped}, lines 8 to 10 of the answer: `That is it.`")]
    );
    let mentioned = format!("{names}{first}\nSee also `g`.\n");
    assert_eq!(notes(&mentioned), [format!("{dropped}, line 8 of the answer: `See also `g`.`")]);
    let other = format!("```diff\n{names}{first}```\n\n```\nx\ny\n```\n");
    let skipped = "skipped a block that is not part of the diff";
    assert_eq!(notes(&other), [format!("{skipped}, lines 10 to 13 of the answer: `` ``` ``")]);
    assert!(notes(&format!("{names}{first}")).is_empty());
}

#[test]
fn a_change_that_is_only_described_next_to_a_translated_one_is_noted() {
    let noted = |above: &str, below: &str| {
        let files = Files::default().file("f.py", "a\nb\n").file("g.py", "c\n");
        let block = "f.py\n<<<<<<< SEARCH\nb\n=======\nB\n>>>>>>> REPLACE\n";
        let plan = plan_of(&files, &["f.py", "g.py"], &format!("{above}{block}{below}")).unwrap();
        let tail = plan.repairs.into_iter().filter(|it| it.tolerance == Tolerance::Tail);
        tail.map(|repair| (repair.line.unwrap(), repair.text.unwrap())).collect::<Vec<_>>()
    };
    let also = "Also update `g.py` accordingly.";
    assert_eq!(noted("", &format!("\n{also}\n")), [(8, also.to_owned())]);
    let promise = "I will change `f.py` and `g.py`.";
    assert_eq!(noted(&format!("{promise}\n\n"), ""), [(1, promise.to_owned())]);
    assert!(noted("I replace it in `f.py`.\n\n", "\nThat is all.\n").is_empty());
}

#[test]
fn a_hunk_that_was_cut_below_its_change_is_refused() {
    let file = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
    let of = |counts: &str, body: &str| {
        after(file, &format!("```diff\n{NAMES}@@ {counts} @@\n{body}```\n"))
    };
    let one = " a\n b\n c\n-d\n+D\n e\n";
    assert_eq!(of("-1,8 +1,8", one), Err(Reason::TruncatedDiff));
    let four = format!("{one} f\n g\n h\n");
    assert_eq!(of("-1,11 +1,12", &four), Err(Reason::TruncatedDiff));
    // As much context below as above.
    let three = format!("{one} f\n g\n");
    assert!(of("-1,11 +1,12", &three).is_ok());
    // Only the new lines, or only a few, are miscounted.
    assert!(of("-1,5 +1,9", one).is_ok() && of("-1,7 +1,7", one).is_ok());
    // The file ends there.
    let last = " g\n h\n i\n-j\n+J\n k\n";
    assert!(of("-7,9 +7,9", last).is_ok());
}

#[test]
fn a_remark_that_the_answer_was_cut_off_is_refused() {
    let answer = |said: &str| {
        let hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
        [
            format!("```diff\n{NAMES}{hunk}```\n\n{said}\n"),
            format!("{NAMES}{hunk}\n{said}\n"),
            format!("{NAMES}{}\n{said}\n", hunk.replace("+1,2", "+1,1")),
        ]
    };
    for said in ["(The response was cut off; ask me to continue.)", "I ran out of tokens."] {
        for answer in answer(said) {
            assert_eq!(after(ABC, &answer), Err(Reason::ElidedCode), "{answer}");
        }
    }
    for said in ["The response was cut off.", "It ran out of space.", "Nothing is cut off."] {
        for answer in answer(said) {
            assert!(after(ABC, &answer).is_ok(), "{answer}");
        }
    }
}

#[test]
fn what_is_beside_a_diff_but_not_in_it_is_noted() {
    let files = Files::default().file("f", ABC).file("src/g.py", "x\n").file("Makefile", "x\n");
    let diff = format!("```diff\n{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n```\n");
    let notes = |answer: &str| {
        let plan = open_plan_of(&files, answer)?;
        Ok(plan.repairs.into_iter().filter_map(|it| it.text).collect::<Vec<_>>())
    };
    for said in [
        "Il faut aussi modifier src/g.py.",
        "`Makefile`: [-x-]{+y+}",
        "NEED_CONTEXT|src/g.py:1-20",
        "~~--- a/src/g.py~~",
        "In line 12 of the same file you should also replace `a`.",
    ] {
        let told: Result<_, Refusal> = notes(&format!("{diff}\n{said}\n"));
        assert_eq!(told.unwrap(), [said]);
    }
    for said in ["NEED_CONTEXT|src/g.py:1-20", "src/g.py | 2 +-", "I will change src/g.py as well."]
    {
        assert_eq!(notes(&format!("{said}\n\n{diff}")).unwrap(), [said]);
    }
    for said in ["It uses `os.path`.", "See src/g.py for how it is called."] {
        assert!(notes(&format!("{said}\n\n{diff}")).unwrap().is_empty(), "{said}");
    }
    let call =
        "<tool_call>{\"name\": \"write\", \"arguments\": {\"path\": \"n\", \"content\": \"x\"}}";
    let told = notes(&format!("{diff}\n{call}</tool_call>\n"));
    assert_eq!(told.unwrap_err().mismatches[0].reason, Reason::StrayLine);
}
