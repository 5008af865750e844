//! Novelty sampling: asks of every passage what in it is surprising and important, then asks the best passages again in
//! halves, until hardly anything new is found. Pure.

use std::collections::BTreeMap;

use config::Missions;
use serde::{Deserialize, Serialize};

use crate::research::finding::{AddedFinding, Observation, ToldFinding, add_finding};
use crate::research::passage::{Passage, SourceFile, covering};

/// Share of a research's questions that sampling may use; the rest is for checking the findings.
const SHARE: f64 = 0.6;
/// One in this many of those is reserved for closer looks.
const FINER: usize = 3;

/// Why sampling ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enough {
    /// Hardly anything new was found.
    Plateau,
    /// All levels are done.
    Levels,
    /// No passage is worth another look or can be divided.
    NothingLeft,
    /// No questions are left.
    Questions,
}

/// The progress of sampling.
#[derive(Debug, Clone)]
pub struct NoveltySampling {
    bounds: Missions,
    level: u32,
    /// Passages of the next round, most promising first.
    next: Vec<Passage>,
    questions_left: usize,
    findings: Vec<Observation>,
    enough: Option<Enough>,
}

/// The result of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundYield {
    /// Its number, from one.
    pub level: u32,
    /// New findings.
    pub new: usize,
    /// Findings that were already known.
    pub known: usize,
}

impl NoveltySampling {
    /// Starts with all lines of these files, most promising files first. If there are many files, the first passages are
    /// longer, so that every line is asked about.
    pub fn new(bounds: &Missions, sources: &[SourceFile]) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a bound of questions is a small number"
        )]
        let questions_left = (bounds.max_questions as f64 * SHARE).ceil() as usize;
        let most = questions_left - questions_left / FINER;
        let next = covering(sources, bounds.passage_lines, most);
        let (findings, enough) = (Vec::new(), None);
        Self { bounds: bounds.clone(), level: 0, next, questions_left, findings, enough }
    }

    /// Returns the passages to ask about now; none once sampling has ended.
    pub fn begin(&mut self) -> Vec<Passage> {
        if self.enough.is_some() {
            return Vec::new();
        }
        self.level += 1;
        let most = self.questions_left;
        let now: Vec<Passage> = std::mem::take(&mut self.next).into_iter().take(most).collect();
        self.questions_left -= now.len();
        now
    }

    /// Takes in the findings in each passage of the round; unanswered passages are absent.
    pub fn told(
        &mut self,
        sources: &[SourceFile],
        answers: Vec<(Passage, Vec<ToldFinding>)>,
    ) -> RoundYield {
        let (mut new, mut known) = (0, 0);
        let mut best: BTreeMap<Passage, u32> = BTreeMap::new();
        for (passage, told) in answers {
            for one in told {
                match add_finding(&mut self.findings, sources, &passage, one, self.level) {
                    AddedFinding::New => {
                        new += 1;
                        let score = self.findings.last().map_or(0, Observation::score);
                        let best = best.entry(passage.clone()).or_default();
                        *best = score.max(*best);
                    }
                    AddedFinding::Known => known += 1,
                    AddedFinding::Elsewhere => {}
                }
            }
        }
        let round = RoundYield { level: self.level, new, known };
        self.plan_next(best, round);
        round
    }

    /// Plans to ask the better half of the passages with new findings again, in halves.
    fn plan_next(&mut self, best: BTreeMap<Passage, u32>, round: RoundYield) {
        let mut promising: Vec<(Passage, u32)> = best.into_iter().collect();
        promising.sort_by(|(a, a_score), (b, b_score)| b_score.cmp(a_score).then(a.cmp(b)));
        promising.truncate(promising.len().div_ceil(2));
        let least = self.bounds.least_passage_lines;
        let halves = promising.iter().filter_map(|(passage, _)| passage.halves(least));
        self.next = halves.flatten().collect();
        #[expect(clippy::cast_precision_loss, reason = "counts of findings are small")]
        let share = round.new as f64 / (round.new + round.known).max(1) as f64;
        self.enough = if share < self.bounds.plateau {
            Some(Enough::Plateau)
        } else if self.level >= self.bounds.max_levels {
            Some(Enough::Levels)
        } else if self.next.is_empty() {
            Some(Enough::NothingLeft)
        } else if self.questions_left == 0 {
            Some(Enough::Questions)
        } else {
            None
        };
    }

    /// Returns why sampling has ended, if it has.
    pub const fn enough(&self) -> Option<Enough> {
        self.enough
    }

    /// Returns the findings, in the order they were found.
    pub fn into_findings(self) -> Vec<Observation> {
        self.findings
    }
}

