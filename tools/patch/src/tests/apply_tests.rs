//! The results of applying diffs: operations, repairs, merges, and the property that applying a computed diff gives the
//! new text.

use std::cell::RefCell;

use config::ApplyStrategy;
use proptest::prelude::*;
use similar::TextDiff;

use crate::tests::testing::applied;
use crate::tests::testing::{Files, path};
use crate::*;
use tree::{Entry, FileMode, FileState, Op, RepoPath};

fn plan(files: &Files, answer: &str) -> Result<ApplyPlan, Refusal> {
    prepare(
        answer.as_bytes(),
        &PatchScope::default(),
        ApplyStrategy::Auto,
        &PatchLimits::default(),
        &|path| files.read(path),
    )
}

/// Applies `answer` to the file `f`; returns the new text and the tolerances used.
fn apply(before: &str, answer: &str) -> (String, Vec<Tolerance>) {
    let plan = plan(&Files::default().file("f", before), answer)
        .unwrap_or_else(|refusal| panic!("{refusal}"));
    let after = plan
        .changes
        .first()
        .and_then(|change| change.after.as_ref())
        .map_or(before.as_bytes(), |state| &state.bytes);
    let repairs = plan.repairs.iter().map(|repair| repair.tolerance).collect();
    (String::from_utf8(after.to_vec()).unwrap(), repairs)
}

const NUMBERS: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
const NAMES: &str = "--- a/f\n+++ b/f\n";

/// Checks what `hunks` make of [`NUMBERS`], and which tolerances they need.
#[track_caller]
fn check(hunks: &str, after: &str, tolerated: &[Tolerance]) {
    assert_eq!(apply(NUMBERS, &format!("{NAMES}{hunks}")), (after.to_owned(), tolerated.to_vec()));
}

const WITH_3: &str = "one\ntwo\n3\nfour\nfive\nsix\n";

#[test]
fn a_correct_diff_needs_no_repair() {
    check("@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n", WITH_3, &[]);
    check("@@ -3 +3 @@\n-three\n+3\n", WITH_3, &[]);
    check("@@ -2,0 +3 @@\n+2.5\n", "one\ntwo\n2.5\nthree\nfour\nfive\nsix\n", &[]);
}

#[test]
fn each_path_is_read_once() {
    let files = Files::default().file("f", NUMBERS);
    let looked = RefCell::new(Vec::new());
    let read = |path: &RepoPath| {
        looked.borrow_mut().push(path.to_string());
        files.read(path)
    };
    let diff = format!("{NAMES}@@ -3 +3 @@\n-three\n+3\n");
    let (auto, limits) = (ApplyStrategy::Auto, PatchLimits::default());
    prepare(diff.as_bytes(), &PatchScope::default(), auto, &limits, &read).unwrap();
    assert_eq!(*looked.borrow(), ["f"]);
}

#[test]
fn wrong_numbers_and_counts_are_tolerated_where_the_place_is_clear() {
    check("@@ -5,3 +5,3 @@\n two\n-three\n+3\n four\n", WITH_3, &[Tolerance::Position]);
    check("@@ -2,7 +2,1 @@\n two\n-three\n+3\n four\n", WITH_3, &[Tolerance::Counts]);
    check(
        "@@ ... @@\n two\n-three\n+3\n four\n",
        WITH_3,
        &[Tolerance::Counts, Tolerance::Position],
    );
}

#[test]
fn a_header_with_the_first_line_alone_says_where_and_needs_no_tolerance() {
    for header in ["@@ -2 @@", "@@ 2 @@", "@@ -2 @@ fn numbers()"] {
        check(&format!("{header}\n two\n-three\n+3\n four\n"), WITH_3, &[]);
    }
    let alike = "x\n".repeat(9);
    let answer = format!("{NAMES}@@ -4 @@\n x\n-x\n+y\n@@ -7 @@\n-x\n+z\n x\n");
    assert_eq!(apply(&alike, &answer), ("x\nx\nx\nx\ny\nx\nz\nx\nx\n".to_owned(), Vec::new()));
}

#[test]
fn context_keeps_the_bytes_of_the_file() {
    check("@@ -2,3 +2,3 @@\n two  \n-three\n+3\n four\n", WITH_3, &[Tolerance::Trailing]);
    check(
        "@@ -2,3 +2,3 @@\ntwo\n-three\n+3\nfour\n",
        WITH_3,
        &[Tolerance::Counts, Tolerance::Marker],
    );
    let (after, tolerated) =
        apply("a - b\nx\n", &format!("{NAMES}@@ -1,2 +1,2 @@\n a \u{2013} b\n-x\n+y\n"));
    assert_eq!(
        (after.as_str(), tolerated.as_slice()),
        ("a - b\ny\n", &[Tolerance::Punctuation][..])
    );
}

