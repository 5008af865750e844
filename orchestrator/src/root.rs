//! The orchestrator: takes a request to its delivery, owns the main tree, and approves everything that happens to it.
//! How a single request goes belongs to [`crate::request`].
//!
//! It never waits for models or tools: it starts work in other tasks and receives the results as messages, tagged with
//! their run. Results of a run that is over are dropped.

pub(crate) mod end;
pub(crate) mod ending;
mod handle;
pub(crate) mod supervision;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::Unanswered;
use actors::calls::admission::{Admission, Slot};
use actors::run::Run;
use actors::run::publisher::Publisher;
use actors::run::terms::{Terms, TermsError};
use actors::run::workspace::{CommitRefused, Denied, Extent, Purpose, Staged};
use actors::talk::AnswerError;
use actors::talk::brief::Brief;
use actors::talk::prompts::Prompts;
use config::Config;
use facts::amounts::Spending;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, Rollback};
use facts::event::Event;
use facts::grammar::plan::Plan;
use facts::grammar::review::Review;
use facts::scope::Scope;
use facts::signal::Attendance;
use facts::team::EndedLane;
use facts::words::DeniedBy;
use index::Index;
use lanes::crew::undo_patch::Trail;
use lanes::crew::{Crew, CrewReport};
use lanes::lane::worktrees::Claim;
use lanes::team::{Team, TeamReport};
use missions::card::SealedCard;
use missions::card::grant::Grant;
use missions::children::Children;
use model::ChatModel;
use patch::PutAside;
use policy::PolicyRules;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr, SupervisionEvent};
use sandbox::{Degree, Network, Sandbox};
use shell::{CommandLine, Environment};
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tools::blocking::on_a_thread;
use tools::clock::{Clock, IdSource};
use tools::redact::Redactor;
use tree::{Change, FileHash, ReadTree, Settled};

use self::ending::Ending;
pub use self::handle::{KeepToError, Orchestrator, StartError};
use crate::autopilot::steering_dialogue::SteeringExchange;
use crate::autopilot::{Autopilot, CourseSetup};
use crate::mission::MissionNews;
use crate::request::Request;
use crate::request::intent::RequestIntent;
use crate::session::context::{Compacted, Context, NotCompacted};
use crate::session::past_requests::{RecordedRun, SessionPast};
use crate::session::turn::FinishedTurn;
use crate::workspace::main_tree::MainTree;
use crate::workspace::places::{self, WorkspacePlaces};
use journal::log::Journal;

/// What an orchestrator is created with.
pub struct Setup {
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// The directory of this session.
    pub session_dir: PathBuf,
    /// The directory for verification results, shared by sessions.
    pub cache: PathBuf,
    /// The directories of checkpoints, commits and lanes.
    pub places: WorkspacePlaces,
    /// The configuration.
    pub config: Arc<Config>,
    /// The provider.
    pub model: Arc<dyn ChatModel>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of ids.
    pub ids: Arc<dyn IdSource>,
    /// The environment that commands see.
    pub env: Environment,
    /// Masks the secrets of the environment, including the API key.
    pub redactor: Redactor,
    /// How commands are confined.
    pub sandbox: Arc<Sandbox>,
    /// The prompts for models.
    pub prompts: Prompts,
    /// Whether the user can be asked.
    pub attendance: Attendance,
    /// Version of the program, for the journal.
    pub version: String,
}

impl Setup {
    /// Returns the session's id: the name of its directory.
    fn session_id(&self) -> String {
        self.session_dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the directory of all sessions.
    fn sessions(&self) -> PathBuf {
        self.session_dir.parent().map(Path::to_owned).unwrap_or_default()
    }
}

/// Why a message from the user is not passed on to the current request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotSteered {
    /// No request is running.
    #[error("no request is running")]
    NothingAtWork,
    /// Several lanes are running.
    #[error("lanes are running, and cannot receive messages")]
    Lanes,
    /// A mission does only what its card says.
    #[error("a mission follows its card, and cannot receive messages")]
    Mission,
    /// The orchestrator is gone.
    #[error("the orchestrator is gone")]
    Gone,
}

