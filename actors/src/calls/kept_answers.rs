//! Answers to child questions, shared by all that ask: each identical question is asked once, whoever asks it, and
//! later ones take its answer. Behind the memory stands a directory that later missions read.
//!
//! No guard of the map is held while anything is awaited.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use tokio::sync::watch;
use tools::blocking::on_a_thread;
use tools::regular;
use tree::FileHash;

/// Maximum size of a stored answer in bytes.
const MAX_KEPT_BYTES: u64 = 1 << 20;

/// What is known of a question.
#[derive(Debug)]
enum Slot {
    /// Another task asks it; the channel closes when it has ended, answered or not.
    Asked(watch::Receiver<()>),
    /// Its answer.
    Answered(Arc<str>),
}

/// All answers by the hash of their question.
#[derive(Debug)]
pub struct KeptAnswers {
    slots: Arc<DashMap<FileHash, Slot>>,
    dir: PathBuf,
}

/// Who asks a question.
#[derive(Debug)]
pub enum WhoAsks {
    /// No one: here is its answer.
    Answered(Arc<str>),
    /// The caller.
    Yours(QuestionClaim),
    /// Another task.
    Theirs(Waiting),
}

/// The duty to ask a question. Dropping it without an answer passes the question on to whoever waits.
#[derive(Debug)]
pub struct QuestionClaim {
    slots: Arc<DashMap<FileHash, Slot>>,
    key: FileHash,
    _ended: watch::Sender<()>,
}

/// The end of a question that another task asks.
#[derive(Debug)]
pub struct Waiting(watch::Receiver<()>);

impl KeptAnswers {
    /// Returns a cache with nothing in memory and whatever the directory `answers` of `cache` holds.
    pub fn new(cache: &Path) -> Self {
        Self { slots: Arc::default(), dir: cache.join("answers") }
    }

    /// Returns whose turn it is to ask a question, by its hash.
    pub fn who_asks(&self, key: FileHash) -> WhoAsks {
        match self.slots.entry(key) {
            Entry::Occupied(slot) => match slot.get() {
                Slot::Answered(answer) => WhoAsks::Answered(Arc::clone(answer)),
                Slot::Asked(ended) => WhoAsks::Theirs(Waiting(ended.clone())),
            },
            Entry::Vacant(slot) => {
                let (ended, waiting) = watch::channel(());
                slot.insert(Slot::Asked(waiting));
                WhoAsks::Yours(QuestionClaim { slots: Arc::clone(&self.slots), key, _ended: ended })
            }
        }
    }

    /// Returns the answer that the directory holds, if any.
    pub(crate) async fn stored(&self, key: FileHash) -> Option<String> {
        let place = self.dir.join(key.to_string());
        on_a_thread(move || regular::read_text(&place, MAX_KEPT_BYTES).ok()).await
    }

    /// Stores an answer in the directory. If that fails, the next mission pays for it again.
    pub(crate) async fn store(&self, key: FileHash, answer: String) {
        let place = self.dir.join(key.to_string());
        let kept = on_a_thread(move || {
            regular::create_dir(place.parent().unwrap_or(&place))?;
            regular::write_regular_file(&place, answer.as_bytes())
        });
        if let Err(error) = kept.await {
            tracing::debug!(%error, "an answer could not be stored");
        }
    }

    /// Deletes the oldest stored answers, keeping the `most` newest.
    pub async fn drop_old(&self, most: usize) {
        let dir = self.dir.clone();
        if let Err(error) = on_a_thread(move || drop_oldest(&dir, most)).await {
            tracing::debug!(%error, "old answers could not be deleted");
        }
    }
}

impl QuestionClaim {
    /// Gives the answer to everybody who waits or will ask.
    pub fn answer(self, answer: &str) {
        self.slots.insert(self.key, Slot::Answered(answer.into()));
    }
}

impl Drop for QuestionClaim {
    fn drop(&mut self) {
        self.slots.remove_if(&self.key, |_, slot| matches!(slot, Slot::Asked(_)));
    }
}

