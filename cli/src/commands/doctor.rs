//! `deepseek doctor`: checks the installation and says how to fix what is wrong.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use config::access::Access;
use config::{Llm, ModelRole, Settings};
use front::error::{CliError, CliErrorKind};
use futures_util::future::join_all;
use journal::History;
use journal::read::read_valid;
use journal::repair::{Repaired, is_in_use, repair};
use mcp::{McpServerError, ServerEntry, Servers};
use model::{
    AgentRole, ChatMessage, ChatModel as _, ChatRequest, DeepSeekClient, ModelError, ToolChoice,
};
use sandbox::{ConfinementLevel, ConfinementStep, Failure};
use serde_json::json;
use shell::{CommandLine, Environment, RunOptions};
use tokio::time::{Duration, timeout};
use tools::count::counted;
use tools::ids::short_id;
use tools::regular;

use crate::flags::{Global, OutputFormat};
use crate::surroundings::Surroundings;
use crate::telemetry::late_answers::LateAnswer;
use crate::{refused_parameters, render};

/// Check the installation.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair damaged sessions: keep the valid part and move the rest aside.
    #[arg(long)]
    repair: bool,
}

/// The time limit of one check.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time limit of a model's answer. A queued or reasoning model takes longer than a command.
const PATIENCE_WITH_MODELS: Duration = Duration::from_secs(30);
/// Tokens of an answer that shows that a model answers; some servers refuse to give fewer.
const PROBE_TOKENS: u32 = 16;

/// The result of one check.
struct Finding {
    what: &'static str,
    good: bool,
    says: String,
}

/// Runs the command. Exits with 1 if a check fails.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &DoctorArgs,
) -> Result<(), CliError> {
    let mut findings = Vec::new();
    let mut found = |what, result: Result<String, String>| {
        let good = result.is_ok();
        let says = result.unwrap_or_else(|problem| problem);
        findings.push(Finding { what, good, says });
    };
    let workspace = around.workspace(global)?;
    found("workspace", writable(&workspace).map(|()| workspace.display().to_string()));
    let state = around.state_dir()?;
    found(
        "state",
        regular::create_dir(&state)
            .map_err(|e| e.to_string())
            .and_then(|()| writable(&state))
            .map(|()| state.display().to_string())
            .map_err(|why| {
                let state = state.display();
                format!("{state}: {why}; set DEEPSEEK_HOME to a directory that you may write to")
            }),
    );
    match around.settings(global, &workspace) {
        Ok(settings) => {
            let warnings = settings.warnings.join("; ");
            let says =
                if warnings.is_empty() { "valid".to_owned() } else { format!("valid; {warnings}") };
            found("configuration", Ok(render::harmless(&says)));
            let access = around.access(&settings, &workspace);
            let variable = &settings.config.llm.api_key_env;
            found(
                "key",
                match &access.key {
                    Some(_) => Ok(format!("set, from {}", access.key_source)),
                    None => Err(format!(
                        "not set: run `deepseek auth login`, or export {variable}=sk-…"
                    )),
                },
            );
            found("provider", reach(&settings, &access, &state).await);
            found("sandbox", confined(around, &settings, &workspace).await?);
        }
        Err(error) => found(
            "configuration",
            Err(format!("{} ({})", error.message(), error.advice().unwrap_or_default())),
        ),
    }
    findings.extend(sessions(around, &workspace, args.repair)?);
    findings.extend(late_answers(around, &workspace)?);
    if let Ok(settings) = around.settings(global, &workspace) {
        findings.extend(servers(&around.servers(&workspace, &settings.config)?));
    }
    let env = around.settings(global, &workspace).map(|it| around.seen_by_commands(&it.config));
    findings.push(git(&workspace, env.unwrap_or_default()).await);
    tell(&findings, global);
    let missing = findings.iter().filter(|finding| !finding.good).count();
    if missing == 0 {
        return Ok(());
    }
    Err(CliError::new(
        CliErrorKind::NotDelivered,
        format!("{missing} of {} checks failed", findings.len()),
    )
    .hint("`deepseek demo` works without a key and without a network"))
}

