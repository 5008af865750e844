//! Files as they are: in any encoding, with long lines, under odd names, with other names, owners and modes, and beside what
//! tools have made.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::support::{Project, Provider, World, architect, diff, editor, plan};

const CHECK: (&str, &str) = ("check.sh", "exit 0\n");

/// Creates a world with one file, and with an Editor that gives these answers for it.
fn world_of(path: &str, bytes: impl AsRef<[u8]>, answers: &[&str]) -> World {
    let project = Project::without_git(&[CHECK]);
    project.write(path, bytes);
    project.commit();
    let plan = architect(plan(&[path])).forever();
    let answers = answers.iter().map(|answer| editor(*answer));
    World::of(project, Provider::new(std::iter::once(plan).chain(answers).collect::<Vec<_>>()))
}

fn bytes_of(world: &World, path: &str) -> Vec<u8> {
    fs::read(world.project.path(path)).unwrap()
}

#[test]
fn files_in_other_encodings_are_shown_and_edited_as_text() {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let text = |value: u8, note: &str| format!("// {note}\nint a = {value};\n");
    for (encoding, note, bytes) in [
        ("GBK", "中文注释", &b"// \xd6\xd0\xce\xc4\xd7\xa2\xca\xcd\nint a = 1;\n"[..]),
        ("Shift_JIS", "テストです", b"// \x83e\x83X\x83g\x82\xc5\x82\xb7\nint a = 1;\n"),
        ("windows-1252", "Größe der Fläche", b"// Gr\xf6\xdfe der Fl\xe4che\nint a = 1;\n"),
        (
            "EUC-KR",
            "이것은 시험입니다",
            b"// \xc0\xcc\xb0\xcd\xc0\xba \xbd\xc3\xc7\xe8\xc0\xd4\xb4\xcf\xb4\xd9\nint a = 1;\n",
        ),
        ("UTF-16LE", "é 中", &utf16("\u{feff}// é 中\nint a = 1;\n")),
        ("UTF-16LE", "é 中", &utf16("// é 中\nint a = 1;\n")),
    ] {
        let answer = format!(
            "--- a/m.c\n+++ b/m.c\n@@ -1,2 +1,2 @@\n // {note}\n-int a = 1;\n+int a = 2; // {note}\n"
        );
        let world = world_of("m.c", bytes, &[&answer]);
        let run = world.chat("set a to 2 in m.c");
        assert_eq!(run.ending(), "0 delivered/passed", "{encoding}: {}", run.stderr);
        let prompts = world.provider.all_messages();
        assert!(prompts.contains(&text(1, note).lines().next().unwrap().to_owned()), "{encoding}");
        assert!(prompts.contains(&format!("({encoding})")), "the evidence says {encoding}");
        assert!(prompts.contains(&format!("in {encoding}: added lines")), "{encoding}");
        // The comment is written as it stands in the first line.
        let width = if encoding == "UTF-16LE" { 2 } else { 1 };
        let mark = if bytes.starts_with(b"\xff\xfe") { 2 } else { 0 };
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let comment = &bytes[mark..first];
        let (before, blank) = match width {
            1 => (bytes[..=first].to_vec(), b" ".to_vec()),
            _ => (bytes[..first + 2].to_vec(), utf16(" ")),
        };
        let [code, end] = ["int a = 2;", "\n"].map(|it| match width {
            1 => it.as_bytes().to_vec(),
            _ => utf16(it),
        });
        let expected = [before, code, blank, comment.to_vec(), end].concat();
        assert_eq!(bytes_of(&world, "m.c"), expected, "{encoding}");
        let shown = world.deepseek(["diff", "--run", "latest"]).run().stdout;
        assert!(shown.contains(&format!("+int a = 2; // {note}")), "{encoding}: {shown}");
        assert_eq!(world.deepseek(["rewind", "latest"]).run().code, Some(0));
        assert_eq!(bytes_of(&world, "m.c"), bytes, "{encoding}");
        let replayed = world.deepseek(["replay", "latest"]).run();
        assert_eq!(replayed.code, Some(0), "{encoding}: {}{}", replayed.stdout, replayed.stderr);
    }
}

#[test]
fn what_an_encoding_lacks_is_refused_and_the_model_is_told_why() {
    let answers =
        [diff("m.c", "int a = 1;", "int a = 2; // →"), diff("m.c", "int a = 1;", "int a = 2;")];
    let world = world_of("m.c", b"int a = 1;\n// caf\xe9\n", &[&answers[0], &answers[1]]);
    let run = world.chat("set a to 2");
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    let told = world.provider.last_message("editor", 2);
    assert!(told.contains("not_in_encoding") && told.contains("windows-1252"), "{told}");
    assert_eq!(bytes_of(&world, "m.c"), b"int a = 2;\n// caf\xe9\n");
}

