//! One case for every reason to refuse a diff, and the tables of reasons and tolerances in the documentation.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::tests::testing::{Files, path};
use crate::*;
use config::ApplyStrategy;
use tree::{CommitError, Entry, FileMode, FileState, KeptOff, KeptOffBy, TreeError};

/// A test case: the tree, the limits and the scope.
struct Case {
    files: Files,
    scope: PatchScope,
    limits: PatchLimits,
    strategy: ApplyStrategy,
    allowed: Tolerances,
}

fn tree() -> Case {
    let files = Files::default()
        .file("a", "one\ntwo\nthree\nfour\nfive\n")
        .file("tabs", "if x {\n\tone\n\ttwo\n}\n")
        .file("twins", "x\ny\nz\nx\ny\nz\n")
        .file("long", &"line\n".repeat(100))
        .entry("binary", Entry::File(FileState { bytes: "a\0b".into(), mode: FileMode::Regular }))
        .entry(
            "latin",
            Entry::File(FileState { bytes: b"caf\xe9\n"[..].into(), mode: FileMode::Regular }),
        )
        .entry("dir", Entry::Directory)
        .entry("link", Entry::Symlink)
        .entry("pipe", Entry::Other)
        .entry("big", Entry::TooLarge { bytes: 9_999_999 });
    Case {
        files,
        scope: PatchScope::default(),
        limits: PatchLimits::default(),
        strategy: ApplyStrategy::Auto,
        allowed: Tolerances::ALL,
    }
}

impl Case {
    fn refuse(&self, answer: &str) -> Refusal {
        let read = |path: &tree::RepoPath| match path.as_str() {
            "a/below" => Err(TreeError::ParentNotDirectory { path: path.clone() }),
            "sparse" => {
                let (by, cure) = (KeptOffBy::SparseCheckout, "git sparse-checkout add x".into());
                Err(TreeError::KeptOff { path: path.clone(), why: KeptOff { by, cure } })
            }
            "broken" => {
                Err(TreeError::Io { path: path.clone(), source: io::ErrorKind::Other.into() })
            }
            _ => self.files.read(path),
        };
        let Case { scope, limits, strategy, allowed, .. } = self;
        prepare_with(answer.as_bytes(), scope, *strategy, limits, &read, *allowed).unwrap_err()
    }

    fn without(mut self, tolerance: Tolerance) -> Case {
        self.allowed = self.allowed.without(tolerance);
        self
    }

    fn declare(mut self, paths: &[&str]) -> Case {
        self.scope.declared = Some(paths.iter().map(|text| path(text)).collect());
        self
    }

    fn base(mut self, at: &str, bytes: Option<&str>, hash_of: &str) -> Case {
        let base = match bytes {
            Some(bytes) => BaseState::of(bytes.to_owned().into()),
            None => BaseState::File { hash: tree::FileHash::of(hash_of.as_bytes()), bytes: None },
        };
        self.scope.bases.insert(path(at), base);
        self
    }
}

/// A diff of one file with the given hunks.
fn diff(at: &str, hunk: &str) -> String {
    format!("--- a/{at}\n+++ b/{at}\n{hunk}\n")
}

fn create(at: &str) -> String {
    format!("--- /dev/null\n+++ b/{at}\n@@ -0,0 +1 @@\n+x\n")
}

fn git(at: &str, headers: &str) -> String {
    format!("diff --git a/{at} b/{at}\n{headers}\n")
}

