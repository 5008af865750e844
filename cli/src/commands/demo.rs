//! `deepseek demo`: runs the whole pipeline offline on a sample repository. Only the model is scripted; the server, the
//! files, the patches and the tests are real.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use facts::delivery::Delivery;
use facts::words::{AnsweredCard, CardAnswer};
use front::error::{CliError, CliErrorKind};
use front::exit;
use front::run_view::CommandsGiven;
use front::session::SessionChoice;
use mock::{Script, Server};
use orchestrator::request::Request;
use orchestrator::request::intent::RequestIntent;
use shell::{CommandLine, Environment, Exit, RunOptions};

use crate::commands::autopilot::{self, AutopilotArgs};
use crate::drive::{Drive, WorkspaceUse};
use crate::flags::{ApprovalFlag, Global, OutputFormat, TeammateMode};
use crate::render::{self, changes_as_text};
use crate::surroundings::Surroundings;

/// Run the whole pipeline offline on a sample repository.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Use a Python sample instead of the Rust one.
    #[arg(long)]
    python: bool,
    /// Demonstrate lanes: one conflict, and two that pass alone but fail together.
    #[arg(long, conflicts_with = "python")]
    team: bool,
    /// Demonstrate the autopilot: work step by step until the tests pass.
    #[arg(long, conflicts_with_all = ["python", "team"])]
    autopilot: bool,
}

/// A sample repository and the scripted answers about it.
struct Sample {
    name: &'static str,
    /// The message of its only commit.
    state: &'static str,
    request: &'static str,
    lanes: TeammateMode,
    files: &'static [(&'static str, &'static str)],
    script: &'static str,
    needs: &'static str,
}

const RUST: Sample = Sample {
    name: "cart",
    state: "a cart with a bug",
    request: FIX,
    lanes: TeammateMode::Off,
    files: &[
        ("Cargo.toml", include_str!("../../demo/rust/manifest.toml")),
        ("src/lib.rs", include_str!("../../demo/rust/lib.rs")),
        (".gitignore", "/target\nCargo.lock\n"),
    ],
    script: include_str!("../../demo/rust/script.toml"),
    needs: "cargo",
};

const PYTHON: Sample = Sample {
    name: "cart",
    state: "a cart with a bug",
    request: FIX,
    lanes: TeammateMode::Off,
    files: &[
        ("cart.py", include_str!("../../demo/python/cart.py")),
        ("test_cart.py", include_str!("../../demo/python/test_cart.py")),
        (".gitignore", "__pycache__\n"),
    ],
    script: include_str!("../../demo/python/script.toml"),
    needs: "python3",
};

const TEAM: Sample = Sample {
    name: "till",
    state: "a till with empty columns",
    request: "Fill the columns of the receipt: discount, points and tax",
    lanes: TeammateMode::On,
    files: &[
        ("Cargo.toml", include_str!("../../demo/team/manifest.toml")),
        ("CHANGES.md", include_str!("../../demo/team/CHANGES.md")),
        ("src/lib.rs", include_str!("../../demo/team/lib.rs")),
        ("src/discount.rs", include_str!("../../demo/team/discount.rs")),
        ("src/points.rs", include_str!("../../demo/team/points.rs")),
        ("src/tax.rs", include_str!("../../demo/team/tax.rs")),
        (".gitignore", "/target\nCargo.lock\n"),
    ],
    script: include_str!("../../demo/team/script.toml"),
    needs: "cargo",
};

const HETUN: Sample = Sample {
    request: "Find out why the sums of the cart are wrong, and fix them",
    script: include_str!("../../demo/hetun/script.toml"),
    ..RUST
};

const AUTOPILOT: Sample = Sample {
    request: "Make the tests of the cart pass, and write down what they expect",
    script: include_str!("../../demo/autopilot/script.toml"),
    ..RUST
};

