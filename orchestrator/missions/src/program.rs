//! Runs programs that models write over files, from one batch of questions to the next. Each step is a recorded effect
//! that includes the program's remaining state. Its questions are child questions like all others.

use actors::run::Run;
use actors::run::effect::{Effect, Trace};
use actors::talk::child_question::NoAnswer;
use actors::talk::dialogue::{Dialogue, shown_file, shown_lines};
use actors::talk::prompts::{Prompt, Prompts};
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use facts::grammar::contract::{Contract, ContractError};
use facts::scope::Segment;
use facts::words::ProgramEnd;
use futures_util::future::BoxFuture;
use interpreter::{
    Batch, Begin, Excerpt, File, HELPERS, ProgramEnding, ProgramLimits, ProgramOutcome,
    ProgramQuestion, ProgramStep, Task,
};

use crate::children::Children;
use crate::research::passage::SourceFile;

/// Most programs nested within each other, whatever the configuration says.
const DEEPEST: u32 = 2;
/// Name of texts that a program made itself.
const OWN_TEXT: &str = "text";

const CONTRACT: Contract = Contract { header: "PROGRAM_V1", footer: "PROGRAM_END" };

/// The context that a program runs in.
#[derive(Clone)]
pub(crate) struct Programming {
    /// The run, or part of a run, it belongs to.
    pub(crate) run: Run,
    /// The pool that asks its questions.
    pub(crate) children: Children,
    /// The files it can read.
    pub(crate) files: Vec<File>,
    /// Nesting depth of the program; 1 for an outermost one.
    pub(crate) depth: u32,
}

/// Converts sources to the files of a program.
pub(crate) fn program_files(sources: &[SourceFile]) -> Vec<File> {
    let file = |it: &SourceFile| File { path: it.path.to_string(), text: it.text.clone() };
    sources.iter().map(file).collect()
}

impl Programming {
    /// Runs a program until it ends.
    pub(crate) fn conduct<'p>(
        &'p self,
        program: &'p str,
    ) -> BoxFuture<'p, Result<ProgramOutcome, JournalClosed>> {
        // Boxed, since programs can be nested.
        Box::pin(self.steps(program))
    }

    async fn steps(&self, program: &str) -> Result<ProgramOutcome, JournalClosed> {
        let bounds = &self.run.config().missions;
        let limits = ProgramLimits {
            seconds: bounds.program_seconds,
            memory_bytes: bounds.program_memory_mb << 20,
            batches: bounds.program_batches,
            questions: bounds.program_questions,
        };
        let mut begin = Begin::Program(program.to_owned());
        loop {
            let task = Task { limits, files: self.files.clone(), begin };
            match self.run.perform(&mut Stepping { task }).await? {
                ProgramStep::Ended(outcome) => return Ok(outcome),
                ProgramStep::Paused { state, batch } => {
                    let (answers, notes) = self.ask(batch).await?;
                    let why = |none: NoAnswer| none.to_string();
                    let answers = answers.into_iter().map(|it| it.map_err(why)).collect();
                    begin = Begin::Answered { state, answers, notes };
                }
            }
        }
    }

    /// Asks a program's questions. Returns the answers, and notes for the program.
    async fn ask(
        &self,
        Batch { is_recursive, about, questions }: Batch,
    ) -> Result<(Vec<Result<String, NoAnswer>>, Vec<String>), JournalClosed> {
        let depth = self.run.config().missions.max_depth.clamp(1, DEEPEST);
        if is_recursive && self.depth < depth {
            return Ok((self.descend(&about, &questions).await?, Vec::new()));
        }
        let prompts = self.run.prompts();
        let flat = || prompts.render(Prompt::ProgramFlat, &[("depth", &depth)]).trim().to_owned();
        let notes = if is_recursive { vec![flat()] } else { Vec::new() };
        let mut common = self.dialogue();
        if !about.is_empty() {
            let texts = shown(prompts, &about);
            common.say(&prompts.render(Prompt::ProgramTexts, &[("texts", &texts)]));
        }
        let question = |ProgramQuestion { text, about }: &ProgramQuestion| {
            if about.is_empty() {
                return text.clone();
            }
            let texts = shown(prompts, about);
            prompts.render(Prompt::ProgramQuestion, &[("texts", &texts), ("question", text)])
        };
        let questions: Vec<String> = questions.iter().map(question).collect();
        Ok((self.children.ask(&common, &questions, says_something).await?, notes))
    }

    fn dialogue(&self) -> Dialogue {
        Dialogue::new(self.run.prompts().render(Prompt::ProgramChild, &[]), &self.run.redactor)
    }

    /// Has each question answered by a program that a small model writes. They run one after the other, so that a replay
    /// numbers their parts of the run the same way.
    async fn descend(
        &self,
        about: &[Excerpt],
        questions: &[ProgramQuestion],
    ) -> Result<Vec<Result<String, NoAnswer>>, JournalClosed> {
        let mut answers = Vec::new();
        for ProgramQuestion { text, about: own } in questions {
            let files = as_files(about.iter().chain(own), &self.files);
            let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            let wanted = self.run.prompts().render(
                Prompt::ProgramWanted,
                &[("question", text), ("files", &names.join(", ")), ("helpers", &HELPERS)],
            );
            let asked = self.children.ask(&self.dialogue(), &[wanted], writes_a_program).await?;
            let written = asked.into_iter().next().unwrap_or(Err(NoAnswer::Died));
            let program = match written.map(|answer| program(&answer)) {
                Ok(Ok(Some(program))) => program,
                Ok(Ok(None) | Err(_)) => {
                    answers.push(Err(NoAnswer::Unreadable));
                    continue;
                }
                Err(none) => {
                    answers.push(Err(none));
                    continue;
                }
            };
            let part = Segment::Child(self.children.next_number());
            let within = Self {
                run: self.run.at(&self.run.scope().within(part)),
                children: self.children.clone(),
                files,
                depth: self.depth + 1,
            };
            answers.push(match within.conduct(&program).await?.end {
                ProgramEnding::Result(text) => Ok(text),
                ProgramEnding::Raised(_)
                | ProgramEnding::TimedOut
                | ProgramEnding::Died
                | ProgramEnding::NotStarted
                | ProgramEnding::Unreadable => Err(NoAnswer::Unreadable),
            });
        }
        Ok(answers)
    }
}

