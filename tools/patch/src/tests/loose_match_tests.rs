//! How old lines may differ from the file, and when a hunk is already applied.

use crate::tests::testing::applied;
use crate::*;

const CODE: &str = "import os\n\nclass Cart:\n    size   = 1  # one\n    weight = 2  # two\n\n    def total(self, a, b):\n        return a  + b\n\n    def count(self):\n        return \"0\"  # none\n";

/// Applies `hunks` to [`CODE`], which must replace `old` with `new`; returns the tolerances used.
fn tolerances(hunks: &str, old: &str, new: &str) -> Vec<Tolerance> {
    let (after, repairs) = applied(CODE, hunks).unwrap_or_else(|reason| panic!("{reason}"));
    assert_eq!(after, CODE.replace(old, new), "{hunks}");
    repairs.into_iter().map(|(tolerance, _)| tolerance).collect()
}

#[test]
fn spaces_between_words_of_removed_lines_are_tolerated() {
    let hunk = "@@ -7,3 +7,3 @@\n     def total(self, a, b):\n-        return a + b \n+        return b\n \n";
    assert_eq!(tolerances(hunk, "return a  + b", "return b"), [Tolerance::Gaps]);
    let moved = hunk.replace("-7,3 +7,3", "-70,3 +70,3");
    let place = [Tolerance::Gaps, Tolerance::Position];
    assert_eq!(tolerances(&moved, "return a  + b", "return b"), place);
    let context = "@@ -4,2 +4,2 @@\n     size = 1 # one\n-    weight = 2 # two\n+    weight = 3\n";
    assert_eq!(tolerances(context, "weight = 2  # two", "weight = 3"), [Tolerance::Gaps]);
}

#[test]
fn white_space_that_may_matter_is_not_tolerated() {
    for hunk in [
        // Indentation.
        "@@ -7,3 +7,3 @@\n     def total(self, a, b):\n-    return a + b\n+    return b\n \n",
        // White space that the hunk changes.
        "@@ -7,3 +7,3 @@\n     def total(self, a, b):\n-        return a + b\n+        return a   + b\n \n",
        // After a quote, which may begin a string.
        "@@ -10,2 +10,2 @@\n     def count(self):\n-        return \"0\" # none\n+        return \"1\"\n",
        // A tab.
        "@@ -7,3 +7,3 @@\n     def total(self, a, b):\n-        return a\t+ b\n+        return b\n \n",
        // No space at all.
        "@@ -7,3 +7,3 @@\n     def total(self, a, b):\n-        return a+ b\n+        return b\n \n",
    ] {
        assert_eq!(applied(CODE, hunk), Err(Reason::HunkNotFound), "{hunk}");
    }
    let twins = "a  b\nx\na   b\nx\n";
    let hunk = "@@ -9,2 +9,2 @@\n-a b\n+c\n x\n";
    assert_eq!(applied(twins, hunk), Err(Reason::AmbiguousHunk));
    let exact = "@@ -9,2 +9,2 @@\n-a   b\n+c\n x\n";
    assert_eq!(applied(twins, exact).unwrap().0, "a  b\nx\nc\nx\n");
}

#[test]
fn context_may_be_indented_differently_where_lines_are_replaced() {
    let hunk = "@@ -7,3 +7,3 @@\n   def total(self, a, b):\n-        return a  + b\n+        return b\n \n";
    assert_eq!(tolerances(hunk, "return a  + b", "return b"), [Tolerance::Space]);
    let added =
        "@@ -7,2 +7,3 @@\n   def total(self, a, b):\n+        a += 1\n         return a  + b\n";
    assert_eq!(applied(CODE, added), Err(Reason::IndentMismatch));
}

