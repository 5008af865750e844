//! The card of a mission: the findings, the tasks, and what they may touch and cost. Approval names the card's hash, so
//! nothing in it can change afterwards. Values only.
//! How it comes about belongs to [`crate::research`].

pub mod card_text;
pub mod cards;
pub mod changes;
pub mod grant;
pub mod phases;
pub mod plan;

use std::collections::{BTreeMap, BTreeSet};

use config::{Config, NetworkReach};
use facts::amounts::Allowance;
use facts::amounts::Amount;
use facts::delivery::Limit;
use facts::lane_id::LaneId;
use lanes::team::split::path_pattern::Pattern;
use model::price::Usd;
use serde::{Deserialize, Serialize};
use tree::{FileHash, RepoPath};

use crate::card::changes::CardChange;
use crate::research::finding::{Confidence, Observation};

/// A group of findings and of further groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The group's number.
    pub id: u32,
    /// The parent group; `None` at the top level.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub above: Option<u32>,
    /// What its findings have in common, in words.
    pub text: String,
    /// Numbers of its findings.
    pub findings: Vec<u32>,
}

/// What a task does to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Only finds something out.
    Read,
    /// Changes files, in a lane of its own.
    Write,
}

impl TaskKind {
    /// Returns the kind's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A task of the mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubTask {
    /// The task's id, which is also that of its lane.
    pub id: LaneId,
    /// What it does to the workspace.
    pub kind: TaskKind,
    /// Short title.
    pub title: String,
    /// What to do, or to find out.
    pub goal: String,
    /// Files whose content it is given.
    pub reads: Vec<RepoPath>,
    /// Files it may change.
    pub writes: Vec<Pattern>,
    /// Commands it may run.
    pub commands: Vec<String>,
    /// The expected result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected: Option<String>,
    /// Criteria that must hold once it is done.
    pub acceptance: Vec<String>,
    /// Tasks that must end before it begins.
    pub after: Vec<LaneId>,
    /// The model that answers it, or edits its files.
    pub model: String,
    /// The model that plans its changes; `None` if it only reads.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub planner: Option<String>,
}

/// A range: least and most.
pub type EstimateRange = (u64, u64);

/// Estimated cost of carrying the card out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Model calls.
    pub calls: EstimateRange,
    /// Prompt and answer tokens.
    pub tokens: EstimateRange,
    /// Billionths of a dollar; `None` if a model has no price.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nano_usd: Option<EstimateRange>,
    /// Seconds.
    pub wall_seconds: EstimateRange,
}

/// How much of the workspace the research read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Files read.
    pub files_seen: usize,
    /// Files that could have been read.
    pub files_total: usize,
    /// Bytes read.
    pub bytes_seen: u64,
    /// Bytes that could have been read.
    pub bytes_total: u64,
}

/// What the mission may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// May change files.
    pub write: bool,
    /// May run commands.
    pub shell: bool,
    /// Commands may use the network.
    pub network: bool,
}

/// Limits of the mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardLimits {
    /// Calls, tokens and money of the whole mission; each is absent if unlimited.
    pub budget: Allowance,
    /// Seconds of one process; zero means no limit.
    pub wall_seconds: u64,
    /// Maximum number of lanes and questions at work at once.
    pub max_subagents: u32,
}

/// The card of a mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The run that researched it.
    pub mission_id: String,
    /// Version of the card, from one; each requested change makes a new version.
    pub version: u32,
    /// The user's goal, in the user's words.
    pub goal: String,
    /// Groups of findings, parents first.
    pub groups: Vec<Group>,
    /// The findings.
    pub findings: Vec<Observation>,
    /// The tasks.
    pub subtasks: Vec<SubTask>,
    /// Numbers of findings with evidence against them.
    pub low_confidence: Vec<u32>,
    /// What the mission may do.
    pub capabilities: Capabilities,
    /// The estimated cost.
    pub estimate: Estimate,
    /// The limits of the mission.
    pub limits: CardLimits,
    /// What the mission had spent when the card was made.
    #[serde(default)]
    pub spent: Amount,
    /// How much was read for it.
    pub coverage: Coverage,
    /// Its base: the files that were read for it, with their hashes.
    #[serde(default)]
    pub files: BTreeMap<RepoPath, FileHash>,
    /// The limit that cut the research short, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_by: Option<Limit>,
    /// How it differs from the version before; empty for the first version.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<CardChange>,
}

