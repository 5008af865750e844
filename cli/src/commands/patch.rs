//! `deepseek patch check|apply`: the patch engine alone, without configuration files, session or git.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use config::{AgentLoop, ApplyStrategy, Limits};
use front::error::{CliError, Kind};
use patch::{
    ApplyPlan, BaseState, PatchLimits, PatchMismatch, PatchScope, Refusal, Repair, Tolerances,
    prepare_with,
};
use serde::Serialize;
use tree::{
    ChangeSummary, CommitError, CommitLog, FileHash, Op, PathError, ReadTree, RepoPath, Settled,
    TreeError, WriteTree,
};

use crate::flags::{Global, Output};
use crate::render::{self, harmless};
use crate::surroundings::Surroundings;

/// Check or apply a diff as a model wrote it.
#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say what a diff would do, and write nothing.
    Check(Options),
    /// Apply a diff as a whole, or refuse it and write nothing.
    Apply(Options),
}

#[derive(Debug, Args)]
struct Options {
    /// Directory to change [default: the workspace].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// File with the diff, prose and fences included; standard input without one, or for `-`.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    patch: Option<PathBuf>,
    /// A path the diff may touch; without any, all inside the root.
    #[arg(long, value_name = "PATH")]
    declare: Vec<String>,
    /// File with one such path per line.
    #[arg(long, value_name = "FILE")]
    declare_from: Option<PathBuf>,
    /// Hash of a file as the author of the diff saw it.
    #[arg(long, value_name = "PATH=SHA256")]
    base: Vec<String>,
    /// JSON object of such hashes, by path.
    #[arg(long, value_name = "FILE")]
    base_from: Option<PathBuf>,
    /// Directory with the files as the author of the diff saw them, to merge changes made since.
    #[arg(long, value_name = "DIR")]
    base_dir: Option<PathBuf>,
    /// What happens to a file that changed since.
    #[arg(long, value_enum, default_value = "auto")]
    strategy: Strategy,
    /// Accept a diff of any size.
    #[arg(long)]
    no_limits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Strategy {
    /// Merge, but not where changes touch each other.
    Auto,
    /// Merge wherever there is no conflict.
    #[value(alias = "three_way")]
    ThreeWay,
}

/// A check or an application, with the flags that every command takes.
#[derive(Debug, Parser)]
struct Alone {
    #[command(flatten)]
    global: Global,
    #[command(flatten)]
    options: Options,
}

/// The command line of a check or an application, read without the grammar of all commands, which would take longer than a small
/// patch. None if it is another, or if something is wrong with it: the whole grammar says what.
pub(crate) fn given(words: &[OsString]) -> Option<(Global, PatchArgs)> {
    let [program, command, action, rest @ ..] = words else { return None };
    let action = match (command.to_str()?, action.to_str()?) {
        ("patch", "check") => Action::Check,
        ("patch", "apply") => Action::Apply,
        _ => return None,
    };
    let Alone { global, options } =
        Alone::try_parse_from([std::slice::from_ref(program), rest].concat()).ok()?;
    Some((global, PatchArgs { action: action(options) }))
}

/// What came of it: a plan, which was carried out or not, or a refusal.
type Answer = Result<(ApplyPlan, Written), Refusal>;

/// Whether the files of a plan were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Yes,
    No,
}

/// What the command answers to a program.
#[derive(Debug, Serialize)]
struct PatchReport {
    applied: bool,
    files: Vec<ChangeSummary>,
    repairs: Vec<Repair>,
    refusal: Option<Explained>,
}

/// A refusal, with the same in words.
#[derive(Debug, Serialize)]
struct Explained {
    mismatches: Vec<Mismatch>,
    /// What a model is told.
    for_model: String,
}

/// One thing that is wrong, what it means and what to do about it.
#[derive(Debug, Serialize)]
struct Mismatch {
    #[serde(flatten)]
    what: PatchMismatch,
    meaning: &'static str,
    advice: &'static str,
}

impl From<Refusal> for Explained {
    fn from(refusal: Refusal) -> Explained {
        let for_model = refusal.for_model();
        let explain = |what: PatchMismatch| {
            let (meaning, advice) = (what.reason.meaning().trim(), what.reason.advice());
            Mismatch { what, meaning, advice }
        };
        let mismatches = refusal.mismatches.into_iter().map(explain).collect();
        Explained { mismatches, for_model }
    }
}

