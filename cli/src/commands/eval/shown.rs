//! Shows evaluations: a table, JSON, or an HTML page; lists them, and removes one.

use std::fs;
use std::path::PathBuf;

use checks::wording::short_number;
use clap::Args;
use eval::results::compare::{EvalReport, JudgedCase, Pair, Row, Sums, VariantSums};
use eval::results::interval::Interval;
use eval::results::record::{CaseGround, TestVerdict};
use eval::{EvalPlace, list_evaluations};
use front::error::{CliError, CliErrorKind};
use serde_json::{Value, json};
use tools::count::counted;
use tools::ids::short_id;

use super::site::EvalSite;
use crate::flags::OutputFormat;
use crate::render;

/// Show the results of an evaluation.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The evaluation: its id, the start or end of it, or `latest`, the latest of this workspace if it has any.
    #[arg(value_name = "EVALUATION", default_value = "latest")]
    id: String,
    /// Print a self-contained HTML page with every case.
    #[arg(long)]
    html: bool,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs `deepseek eval show`.
pub(super) fn show(site: &EvalSite<'_>, args: &ShowArgs) -> Result<(), CliError> {
    let place = site.called(&args.id)?;
    let report = EvalSite::report(&place)?;
    if args.html && args.out.is_none() && site.around.stdout_is_terminal {
        let error = "a page is for a browser, not for the terminal";
        return Err(CliError::new(CliErrorKind::Usage, error)
            .hint("`deepseek eval show --html --out results.html` writes it to a file"));
    }
    let text = if args.html {
        let sources = report::EvalPageSources {
            diff: &|case, variant, attempt| place.diff(case, variant, attempt),
            tests: &|case, variant, attempt| place.tests(case, variant, attempt),
            local: &|moment| site.around.local(moment),
        };
        report::evaluation_page(&report, &sources)
    } else if site.global.output == OutputFormat::Text {
        render::harmless(&as_text(&report))
    } else {
        format!("{}\n", as_json(&report))
    };
    let Some(file) = &args.out else {
        render::text(&text);
        return Ok(());
    };
    let file = site.around.cwd.join(file);
    fs::write(&file, text).map_err(|error| {
        let error = format!("cannot write {}: {error}", file.display());
        CliError::new(CliErrorKind::NotDelivered, error)
    })?;
    render::warn(&format!("written to {}", render::harmless(&file.display().to_string())));
    Ok(())
}

/// Prints the results of an evaluation.
pub(super) fn print(report: &EvalReport, output: OutputFormat) {
    if output == OutputFormat::Text {
        render::text(&render::harmless(&as_text(report)));
    } else {
        render::json_line(&as_json(report));
    }
}

pub(super) fn as_json(report: &EvalReport) -> Value {
    json!(report)
}

/// Runs `deepseek eval list`.
pub(super) fn list(site: &EvalSite<'_>) {
    let all = list_evaluations(&site.state);
    let told = |place: &EvalPlace| {
        let report = EvalSite::report(place);
        report.map_err(|error| render::warn(&format!("warning: {error}"))).ok()
    };
    let reports = all.iter().filter_map(told);
    if site.global.output != OutputFormat::Text {
        let all: Vec<Value> = reports
            .map(|it| json!({"id": it.id, "at": it.at, "from": it.from, "cases": it.cases.len(), "variants": it.variants.iter().map(|it| &it.variant.name).collect::<Vec<_>>()}))
            .collect();
        return render::json_line(&json!(all));
    }
    for report in reports {
        let variants: Vec<&str> =
            report.variants.iter().map(|it| it.variant.name.as_str()).collect();
        let variants =
            if variants.is_empty() { "not run yet".to_owned() } else { variants.join(", ") };
        let cases = counted(report.cases.len() as u64, "case");
        let (id, at) = (short_id(&report.id), site.around.local(&report.at));
        render::print_line(&render::harmless(&format!(
            "{id}  {at}  {cases} from {}  {variants}",
            report.from
        )));
    }
}

/// Runs `deepseek eval remove`.
pub(super) fn remove(site: &EvalSite<'_>, id: &str) -> Result<(), CliError> {
    let place = site.called(id)?;
    place.remove().map_err(|error| {
        let error = format!("cannot remove {}: {error}", place.dir().display());
        CliError::new(CliErrorKind::NotDelivered, error)
    })
}

/// Formats the results: the variants, each case, and the variants in pairs.
fn as_text(report: &EvalReport) -> String {
    let mut lines = vec![format!(
        "evaluation {} · {} from {}",
        short_id(&report.id),
        counted(report.cases.len() as u64, "case"),
        report.from
    )];
    lines.extend(grounds(&report.cases));
    for variant in &report.variants {
        lines.push(String::new());
        lines.extend(variant_lines(variant));
    }
    if !report.variants.is_empty() {
        lines.push(String::new());
        lines.extend(report.cases.iter().filter_map(case_line));
    }
    for pair in &report.pairs {
        lines.push(String::new());
        lines.extend(pair_lines(pair));
    }
    lines.join("\n") + "\n"
}

