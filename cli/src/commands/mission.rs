//! `deepseek mission`: researches a goal, shows a card and executes it once approved.

use clap::{Args, Subcommand};
use facts::delivery::{Delivery, Limit};
use facts::event::Event;
use facts::words::{AnsweredCard, CardAnswer};
use front::error::{CliError, CliErrorKind};
use front::exit;
use front::session::SessionChoice;
use orchestrator::request::Request;
use orchestrator::request::intent::RequestIntent;
use serde_json::{Value, json};

use crate::cards::{HASH_SHOWN, KnownCard, cards};
use crate::commands::once::once;
use crate::drive::{Drive, WorkspaceUse};
use crate::flags::{Global, OutputFormat};
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;

/// How many characters of a card's hash its approval takes at least.
const LEAST_TO_APPROVE: usize = 8;

/// Research a goal; execute it once you approve the mission card.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub(crate) struct MissionArgs {
    /// The goal, without quotes.
    goal: Vec<String>,
    /// Execute an earlier card for the same goal, by its hash (at least 8 characters), without asking.
    #[arg(long, value_name = "HASH", requires = "goal")]
    approve_mission: Option<String>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the cards of this workspace and their states.
    List,
    /// Show a card.
    Show {
        /// The card's hash, or the start of it [default: the latest card].
        hash: Option<String>,
    },
    /// Show the research behind a card: its steps and child questions.
    Explain {
        /// The card's hash, or the start of it [default: the latest card].
        hash: Option<String>,
    },
    /// Approve and execute a card.
    Approve {
        /// The card's hash, or at least 8 characters of its start.
        hash: String,
    },
    /// Reject a card.
    Reject {
        /// The card's hash, or the start of it.
        hash: String,
    },
    /// Ask for a changed version of a card.
    Modify {
        /// The card's hash, or the start of it.
        hash: String,
        /// The requested change, without quotes.
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Resume an interrupted mission.
    Resume,
}

/// Runs the command.
pub(crate) async fn run(
    around: &Surroundings,
    global: &Global,
    args: &MissionArgs,
) -> Result<(), CliError> {
    let past = || Past::find(around, global);
    let find = |hash: &str| one(cards(&past()?)?, hash);
    let approved = |hash: &str| {
        let known = find(hash)?;
        may_approve(global, &known, hash).map(|()| known)
    };
    let latest = |hash: &Option<String>| match hash {
        Some(hash) => find(hash),
        None => cards(&past()?)?.pop().ok_or_else(none_yet),
    };
    match &args.action {
        Some(Action::List) => list(around, global, &cards(&past()?)?),
        Some(Action::Show { hash }) => show(global, &latest(hash)?),
        Some(Action::Explain { hash }) => explain(&past()?, &latest(hash)?)?,
        Some(Action::Approve { hash }) => {
            return say(around, global, approved(hash)?, CardAnswer::Approved).await;
        }
        Some(Action::Reject { hash }) => {
            return say(around, global, find(hash)?, CardAnswer::Rejected).await;
        }
        Some(Action::Modify { hash, words }) => {
            return say(around, global, find(hash)?, CardAnswer::Modify(words.join(" "))).await;
        }
        Some(Action::Resume) => {
            return super::run::run(around, global, &super::run::RunArgs::latest()).await;
        }
        None => {
            let goal = args.goal.join(" ");
            let Some(hash) = &args.approve_mission else {
                return once(around, global, goal, Some(RequestIntent::Mission)).await;
            };
            let known = approved(hash)?;
            let its = &known.card.card().goal;
            if *its != goal {
                let error = format!("card {} has a different goal: {its}", known.hash);
                return Err(CliError::new(CliErrorKind::Usage, render::harmless(&error))
                    .hint(format!("deepseek mission approve {}", known.hash)));
            }
            return say(around, global, known, CardAnswer::Approved).await;
        }
    }
    Ok(())
}

/// Answers a card, in the session that it was made in.
async fn say(
    around: &Surroundings,
    global: &Global,
    known: KnownCard,
    answer: CardAnswer,
) -> Result<(), CliError> {
    if !known.state.is_open() {
        let error = format!("card {} is {}", known.hash, known.state.name());
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint("`deepseek mission list` shows which cards are open"));
    }
    let workspace = around.workspace(global)?;
    let settings = around.settings(global, &workspace)?;
    let mut view = render::view(around, global);
    let which = SessionChoice::Earlier(known.session.clone());
    let mut drive =
        Drive::open(around, &settings, workspace, which, WorkspaceUse::Write, view.as_mut())
            .await?;
    Drive::warn_of_peak(&settings, view.as_mut());
    let card = Some(AnsweredCard { hash: known.hash, answer });
    let its = known.card.into_card();
    let request = Request { card, ..Request::new(its.goal.clone(), Some(RequestIntent::Mission)) };
    let outcome = drive.run(request, view.as_mut()).await?;
    let ended = exit::exit_error(&outcome.delivery, None);
    if let Delivery::BudgetExhausted { limit, .. } = outcome.delivery
        && its.sets(limit, &settings.config.budget)
    {
        return ended.map_err(|error| error.hint(with_another_card(limit)));
    }
    ended
}