/// What is wrong with the arguments.
#[derive(Debug, thiserror::Error)]
enum UsageError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("`{text}` is {source}")]
    Path { text: String, source: PathError },
    #[error("`{0}` is not PATH=SHA256")]
    Base(String),
    #[error("{path} is not a JSON object of hashes: {source}")]
    Json { path: String, source: serde_json::Error },
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("cannot settle what a crash left in the directory: {0}")]
    Unsettled(CommitError),
    #[error(transparent)]
    Config(#[from] config::ConfigError),
}

/// Runs the command: 0 applied, 1 refused with nothing written, 2 wrong usage.
pub(crate) fn run(around: &Surroundings, global: &Global, args: &PatchArgs) -> ExitCode {
    let (options, writes) = match &args.action {
        Action::Check(options) => (options, false),
        Action::Apply(options) => (options, true),
    };
    let answer = match attempt(around, global, options, writes) {
        Ok(answer) => answer,
        Err(error) => {
            let error = CliError::new(Kind::Usage, error.to_string());
            render::failed(global.output, &error);
            return error.code();
        }
    };
    let code = ExitCode::from(u8::from(answer.is_err()));
    let told = match global.output {
        Output::Json | Output::StreamJson => tell_json(answer),
        Output::Text => tell_text(&answer),
    };
    if let Err(error) = told {
        render::warn(&format!("error: the answer cannot be written: {error}"));
    }
    code
}

fn attempt(
    around: &Surroundings,
    global: &Global,
    options: &Options,
    writes: bool,
) -> Result<Answer, UsageError> {
    let bounds: Limits = config::defaults_of("limits")?;
    let patience = Duration::from_secs(bounds.workspace_lock_timeout_seconds);
    let log = around
        .commits()
        .map_err(|error| error.message().to_owned())
        .and_then(|dir| {
            CommitLog::at(dir.clone(), patience)
                .map_err(|error| format!("{} cannot be used: {error}", dir.display()))
        })
        .unwrap_or_else(|why| {
            render::warn(&format!(
                "note: {why}; if this is killed in mid-write nothing can mend it"
            ));
            CommitLog::none(patience)
        });
    let root = options.root.as_ref().or(global.workspace.as_ref());
    let root = root.map_or_else(|| around.cwd.clone(), |root| around.cwd.join(root));
    let writer = WriteTree::open(&root, log)?;
    for Settled { label, outcome, left } in writer.recover().map_err(UsageError::Unsettled)? {
        render::warn(&render::settled(&label, outcome, &left));
    }
    let reader = writer.reader();
    let scope = scope(options, &reader)?;
    let limits = limits(options)?;
    let from = options.file.as_deref().or(options.patch.as_deref());
    let diff = read(from.unwrap_or(Path::new("-")), limits.max_diff_bytes)?;
    let max_bytes = limits.max_file_bytes.unwrap_or(u64::MAX);
    let strategy = match options.strategy {
        Strategy::Auto => ApplyStrategy::Auto,
        Strategy::ThreeWay => ApplyStrategy::ThreeWay,
    };
    let current = |path: &RepoPath| reader.entry(path, max_bytes);
    // There is no gate at which anybody would be told what was chosen.
    let plan = prepare_with(&diff, &scope, strategy, &limits, &current, Tolerances::UNATTENDED);
    Ok(plan.and_then(|plan| match writes.then(|| writer.commit(&plan, "patch apply")) {
        None => Ok((plan, Written::No)),
        Some(Ok(_)) => Ok((plan, Written::Yes)),
        Some(Err(error)) => Err(Refusal::from(&error)),
    }))
}

