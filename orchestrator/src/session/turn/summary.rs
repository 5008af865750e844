//! The compression of a conversation: its oldest turns become one summary with their goals, decisions, plan, open issues,
//! results and answers. No model is asked: the same turns give the same summary. Pure.

use actors::talk::prompts::{Prompt, Prompts};
use search::estimate_tokens;
use tools::count::counted;

use super::{FinishedTurn, decisions};

/// How much of each turn a summary shows, in characters.
#[derive(Debug, Clone, Copy)]
struct Detail {
    request: usize,
    answer: usize,
    output: usize,
}

/// From most to least; the first that fits is used.
const DETAILS: [Detail; 4] = [
    Detail { request: 300, answer: 1_200, output: 400 },
    Detail { request: 200, answer: 500, output: 200 },
    Detail { request: 120, answer: 200, output: 100 },
    Detail { request: 80, answer: 80, output: 0 },
];

/// One part in this many of the conversation's tokens is for the summary.
const SUMMARY_PARTS: usize = 4;
/// Most steps of a plan that are shown.
const STEPS: usize = 12;

/// Returns how many turns should be summarised, if that is more than `compacted`: none while the conversation fits into
/// `most` tokens, and else so many that it fills half of them. The last turn stays as it is.
pub(crate) fn compaction(
    prompts: &Prompts,
    turns: &[FinishedTurn],
    compacted: usize,
    most: usize,
) -> Option<usize> {
    let whole: Vec<usize> = (1..)
        .zip(turns)
        .map(|(number, turn)| estimate_tokens(&turn.whole(prompts, number)))
        .collect();
    let total = |compacted: usize| {
        let rest: usize = whole.iter().skip(compacted).sum();
        rest + estimate_tokens(&summary(prompts, turns, compacted, most).unwrap_or_default())
    };
    if total(compacted) <= most {
        return None;
    }
    let last = turns.len().saturating_sub(1);
    let fits = (compacted + 1..=last).find(|upto| total(*upto) <= most / 2);
    Some(fits.unwrap_or(last)).filter(|upto| *upto > compacted)
}

/// Summarises the first `compacted` turns in a part of `most` tokens; `None` if that is none. Turns for which there is no
/// room are left out, oldest first, and counted.
pub(crate) fn summary(
    prompts: &Prompts,
    turns: &[FinishedTurn],
    compacted: usize,
    most: usize,
) -> Option<String> {
    let room = most / SUMMARY_PARTS;
    let turns = turns.get(..compacted).filter(|turns| !turns.is_empty())?;
    let all = DETAILS.iter().map(|detail| sections(prompts, turns, 0, *detail));
    let least = DETAILS.last().copied().into_iter();
    let fewer = least.flat_map(|detail| {
        (1..turns.len()).map(move |left_out| sections(prompts, turns, left_out, detail))
    });
    let mut last = String::new();
    for text in all.chain(fewer) {
        last = text;
        if estimate_tokens(&last) <= room {
            break;
        }
    }
    Some(prompts.render(Prompt::TurnsSummary, &[("last", &turns.len()), ("sections", &last)]))
}

/// Renders the sections of a summary without the first `left_out` turns.
fn sections(prompts: &Prompts, turns: &[FinishedTurn], left_out: usize, detail: Detail) -> String {
    let shown = || (1..).zip(turns).skip(left_out);
    let goals = shown().map(|(n, turn)| item(n, &line(&turn.request, detail.request)));
    let decided = shown().flat_map(|(n, turn)| {
        decisions(prompts, &turn.said)
            .into_iter()
            .map(move |it| item(n, &line(&it, detail.output.max(80))))
    });
    let planned = shown().filter_map(|(n, turn)| Some((n, turn.plan.as_ref()?))).last();
    let steps = planned.into_iter().flat_map(|(n, plan)| {
        plan.steps.iter().take(STEPS).map(move |step| item(n, &line(step, detail.request)))
    });
    let open = shown().filter(|(_, turn)| !turn.is_done()).map(|(n, turn)| {
        let failing = turn.failing.iter().map(|check| {
            let output = line(&check.output, detail.output);
            format!("; `{}` ended with {}: {output}", check.command, check.exit)
        });
        item(n, &failing.fold(turn.outcome(), |all, one| all + &one))
    });
    let results =
        shown().filter(|(_, turn)| turn.is_done() && turn.answer.is_none()).map(|(n, turn)| {
            let files: Vec<&str> = turn.changes.iter().map(|change| change.path.as_str()).collect();
            let files =
                if files.is_empty() { String::new() } else { format!(": {}", files.join(", ")) };
            item(n, &line(&(turn.outcome() + &files), detail.request))
        });
    let answers =
        shown().filter_map(|(n, turn)| Some(item(n, &line(turn.answer.as_ref()?, detail.answer))));
    let sections = [
        ("Goals", goals.collect::<Vec<_>>()),
        ("Decisions of the user", decided.collect()),
        ("The last plan", steps.collect()),
        ("Open issues", open.collect()),
        ("Results", results.collect()),
        ("Answers", answers.collect()),
    ];
    let full = sections.into_iter().filter(|(_, items)| !items.is_empty());
    let text: Vec<String> =
        full.map(|(name, items)| format!("{name}:\n{}", items.join("\n"))).collect();
    let gone =
        (left_out > 0).then(|| format!("(The first {} are left out.)", counted(left_out, "turn")));
    gone.into_iter().chain(text).collect::<Vec<_>>().join("\n")
}

