//! The grammar of `MISSION_PLAN_V1`, in which the researcher plans the mission. Pure.

use std::collections::{BTreeMap, BTreeSet};

use facts::grammar::contract::{Contract, ContractError, text_of_line, without_dot_slash};
use facts::lane_id::LaneId;
use lanes::team::split::path_pattern::Pattern;
use lanes::team::split::team_plan::{LanePlan, TeamPlan};
use tools::count::counted;
use tree::RepoPath;

use crate::card::{Group, SubTask, TaskKind};

const CONTRACT: Contract = Contract { header: "MISSION_PLAN_V1", footer: "MISSION_PLAN_END" };
const GROUP: &str = "GROUP|<number>|<number of the group above, or 0>|<text>";
const UNDER: &str = "UNDER|<number of a group>|<numbers of findings, separated by commas>";
const TASK: &str = "TASK|<id>|read or write|<title>|<goal>";

/// The researcher's plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissionPlan {
    /// The groups of findings.
    pub groups: Vec<Group>,
    /// The tasks.
    pub subtasks: Vec<SubTask>,
}

/// Limits of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanBounds {
    /// Most tasks that change files; each is a lane.
    pub max_writes: usize,
    /// Most tasks overall.
    pub max_tasks: usize,
    /// The highest finding number.
    pub findings: u32,
}

impl MissionPlan {
    /// Returns true if an answer has the form of a plan at all.
    pub fn is_formed(answer: &str) -> bool {
        CONTRACT.is_begun(answer)
    }

    /// Parses an answer.
    pub fn parse(answer: &str, bounds: PlanBounds) -> Result<Self, ContractError> {
        let mut reader = Reader { bounds, groups: BTreeMap::new(), tasks: BTreeMap::new() };
        let block = CONTRACT.read(answer, |_, line| reader.line(line))?;
        let Reader { groups, tasks, .. } = reader;
        let groups = groups.into_values().collect();
        let plan = Self { groups, subtasks: tasks.into_values().collect() };
        plan.check(bounds).map_err(|rule| block.error_at_end(rule))?;
        Ok(plan)
    }

    /// Checks the rules that span several lines.
    fn check(&self, bounds: PlanBounds) -> Result<(), String> {
        let writes = || self.subtasks.iter().filter(|task| task.kind == TaskKind::Write);
        if self.subtasks.is_empty() {
            return Err(format!("a mission has at least one task: {TASK}"));
        }
        if writes().count() > bounds.max_writes {
            return Err(format!("only {} may write", counted(bounds.max_writes, "task")));
        }
        for task in &self.subtasks {
            let SubTask { id, kind, reads, writes, commands, .. } = task;
            match kind {
                TaskKind::Write if writes.is_empty() => {
                    return Err(format!("task {id} writes, and needs a line WRITES|{id}|<path>"));
                }
                TaskKind::Read if reads.is_empty() => {
                    return Err(format!("task {id} reads, and needs a line READS|{id}|<path>"));
                }
                TaskKind::Read if !writes.is_empty() || !commands.is_empty() => {
                    return Err(format!(
                        "task {id} only reads: it writes nothing and runs nothing"
                    ));
                }
                TaskKind::Read | TaskKind::Write => {}
            }
        }
        for (nth, task) in writes().enumerate() {
            for other in writes().take(nth) {
                let same = |own: &&Pattern| other.writes.iter().any(|its| its.overlaps(own));
                if let Some(pattern) = task.writes.iter().find(same) {
                    let (a, b) = (other.id, task.id);
                    return Err(format!(
                        "a file has one owner, and both {a} and {b} could change `{pattern}`"
                    ));
                }
            }
        }
        let order = order(&self.subtasks);
        let stuck = self.subtasks.iter().map(|task| task.id).find(|id| !order.contains(id));
        stuck.map_or(Ok(()), |id| {
            Err(format!("task {id} waits for a task that waits for it, or that is not there"))
        })
    }
}

/// Orders the tasks so that each comes after those it waits for; tasks in a cycle are left out.
pub fn order(tasks: &[SubTask]) -> Vec<LaneId> {
    let mut order: Vec<LaneId> = Vec::new();
    loop {
        let ready = |task: &&SubTask| {
            !order.contains(&task.id) && task.after.iter().all(|it| order.contains(it))
        };
        match tasks.iter().find(ready) {
            Some(task) => order.push(task.id),
            None => return order,
        }
    }
}

