//! Reads the line directly above a block: whether it says that the block is not meant, or that it need not be. Pure.

use super::said::{self, NAMED, PARTS, clauses, has, is_any, words};

/// Words for what was decided against.
const DROPPED: &str = "abandoned counterexample discarded obsolete outdated rejected retracted reverted scrapped superseded withdrawn";
/// Words for what is not right.
const WRONG: &str = "bad broken faulty incorrect invalid mistaken wrong";
/// Words that negate what follows them.
const NOT: &str = "cannot don't mustn't never not shouldn't";
/// Words that tell someone to leave something out.
const IGNORE: &str = "discard disregard ignore skip";
/// Words that point at what was said or sent before.
const BEFORE: &str = "above earlier former last previous preceding prior";
/// Words that point at the block below.
const BELOW: &str = "below following like one these this";
/// Other words of captions that are about a block.
const OTHERS: &str = "after alone already alternative also applied apply as been broke but by caused colleague's commit committed comparison \
    considered counterexample do done dry each either example follows git head here how illustration included instead introduced \
    item its like maintainer's merge merged necessary never of old on option or original output own part reason reference \
    required run second should shouldn't show shows still such suggested than their they to too tree upstream used \
    user's version way well which who why would your";
/// The maximum number of words of a heading about a block.
const HEADING: usize = 2;

/// Returns true if a caption clearly rejects the block below it, a change of the file `path`: `Do not apply this:`, `The
/// commit that broke it was:`. Every word of the clause has to be about the block, and no other clause may ask for it.
pub(super) fn rejects(line: &[u8], path: &str) -> bool {
    let Some(text) = said::lowercase(line) else { return false };
    let text = said::with_name(&text, &[path]);
    let all: Vec<&str> = words(&text).collect();
    if is_any(&all, "before if once optional optionally unless until when whether yet") {
        return false;
    }
    let parts: Vec<Vec<&str>> = clauses(&text).map(|clause| words(clause).collect()).collect();
    let lists = [OTHERS, BELOW, DROPPED, IGNORE, NOT, WRONG];
    let is_about_it =
        |clause: &&Vec<&str>| !clause.is_empty() && said::is_only_about(clause, &lists);
    let about: Vec<&Vec<&str>> = parts.iter().filter(is_about_it).collect();
    let concedes = |clause: &Vec<&str>| clause.first() == Some(&"but") && !is_dropped(clause);
    !parts.iter().any(|clause| asks_for(clause) || concedes(clause))
        && about.into_iter().any(|clause| {
            forbids(clause, &all)
                || is_dropped(clause)
                || is_wrong(clause, &all)
                || shows_another(clause)
        })
}

/// Returns true if a caption says that the block below it is one of several choices, or an example.
pub(super) fn is_choice(line: &[u8]) -> bool {
    const CHOICE: &str =
        "alternative alternatively counterexample illustration optional optionally";
    let Some(text) = said::lowercase(line) else { return false };
    let all: Vec<&str> = words(&text).collect();
    let is_numbered = |pair: &[&str]| matches!(pair, ["option", letter] if letter.len() == 1);
    let with =
        |pair: &[&str]| matches!(pair, ["you", "prefer"] | ["choose", "one"] | ["dry", "run"]);
    is_any(&all, CHOICE)
        || all.windows(2).any(|pair| is_numbered(pair) || with(pair))
        || all.starts_with(&["for", "reference"])
        || ('1'..='9').any(|digit| text.contains(&format!("option {digit}")))
}

/// Returns true if a clause asks for the block below: `use this instead`, `this is the correct one`.
fn asks_for(clause: &[&str]) -> bool {
    let told = said::without_fillers(clause).first();
    let is_told = told.is_some_and(|word| has("apply take try use", word));
    let is_right = is_any(clause, "correct corrected final fixed right");
    !is_any(clause, NOT) && (is_told || is_right)
}

/// Returns true if a clause forbids the block, or says that it is not needed: `this is what you should not do`.
fn forbids(clause: &[&str], all: &[&str]) -> bool {
    let told = said::without_fillers(clause);
    if told.first().is_some_and(|word| has(IGNORE, word)) {
        return is_any(told, BELOW);
    }
    let Some(not) = clause.iter().position(|word| has(NOT, word)) else { return false };
    let rest = clause.get(not + 1..).unwrap_or_default();
    let points = is_any(clause, BELOW) || is_any(all, PARTS);
    let is_act = is_any(rest, "apply change commit do merge use") && points;
    let is_state = is_any(rest, "applied included meant necessary needed required");
    let is_of_it = is_any(clause, PARTS) || clause.len() <= HEADING;
    is_act || is_state && is_of_it
}

