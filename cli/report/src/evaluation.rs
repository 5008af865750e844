//! The page of an evaluation: its variants, compared in pairs, and what each made of every case. Pure.

use std::fmt::Write as _;

use eval::results::compare::EvalReport;
use eval::results::record::{CaseGround, CaseOrigin};
use tools::count::counted;

use crate::markup::{Escaped, filled};
use crate::{cases, variants};

/// The page template.
const PAGE: &str = include_str!("evaluation.html");

/// Access to what the page shows that is not part of the report itself. An attempt is named by case, variant and number.
pub struct EvalPageSources<'s> {
    /// Returns the diff of an attempt; empty if there is none.
    pub diff: &'s dyn Fn(&str, &str, u32) -> String,
    /// Returns what the hidden tests printed after an attempt; empty if that is not kept.
    pub tests: &'s dyn Fn(&str, &str, u32) -> String,
    /// Formats a timestamp in the reader's time zone.
    pub local: &'s dyn Fn(&str) -> String,
}

/// Renders the page of an evaluation.
pub fn evaluation_page(report: &EvalReport, sources: &EvalPageSources<'_>) -> String {
    let title = format!("Evaluation {}", report.id);
    let pairs = variants::pairs(report);
    let cases = case_sections(report, sources);
    let left_out = left_out(report);
    let contents = [
        ("variants", "Variants", true),
        ("pairs", "Pairs", !pairs.is_empty()),
        ("verdicts", "Verdicts", true),
        ("cases", "Cases", !cases.is_empty()),
        ("left-out", "Left out", !left_out.is_empty()),
    ];
    let contents = contents.iter().filter(|(.., is_there)| *is_there);
    let contents: Vec<String> =
        contents.map(|(id, name, _)| format!("<li><a href=\"#{id}\">{name}</a></li>\n")).collect();
    let texts: [(&str, &str); 8] = [
        ("title", &Escaped(&title).to_string()),
        ("facts", &facts(report, sources)),
        ("contents", &contents.concat()),
        ("variants", &variants::tables(report)),
        ("pairs", &pairs),
        ("verdicts", &cases::table(report)),
        ("cases", &cases),
        ("left_out", &left_out),
    ];
    filled(PAGE, &texts)
}

/// Renders the list of facts at the top of the page.
fn facts(report: &EvalReport, sources: &EvalPageSources<'_>) -> String {
    let holds = report.cases.iter();
    let holds = holds.filter(|judged| matches!(judged.ground, Some(CaseGround::Holds { .. })));
    let facts = [
        ("Evaluation", report.id.clone()),
        ("Drawn", (sources.local)(&report.at)),
        ("From", report.from.clone()),
        ("Version", report.version.clone()),
        ("Cases", report.cases.len().to_string()),
        ("Can be judged", holds.count().to_string()),
        ("Variants", report.variants.len().to_string()),
    ];
    let fact = |(name, text): (&str, String)| {
        format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", Escaped(&text))
    };
    facts.map(fact).concat()
}

fn case_sections(report: &EvalReport, sources: &EvalPageSources<'_>) -> String {
    let sections = report.cases.iter().zip(1..);
    let sections: String =
        sections.map(|(judged, number)| cases::section(judged, number, sources)).collect();
    if sections.is_empty() {
        return sections;
    }
    format!(
        "<section aria-labelledby=\"cases\">\n<h2 id=\"cases\">Cases</h2>\n{sections}</section>\n"
    )
}

/// Renders what was looked at and is no case; empty if everything is one.
fn left_out(report: &EvalReport) -> String {
    if report.left_out.is_empty() && report.not_looked_at == 0 {
        return String::new();
    }
    let mut nouns = report.cases.iter().map(|judged| match judged.case.origin {
        CaseOrigin::Commit { .. } => "commit",
        CaseOrigin::Exercise { .. } => "exercise",
    });
    let noun = nouns.next().unwrap_or("possible case");
    let mut text =
        "<section aria-labelledby=\"left-out\">\n<h2 id=\"left-out\">Left out</h2>\n".to_owned();
    if !report.left_out.is_empty() {
        writeln!(
            text,
            "<details>\n<summary>{} left out</summary>\n<ul>",
            counted(report.left_out.len() as u64, noun)
        )
        .ok();
        for left in &report.left_out {
            writeln!(
                text,
                "<li><code>{}</code> {}: {}</li>",
                Escaped(&left.id),
                Escaped(&left.title),
                Escaped(&left.why)
            )
            .ok();
        }
        text.push_str("</ul>\n</details>\n");
    }
    let not = counted(report.not_looked_at as u64, noun);
    writeln!(text, "<p>{not} not looked at.</p>\n</section>").ok();
    text
}