/// Returns how far commands are confined here, and how to enable what is missing.
async fn confined(
    around: &Surroundings,
    settings: &Settings,
    workspace: &Path,
) -> Result<Result<String, String>, CliError> {
    let fence = super::sandbox::fence(around, settings, workspace)?;
    let sandbox = Arc::clone(&fence.sandbox);
    let tried = fence.try_on().await;
    let level = tokio::task::spawn_blocking(move || match tried {
        Ok(()) => sandbox.level(),
        Err(failure) => sandbox.fall(failure),
    });
    let level =
        level.await.map_err(|error| CliError::new(CliErrorKind::Internal, error.to_string()))?;
    let cure = match &level {
        ConfinementLevel::Floor {
            missing: Some(Failure { step: ConfinementStep::Namespaces | ConfinementStep::Ids, .. }),
            ..
        } => {
            "; in a container, allow user namespaces: a seccomp profile that permits unshare, or `sysctl user.max_user_namespaces`"
        }
        ConfinementLevel::Floor { missing: Some(_), .. } => {
            "; on Ubuntu, an AppArmor profile with `userns,` for this program, or `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, allows more"
        }
        ConfinementLevel::None(_) => {
            "; Linux 6.2 or later with Landlock confines them, `--no-sandbox` runs them unconfined"
        }
        ConfinementLevel::Full(_)
        | ConfinementLevel::Floor { missing: None, .. }
        | ConfinementLevel::Off => "",
    };
    let says = format!("{level}{cure}");
    Ok(if matches!(level, ConfinementLevel::None(_)) { Err(says) } else { Ok(says) })
}

/// Checks the journals of all sessions and, with `fix`, repairs the damaged ones.
fn sessions(around: &Surroundings, workspace: &Path, fix: bool) -> Result<Vec<Finding>, CliError> {
    let finding = |good, says| Finding { what: "sessions", good, says };
    let (mut intact, mut findings) = (0, Vec::new());
    let History { homes, .. } = History::find(&around.state_dir()?, workspace);
    for session in homes.sessions() {
        let dir = homes.dir(session);
        let damage = match read_valid(&dir) {
            Ok((reading, None)) if reading.torn_bytes == 0 => {
                intact += 1;
                continue;
            }
            // Another process is in the middle of writing the last line.
            Ok((_, None)) if is_in_use(&dir) => {
                intact += 1;
                continue;
            }
            Ok((reading, None)) => {
                format!(
                    "{session}: the last line is torn ({})",
                    counted(reading.torn_bytes, "byte")
                )
            }
            Ok((_, Some(damage))) | Err(damage) => damage.to_string(),
        };
        findings.push(match fix.then(|| repair(&dir)) {
            None => finding(false, format!("{damage} (`deepseek doctor --repair` repairs it)")),
            Some(Ok(Some(Repaired { kept, cut_bytes, aside }))) => {
                let aside = aside.display();
                finding(
                    true,
                    format!(
                        "{damage}; kept {}, moved {} to {aside}",
                        counted(kept, "event"),
                        counted(cut_bytes, "byte")
                    ),
                )
            }
            Some(Ok(None)) => finding(true, format!("{damage}; already repaired")),
            Some(Err(error)) => finding(false, format!("{damage}; {error}")),
        });
    }
    let says = if intact == 0 { "none".to_owned() } else { format!("{intact} intact") };
    findings.insert(0, finding(true, says));
    Ok(findings)
}

/// Says which servers of tools can be used. None is started.
fn servers(servers: &Servers) -> Vec<Finding> {
    let finding = |good, says| Finding { what: "mcp", good, says };
    let entries = match servers.entries() {
        Ok(entries) => entries,
        Err(error) => return vec![finding(false, error.to_string())],
    };
    let of = |entry: ServerEntry| match servers.approval(&entry) {
        _ if entry.server.disabled => finding(true, format!("{}: disabled", entry.name)),
        Ok(approval) => {
            let tools = counted(approval.tools.len(), "approved tool");
            finding(true, format!("{}: {tools} (`deepseek mcp check` starts it)", entry.name))
        }
        // What a workspace brings along is not the user's fault.
        Err(error @ McpServerError::NotApproved(..)) => finding(true, error.to_string()),
        Err(error) => finding(false, error.to_string()),
    };
    entries.into_iter().map(of).collect()
}

/// Says what the sessions that are at work in this workspace have long waited for.
fn late_answers(around: &Surroundings, workspace: &Path) -> Result<Vec<Finding>, CliError> {
    let History { homes, .. } = History::find(&around.state_dir()?, workspace);
    let is_here = |session: &str| homes.of(session).is_some_and(|of| Path::new(of) == workspace);
    let at_work = homes.sessions().filter(|it| is_here(it) && is_in_use(&homes.dir(it)));
    let late = at_work.flat_map(|session| {
        let late = LateAnswer::of_session(&homes.dir(session)).into_iter();
        let says = move |late| format!("{}: {late}", short_id(session));
        late.map(says).map(|says| Finding { what: "waits", good: true, says })
    });
    Ok(late.collect())
}

