//! The reasons for refusing a diff: stable codes, their meanings and advice. Nothing is decided here.

use std::fmt;

use serde::{Serialize, Serializer};

use tree::{CommitError, RepoPath};

use crate::diff::lines::lossy_text;
use crate::refusal::difference::{self, LineDifference};

macro_rules! reasons {
    ($($(#[doc = $meaning:literal])+ $name:ident $code:literal => $advice:literal,)+) => {
        /// Why a diff, or a hunk of it, cannot be applied. The codes are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[doc = $meaning])+ $name,)+
        }

        impl Reason {
            /// All reasons, grouped: answer, structure, path, file, match, state.
            pub const ALL: &'static [Reason] = &[$(Reason::$name),+];

            /// Returns the stable name, in snake case.
            pub fn code(self) -> &'static str {
                match self { $(Reason::$name => $code,)+ }
            }

            /// Returns what is wrong, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Reason::$name => concat!($($meaning),+),)+ }
            }

            /// Returns what the author of the diff should do next.
            pub fn advice(self) -> &'static str {
                match self { $(Reason::$name => $advice,)+ }
            }
        }
    };
}

reasons! {
    /// The answer contains no diff.
    NoDiff "no_diff" => "Answer with a unified diff and nothing else.",
    /// The answer uses a format other than a unified diff.
    UnsupportedFormat "unsupported_format" => "Write a unified diff: `--- a/path`, `+++ b/path`, `@@ -l,n +l,n @@`.",
    /// The answer ends in the middle of a hunk or a header.
    TruncatedDiff "truncated_diff" => "Send the complete diff again, with fewer or shorter hunks.",
    /// The diff is larger than the limit.
    DiffTooLarge "diff_too_large" => "Send a smaller diff.",
    /// The diff changes more files than the limit.
    TooManyFiles "too_many_files" => "Change fewer files.",
    /// The answer contains a NUL byte.
    BinaryContent "binary_content" => "Send text only.",
    /// Finding the places of the hunks would take too long.
    TooComplex "too_complex" => "Use distinctive context lines and correct line numbers.",
    /// A file is named, but nothing in it changes.
    EmptyFileSection "empty_file_section" => "Write at least one hunk for every file you name, or leave the file out.",
    /// A hunk changes nothing.
    EmptyHunk "empty_hunk" => "Every hunk needs lines that begin with `+` or `-`.",
    /// A new file contains context or removed lines.
    NewFileHasOldLines "new_file_has_old_lines" => "Begin every line of a new file with `+`.",
    /// A line that looks like part of a hunk is, or may be, outside every hunk.
    StrayLine "stray_line" => "Begin every line of a hunk with `+`, `-` or a space, including code fences in the file's text, and put no list directly after a hunk.",
    /// There is text outside of the diff, and nobody who would read it.
    RemarkOutside "remark_outside" => "Send the diff alone, without any text before or after it.",
    /// A hunk has no context lines, no removed lines and no usable line numbers.
    NoAnchor "no_anchor" => "Keep 3 context lines around every insertion.",
    /// The headers of a file contradict each other.
    ContradictoryHeaders "contradictory_headers" => "Use the same path and operation in all headers of a file.",
    /// The diff contains two operations for the same path, or changes it in two blocks.
    ContradictoryFileOps "contradictory_file_ops" => "Use one operation per file, and one block with all hunks of a file.",
    /// Added lines contain text that does not belong in the file: line numbers, escaped characters, or marks of a diff or a code block.
    DamagedLine "damaged_line" => "Write added lines exactly as they should appear in the file, each after a single `+`.",
    /// A placeholder stands for code, or for hunks that the answer does not have.
    ElidedCode "elided_code" => "Write out every line and every hunk; never use `...` in place of code.",
    /// New lines contain a mask for a secret that was not shown.
    MaskedSecret "masked_secret" => "Leave lines that contain `[redacted:…]` unchanged. If you have to change such a line, keep the mask in it; never put a mask anywhere else.",
    /// A no-newline marker is not at the end of the file.
    EofMarkerNotAtEof "eof_marker_not_at_eof" => "Write `\\ No newline at end of file` only after the last line of a file.",
    /// A hunk has no file header.
    NoFileHeader "no_file_header" => "Put `--- a/path` and `+++ b/path` before the hunks of every file.",
    /// The old and new names differ without a rename, or match several files.
    PathMismatch "path_mismatch" => "Use the same path after `--- a/` and `+++ b/`.",
    /// The file is not a declared file.
    UndeclaredFile "undeclared_file" => "Change declared files only.",
    /// The file belongs to another lane.
    NotOwned "not_owned" => "Do not change files of other lanes.",
    /// The path is inside this program's own directory.
    ProtectedPath "protected_path" => "Do not change `.deepseek`; only the user may.",
    /// The path is absolute.
    AbsolutePath "absolute_path" => "Use paths relative to the workspace.",
    /// The path leads outside the workspace.
    PathEscape "path_escape" => "Use paths inside the workspace.",
    /// The path is inside the repository's own directory.
    GitDirWrite "git_dir_write" => "Do not change `.git`.",
    /// The path is quoted incorrectly.
    BadQuotedPath "bad_quoted_path" => "Write the path without quotes.",
    /// The path contains a control character.
    ControlCharInPath "control_char_in_path" => "Use a path without control characters.",
    /// The path contains a backslash.
    BackslashInPath "backslash_in_path" => "Separate directories with `/`.",
    /// The path is empty or has an empty component.
    EmptyPath "empty_path" => "Write the full path of the file.",
    /// The new name is not portable between operating systems.
    NonPortableName "non_portable_name" => "Choose a plain name for the new file.",
    /// The path is too long.
    NameTooLong "name_too_long" => "Choose a shorter name.",
    /// The file to change does not exist.
    FileNotFound "file_not_found" => "Change files that exist; a new file starts with `--- /dev/null`.",
    /// The file to create, or the target of the rename, already exists.
    FileExists "file_exists" => "Change the existing file instead.",
    /// Git tracks the file and keeps it off the disk.
    NotOnDisk "not_on_disk" => "Do not create this file: the repository has it.",
    /// The file is larger than the limit.
    FileTooLarge "file_too_large" => "Do not change large files.",
    /// The target is not a regular file.
    NotARegularFile "not_a_regular_file" => "Change regular files only.",
    /// The target is a symlink, is reached through one, or would become one.
    Symlink "symlink" => "Use the path of the real file.",
    /// A parent of the target is not a directory.
    ParentNotDirectory "parent_not_directory" => "Choose another path.",
    /// The target is a directory.
    DirectoryTarget "directory_target" => "Use the path of a file.",
    /// The target is a binary file.
    BinaryTarget "binary_target" => "Change text files only.",
    /// An added character does not exist in the encoding of the file.
    NotInEncoding "not_in_encoding" => "Write the added lines with characters that the encoding of the file has.",
    /// The diff changes the mode of an existing file.
    ModeChange "mode_change" => "Do not change file modes in a diff; a plan can, with a MODE line.",
    /// The mode of a new file is neither 100644 nor 100755.
    UnsupportedMode "unsupported_mode" => "Use mode 100644, or 100755 for a script.",
    /// The diff contains a binary patch.
    BinaryPatch "binary_patch" => "Change text files only.",
    /// The diff copies a file.
    CopyUnsupported "copy_unsupported" => "Create the new file with all of its lines.",
    /// The target cannot be read.
    Unreadable "unreadable" => "Do not change this file.",
    /// The old lines of the hunk are not in the file.
    HunkNotFound "hunk_not_found" => "Send the whole diff again; copy context and removed lines exactly from the file, and keep 3 context lines.",
    /// The hunk could apply to several places in the file, or in several ways.
    AmbiguousHunk "ambiguous_hunk" => "Add context lines, or give the correct line number.",
    /// Two hunks change the same lines differently, or one inserts lines directly next to lines that the other changes.
    ConflictingHunks "conflicting_hunks" => "Use one hunk per place.",
    /// The old lines match only with different indentation, so the new lines would be indented wrongly too, or new lines
    /// are in a column in which the language does not accept them.
    IndentMismatch "indent_mismatch" => "Copy the indentation of the file exactly.",
    /// Tabs and spaces are mixed up, also in the new lines.
    IndentStyleMismatch "indent_style_mismatch" => "Indent as the file does, with tabs or with spaces.",
    /// The deletion does not list the whole file.
    DeleteMismatch "delete_mismatch" => "Remove every line of the file in its current state; a plan can delete it without, with a DELETE line.",
    /// The file has changed where the diff changes it.
    StaleBase "stale_base" => "Read the file again and send a new diff.",
    /// The change conflicts with one made in the meantime.
    MergeConflict "merge_conflict" => "Read the file again and send a new diff.",
    /// An operation of the plan cannot be carried out.
    OperationRefused "operation_refused" => "Plan it in another way.",
    /// The files could not be written; all of them were restored.
    WriteFailed "write_failed" => "Wait for the user; the diff itself is correct.",
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

/// One problem with a diff. Line numbers count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchMismatch {
    /// The kind of problem.
    pub reason: Reason,
    /// The file, as the diff names it; `None` if the problem concerns the whole answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The hunk of that file; `None` if the problem concerns the file or the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk: Option<HunkRef>,
    /// The text of the diff that is wrong, usually the line that does not match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The line of the file in its place; `None` if the file has no such line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The place in the file that the hunk most likely means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
    /// The places in the file that the hunk matches, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// Details of this case, in full sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A reference to a hunk of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HunkRef {
    /// The position of the hunk among the hunks of its file, from 1.
    pub index: usize,
    /// The number of hunks of the file.
    pub of: usize,
    /// The line of the answer with the hunk header.
    pub line: usize,
    /// The hunk header.
    pub header: String,
}

