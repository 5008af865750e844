//! Candidates for completion on the command line and in a conversation: sessions, patch sets, checkpoints, cards, models and
//! configuration keys. Errors yield no candidates and no message.

use config::{Inputs, Settings};
use front::error::CliError;
use journal::{Reach, Summary};
use orchestrator::workspace::checkpoints::CheckpointHistory;
use tools::clock::{Clock as _, SystemClock, Timestamp};
use tools::ids::short_id;
use tree::Checkpoint;
use tui::{Completion, KeptSession};

use crate::cards::{HASH_SHOWN, cards};
use crate::flags::Global;
use crate::flags::flag_settings::priced_models;
use crate::past::Past;
use crate::render;
use crate::surroundings::Surroundings;

/// A kind of thing that an argument can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nameable {
    Session,
    /// A run that changed the workspace.
    Run,
    /// A staged patch set.
    Patch,
    Checkpoint,
    /// A mission card.
    Card,
    Model,
    /// A configuration key.
    Key,
    /// A configuration key with `=`, to be followed by its value.
    Assignment,
}

/// A candidate for completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Its names, shortest first.
    names: Vec<String>,
    /// A one-line description; may be empty.
    pub(crate) about: String,
}

impl Offer {
    fn new(name: impl Into<String>, about: &str) -> Self {
        let about = about.lines().next().unwrap_or_default();
        Self { names: vec![name.into()], about: render::harmless(about) }
    }

    /// Creates a candidate that can be named by its short or full id.
    fn of_id(id: &str, about: &str) -> Self {
        let mut offer = Self::new(short_id(id), about);
        offer.names.push(id.to_owned());
        offer
    }

    /// Returns it as a candidate in a conversation.
    pub(crate) fn into_candidate(self) -> Completion {
        Completion { names: self.names, about: self.about }
    }

    /// Returns the shortest of its names that starts with `word`.
    pub(crate) fn name(&self, word: &str) -> Option<&str> {
        self.names.iter().map(String::as_str).find(|name| name.starts_with(word))
    }
}

impl Nameable {
    /// Returns what an argument names, given its placeholder in the help.
    pub(crate) fn called(argument: &str) -> Option<Self> {
        Some(match argument {
            "SESSION" => Self::Session,
            "RUN" => Self::Run,
            "PATCH" => Self::Patch,
            "CHECKPOINT" => Self::Checkpoint,
            "HASH" => Self::Card,
            "MODEL" => Self::Model,
            "KEY" => Self::Key,
            "KEY=VALUE" => Self::Assignment,
            _ => return None,
        })
    }

    /// Lists all candidates; those that have a time newest first.
    pub(crate) fn offers(self, around: &Surroundings, global: &Global) -> Vec<Offer> {
        self.known(around, global).unwrap_or_default()
    }

    fn known(self, around: &Surroundings, global: &Global) -> Result<Vec<Offer>, CliError> {
        let past = || Past::find_quietly(around, global);
        let named = |names: Vec<String>| names.into_iter().map(|name| Offer::new(name, ""));
        Ok(match self {
            Self::Session => {
                kept_sessions(&past()?)?.iter().map(|it| Offer::of_id(&it.id, &it.title)).collect()
            }
            Self::Run => {
                let mut offers: Vec<Offer> = Vec::new();
                for Checkpoint { note, .. } in checkpoints(around, global)?.iter().rev() {
                    let run = note.run.as_ref().unwrap_or(&note.session);
                    let offer = Offer::of_id(run, &note.title);
                    if offers.iter().all(|known| known.names != offer.names) {
                        offers.push(offer);
                    }
                }
                offers
            }
            Self::Patch => {
                let staged = past()?.patches()?.into_iter().filter(|patch| !patch.applied);
                staged.map(|patch| Offer::of_id(&patch.id, &patch.title)).collect()
            }
            Self::Checkpoint => {
                let kept = checkpoints(around, global)?;
                let offer = |it: &Checkpoint| Offer::new(it.number.to_string(), &it.note.title);
                kept.iter().rev().map(offer).collect()
            }
            Self::Card => {
                let offer = |hash: String, goal: &str| {
                    let shown = hash.chars().take(HASH_SHOWN).collect::<String>();
                    let Offer { mut names, about } = Offer::new(shown, goal);
                    names.push(hash);
                    Offer { names, about }
                };
                let cards = cards(&past()?)?;
                cards
                    .iter()
                    .rev()
                    .map(|it| offer(it.hash.to_string(), &it.card.card().goal))
                    .collect()
            }
            Self::Model => named(models(&settings(around, global)?)).collect(),
            Self::Key => named(keys(&settings(around, global)?)).collect(),
            Self::Assignment => {
                let keys = keys(&settings(around, global)?);
                named(keys.into_iter().map(|key| key + "=").collect()).collect()
            }
        })
    }
}

/// Lists the checkpoints of the workspace, oldest first. Does not settle an interrupted commit, which another process may be
/// working on.
fn checkpoints(around: &Surroundings, global: &Global) -> Result<Vec<Checkpoint>, CliError> {
    let workspace = around.workspace(global)?;
    let config = settings(around, global)?.config;
    let history = CheckpointHistory::read(&around.places(&workspace)?, &workspace, &config);
    history
        .map(|history| history.checkpoints().to_vec())
        .map_err(|error| crate::checkpoints::unreadable(&error))
}

/// Returns the settings, or the defaults if they cannot be read.
fn settings(around: &Surroundings, global: &Global) -> Result<Settings, CliError> {
    let settings = around.workspace(global).and_then(|dir| around.settings(global, &dir));
    settings.or_else(|error| config::resolve_layers(&Inputs::default()).map_err(|_| error))
}

/// Lists the sessions of this workspace that have a request, newest first, for the session picker.
pub(crate) fn kept_sessions(past: &Past) -> Result<Vec<KeptSession>, CliError> {
    let now = SystemClock.now();
    let asked = past.sessions(Reach::Here)?.into_iter().filter(|it| !it.requests.is_empty());
    let kept = |session: Summary| KeptSession {
        age: age(&session.used, now),
        outcome: session.ended.unwrap_or("interrupted").replace('_', " "),
        title: session
            .requests
            .first()
            .and_then(|it| it.lines().next())
            .unwrap_or_default()
            .to_owned(),
        id: session.id,
    };
    Ok(asked.map(kept).collect())
}

/// Formats how long ago a moment was; empty if `moment` is not a timestamp.
fn age(moment: &str, now: Timestamp) -> String {
    let Ok(then) = moment.parse::<Timestamp>() else { return String::new() };
    let minutes = now.as_second().saturating_sub(then.as_second()) / 60;
    match minutes {
        ..1 => "just now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

/// Lists all configuration keys.
pub(crate) fn keys(settings: &Settings) -> Vec<String> {
    settings.values().iter().map(|(key, ..)| key.clone()).collect()
}

/// Lists the models that the configuration names, for roles or with prices.
pub(crate) fn models(settings: &Settings) -> Vec<String> {
    let llm = &settings.config.llm;
    let named = [&llm.base_model, &llm.max_think_model, &llm.flash_model];
    let named = named.map(|it| it.model.clone());
    let priced = priced_models(settings).into_iter().filter(|model| !model.contains('*'));
    let mut models: Vec<String> = named.into_iter().chain(priced).collect();
    models.sort();
    models.dedup();
    models
}
