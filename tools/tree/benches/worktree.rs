//! Compares a lane's worktree with `git worktree add` and `git worktree remove`: created and removed in turns, from the
//! same repository.
//!
//! Exits with 1 if both together take longer than git's.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a benchmark reports by printing, runs git for comparison, and fails by panicking"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use deepseek_tree::{Extras, ReadTree, SeenAt, Snapshot, SnapshotLimits, Snapshots, Worktree};
use tempfile::TempDir;
use tools::clock::Timestamp;

const FILES: usize = 4200;
const ROUNDS: usize = 15;
/// Upper bound for both together, as a multiple of git's time.
const TARGET: f64 = 1.0;

const LIMITS: SnapshotLimits = SnapshotLimits {
    max_checkpoints: 100,
    max_bytes: 1 << 30,
    max_file_bytes: 1 << 24,
    max_files: 100_000,
    patience: Duration::from_secs(10),
};

fn main() -> ExitCode {
    // Cargo appends `--bench` to the arguments.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let disk = ("a disk", Path::new(env!("CARGO_TARGET_TMPDIR")));
    let memory = ("a file system in memory", Path::new("/dev/shm"));
    let places = [disk, memory].into_iter().filter(|(_, place)| place.is_dir());
    let origin = words.first().map(String::as_str);
    let met = places.fold(true, |met, (name, place)| measure(name, place, origin) && met);
    ExitCode::from(u8::from(!met))
}

/// Measures in a directory of `place`. Returns true if the target is met.
fn measure(name: &str, place: &Path, origin: Option<&str>) -> bool {
    let home = TempDir::new_in(place).unwrap();
    let repository = home.path().canonicalize().unwrap().join("repository");
    match origin {
        Some(dir) => git(home.path(), &["clone", "-q", "--no-hardlinks", dir, "repository"]),
        None => write_repository(&repository),
    }
    git(&repository, &["gc", "-q"]);
    let world = World::of(&repository, place);
    let mut rounds = Vec::new();
    // The first round warms the caches and is not counted.
    for _ in 0..=ROUNDS {
        rounds.push([world.ours(), world.without_workspace(), world.gits()]);
    }
    rounds.remove(0);
    println!("a worktree of {} files, on {name}", world.snapshot.entries.len());
    report(&rounds)
}

/// How long it took to create a worktree, and to remove it.
type Times = [Duration; 2];

fn report(rounds: &[[Times; 3]]) -> bool {
    let heading = format!("medians of {} rounds in turns", rounds.len());
    println!("{heading:<44} {:>9} {:>9} {:>9}   of git's", "create", "remove", "both");
    let seconds = |times: &Times| {
        let [create, remove] = times.map(|time| time.as_secs_f64());
        [create, remove, create + remove]
    };
    let mut met = true;
    for (what, way) in [
        ("ours, from the workspace", 0),
        ("ours, when the workspace has other files", 1),
        ("git worktree add --detach, remove --force", 2),
    ] {
        let of = |part: usize| median(rounds.iter().map(|round| seconds(&round[way])[part]));
        let both = |round: &[Times; 3], way: usize| seconds(&round[way])[2];
        let ratio = median(rounds.iter().map(|round| both(round, way) / both(round, 2)));
        let [create, remove, sum] = [0, 1, 2].map(|part| of(part) * 1e3);
        let verdict = match way {
            0 if ratio <= TARGET => format!("   <= {TARGET} met"),
            0 => {
                met = false;
                format!("   <= {TARGET} MISSED")
            }
            _ => String::new(),
        };
        println!(
            "{what:<44} {create:>6.1} ms {remove:>6.1} ms {sum:>6.1} ms   {ratio:>5.2}{verdict}"
        );
    }
    println!();
    met
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A repository, a snapshot of it, and directories for its worktrees.
struct World {
    repository: PathBuf,
    snapshots: Snapshots,
    snapshot: Snapshot,
    /// Snapshots of a directory without any of the files, with the same private repository.
    elsewhere: Snapshots,
    state: TempDir,
}

impl World {
    fn of(repository: &Path, place: &Path) -> World {
        let state = TempDir::new_in(place).unwrap();
        let outside = state.path().canonicalize().unwrap();
        let private = outside.join("private.git");
        let snapshots =
            Snapshots::new(private.clone(), repository.to_owned(), outside.clone(), LIMITS);
        let tree = ReadTree::open(repository).unwrap();
        let snapshot = snapshots.take(&tree, &[], Timestamp::MAX).unwrap();
        // It is in the same repository, so that objects are borrowed from there.
        let below = repository.join("empty/below");
        fs::create_dir_all(&below).unwrap();
        let elsewhere = Snapshots::new(private, below, outside, LIMITS);
        World { repository: repository.to_owned(), snapshots, snapshot, elsewhere, state }
    }

    fn ours(&self) -> Times {
        self.create_and_remove(&self.snapshots)
    }

    fn without_workspace(&self) -> Times {
        self.create_and_remove(&self.elsewhere)
    }

    fn create_and_remove(&self, snapshots: &Snapshots) -> Times {
        let dir = self.state.path().join("lanes/ours");
        let origin = Extras {
            left_out: &self.snapshot.left_out,
            share: &[],
            max_copied_bytes: 0,
            seen: SeenAt::ItsOwnPath,
            now: Timestamp::UNIX_EPOCH,
        };
        let create = time(|| {
            Worktree::create(snapshots, &self.snapshot.entries, &dir, &origin).unwrap();
        });
        let remove = time(|| Worktree::remove(snapshots, &dir).unwrap());
        [create, remove]
    }

    fn gits(&self) -> Times {
        let dir = self.state.path().join("lanes/git");
        let dir = dir.to_str().unwrap();
        let create = time(|| git(&self.repository, &["worktree", "add", "-q", "--detach", dir]));
        let remove = time(|| git(&self.repository, &["worktree", "remove", "--force", dir]));
        [create, remove]
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn git(dir: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words).current_dir(dir);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    assert!(command.stdin(Stdio::null()).status().unwrap().success(), "git {words:?}");
}

/// Writes sources like those of real projects: up to six directories deep, most of them a few thousand bytes and some
/// much larger.
fn write_repository(dir: &Path) {
    let mut random = fastrand::Rng::with_seed(4200);
    let mut dirs = vec![dir.to_owned()];
    for n in 0..FILES / 9 {
        let above = random.choice(&dirs).unwrap();
        let depth = above.strip_prefix(dir).unwrap().components().count();
        let above = if depth < 6 { above } else { dir };
        let made = above.join(format!("part{n}"));
        fs::create_dir_all(&made).unwrap();
        dirs.push(made);
    }
    for n in 0..FILES {
        let place = random.choice(&dirs).unwrap().join(format!("file{n}.rs"));
        let lines = 4 << random.u32(0..9);
        fs::write(place, text(&mut random, lines)).unwrap();
    }
    git(dir, &["init", "-q", "-b", "main"]);
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "-m", "sources"]);
}

fn text(random: &mut fastrand::Rng, lines: usize) -> String {
    let mut text = String::new();
    for _ in 0..random.usize(lines / 2..=lines) {
        let (name, call) = (random.u16(..), random.u8(..));
        writeln!(text, "    let value{name} = self.call{call}(other, \"some text\")?;").unwrap();
    }
    text
}
