//! The lane planner's contract, `TEAM_PLAN_V1`: its grammar, a parser and printer, and queries on plans. Pure.
//!
//! It is strict and line-oriented, and allows the same deviations as the Architect's contract. A lane owns files; no file
//! has two owners, and a file that no lane owns has none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use actors::talk::prompts::{Prompt, Prompts};
use facts::grammar::contract::{
    Contract, ContractError, Leniency, quoted_line, text_of_line, without_dot_slash,
};
use facts::lane_id::LaneId;
use facts::team::PlannedLane;
use serde::{Deserialize, Serialize};
use tools::count::counted;
use tree::RepoPath;

use crate::team::split::path_pattern::{OwnershipPatternError, Pattern};

const CONTRACT: Contract = Contract { header: "TEAM_PLAN_V1", footer: "TEAM_PLAN_END" };
const LANE: &str = "LANE|<id>|<title>|<goal>";
const OWN: &str = "OWN|<id>|<path or pattern>";
const AFTER: &str = "AFTER|<id>|<id>";

/// Maximum number of OWN lines in a plan, because each is compared with every other.
const MAX_OWN_LINES: usize = 128;

/// A task split into lanes that can work in parallel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamPlan {
    /// The lanes, by id.
    pub lanes: Vec<LanePlan>,
}

/// The plan of one lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanePlan {
    /// The lane's id.
    pub id: LaneId,
    /// A few words, without `|`.
    pub title: String,
    /// What the lane has to do.
    pub goal: String,
    /// Instructions for the lane instead of the goal, if they are longer than other lanes need to see.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub brief: Option<String>,
    /// The files that the lane owns.
    pub owns: Vec<Pattern>,
    /// The lanes that must end before it starts.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub after: BTreeSet<LaneId>,
}

impl LanePlan {
    /// Returns the lane as events describe it.
    pub fn planned(&self) -> PlannedLane {
        PlannedLane {
            lane: self.id,
            title: self.title.clone(),
            goal: self.goal.clone(),
            owns: self.owns.iter().map(|pattern| pattern.as_str().to_owned()).collect(),
            after: self.after.iter().copied().collect(),
        }
    }
}

/// Bounds of a team plan.
#[derive(Debug, Clone, Copy)]
pub struct TeamLimits {
    /// Maximum number of lanes.
    pub max_lanes: usize,
}

impl TeamPlan {
    /// Returns true if an answer looks like a plan at all.
    pub fn is_formed(answer: &str) -> bool {
        CONTRACT.is_begun(answer)
    }

    /// Parses an answer. Also returns where the answer deviates from the grammar and was accepted anyway.
    pub fn parse(answer: &str, limits: TeamLimits) -> Result<(Self, Vec<Leniency>), ContractError> {
        let mut reader = Reader { limits, ..Reader::default() };
        let block = CONTRACT.read(answer, |at, text| reader.line(Line { at, text }))?;
        let mut tolerances = block.tolerances.clone();
        tolerances.append(&mut reader.tolerances);
        match reader.finish() {
            Ok(plan) => Ok((plan, tolerances)),
            Err(Broken::Line(at, rule)) => Err(block.error(at, rule)),
            Err(Broken::Whole(rule)) => Err(block.error_at_end(rule)),
        }
    }

    /// Returns the plan of a team whose only lane makes a change in parts. It owns nothing: its result is what it patched.
    pub fn of_parts(remains: &str) -> Option<Self> {
        let (id, title, goal) = (LaneId::new(1)?, "in parts".to_owned(), remains.to_owned());
        let (brief, owns, after) = (None, Vec::new(), BTreeSet::new());
        Some(Self { lanes: vec![LanePlan { id, title, goal, brief, owns, after }] })
    }

    /// Returns the lane with this id.
    pub fn lane(&self, id: LaneId) -> Option<&LanePlan> {
        self.lanes.iter().find(|lane| lane.id == id)
    }

    /// Returns the lane that owns a file.
    pub fn owner_of(&self, path: &RepoPath) -> Option<LaneId> {
        let owns = |lane: &&LanePlan| lane.owns.iter().any(|pattern| pattern.matches(path));
        self.lanes.iter().find(owns).map(|lane| lane.id)
    }

