//! Chooses the lines to show of a named file that is too long to show whole. Pure.

use std::rc::Rc;

use index::{FileKind, Ranking};
use tree::RepoPath;

use super::excerpt::{ShownSpan, merge_spans};
use super::passages::{MOST_SPANS, Pick};
use super::reader::Text;
use super::spans::best_spans;

/// The beginning of the file gets at most one part in this many of the space.
const HEAD_PART: usize = 8;

/// Returns the beginning of a long file and the lines that the request is about, in at most `bytes`. Each span costs
/// `overhead` bytes in addition to its lines.
pub(super) fn spans_of_long_file(
    path: &RepoPath,
    text: &Rc<Text>,
    overhead: usize,
    bytes: usize,
    ranking: &Ranking,
) -> Vec<ShownSpan> {
    let lines = &text.lines;
    let head = |bytes: usize| lines.head(bytes.saturating_sub(overhead));
    let worth = ranking.files.iter().find(|file| file.path == *path).map(|file| {
        let definitions = ranking.definitions(file, || Some(lines.text().to_owned()));
        best_spans(file, &definitions, lines.count(), MOST_SPANS)
    });
    let Some(worth) = worth.filter(|worth| !worth.is_empty()) else {
        return head(bytes).into_iter().collect();
    };
    let chosen: Vec<ShownSpan> = head(bytes / HEAD_PART).into_iter().collect();
    let cost = |span: &ShownSpan| lines.cost(*span) + overhead;
    let mut left = bytes.saturating_sub(chosen.iter().map(cost).sum());
    let (path, text, near, shown) = (path.clone(), Rc::clone(text), Vec::new(), Vec::new());
    let kind = FileKind::of(&path);
    let mut pick = Pick { path, kind, text, overhead, worth, near, named: 0, shown, chosen };
    for nth in 0..MOST_SPANS {
        pick.add(nth, left, &mut left);
    }
    merge_spans(pick.chosen)
}
