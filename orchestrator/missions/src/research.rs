//! The research of a mission: reads and samples files, follows hypotheses, and checks the claims that carry the plan:
//! mechanically, by a small model, and by the model that thinks longest. It only reads.
//! What is approved belongs to [`crate::card`].
//!
//! A budget limit may cut it short; the findings so far are kept.

pub mod compared;
pub mod finding;
pub mod novelty_sampling;
pub mod passage;
pub mod planning;
pub(crate) mod researcher_dialogue;
pub(crate) mod researcher_grammars;
pub mod sources;

use std::collections::BTreeSet;

use actors::run::Run;
use actors::run::command_runner::CommandRunner;
use actors::talk::brief::Brief;
use actors::talk::child_question::NoAnswer;
use actors::talk::dialogue::{Dialogue, shown_file, shown_lines};
use actors::talk::prompts::Prompt;
use facts::closed::JournalClosed;
use facts::delivery::Limit;
use facts::event::Event;
use facts::words::ResearchStep;
use index::Index;
use interpreter::{Cite, HELPERS};
use search::BYTES_PER_TOKEN;
use tree::RepoPath;

use crate::card::{Card, Coverage};
use crate::children::Children;
use crate::program::{self, Programming};
use crate::research::finding::{
    AddedFinding, Judge, Observation, add_finding, findings, tells_findings, tells_verdicts,
    verdicts,
};
use crate::research::novelty_sampling::NoveltySampling;
use crate::research::passage::{Passage, SourceFile, together};
pub use crate::research::researcher_dialogue::ends;
use crate::research::researcher_dialogue::{HasTime, Thread};
use crate::research::researcher_grammars::{
    Hypotheses, Hypothesis, Program, Verdicts, findings_text,
};
use crate::research::sources::{Rereading, SourceReading, WantedFiles};

/// Most file names listed for the researcher; more would only cost tokens.
const MOST_NAMED: usize = 200;
/// Lines of context around evidence when the researcher judges a claim: a single line is seldom enough.
const AROUND: usize = 5;

/// The context of a research.
#[derive(Clone, Copy)]
pub struct Research<'r> {
    /// The run.
    pub run: &'r Run,
    /// The pool that asks child questions.
    pub children: &'r Children,
    /// The mission's brief.
    pub brief: &'r Brief,
    /// The index of the files.
    pub index: &'r Index,
    /// The commands that the researcher may use to look around.
    pub commands: &'r CommandRunner,
}

/// The result of a research.
#[derive(Debug, Clone)]
pub struct Researched {
    /// The files that were read.
    pub sources: Vec<SourceFile>,
    /// How much was read.
    pub coverage: Coverage,
    /// The findings.
    pub findings: Vec<Observation>,
    /// The dialogue with the researcher.
    pub(crate) thread: Thread,
    /// The limit that cut it short, if any.
    pub cut_by: Option<Limit>,
}

/// Files shown together before many questions.
struct Common {
    paths: Vec<RepoPath>,
    dialogue: Dialogue,
}

/// Why the research stops early.
pub(crate) enum Cut {
    Journal(JournalClosed),
    Budget(Limit),
}

impl From<JournalClosed> for Cut {
    fn from(closed: JournalClosed) -> Self {
        Self::Journal(closed)
    }
}