impl Waiting {
    /// Waits until the question has ended. Whose turn it is then has to be asked again.
    pub async fn ended(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// Deletes all but the `most` newest files of a directory. Blocks.
fn drop_oldest(dir: &Path, most: usize) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort_by(|a, b| b.cmp(a));
    files.drain(..most.min(files.len()));
    // Another process may have deleted the file already.
    for (_, path) in files {
        fs::remove_file(path).ok();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn key(question: usize) -> FileHash {
        FileHash::of(question.to_string().as_bytes())
    }

    #[test]
    fn the_newest_answers_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let second = Duration::from_secs(1);
        for at in 0..5_u32 {
            let file = fs::File::create(dir.path().join(at.to_string())).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + second * (10 - at)).unwrap();
        }
        drop_oldest(dir.path(), 2).unwrap();
        let names = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["0", "1"]);
        drop_oldest(&dir.path().join("nowhere"), 2).unwrap();
    }

    #[tokio::test]
    async fn a_claim_without_an_answer_is_passed_on() {
        let answers = KeptAnswers::new(Path::new("/nowhere"));
        let WhoAsks::Yours(claim) = answers.who_asks(key(1)) else { panic!("no task asks it yet") };
        let WhoAsks::Theirs(waiting) = answers.who_asks(key(1)) else { panic!("it is asked") };
        drop(claim);
        waiting.ended().await;
        let WhoAsks::Yours(claim) = answers.who_asks(key(1)) else { panic!("it was passed on") };
        claim.answer("yes");
        let WhoAsks::Answered(answer) = answers.who_asks(key(1)) else { panic!("it is answered") };
        assert_eq!(&*answer, "yes");
    }

    /// Asks until there is an answer, and fails every seventh time in between.
    async fn ask(answers: &KeptAnswers, question: usize, calls: &[AtomicUsize]) -> Arc<str> {
        loop {
            match answers.who_asks(key(question)) {
                WhoAsks::Answered(answer) => return answer,
                WhoAsks::Theirs(waiting) => waiting.ended().await,
                WhoAsks::Yours(claim) => {
                    tokio::task::yield_now().await;
                    let call = calls[question].fetch_add(1, Ordering::Relaxed);
                    if question.is_multiple_of(7) && call == 0 {
                        continue;
                    }
                    claim.answer(&question.to_string());
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn ten_thousand_questions_of_twenty_tasks_are_asked_once_each() {
        const DISTINCT: usize = 700;
        let answers = Arc::new(KeptAnswers::new(Path::new("/nowhere")));
        let calls: Arc<[AtomicUsize]> = (0..DISTINCT).map(|_| AtomicUsize::new(0)).collect();
        let tasks = (0..20).map(|task| {
            let (answers, calls) = (Arc::clone(&answers), Arc::clone(&calls));
            tokio::spawn(async move {
                for at in 0..500 {
                    let question = (at * 31 + task * 17) % DISTINCT;
                    assert_eq!(*ask(&answers, question, &calls).await, *question.to_string());
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        for (question, calls) in calls.iter().enumerate() {
            let expected = if question.is_multiple_of(7) { 2 } else { 1 };
            assert_eq!(calls.load(Ordering::Relaxed), expected, "{question}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn killed_askers_leave_nobody_waiting() {
        let answers = Arc::new(KeptAnswers::new(Path::new("/nowhere")));
        let calls: Arc<[AtomicUsize]> = (0..50).map(|_| AtomicUsize::new(1)).collect();
        let task = |stop: bool| {
            let (answers, calls) = (Arc::clone(&answers), Arc::clone(&calls));
            tokio::spawn(async move {
                for question in (0..50).cycle().take(500) {
                    if stop {
                        // Killed while it holds a claim, as a worker of a mission that is stopped.
                        let _held = answers.who_asks(key(question));
                        std::future::pending::<()>().await;
                    }
                    ask(&answers, question, &calls).await;
                }
            })
        };
        let (doomed, others): (Vec<_>, Vec<_>) =
            ((0..10).map(|_| task(true)).collect(), (0..10).map(|_| task(false)).collect());
        tokio::task::yield_now().await;
        doomed.iter().for_each(tokio::task::JoinHandle::abort);
        for other in others {
            other.await.unwrap();
        }
    }
}
