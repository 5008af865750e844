//! Divides the available space among the named files. Pure.

use std::rc::Rc;

use super::named::NamedFile;
use super::reader::Text;

/// A named file and its share.
pub(super) struct WantedFile<'a> {
    pub(super) file: &'a NamedFile,
    pub(super) text: Rc<Text>,
    /// Bytes needed to show it whole.
    pub(super) cost: usize,
    /// Bytes assigned to it.
    pub(super) share: usize,
}

/// Divides `bytes` evenly among the files. What small files do not need goes to the larger ones.
pub(super) fn share_bytes(wanted: &mut [WantedFile<'_>], bytes: usize) {
    let mut by_cost: Vec<&mut WantedFile<'_>> = wanted.iter_mut().collect();
    by_cost.sort_by_key(|wanted| wanted.cost);
    let (mut left, mut count) = (bytes, by_cost.len());
    for wanted in by_cost {
        wanted.share = wanted.cost.min(left / count.max(1));
        left -= wanted.share;
        count -= 1;
    }
}