/// A card in its recorded form, with the hash that approval names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedCard {
    card: Card,
    json: Vec<u8>,
    hash: FileHash,
}

impl SealedCard {
    /// Seals a new card.
    pub fn new(card: Card) -> Self {
        // Every card can be serialised.
        let json = serde_json::to_vec(&card).unwrap_or_default();
        Self { hash: FileHash::of(&json), card, json }
    }

    /// Reads a recorded card, also one of an earlier version of the program.
    pub fn read(json: Vec<u8>) -> Option<Self> {
        let card = serde_json::from_slice(&json).ok()?;
        Some(Self { hash: FileHash::of(&json), card, json })
    }

    /// Returns the card.
    pub const fn card(&self) -> &Card {
        &self.card
    }

    /// Returns the card without its seal.
    pub fn into_card(self) -> Card {
        self.card
    }

    /// Returns the recorded form.
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// Returns the hash that approval names.
    pub const fn hash(&self) -> FileHash {
        self.hash
    }
}

impl Card {
    /// Returns the task with this id.
    pub fn task(&self, id: LaneId) -> Option<&SubTask> {
        self.subtasks.iter().find(|task| task.id == id)
    }

    /// Returns the numbers of findings with evidence against them.
    pub fn doubted(findings: &[Observation]) -> Vec<u32> {
        let low = |finding: &&Observation| finding.confidence() == Confidence::Low;
        findings.iter().filter(low).map(|finding| finding.id).collect()
    }

    /// Returns the names of the models that work on it.
    pub fn models(&self) -> BTreeSet<&str> {
        let tasks = self.subtasks.iter();
        tasks
            .flat_map(|task| task.planner.iter().chain([&task.model]))
            .map(String::as_str)
            .collect()
    }

    /// Narrows a configuration to the card: its limits, its models, and the network only if it grants it.
    pub fn narrow(&self, config: &mut Config) {
        for SubTask { kind, model, planner, .. } in &self.subtasks {
            let llm = &mut config.llm;
            let role = match kind {
                TaskKind::Read => &mut llm.flash_model,
                TaskKind::Write => &mut llm.base_model,
            };
            role.model.clone_from(model);
            if let Some(planner) = planner {
                llm.max_think_model.model.clone_from(planner);
            }
        }
        if !self.capabilities.network {
            config.sandbox.network = NetworkReach::Own;
        }
        let CardLimits { wall_seconds, max_subagents, .. } = self.limits;
        config.lanes.max_subagents = config.lanes.max_subagents.min(max_subagents);
        let seconds = &mut config.budget.wall_seconds;
        if wall_seconds > 0 && (*seconds == 0 || *seconds > wall_seconds) {
            *seconds = wall_seconds;
        }
        let Allowance { usd, tokens, calls, reasoning } =
            self.ledger(Allowance::from(&config.budget)).0;
        config.budget.usd = usd.map_or(0.0, Usd::dollars);
        config.budget.tokens = tokens.unwrap_or_default();
        config.budget.calls = calls.unwrap_or_default();
        config.budget.reasoning_tokens = reasoning.unwrap_or_default();
    }

    /// Returns true if a limit that a run with the budget `own` has reached is that of the card.
    pub fn sets(&self, limit: Limit, own: &config::Budget) -> bool {
        let CardLimits { budget, wall_seconds, .. } = self.limits;
        let held = self.ledger(Allowance::from(own)).0;
        match limit {
            Limit::Usd => held.usd == budget.usd,
            Limit::Tokens => held.tokens == budget.tokens,
            Limit::Calls => held.calls == budget.calls,
            Limit::Reasoning => held.reasoning == budget.reasoning,
            Limit::WallTime => own.wall_seconds == 0 || wall_seconds <= own.wall_seconds,
            Limit::NoPrice => false,
        }
    }

