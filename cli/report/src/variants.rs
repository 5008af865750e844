//! The variants of an evaluation in tables: each with its sums, and compared in pairs. Pure.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use checks::wording::short_number;
use eval::results::compare::{EvalReport, Pair, Sums};
use eval::results::interval::rate;
use eval::results::record::{OwnVerdict, UsedTotals};
use model::price::Usd;

use crate::cases::case_link;
use crate::figures::{
    UNKNOWN, all_tokens, cost, percent, points, probability, prompt_tokens, time, times,
};
use crate::markup::{Escaped, comparison};

/// Only told where there can be more attempts.
const AT_ONCE: &str = "Passed at the first attempt";

/// Renders the tables of variants: over all cases, and for each group.
pub(crate) fn tables(report: &EvalReport) -> String {
    if report.variants.is_empty() {
        return "<p>No variant has been entered.</p>\n".to_owned();
    }
    let all = report.variants.iter().map(|it| Some(&it.sums));
    let versions = report.variants.iter().map(|it| escaped(&it.variant.version)).collect();
    let mut text =
        table(report, "All cases", all.collect(), vec![("Version".to_owned(), versions)]);
    text.push_str(&group_tables(report));
    text + "<p class=\"quiet\">Cases whose hidden tests cannot run do not count in the pass rate. Wrongly verified is what was delivered as proven or passed although the hidden tests fail.</p>\n"
}

/// Renders a table of the pass rates in each group, and below it what is counted in each; empty without groups.
fn group_tables(report: &EvalReport) -> String {
    let groups = report.variants.iter().flat_map(|it| it.groups.keys());
    let groups: BTreeSet<&String> = groups.collect();
    if groups.is_empty() {
        return String::new();
    }
    let (mut rates, mut tables) = (Vec::new(), String::new());
    for group in groups {
        let own = report.variants.iter().map(|it| it.groups.get(group));
        let own: Vec<Option<&Sums>> = own.collect();
        rates.push((escaped(group), own.iter().map(|sums| pass_rate(*sums)).collect()));
        let table = table(report, &escaped(group), own, Vec::new());
        let name = Escaped(group);
        writeln!(tables, "<details>\n<summary>All figures: {name}</summary>\n{table}</details>")
            .ok();
    }
    comparison("Pass rate by group (95 % interval)", "Group", &names(report), &rates) + &tables
}

fn names(report: &EvalReport) -> Vec<String> {
    report.variants.iter().map(|it| escaped(&it.variant.name)).collect()
}

fn pass_rate(sums: Option<&Sums>) -> String {
    let (passed, all) = sums.map_or((0, 0), |sums| (sums.passed, sums.passed + sums.failed));
    match rate(passed, all) {
        None => UNKNOWN.to_owned(),
        rate => format!("{passed} of {all}: {}", percent(rate)),
    }
}

fn table(
    report: &EvalReport,
    caption: &str,
    all: Vec<Option<&Sums>>,
    mut rows: Vec<(String, Vec<String>)>,
) -> String {
    let columns = all.into_iter().map(counted_of).collect();
    rows.extend(turned(columns));
    let has_tries = report.cases.iter().any(|judged| judged.case.tries > 1);
    rows.retain(|(name, _)| has_tries || name != AT_ONCE);
    comparison(caption, "Variant", &names(report), &rows)
}

/// Returns what is counted of a variant, with its name. What it used on nothing is not known.
fn counted_of(sums: Option<&Sums>) -> Vec<(&'static str, String)> {
    let none = Sums::default();
    let sums = sums.unwrap_or(&none);
    let [new, cached] = prompt_tokens(&sums.used);
    let how =
        |claim: OwnVerdict| sums.verified.get(&claim).copied().unwrap_or_default().to_string();
    let wrong = match sums.wrongly_verified {
        0 => "0".to_owned(),
        wrong => format!("<span class=\"mark bad\">{wrong}</span>"),
    };
    let mut counted = vec![
        ("Cases judged", sums.judged.to_string()),
        ("Passed", sums.passed.to_string()),
        (AT_ONCE, sums.passed_at_once.to_string()),
        ("Failed", sums.failed.to_string()),
        ("Cannot run", sums.cannot_run.to_string()),
        ("Pass rate (95 % interval)", pass_rate(Some(sums))),
        ("Delivered", sums.delivered.to_string()),
        ("Delivered as proven", how(OwnVerdict::Proven)),
        ("Delivered as passed", how(OwnVerdict::Passed)),
        ("Delivered, not verified", how(OwnVerdict::NotVerified)),
        ("Delivered without a change", how(OwnVerdict::NoChange)),
        ("Not delivered", how(OwnVerdict::NotDelivered)),
        ("End not known", how(OwnVerdict::Unknown)),
        ("Wrongly verified", wrong),
        ("Answers refused", sums.refusals.to_string()),
        ("Model calls", sums.used.calls.to_string()),
        ("New prompt tokens", new),
        ("Prompt tokens from the cache", cached),
        ("Answer tokens", short_number(sums.used.output)),
        ("Cost", escaped(&cost(sums.used.cost_nano_usd))),
        ("Time", time(sums.elapsed_ms)),
    ];
    if sums.judged == 0 {
        let unknown = counted.iter_mut().skip(1);
        unknown.for_each(|(_, cell)| UNKNOWN.clone_into(cell));
    }
    counted
}