/// Returns true if a clause says that the block was decided against, or already made: `but rejected it`.
fn is_dropped(clause: &[&str]) -> bool {
    let is_done = is_any(clause, "already") && is_any(clause, "applied committed done merged tree");
    let is_undone = is_any(clause, "reverted") && is_any(clause, "already been was");
    let is_other = clause.iter().any(|word| has(DROPPED, word) && *word != "reverted");
    let is_dry = clause.windows(2).any(|pair| pair == ["dry", "run"]);
    let is_past = clause.windows(2).any(|pair| pair == ["would", "have"]);
    !is_any(clause, NOT)
        && (is_done
            || is_undone
            || is_other
            || is_dry
            || is_past && is_any(clause, "alternative option"))
}

/// Returns true if a clause calls the block wrong: `an example of a bad change`. What was sent before is another block.
fn is_wrong(clause: &[&str], all: &[&str]) -> bool {
    let is_of_it = is_any(all, PARTS) || is_any(all, "example") || all.len() == 1;
    is_any(clause, WRONG) && is_of_it && !is_any(clause, NOT) && !is_any(all, BEFORE)
}

/// Returns true if a clause says that the block below is what was there before: `your patch was`.
fn shows_another(clause: &[&str]) -> bool {
    const OF_OTHERS: &str = "broke caused colleague's earlier first introduced maintainer's old original previous their user's your";
    let is_part = is_any(clause, PARTS) || is_any(clause, "change commit");
    matches!(clause, [.., "was" | "were"])
        && is_part
        && is_any(clause, OF_OTHERS)
        && !clause.contains(&NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_block_is_told_apart_from_one_that_is_asked_for() {
        for caption in [
            "Do NOT apply this:",
            "For comparison, this is what you should not do:",
            "I considered this as well, but rejected it:",
            "The following patch is wrong (do not use it):",
            "Old patch (superseded):",
            "This was my colleague's earlier patch, already reverted:",
            "Counterexample:",
            "Don\u{2019}t change `lib/a.py` like this:",
            "Here is an example of a bad change:",
            "**Not included:**",
            "An alternative to the above would have been to change lib/a.py instead:",
            "The commit that broke it was:",
            "The change that broke it was:",
            "Your patch was:",
            "This is the output of `git diff` (already in your tree):",
            "For example, the diff below is NOT required:",
            "\u{274c} Wrong:",
            "The output of the dry run:",
            "It is only an illustration of what I rejected:",
            "My previous answer was wrong; ignore this part:",
        ] {
            assert!(rejects(caption.as_bytes(), "lib/a.py"), "{caption}");
        }
        for caption in [
            "This replaces the approach above:",
            "Use this patch, not the previous one:",
            "Ignore my previous answer and use this:",
            "My previous patch was wrong:",
            "My previous patch was wrong. This is the correct one:",
            "The change I made was:",
            "The wrong sign is corrected:",
            "This was wrong:",
            "This is not needed:",
            "We do not use the cache any more:",
            "Do not apply this before the migration:",
            "It is not required, but it helps:",
            "Reverted:",
            "Rejected input is now counted:",
            "`x` is already there, so:",
            "`lib/a.py` was broken:",
            "The invalid entries are skipped:",
            "Do not use `eval`:",
            "Ignore this argument:",
            "The old code was:",
            "In `lib/a.py`:",
            "",
        ] {
            assert!(!rejects(caption.as_bytes(), "lib/a.py"), "{caption}");
        }
    }

    #[test]
    fn choices_are_recognized() {
        for caption in [
            "Alternatively, instead of the above:",
            "Option B (choose one):",
            "### Option 2",
            "If you prefer, change it instead:",
            "Optionally, if you also want the second file changed:",
        ] {
            assert!(is_choice(caption.as_bytes()), "{caption}");
        }
        for caption in ["Add an option to it:", "The call uses `b` instead:", "Example:", ""] {
            assert!(!is_choice(caption.as_bytes()), "{caption}");
        }
    }
}
