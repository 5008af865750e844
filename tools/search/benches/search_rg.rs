//! Compares the time of `fs.search_rg` with that of a ripgrep process for the same patterns, in turns.
//!
//! `cargo bench -p deepseek-search --bench search_rg -- REPOSITORY...`, where each is a git directory with some
//! history, and `rg` is installed. Patterns are words from the messages of the newest commits, alone and combined into
//! expressions.

#![expect(clippy::print_stdout, reason = "a benchmark reports by printing")]
#![expect(clippy::disallowed_methods, reason = "ripgrep runs for comparison")]

mod clones;

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clones::{Clone, Outcome, repositories};
use deepseek_search::{LookError, VisibleTree};
use tree::ReadTree;

const PATTERNS: usize = 60;
/// Maximum size of the returned matches, in bytes.
const ROOM: usize = 16_000;
/// Maximum number of matches per file for ripgrep.
const PER_FILE: &str = "21";

fn main() -> Outcome<()> {
    for repository in repositories() {
        let clone = Clone::of(&repository)?;
        clone.check_out("HEAD")?;
        let messages = clone.git(&["log", "--no-merges", "--format=%s", "-n", "400"])?;
        let patterns = patterns(&messages);
        let tree = ReadTree::open(&clone.tree)?;
        let (mut ours, mut theirs, mut found) = (Vec::new(), Vec::new(), 0);
        for pattern in &patterns {
            let began = Instant::now();
            let matches =
                VisibleTree::new(&tree, 200_000, &|_| Ok(())).matches(pattern, None, ROOM);
            ours.push(began.elapsed());
            found += usize::from(!matches!(black_box(matches), Err(LookError::NoMatch(_))));
            let began = Instant::now();
            ripgrep(&clone.tree, pattern)?;
            theirs.push(began.elapsed());
        }
        println!("{}: {} patterns, {found} of them found", repository.display(), patterns.len());
        let (ours, theirs) = (Percentiles::of(ours), Percentiles::of(theirs));
        println!("  fs.search_rg  p50 {:.1} ms, p95 {:.1} ms", ours.middle, ours.high);
        println!("  rg            p50 {:.1} ms, p95 {:.1} ms", theirs.middle, theirs.high);
        println!("  ratio of p95  {:.2} (at most 1)", ours.high / theirs.high);
    }
    Ok(())
}

fn ripgrep(directory: &Path, pattern: &str) -> Outcome<()> {
    let arguments = ["--no-config", "--line-number", "--max-count", PER_FILE, "--regexp", pattern];
    let mut command = Command::new("rg");
    let status = command.args(arguments).arg(".").current_dir(directory).stdout(Stdio::null());
    status.status().map_err(|error| format!("rg: {error}"))?;
    Ok(())
}

/// Returns words, names, and expressions made of two words.
fn patterns(messages: &str) -> Vec<String> {
    let words: Vec<&str> = messages
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() > 3)
        .collect();
    let word = |n: usize| words.get(n * 37 % words.len().max(1)).copied().unwrap_or("fn");
    let pattern = |n: usize| match n % 4 {
        0 | 1 => word(n).to_owned(),
        2 => format!("{}|{}", word(n), word(n + 1)),
        _ => format!(r"fn \w*{}\w*\(", word(n).to_lowercase()),
    };
    (0..PATTERNS).map(pattern).collect()
}

/// Percentiles in milliseconds.
struct Percentiles {
    middle: f64,
    high: f64,
}

impl Percentiles {
    fn of(mut times: Vec<Duration>) -> Percentiles {
        times.sort();
        let at = |part: usize| {
            let time = times.get(times.len() * part / 100).copied().unwrap_or_default();
            time.as_secs_f64() * 1000.0
        };
        Percentiles { middle: at(50), high: at(95) }
    }
}
