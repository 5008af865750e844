//! Carries out an approved card: this file asks the tasks that only read; the team runs those that write, as lanes.

use std::collections::{BTreeMap, BTreeSet};

use actors::run::Run;
use actors::talk::dialogue::{Dialogue, shown_file};
use actors::talk::prompts::{Prompt, Prompts};
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use facts::lane_id::LaneId;
use index::Index;
use lanes::team::split::team_plan::TeamPlan;
use tree::RepoPath;

use crate::card::phases::Approved;
use crate::card::plan::{lanes_of, order};
use crate::card::{Card, SubTask, TaskKind};
use crate::children::Children;
use crate::research::compared::Compared;
use crate::research::finding::Observation;
use crate::research::passage::SourceFile;
use crate::research::researcher_grammars::findings_text;
use crate::research::sources::Rereading;

/// Most findings in a lane's brief; the weightiest come first.
const MOST_TOLD: usize = 12;

/// The progress of an approved card.
#[derive(Debug, Clone)]
pub struct Execution {
    /// The approved card.
    pub approved: Approved,
    /// Answers of the tasks that only read.
    pub answers: BTreeMap<LaneId, Option<String>>,
    /// How the files compared with the card when its execution began.
    pub compared: Compared,
    /// True once the tasks that write are over.
    pub written: bool,
}

impl Execution {
    /// Starts with nothing done.
    pub fn new(approved: Approved) -> Self {
        Self { approved, answers: BTreeMap::new(), compared: Compared::default(), written: false }
    }

    fn card(&self) -> &Card {
        self.approved.card()
    }

    /// Returns the lanes of the tasks that write; `None` if there are none or they are over.
    pub fn lanes(&self, prompts: &Prompts) -> Option<TeamPlan> {
        let mut plan = lanes_of(&self.card().subtasks);
        for lane in &mut plan.lanes {
            if let Some(task) = self.card().task(lane.id) {
                lane.brief = Some(self.brief(prompts, task));
            }
        }
        (!self.written && !plan.lanes.is_empty()).then_some(plan)
    }

    /// Renders the brief of a lane.
    fn brief(&self, prompts: &Prompts, task: &SubTask) -> String {
        let near = |it: &Observation| {
            task.writes.iter().any(|pattern| pattern.matches(&it.evidence.path))
                || task.reads.contains(&it.evidence.path)
        };
        let findings = self.findings(prompts, near);
        let reads: Vec<String> = task.reads.iter().map(ToString::to_string).collect();
        let writes: Vec<String> = task.writes.iter().map(ToString::to_string).collect();
        prompts.render(
            Prompt::MissionLane,
            &[
                ("goal", &task.goal),
                ("reads", &listed(&reads)),
                ("findings", &findings),
                ("results", &listed(&self.results(task))),
                ("writes", &listed(&writes)),
                ("commands", &listed(&task.commands)),
                ("acceptance", &listed(&task.acceptance)),
            ],
        )
    }

    /// Renders the weightiest findings that are `near` a task, as they were compared when the execution began.
    fn findings(&self, prompts: &Prompts, near: impl Fn(&Observation) -> bool) -> String {
        let card = self.card();
        let mut near: Vec<Observation> =
            card.findings.iter().filter(|it| near(it)).cloned().collect();
        near.sort_by_key(|it| std::cmp::Reverse(it.weight));
        near.truncate(MOST_TOLD);
        self.compared.note(&mut near);
        if near.is_empty() { listed(&[]) } else { findings_text(prompts, &near) }
    }

    /// Returns true if a task waits for one that writes, directly or through others.
    fn waits_for_writing(&self, id: LaneId) -> bool {
        let mut next = vec![id];
        let mut seen = BTreeSet::new();
        while let Some(task) = next.pop().and_then(|id| self.card().task(id)) {
            for above in &task.after {
                let is_write =
                    self.card().task(*above).is_some_and(|it| it.kind == TaskKind::Write);
                if is_write {
                    return true;
                }
                if seen.insert(*above) {
                    next.push(*above);
                }
            }
        }
        false
    }

