//! The orchestrator: takes a request to its delivery, owns the main tree, and approves everything that happens to it.
//! How a single request goes belongs to [`crate::request`].
//!
//! No handler awaits anything but the journal's queue: work runs beside the mailbox, and its end is a message. The end of
//! work for a request that is over is dropped.

pub(crate) mod active;
pub(crate) mod end;
pub(crate) mod ending;
mod handle;
pub(crate) mod outcome;
mod permits;
pub(crate) mod supervision;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::calls::admission::Admission;
use actors::mailbox::WaitLog;
use actors::run::Run;
use actors::run::offline::Offline;
use actors::run::publisher::Publisher;
use actors::run::server_tools::ServerTools;
use actors::run::terms::{Terms, TermsError};
use actors::run::workspace::{Denied, Purpose, Staged};
use actors::talk::AnswerError;
use actors::talk::brief::Brief;
use actors::talk::prompts::Prompts;
use actors::workers::{Finished, Workers};
use actors::{Unanswered, answer};
use config::Config;
use facts::delivery::{Delivery, FailureKind};
use facts::event::Event;
use facts::scope::Scope;
use facts::signal::Attendance;
use index::Index;
use journal::log::Journal;
use lanes::crew::{CrewEnd, PlanInParts};
use lanes::lane::worktrees::Claim;
use lanes::team::TeamReport;
use lanes::team::split::team_plan::TeamPlan;
use mcp::Servers;
use missions::card::SealedCard;
use missions::execution::Execution;
use model::ChatModel;
use policy::ToolKind;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr, SupervisionEvent};
use sandbox::Sandbox;
use shell::{CommandLine, Environment};
use tokio::sync::watch;
use tools::clock::{Clock, IdSource};
use tools::redact::Redactor;
use tree::{Change, FileHash, ReadTree, Settled};

use self::active::Active;
use self::ending::{Closed, Ending, failed_request};
pub use self::handle::{KeepToError, Orchestrator, StartError};
pub use self::outcome::{NotSteered, RequestOutcome};
use self::supervision::LostAccounts;
use crate::autopilot::steering_dialogue::SteeringExchange;
use crate::autopilot::{Autopilot, CourseSetup};
use crate::gate::memory::Wanted;
use crate::gate::writer::{CommitReply, Writer, WriterSetup, Written, tell_settled};
use crate::mission::MissionNews;
use crate::request::Request;
use crate::request::intent::RequestIntent;
use crate::request::router::RouterSlot;
use crate::session::context::{Compacted, ContextInHand, NotCompacted};
use crate::session::past_requests::{RecordedRun, SessionPast};
use crate::session::turn::FinishedTurn;
use crate::workspace::main_tree::MainTree;
use crate::workspace::places::{self, WorkspacePlaces};

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
    /// Servers of tools.
    pub servers: Servers,
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

/// Messages to the orchestrator.
pub(crate) enum Msg {
    Run(Box<Asked>),
    /// What must be masked in a request is known, so it can begin.
    Begin(Box<Asked>, Finished<BTreeSet<String>>),
    /// Work of the current request has ended.
    Worked(Finished<Box<News>>),
    /// Everything that worked on the current request is gone.
    Stopped,
    /// The end of the current request is recorded.
    Closed(Finished<Box<Closed>>),
    /// `run` is the run it belongs to; `None` if the user requested it directly.
    Commit {
        run: Option<String>,
        staged: Box<Staged>,
        reply: CommitReply,
    },
    /// The Writer has made a change.
    Written(Written),
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
        reply: RpcReplyPort<ContextInHand>,
    },
    /// Requests that begin from now on use `config`.
    KeepTo {
        config: Arc<Config>,
        reply: RpcReplyPort<Result<(), TermsError>>,
    },
    /// A call of a server's tool.
    PermitTool {
        scope: Scope,
        kind: ToolKind,
        call: String,
        reply: RpcReplyPort<Result<(), Denied>>,
    },
    /// The patch of a lane, before it is written to its worktree.
    Approve {
        scope: Scope,
        patch: String,
        changes: Vec<Change>,
        reply: RpcReplyPort<Result<(), Denied>>,
    },
    /// Start an autopilot.
    StartAutopilot {
        setup: Box<CourseSetup>,
        reply: RpcReplyPort<Result<Autopilot, SpawnErr>>,
    },
    /// Stop the current request.
    Cancel {
        why: Delivery,
    },
}

/// A request, with the recording of its run if it is resumed or replayed.
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) recorded: Option<RecordedRun>,
    pub(crate) reply: RpcReplyPort<RequestOutcome>,
}

/// The result of work for the current request.
pub(crate) enum News {
    /// The intent of a request, and its brief.
    Prepared(Result<(RequestIntent, Brief), Delivery>),
    CrewDone(Result<CrewEnd, Unanswered>),
    /// Worktrees are claimed for a team with this brief.
    Claimed(io::Result<Claim>, Brief, TeamFor),
    /// With the brief, for the crew if the task is not split into lanes.
    TeamDone(Brief, Result<TeamReport, Unanswered>),
    Answered(Result<String, AnswerError>),
    Steered(Result<SteeringExchange, AnswerError>),
    Reviewed(Box<Ending>),
    Mission(MissionNews),
    Permitted(Wanted, Result<(), Denied>),
    Approved(RpcReplyPort<Result<(), Denied>>, Result<(), Denied>),
    /// What the run had spent when its Admission actor died.
    LedgerRecovered(LostAccounts),
    /// The run is to be stopped.
    Stop(Delivery),
}

