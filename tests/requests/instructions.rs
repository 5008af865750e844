//! The instructions of a project reach the models for every directory that a request or a plan touches, or the user is told
//! what does not.

use mock::ScriptedReply;

use crate::sessions::replay::replayed;
use crate::support::{Project, Provider, World, architect, diff, editor, plan};

/// Returns instructions of some size, with a first and a last rule that name it.
fn rules(name: &str, bytes: usize) -> String {
    let filler = "- Say it plainly and keep it short, as one would say it to a colleague.\n";
    let filler = filler.repeat(bytes / filler.len());
    format!("- first rule of {name}\n{filler}- last rule of {name}\n")
}

/// Creates a project too large to be shown whole, in which `pkg/sub/f.py` has to be changed.
fn project(instructions: &[(&str, String)]) -> Project {
    let project = Project::new(&[("check.sh", "grep -q 'a = 5' pkg/sub/f.py\n")]);
    for number in 0..120 {
        let function = format!("def work_{number}(x):\n    return x + {number}\n\n");
        project.write(&format!("src/m{number}.py"), function.repeat(8));
    }
    project.write("pkg/sub/f.py", "a = 1\n");
    project.write("other/AGENTS.md", rules("other", 100));
    for (path, text) in instructions {
        project.write(path, text);
    }
    project
}

fn answers() -> Vec<ScriptedReply> {
    vec![
        architect("NEED_CONTEXT|pkg/sub/f.py"),
        architect(plan(&["pkg/sub/f.py"])),
        editor(diff("pkg/sub/f.py", "a = 1", "a = 5")),
    ]
}

const REQUEST: &str = "The default value is wrong: it has to be 5";

/// Makes the request as a person does. Returns what they read.
fn read_by_the_user(world: &World) -> String {
    let args = ["-p", REQUEST, "--approval", "auto", "--force-execute"];
    let run = world.deepseek(args).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stderr
}

#[test]
fn instructions_of_every_touched_directory_reach_all_roles_whole() {
    let nested = [
        ("AGENTS.md", rules("root", 13_000)),
        ("pkg/AGENTS.md", rules("pkg", 13_000)),
        ("pkg/sub/AGENTS.md", rules("sub", 13_000)),
    ];
    let world = World::of(project(&nested), Provider::new(answers()));
    let read = read_by_the_user(&world);
    assert!(!read.contains("AGENTS.md"), "nothing is left out: {read}");
    for (role, number) in [("architect", 2), ("editor", 1)] {
        let request = world.provider.of(role)[number - 1].request.json["messages"].to_string();
        for name in ["root", "pkg", "sub"] {
            for rule in ["first", "last"] {
                let times = request.matches(&format!("{rule} rule of {name}")).count();
                assert_eq!(times, 1, "{role}: {rule} rule of {name}");
            }
        }
        assert!(!request.contains("rule of other"), "{role}");
    }
    let (code, document) = replayed(&world, "latest");
    assert_eq!((code, &document["identical"]), (Some(0), &true.into()), "{document:#}");
}

#[test]
fn what_is_cut_from_instructions_is_told_to_the_user_and_the_model() {
    let nested = [("AGENTS.md", rules("root", 90_000)), ("pkg/AGENTS.md", rules("pkg", 90_000))];
    let world = World::of(project(&nested), Provider::new(answers()));
    let read = read_by_the_user(&world);
    for path in ["AGENTS.md", "pkg/AGENTS.md"] {
        let told = format!("  not shown to the model: {path}: only lines 1-");
        assert_eq!(read.matches(&told).count(), 1, "{read}");
    }
    let request = world.provider.of("editor")[0].request.json["messages"].to_string();
    assert!(request.contains("first rule of pkg") && !request.contains("last rule of pkg"));
    assert!(request.contains("pkg/AGENTS.md: only lines 1-"), "the model is told");
}

#[test]
fn instructions_of_claude_count_where_there_are_no_others_and_import_files() {
    let nested = [
        ("AGENTS.md", "Rules: @docs/style.md\n".to_owned()),
        ("CLAUDE.md", "not counted\n".to_owned()),
        ("docs/style.md", "tabs only\n".to_owned()),
        ("pkg/CLAUDE.md", "numbers are odd\n@../../outside.md\n".to_owned()),
    ];
    let world = World::of(project(&nested), Provider::new(answers()));
    let read = read_by_the_user(&world);
    let request = world.provider.of("editor")[0].request.json["messages"].to_string();
    assert!(request.contains("tabs only") && request.contains("numbers are odd"), "{request}");
    assert!(!request.contains("not counted"), "{request}");
    let told = "../../outside.md: not imported by pkg/CLAUDE.md: it is not in the workspace";
    assert!(read.contains(told), "{read}");
}
