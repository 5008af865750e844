//! The orchestrator: takes a request to its one delivery, owns the main tree, and is asked before anything happens to it.
//!
//! It awaits no model and no tool: it starts work beside itself and is told, with the run the news belong to. News of a run
//! that is over are dropped.

mod again;
mod end;
mod gate;
mod gathering;
mod handle;
mod mission;
mod review;
mod run;
mod workspace;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::Unanswered;
use actors::admission::{Admission, Slot};
use actors::brief::Brief;
use actors::closed::JournalClosed;
use actors::delivery::{Delivery, Rollback};
use actors::event::Event;
use actors::ledger::Amount;
use actors::plan::Plan;
use actors::prompts::Prompts;
use actors::publisher::{Attendance, Publisher};
use actors::review::Review;
use actors::run::{Run, Terms, TermsError};
use actors::scope::Scope;
use actors::talk::Unheard;
use actors::team::EndedLane;
use actors::words::DeniedBy;
use actors::workspace::{CommitRefused, Denied, Extent, Purpose, Staged};
use config::Config;
use index::Index;
use lanes::crew::{Crew, CrewReport};
use lanes::team::{Team, TeamReport};
use lanes::trail::Trail;
use lanes::worktrees::Claim;
use missions::card::Card;
use missions::children::Children;
use missions::grant::Grant;
use model::ChatModel;
use patch::PutAside;
use policy::Rules;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use sandbox::{Network, Sandbox};
use shell::{CommandLine, Environment};
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tools::blocking::on_a_thread;
use tools::clock::{Clock, IdSource};
use tools::redact::Redactor;
use tree::{Change, FileHash, ReadTree, Settled};

use self::end::Ending;
pub use self::handle::{KeepToError, Orchestrator, StartError};
use self::mission::MissionNews;
use crate::chat::Intent;
use crate::earlier::{Again, Earlier};
use crate::main_tree::MainTree;
use crate::places::{self, Places};
use crate::request::Request;
use crate::turn::Turn;
use journal::log::Journal;

/// What an orchestrator is made with.
pub struct Setup {
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// Where this session is kept.
    pub session_dir: PathBuf,
    /// Where results of verification are kept between sessions.
    pub cache: PathBuf,
    /// Where the way back is kept.
    pub places: Places,
    /// The configuration.
    pub config: Arc<Config>,
    /// The provider.
    pub model: Arc<dyn ChatModel>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdSource>,
    /// What commands see of the environment.
    pub env: Environment,
    /// Knows what is secret of the environment, the key among it.
    pub redactor: Redactor,
    /// How commands are confined.
    pub sandbox: Arc<Sandbox>,
    /// What is said to models.
    pub prompts: Prompts,
    /// Whether the user can be asked.
    pub attendance: Attendance,
    /// Version of the program, for the journal.
    pub version: String,
}

impl Setup {
    /// Id of the session: the name of its directory.
    fn session_id(&self) -> String {
        self.session_dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Where sessions are kept.
    fn sessions(&self) -> PathBuf {
        self.session_dir.parent().map(Path::to_owned).unwrap_or_default()
    }
}

/// Why what the user says to a request is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotSteered {
    /// Nothing is at work.
    #[error("no request is at work")]
    NothingAtWork,
    /// Several work at once.
    #[error("lanes are at work, and are not spoken to")]
    Lanes,
    /// What a mission does is on its card.
    #[error("a mission keeps to its card")]
    Mission,
    /// The orchestrator is gone.
    #[error("the orchestrator is gone")]
    Gone,
}

