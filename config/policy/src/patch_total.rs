//! How much a run changes: its patches are counted together, so that many small ones weigh as much as a large one.
//! Pure.

use std::collections::BTreeMap;
use std::fmt;

/// The total of the patches that a run applied so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchTotal {
    files: BTreeMap<String, FileTotal>,
}

/// How much of a file has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct FileTotal {
    lines: usize,
    is_reshaped: bool,
}

/// A file that a patch touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched<'p> {
    /// Its path after the patch.
    pub path: &'p str,
    /// Lines added and removed.
    pub lines: usize,
    /// What else is done to it.
    pub how: Touch,
}

/// How a patch touches a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// Lines are changed, and nothing else.
    Edited,
    /// It is created, deleted, moved, or made executable.
    Reshaped,
}

/// How much a patch changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeSize {
    /// Distinct files that count.
    pub files: usize,
    /// Lines added and removed.
    pub lines: usize,
    /// Whether earlier patches are included.
    pub of: SizeCount,
}

/// What a size includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeCount {
    /// Only this patch.
    Patch,
    /// This patch and the earlier ones of the run.
    Run,
}

impl PatchTotal {
    /// Returns the size of a patch, plus everything counted before. A file counts if more than `lines_per_file` of its lines
    /// change, or if it is reshaped.
    pub fn with(&self, patch: &[Touched<'_>], lines_per_file: usize) -> ChangeSize {
        let mut all = self.clone();
        all.add(patch);
        let counts = |file: &&FileTotal| file.is_reshaped || file.lines > lines_per_file;
        ChangeSize {
            files: all.files.values().filter(counts).count(),
            lines: all.files.values().fold(0, |sum, file| sum.saturating_add(file.lines)),
            of: if self.files.is_empty() { SizeCount::Patch } else { SizeCount::Run },
        }
    }

    /// Counts a patch that was applied.
    pub fn add(&mut self, patch: &[Touched<'_>]) {
        for Touched { path, lines, how } in patch {
            let file = self.files.entry((*path).to_owned()).or_default();
            file.lines = file.lines.saturating_add(*lines);
            file.is_reshaped |= *how == Touch::Reshaped;
        }
    }
}

impl fmt::Display for ChangeSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, lines, of } = self;
        let what = match of {
            SizeCount::Patch => "the patch is large",
            SizeCount::Run => "the patches of this run are large in total",
        };
        let plural = |count: &usize| if *count == 1 { "" } else { "s" };
        write!(f, "{what}: {files} file{}, {lines} line{}", plural(files), plural(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_add_up_and_a_file_counts_once_and_if_much_of_it_changes() {
        let edited = |path, lines| Touched { path, lines, how: Touch::Edited };
        let created = |path| Touched { path, lines: 1, how: Touch::Reshaped };
        let mut total = PatchTotal::default();
        let size = |files, lines, of| ChangeSize { files, lines, of };
        let small = [edited("a", 10), edited("b", 10), created("c")];
        assert_eq!(total.with(&small, 10), size(1, 21, SizeCount::Patch));
        total.add(&small);
        // One more line makes ten of `a` eleven, also over several patches.
        assert_eq!(total.with(&[edited("a", 1)], 10), size(2, 22, SizeCount::Run));
        assert_eq!(total.with(&[edited("c", 30)], 10), size(1, 51, SizeCount::Run));
    }
}