/// Returns the tasks that change files as lanes; dependencies through other tasks are kept.
pub fn lanes_of(tasks: &[SubTask]) -> TeamPlan {
    let needs = |task: &SubTask| -> BTreeSet<LaneId> {
        let mut needs: BTreeSet<LaneId> = BTreeSet::new();
        let mut next = task.after.clone();
        while let Some(id) = next.pop() {
            if needs.insert(id) {
                let above = tasks.iter().filter(|task| task.id == id);
                next.extend(above.flat_map(|task| task.after.iter().copied()));
            }
        }
        needs
    };
    let writes = || tasks.iter().filter(|task| task.kind == TaskKind::Write);
    let ids: BTreeSet<LaneId> = writes().map(|task| task.id).collect();
    let lane = |task: &SubTask| LanePlan {
        id: task.id,
        title: task.title.clone(),
        goal: task.goal.clone(),
        brief: None,
        owns: task.writes.clone(),
        after: needs(task).intersection(&ids).copied().collect(),
    };
    TeamPlan { lanes: writes().map(lane).collect() }
}

struct Reader {
    bounds: PlanBounds,
    groups: BTreeMap<u32, Group>,
    tasks: BTreeMap<LaneId, SubTask>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (key, rest) = line.split_once('|').unwrap_or((line, ""));
        match key {
            "GROUP" => return self.group(rest),
            "UNDER" => return self.under(rest),
            "TASK" => return self.task(rest),
            _ => {}
        }
        let (id, text) = rest.split_once('|').unwrap_or((rest, ""));
        let text = text_of_line(text.trim(), &format!("{key}|<id of a task>|<text>"))?;
        let tasks = &mut self.tasks;
        let id: LaneId = id.trim().parse().map_err(|error| format!("{error}"))?;
        let task = tasks.get_mut(&id).ok_or(format!("TASK|{id} must precede this line"))?;
        let bare = without_dot_slash(&text, &mut Vec::new()).to_owned();
        match key {
            "READS" => task.reads.push(
                RepoPath::parse(&bare).map_err(|error| format!("READS: {error}"))?,
            ),
            "WRITES" => task.writes.push(
                bare.parse().map_err(|error| format!("WRITES: {error}"))?,
            ),
            "RUN" => task.commands.push(text),
            "EXPECT" => task.expected = Some(text),
            "ACCEPT" => task.acceptance.push(text),
            "AFTER" => task.after.push(bare.parse().map_err(|error| format!("{error}"))?),
            _ => return Err(
                "only GROUP|, UNDER|, TASK|, READS|, WRITES|, RUN|, EXPECT|, ACCEPT| and AFTER| lines are allowed here"
                    .to_owned(),
            ),
        }
        Ok(())
    }

    fn group(&mut self, rest: &str) -> Result<(), String> {
        let broken = || format!("the line must read {GROUP}");
        let mut fields = rest.splitn(3, '|').map(str::trim);
        let mut number = || fields.next()?.parse::<u32>().ok();
        let (id, above) = (number().ok_or_else(broken)?, number().ok_or_else(broken)?);
        let text = text_of_line(fields.next().unwrap_or_default(), GROUP)?;
        if id == 0 || self.groups.contains_key(&id) {
            return Err("each group has a number of its own, from 1".to_owned());
        }
        if above != 0 && !self.groups.contains_key(&above) {
            return Err(format!("GROUP|{above} must precede this line"));
        }
        let above = Some(above).filter(|above| *above != 0);
        self.groups.insert(id, Group { id, above, text, findings: Vec::new() });
        Ok(())
    }

    fn under(&mut self, rest: &str) -> Result<(), String> {
        let (group, numbers) = rest.split_once('|').ok_or(format!("the line must read {UNDER}"))?;
        let group = group.trim().parse().ok().and_then(|id: u32| self.groups.get_mut(&id));
        let group = group.ok_or("its GROUP line must precede this line")?;
        for number in numbers.split(',').map(str::trim) {
            let number = number.trim_start_matches(['F', 'f', '#']).parse().ok();
            let known = number.filter(|it| (1..=self.bounds.findings).contains(it));
            group
                .findings
                .push(known.ok_or(format!("there is no finding of that number: {UNDER}"))?);
        }
        Ok(())
    }

    fn task(&mut self, rest: &str) -> Result<(), String> {
        let mut fields = rest.splitn(4, '|').map(str::trim);
        let id = fields.next().unwrap_or_default();
        let id: LaneId = id.parse().map_err(|error| format!("{error}"))?;
        let kind = match fields.next() {
            Some("read") => TaskKind::Read,
            Some("write") => TaskKind::Write,
            Some(_) | None => return Err(format!("the line must read {TASK}")),
        };
        let mut text = || text_of_line(fields.next().unwrap_or_default(), TASK);
        let (title, goal) = (text()?, text()?);
        if self.tasks.contains_key(&id) {
            return Err("each task has one TASK line".to_owned());
        }
        if self.tasks.len() >= self.bounds.max_tasks {
            return Err(format!(
                "a mission may have at most {}",
                counted(self.bounds.max_tasks, "task")
            ));
        }
        let task = SubTask {
            id,
            kind,
            title,
            goal,
            reads: Vec::new(),
            writes: Vec::new(),
            commands: Vec::new(),
            expected: None,
            acceptance: Vec::new(),
            after: Vec::new(),
            model: String::new(),
            planner: None,
        };
        self.tasks.insert(id, task);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: PlanBounds = PlanBounds { max_writes: 4, max_tasks: 8, findings: 3 };

    const PLAN: &str = "MISSION_PLAN_V1
GROUP|1|0|the cache
GROUP|2|1|is never emptied
UNDER|2|F1, 3
TASK|01|read|who calls it|List the callers of `get`.
READS|01|src/lib.rs
EXPECT|01|a list
TASK|02|write|empty it|Empty the cache when it is full.
WRITES|02|./src/cache.rs
RUN|02|cargo test
ACCEPT|02|the cache holds at most 100 entries
AFTER|02|01
TASK|03|write|say so|Document the bound.
WRITES|03|docs/
AFTER|03|02
MISSION_PLAN_END";

    fn with(line: &str) -> Result<MissionPlan, ContractError> {
        MissionPlan::parse(
            &PLAN.replace("MISSION_PLAN_END", &format!("{line}\nMISSION_PLAN_END")),
            BOUNDS,
        )
    }

    #[test]
    fn a_complete_plan_is_parsed() {
        let plan = MissionPlan::parse(PLAN, BOUNDS).unwrap();
        assert_eq!(plan.groups[1].above, Some(1));
        assert_eq!(plan.groups[1].findings, [1, 3]);
        let [read, write, docs] = plan.subtasks.as_slice() else { panic!("expected three tasks") };
        assert_eq!((read.kind, read.reads[0].as_str()), (TaskKind::Read, "src/lib.rs"));
        assert_eq!(
            (write.writes[0].as_str(), write.commands[0].as_str()),
            ("src/cache.rs", "cargo test")
        );
        assert_eq!(docs.after, [write.id]);
        let names: Vec<String> = order(&plan.subtasks).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["01", "02", "03"]);
        let lanes = lanes_of(&plan.subtasks);
        assert_eq!(lanes.lanes.len(), 2);
        assert!(lanes.lanes[0].after.is_empty(), "a task that only reads is not a lane");
        assert!(lanes.lanes[1].after.contains(&write.id));
    }

    #[test]
    fn every_broken_rule_is_reported() {
        for (line, rule) in [
            ("TASK|04|delete|x|y", "must read TASK|"),
            ("TASK|04|read|x", "must read TASK|"),
            ("TASK|02|read|x|y", "one TASK line"),
            ("TASK|04|read|x|y", "needs a line READS|04"),
            ("TASK|04|write|x|y", "needs a line WRITES|04"),
            ("WRITES|01|src/lib.rs", "only reads"),
            ("WRITES|03|src/cache.rs", "one owner"),
            ("WRITES|02|../out", "WRITES: the path leads out"),
            ("READS|09|a", "TASK|09 must precede"),
            ("AFTER|01|03", "waits for"),
            ("UNDER|2|7", "no finding of that number"),
            ("UNDER|7|1", "GROUP line"),
            ("GROUP|3|9|x", "GROUP|9 must precede"),
            ("Some talk", "TASK"),
        ] {
            let error = with(line).unwrap_err();
            assert!(error.rule.contains(rule) || line == "Some talk", "{line}: {}", error.rule);
        }
        assert!(MissionPlan::parse("no block", BOUNDS).is_err());
    }
}