/// What came of a request.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Id of the run.
    pub run: String,
    /// How it ended.
    pub delivery: Delivery,
    /// The last plan.
    pub plan: Option<Plan>,
    /// The answer, to a question.
    pub answer: Option<String>,
    /// The review, if one was wanted.
    pub review: Option<Review>,
    /// The card, of a mission.
    pub card: Option<Box<Card>>,
    /// What differs in the workspace from the start of the run.
    pub changes: Vec<Change>,
    /// What models wrote beside, for files that no plan named; it was not applied.
    pub put_aside: Vec<PutAside>,
    /// Patch sets staged for going back.
    pub rollbacks: Vec<Rollback>,
    /// What it used.
    pub spent: Amount,
    /// What became of each lane, if it was done in lanes.
    pub lanes: Vec<EndedLane>,
    /// Worktrees of lanes that failed.
    pub kept: Vec<PathBuf>,
}

/// What the orchestrator is asked and told.
pub(crate) enum Msg {
    /// `again` is what is recorded of it, when it is driven again.
    Run {
        request: Request,
        again: Option<Again>,
        reply: RpcReplyPort<Outcome>,
    },
    /// `run` is the run it belongs to; without one the user asked for it directly.
    Commit {
        run: Option<String>,
        staged: Staged,
        reply: RpcReplyPort<Result<Extent, CommitRefused>>,
    },
    /// `scope` is what wants it: a run, or a lane of one.
    Permit {
        scope: Scope,
        command: CommandLine,
        purpose: Purpose,
        reply: RpcReplyPort<Result<(), Denied>>,
    },
    Settle {
        reply: RpcReplyPort<()>,
    },
    /// The user says something to the request in hand.
    Steer {
        words: String,
        reply: RpcReplyPort<Result<(), NotSteered>>,
    },
    /// Requests that begin from now on keep to `config`.
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
    Told {
        run: String,
        news: Box<News>,
    },
}

/// What came of something the orchestrator started.
pub(crate) enum News {
    /// What a request is, and what it begins with.
    Prepared(Result<(Intent, Brief), Delivery>),
    CrewDone(Result<CrewReport, Unanswered>),
    /// With the task, for the crew if the task is not one for lanes.
    TeamDone(Brief, Result<TeamReport, Unanswered>),
    Answered(Result<String, Unheard>),
    Reviewed(Box<Ending>),
    Mission(MissionNews),
    Committed(Box<Commit>),
    Permitted(Wanted, Result<(), Denied>),
    Approved(RpcReplyPort<Result<(), Denied>>, Result<(), Denied>),
}

/// A command, what wants it, and for what.
type Wanted = (Scope, policy::Command, Purpose);

/// A change that came back from the main tree.
pub(crate) struct Commit {
    tree: Option<MainTree>,
    changes: Vec<Change>,
    put_aside: Vec<PutAside>,
    reply: CommitReply,
    result: Result<Extent, CommitRefused>,
}

/// Tells what was found half done, and settled.
async fn tell_settled(publisher: &Publisher, settled: Vec<Settled>) -> Result<(), JournalClosed> {
    for Settled { label: patch, outcome, left } in settled {
        publisher.publish(Event::CommitSettled { patch, outcome, left }).await?;
    }
    Ok(())
}

impl State {
    /// Settles what other processes left half done in the workspace.
    async fn settle(&mut self) -> Result<(), JournalClosed> {
        // While it is away there is a change on its way, which holds the lock that all others wait for.
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
                tracing::warn!(%error, "what a crash interrupted could not be settled");
                Ok(())
            }
        }
    }
}

struct OrchestratorActor;

/// What the actor begins with.
struct Root {
    setup: Setup,
    main_tree: MainTree,
    /// What was found interrupted, and settled.
    settled: Vec<Settled>,
    terms: Terms,
    publisher: Publisher,
    journal: Arc<Journal>,
    /// Tells of the beginning.
    begun: Event,
    earlier: Earlier,
}

