//! Reads single lines of the prose around a diff: whether they reject what is above them, describe a change that has to
//! be made, or tell someone to run a command that changes files. Pure.

/// Words that may precede what a clause tells someone to do.
const FILLERS: &str = "actually afterwards also and but can first finally hmm i just kindly let's must next no now oops please \
    should so sorry then to wait we you";
/// Words for the parts of an answer.
const PARTS: &str = "answer attempt block diff draft edit hunk patch snippet";
/// Words that point to something above.
const BACK: &str = "above earlier first former initial last preceding previous prior that those";
/// Other words of sentences about the parts of an answer.
const OTHERS: &str = "a about all an are attempts blocks change changes code completely correct diffs edits entirely everything \
    for from gave had has have hunks i in incomplete is it it's just longer made me meant my needed not of one only \
    patches proposed right said sent shown solution that's the them there this try unfortunately valid version was \
    were what with wrote you";
/// Words that reject something.
const REJECTING: &str = "bad broken contains contained discarded error faulty incorrect invalid mistake mistaken obsolete outdated \
    rejected superseded wrong";

/// Returns true if a line rejects a block above it: `Ignore the diff above, it is wrong.` It has to be about the block:
/// `This replaces the approach above.` is an explanation.
pub(super) fn rejects_above(line: &[u8]) -> bool {
    let Some(text) = lowercase(line) else { return false };
    let all: Vec<&str> = words(&text).collect();
    let is_option = is_any(&all, "if optional optionally unless when whether");
    let corrects_itself = is_any(&all, "hmm oops sorry wait") || all.first() == Some(&"no");
    let rejects = |clause: &str| {
        let words: Vec<&str> = words(clause).collect();
        tells_to_ignore(&words) || calls_wrong(&words, corrects_itself) || replaces(&words)
    };
    !is_option && clauses(&text).any(rejects)
}

/// Returns true if a clause tells someone to ignore a part of the answer: `please disregard the previous block`.
fn tells_to_ignore(clause: &[&str]) -> bool {
    let ([
        "ignore" | "disregard" | "discard" | "forget" | "scrap" | "scratch" | "retract",
        rest @ ..,
    ]
    | ["do", "not", "apply" | "use", rest @ ..]
    | ["don't" | "never", "apply" | "use", rest @ ..]) = without_fillers(clause)
    else {
        return false;
    };
    // What follows the part of the answer may be about something else: `and use this one instead`.
    let ends = rest.iter().position(|word| has("and as because but since so", word));
    let named = ends.and_then(|at| rest.get(..at)).filter(|named| is_any(named, PARTS));
    let rest = named.unwrap_or(rest);
    is_any(rest, BACK) && is_about_the_answer(rest)
}

/// Returns true if a clause calls a part of the answer wrong: `my first attempt was wrong`. A clause without a word for
/// the part counts if the author corrects themselves: `wait, that is wrong`.
fn calls_wrong(clause: &[&str], corrects_itself: bool) -> bool {
    let is_denied =
        is_any(clause, "isn't no not wasn't") && is_any(clause, "correct meant needed right valid");
    let is_wrong = is_any(clause, REJECTING) && !is_any(clause, "not") || is_denied;
    let part = clause.iter().position(|word| has(PARTS, word));
    let after = part.and_then(|at| clause.get(at..)).unwrap_or_default();
    let is_part = is_any(clause, BACK) && (is_any(after, REJECTING) || part.is_some() && is_denied)
        || clause.starts_with(&["the", "above"])
        || corrects_itself && is_any(clause, "that that's")
        || is_any(clause, "i") && is_any(clause, "made") && is_any(clause, "error mistake");
    is_wrong && is_part && is_about_the_answer(clause)
}

/// Returns true if a clause replaces a part of the answer: `use this instead of the diff above`.
fn replaces(clause: &[&str]) -> bool {
    let replaced = clause.iter().enumerate().find_map(|(at, word)| match *word {
        "replaces" | "supersedes" => clause.get(at + 1..),
        "instead" if clause.get(at + 1) == Some(&"of") => clause.get(at + 2..),
        _ => None,
    });
    replaced.is_some_and(|rest| {
        is_any(rest, "attempt diff patch") && is_any(rest, BACK) && is_about_the_answer(rest)
    })
}

