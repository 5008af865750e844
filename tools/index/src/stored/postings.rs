//! Postings: for each word of a query, the files that contain it, with the lines. Pure.

/// The occurrences of one word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Postings {
    /// For each file, its number and the range of its lines in `lines`.
    places: Vec<(u32, u32, u32)>,
    lines: Vec<u32>,
}

impl Postings {
    /// Adds a file. `fill` appends its lines in order, one for each occurrence of the word.
    pub(crate) fn add(&mut self, file: u32, fill: impl FnOnce(&mut Vec<u32>)) {
        let start = offset(&self.lines);
        fill(&mut self.lines);
        self.places.push((file, start, offset(&self.lines)));
    }

    /// Sorts the files; each must have been added only once.
    pub(crate) fn sort(&mut self) {
        self.places.sort_unstable();
    }

    /// Returns the number of files that contain the word.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Iterates over the files and the lines on which the word occurs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.places.iter().map(|(file, start, end)| {
            let lines = self.lines.get(*start as usize..*end as usize);
            (*file, lines.unwrap_or_default())
        })
    }
}

fn offset(lines: &[u32]) -> u32 {
    u32::try_from(lines.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_order_with_their_lines() {
        let mut postings = Postings::default();
        postings.add(7, |lines| lines.extend([1, 1, 4]));
        postings.add(2, |lines| lines.push(9));
        postings.sort();
        let all: Vec<(u32, &[u32])> = postings.iter().collect();
        assert_eq!(all, [(2, &[9][..]), (7, &[1, 1, 4])]);
        assert_eq!(postings.len(), 2);
    }
}
