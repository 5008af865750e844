//! Shapes of answers that models write, three cases each: each is applied as intended, or refused.

use std::fmt::Write as _;

use crate::Reason;
use crate::Refusal;
use crate::tests::testing::{Files, path, plan_of};

/// A file, and a correct diff of it.
struct Base {
    before: &'static str,
    hunks: &'static str,
    after: &'static str,
}

/// A file with blank lines, two hunks far apart, and one with a list and a fence.
const CHANGED: [Base; 3] = [
    Base {
        before: "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n",
        hunks: "@@ -4,5 +4,6 @@\n def a():\n-    return 1\n+    x = 1\n+    return x\n \n \n def b():\n",
        after: "import os\n\n\ndef a():\n    x = 1\n    return x\n\n\ndef b():\n    return 2\n",
    },
    Base {
        before: "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
        hunks: "@@ -1,3 +1,4 @@\n one\n+one and a half\n two\n three\n@@ -8,3 +9,2 @@\n eight\n-nine\n ten\n",
        after: "one\none and a half\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nten\n",
    },
    Base {
        before: "# T\n\n- a\n- b\n\n```sh\nrun\n```\nEnd.\n",
        hunks: "@@ -3,6 +3,7 @@\n - a\n-- b\n+- B\n \n ```sh\n run\n+stop\n ```\n",
        after: "# T\n\n- a\n- B\n\n```sh\nrun\nstop\n```\nEnd.\n",
    },
];

/// New files: code with a blank line, one line, and a list.
const CREATED: [Base; 3] = [
    Base {
        before: "",
        hunks: "@@ -0,0 +1,3 @@\n+import os\n+\n+X = 1\n",
        after: "import os\n\nX = 1\n",
    },
    Base { before: "", hunks: "@@ -0,0 +1 @@\n+one\n", after: "one\n" },
    Base { before: "", hunks: "@@ -0,0 +1,2 @@\n+- a\n+- b\n", after: "- a\n- b\n" },
];

impl Base {
    fn diff(&self) -> String {
        let old = if self.before.is_empty() { "/dev/null" } else { "a/f" };
        format!("--- {old}\n+++ b/f\n{}", self.hunks)
    }

    /// The diff with every line of a body changed.
    fn bodies(&self, change: impl Fn(&str) -> String) -> String {
        let line = |line: &str| match line.as_bytes() {
            [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] | [b'@', ..] => line.to_owned(),
            _ => change(line),
        };
        self.diff().lines().map(|each| line(each) + "\n").collect()
    }

    fn all(&self, change: impl Fn(&str) -> String) -> String {
        self.diff().lines().map(|each| change(each) + "\n").collect()
    }

    fn header(&self, change: impl Fn(&str) -> String) -> String {
        self.all(|line| if line.starts_with("@@") { change(line) } else { line.to_owned() })
    }

    fn fenced(&self) -> String {
        format!("```diff\n{}```\n", self.diff())
    }

    /// Describes the result of an answer: `=` for the intended file, `!` for another one, or the reason for refusing
    /// it.
    fn outcome(&self, answer: &str) -> String {
        let files = Files::default();
        let files = if self.before.is_empty() { files } else { files.file("f", self.before) };
        match plan_of(&files, &["f", "g"], answer) {
            Err(Refusal { mismatches }) => mismatches[0].reason.code().to_owned(),
            Ok(plan) => {
                let made = |change: &tree::Change| {
                    change.path == path("f")
                        && change.after.as_ref().is_some_and(|state| state.bytes == self.after)
                };
                let right = plan.changes.len() == 1 && plan.changes.iter().all(made);
                if right { "=" } else { "!" }.to_owned()
            }
        }
    }
}