    /// Returns all lanes that must end before this one starts, directly or indirectly.
    pub fn needs(&self, id: LaneId) -> BTreeSet<LaneId> {
        let mut needs = BTreeSet::new();
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            let after = self.lane(id).into_iter().flat_map(|lane| &lane.after);
            next.extend(after.copied().filter(|needed| needs.insert(*needed)));
        }
        needs
    }

    /// Returns the lanes in merge order: by id, but each after the lanes it waits for.
    pub fn merge_order(&self) -> Vec<LaneId> {
        let mut order = Vec::new();
        let mut merged = BTreeSet::new();
        while let Some(lane) = self.ready(&merged, &merged).first().copied() {
            merged.insert(lane);
            order.push(lane);
        }
        order
    }

    /// Returns the lanes that can start, by id, when those in `ended` have ended and those in `begun` have started.
    pub fn ready(&self, ended: &BTreeSet<LaneId>, begun: &BTreeSet<LaneId>) -> Vec<LaneId> {
        let lanes = self.lanes.iter().filter(|lane| !begun.contains(&lane.id));
        let lanes = lanes.filter(|lane| !ended.contains(&lane.id));
        lanes.filter(|lane| lane.after.is_subset(ended)).map(|lane| lane.id).collect()
    }
}

/// Returns the instructions for the lane planner.
pub fn planner_instructions(prompts: &Prompts, limits: TeamLimits) -> String {
    prompts.render(
        Prompt::LanePlanner,
        &[("max_lanes", &limits.max_lanes), ("max_own_lines", &MAX_OWN_LINES)],
    )
}

/// A line of the answer.
#[derive(Debug, Clone, Copy, Default)]
struct Line<'a> {
    at: usize,
    text: &'a str,
}

/// A rule broken by one line, or by the plan as a whole.
enum Broken {
    Line(usize, String),
    Whole(String),
}

