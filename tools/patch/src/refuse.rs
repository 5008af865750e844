//! Why a diff is refused: stable codes, what they mean and what to do about them. Nothing is decided here.

use std::fmt;

use serde::{Serialize, Serializer};

use tree::{CommitError, RepoPath};

use super::difference::{self, LineDifference};
use super::lines::show;

macro_rules! reasons {
    ($($(#[doc = $meaning:literal])+ $name:ident $code:literal => $advice:literal,)+) => {
        /// Why a diff, or a hunk of it, cannot be applied. The codes are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[doc = $meaning])+ $name,)+
        }

        impl Reason {
            /// All of them, by group: answer, structure, path, file, match, state.
            pub const ALL: &'static [Reason] = &[$(Reason::$name),+];

            /// The stable name, in snake case.
            pub fn code(self) -> &'static str {
                match self { $(Reason::$name => $code,)+ }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Reason::$name => concat!($($meaning),+),)+ }
            }

            /// What the author of the diff should do next.
            pub fn advice(self) -> &'static str {
                match self { $(Reason::$name => $advice,)+ }
            }
        }
    };
}

reasons! {
    /// The answer holds no diff.
    NoDiff "no_diff" => "Answer with a unified diff and nothing else.",
    /// The answer is in another format than a unified diff.
    UnsupportedFormat "unsupported_format" => "Use a unified diff: `--- a/path`, `+++ b/path`, `@@ -l,n +l,n @@`.",
    /// The answer ends in the middle of a hunk or header.
    TruncatedDiff "truncated_diff" => "Send the whole diff again, in fewer or shorter hunks.",
    /// The diff is larger than allowed.
    DiffTooLarge "diff_too_large" => "Send a smaller diff.",
    /// The diff touches more files than allowed.
    TooManyFiles "too_many_files" => "Touch fewer files.",
    /// The answer holds a NUL byte.
    BinaryContent "binary_content" => "Send text only.",
    /// Placing the hunks would take too long.
    TooComplex "too_complex" => "Give distinctive context lines and right line numbers.",
    /// A file is named, but nothing is changed in it.
    EmptyFileSection "empty_file_section" => "Give hunks for every file named, or leave the file out.",
    /// A hunk changes nothing.
    EmptyHunk "empty_hunk" => "Every hunk needs lines that begin with `+` or `-`.",
    /// A new file is given with context or removed lines.
    NewFileHasOldLines "new_file_has_old_lines" => "Begin every line of a new file with `+`.",
    /// A line looks like a part of a hunk, and stands outside of every one, or may do so.
    StrayLine "stray_line" => "Begin every line of a hunk with `+`, `-` or a space, fences in the text too, and put no list right behind a hunk.",
    /// A hunk has neither context nor removed lines, nor line numbers to go by.
    NoAnchor "no_anchor" => "Keep 3 context lines around every insertion.",
    /// The headers of a file contradict each other.
    ContradictoryHeaders "contradictory_headers" => "Name the same file and operation in all headers of a section.",
    /// The same path is given two operations.
    ContradictoryFileOps "contradictory_file_ops" => "Give each file one operation.",
    /// Added lines hold what got into them on the way: line numbers, escaped characters, marks of a diff or of a block.
    DamagedLine "damaged_line" => "Write added lines as the file is to have them, each behind one `+`.",
    /// Added lines hold a placeholder instead of code.
    ElidedCode "elided_code" => "Write out all lines; never use `...` for code.",
    /// New lines hold a mask for a secret that was not shown.
    MaskedSecret "masked_secret" => "Leave lines that have a `[redacted:…]` in them as they are; it can only be kept in a line that is changed, never be put elsewhere.",
    /// A no-newline marker stands inside a file.
    EofMarkerNotAtEof "eof_marker_not_at_eof" => "Use `\\ No newline at end of file` after the last line of a file only.",
    /// A hunk without a file header.
    NoFileHeader "no_file_header" => "Put `--- a/path` and `+++ b/path` before the hunks of every file.",
    /// The old and the new name differ without a rename, or fit several files.
    PathMismatch "path_mismatch" => "Use the same path after `--- a/` and `+++ b/`.",
    /// The file is not among the declared ones.
    UndeclaredFile "undeclared_file" => "Change declared files only.",
    /// The file belongs to another lane.
    NotOwned "not_owned" => "Leave files of other lanes alone.",
    /// The path leads into this program's own directory.
    ProtectedPath "protected_path" => "Leave `.deepseek` alone; only the user changes it.",
    /// The path is absolute.
    AbsolutePath "absolute_path" => "Use paths relative to the workspace.",
    /// The path leaves the workspace.
    PathEscape "path_escape" => "Use paths inside the workspace.",
    /// The path leads into the repository's own directory.
    GitDirWrite "git_dir_write" => "Leave `.git` alone.",
    /// The path is quoted wrongly.
    BadQuotedPath "bad_quoted_path" => "Write the path without quotes.",
    /// The path has a control character.
    ControlCharInPath "control_char_in_path" => "Use plain names.",
    /// The path has a backslash.
    BackslashInPath "backslash_in_path" => "Separate directories by `/`.",
    /// The path is empty, or has an empty component.
    EmptyPath "empty_path" => "Name the file.",
    /// The new name is not portable between systems.
    NonPortableName "non_portable_name" => "Choose a plain name for the new file.",
    /// The path is too long.
    NameTooLong "name_too_long" => "Choose a shorter name.",
    /// The file to change does not exist.
    FileNotFound "file_not_found" => "Change files that exist; a new file starts with `--- /dev/null`.",
    /// The file to create, or to rename to, exists.
    FileExists "file_exists" => "Change the existing file instead.",
    /// The file is larger than allowed.
    FileTooLarge "file_too_large" => "Leave large files alone.",
    /// The target is not a regular file.
    NotARegularFile "not_a_regular_file" => "Change regular files only.",
    /// The target is a symlink, or lies behind one, or would become one.
    Symlink "symlink" => "Name the real file.",
    /// Something above the target is not a directory.
    ParentNotDirectory "parent_not_directory" => "Choose another path.",
    /// The target is a directory.
    DirectoryTarget "directory_target" => "Name a file.",
    /// The target is binary.
    BinaryTarget "binary_target" => "Change text files only.",
    /// The diff changes the mode of an existing file.
    ModeChange "mode_change" => "Leave modes as they are.",
    /// The mode of a new file is neither 100644 nor 100755.
    UnsupportedMode "unsupported_mode" => "Use mode 100644, or 100755 for a script.",
    /// The diff holds a binary patch.
    BinaryPatch "binary_patch" => "Change text files only.",
    /// The diff copies a file.
    CopyUnsupported "copy_unsupported" => "Create the new file with all its lines.",
    /// The target cannot be read.
    Unreadable "unreadable" => "Leave this file alone.",
    /// The old lines of the hunk are not in the file.
    HunkNotFound "hunk_not_found" => "Send the whole diff again; copy context and removed lines from the file as it is, and keep 3 context lines.",
    /// The hunk may be meant for several places of the file, or in several ways.
    AmbiguousHunk "ambiguous_hunk" => "Give more context, or the right line number.",
    /// Two hunks change the same lines in different ways, or one inserts lines right beside what the other changes.
    ConflictingHunks "conflicting_hunks" => "Give one hunk per place.",
    /// The old lines fit only with other indentation, and so would the new ones.
    IndentMismatch "indent_mismatch" => "Copy the indentation of the file.",
    /// Tabs and spaces are confused, in the new lines too.
    IndentStyleMismatch "indent_style_mismatch" => "Indent as the file does: tabs or spaces.",
    /// A deletion does not list the whole file.
    DeleteMismatch "delete_mismatch" => "Remove every line of the file, as it is now.",
    /// The file changed where the diff changes it.
    StaleBase "stale_base" => "Read the file again and send a new diff.",
    /// The change and one made meanwhile are in conflict.
    MergeConflict "merge_conflict" => "Read the file again and send a new diff.",
    /// The system did not let the files be written; all were put back.
    WriteFailed "write_failed" => "Wait for the user: the diff itself is right.",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// One thing that is wrong. Line numbers count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchMismatch {
    /// Which kind.
    pub reason: Reason,
    /// The file, as the diff names it; none if the whole answer is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The hunk of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk: Option<HunkRef>,
    /// What the diff says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The place in the file the hunk most likely means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
    /// Lines of the file the hunk fits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// More about it, for this case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A hunk of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HunkRef {
    /// Which of its file's hunks.
    pub index: usize,
    /// How many there are.
    pub of: usize,
    /// Line of the answer its header is on.
    pub line: usize,
    /// The header.
    pub header: String,
}

