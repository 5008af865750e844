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
const BUDGETS: [usize; 3] = [1800, 3500, 6000];

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
    /// By budget: the lines shown, the files named, and how many tokens they have.
    shown: [(Vec<Shown>, Vec<RepoPath>, usize); BUDGETS.len()],
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
    /// By budget: all changed files shown, all of them shown or named, any changed lines shown, the first changed lines
    /// shown, changes in a function, those whose whole function is shown, files shown, tokens.
    shown: [[usize; 8]; BUDGETS.len()],
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
            let changes = changes(&clone, &commit.id, &commit.targets)?;
            let functions = changes
                .iter()
                .map(|(path, first, last)| function_around(&clone, path, (*first, *last)));
            let functions: Vec<Option<(usize, usize)>> = functions.collect();
            for (form, request) in forms(commit) {
                let answers =
                    [("ours", answer(&index, &request)), ("bm25", plain.answer(&request))];
                for (system, answer) in answers {
                    for half in [half(commit), "both"] {
                        scores
                            .entry((half, form, system))
                            .or_default()
                            .add(&answer, commit, &changes, &functions);
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
        let options = EvidenceOptions {
            tokens,
            instruction_tokens: 16_000,
            small_tree_tokens: 5000,
            spread: Spread::Whole,
        };
        let evidence = gather(request, index, &options, &[]);
        let tokens =
            search::estimate_tokens(&search::render(&evidence, &search::Titles::default()));
        let named = evidence.map.into_iter().map(|line| line.path).collect();
        let shown = evidence.items.into_iter().map(|item| Shown {
            path: item.path,
            first: item.first_line,
            last: item.last_line,
        });
        (shown.collect(), named, tokens)
    });
    Answer { order, shown }
}

impl Score {
    /// Adds the answer for a commit with these changes, each with the function around it.
    fn add(
        &mut self,
        answer: &Answer,
        commit: &Drawn,
        changes: &[(RepoPath, usize, usize)],
        functions: &[Option<(usize, usize)>],
    ) {
        let in_ten = |path: &RepoPath| answer.order.iter().take(10).any(|found| found == path);
        let (all, one) = (commit.targets.iter().all(in_ten), commit.targets.len() == 1);
        self.requests += 1;
        self.single += usize::from(one);
        self.single_in_ten += usize::from(one && all);
        self.all_in_ten += usize::from(all);
        for ((items, named, tokens), sums) in answer.shown.iter().zip(&mut self.shown) {
            let content = |path: &RepoPath| items.iter().any(|item| item.path == *path);
            let listed = |path: &RepoPath| content(path) || named.contains(path);
            let has = |path: &RepoPath, first: usize, last: usize, whole: bool| {
                items.iter().filter(|item| item.path == *path).any(|item| {
                    if whole {
                        item.first <= first && last <= item.last
                    } else {
                        item.first <= last && first <= item.last
                    }
                })
            };
            let is_shown =
                |(path, first, last): &(RepoPath, usize, usize)| has(path, *first, *last, false);
            let whole = changes.iter().zip(functions).filter_map(|((path, ..), function)| {
                function.map(|(first, last)| has(path, first, last, true))
            });
            let whole: Vec<bool> = whole.collect();
            let paths: std::collections::BTreeSet<&RepoPath> =
                items.iter().map(|item| &item.path).collect();
            let counts = [
                usize::from(commit.targets.iter().all(content)),
                usize::from(commit.targets.iter().all(listed)),
                usize::from(changes.iter().any(is_shown)),
                usize::from(changes.first().is_some_and(is_shown)),
                whole.len(),
                whole.iter().filter(|it| **it).count(),
                paths.len(),
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
        "half     form      what requests  single10 all10 | by budget: all listed any-change first-change function files tokens"
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
        for [all, listed, any, first, functions, whole, files, tokens] in score.shown {
            let [all, listed, any, first] =
                [all, listed, any, first].map(|n| percent(n, score.requests));
            let whole = percent(whole, functions);
            let tenths = 10 * files / score.requests.max(1);
            let tokens = tokens / score.requests.max(1);
            line.push_str(&format!(
                " | {all:3} {listed:3} {any:3} {first:3} {whole:3} {}.{} {tokens:5}",
                tenths / 10,
                tenths % 10,
            ));
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

/// Returns the first and last lines of the changes to the files, as numbered before the commit.
fn changes(clone: &Clone, id: &str, paths: &[RepoPath]) -> Outcome<Vec<(RepoPath, usize, usize)>> {
    let mut changes = Vec::new();
    for path in paths {
        let diff = clone.git(&[
            "diff",
            "-U0",
            "--no-color",
            &format!("{id}^"),
            id,
            "--",
            path.as_str(),
        ])?;
        for header in diff.lines().filter_map(|line| line.strip_prefix("@@ -")) {
            let old = header.split(' ').next().unwrap_or_default();
            let (first, count) = old.split_once(',').unwrap_or((old, "1"));
            let (first, count): (usize, usize) = (first.parse()?, count.parse()?);
            changes.push((path.clone(), first.max(1), (first + count.max(1) - 1).max(1)));
        }
    }
    Ok(changes)
}

/// Returns the smallest definition around the lines that has several lines, if there is one.
fn function_around(
    clone: &Clone,
    path: &RepoPath,
    (first, last): (usize, usize),
) -> Option<(usize, usize)> {
    let text = std::fs::read_to_string(clone.tree.join(path.as_str())).ok()?;
    let definitions = index::definitions_of_file(path, &text).into_iter();
    let ranges = definitions.map(|it| (it.first as usize, it.last as usize));
    let around = ranges.filter(|(from, to)| *from <= first && last <= *to && to - from > 1);
    around.min_by_key(|(from, to)| to - from)
}
