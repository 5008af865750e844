//! How much a run changes: its patches are counted together, so that many small ones weigh as much as a large one.
//! Pure.

use std::collections::BTreeSet;
use std::fmt;

/// The total of the patches that a run applied so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchTotal {
    files: BTreeSet<String>,
    lines: usize,
}

/// How much a patch changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Distinct files.
    pub files: usize,
    /// Lines added and removed.
    pub lines: usize,
    /// Whether earlier patches are included.
    pub of: Counted,
}

/// What a size includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Only this patch.
    Patch,
    /// This patch and the earlier ones of the run.
    Run,
}

impl PatchTotal {
    /// Returns the size of a patch to `paths` with `lines` lines added and removed, plus everything counted before.
    pub fn with(&self, paths: &[&str], lines: usize) -> Size {
        let known = |path: &&&str| self.files.contains(**path);
        let fresh: BTreeSet<&&str> = paths.iter().filter(|path| !known(path)).collect();
        let of = if self.files.is_empty() { Counted::Patch } else { Counted::Run };
        Size { files: self.files.len() + fresh.len(), lines: self.lines.saturating_add(lines), of }
    }

    /// Counts a patch that was applied.
    pub fn add(&mut self, paths: &[&str], lines: usize) {
        self.files.extend(paths.iter().map(|path| (*path).to_owned()));
        self.lines = self.lines.saturating_add(lines);
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, lines, of } = self;
        let what = match of {
            Counted::Patch => "the patch is large",
            Counted::Run => "the patches of this run are large in total",
        };
        let plural = |count: &usize| if *count == 1 { "" } else { "s" };
        write!(f, "{what}: {files} file{}, {lines} line{}", plural(files), plural(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_add_up_and_a_file_counts_once() {
        let mut tally = PatchTotal::default();
        assert_eq!(tally.with(&["a", "a"], 3), Size { files: 1, lines: 3, of: Counted::Patch });
        tally.add(&["a", "b"], 10);
        assert_eq!(tally.with(&["b", "c"], 5), Size { files: 3, lines: 15, of: Counted::Run });
    }
}