#[test]
fn wrapping_is_ignored() {
    let diff = format!("{NAMES}@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n");
    for (answer, tolerated) in [
        (format!("Here it is:\n\n```diff\n{diff}```\n\n- done\n"), vec![]),
        (format!("\u{feff}{diff}"), vec![Tolerance::Preamble]),
        (
            format!("    {}", diff.trim_end().replace('\n', "\n    ") + "\n"),
            vec![Tolerance::Indented],
        ),
        (diff.replace('\n', "\r\n"), vec![Tolerance::CrlfAnswer]),
        (format!("{diff}-- \n2.47.3\n"), vec![]),
    ] {
        assert_eq!(apply(NUMBERS, &answer), (WITH_3.to_owned(), tolerated), "{answer}");
    }
}

#[test]
fn lines_that_look_like_headers_inside_a_hunk_are_content() {
    let (after, tolerated) =
        apply("a\n-- x\nb\n", &format!("{NAMES}@@ -1,3 +1,3 @@\n a\n--- x\n+++ y\n b\n"));
    assert_eq!((after.as_str(), tolerated.len()), ("a\n++ y\nb\n", 0));
}

#[test]
fn changed_lines_are_never_dropped_to_make_counts_right() {
    let refusal =
        |hunks: &str| plan(&Files::default().file("f", NUMBERS), &format!("{NAMES}{hunks}"));
    check(
        "@@ -2,2 +2,2 @@\n two\n-three\n+3\n\n+more\n four\n".replace("\n\n", "\n").as_str(),
        "one\ntwo\n3\nmore\nfour\nfive\nsix\n",
        &[Tolerance::Counts],
    );
    assert!(refusal("@@ -2,2 +2,2 @@\n two\n-three\n+3\n\n-five\n").is_err());
}

#[test]
fn line_ends_follow_the_file() {
    let crlf = NUMBERS.replace('\n', "\r\n");
    let diff = format!("{NAMES}@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n");
    assert_eq!(apply(&crlf, &diff), (WITH_3.replace('\n', "\r\n"), vec![Tolerance::Eol]));
    let open = NUMBERS.trim_end();
    let at_end = format!("{NAMES}@@ -5,2 +5,2 @@\n five\n-six\n+6\n");
    assert_eq!(apply(open, &at_end).0, "one\ntwo\nthree\nfour\nfive\n6");
    let marked = format!("{NAMES}@@ -5,2 +5,2 @@\n five\n-six\n\\ No newline at end of file\n+6\n");
    assert_eq!(apply(open, &marked), ("one\ntwo\nthree\nfour\nfive\n6\n".to_owned(), vec![]));
}

#[test]
fn a_byte_order_mark_stays_at_the_start() {
    let with = |line: &str, context: &str| format!("{NAMES}@@ -1,1 +1,2 @@\n{line}{context}one\n");
    let file = format!("\u{feff}{NUMBERS}");
    let above = plan(&Files::default().file("f", &file), &with("+zero\n", " \u{feff}"));
    assert_eq!(above.unwrap_err().mismatches[0].reason, Reason::DamagedLine);
    let moved = format!("{NAMES}@@ -1,1 +1,2 @@\n-\u{feff}one\n+\u{feff}zero\n+one\n");
    assert_eq!(apply(&file, &moved).0, file.replace("one", "zero\none"));
    assert_eq!(apply(&file, &with("+zero\n", " ")).0, file.replace("one", "zero\none"));
}

