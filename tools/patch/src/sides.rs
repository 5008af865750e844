//! Names of a file header that differ only in words for its two sides: `old/a.py` and `new/a.py`, `a.py.orig` and `a.py`,
//! `a.py (original)` and `a.py (modified)`. Pure.

use tree::RepoPath;

use super::header::Name;
use super::resolve::{Known, candidates};
use super::section::Section;

/// Words for the old side, each with those for the new one.
const PAIRS: [(&str, &[&str]); 5] = [
    ("original", &["modified", "updated", "new", "changed", "fixed"]),
    ("orig", &["new", "modified"]),
    ("old", &["new"]),
    ("before", &["after"]),
    ("previous", &["current", "new"]),
];
/// Endings of a copy of the old file.
const ENDINGS: [&str; 3] = [".orig", ".old", ".bak"];

/// Returns the only file that exists of those that both names can mean.
pub(super) fn meant(section: &Section<'_>, known: &Known<'_>) -> Option<RepoPath> {
    let [Some(Name::Path(old)), Some(Name::Path(new))] = [&section.old, &section.new] else {
        return None;
    };
    let modes = [section.new_file_mode, section.deleted_file_mode];
    if section.git.is_some() || modes.iter().any(Option::is_some) {
        return None;
    }
    let [old, new] = [std::str::from_utf8(old).ok()?, std::str::from_utf8(new).ok()?];
    let [old, new] = [old.trim_end(), new.trim_end()];
    let name = below_directories(old, new)
        .or_else(|| with_ending(old, new))
        .or_else(|| with_remark(old, new))?;
    let of = |name: &str| candidates(&Name::Path(name.as_bytes().to_vec())).ok();
    let meant = of(name)?;
    let mut named = [old, new, name].into_iter().filter_map(of).flatten();
    let path = meant.iter().find(|path| known.has(path))?;
    named.all(|other| other == *path || !(known.exists)(&other)).then(|| path.clone())
}

fn is_pair(old: &str, new: &str) -> bool {
    let [old, new] = [old, new].map(str::to_lowercase);
    PAIRS.iter().any(|(one, others)| *one == old && others.contains(&new.as_str()))
}

/// Returns the name without the prefix of a side.
fn bare(name: &str) -> &str {
    name.strip_prefix("a/").or(name.strip_prefix("b/")).unwrap_or(name)
}

/// Reads `old/a.py` and `new/a.py`.
fn below_directories<'n>(old: &str, new: &'n str) -> Option<&'n str> {
    let ((from, old), (to, new)) = (old.split_once('/')?, new.split_once('/')?);
    (old == new && is_pair(from, to)).then_some(new)
}

/// Reads `a.py.orig` and `a.py`. The other way round, `a.py.new` may be a new name.
fn with_ending<'n>(old: &str, new: &'n str) -> Option<&'n str> {
    let ending = bare(old).strip_prefix(bare(new))?;
    ENDINGS.contains(&ending).then_some(new)
}

/// Reads `a.py (original)` and `a.py (modified)`, or `a.py  # before` and `a.py  # after`.
fn with_remark<'n>(old: &'n str, new: &'n str) -> Option<&'n str> {
    let split = |name: &'n str| {
        let (name, remark) = name.rsplit_once(' ')?;
        let word = remark.trim_matches(|c: char| !c.is_alphanumeric());
        Some((name.trim_end_matches([' ', '#', ';']), word))
    };
    let ((of_old, from), (of_new, to)) = (split(old)?, split(new)?);
    (bare(of_old) == bare(of_new) && is_pair(from, to)).then_some(of_new)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, path, plan_of};
    use super::super::{Reason, Tolerance};

    #[test]
    fn names_that_differ_only_in_words_for_the_sides_mean_one_file() {
        let files = Files::default().file("lib/f.py", "a\nb\n").file("lib/g.py.orig", "a\nb\n");
        let files = files.file("lib/g.py", "a\nb\n").file("old/h.py", "a\n").file("h.py", "a\nb\n");
        let plan = |old: &str, new: &str| {
            let declared = ["lib/f.py", "lib/g.py", "h.py"];
            let answer = format!("--- {old}\n+++ {new}\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
            plan_of(&files, &declared, &answer).map_err(|refusal| refusal.mismatches[0].reason)
        };
        for (old, new) in [
            ("old/lib/f.py", "new/lib/f.py"),
            ("before/lib/f.py", "after/lib/f.py"),
            ("lib/f.py.orig", "lib/f.py"),
            ("a/lib/f.py.bak", "b/lib/f.py"),
            ("lib/f.py (original)", "lib/f.py (modified)"),
            ("a/lib/f.py (Old)", "b/lib/f.py (New)"),
            ("a/lib/f.py  # before", "b/lib/f.py  # after"),
        ] {
            let plan = plan(old, new).unwrap();
            assert_eq!(plan.changes[0].path, path("lib/f.py"), "{old}");
            assert_eq!(plan.repairs[0].tolerance, Tolerance::Sides, "{old}");
        }
        for (old, new) in [
            ("old/lib/f.py", "new/lib/g.py"),
            ("src/lib/f.py", "dst/lib/f.py"),
            ("new/lib/f.py", "old/lib/f.py"),
            ("lib/f.py.txt", "lib/f.py"),
            ("a/lib/f.py", "b/lib/f.py.new"),
            ("lib/f.py (draft)", "lib/f.py (final)"),
            // The file with the old name exists as well.
            ("lib/g.py.orig", "lib/g.py"),
            ("old/h.py", "new/h.py"),
            ("old/n.py", "new/n.py"),
        ] {
            assert_eq!(plan(old, new).unwrap_err(), Reason::PathMismatch, "{old}");
        }
    }
}
