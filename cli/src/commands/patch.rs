//! `deepseek patch check|apply`: the patch engine alone, without configuration files, session or git.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use clap::{Args, Parser, Subcommand, ValueEnum};
use config::{AgentLoop, ApplyStrategy, Limits};
use front::error::{CliError, CliErrorKind};
use patch::{
    ApplyPlan, BaseState, PatchLimits, PatchMismatch, PatchScope, PlanSummary, Refusal, Repair,
    Tolerances, prepare_with,
};
use serde::Serialize;
use tree::{
    ChangeSummary, CommitError, CommitLog, FileHash, Op, PathError, ReadTree, RepoPath, Settled,
    TreeError, WriteTree,
};

use crate::flags::{Global, OutputFormat};
use crate::render::{self, harmless};
use crate::surroundings::Surroundings;

/// Check or apply a diff with the patch engine alone, without a model.
#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show what a diff would do without writing anything.
    Check(Options),
    /// Apply a whole diff, or refuse it and write nothing.
    Apply(Options),
}

#[derive(Debug, Args)]
struct Options {
    /// The directory to change [default: the workspace, if given, or the current directory].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The file with the diff, which may contain prose and fences [default: standard input, also for `-`].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Same as FILE.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    patch: Option<PathBuf>,
    /// A path that the diff may touch; can be repeated [default: any path inside the root].
    #[arg(long, value_name = "PATH")]
    declare: Vec<String>,
    /// A file with one such path per line.
    #[arg(long, value_name = "FILE")]
    declare_from: Option<PathBuf>,
    /// The hash of a file as the diff's author saw it; can be repeated.
    #[arg(long, value_name = "PATH=SHA256")]
    base: Vec<String>,
    /// A JSON object of such hashes, by path.
    #[arg(long, value_name = "FILE")]
    base_from: Option<PathBuf>,
    /// A directory with the files as the diff's author saw them, to merge what has changed since.
    #[arg(long, value_name = "DIR")]
    base_dir: Option<PathBuf>,
    /// How to treat a file that has changed since.
    #[arg(long, value_enum, default_value = "auto")]
    strategy: Strategy,
    /// Accept a diff of any size.
    #[arg(long)]
    no_limits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Strategy {
    /// Merge changes that are at least a line apart.
    Auto,
    /// Merge also where lines next to each other are replaced.
    #[value(alias = "three_way")]
    ThreeWay,
}

/// The arguments of `patch check` and `patch apply`, with the global flags.
#[derive(Debug, Parser)]
struct Alone {
    #[command(flatten)]
    global: Global,
    #[command(flatten)]
    options: Options,
}

/// Parses `patch check` and `patch apply` without the grammar of all commands, which would take longer than a small patch.
/// Returns `None` for other or invalid command lines, which the full grammar handles.
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

/// A plan, written or not, or a refusal.
type Answer = Result<(ApplyPlan, Written), Refusal>;

/// Whether a plan was written to the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Yes,
    No,
}

/// The JSON output.
#[derive(Debug, Serialize)]
struct PatchReport {
    applied: bool,
    files: Vec<ChangeSummary>,
    repairs: Vec<Repair>,
    /// The text outside of the diff, if there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
    refusal: Option<Explained>,
}

/// A refusal with explanations.
#[derive(Debug, Serialize)]
struct Explained {
    mismatches: Vec<Mismatch>,
    /// The text that a model would get.
    for_model: String,
}

/// A reason for the refusal, what it means and how to fix it.
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

/// An error in the arguments or their files.
#[derive(Debug, thiserror::Error)]
enum UsageError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("`{text}`: {source}")]
    Path { text: String, source: PathError },
    #[error("`{0}` is not PATH=SHA256")]
    Base(String),
    #[error("{path} is not a JSON object of hashes: {source}")]
    Json { path: String, source: serde_json::Error },
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("cannot recover an interrupted commit in this directory: {0}")]
    Unsettled(CommitError),
    #[error(transparent)]
    Config(#[from] config::ConfigError),
}