/// Every reason, each with a refusal that the engine itself produced.
#[expect(clippy::too_many_lines, reason = "a table, one line per reason")]
fn every_reason() -> Vec<(Reason, Refusal)> {
    let good = "@@ -2,2 +2,2 @@\n two\n-three\n+3";
    let limited = |limits| Case { limits, ..tree() };
    let three_way = || Case { strategy: ApplyStrategy::ThreeWay, ..tree() };
    let quoted = |name: &str| format!("--- /dev/null\n+++ \"b/{name}\"\n@@ -0,0 +1 @@\n+x\n");
    let modify = |at: &str| diff(at, good);
    let long_name = "x".repeat(300);
    let block = "line\n".repeat(1_999) + "end\n";
    let heavy = Case { files: tree().files.file("much", &block.repeat(3)), ..tree() };
    let too_much = format!("@@ @@\n{}-line\n+x", " line\n".repeat(1_999));
    let commit = CommitError::Io { path: path("a"), source: io::ErrorKind::StorageFull.into() };
    vec![
        (Reason::NoDiff, tree().refuse("Nothing to change.\n")),
        (Reason::UnsupportedFormat, tree().refuse("*** Begin Patch\n*** Update File: a\n")),
        (
            Reason::TruncatedDiff,
            tree().refuse("--- a/a\n+++ b/a\n@@ -1,5 +1,5 @@\n one\n-two\n+tw"),
        ),
        (
            Reason::DiffTooLarge,
            limited(PatchLimits { max_diff_bytes: Some(9), ..PatchLimits::default() })
                .refuse(&modify("a")),
        ),
        (
            Reason::TooManyFiles,
            limited(PatchLimits { max_files: Some(0), ..PatchLimits::default() })
                .refuse(&modify("a")),
        ),
        (Reason::BinaryContent, tree().refuse("--- a/a\0\n")),
        (Reason::TooComplex, heavy.refuse(&diff("much", &too_much))),
        (Reason::EmptyFileSection, tree().refuse("--- a/a\n+++ b/a\n")),
        (Reason::EmptyHunk, tree().refuse(&diff("a", "@@ -1,2 +1,2 @@\n one\n two"))),
        (
            Reason::NewFileHasOldLines,
            tree().refuse("--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n x\n+y\n"),
        ),
        (
            Reason::StrayLine,
            tree().refuse(&format!("```diff\n{}\n```\n+and more\n", diff("a", good).trim_end())),
        ),
        (
            Reason::RemarkOutside,
            tree().without(Tolerance::Remark).refuse(&format!("Done.\n\n{}", modify("a"))),
        ),
        (Reason::NoAnchor, tree().refuse(&diff("a", "@@ ... @@\n+new"))),
        (
            Reason::ContradictoryHeaders,
            tree().refuse(&format!("diff --git a/tabs b/tabs\n{}", modify("a"))),
        ),
        (
            Reason::ContradictoryFileOps,
            tree().refuse(&(create("n") + &create("n").replace("+x", "+y"))),
        ),
        (
            Reason::DamagedLine,
            tree()
                .refuse(&create("n.py").replace("+x", "+1| x\n+2| y").replace("+1 @@", "+1,2 @@")),
        ),
        (
            Reason::ElidedCode,
            tree().refuse(&diff("a", "@@ -2,2 +2,2 @@\n two\n-three\n+// ... existing code ...")),
        ),
        (
            Reason::EofMarkerNotAtEof,
            tree().refuse(&diff(
                "a",
                "@@ -2,2 +2,2 @@\n two\n-three\n+3\n\\ No newline at end of file",
            )),
        ),
        (Reason::NoFileHeader, tree().refuse(&format!("{good}\n"))),
        (Reason::PathMismatch, tree().refuse(&format!("--- a/a\n+++ b/b\n{good}\n"))),
        (Reason::UndeclaredFile, tree().declare(&["tabs"]).refuse(&modify("a"))),
        (Reason::AbsolutePath, tree().refuse(&create("/etc/x"))),
        (Reason::PathEscape, tree().refuse(&create("../x"))),
        (Reason::GitDirWrite, tree().refuse(&create(".GIT/hooks/x"))),
        (Reason::BadQuotedPath, tree().refuse(&quoted("\\9"))),
        (Reason::ControlCharInPath, tree().refuse(&quoted("a\\nb"))),
        (Reason::BackslashInPath, tree().refuse(&create("a\\b"))),
        (Reason::EmptyPath, tree().refuse(&create("x//y"))),
        (Reason::NonPortableName, tree().refuse(&create("aux.rs"))),
        (Reason::NonPortableName, tree().refuse(&create("new "))),
        (Reason::NonPortableName, tree().refuse(&git("new ", "new file mode 100644"))),
        (Reason::NonPortableName, tree().refuse(&git("a", "rename from a\nrename to b "))),
        (Reason::NameTooLong, tree().refuse(&create(&long_name))),
        (Reason::FileNotFound, tree().refuse(&modify("none"))),
        (Reason::FileExists, tree().refuse(&create("a"))),
        (Reason::NotOnDisk, tree().refuse(&create("sparse"))),
        (
            Reason::NotOnDisk,
            tree().refuse("diff --git a/a b/sparse\nrename from a\nrename to sparse\n"),
        ),
        (Reason::FileTooLarge, tree().refuse(&modify("big"))),
        (Reason::NotARegularFile, tree().refuse(&modify("pipe"))),
        (Reason::Symlink, tree().refuse(&modify("link"))),
        (Reason::ParentNotDirectory, tree().refuse(&create("a/below"))),
        (Reason::DirectoryTarget, tree().refuse(&create("dir"))),
        (Reason::BinaryTarget, tree().refuse(&modify("binary"))),
        (
            Reason::NotInEncoding,
            tree().refuse(&diff("latin", "@@ -1 +1 @@\n-caf\u{e9}\n+\u{8336}")),
        ),
        (Reason::ModeChange, tree().refuse(&git("a", "old mode 100644\nnew mode 100755"))),
        (Reason::UnsupportedMode, tree().refuse(&git("n", "new file mode 160000"))),
        (Reason::BinaryPatch, tree().refuse(&git("a", "Binary files a/a and b/a differ"))),
        (Reason::CopyUnsupported, tree().refuse(&git("a", "copy from a\ncopy to c"))),
        (Reason::Unreadable, tree().refuse(&modify("broken"))),
        (Reason::HunkNotFound, tree().refuse(&diff("a", "@@ -2,2 +2,2 @@\n two\n-drei\n+3"))),
        (Reason::AmbiguousHunk, tree().refuse(&diff("twins", "@@ ... @@\n x\n-y\n+why\n z"))),
        (
            Reason::ConflictingHunks,
            tree().refuse(&diff("a", &format!("{good}\n@@ -3,1 +3,1 @@\n-three\n+III"))),
        ),
        (
            Reason::IndentMismatch,
            tree().refuse(&diff("tabs", "@@ -2,2 +2,3 @@\n one\n+  new\n two")),
        ),
        (
            Reason::IndentStyleMismatch,
            tree().refuse(&diff("tabs", "@@ -2,2 +2,3 @@\n     one\n+    new\n     two")),
        ),
        (
            Reason::DeleteMismatch,
            tree().refuse("--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"),
        ),
        (Reason::StaleBase, tree().base("a", None, "other").refuse(&modify("a"))),
        (Reason::MergeConflict, {
            let mut case = three_way().base("a", Some("one\ntwo\nTHREE\nfour\nfive\n"), "");
            case.limits = PatchLimits::default();
            case.refuse(&diff("a", "@@ -2,2 +2,2 @@\n two\n-THREE\n+3"))
        }),
        (Reason::WriteFailed, Refusal::from(&commit)),
        // The Applier gives these: it knows which files models must not touch, and the lanes.
        (Reason::OperationRefused, PatchMismatch::file(Reason::OperationRefused, "a").into()),
        (Reason::ProtectedPath, PatchMismatch::file(Reason::ProtectedPath, ".deepseek/x").into()),
        (Reason::NotOwned, PatchMismatch::file(Reason::NotOwned, "a").into()),
        (Reason::MaskedSecret, PatchMismatch::masked("[redacted:abcd]").into()),
    ]
}

