//! Measures real patches: in process, against one `git apply` process each.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use deepseek_patch::PatchScope;
use tree::ReadTree;

use crate::corpus::{Case, Corpus, Expect};
use crate::engine;
use crate::sandbox::{Sandbox, Snapshot, files};
use crate::verdict;

const GIT: [&str; 3] = ["git", "apply", "--whitespace=nowarn"];
const GIT_CHECK: [&str; 4] = ["git", "apply", "--whitespace=nowarn", "--check"];
/// The required speedup over a `git apply` process.
const FASTER: f64 = 20.0;
/// The number of patches run by one engine before the other runs them, so that load on the machine affects both.
const BLOCK: usize = 32;

/// Prints the times on disk and in memory; returns true if the engine was fast enough on both, and never wrote anything
/// else than the commit. Some patches it refuses: tests in this repository show damaged lines on purpose.
pub(crate) fn measure(corpus: &Corpus) -> bool {
    let disk = ("a disk", Path::new(env!("CARGO_TARGET_TMPDIR")));
    let memory = ("a file system in memory", Path::new("/dev/shm"));
    let places = [disk, memory].into_iter().filter(|(_, place)| place.is_dir());
    places.fold(true, |met, (name, place)| against_git(corpus, name, place) && met)
}

/// Runs the same patches on the same trees, rewritten for every engine that writes; only patches that both engines
/// apply correctly count.
fn against_git(corpus: &Corpus, name: &str, place: &Path) -> bool {
    let exact = || corpus.cases.iter().filter(|case| case.expect == Expect::Exact);
    let lay_out = |case| Laid::out(place, corpus, case);
    let [ours, theirs]: [Vec<Laid<'_>>; 2] = [(); 2].map(|()| exact().map(lay_out).collect());
    // Otherwise the first engine to sync would also write the data left over from the setup.
    rustix::fs::sync();
    let (mut plan, mut check, mut git) = (Vec::new(), Vec::new(), Vec::new());
    for (ours, theirs) in ours.chunks(BLOCK).zip(theirs.chunks(BLOCK)) {
        plan.extend(times(ours, Laid::plan));
        check.extend(times(theirs, |laid| laid.sandbox.run(&GIT_CHECK).success()));
        git.extend(times(theirs, |laid| laid.sandbox.run(&GIT).success()));
    }
    rustix::fs::sync();
    let commit = times(&ours, |laid| engine::apply(&laid.sandbox, laid.patch, &laid.scope));

    let both = ours.iter().zip(&theirs).map(|(ours, theirs)| [ours.is_right(), theirs.is_right()]);
    let right: Vec<[bool; 2]> = both.collect();
    let counted: Vec<bool> = right.iter().map(|right| *right == [true, true]).collect();
    let count = counted.iter().filter(|counted| **counted).count();
    for (laid, [ours, theirs]) in ours.iter().zip(&right) {
        if !ours {
            let what = if laid.is_untouched() { "refused" } else { "WRITTEN WRONGLY" };
            println!("{what}: {} (by git: {})", laid.id, if *theirs { "applied" } else { "not" });
        }
    }
    let is_sound =
        ours.iter().zip(&right).all(|(laid, [is_right, _])| *is_right || laid.is_untouched());
    println!("{count} of {} real patches, those that both apply correctly, on {name}", right.len());
    println!("{:<52} {:>12} {:>12}   target", "medians of blocks", "per patch", "faster");
    let [git, check, plan, commit] = [git, check, plan, commit].map(|all| by_block(&all, &counted));
    let faster = |times: &[f64]| median(git.iter().zip(times).map(|(git, time)| git / time));
    let fast = faster(&plan) >= FASTER && is_sound;
    for (what, times, target) in [
        ("git apply, one process per patch, not synced", &git, String::new()),
        ("git apply --check, one process per patch", &check, String::new()),
        (
            "in process: read and placed, result in memory",
            &plan,
            format!("   >= {FASTER}x {}", verdict(fast)),
        ),
        ("in process: the same, then written and synced", &commit, String::new()),
    ] {
        let millis = median(times.iter().copied()) * 1e3;
        println!("{what:<52} {millis:>9.3} ms {:>11.1}x{target}", faster(times));
    }
    println!();
    fast
}

/// Returns the mean of what is counted in each block, in seconds.
fn by_block(times: &[Duration], counted: &[bool]) -> Vec<f64> {
    let blocks = times.chunks(BLOCK).zip(counted.chunks(BLOCK));
    let means = blocks.filter_map(|(times, counted)| {
        let counted = times.iter().zip(counted).filter(|(_, counted)| **counted);
        let times: Vec<f64> = counted.map(|(time, _)| time.as_secs_f64()).collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    });
    means.collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A case on disk.
struct Laid<'c> {
    sandbox: Sandbox,
    before: Snapshot,
    wanted: Snapshot,
    patch: &'c [u8],
    scope: PatchScope,
    id: &'c str,
}

impl<'c> Laid<'c> {
    fn out(place: &Path, corpus: &Corpus, case: &'c Case) -> Laid<'c> {
        let sandbox = Sandbox::lay_out(place, corpus, case);
        let post = case.post.as_deref().unwrap_or_default();
        let before = sandbox.look();
        let wanted = sandbox.wanted(&before, corpus, post);
        // Like `git apply`, which does not know what the author saw.
        let scope = PatchScope::default();
        Laid {
            sandbox,
            before: files(&before),
            wanted,
            patch: case.patch.as_bytes(),
            scope,
            id: &case.id,
        }
    }

    fn plan(&self) -> bool {
        let tree = ReadTree::open(&self.sandbox.root()).unwrap();
        engine::plan(&tree, self.patch, &self.scope).is_ok()
    }

    fn is_untouched(&self) -> bool {
        files(&self.sandbox.look()) == self.before
    }

    fn is_right(&self) -> bool {
        files(&self.sandbox.look()) == self.wanted
    }
}

/// Measures an operation on each case, one after the other.
fn times<'c>(laid: &[Laid<'c>], done: impl Fn(&Laid<'c>) -> bool) -> Vec<Duration> {
    let time = |laid| {
        let start = Instant::now();
        black_box(done(laid));
        start.elapsed()
    };
    laid.iter().map(time).collect()
}
