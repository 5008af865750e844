//! Reads the text around a diff for statements that contradict it: that a block is not meant, or that it is to be
//! applied differently than it is written. Pure.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use tree::RepoPath;

use super::blocks;
use super::caption;
use super::correction;
use super::fence::Fence;
use super::header;
use super::line_use::Use;
use super::mentions;
use super::refuse::{PatchMismatch, Reason};
use super::resolve::Target;
use super::said;
use super::section::Hunk;
use super::tolerance::Tolerance;
use super::unfinished;

/// The number of lines above a section that are searched for a command.
const COMMAND: usize = 8;
/// The maximum number of other characters in a line that consists of a file name: a marker, a comment sign, `file:`.
const COMMENT: usize = 12;
/// The maximum number of new files whose names are searched for in added lines.
const MAX_DUE: usize = 16;
/// The maximum number of words before the file name in a heading that is followed by other headers.
const FEW_WORDS: usize = 2;
/// The same, if no headers follow.
const SOME_WORDS: usize = 4;
/// The maximum number of strings of a JSON block that are tried as file names.
const MAX_STRINGS: usize = 256;
/// The maximum length of a caption, in bytes.
const MAX_CAPTION: usize = 160;

/// Returns what the text around the sections says against applying them as written.
pub(super) fn against(
    lines: &[&[u8]],
    uses: &[Use],
    targets: &[Target<'_, '_>],
    declared: Option<&BTreeSet<RepoPath>>,
    is_known: &dyn Fn(&RepoPath) -> bool,
) -> Option<PatchMismatch> {
    let is_otherwise = |target: &Target<'_, '_>| {
        applied_otherwise(lines, uses, target, is_known)
            .or_else(|| heads_another(lines, uses, target))
    };
    rejected(lines, uses, targets)
        .or_else(|| corrected(lines, uses, targets))
        .or_else(|| rejected_below(lines, uses, targets))
        .or_else(|| edits_in_json(lines, uses, is_known))
        .or_else(|| copied_headers(lines, uses, targets, declared?))
        .or_else(|| targets.iter().find_map(is_otherwise))
}

/// Finds a block with a caption that rejects it; if the file is changed in several blocks, one that calls it a draft.
fn rejected(lines: &[&[u8]], uses: &[Use], targets: &[Target<'_, '_>]) -> Option<PatchMismatch> {
    let several: BTreeSet<&RepoPath> = blocks::in_several(targets, uses);
    targets.iter().find_map(|target| {
        let path = target.path.as_str();
        let is_draft = |line: &[u8]| several.contains(&target.path) && rejects(line);
        let at = caption(lines, uses, target.span.start).filter(|at| {
            lines.get(*at).is_some_and(|line| is_draft(line) || caption::rejects(line, path))
        })?;
        let mismatch = PatchMismatch::line(Reason::ContradictoryFileOps, lines, at);
        let note = mismatch.note.clone().unwrap_or_default();
        let file = Some(target.path.as_str().to_owned());
        Some(PatchMismatch { file, ..mismatch }.note(format!(
            "{note} It says that its block is not meant: send only the block that is."
        )))
    })
}

/// Finds a block whose caption says that it replaces the block above it, which changes the same file.
fn corrected(lines: &[&[u8]], uses: &[Use], targets: &[Target<'_, '_>]) -> Option<PatchMismatch> {
    targets.windows(2).find_map(|pair| {
        let [above, target] = pair else { return None };
        let at = caption(lines, uses, target.span.start)
            .filter(|at| above.path == target.path && above.span.end <= *at)?;
        lines.get(at).filter(|line| correction::replaces_above(line))?;
        let mismatch = PatchMismatch::line(Reason::ContradictoryFileOps, lines, at);
        let note = mismatch.note.clone().unwrap_or_default();
        let file = Some(target.path.as_str().to_owned());
        Some(PatchMismatch { file, ..mismatch }.note(format!(
            "{note} It says that the block below it replaces the one above: send only the block that is meant."
        )))
    })
}