/// The request in hand.
pub(crate) struct Active {
    pub(crate) run: Run,
    request: Request,
    reply: RpcReplyPort<Outcome>,
    /// What must not be done any more, in a run that is resumed: what the user forbade after it began.
    bars: Option<Arc<Rules>>,
    slot: Slot,
    crew: Option<Crew>,
    team: Option<Team>,
    /// Who asks small questions.
    children: Option<Children>,
    /// What a mission began with; nothing where the request is none.
    mission: Option<Brief>,
    /// The card that is approved, as JSON.
    approved: Option<(FileHash, Vec<u8>)>,
    /// What the approved card of a mission answers.
    grant: Option<Arc<Grant>>,
    /// How the lanes of a mission ended.
    written_end: Option<(Delivery, Vec<EndedLane>, Vec<PathBuf>)>,
    /// What a mission had used when its card was approved.
    spent_before: Amount,
    /// The worktrees of its lanes.
    pub(crate) claim: Option<Claim>,
    permits: BTreeMap<Wanted, Permission>,
    /// What the user said to commands, so that lanes do not ask again; and the one place where lanes queue to ask.
    said: Said,
    /// What the patches of this run, and of each part of it, changed so far.
    written: BTreeMap<Scope, policy::PatchTotal>,
    /// What was started for it and is dropped at its end.
    tasks: Vec<JoinHandle<()>>,
    /// What it changed in the workspace so far.
    trail: Trail,
    /// What was put aside of the diffs that changed it.
    put_aside: Vec<PutAside>,
    /// Tells everything that waits for the user to give up.
    stop: watch::Sender<bool>,
    /// The end that was decided while a commit was on its way; it is taken when the tree is back.
    ending: Option<Box<Ending>>,
}

/// What is known of a command's permission.
enum Permission {
    /// The answer, for the rest of the run.
    Known(Result<(), Denied>),
    /// Those who wait for it.
    Asking(Vec<RpcReplyPort<Result<(), Denied>>>),
}

impl Default for Permission {
    fn default() -> Self {
        Self::Asking(Vec::new())
    }
}

/// What was said to a command, by what question.
#[derive(Debug, Clone)]
pub(crate) struct SaidTo {
    ask: String,
    /// Who said no, if it was a no.
    by: DeniedBy,
    result: Result<(), Denied>,
}

type Said = Arc<Mutex<BTreeMap<(policy::Command, Network), SaidTo>>>;

type CommitReply = RpcReplyPort<Result<Extent, CommitRefused>>;

struct State {
    /// The workspace, absolute.
    dir: PathBuf,
    places: Places,
    session: String,
    /// Where sessions are kept.
    sessions: PathBuf,
    /// What runs begin with: it belongs to none, and nobody ever stops it.
    idle: Run,
    /// Keeps `idle` from being stopped.
    _idle: watch::Sender<bool>,
    journal: Arc<Journal>,
    reader: ReadTree,
    index: Index,
    /// Away while a commit is on its way.
    main_tree: Option<MainTree>,
    commits: VecDeque<(Option<String>, Staged, CommitReply)>,
    active: Option<Active>,
    /// The earlier turns of the conversation, the oldest first.
    turns: Vec<Turn>,
    /// The cards of earlier missions to which something may be said, as JSON.
    cards: BTreeMap<FileHash, Vec<u8>>,
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
                steering: actors::steering::Steering::default(),
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
            cards: earlier.cards,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Msg>,
        msg: Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Run { request, again, reply } => {
                state.begin(&myself, request, again, reply).await?;
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
                    tracing::debug!("nobody waits to hear whether it is told");
                }
            }
            Msg::Settle { reply } => {
                state.settle().await?;
                if reply.send(()).is_err() {
                    tracing::debug!("nobody waits for the workspace any more");
                }
            }
            Msg::KeepTo { config, reply } => {
                let kept = state.keep_to(config).await;
                if reply.send(kept).is_err() {
                    tracing::debug!("whoever changed the configuration is gone");
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
            Msg::Told { run, news } => state.told(&myself, &run, *news).await,
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _: ActorRef<Msg>,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        // What works beside the actors has the journal open.
        for task in state.active.iter().flat_map(|active| &active.tasks) {
            task.abort();
        }
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
                state.lost(&myself, &who).await?;
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}