#[test]
fn a_change_that_is_already_made_is_skipped_wherever_it_is() {
    let hunk = |line: usize, old: &str, new: &str| {
        format!(
            "@@ -{line},5 +{line},5 @@\n \n     def total(self, a, b):\n{old}{new} \n     def count(self):\n"
        )
    };
    let new = "+        return a  + b\n";
    for old in ["", "-        return a\n"] {
        let repairs = tolerances(&hunk(60, old, new), "", "");
        assert!(repairs.contains(&Tolerance::AlreadyApplied), "{old}: {repairs:?}");
    }
    // Similar, but not already made: the old lines are in the file, the new ones are there twice, or the context
    // identifies nothing.
    let twice = CODE.replace(
        "\n    def count",
        "\n    def total(self, a, b):\n        return a  + b\n\n    def count",
    );
    for (file, hunk) in [
        (CODE.to_owned(), hunk(60, "", "+        return a\n")),
        (
            twice,
            "@@ -60,2 +60,3 @@\n     def total(self, a, b):\n+        return a  + b\n \n"
                .to_owned(),
        ),
        (
            CODE.to_owned(),
            "@@ -60,2 +60,2 @@\n \n-    def sum(self, a, b):\n+    def total(self, a, b):\n"
                .to_owned(),
        ),
    ] {
        assert!(applied(&file, &hunk).is_err(), "{hunk}");
    }
}

#[test]
fn a_hunk_that_misread_the_file_is_not_taken_for_applied() {
    let file = "match a {\n    X => one(),\n    Y => two(),\n}\nlast\nmatch b {\n    X => one(),\n    Z => three(),\n}\n";
    let hunk = "@@ -60,3 +60,3 @@\n     X => one(),\n-    Z => tree(),\n+    Y => two(),\n }\n";
    assert_eq!(applied(file, hunk), Err(Reason::HunkNotFound));
}

#[test]
fn lines_that_only_other_hunks_make_do_not_count_as_applied() {
    let file = "a\nb\nc\n\nx\nnew\nc\n";
    let hunks = "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n@@ -12,2 +12,3 @@\n x\n+new\n c\n";
    let (after, repairs) = applied(file, hunks).unwrap();
    assert_eq!(after, "a\nx\nnew\nc\n\nx\nnew\nc\n");
    assert!(repairs.contains(&(Tolerance::Sequential, Some(2))), "{repairs:?}");
}

#[test]
fn a_hunk_is_not_taken_for_applied_because_another_one_is() {
    // Both hunks are applied already, and the old lines of the second are also in another place.
    let file =
        "one\ntwo\nthree\nfour\nend\n\nif x:\n    a\n    log()\n    b\n\nif y:\n    a\n    b\n";
    let first = "@@ -31,3 +31,4 @@\n one\n+two\n three\n four\n";
    let second = "@@ -37,2 +38,3 @@\n     a\n+    log()\n     b\n";
    assert!(applied(file, first).is_ok());
    assert_eq!(applied(file, &format!("{first}{second}")), Err(Reason::HunkNotFound));
    let due = file.replace("    a\n    log()\n    b\n\n", "");
    let (after, _) = applied(&due, &format!("{first}{second}")).unwrap();
    assert_eq!(after, due.replace("    b\n", "    log()\n    b\n"));
}

#[test]
fn earlier_hunks_determine_where_a_hunk_would_be_applied() {
    let file = "a\nb\nc\nok\nd\nno\ne\nno\nf\n";
    let hunks = "@@ -1,3 +1 @@\n-a\n-b\n-c\n+abc\n@@ -7 +4 @@\n-no\n+ok\n";
    assert_eq!(applied(file, hunks).unwrap_err(), Reason::AmbiguousHunk);
}

/// Two similar blocks, far apart, with `first` on the second line of the upper one and `second` in the lower one.
fn twice(first: &str, second: &str) -> String {
    let between: Vec<String> = (1..=60).map(|n| format!("line {n}")).collect();
    let between = between.join("\n");
    format!("name = x\n{first}\nend\n{between}\nname = x\n{second}\nend\n")
}

fn limit(at: usize, old: &str) -> String {
    format!("@@ -{at},3 +{at},3 @@\n name = x\n-{old}\n+limit = 2\n end\n")
}