/// Turns columns with the names of their cells into rows.
fn turned(columns: Vec<Vec<(&'static str, String)>>) -> Vec<(String, Vec<String>)> {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for column in columns {
        if rows.is_empty() {
            rows.extend(column.iter().map(|(name, _)| ((*name).to_owned(), Vec::new())));
        }
        for ((_, cells), (_, cell)) in rows.iter_mut().zip(column) {
            cells.push(cell);
        }
    }
    rows
}

/// Renders the section of pairs; empty if there are none.
pub(crate) fn pairs(report: &EvalReport) -> String {
    if report.pairs.is_empty() {
        return String::new();
    }
    let name = |pair: &Pair| {
        format!("First: {}<br>Second: {}", Escaped(&pair.first), Escaped(&pair.second))
    };
    let names: Vec<String> = report.pairs.iter().map(name).collect();
    let rows = turned(report.pairs.iter().map(|pair| compared(report, pair)).collect());
    format!(
        "<section aria-labelledby=\"pairs\">\n<h2 id=\"pairs\">Pairs</h2>\n{}<p class=\"quiet\">Only cases that both passed or failed count. The interval of a difference is exact given the number of cases that only one of the two passed.</p>\n</section>\n",
        comparison("Variants in pairs", "Pair", &names, &rows)
    )
}

fn compared(report: &EvalReport, pair: &Pair) -> Vec<(&'static str, String)> {
    let Pair { both_judged, both_passed, only_first, only_second, .. } = pair;
    let links = |cases: &[String]| match cases.len() {
        0 => "0".to_owned(),
        count => {
            let links: Vec<String> = cases.iter().map(|id| case_link(report, id)).collect();
            format!("{count}: {}", links.join(", "))
        }
    };
    let different = only_first.len() + only_second.len();
    let neither = both_judged.saturating_sub(both_passed + different as u64);
    let (first, second) = (&pair.used_by_first, &pair.used_by_second);
    let [tokens, new, spent, chance] = if *both_judged == 0 {
        [UNKNOWN; 4].map(str::to_owned)
    } else {
        let tokens = amounts(first, second, all_tokens);
        let new = amounts(first, second, |used| used.new + used.unknown);
        [tokens, new, costs(first, second), probability(pair.chance)]
    };
    vec![
        ("Cases that both passed or failed", both_judged.to_string()),
        ("Both passed", both_passed.to_string()),
        ("Only the first passed", links(only_first)),
        ("Only the second passed", links(only_second)),
        ("Neither passed", neither.to_string()),
        (
            "Difference of the pass rates, second minus first (95 % interval)",
            points(pair.difference, *both_judged),
        ),
        ("Chance of such a difference if both are equally good", chance),
        ("Tokens, second against first", tokens),
        ("Prompt tokens not from the cache, second against first", new),
        ("Cost, second against first", escaped(&spent)),
    ]
}

fn amounts(first: &UsedTotals, second: &UsedTotals, of: fn(&UsedTotals) -> u64) -> String {
    let (first, second) = (of(first), of(second));
    format!("{} ({} against {})", times(first, second), short_number(second), short_number(first))
}

fn costs(first: &UsedTotals, second: &UsedTotals) -> String {
    let both = first.cost_nano_usd.zip(second.cost_nano_usd);
    let times = both.map_or_else(
        || UNKNOWN.to_owned(),
        |(first, second): (Usd, Usd)| times(first.nanos(), second.nanos()),
    );
    format!("{times} ({} against {})", cost(second.cost_nano_usd), cost(first.cost_nano_usd))
}

fn escaped(text: &str) -> String {
    Escaped(text).to_string()
}
