//! Asks many child questions concurrently: a bounded pool of workers, and a priming request that makes the rest cheap.
//!
//! Questions beyond the pool's size wait in its queue. Answers keep the order of the questions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actors::calls::kept_answers::{KeptAnswers, QuestionClaim, WhoAsks};
use actors::calls::model_call::CallError;
use actors::run::Run;
use actors::talk::child_question::{self, AnswerCheck, Child, NoAnswer};
use actors::talk::dialogue::Dialogue;
use facts::closed::JournalClosed;
use ractor::factory::queues::DefaultQueue;
use ractor::factory::routing::QueuerRouting;
use ractor::factory::{
    Factory, FactoryArguments, FactoryMessage, FactoryRef, Job, Worker, WorkerId, worker_builder,
};
use ractor::{Actor, ActorCell, ActorProcessingErr, SpawnErr};
use search::BYTES_PER_TOKEN;
use tokio::sync::oneshot;
use tools::clock::Timestamp;
use tree::FileHash;

type Answer = Result<String, NoAnswer>;

/// A question for a worker.
struct Asked {
    child: Child,
    run: Run,
    answers: Arc<KeptAnswers>,
    /// None if others have its answer, but it was recorded as asked.
    claim: Option<QuestionClaim>,
    reply: oneshot::Sender<Result<Answer, JournalClosed>>,
}

/// A pool of workers that ask child questions.
#[derive(Clone)]
pub struct Children {
    run: Run,
    pool: FactoryRef<u32, Asked>,
    numbers: Arc<AtomicU32>,
    /// Questions asked and not yet ended.
    open: Arc<Mutex<BTreeSet<u32>>>,
    /// Hashes of shared beginnings that were primed already.
    primed: Arc<Mutex<BTreeSet<FileHash>>>,
    answers: Arc<KeptAnswers>,
    /// Deadline for answers, if any.
    by: Option<Timestamp>,
}

impl Children {
    /// Starts a pool of `lanes.max_subagents` workers under `supervisor`.
    pub async fn spawn(run: Run, supervisor: ActorCell) -> Result<Self, SpawnErr> {
        let workers = run.config().lanes.max_subagents as usize;
        let arguments = FactoryArguments::builder()
            .worker_builder(Box::new(worker_builder(|_| (Asker, ()))))
            .num_initial_workers(workers)
            .router(QueuerRouting::<u32, Asked>::default())
            .queue(DefaultQueue::<u32, Asked>::default())
            .build();
        let factory = Factory::<
            u32,
            Asked,
            (),
            Asker,
            QueuerRouting<u32, Asked>,
            DefaultQueue<u32, Asked>,
        >::default();
        let (pool, _) = Actor::spawn_linked(None, factory, arguments, supervisor).await?;
        let (numbers, open, primed) = (Arc::default(), Arc::default(), Arc::default());
        let answers = Arc::new(KeptAnswers::new(&run.cache));
        Ok(Self { run, pool, numbers, open, primed, answers, by: None })
    }

    /// Returns the same pool with a deadline: questions without an answer at `by` are given up.
    #[must_use]
    pub fn until(&self, by: Option<Timestamp>) -> Self {
        Self { by, ..self.clone() }
    }

