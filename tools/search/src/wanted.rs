//! Named files that wait for their share of the room. Pure.

use std::rc::Rc;

use super::named::NamedFile;
use super::reader::Text;

/// A named file that waits for its share.
pub(super) struct Wanted<'a> {
    pub(super) file: &'a NamedFile,
    pub(super) text: Rc<Text>,
    /// Bytes to show it whole.
    pub(super) cost: usize,
    /// Bytes it gets.
    pub(super) share: usize,
}

/// Gives every file its share of `bytes`: what a small one does not need, the larger ones get.
pub(super) fn share(wanted: &mut [Wanted<'_>], bytes: usize) {
    let mut by_cost: Vec<&mut Wanted<'_>> = wanted.iter_mut().collect();
    by_cost.sort_by_key(|wanted| wanted.cost);
    let (mut left, mut count) = (bytes, by_cost.len());
    for wanted in by_cost {
        wanted.share = wanted.cost.min(left / count.max(1));
        left -= wanted.share;
        count -= 1;
    }
}
