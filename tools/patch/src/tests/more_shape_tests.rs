//! More shapes of answers, as different model families write them, three cases each: each is applied as intended, or
//! refused.

use std::fmt::Write as _;

use crate::Refusal;
use crate::tests::testing::{Files, path, plan_of};

/// A file, an answer, and the intended file.
struct Case {
    before: String,
    after: String,
    answer: String,
}

/// A file, a correct hunk of it, and the file after.
struct Base(&'static str, &'static str, &'static str);

/// Code with tabs, generics and quotes; a text with fences, hard breaks and dashes; code whose lines recur.
const BASES: [Base; 3] = [
    Base(
        "use std::io;\n\nfn main() -> Result<(), io::Error> {\n\tlet a: Vec<u8> = vec![];\n\tif a.len() < 3 && true {\n\t\tprintln!(\"it's \\\"x\\\"\");\n\t}\n\tOk(())\n}\n",
        "@@ -4,4 +4,5 @@\n \tlet a: Vec<u8> = vec![];\n-\tif a.len() < 3 && true {\n+\tlet b = &a;\n+\tif b.len() < 4 && true {\n \t\tprintln!(\"it's \\\"x\\\"\");\n \t}\n",
        "use std::io;\n\nfn main() -> Result<(), io::Error> {\n\tlet a: Vec<u8> = vec![];\n\tlet b = &a;\n\tif b.len() < 4 && true {\n\t\tprintln!(\"it's \\\"x\\\"\");\n\t}\n\tOk(())\n}\n",
    ),
    Base(
        "# Use <x>\n\nFirst  \nsecond – \"last\"\n\n```sh\nrun > out\n```\n\n- a & b\n- c\n",
        "@@ -3,5 +3,6 @@\n First  \n second – \"last\"\n \n ```sh\n-run > out\n+run -v > out\n+stop\n@@ -10,2 +11,3 @@\n - a & b\n+- b\n - c\n",
        "# Use <x>\n\nFirst  \nsecond – \"last\"\n\n```sh\nrun -v > out\nstop\n```\n\n- a & b\n- b\n- c\n",
    ),
    Base(
        "def a(x):\n    if x < 1:\n        return \"n\"\n\n    return x\n\n\ndef b(x):\n    if x < 2:\n        return \"n\"\n\n    return x\n",
        "@@ -8,5 +8,6 @@\n def b(x):\n     if x < 2:\n-        return \"n\"\n+        y = x & 1\n+        return \"m\"\n \n     return x\n",
        "def a(x):\n    if x < 1:\n        return \"n\"\n\n    return x\n\n\ndef b(x):\n    if x < 2:\n        y = x & 1\n        return \"m\"\n\n    return x\n",
    ),
];

const NAMES: &str = "--- a/f\n+++ b/f\n";

impl Base {
    fn of(&self, answer: String) -> Case {
        Case { before: self.0.to_owned(), after: self.2.to_owned(), answer }
    }

    fn diff(&self) -> String {
        format!("{NAMES}{}", self.1)
    }

    /// The diff with every line of a body changed.
    fn bodies(&self, change: impl Fn(&str) -> String) -> Case {
        let line = |line: &str| if line.starts_with("@@") { line.to_owned() } else { change(line) };
        let hunks: String = self.1.lines().map(|each| line(each) + "\n").collect();
        self.of(format!("{NAMES}{hunks}"))
    }

    /// The diff with every line of a body with this marker changed.
    fn marked(&self, marker: char, change: impl Fn(&str) -> String) -> Case {
        self.bodies(|line| match line.strip_prefix(marker) {
            Some(text) => format!("{marker}{}", change(text)),
            None => line.to_owned(),
        })
    }

    fn headers(&self, change: impl Fn(&str) -> String) -> Case {
        let line = |line: &str| if line.starts_with("@@") { change(line) } else { line.to_owned() };
        let hunks: String = self.1.lines().map(|each| line(each) + "\n").collect();
        self.of(format!("{NAMES}{hunks}"))
    }

    /// The old and new lines of each hunk.
    fn sides(&self) -> Vec<[String; 2]> {
        let side = |hunk: &str, other: char| -> String {
            let lines = hunk.lines().skip(1).filter(|line| !line.starts_with(other));
            lines.map(|line| line.split_at(1).1.to_owned() + "\n").collect()
        };
        let hunks = self.1.split_inclusive("\n@@").map(|hunk| hunk.trim_end_matches("@@"));
        hunks.map(|hunk| [side(hunk, '+'), side(hunk, '-')]).collect()
    }

    /// The sides of each hunk, in the given form.
    fn blocks(&self, block: impl Fn(&str, &str) -> String) -> String {
        self.sides().iter().map(|[old, new]| block(old, new)).collect()
    }

    /// The hunks with this header instead of their own.
    fn bare(&self, header: &str) -> String {
        let line =
            |line: &str| if line.starts_with("@@") { header.into() } else { line.to_owned() };
        self.1.lines().map(|each| line(each) + "\n").collect()
    }
}

impl Case {
    /// Describes the result: `=` for the intended file, `0` for no change, `!` for another file, or the reason for
    /// refusing it.
    fn outcome(&self) -> String {
        let files = Files::default().file("f", &self.before).file("g", "x\n");
        match plan_of(&files, &["f", "g"], &self.answer) {
            Err(Refusal { mismatches }) => mismatches[0].reason.code().to_owned(),
            Ok(plan) if plan.changes.is_empty() => "0".to_owned(),
            Ok(plan) => {
                let made = |change: &tree::Change| {
                    change.path == path("f")
                        && change
                            .after
                            .as_ref()
                            .is_some_and(|state| state.bytes == self.after.as_bytes())
                };
                let right = plan.changes.len() == 1 && plan.changes.iter().all(made);
                if right { "=" } else { "!" }.to_owned()
            }
        }
    }
}

fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// A name, and a way to write a diff.
type Shape = (&'static str, fn(&Base) -> Case);

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn shapes() -> Vec<Shape> {
    vec![
        ("correct", |b| b.of(b.diff())),
        ("apply_patch", |b| {
            b.of(format!("*** Begin Patch\n*** Update File: f\n{}*** End Patch\n", b.bare("@@")))
        }),
        ("apply_patch in a shell", |b| {
            let hunks = b.bare("@@");
            b.of(format!(
                "```sh\napply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\nEOF\n```\n"
            ))
        }),
        ("apply_patch around names", |b| {
            b.of(format!("*** Begin Patch\n{}*** End Patch\n", b.diff()))
        }),
        ("git apply in a shell", |b| {
            b.of(format!("```bash\ngit apply <<'EOF'\n{}EOF\n```\n", b.diff()))
        }),
        ("patch in a shell, no fence", |b| {
            b.of(format!("patch -p1 <<'PATCH'\n{}PATCH\n", b.diff()))
        }),
        ("a JSON value", |b| b.of(format!("```json\n{{\"diff\": {}}}\n```\n", json(&b.diff())))),
        ("a JSON value, no fence", |b| {
            b.of(format!("{{\"path\": \"f\", \"patch\": {}, \"note\": \"done\"}}", json(&b.diff())))
        }),
        ("a JSON string", |b| b.of(json(&b.diff()) + "\n")),
        ("entities throughout", |b| b.of(entities(&b.diff()))),
        ("entities in bodies, in a fence", |b| {
            let case = b.bodies(entities);
            b.of(format!("```diff\n{}```\n", case.answer))
        }),
        ("entities in context only", |b| b.marked(' ', entities)),
        ("entities in a page", |b| {
            b.of(format!(
                "<pre><code class=\"language-diff\">\n{}</code></pre>\n",
                entities(&b.diff())
            ))
        }),
        ("curly quotes in context", |b| {
            b.marked(' ', |text| text.replace('"', "\u{201d}").replace('\'', "\u{2019}"))
        }),
        ("curly quotes throughout", |b| {
            b.bodies(|text| text.replace('"', "\u{201d}").replace('\'', "\u{2019}"))
        }),
        ("a plain dash in context", |b| b.marked(' ', |text| text.replace('–', "-"))),
        ("tabs as spaces in context", |b| b.marked(' ', |text| text.replace('\t', "    "))),
        ("tabs as spaces throughout", |b| b.bodies(|text| text.replace('\t', "    "))),
        ("spaces as tabs in context", |b| b.marked(' ', |text| text.replace("    ", "\t"))),
        ("blanks cut in context", |b| {
            b.bodies(|line| {
                if line.starts_with(' ') { line.trim_end().to_owned() } else { line.to_owned() }
            })
        }),
        ("blanks cut throughout", |b| b.bodies(|line| line.trim_end().to_owned())),
        ("CRLF for a file with LF", |b| b.of(crlf(&b.diff()))),
        ("LF for a file with CRLF", |b| Case {
            before: crlf(b.0),
            after: crlf(b.2),
            answer: b.diff(),
        }),
        ("CRLF in new lines only", |b| Case {
            before: crlf(b.0),
            after: crlf(b.2),
            answer: b
                .bodies(
                    |line| if line.starts_with('+') { format!("{line}\r") } else { line.into() },
                )
                .answer,
        }),
        ("existing code in context", |b| {
            let (head, rest) = b.1.split_once('\n').unwrap();
            b.of(format!("{NAMES}{head}\n // ... existing code ...\n{rest}"))
        }),
        ("existing code after a hunk", |b| {
            b.of(format!("{} // ... rest of the code ...\n", b.diff()))
        }),
        ("existing code instead of old lines", |b| {
            b.bodies(|line| {
                if line.starts_with('-') { "-# ... existing code ...".into() } else { line.into() }
            })
        }),
        ("existing code added", |b| {
            b.bodies(|line| {
                if line.starts_with('+') {
                    format!("{line}\n+    # ... (rest unchanged)")
                } else {
                    line.into()
                }
            })
        }),
        ("cut in a new line", |b| {
            let diff = b.diff();
            let at = diff.rfind("\n+").unwrap() + 4;
            b.of(diff.split_at(at).0.to_owned())
        }),
        ("cut in a fence", |b| {
            let diff = b.diff();
            let kept = diff.rsplit_once("\n+").unwrap().0;
            b.of(format!("```diff\n{kept}\n"))
        }),
        ("cut after a header", |b| b.of(format!("{}@@ -1,", b.diff()))),
        ("a fence for every hunk, with prose", |b| {
            let case = b.headers(|line| format!("```\nThen:\n```diff\n{line}"));
            b.of(format!("First:\n```diff\n{}```\n", case.answer))
        }),
        ("the same hunk in two fences", |b| {
            b.of(format!("```diff\n{0}```\nThat is:\n```diff\n{0}```\n", b.diff()))
        }),
        ("names before every hunk", |b| {
            let first = b.headers(|line| format!("{NAMES}{line}")).answer;
            b.of(first.replacen(NAMES, "", 1))
        }),
        ("headers of two signs", |b| b.of(format!("{NAMES}{}", b.bare("@@")))),
        ("headers with a name", |b| b.of(format!("{NAMES}{}", b.bare("@@ def b(x): @@")))),
        ("headers with a name, open", |b| b.of(format!("{NAMES}{}", b.bare("@@ fn main() {")))),
        ("headers with a line in words", |b| b.of(format!("{NAMES}{}", b.bare("@@ line 4 @@")))),
        ("headers with dots", |b| b.of(format!("{NAMES}{}", b.bare("@@ ... @@")))),
        ("headers without counts", |b| {
            b.headers(|line| {
                let number = |sign| {
                    let rest = line.split_once(sign).unwrap().1;
                    rest.split([',', ' ']).next().unwrap().to_owned()
                };
                format!("@@ -{} +{} @@", number('-'), number('+'))
            })
        }),
        ("headers without signs", |b| {
            b.headers(|line| line.replace("@@ -", "@@ ").replace(" +", " "))
        }),
        ("headers with one sign", |b| b.headers(|line| line.replace("@@", "@"))),
        ("a space after every plus and minus", |b| {
            b.bodies(|line| {
                let (marker, text) = line.split_at(1);
                if marker == " " { line.to_owned() } else { format!("{marker} {text}") }
            })
        }),
        ("no markers before context", |b| {
            b.bodies(|line| line.strip_prefix(' ').unwrap_or(line).to_owned())
        }),
        ("line numbers before markers", |b| b.bodies(|line| format!("4 {line}"))),
        ("line numbers with a bar before markers", |b| b.bodies(|line| format!("  12 | {line}"))),
        ("copied numbers after markers", |b| {
            b.bodies(|line| {
                let (marker, text) = line.split_at(1);
                if marker == "+" { line.to_owned() } else { format!("{marker}12|{text}") }
            })
        }),
        ("search and replace", |b| {
            b.of(b.blocks(|old, new| {
                format!("f\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n")
            }))
        }),
        ("search and replace, the path once", |b| {
            let blocks = b.blocks(|old, new| {
                format!("<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n\n")
            });
            b.of(format!("Here it is.\n\n**`f`**\n\n{blocks}That is all.\n"))
        }),
        ("search and replace of dashes and pluses", |b| {
            b.of(b.blocks(|old, new| {
                format!("f\n------- SEARCH\n{old}=======\n{new}+++++++ REPLACE\n")
            }))
        }),
        ("search and replace, cut", |b| {
            b.of(b.blocks(|old, new| format!("f\n<<<<<<< SEARCH\n{old}=======\n{new}")))
        }),
        ("edits in JSON", |b| {
            b.of(b.blocks(|old, new| {
                format!("{{\"path\": \"f\", \"old\": {}, \"new\": {}}}\n", json(old), json(new))
            }))
        }),
        ("parameters of an edit", |b| {
            b.of(b.blocks(|old, new| {
                format!(
                    "<invoke name=\"edit\">\n<parameter name=\"old_str\">{old}</parameter>\n<parameter name=\"new_str\">{new}</parameter>\n</invoke>\n"
                )
            }))
        }),
        ("the file in a fence with its path", |b| b.of(format!("```text f\n{}```\n", b.2))),
        ("a mail", |b| {
            b.of(format!(
                "From 1234567890123456789012345678901234567890 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: [PATCH] Do it\n\n---\n f | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)\n\ndiff --git a/f b/f\nindex 1234567..89abcde 100644\n{}-- \n2.43.0\n\n",
                b.diff()
            ))
        }),
        ("output of git show", |b| {
            b.of(format!(
                "commit 1234567890123456789012345678901234567890\nAuthor: A <a@b.c>\nDate:   Mon Sep 17 00:00:00 2001\n\n    Do it\n\ndiff --git a/f b/f\nindex 1234567..89abcde 100644\n{}",
                b.diff()
            ))
        }),
        ("names with timestamps", |b| {
            b.of(format!(
                "--- a/f\t2026-01-01 00:00:00.000000000 +0000\n+++ b/f\t2026-01-02 00:00:00.000000000 +0000\n{}",
                b.1
            ))
        }),
        ("names without prefixes", |b| b.of(format!("--- f\n+++ f\n{}", b.1))),
        ("names in quotes", |b| b.of(format!("--- \"a/f\"\n+++ \"b/f\"\n{}", b.1))),
        ("names of the workspace", |b| {
            b.of(format!("--- /workspace/f\n+++ /workspace/f\n{}", b.1))
        }),
        ("names with stars", |b| b.of(format!("**--- a/f**\n**+++ b/f**\n{}", b.1))),
        ("only the new name", |b| b.of(format!("+++ b/f\n{}", b.1))),
        ("only the old name", |b| b.of(format!("--- a/f\n{}", b.1))),
        ("a name in the fence", |b| b.of(format!("```diff f\n{}```\n", b.1))),
        ("a name above the fence", |b| b.of(format!("`f`:\n```diff\n{}```\n", b.1))),
        ("an index line alone", |b| b.of(format!("diff --git a/f b/f\n{}", b.1))),
        ("binary files after it", |b| {
            b.of(format!("{}Binary files a/g.png and b/g.png differ\n", b.diff()))
        }),
        ("only in a directory", |b| b.of(format!("Only in b: tmp\n{}", b.diff()))),
        ("a diff of words", |b| {
            let sides = b.sides();
            let [old, new] = &sides[0];
            b.of(format!("{NAMES}@@ -1 +1 @@\n[-{}-]{{+{}+}}\n", old.trim_end(), new.trim_end()))
        }),
        ("sed", |b| {
            b.of(format!("```sh\nsed -i 's/x/y/' {}\n```\n", if b.0.is_empty() { "" } else { "f" }))
        }),
        ("old and new swapped", |b| {
            b.bodies(|line| match line.split_at(1) {
                ("+", text) => format!("-{text}"),
                ("-", text) => format!("+{text}"),
                _ => line.to_owned(),
            })
        }),
        ("a second answer after a rule", |b| {
            b.of(format!("{}\n---\n\nThe lines above replace the old ones.\n", b.diff()))
        }),
        ("a heading per file", |b| {
            b.of(format!("### `f`\n\n```diff\n{}```\n\n### Notes\n\n* done\n", b.diff()))
        }),
        ("folded", |b| {
            b.of(format!(
                "<details>\n<summary>f</summary>\n\n```diff\n{}```\n\n</details>\n",
                b.diff()
            ))
        }),
        ("trailing commas of a list", |b| {
            b.of(format!(
                "changes:\n  - |\n{}",
                b.diff().lines().flat_map(|line| ["    ", line, "\n"]).collect::<String>()
            ))
        }),
        ("no newline at the end", |b| b.of(b.diff().trim_end_matches('\n').to_owned())),
        ("end marks in words", |b| b.of(format!("BEGIN DIFF\n{}END DIFF\n", b.diff()))),
        ("stars around it", |b| b.of(format!("**Diff**\n\n{}\n**End**\n", b.diff()))),
        ("a summary right after", |b| {
            b.of(format!("```diff\n{}```\nChanges made:\n+ one\n- two\n", b.diff()))
        }),
        ("a bar before every line", |b| {
            b.of(b.diff().lines().flat_map(|line| ["| ", line, "\n"]).collect())
        }),
        ("blank lines without a marker among new ones", |b| {
            b.bodies(|line| if line.starts_with('+') { format!("{line}\n") } else { line.into() })
        }),
    ]
}

/// The shapes that are refused in at least one case: they may mean something else, or lack the change.
const REFUSED: [&str; 33] = [
    "entities in context only",
    "entities in a page",
    "curly quotes throughout",
    "tabs as spaces throughout",
    "existing code in context",
    "existing code after a hunk",
    "existing code instead of old lines",
    "existing code added",
    "cut in a new line",
    "cut in a fence",
    "cut after a header",
    "headers with one sign",
    "a space after every plus and minus",
    "no markers before context",
    "line numbers before markers",
    "line numbers with a bar before markers",
    "copied numbers after markers",
    "search and replace, cut",
    "edits in JSON",
    "parameters of an edit",
    "the file in a fence with its path",
    "names of the workspace",
    "names with stars",
    "only the old name",
    "a diff of words",
    "sed",
    "old and new swapped",
    "a bar before every line",
    "a fence for every hunk, with prose",
    "the same hunk in two fences",
    "blank lines without a marker among new ones",
    "binary files after it",
    "end marks in words",
];

#[test]
fn shapes_of_models_are_applied_as_intended_or_refused() {
    let mut told = String::new();
    for (name, shape) in shapes() {
        let row: Vec<String> = BASES.iter().map(|base| shape(base).outcome()).collect();
        let row = row.join(" ");
        if row.contains('!') || (row == "= = =") == REFUSED.contains(&name) {
            writeln!(told, "{name}: {row}").unwrap();
        }
    }
    assert_eq!(told, "");
}

/// Applies `answer` to the files `a`, with this text, and `b`, with two lines.
fn both(before: &str, answer: &str) -> Result<Vec<String>, &'static str> {
    let files = Files::default().file("a", before).file("b", "x\ny\n");
    let declared = if answer.contains("c\n") { &["a", "b", "c"][..] } else { &["a", "b"] };
    let plan = plan_of(&files, declared, answer);
    let plan = plan.map_err(|refusal| refusal.mismatches[0].reason.code())?;
    let told = |change: &tree::Change| {
        let text = change.after.as_ref().map_or(&b"-"[..], |state| &state.bytes);
        format!("{} {:?}", change.path, String::from_utf8_lossy(text))
    };
    Ok(plan.changes.iter().map(told).collect())
}

#[test]
fn an_answer_in_another_form_is_applied_completely_or_not_at_all() {
    let update = "*** Update File: a\n@@\n 1\n-2\n+two\n";
    let patch = |body: &str| format!("Sure.\n\n*** Begin Patch\n{body}*** End Patch\n\nDone.\n");
    let block = |path: &str, old: &str, new: &str| {
        format!("{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n")
    };
    let diff = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n";
    let value = json(diff);
    let done = Ok(vec!["a \"1\\ntwo\\n3\\n\"".to_owned()]);
    let and = |more: &str| {
        let mut all = done.clone().unwrap();
        all.push(more.to_owned());
        Ok(all)
    };
    for (answer, outcome) in [
        (patch(update), done.clone()),
        (patch(&format!("{update}*** Add File: c\n+new\n")), Err("unsupported_format")),
        (patch(&format!("{update}*** Update File: b\n x\n-y\n+z\n")), and("b \"x\\nz\\n\"")),
        // A text above the hunk says where it belongs, which is not supported.
        (
            patch(&format!("{update}*** Update File: b\n x\n-y\n+z\n*** End of File\n")),
            Err("unsupported_format"),
        ),
        (patch("*** Update File: b\n@@ fn y\n-x\n+z\n y\n"), Err("unsupported_format")),
        (patch("*** Update File: b\n*** Move to: c\n@@\n-x\n+z\n y\n"), Err("unsupported_format")),
        (patch(&format!("{update}*** Delete File: b\n")), Err("unsupported_format")),
        (patch(update).replace("*** End Patch\n", ""), Err("unsupported_format")),
        (format!("{}{}", patch(update), patch(update)), Err("unsupported_format")),
        (format!("{diff}\n{}", patch("*** Update File: b\n-y\n+z\n")), Err("unsupported_format")),
        (block("a", "2", "two") + &block("b", "y", "z"), and("b \"x\\nz\\n\"")),
        (block("a", "2", "two") + "<<<<<<< SEARCH\ny\n", Err("unsupported_format")),
        (block("a", "2", "two") + &block("b", "none", "z"), Err("unsupported_format")),
        (block("", "2", "two"), Err("unsupported_format")),
        (block("a", "", "two"), Err("unsupported_format")),
        (format!("{diff}\n{}", block("b", "y", "z")), Err("unsupported_format")),
        (format!("{{\"diff\": {value}}}"), done.clone()),
        (format!("{{\"a\": {value}}}"), Err("unsupported_format")),
        (format!("{{\"diff\": \"\", \"diff\": {value}}}"), Err("unsupported_format")),
        (format!("{{\"a\": {value}, \"b\": \"x\\nz\\n\"}}"), Err("unsupported_format")),
        (format!("{{\"a\": {value}}}\n--- a/b\n"), Err("unsupported_format")),
        (
            "`a`:\n```diff\n@@ @@\n-2\n+two\n```\nand\n\n```diff\n@@ @@\n-y\n+z\n```\n".to_owned(),
            Err("no_file_header"),
        ),
    ] {
        assert_eq!(both("1\n2\n3\n", &answer), outcome, "{answer}");
    }
}

#[test]
fn a_search_and_replace_block_has_no_line_that_closes_its_fence() {
    let text = "Run:\n\n```sh\nmake\n```\n\nEnd.\n";
    let files = Files::default().file("a", text);
    let outcome = |old: &str, new: &str| {
        let block =
            format!("a\n```\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n");
        let plan = plan_of(&files, &["a"], &block).ok()?;
        let state = plan.changes[0].after.clone()?;
        String::from_utf8(state.bytes.to_vec()).ok()
    };
    assert_eq!(outcome("make", "make all"), Some(text.replace("make", "make all")));
    // The block may be broken in two.
    for (old, new) in [
        ("make\n```", "make all\n```"),
        ("End.", "One.\n```\n\nContinued:\n\n```\nEnd."),
        ("make\n```", "make all\n```"),
        ("End.", "One.\n```\n\nContinued:\n\n```md\nEnd."),
        ("make\n```", "make\n```\n\nContinued:\n\n```\nmake all\n```"),
        ("End.", "One.\n```"),
    ] {
        assert_eq!(outcome(old, new), None, "{new}");
    }
}

#[test]
fn a_new_file_is_not_left_out_by_a_format_that_cannot_create_files() {
    let files = Files::default().file("a", "1\n2\n");
    let block = "a\n<<<<<<< SEARCH\n2\n=======\ntwo\n>>>>>>> REPLACE\n";
    assert!(plan_of(&files, &["a"], block).is_ok());
    let refusal = plan_of(&files, &["a", "new"], block).unwrap_err();
    assert_eq!(refusal.mismatches[0].reason.code(), "unsupported_format");
}

#[test]
fn a_translation_that_does_not_apply_is_named_in_the_refusal() {
    let files = Files::default().file("a", "1\n2\n");
    let block = |old: &str| format!("a\n<<<<<<< SEARCH\n{old}\n=======\ntwo\n>>>>>>> REPLACE\n");
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-none\n+two\n*** End Patch\n";
    for answer in [&block("none"), patch] {
        let refusal = plan_of(&files, &["a"], answer).unwrap_err();
        let text = refusal.to_string();
        let said = "`a`: hunk_not_found: The old lines of the hunk are not in the file.";
        assert!(text.starts_with("unsupported_format") && text.ends_with(said), "{text}");
    }
    let cut = block("2").replace(">>>>>>> REPLACE\n", "");
    let text = plan_of(&files, &["a"], &cut).unwrap_err().to_string();
    assert!(!text.contains("understood"), "{text}");
}

#[test]
fn entities_of_the_file_stay_escaped() {
    let diff = |body: &str| format!("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n{body}");
    let page = "<p>1 &lt; 2</p>\n<p>3</p>\n";
    let made = |body: &str| both(page, &diff(body)).map(|mut all| all.remove(0));
    assert_eq!(
        made(" <p>1 &lt; 2</p>\n-<p>3</p>\n+<p>3 &gt; 2</p>\n"),
        Ok("a \"<p>1 &lt; 2</p>\\n<p>3 &gt; 2</p>\\n\"".to_owned())
    );
    // Everything is escaped once more: in a file with entities of its own, that is not detectable.
    assert_eq!(
        made(
            " &lt;p&gt;1 &amp;lt; 2&lt;/p&gt;\n-&lt;p&gt;3&lt;/p&gt;\n+&lt;p&gt;4 &amp;amp; 3&lt;/p&gt;\n"
        ),
        Err("hunk_not_found")
    );
    // Only the old lines are escaped, or not all of the new ones.
    assert_eq!(
        made(" &lt;p&gt;1 &amp;lt; 2&lt;/p&gt;\n-&lt;p&gt;3&lt;/p&gt;\n+<p>4 &amp; 3</p>\n"),
        Err("hunk_not_found")
    );
}
