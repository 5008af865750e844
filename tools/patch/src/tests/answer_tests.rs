//! Answers of which a part was once lost, or something else was written: each gives the intended change or a refusal.

use crate::tests::testing::{ABC, Files, NAMES, after, path, plan_of};
use crate::{Reason, Tolerance};

const NEW: &str = "--- /dev/null\n+++ b/f\n";

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
fn an_empty_fence_does_not_end_a_hunk_that_lacks_a_line() {
    let answer = format!("{NEW}@@ -0,0 +1,3 @@\n+a\n+b\n```\n```\nnew 2\n");
    assert_eq!(after("", &answer), Err(Reason::StrayLine));
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
        for diff in [format!("{diff}\n"), format!("```diff\n{diff}```\n\n")] {
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
    assert_eq!(after(ABC, &format!("{NAMES}{hunks}")), Err(Reason::TruncatedDiff));
    assert!(after(ABC, &format!("```diff\n{NAMES}{hunks}```\nDone!\n")).is_ok(), "miscounted");
    let cut = format!("{NAMES}@@ -1,2 +1,4 @@\n a\n-b\n\\ No ");
    assert_eq!(after("a\nb", &cut), Err(Reason::TruncatedDiff));
    let left_out = format!("{NAMES}@@ -1,2 +1,9 @@\n a\n-b\n\n[... remaining lines omitted ...]\n");
    assert_eq!(after(ABC, &left_out), Err(Reason::ElidedCode));
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
    ] {
        assert_eq!(after(ABC, &answer).as_deref(), Ok("a\nb\n\nD\n"), "{answer}");
    }
    let tags = format!("<try>\n{draft}</try>\n<last>\n{last}</last>\n");
    assert_eq!(after(ABC, &tags), Err(Reason::ContradictoryFileOps));
    let files = Files::default().file("f", ABC);
    let words = format!("{draft}\nThat is wrong. Instead of the above:\n\n{last}");
    assert!(plan_of(&files, &["f"], &words).is_err());
}

#[test]
fn hunks_for_another_file_are_not_applied_to_the_previous_one() {
    let first = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    for heading in ["### g.py", "Then in `g.py`:", "Index: g.py\n====", "*** g.py ***"] {
        let answer = format!("{first}\n{heading}\n\n@@ -4 +4 @@\n-c\n+C\n");
        assert_eq!(after(ABC, &answer), Err(Reason::ContradictoryFileOps), "{heading}");
    }
}

#[test]
fn a_block_about_a_declared_file_is_not_skipped() {
    let first = format!("```diff\n{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n```\n");
    let second = "2. Second:\n   ```diff\n   --- a/g.py\n   +++ b/g.py\n   @@ -1 +1 @@\n   -x\n   +y\n   ```\n";
    assert_eq!(after(ABC, &format!("{first}{second}")), Err(Reason::StrayLine));
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
    for (above, below) in
        [("", "\n---\n\nDone.\n"), ("<diff>\n", "</diff>\n"), ("cat <<'E'\n", "E\n")]
    {
        assert!(after(ABC, &format!("{above}{hunk}{below}")).is_ok(), "{below}");
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
            "@@ -1 +1 @@\n-x = 1\n+x =\u{a0}2\n",
            Reason::DamagedLine,
            "Line 5 of the diff has an invisible character",
        ),
    ] {
        let (given, text) = refused(name, before, &format!("--- a/{name}\n+++ b/{name}\n{hunk}"));
        assert_eq!(given, reason, "{hunk}");
        assert!(text.contains(told), "{text}");
    }
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
fn a_no_newline_marker_may_lack_its_backslash() {
    let end = "No newline at end of file";
    let new = format!("```diff\n{NEW}@@ -0,0 +1 @@\n+x\n{end}\n```\n");
    assert_eq!(after("", &new).unwrap(), "x");
    let added = format!("{NAMES}@@ -4 +4,2 @@\n c\n+{end}.\n");
    assert_eq!(after(ABC, &added).unwrap(), format!("{ABC}{end}.\n"));
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
fn a_rename_after_a_broken_header_needs_no_other_names() {
    let answer = "dif --git a/f b/g.py\nsimilarity index 100%\nrename from f\nrename to g.py\n";
    let plan = plan_of(&Files::default().file("f", ABC), &["f", "g.py"], answer).unwrap();
    assert!(plan.repairs.is_empty() && plan.changes.len() == 1, "{:?}", plan.repairs);
}

#[test]
fn a_new_file_below_a_rename_has_a_section_of_its_own() {
    let files = Files::default().file("f", ABC);
    let rename = "diff --git a/f b/h\nrename from f\nrename to h\n";
    let new = "--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+x\n";
    let plan = plan_of(&files, &["f", "g", "h"], &format!("{rename}{new}")).unwrap();
    let paths: Vec<String> = plan.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(paths, ["g", "h"]);
}