/// The place in a file a hunk most likely means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Nearest {
    /// Line of the file where it begins.
    pub line: usize,
    /// The first line of the file that is not as the hunk says, or the last of the place; empty behind the end of the file.
    pub text: String,
    /// Old lines of the hunk that are there.
    pub matched: usize,
    /// Old lines of the hunk.
    pub of: usize,
    /// Line of the file where the first difference is; one more than it has if it ends there.
    pub differs_at: usize,
    /// Line of the answer where the first difference is.
    pub answer_line: usize,
    /// Where in those two lines it is; none if the line of the answer is as the file has it, or the file ends there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<LineDifference>,
    /// The lines of the file around it, with their numbers.
    pub excerpt: Vec<(usize, String)>,
}

/// A place a hunk fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// Line of the file.
    pub line: usize,
    /// The nearest line before it that occurs nowhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl PatchMismatch {
    /// One about the whole answer.
    pub(super) fn answer(reason: Reason) -> PatchMismatch {
        PatchMismatch {
            reason,
            file: None,
            hunk: None,
            expected: None,
            found: None,
            nearest: None,
            candidates: Vec::new(),
            note: None,
        }
    }

    /// One about a line of the answer, from 0.
    pub(super) fn line(reason: Reason, lines: &[&[u8]], at: usize) -> PatchMismatch {
        let line = lines.get(at).map(|line| show(line)).unwrap_or_default();
        let note = format!("It is line {} of the answer: `{}`.", at + 1, difference::cut(&line, 1));
        PatchMismatch { expected: Some(line), ..PatchMismatch::answer(reason) }.note(note)
    }

    /// One about a mask in new lines.
    pub fn masked(mask: impl Into<String>) -> PatchMismatch {
        PatchMismatch { expected: Some(mask.into()), ..PatchMismatch::answer(Reason::MaskedSecret) }
    }

    /// One about a file.
    pub fn file(reason: Reason, file: impl Into<String>) -> PatchMismatch {
        PatchMismatch { file: Some(file.into()), ..PatchMismatch::answer(reason) }
    }

    /// The same, with a note.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> PatchMismatch {
        PatchMismatch { note: Some(note.into()), ..self }
    }
}