#[test]
fn a_line_added_after_a_last_line_without_newline_ends_like_the_others() {
    let diff = format!("{NAMES}@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
    assert_eq!(apply("a\r\nb", &diff).0, "a\r\nb\r\n");
}

#[test]
fn a_brace_with_another_indentation_is_a_different_line() {
    let diff = format!("{NAMES}@@ -2,2 +2,3 @@\n     b\n+    c\n }}\n");
    let files = Files::default().file("f", "{\n    b\n    }\n}\n");
    assert_eq!(plan(&files, &diff).unwrap_err().mismatches[0].reason, Reason::IndentMismatch);
}

#[test]
fn repeated_edits_are_made_once_and_applied_ones_are_skipped() {
    let hunk = "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n";
    check(&format!("{hunk}{hunk}"), WITH_3, &[Tolerance::Duplicate]);
    let done = apply(WITH_3, &format!("{NAMES}{hunk}"));
    assert_eq!(done, (WITH_3.to_owned(), vec![Tolerance::AlreadyApplied]));
}

#[test]
fn every_tolerance_can_be_switched_off() {
    let answer = format!("{NAMES}@@ -5,9 +5,9 @@\n two\n-three\n+3\n four\n");
    let files = Files::default().file("f", NUMBERS);
    for (tolerances, ok) in [
        (Tolerances::ALL, true),
        (Tolerances::ALL.without(Tolerance::Counts), false),
        (Tolerances::ALL.without(Tolerance::Position), false),
        (Tolerances::NONE.with(Tolerance::Counts).with(Tolerance::Position), true),
    ] {
        let (scope, limits) = (PatchScope::default(), PatchLimits::default());
        let plan = prepare_with(
            answer.as_bytes(),
            &scope,
            ApplyStrategy::Auto,
            &limits,
            &|path| files.read(path),
            tolerances,
        );
        assert_eq!(plan.is_ok(), ok, "{tolerances:?}");
    }
}

#[test]
fn tolerances_other_than_searching_can_also_be_switched_off() {
    let hunk = "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n";
    let seen = BaseState::of(NUMBERS.replace("six", "6").into());
    let stale = PatchScope { bases: [(path("f"), seen)].into(), declared: None };
    for (tolerance, scope, answer) in [
        (Tolerance::Duplicate, PatchScope::default(), format!("{NAMES}{hunk}{hunk}")),
        (Tolerance::Merged, stale, format!("{NAMES}{hunk}")),
        (
            Tolerance::AlreadyApplied,
            PatchScope::default(),
            "--- /dev/null\n+++ b/one\n@@ -0,0 +1 @@\n+1\n".to_owned(),
        ),
    ] {
        let files = Files::default().file("f", NUMBERS).file("one", "1\n");
        let (auto, limits) = (ApplyStrategy::Auto, PatchLimits::default());
        let plan = |allowed| {
            let read = |path: &_| files.read(path);
            prepare_with(answer.as_bytes(), &scope, auto, &limits, &read, allowed)
        };
        assert_eq!(plan(Tolerances::ALL).unwrap().repairs[0].tolerance, tolerance);
        assert!(plan(Tolerances::ALL.without(tolerance)).is_err(), "{tolerance:?}");
    }
}

#[test]
fn a_blank_line_that_the_count_includes_is_context() {
    let before = "one\n\ntwo\n";
    let diff = format!("{NAMES}@@ -2 +2,2 @@\n+1.5\n\n");
    assert_eq!(apply(before, &diff), ("one\n1.5\n\ntwo\n".to_owned(), vec![]));
    let uncounted = diff.replace("-2 +2,2", "-2,4 +2,5");
    let refusal = plan(&Files::default().file("f", before), &uncounted).unwrap_err();
    assert_eq!(refusal.mismatches[0].reason, Reason::NoAnchor);
}

#[test]
fn blank_context_cut_off_at_the_end_must_be_in_the_file() {
    let cut = format!("{NAMES}@@ -1,3 +1,3 @@\n-a;\n+b;");
    assert_eq!(apply("a;\n\n\n", &cut), ("b;\n\n\n".to_owned(), vec![Tolerance::CutBlank]));
    for (file, answer) in [("a;\nx\ny\n", cut.as_str()), ("a;\n\n\n", cut.trim_end_matches(';'))] {
        let refusal = plan(&Files::default().file("f", file), answer).unwrap_err();
        assert!(
            [Reason::HunkNotFound, Reason::TruncatedDiff].contains(&refusal.mismatches[0].reason),
            "{refusal}"
        );
    }
}

#[test]
fn adjacent_hunks_are_both_applied() {
    for (hunks, after) in [
        (
            "@@ -2,2 +2,2 @@\n two\n-three\n+3\n@@ -4,2 +4,2 @@\n-four\n+4\n five\n",
            "one\ntwo\n3\n4\nfive\nsix\n",
        ),
        ("@@ -4 +4 @@\n-four\n+4\n@@ -3 +3 @@\n-three\n+3\n", "one\ntwo\n3\n4\nfive\nsix\n"),
        ("@@ -3 +2,0 @@\n-three\n@@ -4 +2,0 @@\n-four\n", "one\ntwo\nfive\nsix\n"),
        ("@@ -3 +3 @@\n-three\n+3\n@@ -4 +3,0 @@\n-four\n", "one\ntwo\n3\nfive\nsix\n"),
        (
            "@@ -5 +5,2 @@\n-five\n+5\n+5.5\n@@ -6 +7 @@\n-six\n+6\n\\ No newline at end of file\n",
            "one\ntwo\nthree\nfour\n5\n5.5\n6",
        ),
    ] {
        check(hunks, after, &[]);
    }
    // The order of the two is unknown.
    for hunks in [
        "@@ -2,2 +2,2 @@\n two\n-three\n+3\n@@ -4 +4,2 @@\n+3.5\n four\n",
        "@@ -3 +3,2 @@\n three\n+3.5\n@@ -4 +5 @@\n-four\n+4\n",
        "@@ -3 +3,2 @@\n three\n+3.5\n@@ -4 +5,2 @@\n+3.6\n four\n",
    ] {
        let refusal = plan(&Files::default().file("f", NUMBERS), &format!("{NAMES}{hunks}"));
        assert_eq!(refusal.unwrap_err().mismatches[0].reason, Reason::ConflictingHunks, "{hunks}");
    }
}

#[test]
fn a_hunk_may_show_the_result_of_earlier_ones() {
    let hunks = "@@ -2,2 +2,2 @@\n two\n-three\n+3\n@@ -3,2 +3,2 @@\n 3\n-four\n+4\n";
    check(hunks, "one\ntwo\n3\n4\nfive\nsix\n", &[Tolerance::Sequential]);
    let backwards = "@@ -3,2 +3,2 @@\n 3\n-four\n+4\n@@ -2,2 +2,2 @@\n two\n-three\n+3\n";
    assert!(plan(&Files::default().file("f", NUMBERS), &format!("{NAMES}{backwards}")).is_err());
}

#[test]
fn a_change_of_white_space_only_does_not_count_as_applied() {
    let diff = format!("{NAMES}@@ -1,3 +1,3 @@\n one\n-TWO \n+two\n three\n");
    let files = Files::default().file("f", "one\ntwo \nthree\n");
    assert_eq!(plan(&files, &diff).unwrap_err().mismatches[0].reason, Reason::HunkNotFound);
}

#[test]
fn a_hunk_that_matches_elsewhere_and_after_the_others_is_refused() {
    let before = "a\nx\nb\nc\nd\na\nb\n";
    let diff = format!("{NAMES}@@ -1,3 +1,2 @@\n a\n-x\n b\n@@ -2,2 +1,2 @@\n a\n-b\n+B\n");
    let refusal = plan(&Files::default().file("f", before), &diff).unwrap_err();
    assert_eq!(refusal.mismatches[0].reason, Reason::AmbiguousHunk);
}

/// Lists the operations of a plan: path, operation and new text.
fn operations(files: &Files, answer: &str) -> Vec<(String, Op, Option<String>)> {
    let plan = plan(files, answer).unwrap_or_else(|refusal| panic!("{refusal}"));
    let text = |state: FileState| String::from_utf8(state.bytes.to_vec()).unwrap();
    plan.changes
        .into_iter()
        .map(|change| (change.path.to_string(), change.op, change.after.map(text)))
        .collect()
}

#[test]
fn files_are_created_deleted_and_renamed() {
    let files = Files::default().file("old", "x\ny\n").file("gone", "x\n").file("empty", "");
    let answer = "diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
        diff --git a/empty b/empty\ndeleted file mode 100644\n\
        diff --git a/none b/none\nnew file mode 100644\n\
        diff --git a/old b/dir/moved\nrename from old\nrename to dir/moved\n--- a/old\n+++ b/dir/moved\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n";
    let expected = [
        ("dir/moved", Op::Rename { from: path("old") }, Some("x\nz\n")),
        ("empty", Op::Delete, None),
        ("gone", Op::Delete, None),
        ("new", Op::Create, Some("a\nb")),
        ("none", Op::Create, Some("")),
    ];
    let expected = expected.map(|(path, op, text)| (path.to_owned(), op, text.map(str::to_owned)));
    assert_eq!(operations(&files, answer), expected);
    let made = plan(&files, answer).unwrap();
    assert!(made.changes.iter().any(|change| {
        change.after.as_ref().is_some_and(|state| state.mode == FileMode::Executable)
    }));
    assert_eq!((made.added(), made.removed()), (3, 2));
}

#[test]
fn files_can_trade_places() {
    let files = Files::default().file("a", "A\n").file("b", "B\n");
    let swap = "diff --git a/a b/b\nrename from a\nrename to b\ndiff --git a/b b/a\nrename from b\nrename to a\n";
    let expected = [("a", Op::Modify, "B\n"), ("b", Op::Modify, "A\n")];
    assert_eq!(
        operations(&files, swap),
        expected.map(|(path, op, text)| (path.to_owned(), op, Some(text.to_owned())))
    );
}

#[test]
fn prefixes_are_resolved_by_declared_and_existing_files() {
    let diff = "--- a/f\n+++ a/f\n@@ -1 +1 @@\n-x\n+y\n";
    for there in ["f", "a/f"] {
        assert_eq!(operations(&Files::default().file(there, "x\n"), diff)[0].0, there);
    }
    assert!(plan(&Files::default().file("f", "x\n").file("a/f", "x\n"), diff).is_err());
}

#[test]
fn a_git_line_with_one_name_defers_to_the_names_below() {
    let files = Files::default().file("f", "x\n").file("g", "x\n");
    let names = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n";
    let rename = "rename from f\nrename to h\n";
    for (answer, at) in [
        (format!("diff --git a/f\n{names}"), "f"),
        (format!("diff --git f\n{names}"), "f"),
        (format!("diff --git \"a/f\"\n{names}"), "f"),
        (format!("diff --git a/f\n{rename}"), "h"),
    ] {
        assert_eq!(operations(&files, &answer)[0].0, at, "{answer}");
    }
    for (answer, reason) in [
        (format!("diff --git a/g\n{names}"), Reason::ContradictoryHeaders),
        (format!("diff --git a/g\n{rename}"), Reason::ContradictoryHeaders),
        ("diff --git a/f\ndeleted file mode 100644\n".to_owned(), Reason::PathMismatch),
    ] {
        assert_eq!(plan(&files, &answer).unwrap_err().mismatches[0].reason, reason, "{answer}");
    }
}

#[test]
fn changes_made_in_the_meantime_are_merged_or_refused() {
    let base = "1\n2\n3\n4\n5\n6\n7\n8\n";
    let diff = format!("{NAMES}@@ -6,2 +6,2 @@\n 6\n-7\n+seven\n");
    let merged = |now: &str, strategy| {
        let files = Files::default().file("f", now);
        let scope =
            PatchScope { bases: [(path("f"), BaseState::of(base.into()))].into(), declared: None };
        let plan = prepare(diff.as_bytes(), &scope, strategy, &PatchLimits::default(), &|path| {
            files.read(path)
        });
        plan.map(|plan| plan.changes[0].after.clone().unwrap().bytes)
            .map_err(|refusal| refusal.mismatches[0].reason)
    };
    for strategy in [ApplyStrategy::Auto, ApplyStrategy::ThreeWay] {
        assert_eq!(
            merged("0\n1\n2\n3\n4\n5\n6\n7\n8\n", strategy).unwrap(),
            "0\n1\n2\n3\n4\n5\n6\nseven\n8\n"
        );
        assert_eq!(merged("1\n2\n3\n4\n5\n6\nVII\n8\n", strategy), Err(Reason::MergeConflict));
        assert_eq!(
            merged("1\n2\n3\n4\nfive\n6\n7\n8\n", strategy).unwrap(),
            "1\n2\n3\n4\nfive\n6\nseven\n8\n"
        );
        // Whether a line that was added next to the change stands before or behind it is open.
        assert_eq!(merged("1\n2\n3\n4\n5\n6\n7\n7a\n8\n", strategy), Err(Reason::MergeConflict));
    }
    let next_to_it = "1\n2\n3\n4\n5\nsix\n7\neight\n";
    assert_eq!(merged(next_to_it, ApplyStrategy::Auto), Err(Reason::MergeConflict));
    assert_eq!(
        merged(next_to_it, ApplyStrategy::ThreeWay).unwrap(),
        "1\n2\n3\n4\n5\nsix\nseven\neight\n"
    );
}

#[test]
fn a_million_equal_lines_and_two_hundred_hunks_take_linear_time() {
    let same = "same();\n".repeat(200_000);
    let files = Files::default().file("f", &same);
    let hunk =
        format!("{NAMES}@@ -999999,3 +999999,3 @@\n same();\n-same();\n+other();\n same();\n");
    assert_eq!(plan(&files, &hunk).unwrap_err().mismatches[0].reason, Reason::AmbiguousHunk);

    let rows = (0..20_000).map(|n| format!("row {n}")).collect::<Vec<_>>().join("\n");
    let hunks = (0..200)
        .map(|n| format!("@@ ... @@\n row {0}\n-row {1}\n+ROW {1}", n * 100, n * 100 + 1))
        .collect::<Vec<_>>()
        .join("\n");
    let plan = plan(&Files::default().file("f", &rows), &format!("{NAMES}{hunks}")).unwrap();
    assert_eq!((plan.added(), plan.removed()), (200, 200));
}

/// Lines from a small alphabet, so that they repeat; the last newline may be missing.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof!["[ab]", "", "-- x", "\\+\\+ y", "@@ z", "[a-z ]{0,12}\r?"];
    (proptest::collection::vec(line, 0..30), any::<bool>()).prop_map(|(lines, newline)| {
        let text = lines.join("\n");
        if newline && !text.is_empty() {
            text + "\n"
        } else {
            text.trim_end_matches('\r').to_owned()
        }
    })
}