/// The outcome of a request.
#[derive(Debug, Clone)]
pub struct RequestOutcome {
    /// Id of the run.
    pub run: String,
    /// How it ended.
    pub delivery: Delivery,
    /// The last plan.
    pub plan: Option<Plan>,
    /// The answer to a question.
    pub answer: Option<String>,
    /// The review, if one was requested.
    pub review: Option<Review>,
    /// The card of a mission.
    pub card: Option<Box<SealedCard>>,
    /// The changes in the workspace since the start of the run.
    pub changes: Vec<Change>,
    /// Diffs of models for files that no plan named; they were not applied.
    pub put_aside: Vec<PutAside>,
    /// The staged undo patches.
    pub rollbacks: Vec<Rollback>,
    /// What it cost.
    pub spent: Spending,
    /// How each lane ended, if it used lanes.
    pub lanes: Vec<EndedLane>,
    /// Worktrees of lanes that failed.
    pub kept: Vec<PathBuf>,
}

/// Messages to the orchestrator.
pub(crate) enum Msg {
    /// `recorded` is the recording of the run, if it is resumed or replayed.
    Run {
        request: Request,
        recorded: Option<RecordedRun>,
        reply: RpcReplyPort<RequestOutcome>,
    },
    /// `run` is the run it belongs to; `None` if the user requested it directly.
    Commit {
        run: Option<String>,
        staged: Staged,
        reply: RpcReplyPort<Result<Extent, CommitRefused>>,
    },
    /// `scope` is the run or lane that requests it.
    Permit {
        scope: Scope,
        command: CommandLine,
        purpose: Purpose,
        reply: RpcReplyPort<Result<(), Denied>>,
    },
    Settle {
        reply: RpcReplyPort<()>,
    },
    /// A message of the user to the current request.
    Steer {
        words: String,
        reply: RpcReplyPort<Result<(), NotSteered>>,
    },
    /// Compact the conversation.
    Compact {
        reply: RpcReplyPort<Result<Compacted, NotCompacted>>,
    },
    /// Report what fills the context.
    Context {
        reply: RpcReplyPort<Context>,
    },
    /// Requests that begin from now on use `config`.
    KeepTo {
        config: Arc<Config>,
        reply: RpcReplyPort<Result<(), TermsError>>,
    },
    /// The patch of a lane, before it is written to its worktree.
    Approve {
        scope: Scope,
        patch: String,
        changes: Vec<Change>,
        reply: RpcReplyPort<Result<(), Denied>>,
    },
    Cancel {
        run: Option<String>,
        why: Delivery,
    },
    /// Start an autopilot.
    StartAutopilot {
        setup: Box<CourseSetup>,
        reply: RpcReplyPort<Result<Autopilot, SpawnErr>>,
    },
    Told {
        run: String,
        news: Box<News>,
    },
}

/// The result of work that the orchestrator started.
pub(crate) enum News {
    /// The intent of a request, and its brief.
    Prepared(Result<(RequestIntent, Brief), Delivery>),
    CrewDone(Result<CrewReport, Unanswered>),
    /// With the brief, for the crew if the task is not split into lanes.
    TeamDone(Brief, Result<TeamReport, Unanswered>),
    Answered(Result<String, AnswerError>),
    Steered(Result<SteeringExchange, AnswerError>),
    Reviewed(Box<Ending>),
    Mission(MissionNews),
    Committed(Box<QueuedCommit>),
    Permitted(Wanted, Result<(), Denied>),
    Approved(RpcReplyPort<Result<(), Denied>>, Result<(), Denied>),
}

/// A command, the scope that requests it, its purpose, and how far it would be confined, if that is known.
pub(crate) type Wanted = (Scope, policy::PolicyCommand, Purpose, Option<Degree>);

/// A finished change, with the main tree that comes back.
pub(crate) struct QueuedCommit {
    pub(crate) tree: Option<MainTree>,
    pub(crate) changes: Vec<Change>,
    pub(crate) put_aside: Vec<PutAside>,
    pub(crate) reply: CommitReply,
    pub(crate) result: Result<Extent, CommitRefused>,
}

/// Records the interrupted commits that were settled.
async fn tell_settled(publisher: &Publisher, settled: Vec<Settled>) -> Result<(), JournalClosed> {
    for Settled { label: patch, outcome, left } in settled {
        publisher.publish(Event::CommitSettled { patch, outcome, left }).await?;
    }
    Ok(())
}