/// A name, and a way to write a diff.
type Shape = (&'static str, fn(&Base) -> String);

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn shapes() -> Vec<Shape> {
    vec![
        ("correct", |b| b.diff()),
        ("a fence with a file name", |b| format!("```diff title=\"f\"\n{}```\n", b.diff())),
        ("a fence of four", |b| format!("````diff\n{}````\n", b.diff())),
        ("a fence of tildes", |b| format!("~~~\n{}~~~\n", b.diff())),
        ("a fence that is never closed", |b| format!("```diff\n{}", b.diff())),
        ("only a closing fence", |b| format!("{}```\n", b.diff())),
        ("a fence without a newline before it", |b| format!("```diff\n{}```", b.diff().trim_end())),
        ("inside a numbered list", |b| {
            format!("1. Change:\n   ```diff\n{}   ```\n", b.all(|line| format!("   {line}")))
        }),
        ("tags", |b| format!("<answer>\n<diff>\n{}</diff>\n</answer>\n", b.diff())),
        ("a tag that is glued to the diff", |b| format!("<diff>{}</diff>\n", b.diff())),
        ("CDATA", |b| format!("<patch><![CDATA[\n{}]]></patch>\n", b.diff())),
        ("JSON", |b| format!("{{\"patch\": \"{}\"}}\n", b.diff().replace('\n', "\\n"))),
        ("quoted", |b| b.all(|line| format!("> {line}"))),
        ("quoted, blanks cut", |b| b.all(|line| format!("> {line}").trim_end().to_owned())),
        ("in colours", |b| b.all(|line| format!("\u{1b}[32m{line}\u{1b}[m"))),
        ("only changes in colours", |b| {
            b.bodies(|line| {
                if line.starts_with(' ') {
                    line.into()
                } else {
                    format!("\u{1b}[31m{line}\u{1b}[0m")
                }
            })
        }),
        ("a hard space for a marker *", |b| b.bodies(|line| line.replacen(' ', "\u{a0}", 1))),
        ("a wide plus", |b| {
            b.bodies(|line| {
                if line.starts_with('+') { line.replacen('+', "\u{ff0b}", 1) } else { line.into() }
            })
        }),
        ("a Unicode minus", |b| {
            b.bodies(|line| {
                if line.starts_with('-') { line.replacen('-', "\u{2212}", 1) } else { line.into() }
            })
        }),
        ("names in reverse order", |b| {
            let diff = b.diff();
            let mut lines: Vec<&str> = diff.lines().collect();
            lines.swap(0, 1);
            lines.join("\n") + "\n"
        }),
        ("no hunk header", |b| {
            b.all(|line| if line.starts_with("@@") { String::new() } else { line.into() })
                .replace("\n\n", "\n")
        }),
        ("a hunk header in words", |b| b.header(|_| "@@ below the imports @@".into())),
        ("half a hunk header", |b| {
            b.header(|line| line.split(" +").next().unwrap_or_default().into())
        }),
        ("a hunk header twice", |b| b.header(|line| format!("{line}\n{line}"))),
        ("three signs in a hunk header", |b| b.header(|line| line.replace("@@", "@@@"))),
        ("a hunk header with a remark", |b| b.header(|line| format!("{line} # see below"))),
        ("a blank line below hunk headers", |b| b.header(|line| format!("{line}\n"))),
        ("a blank line after every line", |b| b.all(|line| format!("{line}\n"))),
        ("numbers with a colon *", |b| {
            b.bodies(|line| {
                let (marker, text) = line.split_at_checked(1).unwrap_or_default();
                format!("{marker} 7: {text}")
            })
        }),
        ("remarks after removed lines", |b| {
            b.bodies(
                |line| {
                    if line.starts_with('-') { format!("{line}  # remove") } else { line.into() }
                },
            )
        }),
        ("prose between hunks, in the fence", |b| {
            format!("```diff\n{}```\n", b.diff().replace("\n@@ -8", "\nAnd further down:\n@@ -8"))
        }),
        ("a remark between hunks, wrong counts", |b| {
            format!(
                "```diff\n{}```\n",
                b.header(|line| line.replace(",3", ",9"))
                    .replace("\n@@ -8", "\n\n# further down\n@@ -8")
            )
        }),
        ("dots between hunks", |b| b.diff().replace("\n@@ -8", "\n...\n@@ -8")),
        ("a fence for every hunk", |b| {
            let names = "--- a/f\n+++ b/f\n";
            format!("```diff\n{}```\n", b.diff())
                .replace("\n@@ -8", &format!("\n```\nAnd:\n```diff\n{names}@@ -8"))
        }),
        ("a fence for every hunk, names once", |b| {
            b.fenced().replace("\n@@ -8", "\n```\nAnd:\n```diff\n@@ -8")
        }),
        ("the whole diff twice", |b| format!("{0}\nOnce more:\n\n{0}", b.fenced())),
        ("the file before it, in a fence", |b| {
            format!("Now:\n```\n{}```\nThen:\n{}", b.before, b.fenced())
        }),
        ("the file after it, in a fence", |b| {
            format!("{}\nIt is then:\n```\n{}```\n", b.fenced(), b.after)
        }),
        ("a list of plus signs after it", |b| {
            format!("{}\n+ Added a line\n+ Kept the rest\n", b.fenced())
        }),
        ("a list of plus signs, no fence", |b| {
            format!("{}\n+ Added a line\n+ Kept the rest\n", b.diff())
        }),
        ("a list of minus signs, no fence, wrong counts", |b| {
            format!(
                "{}\n- Added a line\n- Kept the rest\n",
                b.header(|line| line.replace(" @@", "7 @@"))
            )
        }),
        ("a table after it", |b| format!("{}\n| + | - |\n|---|---|\n| 1 | 2 |\n", b.diff())),
        ("a signature", |b| format!("{}-- \nYour assistant\n", b.diff())),
        ("an end in words", |b| format!("{}*** End of Patch\n", b.diff())),
        ("a shell command after it", |b| {
            format!("{}\n```sh\ngit add -A && git commit\n```\n", b.fenced())
        }),
        ("another language's diff fence", |b| format!("```patch\n{}```\n", b.diff())),
        ("a second fence of bare changes", |b| {
            format!("{}\nand\n```diff\n-x\n+y\n```\n", b.fenced())
        }),
        ("a second file as a block", |b| {
            format!("{}\n`g`:\n\n```\nnew\n```\n", b.fenced())
                .replace("`g`", "**`g.txt`**")
                .replace("g.txt", "g")
        }),
        ("an end marker twice *", |b| {
            format!("{0}{1}\n{1}\n", b.diff(), "\\ No newline at end of file")
        }),
        ("an end marker in small letters *", |b| {
            format!("{}\\ no newline at end of file\n", b.diff())
        }),
        ("tabs written out", |b| b.bodies(|line| line.replace("    ", "\\t"))),
        ("escaped for HTML *", |b| b.bodies(|line| line.replace(' ', "&nbsp;"))),
        ("a zero-width space before every line", |b| b.all(|line| format!("\u{200b}{line}"))),
        ("a byte order mark inside the fence", |b| format!("```diff\n\u{feff}{}```\n", b.diff())),
        ("conflict markers", |b| {
            format!("<<<<<<< HEAD\n{}=======\n{}>>>>>>> new\n", b.before, b.after)
        }),
        ("without context, as commands", |b| {
            format!(
                "4c4\n< {}\n---\n> {}\n",
                b.before.lines().next().unwrap_or_default(),
                b.after.lines().next().unwrap_or_default()
            )
        }),
        ("signs of the old diff", |b| {
            b.bodies(|line| line.replacen('-', "<", 1).replacen('+', ">", 1))
        }),
        ("search and replace in tags", |b| {
            format!("<search>\n{}</search>\n<replace>\n{}</replace>\n", b.before, b.after)
        }),
        ("search and replace after a diff", |b| {
            format!("{}\n<<<<<<<SEARCH\none\n=======\n1\n>>>>>>>REPLACE\n", b.diff())
        }),
        ("an apply_patch after a diff", |b| {
            format!(
                "{}*** Begin Patch\n*** Update File: g\n@@\n-one\n+1\n*** End Patch\n",
                b.diff()
            )
        }),
        ("the whole file", |b| format!("```python\n{}```\n", b.after)),
        ("a shell that writes the file", |b| format!("cat > f <<'EOF'\n{}EOF\n", b.after)),
        ("reasoning in the middle", |b| {
            format!(
                "Sure.\n<think>\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\n</think>\n{}",
                b.diff()
            )
        }),
        ("reasoning without an opening tag", |b| {
            format!(
                "Maybe:\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\nNo.\n</think>\n\n{}",
                b.diff()
            )
        }),
        ("a template's token before it", |b| format!("<|im_start|>assistant\n{}", b.diff())),
        ("a template's token after the fence", |b| format!("{}<|im_end|>\n", b.fenced())),
        ("a template's token glued to it", |b| {
            format!("{}<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>", b.diff().trim_end())
        }),
        ("names in backquotes", |b| b.diff().replace("a/f", "`a/f`").replace("b/f", "`b/f`")),
        ("names with remarks", |b| {
            b.diff().replace("a/f\n", "a/f (before)\n").replace("b/f\n", "b/f (after)\n")
        }),
        ("names with a dot before them", |b| {
            b.diff().replace("a/f\n", "./f\n").replace("b/f\n", "./f\n")
        }),
        ("names with space after them", |b| {
            b.diff().replace("a/f\n", "a/f  \n").replace("b/f\n", "b/f  \n")
        }),
        ("names with two spaces before them", |b| {
            b.diff().replace("--- ", "---  ").replace("+++ ", "+++  ")
        }),
        ("names of another directory", |b| {
            b.diff().replace("a/f\n", "a/repo/f\n").replace("b/f\n", "b/repo/f\n")
        }),
        ("separators of Subversion, wrong counts", |b| {
            format!(
                "Index: f\n{}\n{}",
                "=".repeat(67),
                b.header(|line| line.replace(" @@", "7 @@"))
            )
        }),
        ("the last hunk is cut, the fence closed *", |b| {
            let diff = b.diff();
            let lines: Vec<&str> = diff.lines().collect();
            format!("```diff\n{}\n```\n", lines[..lines.len() - 1].join("\n"))
        }),
        ("the rest is left out after a blank line", |b| {
            let diff = b.diff();
            let lines: Vec<&str> = diff.lines().collect();
            format!(
                "{}\n\n[... remaining lines omitted ...]\n",
                lines[..lines.len() - 1].join("\n")
            )
        }),
        ("markers lost after a blank line", |b| {
            let (kept, lost) = b
                .diff()
                .rsplit_once("\n+")
                .map(|(kept, lost)| (kept.to_owned(), lost.to_owned()))
                .unwrap();
            format!("```diff\n{kept}\n\n{lost}```\n")
        }),
        ("a bare fence in the text", |b| {
            format!(
                "```diff\n{}```\n",
                b.bodies(|line| if line.trim_start().starts_with("```") {
                    line.trim_start().into()
                } else {
                    line.into()
                })
            )
        }),
    ]
}

#[test]
fn a_last_hunk_with_all_its_old_lines_does_not_count_as_cut_off() {
    let files = Files::default().file("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let hunks = |counts: &str, end: &str| {
        format!(
            "```diff\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -6,{counts} @@\n 6\n+six\n 7\n{end}"
        )
    };
    // The fence is not closed, and the new lines are miscounted.
    let plan = plan_of(&files, &["f"], &hunks("3 +6,6", " 8\n")).unwrap();
    let after = plan.changes[0].after.as_ref().unwrap().bytes.clone();
    let after = String::from_utf8(after.to_vec()).unwrap();
    assert_eq!(after, "1\ntwo\n3\n4\n5\n6\nsix\n7\n8\n9\n");
    for cut in [hunks("3 +6,6", ""), hunks("3 +6,6", " 8\n+seven\n"), hunks("4 +6,7", " 8\n")] {
        let refusal = plan_of(&files, &["f"], &cut).unwrap_err();
        assert_eq!(refusal.mismatches[0].reason, Reason::TruncatedDiff, "{cut}");
    }
}

#[test]
fn the_names_of_the_next_file_do_not_fill_up_a_count() {
    let files = Files::default().file("a", "1\n2\n3\n4\n5\n").file("b", "6\n7\n8\n");
    // The first header counts a context line that does not exist, on both sides.
    let answer = "--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n 1\n-2\n+two\n 3\n--- a/b\n+++ b/b\n@@ -1,3 +1,3 @@\n 6\n-7\n+seven\n 8\n";
    let plan = plan_of(&files, &["a", "b"], answer).unwrap();
    let after = plan.changes.iter().map(|it| it.after.as_ref().unwrap().bytes.clone());
    let after: Vec<String> = after.map(|it| String::from_utf8(it.to_vec()).unwrap()).collect();
    assert_eq!(after, ["1\ntwo\n3\n4\n5\n", "6\nseven\n8\n"]);
    // In a diff without context, they may be lines of the file.
    let files = Files::default().file("f", "-- a/b\n2\n3\n");
    let bare = "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n--- a/b\n+++ b/b\n@@ -3,1 +3,1 @@\n-3\n+three\n";
    let plan = plan_of(&files, &["f"], bare).unwrap();
    let after = plan.changes[0].after.as_ref().unwrap().bytes.clone();
    assert_eq!(String::from_utf8(after.to_vec()).unwrap(), "++ b/b\n2\nthree\n");
}

#[test]
fn no_shape_leads_to_a_wrong_file() {
    let mut told = String::new();
    for (name, shape) in shapes() {
        let row = |bases: &[Base]| -> Vec<String> {
            bases.iter().map(|base| base.outcome(&shape(base))).collect()
        };
        let created = if name.ends_with('*') { Vec::new() } else { row(&CREATED) };
        let changed = row(&CHANGED);
        writeln!(told, "{name}: {} | {}", changed.join(" "), created.join(" ")).unwrap();
    }
    println!("{told}");
    assert!(!told.contains('!'), "{told}");
}

#[test]
fn a_complete_file_is_not_inserted_before_itself() {
    let made =
        |hunks: &str| crate::tests::testing::applied("a\n\nb\n", hunks).map(|(text, _)| text);
    assert_eq!(made("@@ -0,0 +1,4 @@\n+a\n+\n+b\n+c\n"), Err(Reason::AmbiguousHunk));
    assert_eq!(made("@@ -0,0 +1,1 @@\n+c\n"), Ok("c\na\n\nb\n".to_owned()));
    let second = "@@ -1 +1 @@\n-a\n+A\n@@ -0,0 +1,1 @@\n+c\n";
    assert_eq!(
        made(second),
        Err(Reason::NoAnchor),
        "what is put at the top of nothing is of another file"
    );
}