/// Finds a section that the text between it and the next one, or after the last one, rejects. After the last one, what
/// is said about an earlier answer is not about this one.
fn rejected_below(
    lines: &[&[u8]],
    uses: &[Use],
    targets: &[Target<'_, '_>],
) -> Option<PatchMismatch> {
    let ends = targets.iter().skip(1).map(|target| target.span.start).chain([lines.len()]);
    let paths: Vec<&str> = targets.iter().map(|target| target.path.as_str()).collect();
    targets.iter().zip(ends).find_map(|(above, end)| {
        let mut between = above.span.end..end;
        let at = between.find(|at| {
            uses.get(*at) == Some(&Use::Prose)
                && lines.get(*at).is_some_and(|line| {
                    let is_earlier = || end == lines.len() && said::is_about_earlier(line);
                    said::rejects_above(line, &paths) && !is_earlier()
                })
        })?;
        let mismatch = PatchMismatch::line(Reason::ContradictoryFileOps, lines, at);
        let note = mismatch.note.clone().unwrap_or_default();
        let file = Some(above.path.as_str().to_owned());
        Some(PatchMismatch { file, ..mismatch }.note(format!(
            "{note} It says that the block above it is not meant: send only what is."
        )))
    })
}

/// Returns the line of prose, from 0, above the fence or the headers at `start`.
fn caption(lines: &[&[u8]], uses: &[Use], start: usize) -> Option<usize> {
    let above =
        uses.get(..start)?.iter().rposition(|what| !matches!(what, Use::Blank | Use::Opens))?;
    let is_prose = uses.get(above) == Some(&Use::Prose);
    (is_prose && lines.get(above)?.len() <= MAX_CAPTION).then_some(above)
}

/// Returns true if a caption consists only of words about the block itself, and one of them rejects it: `First attempt
/// (wrong):`.
fn rejects(line: &[u8]) -> bool {
    const REJECTING: &str = "bad discarded draft earlier ignore incorrect obsolete old outdated previous rejected scrapped wrong";
    const OTHERS: &str = "a an and answer apply attempt be before block change code diff do don first for had here i initial \
        is it me my no not one only or patch please proposed reference second should solution t that the \
        this to try use version was what you your";
    let Ok(text) = std::str::from_utf8(line) else { return false };
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let mut words =
        text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).peekable();
    let is_negated = (text.contains("not ") || text.contains("n't "))
        && (text.contains(" apply") || text.contains(" use"));
    let is_struck = text.trim().starts_with("~~") && text.trim().ends_with("~~");
    let has_any = words.peek().is_some();
    let (mut rejects, mut is_about_it) = (is_negated || is_struck, true);
    for word in words {
        let is_rejecting = REJECTING.split(' ').any(|it| it == word);
        rejects |= is_rejecting;
        is_about_it &= is_rejecting || OTHERS.split(' ').any(|it| it == word);
    }
    has_any && rejects && is_about_it
}

/// Finds a section whose command, or the line above its fence, reverses the diff, or applies it in another directory
/// that also has such a file.
fn applied_otherwise(
    lines: &[&[u8]],
    uses: &[Use],
    target: &Target<'_, '_>,
    is_known: &dyn Fn(&RepoPath) -> bool,
) -> Option<PatchMismatch> {
    let above = (0..target.span.start).rev().take(COMMAND);
    let above =
        above.take_while(|at| matches!(uses.get(*at), Some(Use::Prose | Use::Blank | Use::Opens)));
    let text = |at: usize| {
        lines.get(at).and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default()
    };
    let above: Vec<&str> =
        above.filter(|at| uses.get(*at) != Some(&Use::Blank)).map(text).collect();
    let is_command =
        |line: &&str| line.contains("<<") && (line.contains("patch") || line.contains("git apply"));
    let opens = |line: &str| Fence::opening(line.as_bytes()).is_some();
    let mut directories: Vec<&str> = Vec::new();
    let mut is_reversed = false;
    if let Some(command) = above.iter().position(is_command) {
        // Lines above the command in the same fence are commands as well.
        for line in above.iter().skip(command).take_while(|line| !opens(line)) {
            let words: Vec<&str> =
                line.split([' ', ';', '&']).filter(|word| !word.is_empty()).collect();
            is_reversed |= words.iter().any(|word| matches!(*word, "-R" | "--reverse"));
            for (word, next) in words.iter().zip(words.iter().skip(1).map(Some).chain([None])) {
                let with =
                    ["--directory=", "-d"].iter().find_map(|option| word.strip_prefix(option));
                match *word {
                    "cd" | "pushd" | "-C" | "-d" | "--directory" => directories.extend(next),
                    _ => directories.extend(with),
                }
            }
        }
    } else if let Some(line) = above.iter().find(|line| !opens(line)) {
        let is_heading = line.trim_end().ends_with(':');
        let words = || line.split(|c: char| c.is_whitespace() || "`'\"*():,".contains(c));
        is_reversed = is_heading
            && line.contains("apply")
            && words().any(|word| matches!(word, "-R" | "--reverse"));
        directories
            .extend(words().filter(|word| is_heading && word.len() > 1 && word.ends_with('/')));
    }
    let path = target.path.as_str();
    if is_reversed {
        let mismatch = PatchMismatch::file(Reason::UnsupportedFormat, path);
        return Some(mismatch.note(
            "The command around it reverses the diff. Write the diff in its final direction, without that option.",
        ));
    }
    let is_elsewhere = |directory: &&str| {
        let directory =
            directory.trim_matches(['\'', '"']).trim_start_matches("./").trim_end_matches('/');
        let below = RepoPath::parse(&format!("{directory}/{path}"));
        below.is_ok_and(|below| below != target.path && is_known(&below))
    };
    let directory = directories.into_iter().find(is_elsewhere)?;
    let mismatch = PatchMismatch::file(Reason::ContradictoryHeaders, path);
    Some(mismatch.note(format!(
        "The text above names the directory `{directory}`: write the full path of the file in the headers."
    )))
}

