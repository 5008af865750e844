//! Shell completion: the scripts ask the program for the candidates.

use std::fs;
use std::path::Path;

use tools::ids::short_id;

use crate::confinement::sandbox::skipped;
use crate::missions::mission::with_a_card;
use crate::support::{Program, Run, Screen, Terminal, World, greeting_fix};

/// Prepares a shell that finds the program in its `PATH`.
fn shell(world: &World, shell: &str) -> Program {
    let program = Path::new(env!("CARGO_BIN_EXE_deepseek"));
    let path = std::env::var("PATH").unwrap();
    let mut started = world.program(Path::new(shell), []);
    started
        .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
        .env_remove("DEEPSEEK_API_KEY");
    started
}

/// Runs bash's completion at the end of `line`.
fn run_completion(program: &mut Program, line: &str) -> Run {
    const ASK: &str = r#"source <(deepseek completions bash)
        COMP_WORDS=($1 "$2") COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
        _clap_complete_deepseek deepseek "$2" 2>&1
        echo "$?:"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let (words, word) = line.rsplit_once(' ').unwrap();
    program.args(["-c", ASK, "bash", words, word]).run()
}

fn candidates(world: &World, line: &str) -> Vec<String> {
    let run = run_completion(&mut shell(world, "bash"), line);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{line}");
    let (code, offers) = run.stdout.split_once(":\n").unwrap();
    assert_eq!(code, "0", "{line}: {}", run.stdout);
    offers.lines().filter(|candidate| !candidate.is_empty()).map(str::to_owned).collect()
}

/// Creates a world with one staged change and one applied change.
fn after_a_staged_and_an_applied_change() -> World {
    let world = World::greeting([greeting_fix(), greeting_fix()].concat());
    let words = ["--force-execute", "--approval", "never", "-p", "Mend the greeting"];
    let run = world.deepseek(words).run();
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let run = world.request("Mend it at last").run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    world
}

fn listed(world: &World, words: &[&str]) -> serde_json::Value {
    let words = words.iter().chain(&["--output", "json"]).copied();
    serde_json::from_str(&world.deepseek(words).run().stdout).unwrap()
}

#[test]
fn completion_offers_current_sessions_patches_runs_checkpoints_models_and_keys() {
    let world = after_a_staged_and_an_applied_change();
    let sessions = listed(&world, &["sessions"]);
    let ids: Vec<&str> =
        sessions.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    let shorts: Vec<&str> = ids.iter().map(|id| short_id(id)).collect();
    for command in
        ["sessions show", "export", "replay", "run", "fork", "--resume", "explain --session"]
    {
        let offers = candidates(&world, &format!("deepseek {command} "));
        let offers: Vec<&str> = offers.iter().map(String::as_str).take(2).collect();
        assert_eq!(offers, shorts, "{command}");
    }
    // A longer prefix than the short id is completed to the full id.
    assert_eq!(candidates(&world, &format!("deepseek export {}", &ids[0][..15])), [ids[0]]);
    let patch = listed(&world, &["diff"])["patch"].as_str().unwrap().to_owned();
    for command in ["apply", "diff"] {
        assert_eq!(candidates(&world, &format!("deepseek {command} "))[0], short_id(&patch));
    }
    let run = listed(&world, &["rewind"])[0]["run"].as_str().unwrap().to_owned();
    assert_eq!(candidates(&world, "deepseek diff --run ")[0], short_id(&run));
    for command in ["rewind", "diff --since"] {
        assert_eq!(candidates(&world, &format!("deepseek {command} "))[0], "1");
    }
    let models = candidates(&world, "deepseek --model deepseek-v");
    assert_eq!(models, ["deepseek-v4-pro"]);
    for action in ["get", "set", "unset", "add", "remove"] {
        let keys = candidates(&world, &format!("deepseek config {action} budget.wa"));
        assert_eq!(keys, ["budget.wall_seconds"], "{action}");
    }
    assert_eq!(candidates(&world, "deepseek --set budget.wa"), ["budget.wall_seconds="]);
    // Static words are still completed.
    assert_eq!(candidates(&world, "deepseek ses"), ["sessions"]);
    assert_eq!(candidates(&world, "deepseek --approval n"), ["never"]);
    assert!(candidates(&world, "deepseek sessions --al").contains(&"--all".to_owned()));
}

#[test]
fn a_conversation_offers_sessions_patches_and_checkpoints() {
    let world = after_a_staged_and_an_applied_change();
    let mut screen = Screen::start(&mut world.deepseek([]), 24, 100);
    screen.until_shown("›");
    let staged = listed(&world, &["diff"])["patch"].as_str().unwrap().to_owned();
    for (command, offer) in
        [("/apply ", short_id(&staged)), ("/rewind ", "❯ 1 "), ("/resume ", "Mend the greeting")]
    {
        screen.types(command);
        screen.until_shown(offer);
        screen.types("\x15");
    }
    screen.types("\x04");
    assert_eq!(screen.terminal.ends(), Some(0));
}

