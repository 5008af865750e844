//! Hunks that were once placed wrongly: each ends up where it is meant, or is refused.

use crate::Reason;
use crate::tests::testing::{ABC, NAMES, after, applied};

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
fn a_hunk_that_adds_blank_lines_only_is_never_applied_already() {
    let lost = format!("{NAMES}@@ -1,3 +1,4 @@\n a\n+\n b\n");
    assert_eq!(after("a\n\nb\nc\n", &lost), Err(Reason::HunkNotFound));
    assert_eq!(after("a\nb\nc\n", &lost).unwrap(), "a\n\nb\nc\n");
}

#[test]
fn a_hunk_that_moved_is_compared_with_what_the_others_built_on_it() {
    let far = "x\n".repeat(9);
    let before = format!("1\n2\n3\n4\n5\n{far}1\nthree\n");
    let builds = "@@ -2,2 +2,2 @@\n-2\n+two\n 3\n@@ -2,2 +2,2 @@\n two\n-3\n+1\n@@ -3,2 +3,2 @@\n 1\n-4\n+three\n";
    let last = "@@ -3,2 +3,3 @@\n 1\n three\n+end\n";
    assert!(after(&before, &format!("{NAMES}{builds}")).is_ok());
    assert_eq!(after(&before, &format!("{NAMES}{builds}{last}")), Err(Reason::HunkNotFound));
}

#[test]
fn a_last_hunk_with_its_usual_context_is_complete() {
    let hunks = "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n@@ -4,6 +4,6 @@\n 5\n-6\n+six\n 7\n 8\n 9\n";
    let made = after("1\n2\n3\n4\n5\n6\n7\n8\n9\n", &format!("{NAMES}{hunks}"));
    assert_eq!(made.unwrap(), "one\n2\n3\n4\n5\nsix\n7\n8\n9\n");
}

#[test]
fn text_below_a_hunk_with_even_context_is_not_code() {
    let hunk = "@@ -1,2 +1,5 @@\n a\n+x\n b\n\nThis fixes it.\n";
    assert_eq!(after("a\nb\nc\n", &format!("{NAMES}{hunk}")).unwrap(), "a\nx\nb\nc\n");
}