/// A diff was refused, and nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Refusal {
    /// Everything found wrong; never empty.
    pub mismatches: Vec<PatchMismatch>,
}

impl Refusal {
    /// The files that it would change and that are not declared.
    pub fn undeclared(&self) -> Vec<RepoPath> {
        let of = self.mismatches.iter().filter(|it| it.reason == Reason::UndeclaredFile);
        of.filter_map(|it| RepoPath::parse(it.file.as_deref()?).ok()).collect()
    }

    /// Whether it may be the form alone that was not understood: nothing fitted, and nothing fitted in two ways.
    pub(super) fn is_of_form(&self) -> bool {
        let is_of_form = |it: &PatchMismatch| {
            matches!(
                it.reason,
                Reason::HunkNotFound
                    | Reason::IndentMismatch
                    | Reason::NoDiff
                    | Reason::NoFileHeader
                    | Reason::StrayLine
                    | Reason::DamagedLine
                    | Reason::UnsupportedFormat
            )
        };
        self.mismatches.iter().all(is_of_form)
    }

    /// The same; a format that is not asked for, but was understood, is not all that is wrong: what it says was `refused`, too.
    pub(super) fn although_understood(mut self, refused: Option<Refusal>) -> Refusal {
        let refused = refused.into_iter().flat_map(|it| it.mismatches).next();
        if let [only] = &mut self.mismatches[..]
            && only.reason == Reason::UnsupportedFormat
            && let Some(refused) = refused
        {
            let file = refused.file.map(|file| format!("`{file}`: ")).unwrap_or_default();
            let said = only.note.take().map(|note| note + " ").unwrap_or_default();
            let place = refused.nearest.as_ref().map(|nearest| {
                let expected = refused.expected.as_deref().unwrap_or_default();
                format!(" {}", nearest.in_words(expected))
            });
            only.note = Some(format!(
                "{said}What it says was understood and does not apply either: {file}{}: {}{}",
                refused.reason,
                refused.reason.meaning().trim(),
                place.unwrap_or_default()
            ));
        }
        self
    }
}

impl From<PatchMismatch> for Refusal {
    fn from(mismatch: PatchMismatch) -> Refusal {
        Refusal { mismatches: vec![mismatch] }
    }
}

impl From<&CommitError> for Refusal {
    /// A plan that was right, but could not be carried out.
    fn from(error: &CommitError) -> Refusal {
        let mismatch = match error {
            CommitError::Stale { path } | CommitError::Twice { path } => {
                PatchMismatch::file(Reason::StaleBase, path.as_str())
            }
            CommitError::Io { path, source } | CommitError::NotRestored { path, source, .. } => {
                PatchMismatch::file(Reason::WriteFailed, path.as_str())
                    .note(format!("{error}: {source}"))
            }
            CommitError::Busy => PatchMismatch::answer(Reason::WriteFailed).note(error.to_string()),
            CommitError::Log { source } => {
                PatchMismatch::answer(Reason::WriteFailed).note(format!("{error}: {source}"))
            }
            CommitError::Tree(_) => {
                PatchMismatch::answer(Reason::WriteFailed).note(error.to_string())
            }
        };
        mismatch.into()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mismatch) in self.mismatches.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mismatch}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PatchMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        if let Some(HunkRef { index, of, line, .. }) = &self.hunk {
            write!(f, "hunk {index} of {of} (line {line} of the diff): ")?;
        }
        write!(f, "{}: {}", self.reason, self.reason.meaning().trim())?;
        if let Some(note) = &self.note {
            write!(f, " {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_names_in_snake_case_and_all_differ() {
        let mut codes: Vec<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
        for reason in Reason::ALL {
            let flat: String = reason.code().split('_').collect();
            assert_eq!(flat, format!("{reason:?}").to_lowercase());
            assert!(
                reason.meaning().ends_with('.') && reason.advice().ends_with(['.']),
                "{reason}"
            );
        }
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Reason::ALL.len());
    }
}