#[test]
fn a_file_that_cannot_be_edited_ends_the_run_at_once() {
    let mixed = ["größer und schöner ".repeat(9).into_bytes(), b"\xe9\n".to_vec()].concat();
    for (bytes, why) in [
        (b"\x7fELF\0\0\x01\x02".to_vec(), "not text"),
        (mixed, "not text in one encoding"),
        ("x".repeat(20_000).into_bytes(), "too long to be shown; reformat it first"),
        (b"a\n".repeat(1_100_000), "more than agent_loop.max_file_bytes"),
    ] {
        let world = world_of("data.x", bytes, &[]);
        let run = world.chat("change data.x");
        assert_eq!(run.ending(), "1 needs_work/uneditable", "{why}: {}", run.stderr);
        assert_eq!(world.provider.requests().len(), 1, "{why}");
        assert!(run.delivery()["detail"].as_str().unwrap().contains(why), "{:?}", run.delivery());
        assert!(run.stderr.contains("data.x cannot be edited"), "{}", run.stderr);
    }
}

#[test]
fn long_lines_are_shown_in_part_and_stay_as_they_are() {
    let picture = format!("  \"image/png\": \"{}\",", "iVBORw0K".repeat(4000));
    let text = format!("{{\n{picture}\n  \"x\": 1\n}}\n");
    let shown =
        "--- a/n.ipynb\n+++ b/n.ipynb\n@@ -2,3 +2,3 @@\n SHORT\n-  \"x\": 1\n+  \"x\": 2\n }\n";
    let world = world_of("n.ipynb", &text, &["NEED_CONTEXT|n.ipynb", "NEED_CONTEXT|check.sh"]);
    world.chat("set x to 2 in n.ipynb");
    let prompts = world.provider.last_message("architect", 1);
    let line = prompts.lines().find(|line| line.contains("bytes that are not shown")).unwrap();
    let all = world.provider.all_messages();
    assert!(!all.contains(&"iVBORw0K".repeat(100)), "{} bytes", all.len());
    let short = line.split_once('|').unwrap().1.strip_prefix(' ').unwrap();
    let world = world_of("n.ipynb", &text, &[&shown.replace("SHORT", short), "DONE|x"]);
    let run = world.chat("set x to 2 in n.ipynb");
    assert_eq!(
        run.ending(),
        "0 delivered/passed",
        "{} {}",
        run.stderr,
        world.provider.last_message("editor", 2)
    );
    assert_eq!(world.project.read("n.ipynb"), text.replace("\"x\": 1", "\"x\": 2"));
}

#[test]
fn what_tools_have_made_reaches_no_prompt_and_no_checkpoint() {
    let made = [
        "node_modules/left-pad/index.js",
        "web/build/bundle.js",
        ".venv/lib/site.py",
        "src/__pycache__/greet.cpython-312.pyc",
        "target/debug/greet.d",
    ];
    let sources = ["package.json", "web/CMakeLists.txt", "Cargo.toml", ".venv/pyvenv.cfg"];
    for is_tracked in [false, true] {
        let project = Project::without_git(&[("greet.txt", "hello\n"), CHECK]);
        if !is_tracked {
            project.commit();
        }
        for path in made.iter().chain(&sources) {
            project.write(path, format!("the peculiar greeting of {path}\n"));
        }
        if is_tracked {
            project.commit();
        }
        let answers = vec![
            architect("NEED_LIST|.\nNEED_SEARCH|peculiar"),
            architect(plan(&["greet.txt"])),
            editor(diff("greet.txt", "hello", "hello world")),
        ];
        let world = World::of(project, Provider::new(answers));
        let run = world.chat("improve the peculiar greeting");
        assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
        let prompts = world.provider.all_messages();
        let files = run.one("CheckpointCreated")["files"].as_u64().unwrap();
        for path in made {
            assert_eq!(prompts.contains(path), is_tracked, "{path}");
        }
        assert_eq!(files > 8, is_tracked, "{files} files in the checkpoint");
    }
}