#[cfg(test)]
mod tests {
    use config::{Inputs, resolve_layers};
    use tree::RepoPath;

    use super::*;

    fn bounds() -> Missions {
        resolve_layers(&Inputs::default()).unwrap().config.missions
    }

    fn sources() -> Vec<SourceFile> {
        let text = (1..=320).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
        vec![SourceFile { path: RepoPath::parse("a").unwrap(), text }]
    }

    fn claim(at: usize, points: u8, words: &str) -> ToldFinding {
        (at, at + 1, points, points, words.to_owned())
    }

    #[test]
    fn the_best_passages_are_asked_again_in_halves() {
        let sources = sources();
        let mut sampling =
            NoveltySampling::new(&Missions { passage_lines: 80, ..bounds() }, &sources);
        let first = sampling.begin();
        assert_eq!(first.len(), 4);
        let points = [9, 0, 5, 1];
        let answers = first.iter().zip(points).map(|(passage, points)| {
            let words = format!("what stands at {}", passage.first);
            (passage.clone(), vec![claim(passage.first, points, &words)])
        });
        let round = sampling.told(&sources, answers.collect());
        assert_eq!(round, RoundYield { level: 1, new: 4, known: 0 });
        let second = sampling.begin().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(second, ["a:1-40", "a:41-80", "a:161-200", "a:201-240"]);
    }

    #[test]
    fn sampling_ends_when_hardly_anything_new_is_found() {
        let sources = sources();
        let mut sampling = NoveltySampling::new(&bounds(), &sources);
        for _ in 0..2 {
            let answers = sampling.begin().into_iter().map(|passage| {
                let told = if passage.first < 160 {
                    vec![claim(1, 9, "the same thing again")]
                } else {
                    vec![]
                };
                (passage, told)
            });
            let answers = answers.collect();
            sampling.told(&sources, answers);
        }
        assert_eq!(sampling.enough(), Some(Enough::Plateau));
        assert!(sampling.begin().is_empty());
        assert_eq!(sampling.into_findings().len(), 1);
    }

    #[test]
    fn levels_and_questions_are_bounded_for_any_answers() {
        let sources = sources();
        for (max_questions, most) in [(60, 36), (5, 3)] {
            let bounds =
                Missions { max_questions, least_passage_lines: 1, passage_lines: 20, ..bounds() };
            let mut sampling = NoveltySampling::new(&bounds, &sources);
            let (mut asked, mut rounds) = (0, 0);
            while sampling.enough().is_none() {
                let now = sampling.begin();
                asked += now.len();
                rounds += 1;
                let level = rounds;
                let answers = now.into_iter().map(|passage| {
                    let words = format!("{level} {} {}", passage.first, passage.last);
                    let at = passage.first;
                    (passage, vec![(at, at, 9, 9, words)])
                });
                let answers = answers.collect();
                sampling.told(&sources, answers);
            }
            assert!(asked <= most && rounds <= bounds.max_levels, "{asked} {rounds}");
        }
    }

    #[test]
    fn every_line_is_asked_about_before_any_is_asked_again() {
        let sources = sources();
        let bounds = Missions { max_questions: 10, passage_lines: 20, ..bounds() };
        let mut sampling = NoveltySampling::new(&bounds, &sources);
        let first = sampling.begin();
        assert!(first.len() <= 4, "a third of six questions is reserved: {}", first.len());
        assert_eq!(first.iter().map(Passage::lines).sum::<usize>(), 320);
    }

    #[test]
    fn findings_outside_the_passage_are_ignored() {
        let sources = sources();
        let mut sampling = NoveltySampling::new(&bounds(), &sources);
        let passage = sampling.begin().remove(0);
        let told =
            vec![(1, 500, 9, 9, "all of it".to_owned()), (200, 201, 9, 9, "there".to_owned())];
        assert_eq!(sampling.told(&sources, vec![(passage, told)]).new, 0);
    }
}
