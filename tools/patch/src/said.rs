//! Reads single lines of the prose around a diff: whether they reject what is above them, describe a change that has to
//! be made, or tell someone to run a command that changes files. Pure.

/// Words that may precede what a clause tells someone to do.
const FILLERS: &str = "actually afterwards also and but can first finally hmm i just kindly let's must next no now oops please \
    should so sorry then to wait we you";
/// Words for the parts of an answer.
pub(super) const PARTS: &str = "answer attempt block diff draft edit hunk patch snippet";
/// Words that point to something above.
const BACK: &str = "above earlier first former initial last preceding previous prior that those";
/// Stands for the name of a file that the diff changes.
pub(super) const NAMED: &str = "thischangedfile";
/// Words that tell one part of an answer from the others.
const WHICH: &str = "both next other second third";
/// Other words of sentences about the parts of an answer.
const OTHERS: &str = "a about after all an are attempts blocks change changes code completely correct diffs edits entirely everything \
    for from gave had has have hunks i in incomplete is it it's just longer made me meant my needed not of on one only \
    patches proposed reflection right said sent shown solution that's the them there this to try unfortunately valid version was \
    were what with wrote you";
/// Words that reject something.
const REJECTING: &str = "bad broken contains contained discarded error faulty incorrect invalid mistake mistaken obsolete outdated \
    rejected superseded wrong";

/// Returns true if a line rejects a block above it, a change of one of these files: `Ignore the diff above, it is
/// wrong.` It has to be about the block: `This replaces the approach above.` is an explanation.
pub(super) fn rejects_above(line: &[u8], paths: &[&str]) -> bool {
    let Some(text) = lowercase(line) else { return false };
    let text = with_name(&text, paths);
    let all: Vec<&str> = words(&text).collect();
    let is_option = is_any(&all, "if optional optionally unless when whether");
    let corrects_itself = is_any(&all, "hmm oops sorry wait") || all.first() == Some(&"no");
    let rejects = |clause: &str| {
        let words: Vec<&str> = words(clause).collect();
        tells_to_ignore(&words)
            || calls_wrong(&words, corrects_itself)
            || replaces(&words)
            || takes_back(&words)
    };
    !is_option && clauses(&text).any(rejects)
}

/// Returns true if a line may take back a block above it, or only one that was sent earlier: `My previous patch was
/// wrong.`, `No change is needed.`
pub(super) fn may_reject(line: &[u8], paths: &[&str]) -> bool {
    let Some(text) = lowercase(line) else { return false };
    let all: Vec<&str> = words(&text).collect();
    let suggests_nothing = |clause: &str| {
        let words: Vec<&str> = words(clause).collect();
        let is_needed = |word: &&str| has("necessary needed required", word);
        matches!(words[..], ["no", "change" | "changes", "is" | "are", ref rest @ ..] if rest.len() == 1 && rest.iter().all(is_needed))
            || is_any(&words, "propose recommend suggest") && is_any(&words, "nothing")
    };
    let is_conditional = is_any(&all, "if unless") && {
        let text = without_conditions(&text);
        rejects_above(text.as_bytes(), paths)
    };
    rejects_above(line, paths) || is_conditional || clauses(&text).any(suggests_nothing)
}

/// Returns the clauses of a text that have no condition.
fn without_conditions(text: &str) -> String {
    let is_bare = |clause: &&str| !is_any(&words(clause).collect::<Vec<_>>(), "if unless");
    clauses(text).filter(is_bare).collect::<Vec<_>>().join("; ")
}

/// Returns true if a line is about an answer that was sent earlier, which the one with this line may replace.
pub(super) fn is_about_earlier(line: &[u8]) -> bool {
    let text = lowercase(line).unwrap_or_default();
    let all: Vec<&str> = words(&text).collect();
    !is_any(&all, "above")
        && (is_any(&all, "earlier former last previous prior")
            || all.contains(&"i") && all.contains(&"made"))
}