proptest! {
    #[test]
    fn applying_the_diff_of_two_texts_gives_the_second(before in text(), after in text(), context in 0_usize..5) {
        prop_assume!(before != after && !before.is_empty());
        let diff = TextDiff::from_lines(&before, &after);
        let patch = diff.unified_diff().context_radius(context).header("a/f", "b/f").to_string();
        let files = Files::default().file("f", &before);
        match plan(&files, &patch) {
            Ok(plan) => {
                prop_assert_eq!(&plan.changes[0].after.as_ref().unwrap().bytes, after.as_bytes());
                prop_assert!(plan.repairs.is_empty(), "{:?}", plan.repairs);
            }
            // Without context, an insertion has only its line number, and may look like a complete file.
            Err(refusal) => prop_assert!(context == 0 && refusal.mismatches.iter().all(|found| [Reason::NoAnchor, Reason::AmbiguousHunk].contains(&found.reason)), "{}", refusal),
        }
    }

    #[test]
    fn no_answer_causes_a_panic(answer in r"(@@ -[0-9],[0-9] \+[0-9],[0-9] @@|--- a/f|\+\+\+ b/f|diff --git a/f b/f|[ +-][ab]?|```|\\ No|\r|)(\n(@@ -[0-9],[0-9] \+[0-9],[0-9] @@|--- a/f|\+\+\+ b/f|[ +-][ab]?|```|\\ No|\r|)){0,12}") {
        let files = Files::default().file("f", "a\nb\na\nb\n");
        if let Ok(plan) = plan(&files, &answer) {
            prop_assert!(plan.changes.iter().all(|change| change.path.as_str() == "f"));
            prop_assert!(!matches!(files.read(&path("f")), Ok(Entry::Missing)));
        }
    }
}