/// Returns true if no word is about anything but the answer.
fn is_about_the_answer(clause: &[&str]) -> bool {
    let is_known =
        |word: &&str| [FILLERS, PARTS, BACK, OTHERS, REJECTING].iter().any(|list| has(list, word));
    clause.iter().all(is_known)
}

/// Returns true if a line describes a change that has to be made: `In a.py, change the call as well.`
pub(super) fn describes_change(line: &[u8]) -> bool {
    const CHANGE: &str = "adapt add adjust append apply change convert delete edit extend insert modify move remove rename \
        replace rewrite switch update";
    const CHANGED: &str = "adapted added adjusted changed deleted edited extended modified moved removed renamed replaced updated";
    const DUE: &str = "have has must need needs should";
    let Some(text) = lowercase(line) else { return false };
    let all: Vec<&str> = words(&text).collect();
    let is_denied = is_any(&all, "already don't no not nothing unchanged untouched without");
    let is_due = is_any(&all, DUE) && (is_any(&all, CHANGED) || is_any(&all, CHANGE));
    let is_told = |part: &[&str]| {
        let words: Vec<&str> = part.iter().flat_map(|text| words(text)).collect();
        let verb = without_fillers(&words).first();
        words.first() != Some(&"to") && verb.is_some_and(|verb| has(CHANGE, verb))
    };
    // A file name may separate what is told from what is said about it: `In a.py replace b`.
    let is_name = |word: &&str| word.trim_end_matches('.').contains(['.', '/']);
    let tells = |clause: &str| {
        let words: Vec<&str> = clause.split_whitespace().collect();
        words.split(is_name).any(is_told)
    };
    !is_denied && (is_due || text.contains("by hand") || clauses(&text).any(tells))
}

/// Returns true if a line tells someone to run a command, in backquotes, that changes files: ``Run `git mv a b` first.``
pub(super) fn tells_to_run(line: &[u8]) -> bool {
    if memchr::memchr(b'`', line).is_none() {
        return false;
    }
    let Some(text) = lowercase(line) else { return false };
    if is_any(&words(&text).collect::<Vec<_>>(), "don't instead no not never") {
        return false;
    }
    let parts: Vec<&str> = text.split('`').collect();
    parts.windows(3).step_by(2).any(|parts| {
        let [before, command, after] = parts else { return false };
        let told: Vec<&str> = clauses(before).last().into_iter().flat_map(words).collect();
        let is_run = |word: &str| has("execute issue run", word);
        let is_told = match without_fillers(&told) {
            [] => true,
            [first, ..] if is_run(first) => true,
            [.., "to", last] => is_run(last),
            _ => after.contains(" be run") || after.contains(" be executed"),
        };
        is_told && changes_files(command)
    })
}

/// Returns true if a shell command changes files by itself.
fn changes_files(command: &str) -> bool {
    let words: Vec<&str> =
        command.split_whitespace().skip_while(|word| matches!(*word, "$" | "sudo")).collect();
    match words.as_slice() {
        ["sed" | "gsed", rest @ ..] => {
            rest.iter().any(|word| word.starts_with("-i") || *word == "--in-place")
        }
        ["perl" | "ruby", option, _, ..] => option.starts_with('-') && option.contains('i'),
        ["git", "mv" | "rm" | "restore" | "revert", _, ..]
        | ["mv" | "cp" | "ln" | "chmod", _, _, ..]
        | ["rm" | "touch" | "truncate", _, ..] => true,
        ["cat" | "echo" | "printf", rest @ ..] => rest.iter().any(|word| word.starts_with('>')),
        [_, rest @ ..] => rest.windows(2).any(|pair| pair == ["|", "tee"]),
        [] => false,
    }
}