#[cfg(test)]
mod tests {
    use std::iter::once;

    use eval::results::record::{
        AttemptResult, Drawn, EvalCase, EvalRecord, LeftOutCase, TestVerdict, UsedTotals, Variant,
    };
    use facts::delivery::{Delivery, Unverified, Verified};
    use model::price::Usd;

    use super::*;

    fn case(id: &str, group: &str, title: &str) -> EvalCase {
        let origin = if group.is_empty() {
            CaseOrigin::Commit { id: id.repeat(5), parent: "0f".repeat(20) }
        } else {
            CaseOrigin::Exercise {
                dir: format!("/exercises/{id}"),
                solution: vec!["src/lib.rs".to_owned()],
                example: vec![".meta/example.rs".to_owned()],
            }
        };
        EvalCase {
            id: id.to_owned(),
            title: title.to_owned(),
            group: group.to_owned(),
            request: format!("{title}\n\nOrders & returns are counted <twice>."),
            origin,
            tests: vec!["tests/order.rs".to_owned(), "tests/returns.rs".to_owned()],
            tries: if group.is_empty() { 1 } else { 2 },
        }
    }

    fn drawn(cases: Vec<EvalCase>) -> EvalRecord {
        let left_out = |id: &str, title: &str, why: &str| LeftOutCase {
            id: id.to_owned(),
            title: title.to_owned(),
            why: why.to_owned(),
        };
        EvalRecord::Drawn(Drawn {
            version: "0.1.0".to_owned(),
            at: "2026-05-04T10:00:00Z".to_owned(),
            from: "/home/me/<shop>".to_owned(),
            cases,
            left_out: vec![
                left_out("77aa01bc", "Bump <deps>", "it changes no tests"),
                left_out("88bb02cd", "Move files", "no case: the tests pass before it"),
            ],
            not_looked_at: 31,
        })
    }

    fn checked(case: &str, ground: CaseGround) -> EvalRecord {
        EvalRecord::Checked { case: case.to_owned(), ground }
    }

    fn holds(notes: &[&str]) -> CaseGround {
        CaseGround::Holds {
            commands: vec!["cargo test --test order".to_owned()],
            notes: notes.iter().map(|&note| note.to_owned()).collect(),
        }
    }

    fn entered(flags: &[&str]) -> EvalRecord {
        let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        EvalRecord::Entered(Variant {
            name: flags.join(" "),
            version: "deepseek 0.1.0".to_owned(),
            build: "c0ffee".to_owned(),
            flags,
        })
    }

    fn result(verdict: TestVerdict, verified: Option<Verified>, used: UsedTotals) -> AttemptResult {
        AttemptResult {
            verdict,
            delivery: verified.map(|verified| Delivery::Delivered { verified }),
            used,
            refusals: 1,
            elapsed_ms: 83_400,
        }
    }

    fn used(calls: u64, cost: Option<u64>) -> UsedTotals {
        UsedTotals {
            calls,
            new: 2_500 * calls,
            cached: 9_000,
            unknown: 0,
            output: 640,
            cost_nano_usd: cost.map(Usd::from_nanos),
        }
    }

    fn judged(case: &str, variant: &str, attempt: u32, result: AttemptResult) -> EvalRecord {
        let (case, variant) = (case.to_owned(), variant.to_owned());
        EvalRecord::Judged { case, variant, attempt, result }
    }

    const SMALL: &str = "--model small";
    const LARGE: &str = "--model large";