    /// The actor itself, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.pool.get_cell()
    }

    /// Returns the number of questions asked and not yet ended.
    pub fn open(&self) -> usize {
        lock(&self.open).len()
    }

    /// Deletes the oldest stored answers, keeping `missions.max_kept_answers`.
    pub async fn drop_old_answers(&self) {
        self.answers.drop_old(self.run.config().missions.max_kept_answers).await;
    }

    /// Asks questions that share the beginning `common`. Identical questions are asked once, here and by others at the
    /// same time. Each result is an answer or the reason why there is none; an error means that the run is over.
    pub async fn ask(
        &self,
        common: &Dialogue,
        questions: &[String],
        reads: AnswerCheck,
    ) -> Result<Vec<Answer>, JournalClosed> {
        let shared = Arc::new(common.clone());
        let mut seen = BTreeSet::new();
        let mut open: Vec<Child> = Vec::new();
        for question in questions.iter().filter(|question| seen.insert(question.as_str())) {
            let (number, common) = (self.next_number(), Arc::clone(&shared));
            open.push(Child { number, common, question: question.clone(), reads, by: self.by });
        }
        let mut answers: BTreeMap<String, Answer> = BTreeMap::new();
        // A round for each time that others asked the same and got no answer.
        while !open.is_empty() {
            let (mut mine, mut theirs) = (Vec::new(), Vec::new());
            for child in open.drain(..) {
                let (claim, known) = match self.answers.who_asks(child.key(&self.run)) {
                    WhoAsks::Theirs(waiting) => {
                        theirs.push((child, waiting));
                        continue;
                    }
                    WhoAsks::Yours(claim) => (Some(claim), None),
                    WhoAsks::Answered(answer) => (None, Some(answer)),
                };
                match (child.recall(&self.run, &self.answers, known).await?, claim) {
                    (Some(known), claim) => {
                        if let Some(claim) = claim {
                            claim.answer(&known);
                        }
                        answers.insert(child.question, Ok(known));
                    }
                    (None, claim) => {
                        lock(&self.open).insert(child.number);
                        mine.push((child, claim));
                    }
                }
            }
            self.prime(common, mine.len()).await?;
            let pool = self.run.waits("pool");
            let waiting: Vec<_> =
                mine.into_iter().map(|(child, claim)| self.dispatch(child, claim)).collect();
            for (question, number, answer) in waiting {
                // A worker that died sends no reply.
                let answer =
                    pool.answer("question", answer).await.unwrap_or(Ok(Err(NoAnswer::Died)))?;
                lock(&self.open).remove(&number);
                answers.insert(question, answer);
            }
            // Nothing is claimed while others are waited for, so that children do not wait for each other in a circle.
            for (child, waiting) in theirs {
                waiting.ended().await;
                open.push(child);
            }
        }
        let answer = |question: &String| answers.get(question).cloned();
        Ok(questions.iter().map(|it| answer(it).unwrap_or(Err(NoAnswer::Died))).collect())
    }

    fn dispatch(
        &self,
        child: Child,
        claim: Option<QuestionClaim>,
    ) -> (String, u32, oneshot::Receiver<Result<Answer, JournalClosed>>) {
        let (reply, answer) = oneshot::channel();
        let (question, number) = (child.question.clone(), child.number);
        let (run, answers) = (self.run.clone(), Arc::clone(&self.answers));
        let msg = Asked { child, run, answers, claim, reply };
        let job = Job::builder().key(number).msg(msg).build();
        // A closed pool drops the reply channel along with the question.
        if self.pool.cast(FactoryMessage::Dispatch(job)).is_err() {
            tracing::debug!(number, "the pool is gone; a question is not asked");
        }
        (question, number, answer)
    }

    /// Returns the number of the next part of the run.
    pub(crate) fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sends the shared beginning alone so that the provider caches it, if that is worth a request.
    async fn prime(&self, common: &Dialogue, questions: usize) -> Result<(), JournalClosed> {
        let config = &self.run.config().missions;
        // Messages can always be serialised.
        let text = serde_json::to_vec(common.messages()).unwrap_or_default();
        let is_worth_it = questions > 1 && text.len() / BYTES_PER_TOKEN >= config.prime_tokens;
        if !config.prime || !is_worth_it || !lock(&self.primed).insert(FileHash::of(&text)) {
            return Ok(());
        }
        match child_question::prime(&self.run, self.next_number(), common).await {
            Err(CallError::Journal(closed)) => Err(closed),
            // If the budget is exhausted, the questions themselves report it.
            Ok(())
            | Err(
                CallError::Budget(_)
                | CallError::Model(_)
                | CallError::Admission(_)
                | CallError::Breach(_),
            ) => Ok(()),
        }
    }

    /// Records each unanswered question as given up.
    pub async fn give_up(&self) {
        let open = std::mem::take(&mut *lock(&self.open));
        for number in open {
            if child_question::give_up(&self.run, number).await.is_err() {
                tracing::debug!(number, "a question that was given up is not in the journal");
            }
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker that asks one question at a time.
struct Asker;

impl Worker for Asker {
    type Key = u32;
    type Message = Asked;
    type State = ();
    type Arguments = ();

    async fn pre_start(
        &self,
        _: WorkerId,
        _: &FactoryRef<u32, Asked>,
        (): (),
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: WorkerId,
        _: &FactoryRef<u32, Asked>,
        Job { key, msg: Asked { child, run, answers, claim, reply }, .. }: Job<u32, Asked>,
        (): &mut (),
    ) -> Result<u32, ActorProcessingErr> {
        let answer = run.waits("pool").working(child.ask(&run, &answers)).await;
        if let (Ok(Ok(answer)), Some(claim)) = (&answer, claim) {
            claim.answer(answer);
        }
        if reply.send(answer).is_err() {
            tracing::debug!(number = key, "the asker is gone");
        }
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use actors::calls::admission::{Account, Admission, AdmissionSetup};
    use actors::run::testing;
    use futures_util::future::BoxFuture;
    use model::{ChatModel, ChatRequest, FinishReason, ModelError, ModelReply, ReplyDelta};
    use ractor::{ActorRef, SupervisionEvent};
    use tokio::sync::Notify;
    use tools::redact::Redactor;

    use super::*;

    /// A model that does not answer the first question.
    #[derive(Default)]
    struct SilentOnce {
        calls: AtomicU32,
        asked: Notify,
    }

    impl ChatModel for SilentOnce {
        fn attempt<'a>(
            &'a self,
            request: &'a ChatRequest,
            _: &'a mut (dyn FnMut(ReplyDelta) + Send),
        ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
            Box::pin(async move {
                if self.calls.fetch_add(1, Ordering::SeqCst) == 0 {
                    self.asked.notify_one();
                    std::future::pending::<()>().await;
                }
                Ok(ModelReply {
                    content: "an answer".to_owned(),
                    reasoning: None,
                    tool_calls: Vec::new(),
                    finish: FinishReason::Stop,
                    usage: None,
                    model: request.model.clone(),
                    id: String::new(),
                })
            })
        }
    }

    /// A supervisor that ignores all events.
    struct Bystander;

    impl Actor for Bystander {
        type Msg = ();
        type State = ();
        type Arguments = ();

        async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
            Ok(())
        }

        async fn handle_supervisor_evt(
            &self,
            _: ActorRef<()>,
            _: SupervisionEvent,
            (): &mut (),
        ) -> Result<(), ActorProcessingErr> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_lost_worker_is_replaced_and_its_question_has_no_answer() {
        let (supervisor, _) = Actor::spawn(None, Bystander, ()).await.unwrap();
        let (run, _) = testing::run(None);
        let setup = AdmissionSetup {
            account: Account::default(),
            parts: BTreeMap::new(),
            permits: 1,
            prices: Arc::clone(&run.terms.prices),
            publisher: run.publisher.clone(),
            timeout: std::time::Duration::from_secs(30),
            waits: run.waits("admission"),
        };
        let (admission, _slot) = Admission::spawn(setup, supervisor.get_cell()).await.unwrap();
        let model = Arc::new(SilentOnce::default());
        let (dir, asked) = (tempfile::tempdir().unwrap(), Arc::clone(&model));
        let run = Run { admission, model, cache: dir.path().to_owned(), ..run };
        let children = Children::spawn(run, supervisor.get_cell()).await.unwrap();
        let common = Dialogue::new("Answer.".to_owned(), &Redactor::default());
        let workers = children.cell().get_children();
        let ask = |question: &str| {
            let (children, common) = (children.clone(), common.clone());
            let questions = [question.to_owned()];
            async move { children.ask(&common, &questions, |_| Ok(())).await.unwrap() }
        };
        let (lost, ()) = tokio::join!(ask("first?"), async {
            asked.asked.notified().await;
            // Which of them asks is not known from outside.
            workers.iter().for_each(ActorCell::kill);
        });
        assert_eq!(lost, [Err(NoAnswer::Died)]);
        assert_eq!(ask("second?").await, [Ok("an answer".to_owned())]);
    }
}