impl State {
    /// Settles commits that other processes left half done in the workspace.
    async fn settle(&mut self) -> Result<(), JournalClosed> {
        // While the tree is away, a change is in progress and holds the lock that all others wait for.
        let Some(tree) = self.main_tree.take() else { return Ok(()) };
        let (tree, settled) = on_a_thread(move || {
            let settled = tree.recover();
            (tree, settled)
        })
        .await;
        self.main_tree = Some(tree);
        match settled {
            Ok(settled) => tell_settled(&self.idle.publisher, settled).await,
            Err(error) => {
                tracing::warn!(%error, "an interrupted commit could not be settled");
                Ok(())
            }
        }
    }
}

struct OrchestratorActor;

/// What the actor is created with.
struct Root {
    setup: Setup,
    main_tree: MainTree,
    /// Interrupted commits that were settled.
    settled: Vec<Settled>,
    terms: Terms,
    publisher: Publisher,
    journal: Arc<Journal>,
    /// The event that starts or continues the session.
    begun: Event,
    earlier: SessionPast,
}

/// The current request.
pub(crate) struct Active {
    pub(crate) run: Run,
    pub(crate) request: Request,
    pub(crate) reply: RpcReplyPort<RequestOutcome>,
    /// The current rules, for a resumed run: what the user denied after it began must not be done any more.
    pub(crate) current_rules: Option<Arc<PolicyRules>>,
    pub(crate) slot: Slot,
    pub(crate) crew: Option<Crew>,
    pub(crate) team: Option<Team>,
    /// The pool that asks child questions.
    pub(crate) children: Option<Children>,
    /// The brief of a mission; `None` for other requests.
    pub(crate) mission: Option<Brief>,
    /// The approved card.
    pub(crate) approved: Option<SealedCard>,
    /// The permissions of a mission's approved card.
    pub(crate) grant: Option<Arc<Grant>>,
    /// How the lanes of a mission ended.
    pub(crate) written_end: Option<(Delivery, Vec<EndedLane>, Vec<PathBuf>)>,
    /// What a mission had spent when its card was approved.
    pub(crate) spent_before: Spending,
    /// The worktrees of its lanes.
    pub(crate) claim: Option<Claim>,
    pub(crate) permits: BTreeMap<Wanted, Permission>,
    /// The user's answers about commands, so that lanes do not ask again; lanes also queue on its lock to ask.
    pub(crate) said: Said,
    /// Total changes by the patches of the run and of each of its parts.
    pub(crate) written: BTreeMap<Scope, policy::PatchTotal>,
    /// Tasks that are aborted when it ends.
    pub(crate) tasks: Vec<JoinHandle<()>>,
    /// Its changes in the workspace so far.
    pub(crate) trail: Trail,
    /// The parts of applied diffs that were left out.
    pub(crate) put_aside: Vec<PutAside>,
    /// Tells everything that waits for the user to stop waiting.
    pub(crate) stop: watch::Sender<bool>,
    /// An end decided during a commit; it takes effect when the tree is back.
    pub(crate) ending: Option<Box<Ending>>,
}

/// The state of a command's permission.
pub(crate) enum Permission {
    /// The answer, for the rest of the run.
    Known(Result<(), Denied>),
    /// The requests that wait for the answer.
    Asking(Vec<RpcReplyPort<Result<(), Denied>>>),
}

impl Default for Permission {
    fn default() -> Self {
        Self::Asking(Vec::new())
    }
}

/// The answer about a command, and the question it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct SaidTo {
    pub(crate) ask: String,
    /// Who denied it, if it was denied.
    pub(crate) by: DeniedBy,
    pub(crate) result: Result<(), Denied>,
}

pub(crate) type Said = Arc<Mutex<BTreeMap<(policy::PolicyCommand, Network, Degree), SaidTo>>>;

pub(crate) type CommitReply = RpcReplyPort<Result<Extent, CommitRefused>>;