#[test]
fn white_space_lost_at_line_ends_does_not_move_a_hunk() {
    let crlf = twice("limit = 1", "limit = 1").replacen('\n', "\r\n", 3);
    for file in [twice("limit = 1  ", "limit = 1"), crlf] {
        let old = file.lines().nth(1).unwrap();
        let (after, repairs) = applied(&file, &limit(1, "limit = 1")).unwrap();
        assert_eq!(after, file.replacen(old, "limit = 2", 1));
        assert!(repairs.iter().all(|(_, line)| *line == Some(1)), "{repairs:?}");
        let both = limit(1, "limit = 1") + &limit(64, "limit = 1");
        let (after, repairs) = applied(&file, &both).unwrap();
        assert_eq!(after, file.replace(old, "limit = 2").replace("limit = 1", "limit = 2"));
        assert_eq!(repairs.len(), 1, "{repairs:?}");
    }
}

#[test]
fn a_hunk_that_matches_better_elsewhere_than_at_its_line_is_refused() {
    let file = twice("limit = 1", "limit = 1  ");
    assert_eq!(applied(&file, &limit(1, "limit = 1  ")), Err(Reason::AmbiguousHunk));
    let alike = |context: &str| twice("limit = 1", "limit = 1").replacen("name = x", context, 1);
    for context in ["name  =  x", "name\t= x", " name = x"] {
        let file = alike(context);
        assert_eq!(applied(&file, &limit(1, "limit = 1")), Err(Reason::AmbiguousHunk), "{file}");
    }
    let quoted = twice("limit = 1", "limit = 1").replace("name = x", "name = 'x'");
    let hunk = limit(1, "limit = 1").replace("name = x", "name = \u{2019}x\u{2019}");
    let far = quoted.clone() + "name = \u{2019}x\u{2019}\nlimit = 1\nend\n";
    assert!(applied(&quoted, &hunk).is_ok());
    assert_eq!(applied(&far, &hunk), Err(Reason::AmbiguousHunk));
    // Also if there are several such places.
    let thrice = alike("name  =  x") + "name = x\nlimit = 1\nend\n";
    assert_eq!(applied(&thrice, &limit(1, "limit = 1")), Err(Reason::AmbiguousHunk));
}

#[test]
fn a_place_that_another_hunk_states_is_not_a_candidate() {
    let file = twice("limit = 1", "limit = 1").replacen("name = x", "name  =  x", 1);
    let both = limit(1, "limit = 1") + &limit(64, "limit = 1");
    let (after, _) = applied(&file, &both).unwrap();
    assert_eq!(after, file.replace("limit = 1", "limit = 2"));
}

#[test]
fn a_hunk_that_is_applied_here_but_matches_loosely_elsewhere_is_refused() {
    for due in ["limit = 1", "limit = 1  ", "limit  = 1"] {
        let file = twice("limit = 2", due);
        assert_eq!(applied(&file, &limit(1, "limit = 1")), Err(Reason::AmbiguousHunk), "{due}");
    }
}

#[test]
fn a_complete_new_file_is_not_inserted_before_the_old_one() {
    for (file, added) in [("a\n", "+a\n+b\n"), ("a\nb\nc\n", "+a\n+x\n+b \n"), ("a\n", "+a\n")] {
        let hunk = format!("@@ -0,0 +1,{} @@\n{added}", added.lines().count());
        assert_eq!(applied(file, &hunk), Err(Reason::AmbiguousHunk), "{hunk}");
    }
    for (file, after) in
        [("x\na\n", "a\nb\nx\na\n"), ("a\nx\n\ny\n", "a\nb\na\nx\n\ny\n"), ("", "a\nb\n")]
    {
        assert_eq!(applied(file, "@@ -0,0 +1,2 @@\n+a\n+b\n").unwrap().0, after);
    }
    let with_more = "@@ -0,0 +1,3 @@\n+a\n+x\n+b\n@@ -2 +5 @@\n-b\n+B\n";
    assert_eq!(applied("a\nb\n", with_more).unwrap().0, "a\nx\nb\na\nB\n");
    let below = applied("a\n", "@@ -1,0 +2,2 @@\n+a\n+b\n").unwrap();
    assert_eq!(below.0, "a\na\nb\n");
}