/// Finds hunks without names below a heading with the name of another file with the same extension: `Create a new file
/// lib/other.py:`.
fn heads_another(lines: &[&[u8]], uses: &[Use], target: &Target<'_, '_>) -> Option<PatchMismatch> {
    if !target.tolerates.contains(&Tolerance::NoHeader) {
        return None;
    }
    let path = target.path.as_str();
    let ending = target.path.name().rsplit_once('.').map(|(_, ending)| ending)?;
    let line = lines.get(caption(lines, uses, target.span.start)?)?;
    let names = blocks::paths_in(line);
    let is_it = |name: &RepoPath| {
        let name = name.as_str();
        path == name || path.ends_with(&format!("/{name}")) || name.ends_with(&format!("/{path}"))
    };
    let is_like_it =
        |name: &&RepoPath| name.name().rsplit_once('.').is_some_and(|(_, it)| it == ending);
    let other = names.iter().find(is_like_it).filter(|_| !names.iter().any(is_it))?;
    let mismatch = PatchMismatch::file(Reason::ContradictoryHeaders, path);
    let note = format!(
        "The line above its hunks names `{other}`: put `--- a/path` and `+++ b/path` before the hunks."
    );
    is_heading_of(line, other, SOME_WORDS).then(|| mismatch.note(note))
}

/// Finds a section whose headers were copied from the section before: they are the same, although the text between
/// names a declared file that nothing changes, as the heading of the next block or with both blocks making the same
/// change.
fn copied_headers(
    lines: &[&[u8]],
    uses: &[Use],
    targets: &[Target<'_, '_>],
    declared: &BTreeSet<RepoPath>,
) -> Option<PatchMismatch> {
    let touched: BTreeSet<&RepoPath> = targets.iter().flat_map(Target::paths).collect();
    let is_left = |name: &RepoPath| declared.contains(name) && !touched.contains(name);
    targets.windows(2).find_map(|pair| {
        let [before, target] = pair else { return None };
        if before.path != target.path {
            return None;
        }
        let is_same = OnceCell::new();
        let is_same = || *is_same.get_or_init(|| is_same_change(before.hunks, target.hunks));
        let heading = caption(lines, uses, target.span.start);
        let between = before.span.end..target.span.start;
        let mut prose = between.filter(|at| uses.get(*at) == Some(&Use::Prose));
        prose.find_map(|at| {
            let line = lines.get(at)?;
            let names = blocks::paths_in(line);
            let other = names.iter().find(|name| is_left(name))?;
            let is_heading = || heading == Some(at) && is_heading_of(line, other, FEW_WORDS);
            if !is_heading() && !is_same() {
                return None;
            }
            let mismatch = PatchMismatch::file(Reason::ContradictoryHeaders, target.path.as_str());
            Some(mismatch.note(format!(
                "Line {} of the answer names `{other}`, but the headers below it name another file.",
                at + 1
            )))
        })
    })
}

/// Returns true if a line says little more than a file name, and ends in it: `Now lib/other.py:`.
fn is_heading_of(line: &[u8], path: &RepoPath, words: usize) -> bool {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || "`'\"*:".contains(c));
    let before = text.strip_suffix(path.as_str());
    before.is_some_and(|before| {
        before.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count()
            <= words
    })
}

/// Returns true if the hunks have the same lines.
fn is_same_change(one: &[Hunk<'_>], other: &[Hunk<'_>]) -> bool {
    let lines = |hunk: &Hunk<'_>| {
        let body = hunk.readings.last().map_or(&[][..], |reading| &reading.body);
        body.iter().map(|line| (line.kind, line.text.to_vec())).collect::<Vec<_>>()
    };
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| lines(one) == lines(other))
}

