//! Where words stand: for each word of a query the files that have it, with the lines. Pure.

/// Where one word stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Postings {
    /// A file, and where its lines begin and end in `lines`.
    places: Vec<(u32, u32, u32)>,
    lines: Vec<u32>,
}

impl Postings {
    /// Adds a file, whose lines `fill` appends in their order: one for each time the word is there.
    pub(crate) fn add(&mut self, file: u32, fill: impl FnOnce(&mut Vec<u32>)) {
        let start = offset(&self.lines);
        fill(&mut self.lines);
        self.places.push((file, start, offset(&self.lines)));
    }

    /// Puts the files in order; each was added once.
    pub(crate) fn sort(&mut self) {
        self.places.sort_unstable();
    }

    /// How many files have the word.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Each file with the lines the word stands on.
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
