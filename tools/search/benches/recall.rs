//! Measures how often the evidence for a real commit shows the files, and the place, that the commit changed. It is not
//! a test.
//!
//! `cargo bench -p deepseek-search --bench recall -- REPOSITORY...`, where each is a git directory with its full
//! history. The figures in `docs/adr/0020-*.md` are for BurntSushi/ripgrep, slawlor/ractor, jj-vcs/jj, Aider-AI/aider
//! and git/git.
//!
//! The sample: of the newest 1,500 commits without merges, those that modify one to three existing source files and at
//! most ten files overall, ordered by the hash of their id with the seed; from each repository the first `COMMITS` (or
//! `RECALL_COMMITS`). A commit is in the tuning half if the hash of its id begins with an even digit. The tree and the
//! history are those of its parent. The request is the message, its subject, or the message as in an issue: without
//! words that look like paths and without the names of the changed files.
//!
//! The baseline is plain BM25 over whole files: see `plain`.
//!
//! Weights are chosen on commits of the tuning half only, sampled with separate seeds. `deepseek-recall-1` and `-2`
//! were inspected and partly tuned on; `-3` and `-4` were sampled and run once each, after the last change to what is
//! shown.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark reports by printing")]

mod clones;
mod indexed;
mod plain;

use std::collections::BTreeMap;

use clones::{Clone, Outcome, repositories};
use deepseek_search::{self as search, EvidenceOptions, Spread, gather};
use index::{FileKind, Index};
use plain::Plain;
use tree::{FileHash, RepoPath};

const SEED: &str = "deepseek-recall-4";
const NEWEST: &str = "1500";
const COMMITS: usize = 38;
const MAX_FILES: usize = 10;
const MAX_TARGETS: usize = 3;
const BUDGETS: [usize; 2] = [6000, 12_000];
/// Lines within this distance of a change count as its region.
const REGION: usize = 20;

/// A commit of the sample.
struct Drawn {
    id: String,
    message: String,
    targets: Vec<RepoPath>,
}

/// The half that a commit is in, the form of its request, and the system that answered.
type Key = (&'static str, &'static str, &'static str);

/// The answer to a request.
struct Answer {
    /// The related files, best first.
    order: Vec<RepoPath>,
    /// By budget: the lines shown, and how many tokens they have.
    shown: [(Vec<Shown>, usize); 2],
}

/// Shown lines of a file.
struct Shown {
    path: RepoPath,
    first: usize,
    last: usize,
}

#[derive(Default)]
struct Score {
    requests: usize,
    single: usize,
    single_in_ten: usize,
    all_in_ten: usize,
    /// By budget: all changed files shown, any of them shown, region of the first change shown, its exact lines shown,
    /// tokens.
    shown: [[usize; 5]; 2],
}

fn main() -> Outcome<()> {
    let most = std::env::var("RECALL_COMMITS").ok().and_then(|most| most.parse().ok());
    let mut scores: BTreeMap<Key, Score> = BTreeMap::new();
    for repository in repositories() {
        let clone = Clone::of(&repository)?;
        let drawn = draw(&clone, most.unwrap_or(COMMITS))?;
        eprintln!("{}: {} commits", repository.display(), drawn.len());
        let index = indexed::index(&clone)?;
        for commit in &drawn {
            clone.check_out(&format!("{}^", commit.id))?;
            index.update(|_, _| ())?;
            let (files, _) = index.files();
            let plain = Plain::of(&clone.tree, &files);
            let first = commit.targets.first().ok_or("no target")?;
            let range = first_change(&clone, &commit.id, first)?;
            for (form, request) in forms(commit) {
                let answers =
                    [("ours", answer(&index, &request)), ("bm25", plain.answer(&request))];
                for (system, answer) in answers {
                    for half in [half(commit), "both"] {
                        scores.entry((half, form, system)).or_default().add(&answer, commit, range);
                    }
                }
            }
        }
    }
    print(&scores);
    Ok(())
}

fn half(commit: &Drawn) -> &'static str {
    let even = |c: char| c.to_digit(16).is_some_and(|digit| digit % 2 == 0);
    let hash = FileHash::of(commit.id.as_bytes()).to_string();
    if hash.starts_with(even) { "tuning" } else { "held out" }
}

/// Returns the answer from our evidence.
fn answer(index: &Index, request: &str) -> Answer {
    let (files, _) = index.files();
    let order = index.rank(request, &files).files.into_iter().map(|file| file.path).collect();
    let shown = BUDGETS.map(|tokens| {
        let options = EvidenceOptions { tokens, instruction_tokens: 16_000, spread: Spread::Wide };
        let evidence = gather(request, index, &options, &[]);
        let tokens =
            search::estimate_tokens(&search::render(&evidence, &search::Titles::default()));
        let shown = evidence.items.into_iter().map(|item| Shown {
            path: item.path,
            first: item.first_line,
            last: item.last_line,
        });
        (shown.collect(), tokens)
    });
    Answer { order, shown }
}