#[test]
fn a_name_is_found_if_one_file_has_it_however_it_is_spelled() {
    for (given, there, is_found) in [
        ("r\u{e9}sum\u{e9}.py", &["re\u{301}sume\u{301}.py"][..], true),
        ("re\u{301}sume\u{301}.py", &["r\u{e9}sum\u{e9}.py"], true),
        ("d/my notes.txt", &["d/my\u{a0}notes.txt"], true),
        ("my notes.txt", &["my\u{a0}notes.txt", "my\u{2009}notes.txt"], false),
    ] {
        let project = Project::without_git(&[CHECK]);
        for path in there {
            project.write(path, "a = 1\n");
        }
        project.commit();
        let create = format!("--- /dev/null\n+++ b/{given}\n@@ -0,0 +1 @@\n+a = 5\n");
        let answer = if is_found { diff(given, "a = 1", "a = 5") } else { create };
        let answers = vec![architect(plan(&[given])).forever(), editor(answer).forever()];
        let world = World::of(project, Provider::new(answers));
        let run = world.chat(&format!("set a to 5 in {given}"));
        let changed = world.project.changed();
        if is_found {
            assert_eq!(run.ending(), "0 delivered/passed", "{given}: {}", run.stderr);
            assert_eq!(world.project.read(there[0]), "a = 5\n");
            assert_eq!(run.one("PlanCreated")["tolerances"][0], "alike");
            assert_eq!(changed.len(), 1, "{changed:?}");
            let replayed = world.deepseek(["replay", "latest"]).run();
            assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
        } else {
            assert_eq!(run.code, Some(1), "{}", run.stderr);
            assert!(changed.is_empty(), "a third file of that look: {changed:?}");
        }
    }
}

#[test]
fn other_names_and_modes_of_a_file_stay_and_come_back() {
    let project = Project::new(&[("f.py", "a = 1\n"), ("notes.txt", "x\n"), CHECK]);
    let gone = "--- a/notes.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let answers = vec![
        architect(plan(&["f.py", "notes.txt"])),
        editor(diff("f.py", "a = 1", "a = 5") + gone),
    ];
    let world = World::of(project, Provider::new(answers));
    let at = |path: &str| world.project.path(path);
    let second = at("second.py");
    fs::hard_link(at("f.py"), &second).unwrap();
    for (path, mode) in [("f.py", 0o750), ("notes.txt", 0o600)] {
        fs::set_permissions(at(path), Permissions::from_mode(mode)).unwrap();
    }
    let run = world.chat("set a to 5, drop the notes");
    assert_eq!(run.ending(), "0 delivered/passed", "{}", run.stderr);
    assert!(!at("notes.txt").exists());
    assert_eq!(fs::read_to_string(&second).unwrap(), "a = 5\n");
    // Another checkpoint in between.
    let mode = |path: &str| fs::metadata(at(path)).unwrap().mode() & 0o777;
    for back in ["1", "2", "3"] {
        assert_eq!(world.deepseek(["rewind", back]).run().code, Some(0));
        let text = if back == "2" { "a = 5\n" } else { "a = 1\n" };
        assert_eq!(fs::read_to_string(&second).unwrap(), text, "rewind {back}");
        assert_eq!(at("notes.txt").exists(), back != "2");
    }
    assert_eq!((mode("f.py"), mode("notes.txt")), (0o750, 0o600));
}

#[test]
fn start_files_and_instructions_are_asked_for_when_others_are_not() {
    for path in ["AGENTS.md", ".gdbinit", "home/.zprofile"] {
        let world = world_of(path, "hello\n", &[&diff(path, "hello", "hello world")]);
        let run = world.chat("greet the world");
        assert_eq!(run.code, Some(3), "{path}: {}", run.stderr);
        assert!(run.stderr.contains("other tools execute or follow"), "{}", run.stderr);
        assert_eq!(world.project.read(path), "hello\n");
    }
}

#[test]
fn words_of_a_task_are_no_password() {
    let task = "\"That's the password: 'PASSWORD 123'!\", cried the Lama.\n";
    let world = world_of("task.md", task, &[&diff("task.md", "x", "y")]);
    world.chat("solve task.md");
    assert!(world.provider.all_messages().contains("'PASSWORD 123'"));
}

#[test]
fn a_base_directory_alone_says_what_the_author_of_a_diff_saw() {
    let text = |first: &str| format!("{first}\n\n\n\n\nlast\n");
    let project = Project::new(&[("src/a.txt", &text("mine")), ("b.txt", "same\n")]);
    let world = World::of(project, Provider::new(vec![]));
    let seen = tempfile::tempdir().unwrap();
    fs::create_dir(seen.path().join("src")).unwrap();
    fs::write(seen.path().join("src/a.txt"), text("first")).unwrap();
    let diff =
        "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,6 +1,6 @@\n first\n \n \n \n \n-last\n+end\n";
    let dir = seen.path().to_str().unwrap();
    let refused = world.deepseek(["patch", "apply", "-"]).input(diff).run();
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    let merged = world.deepseek(["patch", "apply", "--base-dir", dir, "-"]).input(diff).run();
    assert_eq!(merged.code, Some(0), "{}{}", merged.stdout, merged.stderr);
    assert_eq!(world.project.read("src/a.txt"), text("mine").replace("last", "end"));
}
