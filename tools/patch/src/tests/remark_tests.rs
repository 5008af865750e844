//! Text outside of the blocks of a diff: it is kept and not read, and no line of a diff is taken for it.

use crate::tests::testing::{ABC, Files, NAMES, after, plan_of};
use crate::{Reason, Tolerance};

#[test]
fn code_in_a_fence_is_not_a_remark() {
    let diff = format!("```diff\n{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n+B\n\n");
    for code in ["}\n", "func helper() int {\n\treturn 1\n}\n", "x = 1\n"] {
        let answer = format!("{diff}{code}```\n");
        assert_eq!(after(ABC, &answer), Err(Reason::StrayLine), "{code}");
    }
    let remark = format!("{diff}Now the end of it:\n\n@@ -4 +4 @@\n-c\n+C\n```\n");
    assert_eq!(after(ABC, &remark), Err(Reason::StrayLine));
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

/// Returns the text outside of the diff, and the tolerances used.
fn remark(answer: &str) -> Result<(Option<String>, Vec<Tolerance>), Reason> {
    let plan = plan_of(&Files::default().file("f", ABC), &["f", "g.py"], answer);
    let plan = plan.map_err(|refusal| refusal.mismatches[0].reason)?;
    Ok((plan.remark, plan.repairs.iter().map(|repair| repair.tolerance).collect()))
}

const HUNKS: [&str; 2] = ["@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "@@ -4 +4 @@\n-c\n+C\n"];

#[test]
fn text_outside_of_the_diff_is_kept_and_not_read() {
    let diff = format!("{NAMES}{}", HUNKS[0]);
    let uncounted = diff.replace("1,2 @@", "1,9 @@");
    for text in ["That is all.", "Do not apply this!", "Auch g.py anpassen.", "NEED_CONTEXT|g.py"] {
        let kept = Some(format!("{text}\n"));
        for answer in [format!("{text}\n\n{diff}"), format!("{diff}\n{text}\n")] {
            assert_eq!(remark(&answer), Ok((kept.clone(), vec![])), "{answer}");
        }
        let fenced = format!("{text}\n\n```diff\n{diff}```\n\n- one\n- two\n");
        assert_eq!(remark(&fenced), Ok((Some(format!("{text}\n\n- one\n- two\n")), vec![])));
        let (after, used) = remark(&format!("{uncounted}\n{text}\n")).unwrap();
        assert_eq!((after, used.contains(&Tolerance::Tail)), (kept, true), "{text}");
    }
    let other = format!("```diff\n{diff}```\n\nRun:\n```sh\nmake\n```\n");
    let told = remark(&other).unwrap();
    assert_eq!(told, (Some("Run:\n```sh\nmake\n```\n".to_owned()), vec![Tolerance::PassedOver]));
    assert_eq!(remark(&format!("```diff\n{diff}```\n")), Ok((None, vec![])));
}

#[test]
fn text_outside_of_the_diff_is_refused_where_nobody_sees_it() {
    let files = Files::default().file("f", ABC);
    let answer = format!("Never mind.\n\n{NAMES}{}", HUNKS[0]);
    let read = |allowed| {
        let (auto, limits) = (config::ApplyStrategy::Auto, crate::PatchLimits::default());
        let scope = crate::PatchScope::default();
        let current = |path: &tree::RepoPath| files.read(path);
        crate::prepare_with(answer.as_bytes(), &scope, auto, &limits, &current, allowed)
    };
    assert!(read(crate::Tolerances::UNATTENDED).is_ok());
    let refusal = read(crate::Tolerances::ALL.without(Tolerance::Remark)).unwrap_err();
    assert_eq!(refusal.mismatches[0].reason, Reason::RemarkOutside);
    assert!(refusal.to_string().contains("`Never mind.`"), "{refusal}");
}

#[test]
fn a_file_is_changed_in_one_block() {
    let [first, second] = HUNKS.map(|hunk| format!("{NAMES}{hunk}"));
    let fence = |diff: &str| format!("```diff\n{diff}```\n");
    for answer in [
        format!("Option A:\n{}\nOption B:\n{}", fence(&first), fence(&second)),
        fence(&first) + &fence(&second),
        format!("{first}\nThen:\n\n{second}"),
        format!("{}\nThen:\n\n{second}", first.replace("@@ -1,2 +1,2 @@", "@@ @@")),
        format!("{}\n{}", fence(&first), fence(&format!("--- a/f\n+++ /dev/null\n{}", HUNKS[1]))),
    ] {
        assert_eq!(remark(&answer), Err(Reason::ContradictoryFileOps), "{answer}");
    }
    assert_eq!(after(ABC, &fence(&(first.clone() + &second))).unwrap(), "a\nB\n\nC\n");
    assert_eq!(after(ABC, &(first.clone() + "\n" + &second)).unwrap(), "a\nB\n\nC\n");
    let new = "--- /dev/null\n+++ b/g.py\n@@ -0,0 +1 @@\n+x\n";
    let text = format!("First:\n{}\nThen:\n{}", fence(&first), fence(new));
    assert_eq!(remark(&text).unwrap().0.as_deref(), Some("First:\n\nThen:\n"));
}

#[test]
fn no_line_of_a_diff_is_text() {
    let diff = format!("```diff\n{NAMES}{}```\n", HUNKS[0]);
    for line in [
        "-x = 1",
        "+x is new.",
        "@@ -4 +4 @@",
        "  --- a/g.py",
        "> diff --git a/g.py b/g.py",
        "rename from g.py",
        "\u{2212}x",
    ] {
        assert!(remark(&format!("{diff}\n{line}\n")).is_err(), "{line}");
    }
    for line in ["[... 2 more hunks ...]", "// ... and so on", "# …"] {
        assert_eq!(remark(&format!("{diff}\n{line}\n")), Err(Reason::ElidedCode), "{line}");
    }
    for line in ["Done.", "# Note", "x"] {
        let inside = diff.replace("+B\n", &format!("+B\n{line}\n"));
        assert_eq!(remark(&inside), Err(Reason::StrayLine), "{line}");
        assert_eq!(
            remark(&format!("{NAMES}{}{line}\n", HUNKS[0])),
            Err(Reason::StrayLine),
            "{line}"
        );
    }
}
