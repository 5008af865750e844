//! A variant knows nothing of what comes after the parent of its commit.

use mock::{ReceivedRequest, Replies, ScriptedReply};

use super::{WORDS, document, run_cases, verdicts};
use crate::support::{Project, Provider, World, diff, plan_verified_by, shell};

/// A word that only later commits, and what this program knows of the workspace, contain.
const LATER: &str = "Zukunftswort";

/// Looks for later commits and the word, with everything that a command of a variant can reach.
const LOOK: &str = r#"
for object in "$@"; do
    git cat-file -e "$object" 2>/dev/null && echo "FAILED object::$object - it is there" && exit 1
done
word=Zukunfts; word="${word}wort"
git log --all --reflog --format=%B | grep "$word" && echo 'FAILED log::later - it is in the log' && exit 1
git fsck --lost-found --no-progress 2>/dev/null | grep . && echo 'FAILED fsck::lost - there are lost objects' && exit 1
[ -e .git/objects/info/alternates ] && echo 'FAILED alternates::there - objects are borrowed' && exit 1
git stash list | grep . && echo 'FAILED stash::there - there is a stash' && exit 1
git for-each-ref | grep -v refs/heads/main && echo 'FAILED refs::there - there are other branches' && exit 1
grep -rIl "$word" . "$HOME" /tmp 2>/dev/null | grep . && echo 'FAILED files::later - it is in a file' && exit 1
exit 0
"#;

/// Creates a project with a case in the middle of its history, and with the word in all that comes later.
fn project() -> Project {
    let (name, wrong, right) = WORDS[0];
    let project = Project::without_git(&[("README.md", "Numbers.\n"), ("tests/look.sh", LOOK)]);
    project.write(".gitignore", "build/\n");
    project.write(&format!("src/{name}.sh"), format!("{wrong}\n"));
    project.write("tests/all.sh", "for test in tests/test_*.sh; do sh \"$test\" || exit 1; done\n");
    project.write("tests/test_readme.sh", "grep -q Numbers README.md\n");
    project.commit();
    project.write(&format!("src/{name}.sh"), format!("{right}\n"));
    project.write("tests/test_one.sh", format!("grep -q '^{right}$' src/one.sh\n"));
    super::commit(&project, "Say the number one right");
    project.write("src/later.sh", format!("{LATER}\n"));
    super::commit(&project, &format!("Add {LATER}"));
    shell(
        project.root(),
        "git branch feature && git tag v9 && echo changed >> src/later.sh && git -c user.name=t -c user.email=t@e.org stash -q",
    );
    // What is built from later commits, and is not committed.
    project.write("build/later.txt", LATER);
    project.write("untracked.txt", LATER);
    project
}

fn answers(look: String) -> Replies {
    Replies::driven(move |request: &ReceivedRequest| {
        let is_architect = request.header("x-agent-role") == Some("architect");
        if request.json["messages"].to_string().contains("Make a note") {
            return ScriptedReply::text(if is_architect {
                plan_verified_by(&["notes.txt"], &["sh tests/test_readme.sh"])
            } else {
                format!("--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+{LATER}\n")
            });
        }
        let (name, wrong, right) = WORDS[0];
        let file = format!("src/{name}.sh");
        ScriptedReply::text(match request.header("x-agent-role") {
            Some("architect") => plan_verified_by(&[&file], &[&look]),
            _ => diff(&file, wrong, right),
        })
    })
}

#[test]
fn nothing_of_the_future_can_be_read() {
    let project = project();
    // Commits, trees and files after the parent of the case, and what is stashed.
    let later = shell(
        project.root(),
        "git rev-list --all --objects --reflog ^HEAD~2 | cut -d' ' -f1 | tr '\\n' ' '",
    );
    assert!(later.split_whitespace().count() > 6, "{later}");
    let look = format!("sh tests/look.sh {}", later.trim());
    let world = World::of(project, Provider::new(answers(look)));
    // This program has seen the future: it is in its memory, its index and its sessions.
    let noted = world.chat(&format!("Make a note of {LATER}"));
    assert_eq!(noted.code, Some(0), "{}", noted.stderr);
    let remembered = world.deepseek(["memory", "list"]).run().stdout;
    assert!(remembered.contains(LATER), "{remembered}");
    let before = world.provider.requests().len();
    let run = world
        .deepseek([
            "eval",
            "draw",
            "--grep",
            "number one",
            "--output",
            "json",
            "--check",
            "sh tests/all.sh",
        ])
        .run();
    assert_eq!(document(&run)["cases"].as_array().unwrap().len(), 1, "{}", run.stderr);
    let report = run_cases(&world, &[]);
    assert_eq!(verdicts(&report, 0), ["passed"]);
    // The check that looked for the future passed.
    let delivery = &report["cases"][0]["rows"][0]["attempts"][0]["delivery"];
    assert_eq!(delivery["verified"], "passed", "{delivery}");
    let asked = world.provider.requests();
    let asked = asked.iter().skip(before).map(|seen| seen.request.json.to_string());
    let asked = asked.collect::<Vec<_>>().join("\n");
    assert!(asked.contains("the number one right") && !asked.contains(LATER));
    assert!(!asked.contains("test_one"));
}