/// Finds a JSON block next to the diff with edits of a file, which would be lost.
fn edits_in_json(
    lines: &[&[u8]],
    uses: &[Use],
    is_known: &dyn Fn(&RepoPath) -> bool,
) -> Option<PatchMismatch> {
    const SIDES: [[&str; 2]; 5] = [
        ["\"old", "\"new"],
        ["\"search", "\"replace"],
        ["\"before", "\"after"],
        ["\"find", "\"replace"],
        ["\"original", "\"updated"],
    ];
    let mut start = None;
    for (at, what) in uses.iter().enumerate() {
        match what {
            Use::Opens => start = Some(at + 1),
            Use::Closes => {
                let from = start.take().unwrap_or(at);
                let block = lines.get(from..at).unwrap_or_default().join(&b'\n');
                let text = String::from_utf8_lossy(&block);
                let is_json = text.trim_start().starts_with(['{', '[']);
                let has_sides =
                    || SIDES.iter().any(|sides| sides.iter().all(|side| text.contains(side)));
                let names_one = || {
                    text.split('"')
                        .take(MAX_STRINGS)
                        .any(|part| RepoPath::parse(part).is_ok_and(|path| is_known(&path)))
                };
                if is_json && has_sides() && names_one() {
                    let mismatch = PatchMismatch::line(Reason::UnsupportedFormat, lines, from);
                    let note = mismatch.note.clone().unwrap_or_default();
                    return Some(mismatch.note(format!(
                        "{note} It contains edits that are not in the diff: write them as hunks."
                    )));
                }
            }
            Use::Header | Use::Body => start = None,
            Use::Blank | Use::Prose => {}
        }
    }
    None
}