#[derive(Default)]
struct Reader<'a> {
    limits: TeamLimits,
    lanes: BTreeMap<LaneId, (Line<'a>, LanePlan)>,
    owns: Vec<(Line<'a>, LaneId, Pattern)>,
    after: Vec<(Line<'a>, LaneId, LaneId)>,
    tolerances: Vec<Leniency>,
}

impl Default for TeamLimits {
    fn default() -> Self {
        Self { max_lanes: usize::MAX }
    }
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: Line<'a>) -> Result<(), String> {
        let (key, rest) = line.text.split_once('|').unwrap_or((line.text, ""));
        match key {
            "LANE" => self.lane(line, rest),
            "OWN" => self.own(line, rest),
            "AFTER" => self.after(line, rest),
            _ => Err("only LANE|, OWN| and AFTER| lines are allowed in the plan".to_owned()),
        }
    }

    fn lane(&mut self, line: Line<'a>, rest: &str) -> Result<(), String> {
        let (id, rest) = rest.split_once('|').unwrap_or((rest, ""));
        let (title, goal) = rest.split_once('|').unwrap_or((rest, ""));
        let (id, title, goal) =
            (lane_id(id)?, text_of_line(title.trim(), LANE)?, text_of_line(goal.trim(), LANE)?);
        if self.lanes.contains_key(&id) {
            return Err("each lane has one LANE line".to_owned());
        }
        if self.lanes.len() >= self.limits.max_lanes {
            return Err(format!(
                "a plan may have at most {}",
                counted(self.limits.max_lanes, "lane")
            ));
        }
        let plan =
            LanePlan { id, title, goal, brief: None, owns: Vec::new(), after: BTreeSet::new() };
        self.lanes.insert(id, (line, plan));
        Ok(())
    }

    fn own(&mut self, line: Line<'a>, rest: &str) -> Result<(), String> {
        let (id, text) = rest.split_once('|').unwrap_or((rest, ""));
        let (id, text) = (lane_id(id)?, text_of_line(text.trim(), OWN)?);
        let pattern: Pattern = without_dot_slash(&text, &mut self.tolerances)
            .parse()
            .map_err(|error: OwnershipPatternError| error.to_string())?;
        if self.owns.len() >= MAX_OWN_LINES {
            return Err(format!(
                "a plan may have at most {MAX_OWN_LINES} OWN lines: own directories"
            ));
        }
        let same =
            |(.., owner, owned): &&(Line<'_>, LaneId, Pattern)| *owner == id && *owned == pattern;
        if self.owns.iter().find(same).is_some() {
            return Err("this lane already owns that".to_owned());
        }
        self.owns.push((line, id, pattern));
        Ok(())
    }

    fn after(&mut self, line: Line<'a>, rest: &str) -> Result<(), String> {
        let (later, sooner) =
            rest.split_once('|').ok_or_else(|| format!("the line must read {AFTER}"))?;
        let (later, sooner) = (lane_id(later)?, lane_id(sooner)?);
        if later == sooner {
            return Err("a lane cannot wait for itself".to_owned());
        }
        if self.after.iter().any(|(_, l, s)| (*l, *s) == (later, sooner)) {
            return Err("this lane already waits for that one".to_owned());
        }
        self.after.push((line, later, sooner));
        Ok(())
    }

    /// Combines the lines once all are known: they may come in any order.
    fn finish(mut self) -> Result<TeamPlan, Broken> {
        if self.lanes.is_empty() {
            return Err(Broken::Whole(format!("a plan needs at least one lane: {LANE}")));
        }
        self.check_owners()?;
        for (line, id, pattern) in std::mem::take(&mut self.owns) {
            self.known(line, id)?.owns.push(pattern);
        }
        for (line, later, sooner) in self.after.clone() {
            self.known(line, sooner)?;
            self.known(line, later)?.after.insert(sooner);
        }
        if let Some((line, _)) = self.lanes.values().find(|(_, lane)| lane.owns.is_empty()) {
            return Err(Broken::Line(line.at, format!("each lane must own something: {OWN}")));
        }
        let plan = TeamPlan { lanes: self.lanes.into_values().map(|(_, lane)| lane).collect() };
        check_cycles(&plan, &self.after)?;
        Ok(plan)
    }

    /// Returns the lane that a line refers to.
    fn known(&mut self, line: Line<'_>, id: LaneId) -> Result<&mut LanePlan, Broken> {
        let lane = self.lanes.get_mut(&id).map(|(_, lane)| lane);
        lane.ok_or_else(|| Broken::Line(line.at, format!("there is no LANE|{id} in the plan")))
    }

    /// Checks that no path has two owners.
    fn check_owners(&self) -> Result<(), Broken> {
        for (nth, (line, id, pattern)) in self.owns.iter().enumerate() {
            let others = self.owns.iter().take(nth).filter(|(_, other, _)| other != id);
            if let Some((other, ..)) = others.clone().find(|(.., other)| other.overlaps(pattern)) {
                let rule = format!(
                    "a file has only one owner, and line {} could match the same file: `{}`",
                    other.at + 1,
                    quoted_line(other.text)
                );
                return Err(Broken::Line(line.at, rule));
            }
        }
        Ok(())
    }
}

fn lane_id(text: &str) -> Result<LaneId, String> {
    text.trim().parse().map_err(|error| format!("{error}"))
}

/// Checks for lanes that wait for each other, since they would never start.
fn check_cycles(plan: &TeamPlan, after: &[(Line<'_>, LaneId, LaneId)]) -> Result<(), Broken> {
    let Some(cycle) = cycle(plan) else { return Ok(()) };
    let names: Vec<String> = cycle.iter().map(LaneId::to_string).collect();
    let edges: Vec<_> = cycle.iter().copied().zip(cycle.iter().copied().skip(1)).collect();
    // The last of the lines involved closes the cycle.
    let closing = after.iter().filter(|(_, later, sooner)| edges.contains(&(*later, *sooner)));
    let at = closing.map(|(line, ..)| line.at).max().unwrap_or_default();
    Err(Broken::Line(at, format!("lanes cannot wait for each other: {}", names.join(" after "))))
}

/// Returns a cycle of lanes that wait for each other, ends equal: `01 02 01`.
fn cycle(plan: &TeamPlan) -> Option<Vec<LaneId>> {
    let first = plan.lanes.iter().map(|lane| lane.id).find(|id| plan.needs(*id).contains(id))?;
    let mut path = vec![first];
    // Follows the smallest lane that leads back to the first; reaching a lane already on the path closes a shorter
    // cycle.
    while let Some(here) = path.last().copied() {
        let after = &plan.lane(here)?.after;
        let next = after
            .iter()
            .copied()
            .find(|next| *next == first || plan.needs(*next).contains(&first))?;
        let passed = path.iter().position(|id| *id == next);
        path.push(next);
        if let Some(passed) = passed {
            return Some(path.split_off(passed));
        }
    }
    None
}

impl fmt::Display for TeamPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", CONTRACT.header)?;
        for LanePlan { id, title, goal, owns, after, .. } in &self.lanes {
            writeln!(f, "LANE|{id}|{title}|{goal}")?;
            for pattern in owns {
                writeln!(f, "OWN|{id}|{pattern}")?;
            }
            for sooner in after {
                writeln!(f, "AFTER|{id}|{sooner}")?;
            }
        }
        write!(f, "{}", CONTRACT.footer)
    }
}

#[cfg(test)]
mod tests;