/// Turns excerpts into the files of a program: an excerpt of a file becomes the complete file, other texts get names of
/// their own. Without excerpts, returns all files.
fn as_files<'e>(about: impl Iterator<Item = &'e Excerpt>, all: &[File]) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for (number, Excerpt { place, text }) in (1..).zip(about) {
        let named = place.as_ref().and_then(|(span, _)| all.iter().find(|it| it.path == span.path));
        let file = named
            .cloned()
            .unwrap_or_else(|| File { path: format!("{OWN_TEXT}-{number}"), text: text.clone() });
        if !files.contains(&file) {
            files.push(file);
        }
    }
    if files.is_empty() { all.to_vec() } else { files }
}

/// Renders texts for a model.
fn shown(prompts: &Prompts, about: &[Excerpt]) -> String {
    let one = |Excerpt { place, text }: &Excerpt| match place {
        None => shown_file(prompts, OWN_TEXT, &format!("{text}\n")),
        Some((span, of)) => {
            let lines = (span.first, span.last, *of);
            shown_lines(prompts, &span.path, lines, &format!("{text}\n"))
        }
    };
    about.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

fn says_something(answer: &str) -> Result<(), ContractError> {
    if answer.trim().is_empty() { Err(ContractError::empty()) } else { Ok(()) }
}

fn writes_a_program(answer: &str) -> Result<(), ContractError> {
    match program(answer)? {
        Some(_) => Ok(()),
        None => Err(ContractError::empty()),
    }
}

/// Extracts the program from an answer; `None` if the answer says that no program is worth its cost.
pub(crate) fn program(answer: &str) -> Result<Option<String>, ContractError> {
    // Indentation matters, but the block only gives trimmed lines: take the lines from the answer itself.
    let mut lines = Vec::new();
    CONTRACT.read(answer, |at, _| {
        lines.push(at);
        Ok(())
    })?;
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return Err(ContractError::empty());
    };
    let text: Vec<&str> = answer.lines().skip(*first).take(last - first + 1).collect();
    let is_none = text.iter().all(|line| line.trim().starts_with("NONE|"));
    Ok((!is_none).then(|| unfenced(&text).join("\n")))
}

