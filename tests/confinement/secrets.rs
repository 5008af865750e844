//! Secrets from the repository, the environment and the user's key reach no prompt, no journal and no output. The lines around
//! them can still be edited.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use mock::ScriptedReply;
use serde_json::Value;
use tools::redact::masks_in;

use crate::support::{
    Project, Provider, Run, Terminal, World, architect, diff, editor, journal, plan, shell,
};

/// Secrets that must not appear anywhere.
const PASSWORD: &str = "qz7-Vortrag.9kW";
const TOKEN: &str = "wx41Lm9Qp77Zt0Rb";
const KEY: &str = "my-own-gateway-Key-4711-xy";
const LINE: &str = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE";

/// All secrets, including encoded forms.
const SECRETS: [&str; 7] = [
    PASSWORD,
    TOKEN,
    KEY,
    LINE,
    // The password in base 64, in hexadecimal, and in base 64 at another offset.
    "cXo3LVZvcnRyYWcuOWtX",
    "717a372d566f72747261672e396b57",
    "cTctVm9ydHJhZy45a1",
];

/// Creates a project with secrets. Its check runs `script`, whose output may contain them.
fn world(script: &str) -> World {
    let project = Project::new(&[
        ("greet.txt", "hello\n"),
        ("check.sh", &format!("{script}\ngrep -q world greet.txt\n")),
        (".env", &format!("# the database\nexport DB_PASSWORD=\"{PASSWORD}\"\nMODE=production\n")),
        ("deep/down/server.key", &format!("-----BEGIN KEY-----\n{LINE}\n-----END KEY-----\n")),
        (".gitignore", "ignored\n"),
        ("ignored/prod.tfvars", &format!("token = \"{TOKEN}\"\n")),
    ]);
    shell(project.root(), &format!("git remote add origin https://me:{TOKEN}@example.invalid/x"));
    let answers = vec![
        architect(plan(&["greet.txt"])).forever(),
        editor(diff("greet.txt", "hello", "hello again")),
        editor(diff("greet.txt", "hello again", "hello world")).forever(),
    ];
    // In a sandbox the commands could not read the secrets, so masking could not be tested.
    World::of(project, Provider::new(answers)).unconfined()
}

fn fix_greeting(world: &World) -> Run {
    world
        .request("Fix the greeting")
        .env("DEEPSEEK_API_KEY", KEY)
        .env("PRODUCTION_TOKEN", TOKEN)
        .run()
}

/// Returns everything in the state directory as text.
fn kept(world: &World) -> String {
    let mut texts = String::new();
    let mut directories = vec![world.state()];
    while let Some(dir) = directories.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            texts.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
            if path.ends_with("events.jsonl") {
                for line in fs::read_to_string(&path).unwrap().lines() {
                    blobs(&dir, &serde_json::from_str(line).unwrap(), &mut texts);
                }
            }
        }
    }
    texts
}

