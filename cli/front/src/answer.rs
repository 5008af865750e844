//! Requests for approval as they are shown, and answers as they are typed. Pure.

use facts::signal::Acceptance;
use facts::signal::ApprovalAnswer;

use crate::diff::harmless;

/// A question as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownQuestion {
    /// The lane that asks, as a prefix; empty if the run itself asks.
    pub who: String,
    /// What the question is about, in lines; may be empty.
    pub shown: String,
    /// The question itself, which is the last line.
    pub asks: String,
    /// The possible answers.
    pub offers: Offers,
    /// How the change may be applied; `None` if the question is not about a change.
    pub change: Option<Acceptance>,
}

/// The possible answers other than yes and no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offers {
    /// Yes, without being asked about this command again.
    Always(String),
    /// Only some of these files, by number.
    Files(Vec<String>),
    /// No others.
    Once,
    /// No others, and a no does not need a reason.
    YesOrNo,
}

/// The meaning of a typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// An answer.
    Answer(ApprovalAnswer),
    /// Show again what the question is about.
    Show,
    /// Review the change file by file.
    Review,
    /// Not understood.
    Unclear,
}

impl Offers {
    /// Returns the words that can be typed, in the order in which they are shown.
    pub const fn words(&self) -> &'static str {
        match self {
            Self::Always(_) => "always, no: WHY, show",
            Self::Files(_) => "files 1 2, no: WHY, show",
            Self::Once | Self::YesOrNo => "no: WHY, show",
        }
    }

    /// Says what an answer changes beyond this question, and how to take that back; `None` if it changes nothing.
    pub fn lasting(&self, answer: &ApprovalAnswer) -> Option<String> {
        let (Self::Always(command), ApprovalAnswer::Always) = (self, answer) else { return None };
        let command = harmless(command);
        let quoted = command.replace('\'', r"'\''");
        Some(format!(
            "`{command}` runs without a question in this directory from now on; to take it back: \
             deepseek policy forget '{quoted}'"
        ))
    }

    /// Returns the numbered files, one per line; empty if files cannot be chosen.
    pub fn numbered(&self) -> Vec<String> {
        let Self::Files(paths) = self else { return Vec::new() };
        let numbered = |(number, path): (u32, &String)| format!("  {number} {}", harmless(path));
        (1..).zip(paths).map(numbered).collect()
    }

    /// Parses the numbers of files, and the reason against the other files if there is one. Returns `None` if they are not
    /// understood.
    fn only(&self, said: &str) -> Option<ApprovalAnswer> {
        let Self::Files(paths) = self else { return None };
        let (numbers, why) = said.split_once(':').unwrap_or((said, ""));
        let path = |number: &str| paths.get(number.parse::<usize>().ok()?.checked_sub(1)?).cloned();
        let numbers = numbers.split([' ', ',']).filter(|number| !number.is_empty());
        let paths: Vec<String> = numbers.map(path).collect::<Option<_>>()?;
        let why = Some(why.trim()).filter(|why| !why.is_empty()).map(str::to_owned);
        (!paths.is_empty()).then_some(ApprovalAnswer::Only { paths, why })
    }
}

/// Parses a line. An empty line is a no.
pub fn read_answer(line: &str, offers: &Offers) -> Typed {
    let line = line.trim();
    let (word, rest) = line.split_once([' ', ',', ':']).unwrap_or((line, ""));
    let rest = rest.trim_start_matches([' ', ',', ':']);
    let why = rest.strip_prefix("because ").unwrap_or(rest);
    match (word.to_lowercase().as_str(), why) {
        ("y" | "yes", "") => Typed::Answer(ApprovalAnswer::Yes),
        ("a" | "always", "") if matches!(offers, Offers::Always(_)) => {
            Typed::Answer(ApprovalAnswer::Always)
        }
        ("f" | "file" | "files", numbers) => {
            offers.only(numbers).map_or(Typed::Unclear, Typed::Answer)
        }
        ("s" | "show", "") => Typed::Show,
        ("d" | "review", "") => Typed::Review,
        ("" | "n" | "no", "") => Typed::Answer(ApprovalAnswer::No),
        ("n" | "no", why) => Typed::Answer(ApprovalAnswer::Because(why.to_owned())),
        _ => Typed::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_answer_or_unclear() {
        let because = |why: &str| Typed::Answer(ApprovalAnswer::Because(why.to_owned()));
        let offers = Offers::Always("make lint".to_owned());
        for (line, said) in [
            ("y\n", Typed::Answer(ApprovalAnswer::Yes)),
            (" YES ", Typed::Answer(ApprovalAnswer::Yes)),
            ("\n", Typed::Answer(ApprovalAnswer::No)),
            ("no", Typed::Answer(ApprovalAnswer::No)),
            ("no, because it breaks CI", because("it breaks CI")),
            ("no: use Python 3.12", because("use Python 3.12")),
            ("n too large", because("too large")),
            ("s", Typed::Show),
            ("d", Typed::Review),
            ("Review", Typed::Review),
            ("always", Typed::Answer(ApprovalAnswer::Always)),
            ("yes please", Typed::Unclear),
            ("what?", Typed::Unclear),
            ("yno", Typed::Unclear),
        ] {
            assert_eq!(read_answer(line, &offers), said, "{line}");
        }
        assert_eq!(read_answer("always", &Offers::Once), Typed::Unclear);
        let lasting = offers.lasting(&ApprovalAnswer::Always).unwrap();
        assert!(lasting.ends_with("deepseek policy forget 'make lint'"), "{lasting}");
        assert_eq!(offers.lasting(&ApprovalAnswer::Yes), None);
    }

    #[test]
    fn files_are_chosen_by_number() {
        let offers = Offers::Files(["a.rs", "b.rs", "c.rs"].map(str::to_owned).to_vec());
        assert_eq!(offers.numbered(), ["  1 a.rs", "  2 b.rs", "  3 c.rs"]);
        let only = |paths: &[&str], why: Option<&str>| {
            let paths = paths.iter().map(|&path| path.to_owned()).collect();
            Typed::Answer(ApprovalAnswer::Only { paths, why: why.map(str::to_owned) })
        };
        for (line, said) in [
            ("files 1 3", only(&["a.rs", "c.rs"], None)),
            ("f 2\n", only(&["b.rs"], None)),
            ("files 1, 2: keep the old name", only(&["a.rs", "b.rs"], Some("keep the old name"))),
            ("files 4", Typed::Unclear),
            ("files 0", Typed::Unclear),
            ("files a.rs", Typed::Unclear),
            ("files", Typed::Unclear),
            ("y", Typed::Answer(ApprovalAnswer::Yes)),
        ] {
            assert_eq!(read_answer(line, &offers), said, "{line}");
        }
        assert_eq!(read_answer("files 1", &Offers::Once), Typed::Unclear);
    }
}