/// Strips a Markdown fence around a program.
fn unfenced<'l>(lines: &'l [&'l str]) -> &'l [&'l str] {
    match lines {
        [first, inner @ .., last] if first.trim().starts_with("```") && last.trim() == "```" => {
            inner
        }
        lines => lines,
    }
}

/// Returns true if an answer has a program block.
pub(crate) fn is_begun(answer: &str) -> bool {
    CONTRACT.is_begun(answer)
}

/// Renders a program's outcome for a model; `Err` if it has no result.
pub(crate) fn program_outcome(
    prompts: &Prompts,
    outcome: &ProgramOutcome,
) -> Result<String, String> {
    let ProgramOutcome { end, printed, cites, notes, .. } = outcome;
    let why = match end {
        ProgramEnding::Result(_) => None,
        ProgramEnding::Raised(text) => Some(text.trim()),
        ProgramEnding::TimedOut => Some("it computed longer than it may"),
        ProgramEnding::Died => Some("it used more memory than it may, or the interpreter failed"),
        ProgramEnding::NotStarted => Some("the interpreter could not be started"),
        ProgramEnding::Unreadable => Some("what was kept of it is of another version"),
    };
    let mut parts = Vec::new();
    if let Some(why) = why {
        parts.push(prompts.render(Prompt::ProgramFailed, &[("why", &why)]));
    }
    if !printed.is_empty() {
        let printed = printed.trim_end();
        parts.push(prompts.render(Prompt::ProgramPrinted, &[("printed", &printed)]));
    }
    if !cites.is_empty() {
        let cited: Vec<String> =
            cites.iter().map(|it| format!("{} [{}]", it.claim, it.span)).collect();
        parts.push(prompts.render(Prompt::ProgramCited, &[("cited", &cited.join("\n"))]));
    }
    if !notes.is_empty() {
        parts.push(prompts.render(Prompt::ProgramNotes, &[("notes", &notes.join("; "))]));
    }
    if let ProgramEnding::Result(result) = end {
        parts.push(prompts.render(Prompt::ProgramResult, &[("result", result)]));
    }
    let text = parts.iter().map(|part| part.trim_end()).collect::<Vec<_>>().join("\n");
    if why.is_some() { Err(text) } else { Ok(text) }
}

/// The effect of running a program up to its next questions or its end.
struct Stepping {
    task: Task,
}

impl Effect for Stepping {
    type Outcome = ProgramStep;
    type Stop = JournalClosed;

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other events concern something else")]
    fn look(&mut self, event: &Event) -> Trace<ProgramStep> {
        match event {
            Event::ProgramPaused { state, questions } => {
                let Ok(batch) = serde_json::from_slice(&questions.content) else {
                    return Trace::Done(unreadable());
                };
                Trace::Done(ProgramStep::Paused { state: state.content.to_vec(), batch })
            }
            Event::ProgramEnded { outcome, .. } => {
                let outcome = serde_json::from_slice(&outcome.content);
                Trace::Done(outcome.map_or_else(|_| unreadable(), ProgramStep::Ended))
            }
            _ => Trace::Absent,
        }
    }

    async fn act(&mut self, run: &Run) -> Result<ProgramStep, JournalClosed> {
        let step = interpreter::step(&self.task).await;
        // Batches and outcomes can always be serialised.
        let json = |written: serde_json::Result<Vec<u8>>| Blob::new(written.unwrap_or_default());
        run.record(match &step {
            ProgramStep::Paused { state, batch } => Event::ProgramPaused {
                state: Blob::new(state.clone()),
                questions: json(serde_json::to_vec(batch)),
            },
            ProgramStep::Ended(outcome) => Event::ProgramEnded {
                end: end_of(&outcome.end),
                outcome: json(serde_json::to_vec(outcome)),
            },
        })
        .await?;
        Ok(step)
    }
}

fn unreadable() -> ProgramStep {
    ProgramStep::Ended(ProgramOutcome::of(ProgramEnding::Unreadable))
}

const fn end_of(end: &ProgramEnding) -> ProgramEnd {
    match end {
        ProgramEnding::Result(_) => ProgramEnd::Result,
        ProgramEnding::Raised(_) => ProgramEnd::Raised,
        ProgramEnding::TimedOut => ProgramEnd::TimedOut,
        ProgramEnding::Died => ProgramEnd::Died,
        ProgramEnding::NotStarted => ProgramEnd::NotStarted,
        ProgramEnding::Unreadable => ProgramEnd::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_keeps_its_indentation() {
        let answer =
            "Here:\n```\nPROGRAM_V1\nfor x in files():\n    print(x)\n\nFINAL(1)\nPROGRAM_END\n```";
        let expected = "for x in files():\n    print(x)\n\nFINAL(1)";
        assert_eq!(program(answer).unwrap().as_deref(), Some(expected));
        let fenced = "PROGRAM_V1\n```python\nif x:\n    y\n```\nPROGRAM_END";
        assert_eq!(program(fenced).unwrap().as_deref(), Some("if x:\n    y"));
        assert_eq!(program("PROGRAM_V1\nNONE|reading is enough\nPROGRAM_END"), Ok(None));
        for broken in ["", "print(1)", "PROGRAM_V1\nPROGRAM_END", "PROGRAM_V1\nprint(1)"] {
            assert!(program(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_nested_program_gets_the_files_that_its_question_is_about() {
        let file = |path: &str| File { path: path.to_owned(), text: "one\ntwo".to_owned() };
        let all = [file("a"), file("b")];
        let span = interpreter::SourceLines { path: "b".to_owned(), first: 1, last: 1 };
        let of_file = Excerpt { place: Some((span, 2)), text: "one".to_owned() };
        let own = Excerpt { place: None, text: "made".to_owned() };
        let names = |about: &[Excerpt]| -> Vec<String> {
            as_files(about.iter(), &all).into_iter().map(|file| file.path).collect()
        };
        assert_eq!(names(&[]), ["a", "b"]);
        assert_eq!(names(&[of_file.clone(), of_file.clone(), own]), ["b", "text-3"]);
        assert_eq!(as_files([of_file].iter(), &all)[0].text, "one\ntwo");
    }
}