/// The place in a file that a hunk most likely means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Nearest {
    /// The line of the file where the place begins.
    pub line: usize,
    /// The first line of the file that differs from the hunk, or the last line of the place if none differs; empty past
    /// the end of the file.
    pub text: String,
    /// The number of old lines of the hunk that are at this place.
    pub matched: usize,
    /// The number of old lines of the hunk.
    pub of: usize,
    /// The line of the file with the first difference; one more than the last line if the file ends there.
    pub differs_at: usize,
    /// The line of the answer with the first difference.
    pub answer_line: usize,
    /// Where those two lines differ; `None` if they are equal, or if the file ends there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<LineDifference>,
    /// The lines of the file around the difference, with their numbers.
    pub excerpt: Vec<(usize, String)>,
}

/// A place that a hunk matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The line of the file.
    pub line: usize,
    /// The nearest line before the place that occurs only once in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl PatchMismatch {
    /// Creates a mismatch about the whole answer.
    pub(crate) fn answer(reason: Reason) -> PatchMismatch {
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

    /// Creates a mismatch about line `at` of the answer, from 0.
    pub(crate) fn line(reason: Reason, lines: &[&[u8]], at: usize) -> PatchMismatch {
        let line = lines.get(at).map(|line| lossy_text(line)).unwrap_or_default();
        let note = format!("Line {} of the answer is `{}`.", at + 1, difference::cut(&line, 1));
        let note = match difference::false_marker(&line) {
            Some(marker) => format!("{note} It begins with {marker}."),
            None => note,
        };
        PatchMismatch { expected: Some(line), ..PatchMismatch::answer(reason) }.note(note)
    }

    /// Creates a mismatch about a mask in new lines.
    pub fn masked(mask: impl Into<String>) -> PatchMismatch {
        PatchMismatch { expected: Some(mask.into()), ..PatchMismatch::answer(Reason::MaskedSecret) }
    }

    /// Creates a mismatch about a line that was shown without its middle.
    pub fn shortened(line: &str) -> PatchMismatch {
        let mismatch = PatchMismatch::answer(Reason::ElidedCode);
        PatchMismatch { expected: Some(line.to_owned()), ..mismatch }
            .note("A long line that was shown without its middle can be kept or removed, but not changed.")
    }

    /// Creates a mismatch about a file.
    pub fn file(reason: Reason, file: impl Into<String>) -> PatchMismatch {
        PatchMismatch { file: Some(file.into()), ..PatchMismatch::answer(reason) }
    }

    /// Sets the note.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> PatchMismatch {
        PatchMismatch { note: Some(note.into()), ..self }
    }
}

