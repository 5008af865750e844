//! Gathers the evidence for a request: the parts of the tree that go into the first prompt. It calls no model and
//! writes nothing.

use std::cell::LazyCell;

use index::Index;
use tree::{Hidden, RepoPath};

use super::example::{MOST_NAMING_LINES, examples};
use super::items::Evidence;
use super::look::LookError;
use super::look::matches::ChosenFiles;
use super::named::{NamedFiles, resolve_paths};
use super::packing::Packing;
use super::rare_lines::{RareLines, rare_hits};
use super::reader::{CachingReader, Unshown};
use super::render::BYTES_PER_TOKEN;
use super::terms::extract;

/// Options for gathering evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceOptions {
    /// Maximum number of tokens to show for the request, as counted by [`super::estimate_tokens`], if no title is
    /// longer than [`super::TITLE_BYTES`]. It is also a goal: space that helps is used.
    pub tokens: usize,
    /// Maximum number of tokens for the project's instructions: for those of the root, and for those of other
    /// directories.
    pub instruction_tokens: usize,
    /// Maximum number of tokens of a tree that is shown whole.
    pub small_tree_tokens: usize,
    /// How the space is used.
    pub spread: Spread,
}

/// How the space is divided among files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Whole definitions of a few files, and the names of the next ones: for a model that plans a change.
    Whole,
    /// More lines of a few files, and the names of the next ones: for a model that can look up the rest.
    Deep,
    /// Named files only: for a model that already has a change that shows what it is about.
    Named,
}

/// Gathers the evidence for `request` from the tree of `index`.
///
/// Files that the index may not read are neither searched nor shown nor listed. `checks` are the commands that check a
/// change. The same request on the same tree gives the same evidence, unless it is partial.
pub fn gather(
    request: &str,
    index: &Index,
    options: &EvidenceOptions,
    checks: &[String],
) -> Evidence {
    let (files, truncated) = index.files();
    let may_show = shows(index);
    let terms = extract(request);
    let names = resolve_paths(&terms, index.tree(), &files, &may_show);
    let reader = CachingReader::new(index.tree(), index.max_file_bytes(), &may_show);
    let mut packing = Packing::new(reader, &files, &names, request, options.tokens);
    let instruction_bytes = options.instruction_tokens.saturating_mul(BYTES_PER_TOKEN);
    packing.stable(checks, instruction_bytes);
    // A change is made to the code; what the project is for helps to answer questions.
    if options.spread == Spread::Deep {
        packing.overview();
    }
    packing.instructions(instruction_bytes);
    if truncated {
        packing.notes(&[format!(
            "files beyond the first {}, which are neither listed nor searched (limits.max_workspace_files)",
            files.len()
        )]);
    }
    packing.notes(&names.omitted);
    // Computed only if needed: a small tree has no index.
    let ranking = LazyCell::new(|| index.rank(request, &files));
    packing.named(|| &ranking);
    if !packing.everything(options.small_tree_tokens) {
        if options.spread != Spread::Named {
            packing.rare_lines =
                RareLines::of(&terms, index.tree(), &files, index.max_file_bytes(), &may_show);
        }
        if options.spread == Spread::Whole {
            packing.example(&examples(request, &terms, &names, &files), |terms| {
                let max_bytes = index.max_file_bytes();
                rare_hits(terms, MOST_NAMING_LINES, index.tree(), &files, max_bytes, &may_show)
            });
        }
        packing.spread(&ranking, options.spread);
    }
    Evidence { truncated, ..packing.finish() }
}

/// Gathers what `words` are about, in at most `bytes`: the best lines of the first files, and the names of the next
/// ones.
pub fn evidence_about(
    words: &str,
    (most, glob): (Option<usize>, Option<&str>),
    index: &Index,
    bytes: usize,
) -> Result<Evidence, LookError> {
    let (mut files, truncated) = index.files();
    if let Some(glob) = glob {
        let chosen =
            ChosenFiles::by(glob, &files).ok_or_else(|| LookError::NoGlob(glob.to_owned()))?;
        files.retain(|file| chosen.has(&file.path));
        if files.is_empty() {
            return Err(LookError::NoFiles(glob.to_owned()));
        }
    }
    let may_show = shows(index);
    let names = NamedFiles::default();
    let reader = CachingReader::new(index.tree(), index.max_file_bytes(), &may_show);
    let mut packing = Packing::new(reader, &files, &names, words, bytes / BYTES_PER_TOKEN);
    let mut ranking = index.rank(words, &files);
    ranking.files.truncate(most.unwrap_or(usize::MAX));
    packing.spread(&ranking, Spread::Deep);
    Ok(Evidence { truncated, ..packing.finish() })
}

/// Returns a function that tells whether a file of the index may be shown, and why not.
fn shows(index: &Index) -> impl Fn(&RepoPath) -> Result<(), Unshown> + '_ {
    let hidden = Hidden::below(index.tree().root());
    move |path| match (index.may_read(path), hidden.has(path)) {
        (false, _) => Err(Unshown::Refused),
        (true, true) => Err(Unshown::Hidden),
        (true, false) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
