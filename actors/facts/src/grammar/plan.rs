//! The Architect's contract, `ARCHITECT_PLAN_V1`: its grammar, parsed and printed. Pure.
//!
//! Line-oriented. The deviations in [`crate::grammar::contract`] are tolerated and recorded, and a text may go on in the next
//! line. Anything else that is unknown is an error that quotes the line and the rule. That nothing is to be done may be said
//! without the block.

use std::fmt;

use checks::proves_nothing::hides_failure;
use patch::operations::FileOperation;
use serde::{Deserialize, Serialize};
use shell::{CommandLine, ShellScript};
use tools::count::counted;
use tree::RepoPath;

use crate::grammar::contract::ContractError;
pub use crate::grammar::contract::Leniency;
use crate::grammar::contract::{
    Contract, is_line, is_of_an_answer, note, text_of_line, unmarked, without_dot_slash,
};
use crate::grammar::draft::MayEnd;
use crate::grammar::look::{self, Look, context, ranged};
use crate::grammar::operation::{self, PlannedOperation};

const CONTRACT: Contract = Contract { header: "ARCHITECT_PLAN_V1", footer: "ARCHITECT_PLAN_END" };

/// The line between a plan and a diff that comes with it.
const DRAFT: &str = "EDITOR_DRAFT_V1";

/// What to do, in which files, and how to check it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The steps, in order.
    pub steps: Vec<String>,
    /// The only files that may be changed.
    pub files: Vec<FileIntent>,
    /// What the program does to files by itself, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub operations: Vec<PlannedOperation>,
    /// Other files, or ranges of them, for the Editor to read; each is a [`Look::Context`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub show: Vec<Look>,
    /// Commands that show whether the change works, in order.
    pub verify: Vec<String>,
    /// The acceptance criteria, as written; parsed by [`Self::criteria`].
    pub accept: Vec<String>,
    /// What it takes for granted and could not find out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub assumptions: Vec<String>,
    /// What may go wrong although every check passes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub risks: Vec<String>,
    /// What remains to be planned once this part of the change is made; `None` if the plan is all of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub more: Option<String>,
    /// Why nothing needs to be edited, or nothing more; `None` if something does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub no_edit: Option<String>,
}

/// An acceptance criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Criterion<'p> {
    /// What must be true in the end.
    pub criterion: &'p str,
    /// The plan's check that proves it, if the line names one.
    pub shown_by: Option<&'p str>,
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepMark {
    /// It is in the workspace, and its checks pass as far as any do.
    Done,
    /// It was abandoned, with its plan or with the run.
    Failed,
    /// The change stands, but it touches none of the files that the step names.
    Untouched,
}

/// What the intended change begins with in a file that only tests read.
const TEST_DATA: &str = "test data:";

/// A file and the intended change to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIntent {
    /// The file; it need not exist yet.
    pub path: RepoPath,
    /// Inclusive line ranges to be changed, one-based; empty if the plan names none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub lines: Vec<(usize, usize)>,
    /// The intended change.
    pub intent: String,
}

/// Limits of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanLimits {
    /// Maximum number of files.
    pub max_files: usize,
    /// Maximum number of checks.
    pub max_checks: usize,
    /// Whether it may say that nothing more is needed.
    pub may_end: MayEnd,
}