/// Which lanes a team is for.
pub(crate) enum TeamFor {
    /// The team plans them.
    Request,
    /// A change is made in parts.
    Parts(Box<PlanInParts>),
    /// The tasks of a mission that write.
    Mission(TeamPlan, Box<Execution>),
}

impl From<Written> for Msg {
    fn from(written: Written) -> Self {
        Self::Written(written)
    }
}

impl TryFrom<Msg> for Written {
    type Error = ();

    #[expect(clippy::wildcard_enum_match_arm, reason = "the Writer sends one kind of message")]
    fn try_from(msg: Msg) -> Result<Self, ()> {
        match msg {
            Msg::Written(written) => Ok(written),
            _ => Err(()),
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

/// What the orchestrator does about requests. There is one at a time.
pub(crate) enum CurrentRequest {
    /// The next request may begin.
    Idle,
    /// A request is about to begin. What is said to it until then waits.
    Beginning(Vec<Msg>),
    /// A request is worked on.
    Active(Box<Active>),
    /// The end of a request is being recorded.
    Closing,
}

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
    pub(crate) writer: Writer,
    pub(crate) router: RouterSlot,
    pub(crate) current: CurrentRequest,
    /// Work beside the mailbox; each request is a round.
    pub(crate) workers: Workers,
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

    async fn pre_start(
        &self,
        myself: ActorRef<Msg>,
        root: Root,
    ) -> Result<State, ActorProcessingErr> {
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
            servers,
            attendance,
            ..
        } = setup;
        let (running, stop) = watch::channel(false);
        let admission = Admission::closed();
        let reader = main_tree.reader();
        let index = places::index(&places, reader.clone(), &terms.config, &terms.rules);
        let wait_log = WaitLog::new(&session, &terms.config);
        let setup = WriterSetup {
            dir: dir.clone(),
            places: places.clone(),
            config: Arc::clone(&terms.config),
            tree: Some(main_tree),
            above: myself.get_derived(),
            waits: wait_log.of("writer", &Scope::SESSION),
        };
        let writer = Writer::spawn(setup, myself.get_cell())?;
        let waits = wait_log.of("router", &Scope::SESSION);
        let router = RouterSlot::fill(journal.dir(), waits, myself.get_cell()).await?;
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
                server_tools: ServerTools::new(servers),
                cache,
                attendance,
                conversation: session.as_str().into(),
                until: None,
                user_said: Arc::default(),
                steering: actors::calls::steering::Steering::default(),
                wait_log: wait_log.clone(),
                offline: Offline::new(false),
                stop,
            },
            _idle: running,
            reader,
            index,
            writer,
            router,
            current: CurrentRequest::Idle,
            workers: Workers::new(wait_log.of("orchestrator", &Scope::SESSION)),
            dir,
            places,
            session,
            sessions,
            journal,
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
            Msg::Run(asked) => state.accept(&myself, asked),
            Msg::Begin(asked, masked) => state.begin(&myself, *asked, masked).await?,
            Msg::Worked(finished) => match state.workers.admit(finished) {
                Some(Ok(news)) => state.handle_news(&myself, *news).await?,
                Some(Err(panicked)) => {
                    let why = panicked.to_string();
                    state.end(&myself, failed_request(FailureKind::Internal, &why));
                }
                None => {}
            },
            Msg::Stopped => state.finish(&myself),
            Msg::Closed(closed) => state.closed(closed),
            Msg::Commit { run, staged, reply } => state.commit(run.as_deref(), *staged, reply),
            Msg::Written(written) => state.written(written),
            Msg::Permit { scope, command, purpose, reply } => {
                state.permit(&myself, (scope, command, purpose), reply);
            }
            Msg::Steer { words, reply } => match &mut state.current {
                CurrentRequest::Beginning(waiting) => waiting.push(Msg::Steer { words, reply }),
                CurrentRequest::Idle | CurrentRequest::Active(_) | CurrentRequest::Closing => {
                    answer(reply, state.steer(words).await);
                }
            },
            Msg::Cancel { why } => match &mut state.current {
                CurrentRequest::Beginning(waiting) => waiting.push(Msg::Cancel { why }),
                CurrentRequest::Idle | CurrentRequest::Active(_) | CurrentRequest::Closing => {
                    state.stop(&myself, why);
                }
            },
            Msg::Settle { reply } => state.writer.settle(state.idle.publisher.clone(), reply),
            Msg::Compact { reply } => answer(reply, state.compact().await),
            Msg::Context { reply } => answer(reply, state.context_in_hand()),
            Msg::KeepTo { config, reply } => answer(reply, state.keep_to(config).await),
            Msg::Approve { scope, patch, changes, reply } => {
                state.approve(&myself, &scope, (patch, changes), reply);
            }
            Msg::PermitTool { scope, kind, call, reply } => {
                state.permit_tool(&myself, &scope, (kind, call), reply);
            }
            Msg::StartAutopilot { setup, reply } => {
                state.start_autopilot(&myself, *setup, reply).await;
            }
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _: ActorRef<Msg>,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        state.wind_up().await;
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
