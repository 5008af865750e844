//! How often the evidence for a real commit shows the files, and the place, that the commit changed. It is no test.
//!
//! `cargo bench -p deepseek-search --bench recall -- REPOSITORY...`, where each is a git directory with its full history:
//! the figures in `docs/adr/0020-*.md` are of BurntSushi/ripgrep, slawlor/ractor, jj-vcs/jj, Aider-AI/aider and git/git.
//!
//! The draw: of the newest 1,500 commits without merges, those that modify one to three files of source that are there
//! before, and no more than ten files in all, ordered by the hash of their id with the seed; of each repository the
//! first `COMMITS` (or `RECALL_COMMITS`). A commit is of the tuning half if the hash of its id begins with an even digit.
//! The tree and the history are those of the parent. The request is the message, its subject, or the message as in an
//! issue: without words that look like paths and without the names of the changed files.
//!
//! The seed `deepseek-recall-1` was looked at only in its sums, over both halves; `deepseek-recall-2` was drawn and
//! run once, and then tuned on in part; `deepseek-recall-3` was drawn and run once, after that. Who changes what is shown draws
//! anew.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is there to tell figures")]

mod clones;

use std::collections::BTreeMap;

use clones::{Clone, Outcome, repositories};
use deepseek_search::{self as search, EvidenceOptions, Spread, gather};
use index::{FileKind, Index};
use tree::{FileHash, RepoPath};

const SEED: &str = "deepseek-recall-3";
const NEWEST: &str = "1500";
const COMMITS: usize = 30;
const MAX_FILES: usize = 10;
const MAX_TARGETS: usize = 3;
const BUDGETS: [usize; 2] = [6000, 12_000];
/// Lines around a change within which what is shown counts as its region.
const REGION: usize = 20;

/// A commit of the draw.
struct Drawn {
    id: String,
    message: String,
    targets: Vec<RepoPath>,
}

/// Which commits count, and which of the three forms a request has.
type Key = (&'static str, &'static str);

#[derive(Default)]
struct Score {
    requests: usize,
    single: usize,
    single_in_ten: usize,
    all_in_ten: usize,
    /// By budget: all with content, any with content, region of the first change, its very lines, tokens.
    shown: [[usize; 5]; 2],
}

fn main() -> Outcome<()> {
    let most = std::env::var("RECALL_COMMITS").ok().and_then(|most| most.parse().ok());
    let mut scores: BTreeMap<Key, Score> = BTreeMap::new();
    for repository in repositories() {
        let clone = Clone::of(&repository)?;
        let drawn = draw(&clone, most.unwrap_or(COMMITS))?;
        eprintln!("{}: {} commits", repository.display(), drawn.len());
        let index = clone.index()?;
        for commit in &drawn {
            clone.check_out(&format!("{}^", commit.id))?;
            index.update(|_, _| ())?;
            for (form, request) in forms(commit) {
                measure(&clone, &index, commit, &request, |half, score| {
                    score(scores.entry((half, form)).or_default());
                })?;
            }
        }
    }
    print(&scores);
    Ok(())
}

fn measure(
    clone: &Clone,
    index: &Index,
    commit: &Drawn,
    request: &str,
    mut into: impl FnMut(&'static str, &mut dyn FnMut(&mut Score)),
) -> Outcome<()> {
    let (files, _) = index.files();
    let ranking = index.rank(request, &files);
    let rank = |path: &RepoPath| ranking.files.iter().position(|file| file.path == *path);
    let in_ten = |path: &RepoPath| rank(path).is_some_and(|rank| rank < 10);
    let first = commit.targets.first().ok_or("no target")?;
    let range = first_change(clone, &commit.id, first)?;
    let gathered = BUDGETS.map(|tokens| {
        gather(request, index, &EvidenceOptions { tokens, spread: Spread::Wide }, &[])
    });
    let even = |c: char| c.to_digit(16).is_some_and(|digit| digit % 2 == 0);
    let hash = FileHash::of(commit.id.as_bytes()).to_string();
    let half = if hash.starts_with(even) { "tuning" } else { "held out" };
    let mut add = |score: &mut Score| {
        score.requests += 1;
        score.single += usize::from(commit.targets.len() == 1);
        score.single_in_ten += usize::from(commit.targets.len() == 1 && in_ten(first));
        score.all_in_ten += usize::from(commit.targets.iter().all(in_ten));
        for (evidence, shown) in gathered.iter().zip(&mut score.shown) {
            let content = |path: &RepoPath| evidence.items.iter().any(|item| item.path == *path);
            let near = |more: usize| {
                evidence.items.iter().any(|item| {
                    item.path == *first
                        && item.first_line <= range.1 + more
                        && item.last_line + more >= range.0
                })
            };
            let rendered = search::render(evidence, &search::Titles::default());
            let counts = [
                usize::from(commit.targets.iter().all(content)),
                usize::from(commit.targets.iter().any(content)),
                usize::from(near(REGION)),
                usize::from(near(0)),
                search::estimate_tokens(&rendered),
            ];
            for (sum, count) in shown.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    };
    into(half, &mut add);
    into("both", &mut add);
    Ok(())
}

fn print(scores: &BTreeMap<Key, Score>) {
    println!(
        "half     form     requests  single10 all10 |  6k: all any region lines tokens | 12k: all any region lines tokens"
    );
    for ((half, form), score) in scores {
        let percent =
            |part: usize, of: usize| (100 * part + of / 2).checked_div(of).unwrap_or_default();
        let mut line = format!(
            "{half:8} {form:8} {:8}  {:8} {:5}",
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

/// The first and the last line that the commit changes first in the file, by the numbers before it.
fn first_change(clone: &Clone, id: &str, path: &RepoPath) -> Outcome<(usize, usize)> {
    let diff =
        clone.git(&["diff", "-U0", "--no-color", &format!("{id}^"), id, "--", path.as_str()])?;
    let header = diff.lines().find_map(|line| line.strip_prefix("@@ -")).ok_or("no hunk")?;
    let old = header.split(' ').next().unwrap_or_default();
    let (first, count) = old.split_once(',').unwrap_or((old, "1"));
    let (first, count): (usize, usize) = (first.parse()?, count.parse()?);
    Ok((first, first + count.max(1) - 1))
}
