//! Counts how often engines are correct, and how often they write what they must not: ours, `git apply` and GNU patch
//! on the same cases.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::corpus::{Case, Corpus, Expect};
use crate::engine;
use crate::sandbox::{Sandbox, files};

const GROUPS: [&str; 4] = ["real-commits", "llm-style", "threeway", "hostile"];
const ENGINES: [Engine; 3] = [Engine::Ours, Engine::Git, Engine::Gnu];
/// A process that takes longer, for example one that reads from a FIFO, has failed.
const LIMIT: [&str; 2] = ["timeout", "20"];
const GIT: [&str; 3] = ["git", "apply", "--whitespace=nowarn"];
/// Writes all or nothing, because a dry run comes first; the patch argument follows.
const GNU: [&str; 8] = [
    "patch",
    "-p1",
    "--batch",
    "--forward",
    "--no-backup-if-mismatch",
    "--reject-file=-",
    "-s",
    "-i",
];
const BEGIN: &str = "<!-- corpus -->\n";
const END: &str = "<!-- end -->";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    Ours,
    Git,
    Gnu,
}

/// The outcome that an engine reports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Applied,
    Refused,
    /// No report: the engine crashed or had to be stopped.
    Nothing,
}

/// The results of some cases.
#[derive(Clone, Copy, Default)]
struct Tally {
    cases: u32,
    /// Cases that ended as expected.
    right: u32,
    /// Wrong writes: any tree but the expected one or the old one, or a write that had to be refused.
    unsafe_writes: u32,
}

/// Tallies by group and name, one per engine.
type Table = BTreeMap<(usize, String), [Tally; 3]>;

/// Runs everything in `dir` and writes the figures into the page.
pub(crate) fn document(dir: &Path, page: &Path) {
    let corpus = Corpus::read(dir, &GROUPS);
    let tables = Mutex::new([Table::new(), Table::new()]);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = corpus.cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tallies = ENGINES.map(|engine| judge(&corpus, case, engine));
                    let mut tables = tables.lock().unwrap();
                    add(&mut tables[0], row(case), tallies);
                    add(&mut tables[1], (0, format!("`{}`", case.kind)), tallies);
                }
            });
        }
    });
    let [by_row, by_kind] = tables.into_inner().unwrap();
    let text = render(&by_row, &by_kind);
    println!("{text}");
    let old = fs::read_to_string(page).unwrap();
    let (before, rest) = old.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    fs::write(page, format!("{before}{BEGIN}{text}{END}{after}")).unwrap();
}

fn add(table: &mut Table, row: (usize, String), tallies: [Tally; 3]) {
    for (sum, tally) in table.entry(row).or_default().iter_mut().zip(tallies) {
        sum.cases += tally.cases;
        sum.right += tally.right;
        sum.unsafe_writes += tally.unsafe_writes;
    }
}

/// Returns the row of the first table that a case belongs to.
fn row(case: &Case) -> (usize, String) {
    let rank = GROUPS.iter().position(|group| *group == case.corpus).unwrap();
    let due = match case.expect {
        Expect::Exact => "to be applied",
        Expect::ExactOrRefuse => "to be applied or refused",
        Expect::Refuse => "to be refused",
        Expect::Unchanged => "already applied",
    };
    let name = match rank {
        0 => format!("real commits, `-{}`", case.kind.trim_start_matches("real-")),
        1 => format!("damaged as models do, {due}"),
        2 => format!("file changed in the meantime, {due}"),
        _ => "hostile".to_owned(),
    };
    (rank, name)
}

/// Runs one case with one engine, in its own sandbox.
fn judge(corpus: &Corpus, case: &Case, engine: Engine) -> Tally {
    let sandbox = Sandbox::lay_out(&std::env::temp_dir(), corpus, case);
    let before = sandbox.look();
    let said = match engine {
        Engine::Ours => ours(corpus, case, &sandbox),
        Engine::Git => said(sandbox.run(&[&LIMIT[..], &GIT].concat())),
        Engine::Gnu => {
            let dry_run = [&LIMIT[..], &GNU[..1], &["--dry-run"], &GNU[1..]].concat();
            match said(sandbox.run(&dry_run)) {
                Said::Applied => said(sandbox.run(&[&LIMIT[..], &GNU].concat())),
                refused @ (Said::Refused | Said::Nothing) => refused,
            }
        }
    };
    let after = sandbox.look();
    let as_was = after == before;
    let as_wanted = case
        .post
        .as_ref()
        .is_some_and(|post| files(&after) == sandbox.wanted(&before, corpus, post));
    let applied = as_wanted && said == Said::Applied;
    let refused = as_was && said == Said::Refused;
    let right = match case.expect {
        Expect::Exact => applied,
        Expect::ExactOrRefuse => applied || refused,
        Expect::Refuse => refused,
        Expect::Unchanged => said != Said::Nothing && (as_was || as_wanted),
    };
    let allowed = match case.expect {
        Expect::Exact | Expect::ExactOrRefuse => applied,
        Expect::Refuse => false,
        Expect::Unchanged => as_wanted,
    };
    let unsafe_write = !as_was && !allowed;
    if engine == Engine::Ours && (unsafe_write || !right) {
        println!("{}{}", if unsafe_write { "WRONG WRITE " } else { "" }, case.id);
    }
    Tally { cases: 1, right: right.into(), unsafe_writes: unsafe_write.into() }
}

fn said(status: ExitStatus) -> Said {
    match status.code() {
        Some(0) => Said::Applied,
        Some(1 | 2 | 128) => Said::Refused,
        Some(_) | None => Said::Nothing,
    }
}

fn ours(corpus: &Corpus, case: &Case, sandbox: &Sandbox) -> Said {
    let patch = sandbox.text(&case.patch);
    let done = engine::apply(sandbox, patch.as_bytes(), &engine::scope(corpus, case));
    if done { Said::Applied } else { Said::Refused }
}

fn render(by_row: &Table, by_kind: &Table) -> String {
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output().unwrap().stdout;
        String::from_utf8(output).unwrap().lines().next().unwrap_or_default().to_owned()
    };
    let (git, gnu) = (version("git"), version("patch"));
    let head = |what: &str| {
        format!("| {what} | cases | `deepseek` | {git} | {gnu} |\n|---|---:|---:|---:|---:|\n")
    };
    let line = |((_, name), tallies): (&(usize, String), &[Tally; 3])| {
        let [ours, git, gnu] = tallies.map(cell);
        format!("| {name} | {} | {ours} | {git} | {gnu} |\n", tallies[0].cases)
    };
    let mut text = head("corpus");
    text.extend(by_row.iter().map(line));
    let (whole, short): (Vec<_>, Vec<_>) =
        by_kind.iter().partition(|(_, tallies)| tallies[0].right == tallies[0].cases);
    text += &format!(
        "\nOf {} kinds of cases, {} end as expected in every case. The others:\n\n",
        by_kind.len(),
        whole.len()
    );
    text += &head("kind");
    text.extend(short.into_iter().map(line));
    text
}

/// Formats cases that ended as expected, and wrong writes. Nothing is rounded up to 100 %.
fn cell(tally: Tally) -> String {
    let percent = (f64::from(tally.right) * 1e4 / f64::from(tally.cases)).floor() / 100.0;
    format!("{percent} % / {}", tally.unsafe_writes)
}
