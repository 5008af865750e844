use super::*;
use crate::LaneMode;

fn file(text: &str) -> FileText {
    FileText { path: "c.toml".into(), text: text.to_owned() }
}

fn user(text: &str) -> Inputs {
    Inputs { user: Some(file(text)), ..Inputs::default() }
}

#[test]
fn the_defaults_are_complete_and_every_key_has_a_comment() {
    let settings = resolve_layers(&Inputs::default()).unwrap();
    assert!(settings.warnings.is_empty());
    assert!(settings.values().iter().all(|(.., source)| *source == Source::Default));
    let mut previous = "";
    for line in DEFAULTS.lines() {
        if line.contains(" = ") && !line.starts_with([' ', '#']) {
            assert!(previous.starts_with("# "), "no comment above `{line}`");
        }
        previous = line;
    }
}

#[test]
fn later_layers_win_and_values_know_their_source() {
    let inputs = Inputs {
        user: Some(file(
            "agent_loop.max_files_per_iteration = 5\n[profiles.fast]\nagent_loop.max_file_bytes = 9\n",
        )),
        workspace: Some(file("[agent_loop]\nmax_files_per_iteration = 4\n")),
        profile: Some("fast".to_owned()),
        env: vec![("llm.base_url", "DEEPSEEK_BASE_URL", "http://x".to_owned())],
        flags: vec![("policy.approval", "--approval", "auto".to_owned())],
        ..Inputs::default()
    };
    let settings = resolve_layers(&inputs).unwrap();
    assert_eq!(settings.config.agent_loop.max_files_per_iteration, 4);
    let source = |key| settings.get(key).unwrap().1.to_string();
    assert_eq!(source("agent_loop.max_files_per_iteration"), "workspace c.toml");
    assert_eq!(source("agent_loop.max_file_bytes"), "profile fast");
    assert_eq!(source("llm.base_url"), "env DEEPSEEK_BASE_URL");
    assert_eq!(source("policy.approval"), "flag --approval");
    assert_eq!(source("policy.mode"), "default");
}

#[test]
fn an_unknown_key_names_file_line_and_nearest_key() {
    let error = resolve_layers(&user("# mine\n[agent_loop]\nmax_iteration = 3\n")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "c.toml:3: unknown key `agent_loop.max_iteration`; did you mean `agent_loop.max_iterations`?"
    );
}

#[test]
fn a_value_of_the_wrong_kind_names_file_and_line() {
    let error = resolve_layers(&user("[policy]\n\napproval = \"sometimes\"\n")).unwrap_err();
    assert!(
        error.to_string().starts_with("c.toml:3: `policy.approval`: unknown variant"),
        "{error}"
    );
    let error = resolve_layers(&user("agent_loop.max_iterations = 0")).unwrap_err();
    assert_eq!(error.to_string(), "c.toml:1: `agent_loop.max_iterations`: must be at least 1");
    let error = resolve_layers(&user("[agent_loop\n")).unwrap_err();
    assert!(matches!(error, ConfigError::Syntax { line: 1, .. }), "{error}");
}

fn untrusted(user: &str, workspace: &str) -> Settings {
    resolve_layers(&Inputs {
        user: Some(file(user)),
        workspace: Some(file(workspace)),
        workspace_root: "/w".into(),
        ..Inputs::default()
    })
    .unwrap()
}

