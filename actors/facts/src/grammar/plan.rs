//! The Architect's contract, `ARCHITECT_PLAN_V1`: its grammar, parsed and printed. Pure.
//!
//! Strict and line-oriented. The three deviations in [`crate::grammar::contract`] are tolerated and recorded. Anything else that
//! is unknown is an error that quotes the line and the rule. That nothing is to be done may be said without the block.

use std::fmt;

use checks::proves_nothing::hides_failure;
use serde::{Deserialize, Serialize};
use shell::{CommandLine, ShellScript};
use tools::count::counted;
use tree::RepoPath;

use crate::grammar::contract::ContractError;
pub use crate::grammar::contract::Leniency;
use crate::grammar::contract::{Contract, is_of_an_answer, text_of_line, without_dot_slash};
use crate::grammar::draft::MayEnd;
use crate::grammar::look::{self, Look, context, ranged};

const CONTRACT: Contract = Contract { header: "ARCHITECT_PLAN_V1", footer: "ARCHITECT_PLAN_END" };

/// What to do, in which files, and how to check it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The steps, in order.
    pub steps: Vec<String>,
    /// The only files that may be changed.
    pub files: Vec<FileIntent>,
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
    /// follows it.
    pub fn criteria(&self) -> impl Iterator<Item = Criterion<'_>> {
        self.accept.iter().map(|line| {
            let named = line.rsplit_once('|').and_then(|(criterion, check)| {
                let check = self.verify.iter().find(|known| *known == check.trim())?;
                Some(Criterion { criterion: criterion.trim_end(), shown_by: Some(check) })
            });
            named.unwrap_or(Criterion { criterion: line, shown_by: None })
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
        self.files.iter().map(|file| &file.path).filter(is_named).collect()
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

    /// Returns the files that only tests read, as the plan says.
    pub fn test_data(&self) -> Vec<RepoPath> {
        let files = self.files.iter().filter(|file| file.intent.starts_with(TEST_DATA));
        files.map(|file| file.path.clone()).collect()
    }

    /// Returns true if an answer has the form of a plan.
    pub fn is_formed(answer: &str) -> bool {
        CONTRACT.is_begun(answer) || without_block(answer).is_some()
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

#[derive(Default)]
struct Reader {
    limits: PlanLimits,
    steps: Vec<String>,
    files: Vec<FileIntent>,
    show: Vec<Look>,
    verify: Vec<String>,
    accept: Vec<String>,
    assumptions: Vec<String>,
    risks: Vec<String>,
    no_edit: Option<String>,
    tolerances: Vec<Leniency>,
}

impl Default for PlanLimits {
    fn default() -> Self {
        Self { max_files: usize::MAX, max_checks: usize::MAX, may_end: MayEnd::Applied }
    }
}

impl Reader {
    fn line(&mut self, text: &str) -> Result<(), String> {
        let (key, rest) = text.split_once('|').unwrap_or((text, ""));
        let rest = rest.trim();
        match key {
            "PLAN" => self.steps.push(text_of_line(rest, "PLAN|<step text>")?),
            "ACCEPT" => self.accept.push(text_of_line(rest, "ACCEPT|<criterion>")?),
            "ASSUME" => self.assumptions.push(text_of_line(rest, "ASSUME|<assumption>")?),
            "RISK" => self.risks.push(text_of_line(rest, "RISK|<risk>")?),
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
            _ => {
                return Err("only PLAN|, FILE|, SHOW|, VERIFY|, ACCEPT|, ASSUME|, RISK|, NO_EDIT|true| and DONE| lines may stand in the plan"
                    .to_owned());
            }
        }
        Ok(())
    }

    fn file(&mut self, rest: &str) -> Result<(), String> {
        let (path, intent) = rest.split_once('|').unwrap_or((rest, ""));
        let (path, intent) = (path.trim(), text_of_line(intent.trim(), "FILE|<path>|<intent>")?);
        let (path, lines) = ranged(path);
        let bare = without_dot_slash(path, &mut self.tolerances);
        let path = look::path(bare)?;
        match self.files.iter().find(|file| file.path == path) {
            Some(_) => return Err("each file is declared once, with one intent".to_owned()),
            None if self.files.len() == self.limits.max_files => {
                return Err(format!(
                    "a plan may declare at most {}",
                    counted(self.limits.max_files, "file")
                ));
            }
            None => self.files.push(FileIntent { path, lines, intent }),
        }
        Ok(())
    }

    fn finish(self) -> Result<Plan, String> {
        match (&self.no_edit, self.files.is_empty()) {
            (Some(_), false) => {
                return Err("NO_EDIT or DONE and FILE lines exclude each other".to_owned());
            }
            (None, true) => {
                return Err("a plan needs a FILE line, or NO_EDIT|true|<reason>".to_owned());
            }
            (None, false) if self.steps.is_empty() => {
                return Err("a plan needs at least one PLAN line".to_owned());
            }
            (None, false) | (Some(_), true) => {}
        }
        let Self { steps, files, mut show, verify, accept, assumptions, risks, no_edit, .. } = self;
        show.dedup();
        Ok(Plan { steps, files, show, verify, accept, assumptions, risks, no_edit })
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
        if let Some(reason) = &self.no_edit {
            writeln!(f, "NO_EDIT|true|{reason}")?;
        }
        write!(f, "{}", CONTRACT.footer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAN: &str = "ARCHITECT_PLAN_V1\nPLAN|fix the sum\nFILE|src/lib.rs|use + in total()\nVERIFY|cargo test\nACCEPT|total adds\nARCHITECT_PLAN_END";

    fn parse(answer: &str) -> Result<(Plan, Vec<Leniency>), ContractError> {
        let may_end = MayEnd::Applied;
        Plan::parse(answer, PlanLimits { max_files: 12, max_checks: 3, may_end })
    }

    fn rule(body: &str) -> String {
        parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap_err().to_string()
    }

    #[test]
    fn the_contract_as_written() {
        let (plan, tolerances) = parse(PLAN).unwrap();
        assert_eq!(plan.files[0].path.as_str(), "src/lib.rs");
        assert_eq!(plan.to_string(), PLAN);
        assert!(tolerances.is_empty());
    }

    #[test]
    fn criteria_name_the_checks_that_show_them() {
        let body = "PLAN|a\nFILE|x|b\nVERIFY|cargo test sum\nACCEPT|it adds | cargo test sum\nACCEPT|a|b holds\nACCEPT|it is fast";
        let (plan, _) = parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap();
        let read: Vec<_> = plan.criteria().map(|it| (it.criterion, it.shown_by)).collect();
        let expected =
            [("it adds", Some("cargo test sum")), ("a|b holds", None), ("it is fast", None)];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_step_names_files_by_path_or_name() {
        let body = "PLAN|Call `a.rs`, then (src/b.rs).\nPLAN|Concerning cc\nPLAN|Tidy c\nFILE|src/a.rs|x\nFILE|src/b.rs|y\nFILE|c|z";
        let (plan, _) = parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap();
        let named = |step: usize| plan.files_of_step(&plan.steps[step]);
        assert_eq!(
            named(0),
            ["src/a.rs", "src/b.rs"]
                .map(|it| RepoPath::parse(it).unwrap())
                .iter()
                .collect::<Vec<_>>()
        );
        assert!(named(1).is_empty());
        let changed = RepoPath::parse("src/b.rs").unwrap();
        assert_eq!(plan.marks(&[&changed]), [StepMark::Done, StepMark::Done, StepMark::Untouched]);
    }

    #[test]
    fn a_plan_names_other_files_for_the_editor_to_read() {
        let body = "PLAN|a\nFILE|x|b\nSHOW|./y:3-9,20-30\nSHOW|z";
        let (plan, tolerances) =
            parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap();
        let shown: Vec<String> = plan.show.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["y:3-9", "y:20-30", "z"]);
        assert_eq!(tolerances, [Leniency::DotSlash]);
        assert!(rule("PLAN|a\nFILE|x|b\nSHOW|").contains("SHOW|<path>[:<first>-<last>]"));
        assert!(rule("PLAN|a\nFILE|x|b\nSHOW|y:9-3").contains("one-based"));
    }

    #[test]
    fn the_three_tolerances_are_recorded() {
        let answer =
            format!("Sure, here it is:\n\n```text\n{}\n```\n", PLAN.replace("|src", "|./src"));
        let (plan, tolerances) = parse(&answer).unwrap();
        assert_eq!(plan.files[0].path.as_str(), "src/lib.rs");
        assert_eq!(tolerances, [Leniency::Fence, Leniency::Preamble, Leniency::DotSlash]);
    }

    #[test]
    fn a_plan_together_with_another_answer_is_refused() {
        for other in [
            "NEED_CONTEXT|src/lib.rs",
            "PLAN|a step above the block",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
            "diff --git a/x b/x",
            "*** Begin Patch",
            "TEAM_PLAN_V1\nLANE|01|a|b\nTEAM_PLAN_END",
        ] {
            let above = parse(&format!("I see.\n{other}\n{PLAN}")).unwrap_err();
            assert!(
                above.line == 2 && above.rule.contains("this is not part of the block"),
                "{above}"
            );
            let below = parse(&format!("{PLAN}\n{other}")).unwrap_err();
            assert!(below.rule.contains("nothing may follow"), "{below}");
        }
        let twice = parse(&format!("{PLAN}\n{PLAN}")).unwrap_err();
        assert!(twice.rule.contains("nothing may follow"), "{twice}");
    }

    #[test]
    fn leaked_reasoning_is_ignored() {
        let answer = format!("{}PLAN|or so\n</think>\n{PLAN}", PLAN.replace("lib", "other"));
        assert_eq!(parse(&answer).unwrap().0, parse(PLAN).unwrap().0);
        let within = "ARCHITECT_PLAN_V1\nPLAN|strip </think>\nFILE|x|b\nARCHITECT_PLAN_END";
        assert_eq!(parse(within).unwrap().0.steps, ["strip </think>"]);
    }

    #[test]
    fn a_check_that_fails_in_its_last_part_may_be_joined_to_others() {
        for check in ["cat a | grep -q b", "sh a || exit 1", "sh a; exit $?", "[ -s a ] && sh a"] {
            let body = format!("PLAN|a\nFILE|a|b\nVERIFY|{check}");
            let (plan, _) =
                parse(&format!("ARCHITECT_PLAN_V1\n{body}\nARCHITECT_PLAN_END")).unwrap();
            assert_eq!(plan.verify, [check]);
        }
        let hidden = rule("PLAN|a\nFILE|a|b\nVERIFY|sh a | tee log");
        assert!(hidden.contains("a failure of `sh a` is not seen, since a pipe"), "{hidden}");
    }

    #[test]
    fn every_broken_rule_quotes_its_line() {
        assert_eq!(
            rule("PLAN|a\nFILE|../x|b"),
            "line 3: `FILE|../x|b`: ".to_owned()
                + &RepoPath::parse("../x").unwrap_err().to_string()
        );
        assert!(rule("PLAN|a\nFILE|/etc/passwd|b").contains("line 3: `FILE|/etc/passwd|b`"));
        assert!(rule("PLAN|a\nFILE|.git/config|b").contains("line 3"));
        assert!(rule("PLAN|a\nRETRIEVE|x").contains("only PLAN|"));
        assert!(rule("PLAN|a\nFILE|x").contains("FILE|<path>|<intent>"));
        assert!(rule("PLAN|a\nFILE|x|b\nFILE|./x|c").contains("declared once"));
        assert!(rule("PLAN|a").contains("needs a FILE line"));
        assert!(rule("FILE|a|b").contains("at least one PLAN"));
        assert!(rule("NO_EDIT|true|r\nFILE|a|b\nPLAN|c").contains("exclude"));
        assert!(rule("NO_EDIT|false|r").contains("NO_EDIT|true|<reason>"));
        assert!(rule("PLAN|a\nFILE|a|b\nVERIFY|echo 'x").contains("a quote is not closed"));
        assert!(rule("PLAN|a\nFILE|a|b\nVERIFY|").contains("VERIFY|<command>"));
        assert!(rule("PLAN|a\nFILE|a|b\nVERIFY|cargo test || true").contains("must fail when"));
        assert!(rule("PLAN|a\nFILE|a|b\nVERIFY|cargo test ) | cat").contains("join with && only"));
        let dialect = rule("PLAN|a\nFILE|a|b\nVERIFY|[[ $(<a) == *b ]]");
        assert!(dialect.contains("does not know `[[`: write `[ … ]`"), "{dialect}");
        assert!(parse("no plan").unwrap_err().to_string().contains("line 1: `no plan`"));
        assert!(parse("").is_err());
        assert!(parse("ARCHITECT_PLAN_V1\nPLAN|a").unwrap_err().rule.contains("must end"));
        assert!(
            parse(&format!("{PLAN}\nHope this helps!"))
                .unwrap_err()
                .rule
                .contains("nothing may follow")
        );
    }

    #[test]
    fn the_fourth_check_is_one_too_many() {
        let checks: Vec<String> = (0..4).map(|n| format!("VERIFY|make t{n}")).collect();
        let error = rule(&format!("PLAN|a\nFILE|f|x\n{}", checks.join("\n")));
        assert_eq!(error, "line 7: `VERIFY|make t3`: a plan may name at most 3 checks");
    }

    #[test]
    fn the_thirteenth_file_is_one_too_many() {
        let files: Vec<String> = (0..13).map(|n| format!("FILE|f{n}|x")).collect();
        let error = rule(&format!("PLAN|a\n{}", files.join("\n")));
        assert_eq!(error, "line 15: `FILE|f12|x`: a plan may declare at most 12 files");
    }

    #[test]
    fn a_plan_without_edits_needs_only_a_reason() {
        let (plan, _) =
            parse("ARCHITECT_PLAN_V1\nNO_EDIT|true|it works\nARCHITECT_PLAN_END").unwrap();
        assert_eq!(plan.no_edit.as_deref(), Some("it works"));
    }

    #[test]
    fn that_nothing_more_is_needed_may_be_said_with_and_without_the_block() {
        let reason = |answer: &str| parse(answer).unwrap().0.no_edit.unwrap();
        let block = |line: &str| format!("ARCHITECT_PLAN_V1\n{line}\nARCHITECT_PLAN_END");
        for answer in ["DONE|it works", "I looked again.\n```\nDONE|it works\n```"] {
            assert_eq!(reason(answer), "it works");
        }
        assert_eq!(reason(&block("VERIFY|make check\nDONE|it works")), "it works");
        assert_eq!(reason("NO_EDIT|true|it works"), "it works");
        assert!(rule("DONE|a\nFILE|x|b").contains("exclude each other"));
        assert!(parse("DONE|").unwrap_err().rule.contains("DONE|<reason>"));
        assert!(parse("NEED_CONTEXT|a\nDONE|it works").is_err(), "ask first, or end");
        let may_end = MayEnd::NothingApplied;
        let early = |answer: &str| {
            Plan::parse(answer, PlanLimits { may_end, ..PlanLimits::default() }).unwrap_err()
        };
        for answer in ["DONE|it works", &block("DONE|it works")] {
            assert!(early(answer).rule.contains("only once a change is applied"), "{answer}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_plan_parses_back(
            steps in proptest::collection::vec("[a-z|é ]{0,8}[a-z]", 1..4),
            names in proptest::collection::btree_set("[a-z]{1,6}\\.rs", 1..5),
            intent in "[a-z|]{1,9}",
            lines in proptest::collection::vec((1_usize..9, 9_usize..20), 0..3),
        ) {
            let steps = steps.into_iter().map(|s| s.trim().to_owned()).collect();
            let files = names.iter()
                .map(|name| FileIntent { path: RepoPath::parse(name).unwrap(), lines: lines.clone(), intent: intent.clone() })
                .collect();
            let show = names.iter().zip(&lines).map(|(name, lines)| Look::Context { path: RepoPath::parse(name).unwrap(), lines: Some(*lines) });
            let plan = Plan { steps, files, show: show.collect(), verify: vec!["a b".into()], assumptions: vec!["it | is so".into()], risks: vec!["none".into()], ..Plan::default() };
            prop_assert_eq!(parse(&plan.to_string()).unwrap().0, plan);
        }

        #[test]
        fn no_answer_makes_the_parser_panic(answer in "(ARCHITECT_PLAN_V1\n|PLAN\\||FILE\\||NO_EDIT\\||DONE\\||ARCHITECT_PLAN_END|```|\n|\\PC){0,30}") {
            parse(&answer).ok();
        }
    }
}