/// Reports git's version. Git is optional: only `deepseek commit` and `review` need it.
async fn git(workspace: &Path, env: Environment) -> Finding {
    let missing = "not installed; only `deepseek commit` and `deepseek review` need it";
    let options = RunOptions {
        cwd: workspace.to_owned(),
        timeout: PATIENCE,
        keep_bytes: 4096,
        kill_grace: Duration::from_millis(100),
        env,
        in_place_of: None,
        appears_in_place: false,
        notes: None,
        fence: None,
    };
    let says = match CommandLine::parse("git --version") {
        Ok(command) => shell::run(&command, &options).await.output.text().trim().to_owned(),
        Err(_) => String::new(),
    };
    Finding {
        what: "git",
        good: true,
        says: if says.is_empty() { missing.to_owned() } else { says },
    }
}

fn tell(findings: &[Finding], global: &Global) {
    if global.output == OutputFormat::Text {
        for finding in findings {
            let mark = if finding.good { "✓" } else { "✗" };
            render::print_line(&format!("{mark} {:<14} {}", finding.what, finding.says));
        }
    } else {
        let all: Vec<_> = findings
            .iter()
            .map(|f| json!({"what": f.what, "good": f.good, "says": f.says}))
            .collect();
        render::json_line(&json!(all));
    }
}

fn writable(dir: &Path) -> Result<(), String> {
    tempfile::Builder::new()
        .prefix(".deepseek-doctor-")
        .tempfile_in(dir)
        .map(|_| ())
        .map_err(|error| format!("cannot write to {}: {error}", dir.display()))
}

/// Checks that the provider answers what a run would send: one request for each model and way of thinking, with an answer
/// of a few tokens. What the server refuses is left out and remembered; what was remembered is forgotten first.
async fn reach(settings: &Settings, access: &Access, state: &Path) -> Result<String, String> {
    let llm = &settings.config.llm;
    let client = DeepSeekClient::new(llm, &access.base_url, access.key.clone())
        .map_err(|error| error.to_string())?;
    refused_parameters::forget(&client, state);
    let client = refused_parameters::remembering(client, state);
    let mut roles: Vec<&ModelRole> = Vec::new();
    for role in [&llm.max_think_model, &llm.base_model, &llm.flash_model] {
        let is_same = |it: &&ModelRole| it.model == role.model && it.thinking == role.thinking;
        if !roles.iter().any(is_same) {
            roles.push(role);
        }
    }
    let answers = join_all(roles.into_iter().map(|role| answers(llm, &client, role))).await;
    let answers: Vec<String> = answers.into_iter().collect::<Result<_, _>>()?;
    Ok(format!("{} answers: {}", client.address(), answers.join("; ")))
}

/// Returns how a model is asked, once it answers.
async fn answers(llm: &Llm, client: &DeepSeekClient, role: &ModelRole) -> Result<String, String> {
    let ModelRole { model, thinking, effort, .. } = role;
    let mut spoken = client.dialect(model);
    loop {
        let request = ChatRequest {
            role: AgentRole::Intent,
            run: "doctor".to_owned(),
            lane: None,
            model: model.clone(),
            thinking: thinking.then_some(*effort),
            max_tokens: PROBE_TOKENS,
            max_bytes: u64::from(PROBE_TOKENS) * 64,
            tools: if llm.native_tools {
                toolbox::offers(toolbox::tools(), &[], &[])
            } else {
                vec![]
            },
            tool_choice: ToolChoice::Auto,
            dialect: spoken.in_full(llm).into(),
            messages: vec![
                ChatMessage::System { content: "Answer with one word.".to_owned() },
                ChatMessage::user("Say yes."),
            ],
        };
        let answer = timeout(PATIENCE_WITH_MODELS, client.attempt(&request, &mut |_| ())).await;
        let Ok(answer) = answer else {
            let seconds = PATIENCE_WITH_MODELS.as_secs();
            return Err(format!("{} did not answer within {seconds} s", client.address()));
        };
        let cut = |error: &ModelError| {
            matches!(error, ModelError::Length { .. } | ModelError::Empty { .. })
        };
        match answer {
            Err(error) if !cut(&error) => {
                let sent = request.parameters();
                match spoken.corrected(&error, &sent, request.max_tokens) {
                    Some(corrected) => spoken = corrected,
                    None => return Err(format!("{model}: {error}")),
                }
            }
            Ok(_) | Err(_) => {
                let says = spoken.says();
                if !says.is_empty() {
                    client.remember(model, &spoken);
                }
                let thinks = if *thinking { " thinking" } else { "" };
                let says = if says.is_empty() { says } else { format!(" ({says})") };
                return Ok(format!("{model}{thinks}{says}"));
            }
        }
    }
}
