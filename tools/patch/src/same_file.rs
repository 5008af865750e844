//! Hunks without names in a fence of their own: they belong to the file of the fence above if it has only that one, nothing
//! in between names another, and all their old lines are there exactly once.

use std::collections::BTreeMap;

use tree::{Entry, RepoPath};

use super::blocks;
use super::compare::Tier;
use super::header::Name;
use super::line_use::Use;
use super::locate::Image;
use super::plan::Current;
use super::resolve::{Known, candidates};
use super::section::{Hunk, Section};
use super::tolerance::Tolerance;

/// Gives sections without names the names of the section above.
pub(super) fn name_sections(
    sections: &mut [Section<'_>],
    lines: &[&[u8]],
    uses: &[Use],
    known: &Known<'_>,
    current: &Current<'_>,
) {
    // The only declared file needs no name.
    let is_only = known.declared.is_some_and(|declared| declared.len() == 1);
    if is_only || !known.allowed.allow(Tolerance::NoHeader) {
        return;
    }
    let mut named: BTreeMap<RepoPath, Vec<usize>> = BTreeMap::new();
    for at in 1..sections.len() {
        let Some((above, [section, ..])) = sections.split_at_mut_checked(at) else { return };
        if section.is_nameless()
            && let Some((names, path)) = file_above(above, section, lines, uses, known)
        {
            (section.old, section.new, section.is_continued) = (Some(names.0), Some(names.1), true);
            named.entry(path).or_default().push(at);
        }
    }
    for (path, continued) in named {
        let Ok(Entry::File(state)) = current(&path) else { continue };
        let image = Image::of(&state.bytes);
        for at in continued {
            let Some(section) = sections.get_mut(at) else { continue };
            if !section.hunks.iter().all(|hunk| is_there_once(&image, hunk)) {
                (section.old, section.new, section.is_continued) = (None, None, false);
            }
        }
    }
}

/// Returns the names and the path of the only file in the fence above `section`.
fn file_above(
    above: &[Section<'_>],
    section: &Section<'_>,
    lines: &[&[u8]],
    uses: &[Use],
    known: &Known<'_>,
) -> Option<((Name, Name), RepoPath)> {
    let last = above.last()?;
    let names = (last.old.clone()?, last.new.clone()?);
    let between = last.span.end..section.span.start;
    let is_new_fence = uses.get(between.clone())?.contains(&Use::Opens);
    let opens = uses.get(..last.span.start)?.iter().rposition(|what| *what == Use::Opens)?;
    let mut others = above.iter().rev().take_while(|other| other.span.start > opens);
    if !is_new_fence || others.any(|other| other.old != last.old || other.new != last.new) {
        return None;
    }
    let paths = candidates(&names.1).ok()?;
    let mut existing = paths.iter().filter(|path| known.has(path));
    let path = existing.next().filter(|_| existing.next().is_none())?;
    let is_it =
        |name: &RepoPath| paths.contains(name) || path.as_str().ends_with(&format!("/{name}"));
    let ending = |path: &RepoPath| path.name().rsplit_once('.').map(|(_, it)| it.to_owned());
    let is_other = |name: &RepoPath| {
        let is_name = name.as_str().contains('/') || ending(name) == ending(path);
        !is_it(name) && (is_name && ending(name).is_some() || (known.exists)(name))
    };
    let mut between = lines.get(between)?.iter();
    let names_another = between.any(|line| blocks::paths_in(line).iter().any(is_other));
    (!names_another).then(|| (names, path.clone()))
}

/// Returns true if the old lines of a hunk are exactly in one place.
fn is_there_once(image: &Image<'_>, hunk: &Hunk<'_>) -> bool {
    hunk.readings.iter().any(|reading| {
        let old: Vec<_> = reading.body.iter().filter(|line| line.is_old()).collect();
        !old.is_empty() && image.places(&old, Tier::Exact).len() == 1
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, path, plan_of};
    use super::super::{Reason, Tolerance};

    const FILE: &str = "a\nb\nc\nd\nsame\ne\nsame\nf\n";
    const FIRST: &str =
        "```diff\n--- a/lib/f.py\n+++ b/lib/f.py\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n```\n";

    /// Returns the text of the changed file; or the first reason for refusing `answer`.
    fn after(answer: &str) -> Result<String, Reason> {
        let files = Files::default().file("lib/f.py", FILE).file("lib/g.py", "e\n");
        let plan = plan_of(&files, &["lib/f.py", "lib/g.py"], answer)
            .map_err(|refusal| refusal.mismatches[0].reason)?;
        assert!(plan.repairs.iter().any(|repair| repair.tolerance == Tolerance::NoHeader));
        let [change] = &plan.changes[..] else { panic!("{:?}", plan.changes) };
        assert_eq!(change.path, path("lib/f.py"));
        Ok(String::from_utf8(change.after.as_ref().unwrap().bytes.to_vec()).unwrap())
    }

    #[test]
    fn hunks_in_a_fence_of_their_own_belong_to_the_file_of_the_fence_above() {
        let second = "```diff\n@@ -6 +6 @@\n-e\n+E\n```\n";
        let third = "```diff\n@@ -8 +8 @@\n-f\n+F\n```\n";
        for between in [
            "",
            "Then:",
            "Still in `lib/f.py`:",
            "And further down in `f.py`, e.g. for the end:",
            "It calls `os.path`, and is/was in `a.b`.",
        ] {
            let answer = format!("{FIRST}\n{between}\n\n{second}\nAnd:\n\n{third}");
            assert_eq!(after(&answer).unwrap(), "a\nB\nc\nd\nsame\nE\nsame\nF\n", "{between}");
        }
        for between in ["In `lib/g.py`:", "g.py:", "Create `lib/new.py`:", "`docs/a.md`"] {
            let answer = format!("{FIRST}\n{between}\n\n{second}");
            assert_eq!(after(&answer), Err(Reason::NoFileHeader), "{between}");
        }
    }

    #[test]
    fn hunks_that_may_belong_to_another_file_are_refused() {
        let fence = |hunk: &str| format!("{FIRST}\nThen:\n\n```diff\n{hunk}```\n");
        for hunk in [
            "@@ -5 +5 @@\n-same\n+other\n",
            "@@ -6 +6 @@\n-  e\n+  E\n",
            "@@ -6 +6 @@\n-x\n+y\n",
            "@@ -6,0 +7 @@\n+y\n",
        ] {
            assert_eq!(after(&fence(hunk)), Err(Reason::NoFileHeader), "{hunk}");
        }
        let other = "--- a/lib/g.py\n+++ b/lib/g.py\n@@ -1 +1,2 @@\n e\n+g\n```\n";
        let two = FIRST.replace("```\n", other);
        let answer = format!("{two}\nThen:\n\n```diff\n@@ -6 +6 @@\n-e\n+E\n```\n");
        assert_eq!(after(&answer), Err(Reason::NoFileHeader));
    }
}