const FIX: &str = "Fix the failing tests: quantities are ignored when the cart is added up";

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &DemoArgs,
) -> Result<(), CliError> {
    let mut sample = match args {
        DemoArgs { team: true, .. } => TEAM,
        DemoArgs { python: true, .. } => PYTHON,
        DemoArgs { autopilot: true, .. } => AUTOPILOT,
        DemoArgs { .. } if global.hetun => HETUN,
        DemoArgs { .. } => RUST,
    };
    let env = around.seen_by_commands(&around.settings(global, &around.workspace(global)?)?.config);
    if !runs(sample.needs, &env).await {
        let is_plain = matches!(args, DemoArgs { team: false, python: false, autopilot: false });
        if is_plain && !global.hetun && runs(PYTHON.needs, &env).await {
            render::warn("cargo does not run here, so the demo uses its Python sample");
            sample = PYTHON;
        } else {
            return Err(does_not_run(&sample));
        }
    }
    let dir = tempfile::Builder::new()
        .prefix("deepseek-demo-")
        .tempdir()
        .map_err(|error| unusable(&error))?
        .keep();
    let workspace = dir.join(sample.name);
    lay_out(&workspace, &sample).map_err(|error| unusable(&error))?;
    commit_sample(&workspace, sample.state, &env).await;

    let script = Script::from_toml(sample.script)
        .map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::start(address, script.replies, script.server, None)
        .await
        .map_err(|error| CliError::caused(CliErrorKind::Internal, &error))?;

    let mut view = render::view_naming(around, global, CommandsGiven::Nowhere);
    view.note("The model in this demo is scripted: it gives the same answers every time.");
    view.note("Everything else is real: the HTTP server, the patches, the files and the tests.");
    let request = sample.request;
    view.note(&format!("Workspace: {}\nRequest:   {request}\n", workspace.display()));

    let (around, mut global) = stage(around, global, &server, &dir, &workspace);
    global.teammate_mode = Some(sample.lanes);
    if args.autopilot {
        let flown = AutopilotArgs::until(request, "cargo test");
        autopilot::run(&around, &global, &flown).await?;
        view.note(&format!("\nDelivered. The result is in {}", workspace.display()));
        return Ok(());
    }
    let settings = around.settings(&global, &workspace)?;
    let mut drive = Drive::open(
        &around,
        &settings,
        workspace.clone(),
        SessionChoice::New,
        WorkspaceUse::Write,
        view.as_mut(),
    )
    .await?;
    let intent = if global.hetun { RequestIntent::Mission } else { RequestIntent::Edit };
    let mut outcome = drive.run(Request::new(request, Some(intent)), view.as_mut()).await?;
    if let (Delivery::Denied { .. }, Some(card)) = (&outcome.delivery, &outcome.card) {
        view.note("\nThere is no terminal to ask on, so the demo approves the card by its hash.\n");
        let step = AnsweredCard { hash: card.hash(), answer: CardAnswer::Approved };
        let approved = Request { card: Some(step), ..Request::new(request, Some(intent)) };
        outcome = drive.run(approved, view.as_mut()).await?;
    }
    if global.output == OutputFormat::Text {
        let paint = around.paint_out(global.color);
        render::text(&format!("\n{}", changes_as_text(&outcome.changes, paint)));
    }
    exit::exit_error(&outcome.delivery, None)?;
    view.note(&format!("\nDelivered. The result is in {}", workspace.display()));
    if args.team {
        let state = dir.join("state");
        view.note(&format!(
            "The changes of lane 02: DEEPSEEK_HOME={} deepseek --workspace {} diff --lane 02",
            state.display(),
            workspace.display()
        ));
    }
    view.note("Next: store a key with `deepseek auth login`, then run `deepseek` in a project of your own.");
    Ok(())
}

/// Returns the environment and flags for the demo: the scripted server as provider, and its own state directory.
fn stage(
    around: &Surroundings,
    global: &Global,
    server: &Server,
    dir: &Path,
    workspace: &Path,
) -> (Surroundings, Global) {
    let mut around = around.clone();
    let mut global = global.clone();
    around.vars.insert("DEEPSEEK_BASE_URL".to_owned(), server.base_url());
    around.vars.insert("DEEPSEEK_API_KEY".to_owned(), "demo".to_owned());
    around.vars.insert("DEEPSEEK_HOME".to_owned(), dir.join("state").display().to_string());
    around.vars.insert("XDG_CONFIG_HOME".to_owned(), dir.join("config").display().to_string());
    around.vars.retain(|name, _| {
        !matches!(name.as_str(), "DEEPSEEK_MODEL" | "DEEPSEEK_PROFILE" | "DEEPSEEK_APPROVAL")
    });
    global.workspace = Some(workspace.to_owned());
    global.config = None;
    global.profile = None;
    global.model = None;
    global.approval = Some(ApprovalFlag::Auto);
    (around, global)
}

fn lay_out(workspace: &Path, sample: &Sample) -> io::Result<()> {
    for (name, content) in sample.files {
        let path: PathBuf = workspace.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    Ok(())
}

/// Commits the sample to git, so that the result can be compared with it. Without git the demo still works.
async fn commit_sample(workspace: &Path, state: &str, env: &Environment) {
    let commit =
        format!("git -c user.name=demo -c user.email=demo@example.invalid commit -qm '{state}'");
    for command in ["git init -q", "git add -A", &commit] {
        if shell(command, workspace, env).await != Exit::Code(0) {
            tracing::info!(command, "the demo continues without git");
            return;
        }
    }
}

async fn shell(command: &str, cwd: &Path, env: &Environment) -> Exit {
    let Ok(command) = CommandLine::parse(command) else { return Exit::NotFound };
    let options = RunOptions {
        cwd: cwd.to_owned(),
        timeout: Duration::from_mins(1),
        keep_bytes: 4096,
        kill_grace: Duration::from_millis(100),
        env: env.clone(),
        in_place_of: None,
        appears_in_place: false,
        notes: None,
        fence: None,
    };
    shell::run(&command, &options).await.exit
}

/// Returns true if a program that a sample needs can be run.
async fn runs(program: &str, env: &Environment) -> bool {
    shell(&format!("{program} --version"), Path::new("/"), env).await == Exit::Code(0)
}

fn does_not_run(sample: &Sample) -> CliError {
    let what = format!("the sample needs {}, which is not installed or does not run", sample.needs);
    let hint = if sample.needs == PYTHON.needs {
        "`deepseek demo` uses a Rust sample"
    } else {
        "install Rust: https://rustup.rs; `deepseek demo --python` needs only Python"
    };
    CliError::new(CliErrorKind::Usage, what).hint(hint)
}

fn unusable(error: &io::Error) -> CliError {
    CliError::new(CliErrorKind::Internal, format!("cannot create the sample: {error}"))
        .hint("check that the temporary directory is writable and has free space")
}
