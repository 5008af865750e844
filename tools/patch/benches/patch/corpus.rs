//! Benchmark cases: patches with the tree before and after, read from a directory of cases or made from the commits of
//! a repository.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use serde::Deserialize;
use tempfile::TempDir;

/// The maximum number of commits taken from a repository.
const COMMITS: &str = "500";

/// The cases, and the file contents that they refer to.
pub(crate) struct Corpus {
    pub(crate) cases: Vec<Case>,
    blobs: TempDir,
}

/// One line of `cases.jsonl.gz`.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    /// The group of the case.
    pub(crate) corpus: String,
    pub(crate) kind: String,
    pub(crate) expect: Expect,
    pub(crate) patch: String,
    /// The declared paths; empty if every path is.
    pub(crate) allow: Vec<String>,
    pub(crate) pre: Vec<TreeFile>,
    pub(crate) post: Option<Vec<TreeFile>>,
    /// The files that the author of the patch saw, if different from `pre`.
    pub(crate) base: Option<Vec<TreeFile>>,
    /// Files outside the root.
    #[serde(default)]
    pub(crate) outside: Vec<TreeFile>,
}

/// The required outcome of a case.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expect {
    Exact,
    ExactOrRefuse,
    Refuse,
    Unchanged,
}

/// A file: path, kind, content.
#[derive(Deserialize)]
pub(crate) struct TreeFile(pub(crate) String, pub(crate) Kind, #[serde(default)] Option<Content>);

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    #[serde(rename = "100644")]
    Plain,
    #[serde(rename = "100755")]
    Executable,
    #[serde(rename = "100444")]
    ReadOnly,
    #[serde(rename = "120000")]
    Symlink,
    #[serde(rename = "dir")]
    Directory,
    #[serde(rename = "fifo")]
    Fifo,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Blob(String),
    Text { t: String },
}

impl TreeFile {
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.1, Kind::Plain | Kind::Executable | Kind::ReadOnly)
    }
}

impl Corpus {
    /// Reads the cases in `groups` of the directory `dir`.
    pub(crate) fn read(dir: &Path, groups: &[&str]) -> Corpus {
        let mut corpus = Corpus::default();
        let mut unpack = Command::new("tar");
        unpack.args(["--use-compress-program", "zstd -d --long=31", "--strip-components", "1"]);
        unpack.arg("-xf").arg(dir.join("blobs.tar.zst")).arg("-C").arg(corpus.blobs.path());
        output(&mut unpack);
        for group in groups {
            let file = File::open(dir.join(group).join("cases.jsonl.gz")).unwrap();
            let lines = BufReader::new(GzDecoder::new(file)).split(b'\n');
            let case = |line: io::Result<Vec<u8>>| serde_json::from_slice(&line.unwrap()).unwrap();
            corpus.cases.extend(lines.map(case));
        }
        corpus
    }

    /// Makes cases from the changes of the newest commits of `repository` to text files, one patch per file.
    pub(crate) fn of_commits(repository: &Path) -> Corpus {
        let mut corpus = Corpus::default();
        let single = ["log", "--min-parents=1", "--max-parents=1", "--format=%H", "-n", COMMITS];
        let commits = String::from_utf8(git(repository, &single)).unwrap();
        for commit in commits.lines() {
            let between = [format!("{commit}~"), commit.to_owned()];
            let raw = ["diff", "--raw", "-M", "-z", "--no-abbrev", &between[0], &between[1]];
            let raw = String::from_utf8(git(repository, &raw)).unwrap();
            let mut words = raw.split_terminator('\0');
            while let Some(record) = words.next() {
                let from = words.next().unwrap();
                let renames = record.contains(" R");
                let to = if renames { words.next().unwrap() } else { from };
                corpus.cases.extend(corpus.of_file(repository, &between, record, [from, to]));
            }
        }
        corpus
    }

    /// Makes a case from one file of a commit; `None` if the file is not text before and after, or changes its mode.
    fn of_file(
        &self,
        repository: &Path,
        [before, after]: &[String; 2],
        record: &str,
        [from, to]: [&str; 2],
    ) -> Option<Case> {
        let fields: Vec<&str> = record.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, _] = fields[..] else { return None };
        let pre = self.fetch(repository, from, old_mode, old)?;
        let post = self.fetch(repository, to, new_mode, new)?;
        if pre.iter().zip(&post).any(|(pre, post)| pre.1 != post.1) {
            return None;
        }
        let patch = git(repository, &["diff", "-M", before, after, "--", from, to]);
        Some(Case {
            id: format!("{after}:{to}"),
            corpus: "commits".to_owned(),
            kind: "commit".to_owned(),
            expect: Expect::Exact,
            patch: String::from_utf8(patch).ok()?,
            allow: Vec::new(),
            pre,
            post: Some(post),
            base: None,
            outside: Vec::new(),
        })
    }

    /// Stores one side of a changed file: nothing if the file does not exist; returns `None` if it is not text.
    fn fetch(
        &self,
        repository: &Path,
        path: &str,
        mode: &str,
        blob: &str,
    ) -> Option<Vec<TreeFile>> {
        let kind = match mode {
            "000000" => return Some(Vec::new()),
            "100644" => Kind::Plain,
            "100755" => Kind::Executable,
            _ => return None,
        };
        let bytes = git(repository, &["cat-file", "blob", blob]);
        if bytes.contains(&0) {
            return None;
        }
        fs::write(self.blobs.path().join(blob), bytes).unwrap();
        Some(vec![TreeFile(path.to_owned(), kind, Some(Content::Blob(blob.to_owned())))])
    }

    pub(crate) fn bytes(&self, entry: &TreeFile) -> Vec<u8> {
        match &entry.2 {
            None => Vec::new(),
            Some(Content::Text { t }) => t.clone().into_bytes(),
            Some(Content::Blob(name)) => fs::read(self.blobs.path().join(name)).unwrap(),
        }
    }
}

impl Default for Corpus {
    fn default() -> Corpus {
        let blobs = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Corpus { cases: Vec::new(), blobs }
    }
}

fn git(repository: &Path, words: &[&str]) -> Vec<u8> {
    output(Command::new("git").arg("-C").arg(repository).args(words))
}

fn output(command: &mut Command) -> Vec<u8> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{command:?} ended with {}", output.status);
    output.stdout
}
