//! A candidate knows nothing of what comes after the parent of its commit.

use mock::{ReceivedRequest, Replies, ScriptedReply};

use super::{WORDS, document, run_cases, verdicts};
use crate::support::{Project, Provider, World, diff, plan_verified_by, shell};

/// A word that only later commits, and what this program knows of the workspace, contain.
const LATER: &str = "Zukunftswort";

/// Looks for later commits and the word, with everything that a command of a candidate can reach.
const LOOK: &str = r#"
for commit in $(cat later-commits); do
    git cat-file -e "$commit" 2>/dev/null && echo "FAILED object::$commit - it is there" && exit 1
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
    project.write(".gitignore", "later-commits\nbuild/\n.venv/\n");
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

fn answers() -> Replies {
    Replies::driven(|request: &ReceivedRequest| {
        let (name, wrong, right) = WORDS[0];
        let file = format!("src/{name}.sh");
        ScriptedReply::text(match request.header("x-agent-role") {
            Some("architect") => plan_verified_by(&[&file], &["sh tests/look.sh"]),
            _ => diff(&file, wrong, right),
        })
    })
}

#[test]
fn nothing_of_the_future_can_be_read() {
    let world = World::of(project(), Provider::new(answers()));
    // This program has seen the future: it is in its memory, its index and its sessions.
    let remembered = world.deepseek(["memory", "add", &format!("The word is {LATER}")]).run();
    assert_eq!(remembered.code, Some(0), "{}", remembered.stderr);
    world.deepseek(["index", "update"]).run();
    let run = world
        .deepseek(["eval", "draw", "--grep", "number one", "--output", "json", "--check", "sh tests/all.sh"])
        .run();
    assert_eq!(document(&run)["cases"].as_array().unwrap().len(), 1, "{}", run.stderr);
    let report = run_cases(&world, &[]);
    assert_eq!(verdicts(&report, 0), ["passed"]);
    // The check that looked for the future passed.
    let delivery = &report["cases"][0]["rows"][0]["attempts"][0]["delivery"];
    assert_eq!(delivery["verified"], "passed", "{delivery}");
    assert!(!world.provider.all_messages().contains(LATER));
    assert!(!world.provider.all_messages().contains("test_one"));
}