/// Returns true if a clause tells someone to ignore a part of the answer: `please disregard the previous block`.
fn tells_to_ignore(clause: &[&str]) -> bool {
    let ([
        "ignore" | "disregard" | "discard" | "drop" | "forget" | "scrap" | "scratch" | "retract"
        | "skip",
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
    let is_one =
        |words: &[&str]| is_any(words, PARTS) && (is_any(words, WHICH) || words.contains(&NAMED));
    (is_any(rest, BACK)
        || is_one(rest)
        || matches!(rest, ["the" | "this", part] if has(PARTS, part)))
        && is_about_the_answer(rest)
}

/// Returns true if a clause takes back a change: `I should not change it after all`.
fn takes_back(clause: &[&str]) -> bool {
    clause.windows(2).any(|pair| pair == ["after", "all"])
        && is_any(clause, "don't not shouldn't won't")
        && is_any(clause, "apply change make need")
        && (is_any(clause, PARTS) || is_any(clause, "it that this") || clause.contains(&NAMED))
        && is_only_about(clause, &["apply do don't i'll make need should shouldn't we will won't"])
}

/// Returns true if a clause calls a part of the answer wrong: `my first attempt was wrong`. A clause without a word for
/// the part counts if the author corrects themselves: `wait, that is wrong`.
fn calls_wrong(clause: &[&str], corrects_itself: bool) -> bool {
    let is_denied =
        is_any(clause, "isn't no not wasn't") && is_any(clause, "correct meant needed right valid");
    let is_wrong = is_any(clause, REJECTING) && !is_any(clause, "not") || is_denied;
    let part = clause.iter().position(|word| has(PARTS, word));
    let after = part.and_then(|at| clause.get(at..)).unwrap_or_default();
    let is_named = clause.contains(&NAMED) && is_any(clause, "change changes diff hunk patch");
    let is_part = is_named
        || is_any(clause, BACK) && (is_any(after, REJECTING) || part.is_some() && is_denied)
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
    is_only_about(clause, &[])
}

/// Returns true if every word is about the answer, or one of `others`.
pub(super) fn is_only_about(clause: &[&str], others: &[&str]) -> bool {
    const LISTS: [&str; 7] = [FILLERS, PARTS, BACK, WHICH, OTHERS, REJECTING, NAMED];
    clause.iter().all(|word| LISTS.iter().chain(others).any(|list| has(list, word)))
}

/// Returns a text, in lower case, with [`NAMED`] for the names of files.
pub(super) fn with_name(text: &str, paths: &[&str]) -> String {
    let mut text = text.to_owned();
    for path in paths.iter().map(|path| path.to_lowercase()) {
        if text.contains(&path) {
            text = text.replace(&path, NAMED);
        }
    }
    text
}

/// Returns true if a line is the report of a program about a difference that a diff cannot show: a file that is only on
/// one side, or properties.
pub(super) fn reports_a_difference(line: &[u8]) -> bool {
    const REPORTS: [&[u8]; 3] = [b"Only in ", b"Property changes on: ", b"Binary files "];
    let is_report = REPORTS.iter().any(|report| line.starts_with(report));
    is_report
        && (memchr::memmem::find(line, b": ").is_some()
            || line.trim_ascii_end().ends_with(b" differ"))
}

/// Returns true if the author of a line promises to change something: `I will change a.py and b.py.`
pub(super) fn promises_change(line: &[u8]) -> bool {
    const CHANGE: &str = "adapt add adjust change edit extend modify rename replace rewrite update";
    let Some(text) = lowercase(line) else { return false };
    let all: Vec<&str> = words(&text).collect();
    let is_will = |words: &[&str]| match words {
        ["i" | "we", "will", verb, ..]
        | ["i'll" | "we'll", verb, ..]
        | ["going", "to", verb, ..] => has(CHANGE, verb),
        _ => false,
    };
    !is_any(&all, "don't no not without")
        && (0..all.len()).any(|at| all.get(at..).is_some_and(is_will))
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

pub(super) fn lowercase(line: &[u8]) -> Option<String> {
    Some(std::str::from_utf8(line).ok()?.to_lowercase().replace('\u{2019}', "'"))
}

/// Yields the parts of a text between punctuation. A period inside a word, as in a file name, ends nothing.
pub(super) fn clauses(text: &str) -> impl Iterator<Item = &str> {
    const ENDS: [char; 9] = [',', ';', ':', '!', '?', '(', ')', '\u{2013}', '\u{2014}'];
    text.split(". ").flat_map(|sentence| sentence.split(ENDS))
}

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic() && c != '\'').filter(|word| !word.is_empty())
}

/// Returns true if a list of words separated by spaces has `word`.
pub(super) fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == word)
}

/// Returns true if any of `words` is in the list.
pub(super) fn is_any(words: &[&str], list: &str) -> bool {
    words.iter().any(|word| has(list, word))
}

pub(super) fn without_fillers<'c, 'a>(clause: &'c [&'a str]) -> &'c [&'a str] {
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
            "Wait, I should not change `lib/a.py` after all.",
            "Drop the second diff.",
            "Ignore the diff for lib/a.py above.",
            "On reflection the change to `lib/a.py` is wrong; leave that file as it is.",
            "Skip this patch.",
            "This patch supersedes my previous attempt:",
        ] {
            assert!(rejects_above(line.as_bytes(), &["lib/a.py"]), "{line}");
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
            "Drop the table first.",
            "Skip the second argument.",
            "`lib/a.py` was wrong.",
            "The change to `lib/a.py` is not wrong.",
            "The value should not change after all calls.",
            "After all, the sign does not change.",
            "",
        ] {
            assert!(!rejects_above(line.as_bytes(), &["lib/a.py"]), "{line}");
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
    fn reports_of_programs_are_told_apart_from_sentences() {
        for line in
            ["Only in b: f.new", "Property changes on: a.sh", "Binary files a/x and b/x differ"]
        {
            assert!(reports_a_difference(line.as_bytes()), "{line}");
        }
        for line in ["Only in the tests.", "Binary files stay.", "Property changes", ""] {
            assert!(!reports_a_difference(line.as_bytes()), "{line}");
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