/// Returns the lines, from 0, that may say of a block that it is not meant: a caption that offers it as a choice, and a
/// sentence below it that takes a change back, though maybe only one that was sent earlier.
pub(super) fn doubts(lines: &[&[u8]], uses: &[Use], targets: &[Target<'_, '_>]) -> Vec<usize> {
    let is_line =
        |at: &usize, is_it: &dyn Fn(&[u8]) -> bool| lines.get(*at).is_some_and(|it| is_it(it));
    let captions = targets.iter().filter_map(|target| caption(lines, uses, target.span.start));
    let paths: Vec<&str> = targets.iter().map(|target| target.path.as_str()).collect();
    let first = targets.first().map_or(0, |target| target.span.start);
    let prose = (first..lines.len()).filter(|at| uses.get(*at) == Some(&Use::Prose));
    let mut found: Vec<usize> = captions.filter(|at| is_line(at, &caption::is_choice)).collect();
    found.extend(prose.filter(|at| is_line(at, &|line| said::may_reject(line, &paths))));
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the lines, from 0, that mention changes that the diff does not make: prose after it names a file that nothing
/// changes, or the heading of a hunk a declared one; prose elsewhere says that such a file has to be changed, or is headed
/// by it; an added line consists of the name of such a file that does not exist yet; prose after it corrects or extends
/// it; or prose tells someone to run a command that changes files, or is meant for a program.
pub(super) fn says_more(
    lines: &[&[u8]],
    uses: &[Use],
    touched: &[&RepoPath],
    declared: Option<&BTreeSet<RepoPath>>,
    exists: &dyn Fn(&RepoPath) -> bool,
) -> Vec<usize> {
    const MORE: [&[u8]; 4] =
        [b"correction", b"same change", b"remaining occurrences", b"leave it out"];
    let is_change = |what: &Use| matches!(what, Use::Header | Use::Body);
    let Some(last) = uses.iter().rposition(is_change) else { return Vec::new() };
    let all_may_change = declared.is_none();
    let declared = || declared.into_iter().flatten();
    let left: BTreeSet<&RepoPath> = declared().filter(|path| !touched.contains(path)).collect();
    let is_left = |name: &RepoPath| left.contains(name);
    let has_left = !left.is_empty();
    let is_there = |name: &RepoPath| {
        mentions::is_like_a_file(name) && !touched.contains(&name) && exists(name)
    };
    let is_left_or_there = |name: &RepoPath| is_left(name) || all_may_change && is_there(name);
    let names_one = |line: &[u8]| has_left && blocks::paths_in(line).iter().any(is_left);
    let due = left.iter().copied().filter(|path| !exists(path));
    let due: Vec<&RepoPath> = due.take(MAX_DUE).collect();
    let mut inside = false;
    let mut says_more = |at: usize, line: &[u8], what: Use| match what {
        Use::Prose if said::reports_a_difference(line) => true,
        Use::Prose if !inside && mentions::is_of_another_kind(line) => true,
        Use::Prose if !inside && said::tells_to_run(line) => true,
        Use::Prose if at > last => {
            let said = line.to_ascii_lowercase();
            let has = |words: &&[u8]| memchr::memmem::find(&said, words).is_some();
            let is_other =
                |name: &RepoPath| name.as_str().contains('.') && !touched.contains(&name);
            let is_due = || {
                said::describes_change(line)
                    && (has(&&b"same file"[..]) || blocks::paths_in(line).iter().any(is_other))
            };
            let is_said = || {
                is_due()
                    || unfinished::may_say_so(line)
                    || mentions::names_another(line, touched, exists)
            };
            MORE.iter().any(has) || names_one(line) || !inside && is_said()
        }
        Use::Prose if !inside => is_about_another(line, &is_left_or_there, touched),
        Use::Header => header::heading(line).is_some_and(names_one),
        Use::Body if line.starts_with(b"+") && !due.is_empty() => {
            let is_alone = |path: &&&RepoPath| line.len() <= path.as_str().len() + COMMENT;
            due.iter().filter(is_alone).any(|path| blocks::paths_in(line).contains(*path))
        }
        Use::Opens | Use::Closes => {
            inside = what == Use::Opens;
            false
        }
        Use::Body | Use::Blank | Use::Prose => false,
    };
    let marked = (0..).zip(lines.iter().zip(uses));
    marked.filter(|(at, (line, what))| says_more(*at, line, **what)).map(|(at, _)| at).collect()
}

/// Returns true if a line above or between sections promises to change a file that nothing changes, or is about that
/// file and no other: it is a heading with its name, or says that it has to be changed.
fn is_about_another(
    line: &[u8],
    is_left: &dyn Fn(&RepoPath) -> bool,
    touched: &[&RepoPath],
) -> bool {
    let names = blocks::paths_in(line);
    let Some(other) = names.iter().find(|name| is_left(name)) else { return false };
    let is_heading = || {
        let is_marked = line.starts_with(b"#")
            || line.starts_with(b"**")
            || line.trim_ascii_end().ends_with(b":");
        is_marked && is_heading_of(line, other, FEW_WORDS)
    };
    let counts = |text: &[u8]| text.trim_ascii_start().starts_with(b"|");
    let is_counted =
        line.trim_ascii_start().strip_prefix(other.as_str().as_bytes()).is_some_and(counts);
    is_counted
        || said::promises_change(line)
        || !names.iter().any(|name| touched.contains(&name))
            && (is_heading() || said::describes_change(line))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, path, plan_of};
    use super::*;

    const FILE: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";
    const FIRST: &str = "--- a/f.py\n+++ b/f.py\n@@ -2 +2 @@\n-b\n+B\n";
    const SECOND: &str = "--- a/f.py\n+++ b/f.py\n@@ -7 +7 @@\n-g\n+G\n";

    /// Applies `answer` and returns the new text of `f.py`, which also exists in `sub`; or the first reason for
    /// refusing it.
    fn after(answer: &str) -> Result<String, Reason> {
        let files = Files::default().file("f.py", FILE).file("sub/f.py", FILE);
        let plan = plan_of(&files, &["f.py", "sub/f.py"], answer)
            .map_err(|refusal| refusal.mismatches[0].reason)?;
        let change = plan.changes.iter().find(|change| change.path == path("f.py"));
        let state = change.and_then(|change| change.after.as_ref());
        Ok(state.map_or(FILE.to_owned(), |state| String::from_utf8(state.bytes.to_vec()).unwrap()))
    }

    #[test]
    fn a_block_that_its_caption_rejects_is_refused() {
        let answer = |caption: &str| {
            format!("{caption}\n\n```diff\n{FIRST}```\n\nThis:\n\n```diff\n{SECOND}```\n")
        };
        for caption in [
            "First attempt (wrong, ignore):",
            "Do NOT apply this one, it is what you had:",
            "Your earlier change was:",
            "\u{274c} Wrong:",
            "~~Attempt 1~~",
            "**Draft**",
        ] {
            assert_eq!(after(&answer(caption)), Err(Reason::ContradictoryFileOps), "{caption}");
        }
        for caption in ["**Draft**", "Your earlier code:", "Previous version:"] {
            let alone = format!("{caption}\n\n```diff\n{FIRST}```\n");
            assert!(after(&alone).is_ok(), "{caption}: there is no other block");
        }
        let other = FIRST.replace("/f.py", "/sub/f.py");
        for caption in ["Do NOT apply this one:", "Your earlier change was:", "Wrong:"] {
            let alone = format!("{caption}\n\n```diff\n{FIRST}```\n");
            assert_eq!(after(&alone), Err(Reason::ContradictoryFileOps), "{caption}");
            let of_another = format!("```diff\n{FIRST}```\n\n{caption}\n\n```diff\n{other}```\n");
            assert_eq!(after(&of_another), Err(Reason::ContradictoryFileOps), "{caption}");
        }
        for caption in [
            "First, the import:",
            "The wrong sign is corrected:",
            "Ignore errors of `close`:",
            "The previous call is replaced:",
            "We do not use the cache any more:",
            "Retry attempts:",
            "Step 1:",
            "In the first block:",
        ] {
            assert!(after(&answer(caption)).is_ok(), "{caption}");
        }
    }

    #[test]
    fn a_draft_that_is_commented_out_is_refused() {
        let answer = format!("<!--\n```diff\n{FIRST}```\n-->\n\n```diff\n{SECOND}```\n");
        assert_eq!(after(&answer), Err(Reason::ContradictoryFileOps));
        let lost = format!(
            "analysisHm:\n\n```diff\n{FIRST}```\n\nNo.assistantfinalSo:\n\n```diff\n{SECOND}```\n"
        );
        assert_eq!(after(&lost), Err(Reason::ContradictoryFileOps));
        let around = format!(
            "<!-- a remark -->\n```diff\n{FIRST}```\n<!-- another -->\n```diff\n{SECOND}```\n"
        );
        assert!(after(&around).is_ok());
    }

    #[test]
    fn a_block_that_the_text_below_it_rejects_is_refused() {
        let answer =
            |said: &str| format!("```diff\n{FIRST}```\n\n{said}\n\n```diff\n{SECOND}```\n");
        for said in ["Ignore the diff above, it is wrong. The right change is:", "Scratch that."] {
            assert_eq!(after(&answer(said)), Err(Reason::ContradictoryFileOps), "{said}");
        }
        for said in ["This replaces the approach above.", "`x` is used instead of `b`:"] {
            assert!(after(&answer(said)).is_ok(), "{said}");
        }
        let last = |said: &str| after(&format!("```diff\n{FIRST}```\n\n{said}\n"));
        for said in [
            "The diff above is wrong.",
            "Wait, I should not change `f.py` after all.",
            "Ignore the diff for `f.py`.",
        ] {
            assert_eq!(last(said), Err(Reason::ContradictoryFileOps), "{said}");
        }
        for said in ["My previous patch was wrong.", "I made a mistake.", "It was wrong before."] {
            assert!(last(said).is_ok(), "{said}");
        }
    }

    #[test]
    fn a_block_that_corrects_the_one_above_is_refused() {
        let other = FIRST.replace("/f.py", "/sub/f.py");
        let answer = |said: &str, first: &str| {
            format!("```diff\n{first}```\n\n{said}\n\n```diff\n{SECOND}```\n")
        };
        for said in ["Final answer:", "Wait, not there. Here:"] {
            assert_eq!(after(&answer(said, FIRST)), Err(Reason::ContradictoryFileOps), "{said}");
            assert!(after(&answer(said, &other)).is_ok(), "{said}");
            assert!(after(&format!("{said}\n\n```diff\n{FIRST}```\n")).is_ok(), "{said}");
        }
        assert!(after(&answer("Then the second function:", FIRST)).is_ok());
    }

    #[test]
    fn a_block_that_may_not_be_meant_is_noted() {
        let other = FIRST.replace("/f.py", "/sub/f.py");
        let noted = |between: &str, after: &str| {
            let files = Files::default().file("f.py", FILE).file("sub/f.py", FILE);
            let answer =
                format!("```diff\n{FIRST}```\n\n{between}\n\n```diff\n{other}```\n\n{after}\n");
            let plan = plan_of(&files, &["f.py", "sub/f.py"], &answer).unwrap();
            plan.repairs.into_iter().filter_map(|repair| repair.text).collect::<Vec<_>>()
        };
        for said in ["Option B (choose one):", "Alternatively:", "If you prefer, also:"] {
            assert_eq!(noted(said, ""), [said]);
        }
        for said in ["My previous patch was wrong.", "No change is needed.", "I suggest nothing."] {
            assert_eq!(noted("And:", said), [said]);
        }
        for said in ["No change is needed in `other.py`.", "It is an alternative to `x`.", "Done."]
        {
            assert!(noted("Then the other one:", said).is_empty(), "{said}");
        }
    }

    #[test]
    fn a_command_that_reverses_or_redirects_a_diff_is_refused() {
        for (command, reason) in [
            ("patch -R -p1 <<EOF", Reason::UnsupportedFormat),
            ("git apply --reverse <<'EOF'", Reason::UnsupportedFormat),
            ("git apply --directory=sub <<EOF", Reason::ContradictoryHeaders),
            ("patch -d sub -p1 <<EOF", Reason::ContradictoryHeaders),
            ("cd sub\npatch -p1 <<EOF", Reason::ContradictoryHeaders),
            ("cd sub && git apply <<EOF", Reason::ContradictoryHeaders),
        ] {
            let answer = format!("```sh\n{command}\n{FIRST}EOF\n```\n");
            assert_eq!(after(&answer), Err(reason), "{command}");
        }
        for command in [
            "patch -p1 <<EOF",
            "git apply <<'EOF'",
            "cd project && patch -p1 <<EOF",
            "cd /repo\ngit apply <<EOF",
            "patch -d . -p1 <<EOF",
            "git apply --recount <<EOF",
        ] {
            let answer = format!("```sh\n{command}\n{FIRST}EOF\n```\n");
            assert_eq!(after(&answer).as_deref(), Ok("a\nB\nc\nd\ne\nf\ng\nh\n"), "{command}");
        }
    }

    #[test]
    fn a_heading_that_reverses_or_redirects_a_diff_is_refused() {
        let answer = |heading: &str| format!("{heading}\n\n```diff\n{FIRST}```\n");
        assert_eq!(
            after(&answer("Apply in reverse (`git apply -R`):")),
            Err(Reason::UnsupportedFormat)
        );
        assert_eq!(after(&answer("In the directory `sub/`:")), Err(Reason::ContradictoryHeaders));
        for heading in
            ["Apply with `git apply`:", "In the directory `other/`:", "The file in `sub/` stays."]
        {
            assert!(after(&answer(heading)).is_ok(), "{heading}");
        }
        let undo = format!("```diff\n{FIRST}```\n\nTo undo it, use `git apply -R`:\n");
        assert!(after(&undo).is_ok());
    }

    #[test]
    fn hunks_without_names_below_the_name_of_another_file_are_refused() {
        let hunk = "@@ -2 +2 @@\n-b\n+B\n";
        let outcome = |line: &str| {
            let files = Files::default().file("f.py", FILE);
            let answer = format!("{line}\n\n```diff\n{hunk}```\n");
            plan_of(&files, &["f.py"], &answer).map_err(|refusal| refusal.mismatches[0].reason)
        };
        for line in ["Create a new file `lib/other.py`:", "In **helper_f.py**:", "In `helper.py`:"]
        {
            assert_eq!(outcome(line).unwrap_err(), Reason::ContradictoryHeaders, "{line}");
        }
        for line in [
            "In `f.py`:",
            "As `os.path` does:",
            "Unlike `g.py`, `f.py` has:",
            "The test in `tests/test_f.py` fails, so:",
            "It is not a part of what is in `g.py`:",
            "The change:",
        ] {
            let plan = outcome(line).unwrap();
            assert_eq!(plan.repairs[0].tolerance, Tolerance::NoHeader, "{line}");
        }
    }

    #[test]
    fn headers_that_were_copied_from_the_block_before_are_refused() {
        let answer = |said: &str, second: &str| {
            format!("```diff\n{FIRST}```\n\n{said}\n\n```diff\n{second}```\n")
        };
        for said in [
            "And for sub/f.py:",
            "### `sub/f.py`\n\nThe same change.",
            "$ git diff sub/f.py",
            "\"path\": \"sub/f.py\",",
        ] {
            assert_eq!(after(&answer(said, FIRST)), Err(Reason::ContradictoryHeaders), "{said}");
        }
        assert_eq!(after(&answer("Now `sub/f.py`:", SECOND)), Err(Reason::ContradictoryHeaders));
        for said in ["Once more:", "In `f.py`:", "See `other.py`:"] {
            assert!(after(&answer(said, FIRST)).is_ok(), "{said}");
        }
        for said in ["`sub/f.py` uses this; further down:", "`f.py` is called from `sub/f.py`:"] {
            assert!(after(&answer(said, SECOND)).is_ok(), "{said}");
        }
        let changed = FIRST.replace("/f.py", "/sub/f.py");
        let both = format!("{}\n```diff\n{changed}```\n", answer("And for sub/f.py:", FIRST));
        assert!(after(&both).is_ok(), "the other file is changed as well");
    }

    #[test]
    fn json_edits_next_to_a_diff_are_refused() {
        let answer = |json: &str| format!("```diff\n{FIRST}```\n\n```json\n{json}\n```\n");
        for json in [
            "{\"file\": \"f.py\", \"changes\": [{\"line\": 4, \"old\": \"d\", \"new\": \"D\"}]}",
            "[\n  {\"path\": \"f.py\", \"search\": \"d\", \"replace\": \"D\"}\n]",
        ] {
            assert_eq!(after(&answer(json)), Err(Reason::UnsupportedFormat), "{json}");
        }
        for json in
            ["{\"old\": 1, \"new\": 2}", "{\"file\": \"f.py\", \"line\": 4}", "{\"a\": \"f.py\"}"]
        {
            assert!(after(&answer(json)).is_ok(), "{json}");
        }
    }

    #[test]
    fn a_mention_of_an_unchanged_file_after_the_diff_is_recorded() {
        let noted = |said: &str| {
            let files = Files::default().file("f.py", FILE).file("sub/f.py", FILE);
            let answer = format!("In `sub/f.py` it is so.\n\n```diff\n{FIRST}```\n\n{said}\n");
            let plan = plan_of(&files, &["f.py", "sub/f.py"], &answer).unwrap();
            plan.repairs.iter().any(|repair| repair.tolerance == Tolerance::Tail)
        };
        for said in [
            "It is like `sub/f.py`.",
            "One correction: leave out the last line.",
            "Do the same change elsewhere.",
            "You also need to add `requests` to requirements.txt.",
            "Only in b: f.new",
            "Property changes on: f.py",
        ] {
            assert!(noted(said), "{said}");
        }
        for said in
            ["", "That is `f.py`.", "See `other.py`.", "The rest is correct.", "No remaining uses."]
        {
            assert!(!noted(said), "{said}");
        }
    }

    #[test]
    fn a_change_that_is_only_described_is_recorded_wherever_the_text_is() {
        let noted = |above: &str, between: &str| {
            let files = Files::default().file("f.py", FILE).file("sub/f.py", FILE);
            let answer =
                format!("{above}\n\n```diff\n{FIRST}```\n\n{between}\n\n```diff\n{SECOND}```\n");
            let plan = plan_of(&files, &["f.py", "sub/f.py"], &answer).unwrap();
            plan.repairs.iter().any(|repair| repair.tolerance == Tolerance::Tail)
        };
        for said in [
            "In `sub/f.py`, change the corresponding lines.",
            "### 2. `sub/f.py`\n\nUpdate the entry by hand.",
            "Run `sed -i 's/a/b/' f.py` first, then apply this:",
            "I will change `f.py` and `sub/f.py`.",
            " sub/f.py | 3 ++-",
        ] {
            assert!(noted(said, "") && noted("", said), "{said}");
        }
        for said in [
            "In `sub/f.py` it is so.",
            "Change the call in `f.py` as `sub/f.py` has it.",
            "### 1. `f.py`",
            "Run `python -m pytest sub`.",
            "I will not change `sub/f.py`.",
        ] {
            assert!(!noted(said, "") && !noted("", said), "{said}");
        }
    }

    #[test]
    fn a_mention_of_an_unchanged_file_in_the_diff_is_recorded() {
        let noted = |old: &str, new: &str| {
            let files = Files::default().file("f.py", FILE).file("sub/f.py", FILE);
            let answer = FIRST.replace(old, new);
            let plan = plan_of(&files, &["f.py", "sub/f.py", "g.py"], &answer).unwrap();
            plan.repairs.iter().any(|repair| repair.tolerance == Tolerance::Tail)
        };
        assert!(noted("@@ -2 +2 @@", "@@ -2 +2 @@ (also in sub/f.py)"));
        assert!(noted("+B", "+# file: g.py"));
        for text in ["+# file: sub/f.py", "+# what g.py needs to be made right", "+# other.py"] {
            assert!(!noted("+B", text), "{text}");
        }
        assert!(!noted("@@ -2 +2 @@", "@@ -2 +2 @@ import f.py"));
    }

    #[test]
    fn a_caption_is_judged_as_a_whole() {
        assert!(rejects(b"Ignore this one:") && rejects("Don\u{2019}t use this:".as_bytes()));
        for caption in
            ["Use this one:", "", "---", "Ignore whitespace:", "Drafts are kept:", "Version 2:"]
        {
            assert!(!rejects(caption.as_bytes()), "{caption}");
        }
    }
}
