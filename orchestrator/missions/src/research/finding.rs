//! Observations with the lines that show them, the results of checking them, and the parsers for answers of small models.
//! Pure.

use std::collections::BTreeSet;

use facts::grammar::contract::{Contract, ContractError, text_of_line};
use serde::{Deserialize, Serialize};
use tree::FileHash;

use crate::research::passage::{Passage, SourceFile};

const FINDINGS: Contract = Contract { header: "FINDINGS_V1", footer: "FINDINGS_END" };
const VERDICTS: Contract = Contract { header: "VERDICTS_V1", footer: "VERDICTS_END" };
const FINDING: &str = "FINDING|<first line>-<last line>|<novelty 0-9>|<weight 0-9>|<claim>";
const VERDICT: &str = "VERDICT|<number>|HOLDS, FAILS or UNSURE|<why>";

/// Most findings taken from one answer; the rest is ignored.
const MOST_FINDINGS: usize = 12;
/// Share of common words from which two claims about the same lines count as the same.
const SAME_WORDS: f64 = 0.6;

/// A model's opinion on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opinion {
    /// The claim is true.
    Holds,
    /// The claim is false.
    Fails,
    /// The lines do not show it either way.
    Unsure,
}

impl Opinion {
    /// Returns the word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Unsure => "unsure",
        }
    }

    fn read(word: &str) -> Option<Self> {
        let all = [Self::Holds, Self::Fails, Self::Unsure];
        all.into_iter().find(|verdict| verdict.name().eq_ignore_ascii_case(word.trim()))
    }
}

/// How reliable a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Something contradicts it, or its evidence has changed. It is reported all the same.
    Low,
    /// It was not checked.
    Unchecked,
    /// All models that were asked agree.
    High,
}

impl Confidence {
    /// Returns the confidence in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low confidence",
            Self::Unchecked => "not checked",
            Self::High => "checked",
        }
    }
}

/// An observation with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Number, from one.
    pub id: u32,
    /// The claim, in a sentence.
    pub claim: String,
    /// The lines that show it.
    pub evidence: Passage,
    /// Hash of those lines when it was found.
    pub hash: FileHash,
    /// How surprising it is, from 0 to 9.
    pub novelty: u8,
    /// How much it matters to the goal, from 0 to 9.
    pub weight: u8,
    /// The sampling round that found it.
    pub level: u32,
    /// Whether the lines were unchanged when the file was last compared; `None` if it was not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mechanical: Option<bool>,
    /// Opinion of a small model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flash: Option<Opinion>,
    /// Opinion of the model that thinks longest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pro: Option<Opinion>,
    /// The objection of the last model that did not confirm it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub doubt: Option<String>,
}

/// A model that judges claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judge {
    /// A small model.
    Flash,
    /// The model that thinks longest.
    Pro,
}

impl Observation {
    /// Records a verdict.
    pub(crate) fn judged(&mut self, by: Judge, said: ClaimVerdict) {
        match by {
            Judge::Flash => self.flash = Some(said.opinion),
            Judge::Pro => self.pro = Some(said.opinion),
        }
        if said.opinion != Opinion::Holds && !said.why.is_empty() {
            self.doubt = Some(said.why);
        }
    }

    /// Returns how much a closer look is worth.
    pub fn score(&self) -> u32 {
        u32::from(self.novelty) * u32::from(self.weight)
    }

    /// Returns how reliable it is.
    pub fn confidence(&self) -> Confidence {
        let said = [self.flash, self.pro];
        let doubted = self.mechanical == Some(false)
            || said.iter().flatten().any(|verdict| *verdict != Opinion::Holds);
        if doubted {
            Confidence::Low
        } else if self.mechanical == Some(true) && said.iter().flatten().next().is_some() {
            Confidence::High
        } else {
            Confidence::Unchecked
        }
    }

    /// Returns what speaks against it, in words; `None` if nothing was said.
    pub fn objection(&self) -> Option<&str> {
        if self.mechanical == Some(false) {
            return Some("its lines have changed");
        }
        self.doubt.as_deref()
    }