/// Reads a file, or standard input; of something larger than allowed just enough to tell.
fn read(path: &Path, max_bytes: Option<usize>) -> Result<Vec<u8>, UsageError> {
    let failed = |source| UsageError::Read { path: path.display().to_string(), source };
    let most = max_bytes.map_or(u64::MAX, |max| max as u64 + 1);
    let mut bytes = Vec::new();
    let done = if path == Path::new("-") {
        io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    done.map(|_| bytes).map_err(failed)
}

fn limits(options: &Options) -> Result<PatchLimits, UsageError> {
    if options.no_limits {
        return Ok(PatchLimits::default());
    }
    let bounds: AgentLoop = config::defaults_of("agent_loop")?;
    Ok(PatchLimits {
        max_diff_bytes: Some(bounds.max_diff_bytes),
        max_file_bytes: Some(bounds.max_file_bytes),
        max_files: Some(bounds.max_files_per_iteration),
    })
}

fn scope(options: &Options, reader: &ReadTree) -> Result<PatchScope, UsageError> {
    let mut bases = BTreeMap::new();
    for text in &options.base {
        let refuse = || UsageError::Base(text.clone());
        let (path, hash) = text.rsplit_once('=').ok_or_else(refuse)?;
        bases.insert(path.to_owned(), hash.parse::<FileHash>().map_err(|_| refuse())?);
    }
    if let Some(file) = &options.base_from {
        let failed = |source| UsageError::Json { path: file.display().to_string(), source };
        bases.extend(
            serde_json::from_slice::<BTreeMap<String, FileHash>>(&read(file, None)?)
                .map_err(failed)?,
        );
    }
    let shown = options.base_dir.as_deref().map(ReadTree::open).transpose()?;
    let bases =
        bases.into_iter().filter_map(|(path, hash)| Some((RepoPath::parse(&path).ok()?, hash)));
    let bases = bases.map(|(path, hash)| (path.clone(), base(&path, hash, reader, shown.as_ref())));
    Ok(PatchScope { declared: declared(options)?, bases: bases.collect() })
}

/// The bytes of a base are only needed, and only looked for, where the file is not the same any more.
fn base(path: &RepoPath, hash: FileHash, reader: &ReadTree, shown: Option<&ReadTree>) -> BaseState {
    let file = |tree: &ReadTree| match tree.entry(path, u64::MAX) {
        Ok(tree::Entry::File(state)) => Some(state.bytes),
        _ => None,
    };
    let trees = [Some(reader), shown];
    let bytes =
        trees.into_iter().flatten().filter_map(file).find(|bytes| FileHash::of(bytes) == hash);
    BaseState::File { hash, bytes }
}

fn declared(options: &Options) -> Result<Option<BTreeSet<RepoPath>>, UsageError> {
    let parse = |text: &String| {
        RepoPath::parse(text).map_err(|source| UsageError::Path { text: text.clone(), source })
    };
    let mut declared: BTreeSet<RepoPath> =
        options.declare.iter().map(parse).collect::<Result<_, _>>()?;
    let mut any = !declared.is_empty();
    if let Some(file) = &options.declare_from {
        let text = read(file, None)?;
        let lines = String::from_utf8_lossy(&text);
        any |= !lines.trim().is_empty();
        // A line that is no path declares nothing that could be touched.
        declared.extend(lines.lines().filter_map(|line| RepoPath::parse(line).ok()));
    }
    Ok(any.then_some(declared))
}

fn tell_json(answer: Answer) -> io::Result<()> {
    let report = match answer {
        Ok((plan, written)) => {
            let (applied, summary) = (written == Written::Yes, plan.summary());
            PatchReport { applied, files: summary.files, repairs: summary.repairs, refusal: None }
        }
        Err(refusal) => PatchReport {
            applied: false,
            files: Vec::new(),
            repairs: Vec::new(),
            refusal: Some(refusal.into()),
        },
    };
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &report)?;
    writeln!(out)
}

/// Tells a person, who is not told hashes: they would take longer than the rest.
fn tell_text(answer: &Answer) -> io::Result<()> {
    let (plan, written) = match answer {
        Ok((plan, written)) => (plan, written),
        Err(refusal) => {
            // Lines of the diff and of the file are in it: neither may drive the terminal.
            let told = refusal.for_people();
            return told.lines().try_for_each(|line| writeln!(io::stderr(), "{}", harmless(line)));
        }
    };
    let mut out = BufWriter::new(io::stdout().lock());
    for change in &plan.changes {
        let (path, (added, removed)) = (&change.path, change.line_counts());
        match &change.op {
            Op::Create => writeln!(out, "create {path} +{added}")?,
            Op::Modify => writeln!(out, "modify {path} +{added} -{removed}")?,
            Op::Delete => writeln!(out, "delete {path} -{removed}")?,
            Op::Rename { from } => writeln!(out, "rename {from} {path} +{added} -{removed}")?,
        }
    }
    match (plan.changes.is_empty(), written) {
        (true, _) => writeln!(out, "nothing to change")?,
        (false, Written::Yes) => writeln!(out, "applied")?,
        (false, Written::No) => writeln!(out, "nothing was written; `patch apply` would")?,
    }
    out.flush()?;
    let mut notes = io::stderr().lock();
    plan.repairs.iter().try_for_each(|repair| writeln!(notes, "repaired {repair}"))
}