impl Plan {
    /// Returns the acceptance criteria. A `|` separates the criterion from its check only if one of the plan's checks
    /// follows it; a criterion that is one of the checks is shown by it.
    pub fn criteria(&self) -> impl Iterator<Item = Criterion<'_>> {
        let check = |text: &str| self.verify.iter().find(|known| *known == text.trim());
        self.accept.iter().map(move |line| {
            // A command may contain `|` as well.
            let named = line.match_indices('|').find_map(|(at, _)| {
                let (criterion, named) = line.split_at(at);
                let shown_by = Some(check(named.get(1..)?)?.as_str());
                Some(Criterion { criterion: criterion.trim_end(), shown_by })
            });
            let itself = Criterion { criterion: line, shown_by: check(line).map(String::as_str) };
            named.unwrap_or(itself)
        })
    }

    /// Returns the declared files that a step names, by path or by file name.
    pub fn files_of_step<'p>(&'p self, step: &str) -> Vec<&'p RepoPath> {
        let words: Vec<&str> = step
            .split(|c: char| c.is_whitespace() || "`'\"(),;".contains(c))
            .map(|word| word.trim_end_matches(['.', ':']))
            .collect();
        let is_named = |path: &&RepoPath| {
            let path = path.as_str();
            let name = path.rsplit('/').next().unwrap_or(path);
            words.iter().any(|word| *word == path || *word == name)
        };
        self.touched().filter(is_named).collect()
    }

    /// Returns the mark of each step once a change of the files `changed` stands. A step that names no declared file
    /// shares the fate of the whole.
    pub fn marks(&self, changed: &[&RepoPath]) -> Vec<StepMark> {
        let mark = |step: &String| {
            let named = self.files_of_step(step);
            let is_done = named.is_empty() || named.iter().any(|file| changed.contains(file));
            if is_done { StepMark::Done } else { StepMark::Untouched }
        };
        self.steps.iter().map(mark).collect()
    }

    /// Returns the files that may be changed: those that a diff may touch, and those that operations name.
    pub fn touched(&self) -> impl Iterator<Item = &RepoPath> {
        let operated = self.operations.iter().flat_map(|it| it.operation.paths());
        self.files.iter().map(|file| &file.path).chain(operated)
    }

    /// Returns the operations without their reasons.
    pub fn file_operations(&self) -> Vec<FileOperation> {
        self.operations.iter().map(|it| it.operation.clone()).collect()
    }

    /// Returns the files that only tests read, as the plan says.
    pub fn test_data(&self) -> Vec<RepoPath> {
        let files = self.files.iter().filter(|file| file.intent.starts_with(TEST_DATA));
        files.map(|file| file.path.clone()).collect()
    }

    /// Returns true if an answer has the form of a plan.
    pub fn is_formed(answer: &str) -> bool {
        CONTRACT.is_begun(answer) || without_block(answer).is_some()
    }

    /// Returns true if an answer says that the request is a question: its first line that belongs to an answer does.
    pub fn is_question(answer: &str) -> bool {
        let lines = answer.lines().map(unmarked);
        let mut of_an_answer = lines.filter(|line| is_of_an_answer(line));
        of_an_answer.next().is_some_and(|line| line.starts_with("QUESTION|"))
    }

    /// Splits an answer into the plan and the diff that came with it, if one did.
    pub fn with_draft(answer: &str) -> (&str, Option<&str>) {
        let (mut at, mut is_begun) = (0, false);
        for line in answer.split_inclusive('\n') {
            let (before, rest) = answer.split_at(at);
            let bare = line.trim().trim_matches(['*', '`', '#', ' ']);
            is_begun |= bare == CONTRACT.header;
            if is_begun && bare == DRAFT {
                return (before, rest.get(line.len()..));
            }
            at += line.len();
        }
        (answer, None)
    }

    /// Parses an answer.
    pub fn parse(answer: &str, limits: PlanLimits) -> Result<(Self, Vec<Leniency>), ContractError> {
        let mut reader = Reader { limits, ..Reader::default() };
        if let Some((number, line)) = without_block(answer) {
            let read = reader.line(line).and_then(|()| reader.finish());
            return read
                .map(|plan| (plan, Vec::new()))
                .map_err(|rule| ContractError::at(number, line, rule));
        }
        let block = CONTRACT.read(answer, |_, text| reader.line(text))?;
        let mut tolerances = block.tolerances.clone();
        tolerances.append(&mut reader.tolerances);
        reader.finish().map(|plan| (plan, tolerances)).map_err(|rule| block.error_at_end(rule))
    }
}

/// The rule that a line of no known kind breaks.
const OTHER_LINE: &str = "only PLAN|, FILE|, DELETE|, MOVE|, MODE|, SHOW|, VERIFY|, ACCEPT|, ASSUME|, RISK|, MORE|, \
    NO_EDIT|true| and DONE| lines may stand in the plan";

/// The lines whose text may go on in the next line.
const TEXTS: [&str; 5] = ["PLAN", "ACCEPT", "ASSUME", "RISK", "MORE"];