    /// Returns true if a claim is the same as this one: about overlapping lines, in mostly the same words.
    pub fn says_the_same(&self, evidence: &Passage, claim: &str) -> bool {
        self.evidence.touches(evidence) && similarity(&self.claim, claim) >= SAME_WORDS
    }
}

/// The result of adding a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddedFinding {
    /// It was not known before.
    New,
    /// It was already known.
    Known,
    /// It is about lines outside the passage, and is left out.
    Elsewhere,
}

/// Adds a finding about a passage of `sources`.
pub(crate) fn add_finding(
    findings: &mut Vec<Observation>,
    sources: &[SourceFile],
    passage: &Passage,
    (first, last, novelty, weight, claim): ToldFinding,
    level: u32,
) -> AddedFinding {
    let evidence = Passage { path: passage.path.clone(), first: first.max(passage.first), last };
    let Some(hash) = evidence.hash(sources).filter(|_| last <= passage.last) else {
        return AddedFinding::Elsewhere;
    };
    if findings.iter().any(|it| it.says_the_same(&evidence, &claim)) {
        return AddedFinding::Known;
    }
    let id = u32::try_from(findings.len()).unwrap_or(u32::MAX).saturating_add(1);
    let (mechanical, flash, pro, doubt) = (None, None, None, None);
    findings.push(Observation {
        id,
        claim,
        evidence,
        hash,
        novelty,
        weight,
        level,
        mechanical,
        flash,
        pro,
        doubt,
    });
    AddedFinding::New
}

/// Returns the share of two texts' words that both contain.
pub fn similarity(one: &str, other: &str) -> f64 {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    };
    let (one, other) = (words(one), words(other));
    let all = one.union(&other).count();
    if all == 0 {
        return 1.0;
    }
    let common = one.intersection(&other).count();
    // Far fewer words than a float can count.
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = common as f64 / all as f64;
    share
}

/// A finding as parsed from an answer: first line, last line, novelty, weight, claim.
pub type ToldFinding = (usize, usize, u8, u8, String);

/// Parses a small model's findings about a passage. Lines outside the passage are for the caller to reject.
pub fn findings(answer: &str) -> Result<Vec<ToldFinding>, ContractError> {
    let mut told = Vec::new();
    FINDINGS.read(answer, |_, line| {
        let (key, rest) = line.split_once('|').unwrap_or((line, ""));
        match key {
            "FINDING" if told.len() >= MOST_FINDINGS => {}
            "FINDING" => told.push(finding(rest)?),
            "NONE" => {}
            _ => return Err(format!("only lines {FINDING} or NONE|<why> are allowed here")),
        }
        Ok(())
    })?;
    Ok(told)
}

fn finding(rest: &str) -> Result<ToldFinding, String> {
    let broken = || format!("the line must read {FINDING}");
    let mut fields = rest.splitn(4, '|').map(str::trim);
    let lines = fields.next().ok_or_else(broken)?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (first.trim().parse().ok(), last.trim().parse().ok());
    let mut digit = || fields.next()?.parse::<u8>().ok().map(|points| points.min(9));
    let (novelty, weight) = (digit(), digit());
    let claim = text_of_line(fields.next().unwrap_or_default(), FINDING)?;
    let (Some(first), Some(last), Some(novelty), Some(weight)) = (first, last, novelty, weight)
    else {
        return Err(broken());
    };
    Ok((first, last, novelty, weight, claim))
}

/// A verdict on a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimVerdict {
    /// The number of the claim.
    pub claim: u32,
    /// The model's opinion.
    pub opinion: Opinion,
    /// The reason, in a sentence; empty if omitted.
    pub why: String,
}

/// Parses verdicts on claims.
pub fn verdicts(answer: &str) -> Result<Vec<ClaimVerdict>, ContractError> {
    let mut told = Vec::new();
    VERDICTS.read(answer, |_, line| {
        let rest = line.strip_prefix("VERDICT|").ok_or(format!("each line must read {VERDICT}"))?;
        let mut fields = rest.splitn(3, '|').map(str::trim);
        let number = fields.next().and_then(|number| number.parse().ok());
        let verdict = fields.next().and_then(Opinion::read);
        let why = fields.next().unwrap_or_default().to_owned();
        match (number, verdict) {
            (Some(claim), Some(opinion)) => told.push(ClaimVerdict { claim, opinion, why }),
            _ => return Err(format!("the line must read {VERDICT}")),
        }
        Ok(())
    })?;
    Ok(told)
}