/// A refused diff. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Refusal {
    /// Everything that is wrong; never empty.
    pub mismatches: Vec<PatchMismatch>,
}

impl Refusal {
    /// Returns the files that the diff would change and that are not declared.
    pub fn undeclared(&self) -> Vec<RepoPath> {
        let of = self.mismatches.iter().filter(|it| it.reason == Reason::UndeclaredFile);
        of.filter_map(|it| RepoPath::parse(it.file.as_deref()?).ok()).collect()
    }

    /// Returns true if the problem may only be the form of the answer: nothing matched, and nothing matched twice.
    pub(crate) fn is_of_form(&self) -> bool {
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

    /// Adds `refused`, the first problem of an understood translation, to the note of a refusal for the format alone.
    pub(crate) fn although_understood(mut self, refused: Option<Refusal>) -> Refusal {
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
                "{said}Read as a unified diff, it does not apply either: {file}{}: {}{}",
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
    /// Converts the failure to write a correct plan.
    fn from(error: &CommitError) -> Refusal {
        let mismatch = match error {
            CommitError::Stale { path } | CommitError::Twice { path } => {
                PatchMismatch::file(Reason::StaleBase, path.as_str())
            }
            CommitError::Io { path, source } | CommitError::NotRestored { path, source, .. } => {
                PatchMismatch::file(Reason::WriteFailed, path.as_str())
                    .note(format!("{error}: {source}"))
            }
            CommitError::Log { source } => {
                PatchMismatch::answer(Reason::WriteFailed).note(format!("{error}: {source}"))
            }
            CommitError::Busy | CommitError::Tree(_) => {
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