fn item(number: usize, text: &str) -> String {
    format!("- [{number}] {text}")
}

/// Returns the beginning of a text, in one line.
fn line(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = text.chars().take(most).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use actors::run::UserWord;
    use facts::delivery::{Delivery, NeedsWork};
    use facts::grammar::plan::Plan;

    use super::super::tests::turn;
    use super::super::{FailedCheck, conversation};
    use super::*;

    fn text(turns: &[FinishedTurn], compacted: usize, most: usize) -> String {
        conversation(&Prompts::default(), turns, compacted, &[], most)
    }

    #[test]
    fn a_summary_has_what_later_turns_build_on() {
        let plan = Plan { steps: vec!["split the parser".into()], ..Plan::default() };
        let check = FailedCheck {
            command: "make test".into(),
            exit: "exit 1".into(),
            output: "FAILED parse::empty".into(),
        };
        let said = UserWord::Answer { question: "Which?".into(), answer: Some("the new".into()) };
        let turns = [
            FinishedTurn {
                answer: Some("Because of the cache.".into()),
                ..turn("Why is it slow?")
            },
            FinishedTurn { plan: Some(plan), said: vec![said], ..turn("Split it") },
            FinishedTurn {
                delivery: Delivery::NeedsWork {
                    why: NeedsWork::ChecksFail,
                    detail: "checks fail".into(),
                },
                failing: vec![check],
                ..turn("Fix the tests")
            },
            turn("Go on"),
        ];
        let told = text(&turns, 3, 4_000);
        for part in [
            "Goals:\n- [1] Why is it slow?\n- [2] Split it",
            "Decisions of the user:\n- [2] asked \"Which?\", the user said: the new",
            "The last plan:\n- [2] split the parser",
            "Open issues:\n- [3] not delivered: checks fail; `make test` ended with exit 1: FAILED parse::empty",
            "Answers:\n- [1] Because of the cache.",
            "[4] The user: Go on",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    #[test]
    fn the_conversation_is_compacted_seldom_and_stays_within_its_limit() {
        let turns: Vec<FinishedTurn> = (0..60)
            .map(|at| FinishedTurn {
                answer: Some(format!("answer {at} ").repeat(30)),
                ..turn("why?")
            })
            .collect();
        let (most, mut compacted, mut times) = (600, 0, 0);
        let mut before = String::new();
        for upto in 1..=turns.len() {
            let turns = &turns[..upto];
            if let Some(more) = compaction(&Prompts::default(), turns, compacted, most) {
                assert!(more > compacted && more < upto, "{more} of {upto}");
                (compacted, times) = (more, times + 1);
            } else {
                let now = text(turns, compacted, most);
                assert!(now.starts_with(before.trim_end()), "the text only grows");
            }
            before = text(turns, compacted, most);
            assert!(estimate_tokens(&before) < most + 200, "{}", before.len());
            assert!(before.contains(&format!("answer {} ", upto - 1).repeat(30)), "{before}");
            if upto > 3 {
                assert!(before.contains(&format!("answer {} answer", upto - 4)), "{before}");
            }
        }
        assert!((2..=20).contains(&times), "{times} of 60");
        assert!(before.contains("turns are left out"), "{before}");
    }
}