/// Runs the command. Exits with 0 if the diff applies, 1 if it is refused and nothing was written, 2 on wrong usage.
pub(crate) fn run(around: &Surroundings, global: &Global, args: &PatchArgs) -> ExitCode {
    let (options, writes) = match &args.action {
        Action::Check(options) => (options, false),
        Action::Apply(options) => (options, true),
    };
    let answer = match attempt(around, global, options, writes) {
        Ok(answer) => answer,
        Err(error) => {
            let error = CliError::new(CliErrorKind::Usage, error.to_string());
            render::print_failure(global.output, &error);
            return error.code();
        }
    };
    let code = ExitCode::from(u8::from(answer.is_err()));
    let told = match global.output {
        OutputFormat::Json | OutputFormat::StreamJson => tell_json(answer),
        OutputFormat::Text => tell_text(&answer),
    };
    if let Err(error) = told {
        render::warn(&format!("error: cannot write the answer: {error}"));
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
                "note: {why}; if this process is killed while writing, the change cannot be recovered"
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
    let limits = limits(options)?;
    let from = options.file.as_deref().or(options.patch.as_deref());
    let diff = read(from.unwrap_or(Path::new("-")), limits.max_diff_bytes)?;
    let scope = scope(options, &reader, &diff)?;
    let max_bytes = limits.max_file_bytes.unwrap_or(u64::MAX);
    let strategy = match options.strategy {
        Strategy::Auto => ApplyStrategy::Auto,
        Strategy::ThreeWay => ApplyStrategy::ThreeWay,
    };
    let current = |path: &RepoPath| reader.entry(path, max_bytes);
    // There is no approval gate that could show which interpretation was chosen.
    let plan = prepare_with(&diff, &scope, strategy, &limits, &current, Tolerances::UNATTENDED);
    Ok(plan.and_then(|plan| match writes.then(|| writer.commit(&plan, "patch apply")) {
        None => Ok((plan, Written::No)),
        Some(Ok(_)) => Ok((plan, Written::Yes)),
        Some(Err(error)) => Err(Refusal::from(&error)),
    }))
}

/// Reads a file, or standard input for `-`. Reads at most one byte more than the limit, which is enough to detect an excess.
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

fn scope(options: &Options, reader: &ReadTree, diff: &[u8]) -> Result<PatchScope, UsageError> {
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
    let mut bases: BTreeMap<_, _> = bases.collect();
    for path in shown.iter().flat_map(|shown| named_files(shown, diff)) {
        if let (false, Some(bytes)) =
            (bases.contains_key(&path), shown.as_ref().and_then(|shown| file(shown, &path)))
        {
            bases.insert(path, BaseState::of(bytes));
        }
    }
    Ok(PatchScope { declared: declared(options)?, bases })
}

/// Returns the files of a directory whose names occur in the diff.
fn named_files(dir: &ReadTree, diff: &[u8]) -> Vec<RepoPath> {
    let (mut named, mut open) = (Vec::new(), vec![None]);
    while let Some(at) = open.pop() {
        for name in dir.names(at.as_ref(), usize::MAX) {
            let path = at.as_ref().map_or_else(|| name.clone(), |at| format!("{at}/{name}"));
            let Ok(path) = RepoPath::parse(&path) else { continue };
            if dir.names(Some(&path), usize::MAX).is_empty() {
                let occurs = diff.windows(name.len()).any(|text| text == name.as_bytes());
                named.extend(occurs.then_some(path));
            } else {
                open.push(Some(path));
            }
        }
    }
    named
}

fn file(tree: &ReadTree, path: &RepoPath) -> Option<Bytes> {
    match tree.entry(path, u64::MAX) {
        Ok(tree::Entry::File(state)) => Some(state.bytes),
        _ => None,
    }
}

/// Finds the contents of a base by its hash, in the root or in the directory given with `--base-dir`.
fn base(path: &RepoPath, hash: FileHash, reader: &ReadTree, shown: Option<&ReadTree>) -> BaseState {
    let trees = [Some(reader), shown].into_iter().flatten();
    let bytes = trees.filter_map(|tree| file(tree, path)).find(|bytes| FileHash::of(bytes) == hash);
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
        // An invalid path cannot be touched by a diff, so its line is skipped.
        declared.extend(lines.lines().filter_map(|line| RepoPath::parse(line).ok()));
    }
    Ok(any.then_some(declared))
}

fn tell_json(answer: Answer) -> io::Result<()> {
    let report = match answer {
        Ok((plan, written)) => {
            let (applied, summary) = (written == Written::Yes, plan.summary());
            let PlanSummary { files, repairs, remark, .. } = summary;
            PatchReport { applied, files, repairs, remark, refusal: None }
        }
        Err(refusal) => PatchReport {
            applied: false,
            files: Vec::new(),
            repairs: Vec::new(),
            remark: None,
            refusal: Some(refusal.into()),
        },
    };
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &report)?;
    writeln!(out)
}

/// Prints the answer for people, without hashes: computing them would take longer than the rest.
fn tell_text(answer: &Answer) -> io::Result<()> {
    let (plan, written) = match answer {
        Ok((plan, written)) => (plan, written),
        Err(refusal) => {
            // It quotes the diff and the file, which may contain terminal escape sequences.
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
        (false, Written::No) => {
            writeln!(out, "nothing was written; `patch apply` would write this")?;
        }
    }
    out.flush()?;
    let mut notes = io::stderr().lock();
    plan.repairs.iter().try_for_each(|repair| writeln!(notes, "repaired {repair}"))?;
    let Some(remark) = &plan.remark else { return Ok(()) };
    writeln!(notes, "not part of the diff:")?;
    remark.lines().try_for_each(|line| writeln!(notes, "  {}", harmless(line)))
}