/// Checks that an answer contains findings.
pub fn tells_findings(answer: &str) -> Result<(), ContractError> {
    findings(answer).map(drop)
}

/// Checks that an answer contains verdicts.
pub fn tells_verdicts(answer: &str) -> Result<(), ContractError> {
    verdicts(answer).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(claim: &str) -> Observation {
        let evidence = Passage::read("a.rs:3-9").unwrap();
        let (hash, claim) = (FileHash::of(b""), claim.to_owned());
        let (mechanical, flash, pro, doubt) = (None, None, None, None);
        Observation {
            id: 1,
            claim,
            evidence,
            hash,
            novelty: 5,
            weight: 6,
            level: 1,
            mechanical,
            flash,
            pro,
            doubt,
        }
    }

    #[test]
    fn findings_of_a_small_model_are_parsed() {
        let answer = "FINDINGS_V1\nFINDING|3-9|7|99|the cache | is never emptied\nNONE|the rest\nFINDING|4|0|1|x\nFINDINGS_END";
        let told = findings(answer).unwrap();
        assert_eq!(told[0], (3, 9, 7, 9, "the cache | is never emptied".to_owned()));
        assert_eq!(told[1].0..=told[1].1, 4..=4);
        for broken in
            ["FINDING|3-9|7|8", "FINDING|x|7|8|y", "FINDING|3-9|7|8|", "VERDICT|1|HOLDS|x"]
        {
            let answer = format!("FINDINGS_V1\n{broken}\nFINDINGS_END");
            assert_eq!(findings(&answer).unwrap_err().line, 2, "{broken}");
        }
        assert!(findings("It looks fine.").is_err());
    }

    #[test]
    fn verdicts_are_parsed_in_any_case() {
        let answer = "VERDICTS_V1\nVERDICT|2|holds|as shown\nVERDICT|3|FAILS\nVERDICTS_END";
        let told = verdicts(answer).unwrap();
        let told: Vec<(u32, Opinion, &str)> =
            told.iter().map(|it| (it.claim, it.opinion, it.why.as_str())).collect();
        assert_eq!(told, [(2, Opinion::Holds, "as shown"), (3, Opinion::Fails, "")]);
        assert!(verdicts("VERDICTS_V1\nVERDICT|2|maybe|x\nVERDICTS_END").is_err());
    }

    #[test]
    fn confidence_follows_the_checks_and_any_doubt_lowers_it() {
        let mut finding = found("x");
        assert_eq!(finding.confidence(), Confidence::Unchecked);
        finding.mechanical = Some(true);
        assert_eq!(finding.confidence(), Confidence::Unchecked);
        finding.flash = Some(Opinion::Holds);
        assert_eq!(finding.confidence(), Confidence::High);
        let why = "the lines do not tell".to_owned();
        finding.judged(Judge::Pro, ClaimVerdict { claim: 1, opinion: Opinion::Unsure, why });
        assert_eq!(finding.confidence(), Confidence::Low);
        assert_eq!(finding.doubt.as_deref(), Some("the lines do not tell"));
        (finding.pro, finding.mechanical) = (Some(Opinion::Holds), Some(false));
        assert_eq!(finding.confidence(), Confidence::Low);
    }

    #[test]
    fn the_same_claim_about_overlapping_lines_is_not_new() {
        let finding = found("the cache is never emptied");
        let here = Passage::read("a.rs:8-20").unwrap();
        assert!(finding.says_the_same(&here, "The cache is never emptied!"));
        assert!(!finding.says_the_same(&here, "keys are compared by their length"));
        let elsewhere = Passage::read("a.rs:30-40").unwrap();
        assert!(!finding.says_the_same(&elsewhere, "the cache is never emptied"));
    }
}