/// Each of these would let a workspace spend the user's money or widen what may happen. From finding H3 of a security
/// review.
#[test]
fn an_untrusted_workspace_cannot_widen_anything() {
    for (user, workspace) in [
        ("", "policy.approval = \"auto\""),
        ("", "policy.approval = \"never\""),
        ("policy.approval = \"never\"", "policy.approval = \"suggest\""),
        ("", "policy.mode = \"yolo\""),
        ("policy.mode = \"plan\"", "policy.mode = \"agent\""),
        ("", "policy.allow_commands = [\"*\"]"),
        ("", "policy.allow_commands = [\"cargo test*\", \"./evil.sh\"]"),
        ("", "policy.options.make = [\"-s\", \"-f=\"]"),
        ("", "policy.options.evil = [\"-x\"]"),
        ("", "llm.base_url = \"http://evil\""),
        ("", "llm.api_key_env = \"HOME\""),
        ("", "llm.base_model.model = \"deepseek-v4-pro\""),
        ("", "llm.base_model.thinking = true"),
        ("", "llm.max_think_model.effort = \"max\""),
        ("", "llm.flash_model.max_output_tokens = 99999"),
        ("", "llm.max_retries = 6"),
        ("", "llm.max_retries = 1e9"),
        ("", "llm.prices.deepseek-flash.miss = 0.0"),
        ("", "llm.prices.evil.miss = 1.0"),
        ("", "llm.max_concurrent_calls = 99"),
        ("", "agent_loop.max_iterations = 7"),
        ("agent_loop.max_iterations = 3", "agent_loop.max_iterations = 4"),
        ("", "agent_loop.max_context_requests_per_iteration = 500"),
        ("", "agent_loop.architect_parse_retries = 3"),
        ("", "agent_loop.evidence_tokens = 900000"),
        ("", "agent_loop.safety_gate.max_loc_without_approval = 601"),
        ("agent_loop.baseline = \"off\"", "agent_loop.baseline = \"wait\""),
        ("", "agent_loop.apply_strategy = \"three_way\""),
        ("budget.usd = 0.1", "budget.usd = 0.2"),
        ("budget.usd = 0.1", "budget.usd = 0.0"),
        ("budget.usd = 0.1", "budget.usd = -1.0"),
        ("budget.tokens = 9", "budget.tokens = 0"),
        ("", "limits.approval_timeout_seconds = 99999999"),
        ("", "limits.max_workspace_files = 50001"),
        ("", "commands.output_keep_bytes = 9999999"),
        ("", "trust.workspaces = [\"/w\"]"),
        ("", "lanes.share = []"),
        ("", "checkpoints.max_count = 1"),
    ] {
        let alone =
            resolve_layers(&Inputs { user: Some(file(user)), ..Inputs::default() }).unwrap();
        let settings = untrusted(user, workspace);
        assert_eq!(settings.config, alone.config, "{user} | {workspace}");
        assert_eq!(settings.warnings.len(), 1, "{workspace}: {:?}", settings.warnings);
        assert!(settings.warnings[0].starts_with("c.toml:1: ignored `"), "{:?}", settings.warnings);
    }
}

#[test]
fn an_untrusted_workspace_can_make_limits_smaller() {
    for (user, key, value) in [
        ("policy.approval = \"auto\"", "policy.approval", "\"suggest\""),
        ("policy.approval = \"auto\"", "policy.approval", "\"never\""),
        ("policy.mode = \"yolo\"", "policy.mode", "\"agent\""),
        ("", "policy.mode", "\"plan\""),
        ("", "policy.allow_commands", "[\"cargo test*\"]"),
        ("", "policy.options.cargo", "[\"-q\"]"),
        ("", "llm.max_think_model.thinking", "false"),
        ("", "llm.max_think_model.effort", "\"low\""),
        ("", "llm.base_model.max_output_tokens", "1000"),
        ("", "agent_loop.max_iterations", "6"),
        ("", "agent_loop.max_iterations", "2"),
        ("", "agent_loop.safety_gate.max_files_without_approval", "0"),
        ("", "agent_loop.baseline", "\"off\""),
        ("", "budget.usd", "0.05"),
        ("budget.usd = 1", "budget.usd", "0.5"),
        ("", "limits.max_workspace_files", "10"),
        ("", "commands.kill_grace_ms", "1"),
    ] {
        let settings = untrusted(user, &format!("{key} = {value}"));
        assert_eq!(settings.warnings, Vec::<String>::new());
        assert_eq!(settings.get(key).unwrap().0.to_string(), value, "{user} | {key}");
    }
    let settings = untrusted("", "policy.deny_commands = [\"x*\"]");
    let denied = &settings.config.policy.deny_commands;
    assert!(denied.len() > 1 && denied.last().unwrap() == "x*", "{denied:?}");
}