/// How the user can raise a limit that a card sets.
fn with_another_card(limit: Limit) -> String {
    let flag = match limit {
        Limit::Usd => " --budget-usd USD",
        Limit::Tokens => " --budget-tokens N",
        Limit::Calls | Limit::Reasoning | Limit::WallTime | Limit::NoPrice => "",
    };
    format!(
        "its card sets this limit: for a card with a higher one, start the mission again with `deepseek mission \"GOAL\"{flag}`; answered questions are not paid for again"
    )
}

/// Checks that an approval means this card, and nothing that it does not say.
fn may_approve(global: &Global, known: &KnownCard, hash: &str) -> Result<(), CliError> {
    let whole = format!("deepseek mission approve {}", known.hash);
    if hash.len() < LEAST_TO_APPROVE {
        let error = format!(
            "`{hash}` is too short: a card is approved by at least {LEAST_TO_APPROVE} characters of its hash"
        );
        return Err(CliError::new(CliErrorKind::Usage, error).hint(whole));
    }
    let models = known.card.card().models();
    if let Some(model) = &global.model
        && models.iter().any(|named| named != model)
    {
        let models = known.card.card().carried_out_by();
        let error =
            render::harmless(&format!("the card is carried out by {models}, not by {model}"));
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint(format!("approve it without --model: {whole}")));
    }
    Ok(())
}

/// Finds the only card whose hash starts with `hash`.
fn one(cards: Vec<KnownCard>, hash: &str) -> Result<KnownCard, CliError> {
    let mut matching = cards.into_iter().filter(|it| it.hash.to_string().starts_with(hash));
    let found = matching.next().filter(|_| !hash.is_empty()).ok_or_else(|| {
        CliError::new(CliErrorKind::Usage, format!("there is no card {hash} in this workspace"))
            .hint("`deepseek mission list` lists them; a mission makes its card before it changes anything")
    })?;
    if matching.any(|other| other.hash != found.hash) {
        return Err(CliError::new(CliErrorKind::Usage, format!("`{hash}` matches several cards"))
            .hint("use more characters of the hash"));
    }
    Ok(found)
}

fn none_yet() -> CliError {
    CliError::new(CliErrorKind::Usage, "there are no missions in this workspace yet")
        .hint("to start one: deepseek mission \"GOAL\"")
}

fn list(around: &Surroundings, global: &Global, cards: &[KnownCard]) {
    if global.output != OutputFormat::Text {
        render::json_line(&cards.iter().map(as_json).collect::<Vec<Value>>().into());
        return;
    }
    if cards.is_empty() {
        render::warn("there are no missions in this workspace yet");
    }
    for KnownCard { hash, at, card, state, .. } in cards {
        let (version, goal) = (card.card().version, render::harmless(&card.card().goal));
        let hash: String = hash.to_string().chars().take(HASH_SHOWN).collect();
        let (at, state) = (around.local(at), state.name());
        render::print_line(&format!("{hash}  {at}  {state:<15}  version {version}  {goal}"));
    }
}

fn show(global: &Global, known: &KnownCard) {
    if global.output == OutputFormat::Text {
        render::text(&format!("{}\nState    {}\n", known.card, known.state.name()));
    } else {
        render::json_line(&as_json(known));
    }
}

fn as_json(KnownCard { session, run, hash, at, card, state }: &KnownCard) -> Value {
    let state = state.name().replace(' ', "_");
    json!({"session": session, "run": run, "hash": hash, "at": at, "state": state, "card": card.card()})
}

/// Prints the steps of a card's research, with the events of each child question.
fn explain(past: &Past, known: &KnownCard) -> Result<(), CliError> {
    let story = past.story(&known.session)?;
    for entry in story.entries.iter().filter(|entry| entry.run == known.run) {
        let is_told = matches!(
            entry.event,
            Some(
                Event::MissionPhaseChanged { .. }
                    | Event::SourcesRead { .. }
                    | Event::EvidenceCompared { .. }
                    | Event::ResearchStep { .. }
                    | Event::ResearchCut { .. }
                    | Event::CardMade { .. }
                    | Event::CardAnswered { .. }
                    | Event::ProgramPaused { .. }
                    | Event::ProgramEnded { .. }
                    | Event::ChildAsked { .. }
                    | Event::ChildEnded { .. }
                    | Event::TaskAnswered { .. }
                    | Event::MissionReported { .. }
            )
        );
        if is_told {
            let asked = match &entry.event {
                Some(Event::ChildAsked { question, .. }) => {
                    journal::read::content(&past.dir(&known.session), question).ok()
                }
                Some(_) | None => None,
            };
            let asked = String::from_utf8_lossy(&asked.unwrap_or_default()).into_owned();
            let asked = asked.lines().next().unwrap_or_default();
            let line = front::describe::event(&story, entry);
            render::print_line(render::harmless(&format!("{line} {asked}")).trim_end());
        }
    }
    Ok(())
}