    /// Two variants on commits: one passes and one fails, one cannot run, one is interrupted.
    fn of_commits() -> EvalReport {
        let failed = || TestVerdict::Failed("2 tests fail: <total>".to_owned());
        let cannot = TestVerdict::CannotRun("the request failed: no <network>".to_owned());
        let unverified = Verified::Unverified(Unverified::NothingCouldFail);
        let records = [
            drawn(vec![
                case("1a2b3c4d", "", "Count <b>returns</b> once"),
                case("2b3c4d5e", "", "Round totals to cents"),
                case(
                    "3c4d5e6f",
                    "",
                    "Sort the orders of a day by time, and those of a minute by id",
                ),
                case("4d5e6f70", "", "Read the rates"),
            ]),
            checked("1a2b3c4d", holds(&["a later version is installed: shop 2.1.0 in /opt/<lib>"])),
            checked("2b3c4d5e", holds(&[])),
            checked("3c4d5e6f", holds(&[])),
            checked(
                "4d5e6f70",
                CaseGround::NoCase { why: "the <tests> pass before it".to_owned() },
            ),
            entered(&["--model", "small"]),
            entered(&["--model", "large"]),
            judged(
                "1a2b3c4d",
                SMALL,
                1,
                result(failed(), Some(Verified::Passed), used(6, Some(4_100_000))),
            ),
            judged(
                "1a2b3c4d",
                LARGE,
                1,
                result(TestVerdict::Passed, Some(Verified::Proven), used(3, None)),
            ),
            judged(
                "2b3c4d5e",
                SMALL,
                1,
                result(TestVerdict::Passed, Some(Verified::Proven), used(4, Some(3_000_000))),
            ),
            judged("2b3c4d5e", LARGE, 1, result(cannot, None, used(0, Some(0)))),
            judged(
                "3c4d5e6f",
                SMALL,
                1,
                result(failed(), Some(unverified), used(9, Some(7_000_000))),
            ),
            EvalRecord::Began {
                case: "3c4d5e6f".to_owned(),
                variant: LARGE.to_owned(),
                attempt: 1,
            },
        ];
        EvalReport::of("20260504-100000-ab12", &records).unwrap()
    }

    /// Two variants on exercises in two languages, of which the second has worked on one only.
    fn of_exercises() -> EvalReport {
        let failed = TestVerdict::Failed("1 test fails".to_owned());
        let records = [
            drawn(vec![
                case("rust/pangram", "rust", "pangram"),
                case("go/bowling", "go", "bowling"),
            ]),
            checked("rust/pangram", holds(&[])),
            checked("go/bowling", holds(&[])),
            entered(&["--model", "small"]),
            entered(&["--model", "large"]),
            judged(
                "rust/pangram",
                SMALL,
                1,
                result(failed.clone(), Some(Verified::Passed), used(2, Some(1))),
            ),
            judged(
                "rust/pangram",
                SMALL,
                2,
                result(TestVerdict::Passed, Some(Verified::Passed), used(1, Some(1))),
            ),
            judged("go/bowling", SMALL, 1, result(failed.clone(), None, used(2, Some(1)))),
            judged("go/bowling", SMALL, 2, result(failed, None, used(2, Some(1)))),
            judged(
                "rust/pangram",
                LARGE,
                1,
                result(TestVerdict::Passed, Some(Verified::Proven), used(2, Some(1))),
            ),
        ];
        EvalReport::of("20260504-110000-cd34", &records).unwrap()
    }

    fn page(report: &EvalReport) -> String {
        let diff = |case: &str, variant: &str, attempt: u32| match variant {
            LARGE if case.starts_with('2') => String::new(),
            _ => format!(
                "diff --git a/src/order.rs b/src/order.rs\n--- a/src/order.rs\n+++ b/src/order.rs\n@@ -1,3 +1,3 @@\n fn total(lines: &[Line]) -> Cents {{\n-    lines.iter().map(|line| line.cents).sum()\n+    lines.iter().filter(|line| !line.is_return()).map(|line| line.cents).sum() // <{case}>, attempt {attempt}\n }}\n"
            ),
        };
        let tests = |_: &str, variant: &str, _: u32| match variant {
            SMALL => {
                "$ cargo test --test order\ntest <total> ... FAILED\n[exit code 101]\n".to_owned()
            }
            _ => String::new(),
        };
        let local = |at: &str| at.replace('T', " ");
        evaluation_page(report, &EvalPageSources { diff: &diff, tests: &tests, local: &local })
    }

    /// Returns the cells of the row with this name, in the first table that has it.
    fn row(page: &str, name: &str) -> Vec<String> {
        let start = format!("<tr><th scope=\"row\">{name}</th>");
        let row = page.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
        let row = row.trim_end_matches("</td></tr>").trim_start_matches("<td>");
        row.split("</td><td>").map(str::to_owned).collect()
    }

    #[test]
    fn variants_are_summed_and_nothing_unknown_is_zero() {
        let page = page(&of_commits());
        assert_eq!(row(&page, "Cases judged"), ["3", "2"]);
        assert_eq!(row(&page, "Passed"), ["1", "1"]);
        assert_eq!(row(&page, "Cannot run"), ["0", "1"]);
        assert_eq!(row(&page, "Pass rate (95 % interval)")[1], "1 of 1: 100.0 % (2.5 to 100.0)");
        assert_eq!(row(&page, "End not known"), ["0", "1"]);
        assert_eq!(row(&page, "Wrongly verified"), ["<span class=\"mark bad\">1</span>", "0"]);
        assert_eq!(row(&page, "Cost"), ["$0.0141", "unknown"]);
        assert_eq!(row(&page, "Time"), ["4 min 10 s", "2 min 46 s"]);
        assert!(!page.contains("first attempt"), "a commit is tried once");
    }