#[test]
fn every_reason_can_occur() {
    for (reason, refusal) in every_reason() {
        let given: Vec<Reason> =
            refusal.mismatches.iter().map(|mismatch| mismatch.reason).collect();
        assert_eq!(given, [reason], "{refusal}");
        assert!(refusal.for_model().contains(reason.code()));
        assert!(refusal.for_model().contains(reason.advice()));
    }
    let tried: BTreeSet<Reason> = every_reason().into_iter().map(|(reason, _)| reason).collect();
    let all: BTreeSet<Reason> = Reason::ALL.iter().copied().collect();
    assert_eq!(tried, all);
}

#[test]
fn all_problems_are_reported_at_once() {
    let refusal = tree().refuse(
        &(diff("none", "@@ -1 +1 @@\n-x\n+y")
            + &diff("a", "@@ -1 +1 @@\n-x\n+y\n@@ -3 +3 @@\n-z\n+y")),
    );
    let counts: BTreeMap<&str, usize> =
        refusal.mismatches.iter().fold(BTreeMap::new(), |mut counts, mismatch| {
            *counts.entry(mismatch.file.as_deref().unwrap()).or_default() += 1;
            counts
        });
    assert_eq!(counts, [("a", 2), ("none", 1)].into());
}

#[test]
fn feedback_names_the_place_and_the_first_difference() {
    let text: String =
        (1..=60).map(|n| format!("let line_{n} = {n};")).collect::<Vec<_>>().join("\n");
    let case = Case { files: Files::default().file("src/a.rs", &text), ..tree() };
    let hunk = "@@ -7,4 +7,4 @@\n let line_40 = 40;\n let line_41 = 41;\n-let line_42 = 24;\n+let line_42 = 0;\n let line_43 = 43;";
    let refusal = case.refuse(&diff("src/a.rs", hunk));
    let nearest = refusal.mismatches[0].nearest.as_ref().unwrap();
    assert_eq!((nearest.line, nearest.matched, nearest.of), (40, 3, 4));
    assert_eq!((nearest.differs_at, nearest.answer_line), (42, 6));
    insta::assert_snapshot!(refusal.for_model(), @r"
    The diff was not applied; nothing was written.

    src/a.rs: hunk 1 of 1 (line 3 of the diff): hunk_not_found: The old lines of the hunk are not in the file.
      @@ -7,4 +7,4 @@
      The closest match begins at line 40 of the file; 3 of 4 old lines match.
      line 6 of the diff is  `let line_42 = 24;`
      line 42 of the file is  `let line_42 = 42;`
      They differ at column 15: `2` in the diff, `4` in the file.
      The file at that place:
          37| let line_37 = 37;
          38| let line_38 = 38;
          39| let line_39 = 39;
          40| let line_40 = 40;
          41| let line_41 = 41;
          42| let line_42 = 42;
          43| let line_43 = 43;
          44| let line_44 = 44;
          45| let line_45 = 45;
          46| let line_46 = 46;
          47| let line_47 = 47;
      Send the whole diff again; copy context and removed lines exactly from the file, and keep 3 context lines.

    Send the whole diff again, including the parts that were correct.
    ");
}

#[test]
fn feedback_says_where_the_file_ends() {
    let files = Files::default().file("f", "a\nb\n").file("g", "a\nb\n\n");
    let case = Case { files, ..tree() };
    let hunk = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c";
    let refusal = case.refuse(&diff("f", hunk));
    let told = refusal.for_model();
    assert!(
        told.contains(
            "is  `c`\n  the file ends before that, at line 2\n  The file at that place:\n"
        ),
        "{told}"
    );
    assert_eq!(refusal.mismatches[0].found, None);
    let blank = case.refuse(&diff("g", hunk)).for_model();
    assert!(blank.contains("  line 3 of the file is  ``\n"), "{blank}");
}

#[test]
fn advice_on_names_is_correct() {
    let hunk = "@@ -2,2 +2,2 @@\n two\n-three\n+3\n";
    let files = tree().files.file("src/a", "one\ntwo\nthree\n").file("f", "one\ntwo\nthree\n");
    let case = || Case { files: files.clone(), ..tree() };
    let told = |case: &Case, old: &str, new: &str| {
        let refusal = case.refuse(&format!("--- {old}\n+++ {new}\n{hunk}"));
        let mismatch = refusal.mismatches.into_iter().next().unwrap();
        (mismatch.reason, mismatch.note.unwrap_or_default())
    };
    for (old, new, is) in [
        ("f.copy", "f", "f"),
        ("a/f", "b/f.new", "f"),
        ("v1/f", "v2/f", "f"),
        ("A/src/a", "B/src/a", "src/a"),
        ("a/v1/src/a", "b/v2/src/a", "src/a"),
    ] {
        let (reason, note) = told(&case(), old, new);
        let same = format!("To change `{is}`, write `--- a/{is}` and `+++ b/{is}`.");
        assert!(reason == Reason::PathMismatch && note.starts_with(&same), "{old}: {note}");
        assert_eq!(note.contains("rename from"), new == "b/f.new", "{old}: {note}");
    }
    for (old, new) in [("a/f", "b/a"), ("a/none", "b/nothing")] {
        assert_eq!(told(&case(), old, new), (Reason::PathMismatch, String::new()));
    }
    let declared = case().declare(&["f"]);
    assert_eq!(told(&declared, "a/src/a", "b/a"), (Reason::PathMismatch, String::new()));
    for (name, reason) in [("n:2", Reason::NonPortableName), ("n:/2", Reason::AbsolutePath)] {
        assert_eq!(told(&case(), &format!("a/{name}"), &format!("b/{name}")).0, reason);
    }
}

#[test]
fn feedback_is_bounded() {
    let hunk = "@@ -1 +1 @@\n-absent\n+x\n".repeat(400);
    assert!(tree().refuse(&diff("a", &hunk)).for_model().len() < 6_200);
    let long = "long".repeat(3_000);
    let case =
        Case { files: Files::default().file("wide", &format!("{long}\n").repeat(20)), ..tree() };
    for (answer, reason) in [
        (create(&format!("../{long}")), Reason::PathEscape),
        (diff("wide", &format!("@@ -9,2 +9,2 @@\n {long}\n-{long}!\n+x")), Reason::HunkNotFound),
    ] {
        let told = case.refuse(&answer).for_model();
        assert!(told.len() < 6_200 && told.contains(reason.code()), "{told}");
        assert!(told.contains(reason.advice()), "{told}");
    }
}

/// Returns the lines between `<!-- name -->` and `<!-- end -->` in the documentation.
fn documented(name: &str) -> String {
    let page = include_str!("../../../../docs/patching.md");
    let (_, after) = page.split_once(&format!("<!-- {name} -->\n")).unwrap();
    after.split_once("<!-- end -->").unwrap().0.to_owned()
}

#[test]
fn the_documentation_lists_every_reason_and_tolerance() {
    let mut reasons = String::from("| reason | meaning | what to do |\n|---|---|---|\n");
    for reason in Reason::ALL {
        reasons += &[
            "| `",
            reason.code(),
            "` | ",
            reason.meaning().trim(),
            " | ",
            reason.advice(),
            " |\n",
        ]
        .concat();
    }
    assert_eq!(documented("reasons"), reasons);
    let mut tolerances = String::from("| name | what is done |\n|---|---|\n");
    for tolerance in Tolerance::ALL {
        let name = serde_json::to_value(tolerance).unwrap();
        tolerances +=
            &["| `", name.as_str().unwrap(), "` | ", tolerance.describe(), " |\n"].concat();
    }
    assert_eq!(documented("tolerances"), tolerances);
}