#[test]
fn mission_cards_are_completed_by_hash() {
    let (world, hash) = with_a_card();
    for action in ["show", "explain", "approve", "reject", "modify"] {
        let offers = candidates(&world, &format!("deepseek mission {action} "));
        assert_eq!(offers[0], hash[..12], "{action}");
    }
    let whole = candidates(&world, &format!("deepseek mission approve {}", &hash[..13]));
    assert_eq!(whole, [hash]);
}

#[test]
fn completion_respects_workspace_and_config_flags() {
    let (world, other) = (after_a_staged_and_an_applied_change(), tempfile::tempdir().unwrap());
    let other = fs::canonicalize(other.path()).unwrap();
    let here = candidates(&world, "deepseek export ");
    let there = format!("deepseek --workspace {} export ", other.display());
    assert!(!candidates(&world, &there).contains(&here[0]));
    fs::write(other.join("own.toml"), "[llm.base_model]\nmodel = \"own-model\"\n").unwrap();
    let own = format!("deepseek --config {} --model own", other.join("own.toml").display());
    assert_eq!(candidates(&world, &own), ["own-model"]);
}

#[test]
fn unreadable_state_is_left_out_without_a_message() {
    let world = after_a_staged_and_an_applied_change();
    let id = listed(&world, &["sessions"])[0]["id"].as_str().unwrap().to_owned();
    let journal = world.state().join("sessions").join(&id).join("events.jsonl");
    let mut text = fs::read(&journal).unwrap();
    let line = text.iter().position(|byte| *byte == b'\n').unwrap() + 50;
    text[line] ^= 1;
    fs::write(&journal, text).unwrap();
    let listed = world.deepseek(["sessions"]).run();
    assert!(listed.stderr.contains("the journal is damaged"), "{}", listed.stderr);
    assert!(!candidates(&world, "deepseek export ").contains(&short_id(&id).to_owned()));
    world.project.write(".deepseek/config.toml", "[llm\n");
    assert_eq!(candidates(&world, "deepseek config get budget.wa"), ["budget.wall_seconds"]);
    let workspaces = world.state().join("workspaces");
    for file in fs::read_dir(&workspaces).unwrap() {
        let database = file.unwrap().path().join("projections.sqlite");
        fs::write(database, "no database").unwrap();
    }
    let words = ["export", "rewind", "apply", "mission approve", "diff --run"];
    let nothing = |unset: &[&str], home: Option<&str>| {
        for words in words {
            let mut shell = shell(&world, "bash");
            for name in unset {
                shell.env_remove(name);
            }
            if let Some(home) = home {
                shell.env("DEEPSEEK_HOME", home);
            }
            let run = run_completion(&mut shell, &format!("deepseek {words} no-such"));
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{words}");
            assert_eq!(run.stdout, "0:\n\n", "{words}");
        }
    };
    nothing(&[], None);
    nothing(&[], Some("/dev/null"));
    nothing(&["DEEPSEEK_HOME", "HOME"], None);
    let no_shell =
        world.deepseek(["--", "deepseek", "ex"]).env("DEEPSEEK_COMPLETE", "no-shell").run();
    assert_eq!((no_shell.code, no_shell.stdout + &no_shell.stderr), (Some(0), String::new()));
}

#[test]
fn tab_completes_a_word_in_bash_at_a_terminal() {
    let world = after_a_staged_and_an_applied_change();
    let mut bash = shell(&world, "bash");
    bash.args(["--norc", "--noprofile", "-i"]).env("PS1", "ready> ").env("INPUTRC", "/dev/null");
    let mut terminal = Terminal::start(&mut bash);
    terminal.until("ready> ", 1);
    terminal.types("source <(deepseek completions bash)\r");
    terminal.until("ready> ", 2);
    terminal.types("deepseek config get budget.wa\t");
    terminal.until("budget.wall_seconds ", 1);
    terminal.types("\r");
    terminal.until("ready> ", 3);
    terminal.types("exit\r");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn zsh_and_fish_accept_their_scripts() {
    let world = after_a_staged_and_an_applied_change();
    for (name, check) in [
        ("zsh", "autoload -U compinit; compinit -D; source <(deepseek completions zsh)"),
        (
            "fish",
            "deepseek completions fish | source; complete -C 'deepseek config get budget.wa' | grep wall_seconds",
        ),
    ] {
        let run = world.deepseek(["completions", name]).run();
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{name}");
        assert!(
            run.stdout.contains(&format!("DEEPSEEK_COMPLETE={name}"))
                || run.stdout.contains(&format!("DEEPSEEK_COMPLETE=\"{name}\"")),
            "{}",
            run.stdout
        );
        let found = shell(&world, "sh").args(["-c", &format!("command -v {name}")]).run();
        if found.code != Some(0) {
            skipped(&format!("{name} is not installed"));
            continue;
        }
        let run = shell(&world, name).args(["-c", check]).run();
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{name}: {}", run.stdout);
    }
}