#[derive(Default)]
struct Reader {
    limits: PlanLimits,
    steps: Vec<String>,
    files: Vec<FileIntent>,
    operations: Vec<PlannedOperation>,
    show: Vec<Look>,
    verify: Vec<String>,
    accept: Vec<String>,
    assumptions: Vec<String>,
    risks: Vec<String>,
    more: Vec<String>,
    no_edit: Option<String>,
    tolerances: Vec<Leniency>,
    /// The key of the line before.
    key: &'static str,
}

impl Default for PlanLimits {
    fn default() -> Self {
        Self { max_files: usize::MAX, max_checks: usize::MAX, may_end: MayEnd::Applied }
    }
}

impl Reader {
    fn line(&mut self, text: &str) -> Result<(), String> {
        if !is_line(text) && self.goes_on(text) {
            note(&mut self.tolerances, Leniency::Continued);
            return Ok(());
        }
        let (key, rest) = text.split_once('|').unwrap_or((text, ""));
        let rest = rest.trim();
        self.key = TEXTS.into_iter().find(|text| *text == key).unwrap_or_default();
        match key {
            "PLAN" => self.steps.push(text_of_line(rest, "PLAN|<step text>")?),
            "ACCEPT" => self.accept.push(text_of_line(rest, "ACCEPT|<criterion>")?),
            "ASSUME" => self.assumptions.push(text_of_line(rest, "ASSUME|<assumption>")?),
            "RISK" => self.risks.push(text_of_line(rest, "RISK|<risk>")?),
            "MORE" => self.more.push(text_of_line(rest, "MORE|<what remains>")?),
            "VERIFY" => {
                let command = text_of_line(rest, "VERIFY|<command>")?;
                let parsed = CommandLine::parse(&command)
                    .map_err(|error| format!("VERIFY needs a command: {error}"))?;
                sound(&parsed)?;
                let most = self.limits.max_checks;
                if self.verify.len() == most {
                    return Err(format!("a plan may name at most {}", counted(most, "check")));
                }
                self.verify.push(command);
            }
            "FILE" => self.file(rest)?,
            "SHOW" => {
                let looks = context(rest, "SHOW|<path>[:<first>-<last>]", &mut self.tolerances)?;
                self.show.extend(looks);
            }
            "NO_EDIT" => {
                let reason = rest.strip_prefix("true|").map(str::trim).unwrap_or_default();
                self.no_edit = Some(text_of_line(reason, "NO_EDIT|true|<reason>")?);
            }
            "DONE" => match self.limits.may_end {
                MayEnd::Applied => self.no_edit = Some(text_of_line(rest, "DONE|<reason>")?),
                MayEnd::NothingApplied => {
                    return Err(
                        "DONE is an answer only once a change is applied: plan it, or write \
                         NO_EDIT|true|<reason>"
                            .to_owned(),
                    );
                }
            },
            key => match operation::read(key, rest, &mut self.tolerances) {
                Some(operation) => self.operations.push(operation?),
                None => return Err(OTHER_LINE.to_owned()),
            },
        }
        Ok(())
    }

    /// Adds a line to the text of the line before, if that is for people or models to read. Returns false if not.
    fn goes_on(&mut self, text: &str) -> bool {
        let texts = match self.key {
            "PLAN" => &mut self.steps,
            "ACCEPT" => &mut self.accept,
            "ASSUME" => &mut self.assumptions,
            "RISK" => &mut self.risks,
            "MORE" => &mut self.more,
            _ => return false,
        };
        let last = texts.last_mut();
        last.map(|last| last.extend([" ", text])).is_some()
    }

    fn file(&mut self, rest: &str) -> Result<(), String> {
        let (path, intent) = rest.split_once('|').unwrap_or((rest, ""));
        let (path, intent) = (path.trim(), text_of_line(intent.trim(), "FILE|<path>|<intent>")?);
        let (path, lines) = ranged(path);
        let bare = without_dot_slash(path, &mut self.tolerances);
        let path = look::path(bare)?;
        match self.files.iter().find(|file| file.path == path) {
            Some(_) => return Err("each file is declared once, with one intent".to_owned()),
            None if lines.is_empty() && self.files_at_large() == self.limits.max_files => {
                return Err(format!(
                    "a plan may declare at most {} without naming the lines that change: name them, \
                     or plan a part and say with MORE|<what remains> what is planned after it",
                    counted(self.limits.max_files, "file")
                ));
            }
            None => self.files.push(FileIntent { path, lines, intent }),
        }
        Ok(())
    }