#[test]
fn a_misspelled_key_of_an_untrusted_workspace_is_named_and_ignored() {
    let warned = |text| untrusted("", text).warnings.concat();
    let misspelled = warned("agent_loop.max_iteration = 3");
    let expected = "unknown key `agent_loop.max_iteration`; did you mean `agent_loop.max_iterations`? (ignored)";
    assert!(misspelled.ends_with(expected), "{misspelled}");
    let new = warned("llm.prices.mine.hit = 1.0");
    assert!(new.contains("not trusted"), "{new}");
}

#[test]
fn a_trusted_workspace_may_set_anything() {
    let settings = untrusted("trust.workspaces = [\"/w\"]", "llm.base_url = \"http://mine\"");
    assert_eq!(settings.config.llm.base_url, "http://mine");
    assert_eq!(settings.trust, WorkspaceTrust::Trusted);
    assert!(settings.warnings.is_empty());
}

#[test]
fn a_profile_of_an_untrusted_workspace_is_compared_with_the_users_profile() {
    let inputs = |user: i32, workspace: i32| Inputs {
        user: Some(file(&format!("[profiles.p]\nagent_loop.max_iterations = {user}\n"))),
        workspace: Some(file(&format!("[profiles.p]\nagent_loop.max_iterations = {workspace}\n"))),
        profile: Some("p".to_owned()),
        ..Inputs::default()
    };
    for (user, workspace, expected) in [(3, 5, 3), (9, 5, 5), (9, 10, 9)] {
        let settings = resolve_layers(&inputs(user, workspace)).unwrap();
        assert_eq!(settings.config.agent_loop.max_iterations, expected, "{user} {workspace}");
    }
}

#[test]
fn a_workspace_profile_is_guarded_too() {
    let inputs = Inputs {
        workspace: Some(file("[profiles.p.llm]\nbase_url = \"http://evil\"\n")),
        profile: Some("p".to_owned()),
        ..Inputs::default()
    };
    let settings = resolve_layers(&inputs).unwrap();
    assert_eq!(settings.get("llm.base_url").unwrap().1, &Source::Default);
    assert_eq!(settings.warnings.len(), 1);
}

#[test]
fn an_unknown_profile_names_the_known_ones() {
    let inputs = Inputs {
        user: Some(file("[profiles.fast]\nagent_loop.max_iterations = 1\n")),
        profile: Some("slow".to_owned()),
        ..Inputs::default()
    };
    assert_eq!(
        resolve_layers(&inputs).unwrap_err().to_string(),
        "no profile `slow`; known profiles: fast"
    );
}