impl Score {
    /// Adds the answer for a commit whose first change is in `range`.
    fn add(&mut self, answer: &Answer, commit: &Drawn, range: (usize, usize)) {
        let in_ten = |path: &RepoPath| answer.order.iter().take(10).any(|found| found == path);
        let (all, one) = (commit.targets.iter().all(in_ten), commit.targets.len() == 1);
        self.requests += 1;
        self.single += usize::from(one);
        self.single_in_ten += usize::from(one && all);
        self.all_in_ten += usize::from(all);
        for ((items, tokens), sums) in answer.shown.iter().zip(&mut self.shown) {
            let content = |path: &RepoPath| items.iter().any(|item| item.path == *path);
            let near = |more: usize| {
                items.iter().any(|item| {
                    commit.targets.first() == Some(&item.path)
                        && item.first <= range.1 + more
                        && item.last + more >= range.0
                })
            };
            let counts = [
                usize::from(commit.targets.iter().all(content)),
                usize::from(commit.targets.iter().any(content)),
                usize::from(near(REGION)),
                usize::from(near(0)),
                *tokens,
            ];
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }
}

fn print(scores: &BTreeMap<Key, Score>) {
    println!(
        "half     form      what requests  single10 all10 |  6k: all any region lines tokens | 12k: all any region lines tokens"
    );
    for ((half, form, system), score) in scores {
        let percent =
            |part: usize, of: usize| (100 * part + of / 2).checked_div(of).unwrap_or_default();
        let mut line = format!(
            "{half:8} {form:9} {system} {:8}  {:8} {:5}",
            score.requests,
            percent(score.single_in_ten, score.single),
            percent(score.all_in_ten, score.requests),
        );
        for [all, any, region, lines, tokens] in score.shown {
            let [all, any, region, lines] =
                [all, any, region, lines].map(|n| percent(n, score.requests));
            let tokens = tokens.checked_div(score.requests).unwrap_or_default();
            line.push_str(&format!(" |      {all:3} {any:3} {region:6} {lines:5} {tokens:6}"));
        }
        println!("{line}");
    }
}

fn draw(clone: &Clone, most: usize) -> Outcome<Vec<Drawn>> {
    let ids = clone.git(&["log", "--no-merges", "--format=%H", "-n", NEWEST])?;
    let mut ids: Vec<&str> = ids.lines().collect();
    let newest_first: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.sort_by_key(|id| FileHash::of(format!("{SEED}{id}").as_bytes()));
    let mut drawn = Vec::new();
    for id in ids {
        if drawn.len() == most {
            break;
        }
        let changes = clone.git(&[
            "diff-tree",
            "-r",
            "--no-renames",
            "--name-status",
            "-z",
            &format!("{id}^"),
            id,
        ]);
        let Ok(changes) = changes else { continue };
        let fields: Vec<&str> = changes.split('\0').collect();
        let (pairs, _) = fields.as_chunks::<2>();
        let paths = pairs.iter().filter(|[status, _]| *status == "M");
        let paths = paths.filter_map(|[_, path]| RepoPath::parse(path).ok());
        let targets: Vec<RepoPath> =
            paths.filter(|path| FileKind::of(path) == FileKind::Source).collect();
        if (1..=MAX_TARGETS).contains(&targets.len()) && pairs.len() <= MAX_FILES {
            let message = clone.git(&["log", "-1", "--format=%B", id])?;
            drawn.push(Drawn { id: id.to_owned(), message, targets });
        }
    }
    drawn.sort_by_key(|commit| newest_first.iter().position(|id| *id == commit.id));
    Ok(drawn)
}

fn forms(commit: &Drawn) -> [(&'static str, String); 3] {
    let is_trailer =
        |line: &&str| line.split_once(": ").is_some_and(|(key, _)| key.ends_with("-by"));
    let full: Vec<&str> = commit.message.lines().filter(|line| !is_trailer(line)).collect();
    let full = full.join("\n");
    let subject = full.lines().next().unwrap_or_default().to_owned();
    let names: Vec<String> = commit
        .targets
        .iter()
        .flat_map(|path| {
            let stem = path.name().split('.').next().unwrap_or_default();
            [path.name().to_lowercase(), stem.to_lowercase()]
        })
        .collect();
    let is_free = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        !bare.contains('/') && !bare.contains('.') && !names.contains(&bare)
    };
    let issue = full
        .lines()
        .map(|line| line.split(' ').filter(is_free).collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n");
    [("1 full", full), ("2 subject", subject), ("3 issue", issue)]
}

/// Returns the first and last line of the commit's first change in the file, as numbered before the commit.
fn first_change(clone: &Clone, id: &str, path: &RepoPath) -> Outcome<(usize, usize)> {
    let diff =
        clone.git(&["diff", "-U0", "--no-color", &format!("{id}^"), id, "--", path.as_str()])?;
    let header = diff.lines().find_map(|line| line.strip_prefix("@@ -")).ok_or("no hunk")?;
    let old = header.split(' ').next().unwrap_or_default();
    let (first, count) = old.split_once(',').unwrap_or((old, "1"));
    let (first, count): (usize, usize) = (first.parse()?, count.parse()?);
    Ok((first, first + count.max(1) - 1))
}