    /// Returns the number of files whose places are not named.
    fn files_at_large(&self) -> usize {
        self.files.iter().filter(|file| file.lines.is_empty()).count()
    }

    fn finish(self) -> Result<Plan, String> {
        if self.no_edit.is_some() && !self.more.is_empty() {
            return Err("NO_EDIT or DONE and MORE lines exclude each other".to_owned());
        }
        match (&self.no_edit, self.files.is_empty() && self.operations.is_empty()) {
            (Some(_), false) => {
                return Err(
                    "NO_EDIT or DONE and FILE, DELETE, MOVE or MODE lines exclude each other"
                        .to_owned(),
                );
            }
            (None, true) => {
                return Err(
                    "a plan needs a FILE, DELETE, MOVE or MODE line, or NO_EDIT|true|<reason>"
                        .to_owned(),
                );
            }
            (None, false) if self.steps.is_empty() => {
                return Err("a plan needs at least one PLAN line".to_owned());
            }
            (None, false) | (Some(_), true) => {}
        }
        let Self { steps, files, operations, mut show, verify, .. } = self;
        let Self { accept, assumptions, risks, more, no_edit, .. } = self;
        show.dedup();
        let more = (!more.is_empty()).then(|| more.join("; "));
        Ok(Plan {
            steps,
            files,
            operations,
            show,
            verify,
            accept,
            assumptions,
            risks,
            more,
            no_edit,
        })
    }
}

/// Returns the last line of an answer, with its number, if it says without a block that nothing is to be done, and no
/// other line belongs to an answer.
fn without_block(answer: &str) -> Option<(usize, &str)> {
    let lines = || (1..).zip(answer.lines().map(str::trim));
    // Leaked reasoning is not part of the answer.
    let thought = lines().filter(|(_, line)| *line == "</think>").last().map_or(0, |(at, _)| at);
    let said =
        lines().skip(thought).filter(|(_, line)| !line.is_empty() && !line.starts_with("```"));
    let mut of_an_answer = said.clone().filter(|(_, line)| is_of_an_answer(line));
    let (only, last) = (of_an_answer.next()?, said.last()?);
    let ends = ["NO_EDIT|", "DONE|"].iter().any(|key| last.1.starts_with(key));
    (ends && only == last).then_some(last)
}

/// Refuses a check whose failure its exit status does not show, and one that `sh` cannot run.
fn sound(check: &CommandLine) -> Result<(), String> {
    let must_fail = "a VERIFY command must fail when its check does";
    if let Some((syntax, instead)) = check.dialect() {
        return Err(format!("sh runs VERIFY commands and does not know `{syntax}`: {instead}"));
    }
    if let Some(hidden) = hides_failure(check) {
        return Err(format!("{must_fail}: {hidden}"));
    }
    if check.script() == ShellScript::Unknown && check.masks_failure() {
        return Err(format!("{must_fail}, and sh does not understand this one: join with && only"));
    }
    Ok(())
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", CONTRACT.header)?;
        for step in &self.steps {
            writeln!(f, "PLAN|{step}")?;
        }
        for file in &self.files {
            let FileIntent { path, lines, intent } = file;
            let lines: Vec<String> =
                lines.iter().map(|(first, last)| format!("{first}-{last}")).collect();
            let colon = if lines.is_empty() { "" } else { ":" };
            writeln!(f, "FILE|{path}{colon}{}|{intent}", lines.join(","))?;
        }
        for operation in &self.operations {
            writeln!(f, "{operation}")?;
        }
        for look in &self.show {
            writeln!(f, "SHOW|{look}")?;
        }
        for command in &self.verify {
            writeln!(f, "VERIFY|{command}")?;
        }
        for criterion in &self.accept {
            writeln!(f, "ACCEPT|{criterion}")?;
        }
        for assumption in &self.assumptions {
            writeln!(f, "ASSUME|{assumption}")?;
        }
        for risk in &self.risks {
            writeln!(f, "RISK|{risk}")?;
        }
        if let Some(more) = &self.more {
            writeln!(f, "MORE|{more}")?;
        }
        if let Some(reason) = &self.no_edit {
            writeln!(f, "NO_EDIT|true|{reason}")?;
        }
        write!(f, "{}", CONTRACT.footer)
    }
}

#[cfg(test)]
mod tests;
