//! Three versions of a file into one: what was shown, what is there now, and what the diff makes of what was shown.

use config::ApplyStrategy;
use similar::{Algorithm, MergeRegion, MergeResolution, TextMerge};

use super::refuse::Reason;

/// How lines are paired. Equal lines can often be paired in several ways, and only some keep two changes apart.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::Histogram, Algorithm::Myers];

/// Merges what `current` and `theirs` each made of `base`, or says why not. There are never conflict markers.
///
/// [`ApplyStrategy::Auto`] also refuses changes that touch each other without a line between them.
pub fn merge(
    base: &[u8],
    current: &[u8],
    theirs: &[u8],
    strategy: ApplyStrategy,
) -> Result<Vec<u8>, Reason> {
    let mut refused = Reason::MergeConflict;
    for algorithm in ALGORITHMS {
        let merge = TextMerge::configure().algorithm(algorithm).merge_lines(base, current, theirs);
        if merge.is_conflicted() {
            continue;
        }
        if strategy == ApplyStrategy::Auto && touch(merge.regions()) {
            refused = Reason::StaleBase;
            continue;
        }
        let mut merged = Vec::with_capacity(current.len().max(theirs.len()));
        merge.to_writer(&mut merged).map_err(|_| Reason::MergeConflict)?;
        return Ok(merged);
    }
    Err(refused)
}

/// Whether a change of one side begins where one of the other side ends.
fn touch(regions: &[MergeRegion]) -> bool {
    let changed =
        |resolution| matches!(resolution, MergeResolution::Ours | MergeResolution::Theirs);
    regions.windows(2).any(|pair| match pair {
        [a, b] => {
            a.resolution() != b.resolution() && changed(a.resolution()) && changed(b.resolution())
        }
        _ => false,
    })
}