pub(crate) struct State {
    /// The workspace, absolute.
    pub(crate) dir: PathBuf,
    pub(crate) places: WorkspacePlaces,
    pub(crate) session: String,
    /// The directory of all sessions.
    pub(crate) sessions: PathBuf,
    /// The run that others are derived from; it belongs to no request and is never stopped.
    pub(crate) idle: Run,
    /// Keeps `idle` from being stopped.
    _idle: watch::Sender<bool>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) reader: ReadTree,
    pub(crate) index: Index,
    /// `None` during a commit.
    pub(crate) main_tree: Option<MainTree>,
    pub(crate) commits: VecDeque<(Option<String>, Staged, CommitReply)>,
    pub(crate) active: Option<Active>,
    /// The earlier turns of the conversation, oldest first.
    pub(crate) turns: Vec<FinishedTurn>,
    /// Number of them that prompts show as a summary, from the first.
    pub(crate) compacted: usize,
    /// What the last request began with; empty before the first in this process.
    pub(crate) last_brief: Brief,
    /// The cards of earlier missions that can still be answered.
    pub(crate) cards: BTreeMap<FileHash, SealedCard>,
    /// The dialogue with the model that steers an autopilot.
    pub(crate) steering: Vec<SteeringExchange>,
}

impl Actor for OrchestratorActor {
    type Msg = Msg;
    type State = State;
    type Arguments = Root;

    async fn pre_start(&self, _: ActorRef<Msg>, root: Root) -> Result<State, ActorProcessingErr> {
        let Root { setup, main_tree, settled, terms, publisher, journal, begun, earlier } = root;
        publisher.publish(begun).await?;
        tell_settled(&publisher, settled).await?;
        let (session, sessions) = (setup.session_id(), setup.sessions());
        let Setup {
            workspace: dir,
            places,
            cache,
            model,
            clock,
            ids,
            env,
            redactor,
            sandbox,
            attendance,
            ..
        } = setup;
        let (running, stop) = watch::channel(false);
        let admission = Admission::nobody();
        let reader = main_tree.reader();
        let index = places::index(&places, reader.clone(), &terms.config, &terms.rules);
        Ok(State {
            idle: Run {
                terms,
                publisher,
                admission,
                model,
                clock,
                ids,
                env,
                redactor,
                sandbox,
                cache,
                attendance,
                conversation: session.as_str().into(),
                until: None,
                user_said: Arc::default(),
                steering: actors::calls::steering::Steering::default(),
                stop,
            },
            _idle: running,
            reader,
            index,
            main_tree: Some(main_tree),
            dir,
            places,
            session,
            sessions,
            journal,
            commits: VecDeque::new(),
            active: None,
            turns: earlier.turns,
            compacted: earlier.compacted,
            last_brief: Brief::default(),
            cards: earlier.cards,
            steering: earlier.steering,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        msg: Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Run { request, recorded, reply } => {
                state.begin(&myself, request, recorded, reply).await?;
            }
            Msg::Commit { run, staged, reply } => {
                state.commits.push_back((run, staged, reply));
                state.commit_next(&myself);
            }
            Msg::Permit { scope, command, purpose, reply } => {
                state.permit(&myself, (scope, command, purpose), reply);
            }
            Msg::Steer { words, reply } => {
                if reply.send(state.steer(words).await).is_err() {
                    tracing::debug!("the sender of the message is gone");
                }
            }
            Msg::Settle { reply } => {
                state.settle().await?;
                if reply.send(()).is_err() {
                    tracing::debug!("the requester of the workspace is gone");
                }
            }
            Msg::Compact { reply } => {
                if reply.send(state.compact().await).is_err() {
                    tracing::debug!("whoever wanted the conversation compacted is gone");
                }
            }
            Msg::Context { reply } => state.report_context(reply),
            Msg::KeepTo { config, reply } => {
                let kept = state.keep_to(config).await;
                if reply.send(kept).is_err() {
                    tracing::debug!("the sender of the configuration is gone");
                }
            }
            Msg::Approve { scope, patch, changes, reply } => {
                state.approve(&myself, &scope, (patch, changes), reply);
            }
            Msg::Cancel { run, why } => {
                let in_hand = state.active.as_ref().map(|active| active.run.id());
                if run.is_none() || run.as_deref() == in_hand {
                    state.stop(&myself, why).await;
                }
            }
            Msg::StartAutopilot { setup, reply } => {
                state.start_autopilot(&myself, *setup, reply).await;
            }
            Msg::Told { run, news } => state.handle_news(&myself, &run, *news).await,
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _: ActorRef<Msg>,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        // Tasks outside the actors keep the journal open.
        for task in state.active.iter().flat_map(|active| &active.tasks) {
            task.abort();
        }
        let index = state.index.clone();
        on_a_thread(move || index.close()).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Msg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(who, _) | SupervisionEvent::ActorTerminated(who, ..) => {
                state.child_lost(&myself, &who).await?;
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}
