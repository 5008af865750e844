//! The effect of comparing files with what a mission read of them, each time its findings or its card are relied on.

use std::collections::{BTreeMap, BTreeSet};

use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use facts::closed::JournalClosed;
use facts::event::Event;
use index::Index;
use tree::{FileHash, RepoPath};

use crate::research::finding::Observation;
use crate::research::passage::SourceFile;
use crate::research::sources::read_now;

/// What differs from what was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// Numbers of the findings whose lines have changed.
    pub stale: Vec<u32>,
    /// Files that have changed.
    pub changed: Vec<RepoPath>,
}

impl Compared {
    /// Compares what was read with the `current` files.
    pub fn of(
        findings: &[Observation],
        files: &BTreeMap<RepoPath, FileHash>,
        current: &[SourceFile],
    ) -> Self {
        let is_stale = |it: &&Observation| it.evidence.hash(current) != Some(it.hash);
        let hash =
            |path: &RepoPath| current.iter().find(|it| it.path == *path).map(SourceFile::hash);
        let is_changed = |(path, read): &(&RepoPath, &FileHash)| hash(path) != Some(**read);
        Self {
            stale: findings.iter().filter(is_stale).map(|it| it.id).collect(),
            changed: files.iter().filter(is_changed).map(|(path, _)| path.clone()).collect(),
        }
    }

    /// Records the result of the comparison in the findings.
    pub fn note(&self, findings: &mut [Observation]) {
        for finding in findings {
            finding.mechanical = Some(!self.stale.contains(&finding.id));
        }
    }
}

/// The effect of comparing.
pub struct Comparing<'r> {
    /// The findings whose lines are compared.
    pub findings: &'r [Observation],
    /// The files that are compared, with their hashes when they were read.
    pub files: &'r BTreeMap<RepoPath, FileHash>,
    /// The index of the files.
    pub index: &'r Index,
}

impl Effect for Comparing<'_> {
    type Outcome = Compared;
    type Stop = JournalClosed;
    // Early versions did not compare.
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Compared> {
        let Event::EvidenceCompared { stale, changed } = event else {
            return Trace::Foretold(Compared::default());
        };
        Trace::Done(Compared { stale: stale.clone(), changed: changed.clone() })
    }

    async fn act(&mut self, run: &Run) -> Result<Compared, JournalClosed> {
        let of_findings = self.findings.iter().map(|it| &it.evidence.path);
        let paths: BTreeSet<RepoPath> = of_findings.chain(self.files.keys()).cloned().collect();
        let current = read_now(run, self.index, paths.into_iter().collect()).await;
        let compared = Compared::of(self.findings, self.files, &current);
        let Compared { stale, changed } = compared.clone();
        run.record(Event::EvidenceCompared { stale, changed }).await?;
        Ok(compared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::research::passage::Passage;

    #[test]
    fn lines_and_files_that_differ_or_are_gone_have_changed() {
        let path = |name: &str| RepoPath::parse(name).unwrap();
        let source =
            |name: &str, text: &str| SourceFile { path: path(name), text: text.to_owned() };
        let read = [source("a", "1\n2\n3\n"), source("b", "1\n"), source("c", "1\n")];
        let found = |id: u32, place: &str| {
            let evidence = Passage::read(place).unwrap();
            let hash = evidence.hash(&read).unwrap();
            let json = serde_json::json!({
                "id": id, "claim": "x", "evidence": evidence, "hash": hash, "novelty": 1, "weight": 1, "level": 1,
            });
            serde_json::from_value::<Observation>(json).unwrap()
        };
        let mut findings = [found(1, "a:1"), found(2, "a:2-3"), found(3, "c:1")];
        let files = read.iter().map(|it| (it.path.clone(), it.hash())).collect();
        assert_eq!(Compared::of(&findings, &files, &read), Compared::default());
        let now = [source("a", "1\n2\nthree\n"), source("b", "1\n")];
        let compared = Compared::of(&findings, &files, &now);
        assert_eq!(compared, Compared { stale: vec![2, 3], changed: vec![path("a"), path("c")] });
        assert!(findings.iter().all(|it| it.mechanical.is_none()), "nothing was compared yet");
        compared.note(&mut findings);
        assert_eq!(findings.map(|it| it.mechanical), [Some(true), Some(false), Some(false)]);
    }
}