/// Appends the content of all blobs that an event refers to.
fn blobs(session: &Path, value: &Value, texts: &mut String) {
    match value {
        Value::Object(fields) if fields.contains_key("blob") => {
            texts.push_str(&journal::kept(session, value));
        }
        Value::Object(fields) => fields.values().for_each(|value| blobs(session, value, texts)),
        Value::Array(values) => values.iter().for_each(|value| blobs(session, value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Checks that no secret appears in any prompt, file or output.
fn assert_no_secrets(world: &World, run: &Run, what: &str) {
    let mut said = vec![
        ("a prompt", world.provider.all_messages()),
        ("the state directory", kept(world)),
        ("standard output", run.stdout.clone()),
        ("standard error", run.stderr.clone()),
    ];
    for args in [&["export"][..], &["explain"], &["sessions", "show"], &["usage"], &["diff"]] {
        let run = world.deepseek(args.iter().copied()).run();
        said.push((args[0], run.stdout + &run.stderr));
    }
    for (place, text) in said {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{what}: {secret} in {place}");
        }
    }
}

#[test]
fn secrets_in_check_output_are_masked() {
    let ways = [
        "cat .env",
        "grep -rs PASSWORD .",
        "git show HEAD:.env",
        "git cat-file --batch-all-objects --batch",
        "cat .git/config; git remote -v",
        "cat deep/down/server.key ignored/prod.tfvars",
        "printf 'production: %s\\n' \"$PRODUCTION_TOKEN\"; printf %s \"$(cat ignored/prod.tfvars)\"",
        "base64 -w0 .env; cut -d'\"' -f2 .env | tr -d '\\n' | base64",
        "cut -d'\"' -f2 .env | od -An -tx1 | tr -d ' \\n'; sed 's/=/ is now /' .env",
        "tail -c 40 .env >&2; cat link",
        "head -c 3000000 /dev/zero | tr '\\0' x; cat .env; head -c 3000000 /dev/zero | tr '\\0' y; cat .env",
    ];
    for way in ways {
        let world = world(way);
        symlink(".env", world.project.path("link")).unwrap();
        let run = fix_greeting(&world);
        assert_eq!(run.code, Some(0), "{way}: {}", run.stderr);
        assert_no_secrets(&world, &run, way);
        let masked = run.all("VerificationRun").into_iter().map(|data| &data["findings"]["masked"]);
        assert!(masked.filter_map(Value::as_u64).any(|count| count > 0), "{way}");
        let replayed = world.deepseek(["replay"]).run();
        assert_eq!(replayed.code, Some(0), "{way}: {}", replayed.stderr);
    }
}

#[test]
fn secrets_in_a_request_are_masked() {
    let world = world("true");
    let request = format!("Fix the greeting; the password is {PASSWORD}, the key {KEY}");
    let run =
        world.request(&request).env("DEEPSEEK_API_KEY", KEY).env("PRODUCTION_TOKEN", TOKEN).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_no_secrets(&world, &run, "a request");
}

/// Returns the line of a prompt that contains a mask, without its line number.
fn masked_line(prompt: &str) -> String {
    let line = prompt.lines().rfind(|line| masks_in(line).next().is_some()).unwrap();
    line.split_once("| ").map_or(line, |(_, line)| line).to_owned()
}

/// Creates a project whose settings contain `line`, which has a secret: one from `.env`, or one recognized by its form.
fn settings(line: &str) -> World {
    let text = format!("port = 80\n{line}\nhost = \"a\"\n");
    let project = Project::new(&[
        ("settings.toml", &text),
        ("check.sh", "grep -q 81 settings.toml\n"),
        (".env", &format!("DB_PASSWORD={PASSWORD}\n")),
    ]);
    let answers = mock::Replies::driven(move |request| {
        if request.header("x-agent-role") == Some("architect") {
            return ScriptedReply::text(plan(&["settings.toml"]));
        }
        let said = request.json["messages"].as_array().unwrap().last().unwrap();
        let line = masked_line(said["content"].as_str().unwrap());
        let changed = line.replace("value", "worth");
        let secret = format!("-{line}\n+{changed}\n");
        ScriptedReply::text(format!(
            "--- a/settings.toml\n+++ b/settings.toml\n@@ -1,3 +1,3 @@\n-port = 80\n+port = 81\n{secret} host = \"a\"\n"
        ))
    });
    World::of(project, Provider::new(answers))
}

#[test]
fn a_model_can_edit_a_line_whose_secret_was_masked() {
    for secret in [PASSWORD.to_owned(), format!("ghp_{}", "x9Y".repeat(12))] {
        let line = format!("value = \"{secret}\"");
        let world = settings(&line);
        let run = world.chat("Use another port");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let expected = format!("port = 81\nworth = \"{secret}\"\nhost = \"a\"\n");
        assert_eq!(world.project.read("settings.toml"), expected);
        let said = world.provider.all_messages() + &run.stdout + &run.stderr;
        assert!(!said.contains(&secret), "{said}");
        // A replay must not depend on the file or the environment.
        world.project.write(".env", "");
        let replayed = world.deepseek(["replay"]).run();
        assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    }
}

#[test]
fn a_masked_secret_cannot_be_copied_to_another_place() {
    let world = {
        let project = Project::new(&[
            ("settings.toml", &format!("port = 80\nsecret = \"{PASSWORD}\"\n")),
            (".env", &format!("DB_PASSWORD={PASSWORD}\n")),
        ]);
        let answers = mock::Replies::driven(move |request| {
            if request.header("x-agent-role") == Some("architect") {
                return ScriptedReply::text(plan(&["settings.toml", "copy.txt"]));
            }
            let messages = request.json["messages"].to_string();
            let mask = masks_in(&messages).next().unwrap().to_owned();
            ScriptedReply::text(format!("--- /dev/null\n+++ b/copy.txt\n@@ -0,0 +1 @@\n+{mask}\n"))
        });
        World::of(project, Provider::new(answers))
    };
    let run = world.chat("Copy it");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(world.project.changed().is_empty(), "{:?}", world.project.changed());
    assert!(world.provider.all_messages().contains("masked_secret"));
}

/// A command that spies on the process that started it.
const SPY: &str = "cat /proc/$PPID/environ; cat /proc/$PPID/maps; ls /proc/$PPID/fd; strings -a /proc/$PPID/mem; env";

#[test]
fn a_command_sees_no_key_in_its_own_or_the_programs_environment() {
    for spy in [
        SPY,
        "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done",
        "env | grep -i -e key -e token -e secret -e sock",
    ] {
        let world = world(&format!("({spy}) > seen.txt 2>&1"));
        world.project.write(".gitignore", "ignored\nseen.txt\n");
        // Root could read everything.
        let mut program = world.as_unprivileged_user("Fix the greeting");
        for (name, value) in [
            ("DEEPSEEK_API_KEY", KEY),
            ("MY_KEY", PASSWORD),
            ("GITHUB_TOKEN", TOKEN),
            ("CARGO_REGISTRY_TOKEN", TOKEN),
            ("AWS_SECRET_ACCESS_KEY", TOKEN),
            ("SSH_AUTH_SOCK", LINE),
            ("DOCKER_HOST", LINE),
            ("DATABASE_URL", PASSWORD),
            ("CARGO_TERM_COLOR", "is seen"),
        ] {
            program.env(name, value);
        }
        let run = program.run();
        assert_eq!(run.code, Some(0), "{spy}: {}", run.stderr);
        // Processes of other users are not tested here.
        let own = fs::read(world.project.path("seen.txt")).unwrap();
        let own = String::from_utf8_lossy(&own);
        for secret in [KEY, PASSWORD, TOKEN, LINE] {
            assert!(!own.contains(secret), "{spy}: {secret}");
        }
    }
}

#[test]
fn a_key_in_a_custom_variable_is_hidden_and_so_is_the_default_one() {
    let world = world("env > seen.txt").configure("[llm]\napi_key_env = \"MY_KEY\"\n[commands]\nenv = [\"PATH\", \"MY_KEY\", \"DEEPSEEK_API_KEY\", \"A_TOKEN\"]\n").unconfined();
    world.project.write(".gitignore", "ignored\nseen.txt\n");
    let run = world
        .request("Fix the greeting")
        .env("MY_KEY", KEY)
        .env("DEEPSEEK_API_KEY", PASSWORD)
        .env("A_TOKEN", "given by its whole name")
        .run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let seen = world.project.read("seen.txt");
    assert!(!seen.contains(KEY) && !seen.contains(PASSWORD), "{seen}");
    assert!(seen.contains("given by its whole name"), "{seen}");
}

#[test]
fn a_stored_key_is_used_and_readable_only_by_the_user() {
    let world = world("true");
    let keyless = |args: &[&str]| {
        let mut program = world.deepseek(args.iter().copied());
        program.env_remove("DEEPSEEK_API_KEY");
        program
    };
    assert_eq!(keyless(&["auth", "status"]).run().code, Some(2));
    for wrong in ["", "two words\n", "a\u{7}b\n"] {
        let run = keyless(&["auth", "login"]).input(wrong).run();
        assert_eq!(run.code, Some(2), "{wrong:?}: {}", run.stderr);
    }
    let run = keyless(&["auth", "login"]).input(&format!("{KEY}\n")).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!run.stderr.contains(KEY) && run.stderr.contains("deepseek/key"), "{}", run.stderr);
    let run = keyless(&["auth", "status"]).run();
    assert!(run.stdout.contains("deepseek/key") && !run.stdout.contains(KEY), "{}", run.stdout);
    let run = keyless(&["ask", "why?"]).run();
    let asked = world.provider.requests();
    let sent =
        asked.last().and_then(|seen| seen.request.header("authorization").map(str::to_owned));
    assert_eq!(sent, Some(format!("Bearer {KEY}")), "{}", run.stderr);
    // A key file that others can read is refused.
    let file = keyless(&["auth", "status"]).run().stdout;
    let file =
        file.lines().find_map(|line| line.strip_prefix("the key comes from ")).unwrap().to_owned();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let run = keyless(&["auth", "status"]).run();
    assert!(run.code == Some(2) && run.stderr.contains("chmod 600"), "{}", run.stderr);
    assert_eq!(keyless(&["auth", "logout"]).run().code, Some(0));
    assert_eq!(keyless(&["auth", "status"]).run().code, Some(2));
}

#[test]
fn a_key_is_not_echoed_while_it_is_typed() {
    let world = world("true");
    let mut terminal = Terminal::start(&mut world.deepseek(["auth", "login"]));
    terminal.until("Key:", 1);
    terminal.types(&format!("{KEY}x\u{7f}\r"));
    terminal.until("key stored in", 1);
    let shown = terminal.shown();
    assert_eq!(terminal.end(), Some(0), "{shown}");
    assert!(!shown.contains(KEY), "{shown}");
    let mut program = world.deepseek(["auth", "status"]);
    let status = program.env_remove("DEEPSEEK_API_KEY").run();
    assert_eq!(status.code, Some(0), "{}", status.stderr);
}

#[test]
fn state_is_accessible_only_to_the_user_whatever_the_umask() {
    for mask in ["000", "022", "077"] {
        let world = world("echo said");
        let args = "-p Fix --approval auto --force-execute";
        let run = world.after(&format!("umask {mask}"), args).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        world.deepseek(["usage"]).run();
        let mut directories = vec![world.state()];
        while let Some(dir) = directories.pop() {
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777;
                // Files created by libraries are protected by their directory, which only the user can access.
                let is_theirs =
                    ["checkpoints.git", "index"].iter().any(|name| path.ends_with(name));
                if path.is_dir() {
                    assert_eq!(mode, 0o700, "{} with umask {mask}", path.display());
                    directories.extend((!is_theirs).then_some(path));
                } else {
                    assert_eq!(mode, 0o600, "{} with umask {mask}", path.display());
                }
            }
        }
        // Files of the workspace follow the umask.
        assert!(world.project.path("greet.txt").metadata().is_ok());
    }
}