    #[test]
    fn pairs_name_the_cases_that_tell_them_apart() {
        let page = page(&of_commits());
        assert_eq!(row(&page, "Cases that both passed or failed"), ["1"]);
        let only = "1: <a href=\"#case-1\">1a2b3c4d</a>";
        assert_eq!(row(&page, "Only the second passed"), [only]);
        assert_eq!(row(&page, "Only the first passed"), ["0"]);
        assert_eq!(
            row(&page, "Tokens, second against first"),
            ["0.70 times (17.1k against 24.6k)"]
        );
        assert_eq!(row(&page, "Cost, second against first"), ["unknown (unknown against $0.0041)"]);
    }

    #[test]
    fn groups_have_tables_of_their_own() {
        let page = page(&of_exercises());
        assert_eq!(row(&page, "go"), ["0 of 1: 0.0 % (0.0 to 97.5)", "unknown"]);
        let (_, go) = page.split_once("<caption>go</caption>").unwrap();
        assert_eq!(row(go, "Cases judged"), ["1", "0"]);
        assert_eq!(row(go, "Model calls"), ["4", "unknown"]);
        let (_, rust) = page.split_once("<caption>rust</caption>").unwrap();
        assert_eq!(row(rust, "Cases judged"), ["1", "1"]);
        assert_eq!(row(rust, "Passed at the first attempt"), ["0", "1"]);
        assert!(page.contains("passed at attempt 2</a>"), "{page}");
        assert!(page.contains("<h5>Attempt 1: <span class=\"mark bad\">failed</span></h5>"));
    }

    #[test]
    fn every_verdict_is_a_word_that_leads_to_its_section() {
        for page in [of_commits(), of_exercises()].map(|report| page(&report)) {
            let ids: Vec<&str> =
                page.split(" id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
            let links = page.split("href=\"#").skip(1).filter_map(|it| it.split('"').next());
            for link in links {
                assert_eq!(ids.iter().filter(|id| **id == link).count(), 1, "{link}");
            }
        }
        let page = page(&of_commits());
        for word in
            ["passed</a>", "failed</a>", "cannot run</a>", "interrupted</a>", "not judged</span>"]
        {
            assert!(page.contains(word), "{word}");
        }
        assert!(page.contains("No diff: ") && page.contains("No output of the hidden tests: "));
        assert!(page.contains("<p>31 commits not looked at.</p>"), "{page}");
    }

    #[test]
    fn markup_in_what_is_shown_is_escaped() {
        let page = page(&of_commits());
        for tag in [
            "<b>",
            "<total>",
            "<network>",
            "<shop>",
            "<deps>",
            "<twice>",
            "<lib>",
            "<tests>",
            "<1a2b3c4d>",
        ] {
            assert!(!page.contains(tag), "{tag}");
            assert!(page.contains(&tag.replace('<', "&lt;").replace('>', "&gt;")), "{tag}");
        }
    }

    #[test]
    fn no_level_of_headings_is_skipped() {
        for page in [of_commits(), of_exercises()].map(|report| page(&report)) {
            let levels = page.split("<h").skip(1).filter_map(|it| it.chars().next()?.to_digit(10));
            let levels: Vec<u32> = levels.collect();
            assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
            assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
        }
    }

    #[test]
    fn an_evaluation_without_variants_or_cases_has_a_page() {
        let one = case("1a2b3c4d", "", "Round totals");
        let report = EvalReport::of("a", &[drawn(vec![one])]).unwrap();
        let shown = page(&report);
        assert!(shown.contains("No variant has been entered.") && shown.contains("not checked"));
        assert!(!shown.contains("id=\"pairs\""));
        let report = EvalReport::of("a", &once(drawn(Vec::new())).collect::<Vec<_>>()).unwrap();
        let shown = page(&report);
        assert!(shown.contains("No cases were drawn.") && shown.contains("31 possible cases"));
        assert!(!shown.contains("id=\"cases\"") && !shown.contains("{{"));
    }

    /// `.ci/look-at-report` opens what this prints in a browser.
    #[test]
    fn pages_to_look_at() {
        for report in [of_commits(), of_exercises()] {
            println!("\n{}", page(&report));
        }
    }
}