/// Says how many cases hold, by group where there are several, and why others do not.
fn grounds(cases: &[JudgedCase]) -> Vec<String> {
    let mut groups: Vec<&str> = cases.iter().map(|judged| judged.case.group.as_str()).collect();
    groups.dedup();
    let mut lines = Vec::new();
    for group in groups {
        let of_group = || cases.iter().filter(move |judged| judged.case.group == group);
        let count = |is: fn(&CaseGround) -> bool| {
            of_group().filter(|judged| judged.ground.as_ref().is_some_and(is)).count()
        };
        let holds = count(|ground| matches!(ground, CaseGround::Holds { .. }));
        let no_case = count(|ground| matches!(ground, CaseGround::NoCase { .. }));
        let cannot_run = count(|ground| matches!(ground, CaseGround::CannotRun { .. }));
        let all = of_group().count();
        if !group.is_empty() || holds < all {
            let name = if group.is_empty() { "cases" } else { group };
            lines.push(format!(
                "  {name}: {holds} of {all} can be judged, {no_case} are no cases, {cannot_run} cannot run here"
            ));
        }
    }
    lines
}

fn variant_lines(variant: &VariantSums) -> Vec<String> {
    let sums = &variant.sums;
    let rate = variant.pass_rate.map(|it| format!(" · {}", percent(&it))).unwrap_or_default();
    let at_once = if sums.passed_at_once < sums.passed {
        format!(" ({} at the first attempt)", sums.passed_at_once)
    } else {
        String::new()
    };
    let verified: Vec<String> =
        sums.verified.iter().map(|(claim, count)| format!("{count} {}", claim.words())).collect();
    let wrong = match sums.wrongly_verified {
        0 => String::new(),
        wrong => format!(" · {wrong} verified although the hidden tests fail"),
    };
    let mut lines = vec![
        format!("{} · {}", variant.variant.name, variant.variant.version),
        format!(
            "  hidden tests: {} passed{at_once}, {} failed, {} cannot run{rate}",
            sums.passed, sums.failed, sums.cannot_run
        ),
        format!(
            "  delivered {} of {}: {}{wrong}",
            sums.delivered,
            sums.judged,
            verified.join(", ")
        ),
        format!("  {}", used(sums)),
    ];
    for (group, sums) in &variant.groups {
        lines.push(format!(
            "  {group}: {} passed, {} failed, {} cannot run",
            sums.passed, sums.failed, sums.cannot_run
        ));
    }
    lines
}

fn used(sums: &Sums) -> String {
    let used = &sums.used;
    let cost = used.cost_nano_usd.map_or_else(|| "cost unknown".to_owned(), |it| it.to_string());
    let refused = match sums.refusals {
        0 => String::new(),
        refused => format!(", {} refused", counted(refused, "answer")),
    };
    format!(
        "{}{refused} · tokens {} new, {} cached, {} out · {cost} · {} s",
        counted(used.calls, "call"),
        short_number(used.new + used.unknown),
        short_number(used.cached),
        short_number(used.output),
        sums.elapsed_ms / 1000
    )
}

fn case_line(judged: &JudgedCase) -> Option<String> {
    let verdict = |row: &Row| match row.verdict() {
        Some(TestVerdict::Passed) if row.attempts.len() > 1 => {
            format!("pass({})", row.attempts.len())
        }
        Some(TestVerdict::Passed) => "pass".to_owned(),
        Some(TestVerdict::Failed(_)) => "FAIL".to_owned(),
        Some(TestVerdict::CannotRun(_)) => "cannot run".to_owned(),
        None if row.is_open => "interrupted".to_owned(),
        None => "-".to_owned(),
    };
    if !matches!(judged.ground, Some(CaseGround::Holds { .. })) {
        return None;
    }
    let verdicts: Vec<String> = judged.rows.iter().map(verdict).collect();
    Some(format!("  {:<24} {}  {}", judged.case.id, verdicts.join("  "), judged.case.title))
}

fn pair_lines(pair: &Pair) -> Vec<String> {
    let difference =
        pair.difference.map_or_else(|| "none: no case differs".to_owned(), |it| points(&it));
    let ids = |cases: &[String]| {
        if cases.is_empty() { "none".to_owned() } else { cases.join(", ") }
    };
    vec![
        format!("{} against {}, on {} cases", pair.second, pair.first, pair.both_judged),
        format!("  difference {difference}; by chance alone {:.0} %", pair.chance * 100.0),
        format!("  only {}: {}", pair.first, ids(&pair.only_first)),
        format!("  only {}: {}", pair.second, ids(&pair.only_second)),
    ]
}

/// Formats a rate with its interval, in percent.
fn percent(rate: &Interval) -> String {
    let [value, low, high] = [rate.value, rate.low, rate.high].map(|it| it * 100.0);
    format!("{value:.0} % (95 %: {low:.0} to {high:.0})")
}

/// Formats a difference of rates with its interval, in percentage points.
fn points(difference: &Interval) -> String {
    let [value, low, high] =
        [difference.value, difference.low, difference.high].map(|it| it * 100.0);
    format!("{value:+.0} points (95 %: {low:+.0} to {high:+.0})")
}