fn lowercase(line: &[u8]) -> Option<String> {
    Some(std::str::from_utf8(line).ok()?.to_lowercase().replace('\u{2019}', "'"))
}

/// Yields the parts of a text between punctuation. A period inside a word, as in a file name, ends nothing.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    const ENDS: [char; 9] = [',', ';', ':', '!', '?', '(', ')', '\u{2013}', '\u{2014}'];
    text.split(". ").flat_map(|sentence| sentence.split(ENDS))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic() && c != '\'').filter(|word| !word.is_empty())
}

/// Returns true if a list of words separated by spaces has `word`.
fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == word)
}

/// Returns true if any of `words` is in the list.
fn is_any(words: &[&str], list: &str) -> bool {
    words.iter().any(|word| has(list, word))
}

fn without_fillers<'c, 'a>(clause: &'c [&'a str]) -> &'c [&'a str] {
    let fillers = clause.iter().take_while(|word| has(FILLERS, word)).count();
    clause.get(fillers..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_of_a_block_is_told_apart_from_an_explanation() {
        for line in [
            "Ignore the diff above, it is wrong. The right change is:",
            "Please disregard the previous block.",
            "Sorry, forget what I wrote above.",
            "Scratch that.",
            "Don\u{2019}t apply the first patch:",
            "My first attempt was wrong.",
            "The diff above has a mistake; this is the corrected one:",
            "The above is not correct.",
            "The previous diff was incomplete and incorrect.",
            "Please discard the previous patch and use this one instead:",
            "No, that's wrong.",
            "Wait, that is wrong.",
            "I made a mistake.",
            "Use this instead of the diff above:",
            "This patch supersedes my previous attempt:",
        ] {
            assert!(rejects_above(line.as_bytes()), "{line}");
        }
        for line in [
            "This replaces the approach above.",
            "It uses a set instead of the list above.",
            "It is called instead of the first one.",
            "The old code was wrong.",
            "The result was wrong before.",
            "It returned 0; that is wrong.",
            "Ignore the first argument.",
            "Ignore errors in the block above the loop.",
            "The previous version of `parse` is wrong for empty input.",
            "If you prefer a list, ignore the diff above.",
            "The diff above is not wrong.",
            "The first hunk fixes an error in the parser.",
            "The first diff adds the import, this one the call:",
            "Discard the last line.",
            "Ignore the first and the last argument.",
            "The first error was in the block above.",
            "",
        ] {
            assert!(!rejects_above(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_change_to_be_made_is_told_apart_from_a_remark() {
        for line in [
            "In `docs/a.md`, change the corresponding lines in the same way.",
            "In `a.yaml`, the call sites have to be changed.",
            "In a.py replace `b` with `c`.",
            "Next, edit `a.md` and add the same setting.",
            "`a.py` needs the same update by hand.",
        ] {
            assert!(describes_change(line.as_bytes()), "{line}");
        }
        for line in [
            "In `sub/f.py` it is so.",
            "`a.py` does not need to be changed.",
            "It is added to what `a.py` returns.",
            "The tests in `a.py` pass.",
            "To update it, see `a.py`.",
        ] {
            assert!(!describes_change(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_command_to_be_run_is_told_apart_from_a_mention() {
        for line in [
            "Run `sed -i \"s/A/B/\" Makefile` first, then apply this:",
            "Run `cat > conf/new.ini <<'EOF' ; [a] ; EOF` first.",
            "1. `git mv a b`",
            "Before that, you have to run `rm a.txt`.",
            "`git mv a b` has to be run first.",
            "Then execute the command `perl -pi -e 's/a/b/' f`.",
        ] {
            assert!(tells_to_run(line.as_bytes()), "{line}");
        }
        for line in [
            "Run `cargo test` to check it.",
            "Apply it with `git apply`.",
            "The script calls `rm -rf build`.",
            "Run `grep -i x f`.",
            "You do not have to run `git mv a b`.",
            "`rm` is an alias.",
            "`f` returns `g`.",
        ] {
            assert!(!tells_to_run(line.as_bytes()), "{line}");
        }
    }
}
