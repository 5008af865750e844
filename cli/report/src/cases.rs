//! The cases of an evaluation: a table of the verdicts, and a section for each case. Pure.

use std::fmt::Write as _;

use checks::wording::short_number;
use eval::results::compare::{EvalReport, JudgedCase, Row};
use eval::results::record::{AttemptResult, CaseGround, CaseOrigin, EvalCase, TestVerdict};
use front::describe;
use tools::count::counted;

use crate::evaluation::EvalPageSources;
use crate::figures::{cost, prompt_tokens, time};
use crate::markup::{Escaped, coloured, comparison};

/// Returns a link to the section of a case.
pub(crate) fn case_link(report: &EvalReport, id: &str) -> String {
    let text = Escaped(id);
    match report.cases.iter().position(|judged| judged.case.id == id) {
        Some(at) => format!("<a href=\"#case-{}\">{text}</a>", at + 1),
        None => text.to_string(),
    }
}

/// Renders the table of cases and variants.
pub(crate) fn table(report: &EvalReport) -> String {
    if report.cases.is_empty() {
        return "<p>No cases were drawn.</p>\n".to_owned();
    }
    let mut columns = vec!["Can be judged".to_owned()];
    columns.extend(report.variants.iter().map(|it| Escaped(&it.variant.name).to_string()));
    let row = |(judged, number): (&JudgedCase, usize)| {
        let name = format!(
            "{} <span class=\"title\">{}</span>",
            case_link(report, &judged.case.id),
            Escaped(&judged.case.title)
        );
        let mut cells = vec![ground_in_words(judged.ground.as_ref())];
        cells.extend(judged.rows.iter().zip(1..).map(|(row, variant)| {
            let (class, word) = verdict_in_words(row);
            if is_begun(row) {
                format!(
                    "<a class=\"mark {class}\" href=\"#case-{number}-{variant}\">{}</a>",
                    Escaped(&word)
                )
            } else {
                mark((class, &word))
            }
        }));
        (name, cells)
    };
    let rows: Vec<_> = report.cases.iter().zip(1..).map(row).collect();
    comparison("TestVerdict of the hidden tests on each case", "EvalCase", &columns, &rows)
}

/// Renders a coloured word; the colour alone says nothing.
fn mark((class, word): (&str, &str)) -> String {
    format!("<span class=\"mark {class}\">{}</span>", Escaped(word))
}

const fn is_begun(row: &Row) -> bool {
    row.is_open || !row.attempts.is_empty()
}

fn ground_in_words(ground: Option<&CaseGround>) -> String {
    match ground {
        Some(CaseGround::Holds { .. }) => "yes".to_owned(),
        Some(CaseGround::NoCase { .. }) => mark(("warn", "no case")),
        Some(CaseGround::CannotRun { .. }) => mark(("warn", "cannot run")),
        None => mark(("quiet", "not checked")),
    }
}

const fn kind(verdict: &TestVerdict) -> (&'static str, &'static str) {
    match verdict {
        TestVerdict::Passed => ("good", "passed"),
        TestVerdict::Failed(_) => ("bad", "failed"),
        TestVerdict::CannotRun(_) => ("warn", "cannot run"),
    }
}

fn verdict_in_words(row: &Row) -> (&'static str, String) {
    let (class, word) = match row.verdict() {
        Some(verdict) => kind(verdict),
        None if row.is_open => return ("warn", "interrupted".to_owned()),
        None => return ("quiet", "not judged".to_owned()),
    };
    let attempts = match row.attempts.len() {
        0 | 1 => String::new(),
        count => format!(" at attempt {count}"),
    };
    let open = if row.is_open { ", next attempt interrupted" } else { "" };
    (class, format!("{word}{attempts}{open}"))
}

/// Renders the section of a case, the one with this number.
pub(crate) fn section(judged: &JudgedCase, number: usize, sources: &EvalPageSources<'_>) -> String {
    let JudgedCase { case, ground, rows } = judged;
    let mut text = format!(
        "<section>\n<h3 id=\"case-{number}\">{}: {}</h3>\n<dl class=\"lines\">\n{}</dl>\n{}",
        Escaped(&case.id),
        Escaped(&case.title),
        facts(case, ground.as_ref()),
        remarks(ground.as_ref())
    );
    writeln!(
        text,
        "<details>\n<summary>Request</summary>\n<blockquote>{}</blockquote>\n</details>",
        Escaped(case.request.trim())
    )
    .ok();
    let begun = rows.iter().zip(1..).filter(|(row, _)| is_begun(row));
    for (row, variant) in begun {
        let (class, word) = verdict_in_words(row);
        writeln!(
            text,
            "<h4 id=\"case-{number}-{variant}\">{} {}</h4>",
            Escaped(&row.variant),
            mark((class, &word))
        )
        .ok();
        for (result, attempt) in row.attempts.iter().zip(1..) {
            if case.tries > 1 || row.attempts.len() > 1 {
                let word = mark(kind(&result.verdict));
                writeln!(text, "<h5>Attempt {attempt}: {word}</h5>").ok();
            }
            text.push_str(&attempted(result));
            text.push_str(&shown_diff(&(sources.diff)(&case.id, &row.variant, attempt)));
            text.push_str(&shown_tests(&(sources.tests)(&case.id, &row.variant, attempt)));
        }
        if row.is_open {
            text.push_str("<p>An attempt was interrupted, and is not judged yet.</p>\n");
        }
    }
    text + "</section>\n"
}