    /// Returns the limits of a run that continues the mission under the limits `own`, and what counts as spent before it. Of
    /// each quantity, the limit holds that leaves less.
    pub fn ledger(&self, own: Allowance) -> (Allowance, Amount) {
        let Allowance { usd, tokens, calls, reasoning } = self.limits.budget;
        let (usd, nano_usd) =
            limit(own.usd.map(Usd::nanos), usd.map(Usd::nanos), self.spent.nano_usd.nanos());
        let (tokens, used) = limit(own.tokens, tokens, self.spent.tokens);
        let (calls, made) = limit(own.calls, calls, self.spent.calls);
        let (reasoning, thought) = limit(own.reasoning, reasoning, self.spent.reasoning);
        let spent = Amount {
            nano_usd: Usd::from_nanos(nano_usd),
            tokens: used,
            calls: made,
            reasoning: thought,
        };
        (Allowance { usd: usd.map(Usd::from_nanos), tokens, calls, reasoning }, spent)
    }
}

/// Chooses between a run's own limit and that of a card, of which `spent` is spent: returns the limit that leaves less, and
/// what counts as spent of it.
const fn limit(own: Option<u64>, card: Option<u64>, spent: u64) -> (Option<u64>, u64) {
    match (own, card) {
        (Some(own), Some(card)) if own < card.saturating_sub(spent) => (Some(own), 0),
        (None | Some(_), Some(card)) => (Some(card), spent),
        (own, None) => (own, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_limits_the_one_that_leaves_less_holds() {
        assert_eq!(limit(None, None, 7), (None, 0));
        assert_eq!(limit(Some(50), None, 7), (Some(50), 0));
        assert_eq!(limit(None, Some(100), 40), (Some(100), 40));
        assert_eq!(limit(Some(100), Some(100), 40), (Some(100), 40));
        assert_eq!(limit(Some(60), Some(100), 40), (Some(100), 40));
        assert_eq!(limit(Some(59), Some(100), 40), (Some(59), 0));
        assert_eq!(limit(Some(1), Some(100), 140), (Some(100), 140), "nothing is left");
    }

    /// A card as it was recorded before cards named their files and models of planning.
    const EARLIER: &str = r#"{"mission_id":"r","version":1,"goal":"g","groups":[],"findings":[],"subtasks":[{"id":"01","kind":"write","title":"t","goal":"g","reads":[],"writes":["a.txt"],"commands":[],"acceptance":[],"after":[],"model":"m"}],"low_confidence":[],"capabilities":{"write":true,"shell":false,"network":false,"worktree":true},"estimate":{"calls":[2,12],"tokens":[10,20],"wall_seconds":[4,9]},"limits":{"budget":{"usd":null,"tokens":100,"calls":null},"wall_seconds":60,"max_depth":1,"max_subagents":4},"coverage":{"files_seen":1,"files_total":1,"bytes_seen":6,"bytes_total":6},"base":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}"#;

    #[test]
    fn a_card_of_an_earlier_version_keeps_its_hash_and_binds_as_far_as_it_says() {
        let sealed = SealedCard::read(EARLIER.as_bytes().to_vec()).unwrap();
        assert_eq!(sealed.hash(), FileHash::of(EARLIER.as_bytes()));
        let mut config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
        let planner = config.llm.max_think_model.model.clone();
        config.sandbox.network = NetworkReach::Host;
        sealed.card().narrow(&mut config);
        assert_eq!(config.llm.base_model.model, "m");
        assert_eq!(config.llm.max_think_model.model, planner, "it names no model for planning");
        assert_eq!((config.budget.tokens, config.budget.wall_seconds), (100, 60));
        assert_eq!((config.lanes.max_subagents, config.sandbox.network), (4, NetworkReach::Own));
        let again = SealedCard::new(sealed.card().clone());
        assert_ne!(again.hash(), sealed.hash(), "a new card has the new form");
    }
}