#[test]
fn a_list_set_for_a_run_may_extend_the_layers_below() {
    let set = |value: &str| {
        let set = vec![("policy.deny_commands".to_owned(), value.to_owned())];
        resolve_layers(&Inputs { set, ..Inputs::default() }).unwrap().config.policy.deny_commands
    };
    let below = resolve_layers(&Inputs::default()).unwrap().config.policy.deny_commands;
    assert_eq!(set(r#"["x"]"#), ["x"]);
    assert_eq!(set(r#"["...", "x"]"#), [below, vec!["x".to_owned()]].concat());
}

#[test]
fn retired_names_are_resolved_with_one_warning() {
    let inputs = Inputs {
        flags: vec![
            ("llm.base_model.model", "--model", "deepseek-reasoner".to_owned()),
            ("llm.max_think_model.model", "--model", "deepseek-chat".to_owned()),
            ("llm.flash_model.model", "--model", "my-own".to_owned()),
        ],
        ..Inputs::default()
    };
    let settings = resolve_layers(&inputs).unwrap();
    let llm = &settings.config.llm;
    assert_eq!((llm.base_model.model.as_str(), llm.base_model.thinking), ("deepseek-flash", true));
    assert_eq!(
        (llm.max_think_model.model.as_str(), llm.max_think_model.thinking),
        ("deepseek-flash", false)
    );
    assert_eq!(llm.flash_model.model, "my-own");
    assert_eq!(settings.warnings.len(), 1);
}

#[test]
fn other_models_can_be_priced_even_with_dots_in_their_names() {
    let text = "[llm.prices.\"my.model-1.5\"]\nhit = 0.0\nmiss = 1\noutput = 2\npeak_factor = 1\n";
    let settings = resolve_layers(&user(text)).unwrap();
    assert!((settings.config.llm.prices["my.model-1.5"].output - 2.0).abs() < 1e-9);
    let error = resolve_layers(&user("[llm.prices.x]\nhits = 0.0\n")).unwrap_err();
    assert!(matches!(error, ConfigError::UnknownKey { line: 2, .. }), "{error}");
}

#[test]
fn a_context_window_is_that_of_the_longest_pattern() {
    let text = "llm.context_window_tokens = 8192\n[llm.context_windows]\n\"gpt-5.5\" = 400000\n\"gpt-*\" = 128000\n";
    let llm = resolve_layers(&user(text)).unwrap().config.llm;
    let windows = ["gpt-5.5", "gpt-4o", "deepseek-flash", "deepseek/deepseek-v4.1-flash", "mine"];
    let windows = windows.map(|model| llm.context_window(model));
    assert_eq!(windows, [400_000, 128_000, 1_048_576, 1_048_576, 8192]);
    let set = vec![("llm.context_windows.gpt-5.5".to_owned(), "9000".to_owned())];
    let settings = resolve_layers(&Inputs { set, ..Inputs::default() }).unwrap();
    assert_eq!(settings.config.llm.context_window("gpt-5.5"), 9000);
}

#[test]
fn lanes_have_bounds_and_share_only_paths_in_the_workspace() {
    for (text, message) in [
        ("max_lanes = 0", "`lanes.max_lanes`: must be between 1 and 99"),
        ("max_lanes = 100", "`lanes.max_lanes`: must be between 1 and 99"),
        ("max_subagents = 0", "`lanes.max_subagents`: must be between 1 and 20"),
        ("max_subagents = 21", "`lanes.max_subagents`: must be between 1 and 20"),
        ("max_subagents = -1", "`lanes.max_subagents`: `-1` is below 0"),
        ("mode = \"never\"", "`lanes.mode`: unknown variant"),
    ] {
        let error = resolve_layers(&user(&format!("[lanes]\n{text}\n"))).unwrap_err().to_string();
        assert!(error.starts_with(&format!("c.toml:2: {message}")), "{error}");
    }
    for path in ["", "/", "/etc", "..", "a/../..", "a//b", "./a", ".git", "a/.GIT", "C:", "a\\\\b"]
    {
        let error =
            resolve_layers(&user(&format!("lanes.share = [\"a\", \"{path}\"]"))).unwrap_err();
        assert!(error.to_string().contains("`lanes.share`: must be paths below"), "{path} {error}");
    }
    let settings =
        resolve_layers(&user("lanes.share = [\"web/node_modules\"]\nlanes.mode = \"auto\"\n"));
    assert_eq!(settings.unwrap().config.lanes.mode, LaneMode::Auto);
}

#[test]
fn only_the_user_can_configure_lanes() {
    let text = "[lanes]\nmode = \"on\"\nmax_subagents = 20\nshare = [\".ssh\"]\n";
    let inputs = Inputs { workspace: Some(file(text)), ..Inputs::default() };
    let settings = resolve_layers(&inputs).unwrap();
    assert_eq!(settings.config.lanes, resolve_layers(&Inputs::default()).unwrap().config.lanes);
    assert_eq!(settings.warnings.len(), 3, "{:?}", settings.warnings);
}

#[test]
fn a_record_from_before_a_table_existed_is_read_with_its_defaults() {
    let mut config = resolve_layers(&user("agent_loop.max_iterations = 3")).unwrap().config;
    config.lanes.max_lanes = 7;
    let record = to_record(&config);
    assert_eq!(recorded(&record).unwrap().lanes.max_lanes, 7);
    let whole: Table = record.parse().unwrap();
    let tables: Vec<&String> = whole.keys().collect();
    assert!(tables.iter().any(|table| *table == "lanes"), "{tables:?}");
    // Any of the tables may be missing in a record of an older version.
    for table in tables {
        let mut older = whole.clone();
        older.remove(table);
        let read = Table::try_from(recorded(&older.to_string()).unwrap()).unwrap();
        assert_eq!(read[table.as_str()], defaults()[table.as_str()]);
        let others = |of: &Table| {
            let mut others = of.clone();
            others.remove(table);
            others.remove("llm");
            // Servers are never recorded.
            others.remove("mcp");
            others
        };
        assert_eq!(others(&read), others(&whole));
    }
    let old = record.replace("max_lanes = 7\n", "");
    assert_eq!(recorded(&old).unwrap().lanes.max_lanes, 4);
    assert_eq!(recorded("[lanes]\nmode = 3\n"), None);
}

#[test]
fn a_list_can_extend_the_one_of_the_layer_below() {
    let defaults = resolve_layers(&Inputs::default()).unwrap().config.policy;
    let policy = |user: &str, workspace: &str, trusted: bool| {
        let trust = if trusted { "[trust]\nworkspaces = [\"/w\"]\n" } else { "" };
        let inputs = Inputs {
            user: Some(file(&format!("[policy]\n{user}\n{trust}"))),
            workspace: Some(file(&format!("[policy]\n{workspace}\n"))),
            workspace_root: "/w".into(),
            ..Inputs::default()
        };
        resolve_layers(&inputs).unwrap()
    };
    let more = |list: &[String], more: &[&str]| {
        let more = more.iter().map(|it| (*it).to_owned());
        list.iter().cloned().chain(more).collect::<Vec<String>>()
    };
    let user = "allow_commands = [\"...\", \"make lint\", \"cargo check\"]";
    let of_user = more(&defaults.allow_commands, &["make lint"]);
    let workspace = "allow_commands = [\"...\", \"make it\"]\nsecret_files = [\"...\", \"x\"]";
    let trusted = policy(user, workspace, true).config.policy;
    assert_eq!(trusted.allow_commands, more(&of_user, &["make it"]));
    assert_eq!(trusted.secret_files, more(&defaults.secret_files, &["x"]));
    // An untrusted workspace cannot extend a list that permits more.
    let guarded = policy(user, workspace, false);
    assert_eq!(guarded.config.policy.allow_commands, of_user);
    assert_eq!(guarded.config.policy.secret_files, more(&defaults.secret_files, &["x"]));
    assert_eq!(guarded.warnings.len(), 1, "{:?}", guarded.warnings);
    let alone = policy("allow_commands = [\"make lint\"]", "mode = \"agent\"", false);
    assert_eq!(alone.config.policy.allow_commands, ["make lint"]);
}

#[test]
fn kinds_of_projects_and_tools_can_be_added() {
    let text = "[projects.just]\nmanifests = [\"justfile\"]\ntests = [{ run = \"just test\" }]\n[commands.complaints.just]\nprogram = [\"no {}\"]\ncure = \"brew install {}\"\n";
    let config = resolve_layers(&user(text)).unwrap().config;
    assert_eq!(config.projects["just"].tests[0].run.as_deref(), Some("just test"));
    assert_eq!(config.commands.complaints["just"].cure, "brew install {}");
    assert!(resolve_layers(&user("[projects.just]\nmanifest = [\"justfile\"]\n")).is_err());
    let workspace = Inputs { workspace: Some(file(text)), ..Inputs::default() };
    let guarded = resolve_layers(&workspace).unwrap();
    assert!(!guarded.config.projects.contains_key("just") && !guarded.warnings.is_empty());
}

#[test]
fn settings_are_read_under_names_that_they_have_elsewhere() {
    let text = r#"
default_mode = "normal"
[llm]
base_model = "deepseek-v4-pro"
max_think_model = "deepseek-reasoner"
temperature = 0.2
[router]
auto_max_think = true
threshold_high = 0.6
w1 = 0.5
escalate_on_invalid_plan = true
max_escalations_per_unit = 1
[policy]
approve_edits = "ask"
approve_bash = "ask"
allowlist = ["rg", "...", "cargo fmt --check"]
[index]
enabled = true
engine = "tantivy"
[profiles.own]
router.w6 = 0.7
"#;
    let settings =
        resolve_layers(&Inputs { profile: Some("own".to_owned()), ..user(text) }).unwrap();
    let config = &settings.config;
    assert_eq!(config.policy.mode, crate::Mode::Agent);
    assert_eq!(config.llm.base_model.model, "deepseek-v4-pro");
    assert!(config.llm.max_think_model.thinking, "{:?}", config.llm.max_think_model);
    assert!((config.router.max_think_threshold - 0.6).abs() < 1e-9);
    let weights = &config.router.weights;
    assert!(
        (weights.prompt_complexity - 0.5).abs() < 1e-9 && (weights.ambiguity - 0.7).abs() < 1e-9
    );
    assert_eq!(config.policy.approval, crate::Approval::Suggest);
    assert_eq!(config.policy.allow_commands[0], "rg");
    assert!(config.policy.allow_commands.len() > 10);
    assert_eq!(settings.get("policy.mode").unwrap().1.to_string(), "user c.toml");
    assert!(
        settings
            .warnings
            .iter()
            .any(|it| it.starts_with("c.toml:6: `llm.temperature` is ignored: "))
    );
    let refused = |text| resolve_layers(&user(text)).unwrap_err().to_string();
    assert_eq!(
        refused("index.engine = \"sqlite\"\n"),
        "c.toml:1: `index.engine`: there is no other engine"
    );
    assert!(refused("router.max_escalations_per_unit = 3\n").contains("at most once"));
    assert!(refused("policy.mode = \"fast\"\n").contains("policy.mode"));
}

#[test]
fn every_other_name_leads_to_a_key() {
    let defaults = defaults();
    for name in crate::other_names() {
        let (to, _) = crate::named_here(&name, &"normal".into()).unwrap();
        assert!(lookup(&defaults, &to).is_some_and(|value| !value.is_table()), "{name}: {to}");
    }
}

#[test]
fn resumed_work_keeps_its_configuration_but_for_flags_and_what_is_forbidden_by_now() {
    let flags = |flags: &[(&'static str, &str)]| Inputs {
        flags: flags.iter().map(|(key, value)| (*key, "--flag", (*value).to_owned())).collect(),
        ..Inputs::default()
    };
    let started =
        resolve_layers(&flags(&[("policy.approval", "auto"), ("budget.tokens", "900")])).unwrap();
    let record = to_record(&started.config);
    let user = Some(file("[policy]\nmode = \"plan\"\ndeny_commands = [\"...\", \"make it\"]\n"));
    let now = resolve_layers(&Inputs { user, ..flags(&[("budget.tokens", "500")]) }).unwrap();
    let mut expected = started.config;
    expected.budget.tokens = 500;
    expected.policy.deny_commands.push("make it".to_owned());
    assert_eq!(now.resuming(&record).unwrap().config, expected);
    assert!(resolve_layers(&flags(&[])).unwrap().resuming("policy = 1").is_none());
}