    /// Returns the tasks that only read and can be done now, each after those it waits for.
    fn readable(&self) -> Vec<&SubTask> {
        let order = order(&self.card().subtasks);
        let tasks = order.into_iter().filter_map(|id| self.card().task(id));
        tasks
            .filter(|task| task.kind == TaskKind::Read && !self.answers.contains_key(&task.id))
            .filter(|task| self.written || !self.waits_for_writing(task.id))
            .collect()
    }

    /// Rechecks the evidence, and does the tasks that only read and are not waiting for an unfinished task.
    pub async fn read(
        &mut self,
        run: &Run,
        children: &Children,
        index: &Index,
    ) -> Result<(), JournalClosed> {
        let wanted: BTreeSet<RepoPath> = self
            .readable()
            .iter()
            .flat_map(|task| task.reads.clone())
            .chain(self.card().findings.iter().map(|it| it.evidence.path.clone()))
            .collect();
        let paths: Vec<RepoPath> = wanted.into_iter().collect();
        let files = run.perform(&mut Rereading { paths, index }).await?;
        if !self.written {
            let card = self.card();
            self.compared = Compared::of(&card.findings, &card.files, &files);
        }
        // Ask all ready tasks concurrently.
        loop {
            let ready: Vec<SubTask> = self
                .readable()
                .into_iter()
                .filter(|task| task.after.iter().all(|id| self.is_done(*id)))
                .cloned()
                .collect();
            if ready.is_empty() {
                return Ok(());
            }
            let asked = ready.iter().map(|task| self.answer(run, children, &files, task));
            let answers = futures_util::future::try_join_all(asked).await?;
            for (task, answer) in ready.iter().zip(answers) {
                let told = answer.clone().map(Blob::new);
                run.record(Event::TaskAnswered { task: task.id, answer: told }).await?;
                self.answers.insert(task.id, answer);
            }
        }
    }

    fn is_done(&self, id: LaneId) -> bool {
        match self.card().task(id).map(|task| task.kind) {
            Some(TaskKind::Read) => self.answers.contains_key(&id),
            Some(TaskKind::Write) => self.written,
            None => true,
        }
    }

    async fn answer(
        &self,
        run: &Run,
        children: &Children,
        files: &[SourceFile],
        task: &SubTask,
    ) -> Result<Option<String>, JournalClosed> {
        let prompts = run.prompts();
        let shown: Vec<String> = task
            .reads
            .iter()
            .filter_map(|path| files.iter().find(|it| it.path == *path))
            .map(|it| shown_file(prompts, it.path.as_str(), &it.text))
            .collect();
        let mut common = Dialogue::new(prompts.render(Prompt::Common, &[]), &run.redactor);
        common.say(&prompts.render(
            Prompt::MissionSources,
            &[("goal", &self.card().goal), ("files", &shown.join("\n\n"))],
        ));
        let question = prompts.render(
            Prompt::MissionTask,
            &[
                ("goal", &task.goal),
                ("expected", task.expected.as_ref().unwrap_or(&task.title)),
                ("findings", &self.findings(prompts, |it| task.reads.contains(&it.evidence.path))),
                ("results", &listed(&self.results(task))),
            ],
        );
        let answers = children.ask(&common, &[question], |_| Ok(())).await?;
        Ok(answers.into_iter().next().and_then(Result::ok))
    }

    /// Returns the answers of the tasks that this one waits for.
    fn results(&self, task: &SubTask) -> Vec<String> {
        let result = |id: &LaneId| {
            let title = &self.card().task(*id)?.title;
            Some(format!("{title}: {}", self.answers.get(id)?.as_ref()?.trim()))
        };
        task.after.iter().filter_map(result).collect()
    }
}

/// Formats items as a list, one per line.
fn listed(items: &[String]) -> String {
    if items.is_empty() {
        return "- none".to_owned();
    }
    items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
}