#[test]
fn no_number_in_a_header_is_too_large() {
    let file = "a\nb\nc\nd\ne\nf\ng\nh\n";
    let [half, below] = [1_usize << 63, usize::MAX - 1].map(|number| number.to_string());
    let numbers = ["0", &half, &below, "18446744073709551615", "99999999999999999999"];
    let bodies = [
        " b\n-c\n+C\n d\n",
        " b\n+C\n\nThat is all.\n",
        "    2| b\n-   3| c\n+   3| C\n",
        " 18446744073709551615| b\n+18446744073709551615| C\n",
        "-b\n+c\n",
    ];
    for (start, count) in numbers.iter().flat_map(|start| numbers.map(|count| (start, count))) {
        for body in bodies {
            let header = format!("@@ -{start},{count} +{start},{count} @@\n");
            for hunks in [
                format!("{header}{body}"),
                format!("@@ -6,2 +6,2 @@\n f\n-g\n+G\n{header}{body}"),
                format!("{header}{body}@@ -60,2 +60,2 @@\n f\n-g\n+G\n{header} h\n+i\n"),
            ] {
                // Where it is applied, it is applied in the only place that fits.
                if let Ok((after, _)) = applied(file, &hunks) {
                    assert!(after.starts_with("a\nb\nC") || after.starts_with("a\nc\n"), "{hunks}");
                }
            }
        }
    }
}