impl Research<'_> {
    /// Researches until done or until the budget runs out.
    pub async fn conduct(self) -> Result<Researched, JournalClosed> {
        let reading = &mut self.reading();
        let read = self.run.perform(reading).await?;
        let mut researched = Researched {
            sources: read.files,
            coverage: read.coverage,
            findings: Vec::new(),
            thread: Thread::new(self.run),
            cut_by: None,
        };
        match self.steps(&mut researched).await {
            Ok(()) => {}
            Err(Cut::Journal(closed)) => return Err(closed),
            Err(Cut::Budget(limit)) => researched.cut_by = Some(limit),
        }
        Ok(researched)
    }

    /// Restores the research of an earlier card, on the current files.
    pub async fn known(self, card: Card) -> Result<Researched, JournalClosed> {
        let Card { findings, coverage, files, .. } = card;
        let sources = if files.is_empty() {
            // Early versions did not list the files.
            self.run.perform(&mut self.reading()).await?.files
        } else {
            let paths = files.into_keys().collect();
            self.run.perform(&mut Rereading { paths, index: self.index }).await?
        };
        let (thread, cut_by) = (Thread::new(self.run), None);
        Ok(Researched { sources, coverage, findings, thread, cut_by })
    }

    fn reading(&self) -> SourceReading<'_> {
        SourceReading { wanted: WantedFiles::About(self.brief.request.clone()), index: self.index }
    }

    async fn steps(self, researched: &mut Researched) -> Result<(), Cut> {
        let mut commons = self.commons(&researched.sources);
        self.sample(researched, &commons).await?;
        for round in 1..=self.run.config().missions.max_programs {
            if !self.compute(researched, round).await? {
                break;
            }
        }
        for round in 1..=self.run.config().missions.hypothesis_rounds {
            if !self.look_further(researched, &mut commons, round).await? {
                break;
            }
        }
        self.check(researched, &commons).await
    }

    /// Builds the shared beginning of the questions about each group of files.
    fn commons(self, sources: &[SourceFile]) -> Vec<Common> {
        let prompts = self.run.prompts();
        let most_bytes = self.run.config().missions.common_tokens.saturating_mul(BYTES_PER_TOKEN);
        let common = |group: Vec<&SourceFile>| {
            let (all, child) =
                (prompts.render(Prompt::Common, &[]), prompts.render(Prompt::MissionChild, &[]));
            let system = format!("{all}\n\n{child}");
            let mut dialogue = Dialogue::new(system, &self.run.redactor);
            let shown =
                |source: &&SourceFile| shown_file(prompts, source.path.as_str(), &source.text);
            let files: Vec<String> = group.iter().map(shown).collect();
            dialogue.say(&prompts.render(
                Prompt::MissionSources,
                &[("goal", &self.brief.request), ("files", &files.join("\n\n"))],
            ));
            let paths = group.iter().map(|source| source.path.clone()).collect();
            Common { paths, dialogue }
        };
        together(sources, most_bytes).into_iter().map(common).collect()
    }

    /// Asks questions about passages, one group of files at a time. Returns the parsed answers with the positions of
    /// their questions.
    async fn ask<T>(
        self,
        commons: &[Common],
        questions: &[(Passage, String)],
        reads: actors::talk::child_question::AnswerCheck,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<(usize, T)>, Cut> {
        let mut answered = Vec::new();
        let mut cut = None;
        for Common { paths, dialogue } in commons {
            if !self.run.perform(&mut HasTime).await? {
                cut = Some(Limit::WallTime);
                break;
            }
            let is_here = |passage: &Passage| paths.contains(&passage.path);
            let here: Vec<usize> = (0..)
                .zip(questions)
                .filter(|(_, (passage, _))| is_here(passage))
                .map(|(at, _)| at)
                .collect();
            let texts: Vec<String> =
                here.iter().filter_map(|at| Some(questions.get(*at)?.1.clone())).collect();
            if texts.is_empty() {
                continue;
            }
            let answers = self.children.ask(dialogue, &texts, reads).await?;
            for (at, answer) in here.into_iter().zip(answers) {
                match answer {
                    Ok(text) => answered.extend(read(&text).map(|it| (at, it))),
                    Err(NoAnswer::Budget(limit)) => cut = Some(limit),
                    Err(NoAnswer::Model(_) | NoAnswer::Unreadable | NoAnswer::Died) => {}
                }
            }
        }
        match cut {
            // Keep the answers so far, even if nothing more can be asked.
            Some(limit) if answered.is_empty() => Err(Cut::Budget(limit)),
            Some(_) | None => Ok(answered),
        }
    }

    async fn tell(
        self,
        step: ResearchStep,
        round: u32,
        (asked, answered, new): (usize, usize, usize),
    ) -> Result<(), JournalClosed> {
        self.run.record(Event::ResearchStep { step, round, asked, answered, new }).await?;
        Ok(())
    }

    /// Runs novelty sampling.
    async fn sample(self, researched: &mut Researched, commons: &[Common]) -> Result<(), Cut> {
        let bounds = &self.run.config().missions;
        let mut sampling = NoveltySampling::new(bounds, &researched.sources);
        let mut cut = None;
        while sampling.enough().is_none() && cut.is_none() {
            let now = sampling.begin();
            if now.is_empty() {
                break;
            }
            let question = |passage: &Passage| {
                let text =
                    self.run.prompts().render(Prompt::MissionPassage, &[("passage", passage)]);
                (passage.clone(), text)
            };
            let questions: Vec<(Passage, String)> = now.iter().map(question).collect();
            let read = |answer: &str| findings(answer).ok();
            let answered = match self.ask(commons, &questions, tells_findings, read).await {
                Ok(answered) => answered,
                Err(Cut::Budget(limit)) => {
                    cut = Some(limit);
                    Vec::new()
                }
                Err(closed @ Cut::Journal(_)) => return Err(closed),
            };
            let count = answered.len();
            let told =
                answered.into_iter().filter_map(|(at, told)| Some((now.get(at)?.clone(), told)));
            let round = sampling.told(&researched.sources, told.collect());
            self.tell(ResearchStep::Sampling, round.level, (now.len(), count, round.new)).await?;
        }
        researched.findings = sampling.into_findings();
        cut.map_or(Ok(()), |limit| Err(Cut::Budget(limit)))
    }

    /// Runs a program of the researcher over the files, if one is worth its cost. Returns true if there was one.
    async fn compute(self, researched: &mut Researched, round: u32) -> Result<bool, Cut> {
        let prompts = self.run.prompts();
        let findings = findings_text(prompts, researched.untold());
        let request = prompts
            .render(Prompt::MissionProgram, &[("findings", &findings), ("helpers", &HELPERS)]);
        let wrote = self.lead(&mut researched.thread, &request, &Program).await?;
        researched.thread.told = researched.findings.len();
        let Some(Some(text)) = wrote else { return Ok(false) };
        let programming = Programming {
            run: self.run.clone(),
            children: self.children.clone(),
            files: program::program_files(&researched.sources),
            depth: 1,
        };
        let outcome = programming.conduct(&text).await?;
        let mut new = 0;
        for Cite { span, claim, novelty, weight } in &outcome.cites {
            let Ok(path) = RepoPath::parse(&span.path) else { continue };
            let passage = Passage { path, first: span.first, last: span.last };
            let cited = (span.first, span.last, *novelty, *weight, claim.clone());
            let Researched { findings, sources, .. } = &mut *researched;
            new += usize::from(
                add_finding(findings, sources, &passage, cited, 0) == AddedFinding::New,
            );
        }
        let came = program::program_outcome(prompts, &outcome).unwrap_or_else(|failed| failed);
        let told = prompts.render(Prompt::MissionComputed, &[("told", &came)]);
        researched.thread.untold.extend([
            told.trim_end(),
            "

",
        ]);
        let (asked, answered) = (outcome.asked, outcome.asked.saturating_sub(outcome.unanswered));
        let counts = (asked as usize, answered as usize, new);
        self.tell(ResearchStep::Program, round, counts).await?;
        Ok(true)
    }

    /// Runs a round of hypotheses. Returns true if another may be worthwhile.
    async fn look_further(
        self,
        researched: &mut Researched,
        commons: &mut Vec<Common>,
        round: u32,
    ) -> Result<bool, Cut> {
        let bounds = &self.run.config().missions;
        let most = (bounds.max_questions / 10).max(1);
        self.refresh(researched);
        let sources = &researched.sources;
        // A file that was not read may exist; reading it will show.
        let is_there = |passage: &Passage| {
            passage.hash(sources).is_some() || sources.iter().all(|it| it.path != passage.path)
        };
        let names: Vec<&str> =
            sources.iter().take(MOST_NAMED).map(|source| source.path.as_str()).collect();
        let prompts = self.run.prompts();
        let request = prompts.render(
            Prompt::MissionHypotheses,
            &[
                ("findings", &findings_text(prompts, researched.untold())),
                ("most", &most),
                ("files", &names.join(", ")),
            ],
        );
        let grammar = Hypotheses { most, is_there: &is_there };
        let made = self.lead(&mut researched.thread, &request, &grammar).await?;
        researched.thread.told = researched.findings.len();
        let Some(hypotheses) = made.filter(|made| !made.is_empty()) else { return Ok(false) };
        commons.extend(self.read_further(researched, &hypotheses).await?);
        let questions: Vec<(Passage, String)> = hypotheses
            .iter()
            .map(|it| {
                (
                    it.passage.clone(),
                    prompts.render(
                        Prompt::MissionCheck,
                        &[("passage", &it.passage), ("question", &it.question)],
                    ),
                )
            })
            .collect();
        let read = |answer: &str| findings(answer).ok();
        let answered = self.ask(commons, &questions, tells_findings, read).await?;
        let (asked, count) = (questions.len(), answered.len());
        let mut new = 0;
        for (at, told) in answered {
            let Some((passage, _)) = questions.get(at) else { continue };
            for one in told {
                let Researched { findings, sources, .. } = &mut *researched;
                new += usize::from(
                    add_finding(findings, sources, passage, one, 0) == AddedFinding::New,
                );
            }
        }
        self.tell(ResearchStep::Hypotheses, round, (asked, count, new)).await?;
        Ok(new > 0)
    }

    /// Reads the files that hypotheses are about and that were not read yet, as far as they fit.
    async fn read_further(
        self,
        researched: &mut Researched,
        hypotheses: &[Hypothesis],
    ) -> Result<Vec<Common>, Cut> {
        let is_read = |path: &RepoPath| researched.sources.iter().any(|it| it.path == *path);
        let about = hypotheses.iter().map(|it| it.passage.path.clone());
        let paths: BTreeSet<RepoPath> = about.filter(|path| !is_read(path)).collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let paths = paths.into_iter().collect();
        let mut read = self.run.perform(&mut Rereading { paths, index: self.index }).await?;
        let mut room = self.run.config().missions.common_tokens.saturating_mul(BYTES_PER_TOKEN);
        read.retain(|file| {
            let left = room.checked_sub(file.text.len());
            room = left.unwrap_or(room);
            left.is_some()
        });
        researched.coverage.files_seen += read.len();
        let bytes: usize = read.iter().map(|file| file.text.len()).sum();
        researched.coverage.bytes_seen += bytes as u64;
        let commons = self.commons(&read);
        researched.sources.extend(read);
        Ok(commons)
    }

    /// Checks the weightiest claims: each by a small model, then all in one question to the model that thinks longest.
    async fn check(self, researched: &mut Researched, commons: &[Common]) -> Result<(), Cut> {
        let mut weighty: Vec<usize> = (0..researched.findings.len()).collect();
        let weight = |at: &usize| researched.findings.get(*at).map(|it| (it.weight, it.novelty));
        weighty.sort_by_key(|at| std::cmp::Reverse(weight(at)));
        weighty.truncate(self.run.config().missions.max_claims);
        weighty.sort_unstable();
        let claims: Vec<Observation> =
            weighty.iter().filter_map(|at| researched.findings.get(*at).cloned()).collect();
        if claims.is_empty() {
            return Ok(());
        }
        let prompts = self.run.prompts();
        let question = |it: &Observation| {
            (
                it.evidence.clone(),
                prompts.render(
                    Prompt::MissionClaim,
                    &[("number", &it.id), ("claim", &it.claim), ("passage", &it.evidence)],
                ),
            )
        };
        let questions: Vec<(Passage, String)> = claims.iter().map(question).collect();
        let read = |answer: &str| verdicts(answer).ok();
        let answered = self.ask(commons, &questions, tells_verdicts, read).await?;
        let count = answered.len();
        for (at, said) in answered {
            let Some(claim) = claims.get(at) else { continue };
            let own = said.into_iter().find(|it| it.claim == claim.id);
            if let Some((finding, own)) = find(researched, claim.id).zip(own) {
                finding.judged(Judge::Flash, own);
            }
        }
        self.tell(ResearchStep::Claims, 1, (questions.len(), count, 0)).await?;
        let shown = claims.iter().map(|claim| {
            let lines = lines_of(self.run, &researched.sources, &claim.evidence);
            prompts.render(
                Prompt::MissionEvidence,
                &[("number", &claim.id), ("claim", &claim.claim), ("lines", &lines)],
            )
        });
        let shown: Vec<String> = shown.collect();
        let request = prompts.render(Prompt::MissionVerify, &[("claims", &shown.join("\n\n"))]);
        self.refresh(researched);
        let said = match self.judge(&request, &Verdicts).await? {
            Some(said) => Some(said),
            None => self.lead(&mut researched.thread, &request, &Verdicts).await?,
        };
        for verdict in said.unwrap_or_default() {
            if let Some(finding) = find(researched, verdict.claim) {
                finding.judged(Judge::Pro, verdict);
            }
        }
        Ok(())
    }
}

fn find(researched: &mut Researched, id: u32) -> Option<&mut Observation> {
    researched.findings.iter_mut().find(|finding| finding.id == id)
}

/// Renders the lines of a passage, with context, for a model.
fn lines_of(run: &Run, sources: &[SourceFile], passage: &Passage) -> String {
    let source = sources.iter().find(|source| source.path == passage.path);
    let of = source.map_or(0, SourceFile::lines);
    let (first, last) = passage.within(AROUND, of);
    let text = source.and_then(|source| source.excerpt(first, last));
    let lines = (first, last, of);
    shown_lines(run.prompts(), passage.path.as_str(), lines, &(text.unwrap_or_default() + "\n"))
}