fn facts(case: &EvalCase, ground: Option<&CaseGround>) -> String {
    let code = |text: &str| format!("<code>{}</code>", Escaped(text));
    let codes = |texts: &[String]| {
        let texts: Vec<String> = texts.iter().map(|text| code(text)).collect();
        texts.join(", ")
    };
    let origin = match &case.origin {
        CaseOrigin::Commit { id, parent } => format!("commit {}, after {}", code(id), code(parent)),
        CaseOrigin::Exercise { dir, .. } => format!("exercise in {}", code(dir)),
    };
    let mut facts = vec![("From", origin)];
    if !case.group.is_empty() {
        facts.push(("Group", Escaped(&case.group).to_string()));
    }
    facts.push(("Hidden tests", codes(&case.tests)));
    if let Some(CaseGround::Holds { commands, .. }) = ground {
        facts.push(("Run by", codes(commands)));
    }
    if case.tries > 1 {
        facts.push(("Attempts", format!("at most {}", case.tries)));
    }
    let fact =
        |(name, text): (&str, String)| format!("<div><dt>{name}</dt><dd>{text}</dd></div>\n");
    facts.into_iter().map(fact).collect()
}

/// Renders what a reader of the results should know about a case.
fn remarks(ground: Option<&CaseGround>) -> String {
    let remark = |name: &str, text: &str| {
        format!("<p><span class=\"mark warn\">{name}</span>: {}</p>\n", Escaped(text))
    };
    match ground {
        Some(CaseGround::Holds { notes, .. }) => {
            notes.iter().map(|it| remark("Note", it)).collect()
        }
        Some(CaseGround::NoCase { why }) => remark("No case", why),
        Some(CaseGround::CannotRun { why }) => remark("The hidden tests cannot run", why),
        None => "<p>Whether it can be judged has not been checked.</p>\n".to_owned(),
    }
}

/// Renders why an attempt was judged so, how it ended, and what it used.
fn attempted(result: &AttemptResult) -> String {
    let mut text = match &result.verdict {
        TestVerdict::Passed => "<p>The hidden tests pass.</p>\n".to_owned(),
        TestVerdict::Failed(why) => format!("<p>The hidden tests fail: {}</p>\n", Escaped(why)),
        TestVerdict::CannotRun(why) => {
            format!("<p>The hidden tests could not run: {}</p>\n", Escaped(why))
        }
    };
    let ended = result.delivery.as_ref().map(describe::outcome);
    let ended = ended.unwrap_or_else(|| "unknown".to_owned());
    writeln!(text, "<p>End of the request: {}</p>", Escaped(&ended)).ok();
    let AttemptResult { used, refusals, elapsed_ms, .. } = result;
    let [new, cached] = prompt_tokens(used);
    writeln!(
        text,
        "<p class=\"quiet\">{}, {} refused · prompt tokens: new {new}, from the cache {cached} · answer tokens: {} · cost: {} · {}</p>",
        counted(used.calls, "call"),
        counted(*refusals, "answer"),
        short_number(used.output),
        Escaped(&cost(used.cost_nano_usd)),
        time(*elapsed_ms)
    )
    .ok();
    text
}

fn shown_diff(diff: &str) -> String {
    if diff.trim().is_empty() {
        return "<p class=\"quiet\">No diff: nothing was changed, or it was not kept.</p>\n"
            .to_owned();
    }
    format!("<details>\n<summary>Diff</summary>\n{}</details>\n", coloured(diff))
}

fn shown_tests(output: &str) -> String {
    if output.trim().is_empty() {
        return "<p class=\"quiet\">No output of the hidden tests: they did not run, or it was not kept.</p>\n"
            .to_owned();
    }
    format!(
        "<details>\n<summary>Output of the hidden tests</summary>\n<pre tabindex=\"0\" role=\"group\" aria-label=\"output\">{}</pre>\n</details>\n",
        Escaped(output.trim_end())
    )
}
