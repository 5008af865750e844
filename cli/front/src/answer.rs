//! A question as people see it, and their answer as they type it. Pure.

use actors::publisher::Answer;
use actors::workspace::Taken;

use crate::diff::harmless;

/// A question, as it stands on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnScreen {
    /// Who asks, where it is not the run itself.
    pub who: String,
    /// What it is about.
    pub shown: String,
    /// The line that ends it.
    pub asks: String,
    /// What can be answered.
    pub offers: Offers,
    /// How the change can be taken that it is about, if it is about one.
    pub change: Option<Taken>,
}

/// What can be answered beside yes and no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offers {
    /// That it is not asked for again, too.
    Always,
    /// Some of these files, by their numbers.
    Files(Vec<String>),
    /// Nothing else.
    Once,
    /// Nothing else, and a no needs no reason.
    YesOrNo,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// An answer.
    Answer(Answer),
    /// To see once more what it is about.
    Show,
    /// To go through the change file by file.
    Review,
    /// Nothing that is understood.
    Unclear,
}

impl Offers {
    /// What can be typed, in the order in which it is told.
    pub const fn words(&self) -> &'static str {
        match self {
            Self::Always => "always, no: WHY, show",
            Self::Files(_) => "files 1 2, no: WHY, show",
            Self::Once | Self::YesOrNo => "no: WHY, show",
        }
    }

    /// What the numbers of files stand for, in lines; none where there are none.
    pub fn numbered(&self) -> Vec<String> {
        let Self::Files(paths) = self else { return Vec::new() };
        let numbered = |(number, path): (u32, &String)| format!("  {number} {}", harmless(path));
        (1..).zip(paths).map(numbered).collect()
    }

    /// The files that numbers name, and why not the others, as far as both are understood.
    fn only(&self, said: &str) -> Option<Answer> {
        let Self::Files(paths) = self else { return None };
        let (numbers, why) = said.split_once(':').unwrap_or((said, ""));
        let path = |number: &str| paths.get(number.parse::<usize>().ok()?.checked_sub(1)?).cloned();
        let numbers = numbers.split([' ', ',']).filter(|number| !number.is_empty());
        let paths: Vec<String> = numbers.map(path).collect::<Option<_>>()?;
        let why = Some(why.trim()).filter(|why| !why.is_empty()).map(str::to_owned);
        (!paths.is_empty()).then_some(Answer::Only { paths, why })
    }
}

/// Reads a line. A line that is empty is a no.
pub fn read(line: &str, offers: &Offers) -> Said {
    let line = line.trim();
    let (word, rest) = line.split_once([' ', ',', ':']).unwrap_or((line, ""));
    let rest = rest.trim_start_matches([' ', ',', ':']);
    let why = rest.strip_prefix("because ").unwrap_or(rest);
    match (word.to_lowercase().as_str(), why) {
        ("y" | "yes", "") => Said::Answer(Answer::Yes),
        ("a" | "always", "") if *offers == Offers::Always => Said::Answer(Answer::Always),
        ("f" | "file" | "files", numbers) => {
            offers.only(numbers).map_or(Said::Unclear, Said::Answer)
        }
        ("s" | "show", "") => Said::Show,
        ("d" | "review", "") => Said::Review,
        ("" | "n" | "no", "") => Said::Answer(Answer::No),
        ("n" | "no", why) => Said::Answer(Answer::Because(why.to_owned())),
        _ => Said::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_answer_or_asked_for_again() {
        let because = |why: &str| Said::Answer(Answer::Because(why.to_owned()));
        for (line, said) in [
            ("y\n", Said::Answer(Answer::Yes)),
            (" YES ", Said::Answer(Answer::Yes)),
            ("\n", Said::Answer(Answer::No)),
            ("no", Said::Answer(Answer::No)),
            ("no, because it breaks CI", because("it breaks CI")),
            ("no: use Python 3.12", because("use Python 3.12")),
            ("n too large", because("too large")),
            ("s", Said::Show),
            ("d", Said::Review),
            ("Review", Said::Review),
            ("always", Said::Answer(Answer::Always)),
            ("yes please", Said::Unclear),
            ("what?", Said::Unclear),
            ("yno", Said::Unclear),
        ] {
            assert_eq!(read(line, &Offers::Always), said, "{line}");
        }
        assert_eq!(read("always", &Offers::Once), Said::Unclear);
    }

    #[test]
    fn some_files_are_taken_by_their_numbers() {
        let offers = Offers::Files(["a.rs", "b.rs", "c.rs"].map(str::to_owned).to_vec());
        assert_eq!(offers.numbered(), ["  1 a.rs", "  2 b.rs", "  3 c.rs"]);
        let only = |paths: &[&str], why: Option<&str>| {
            let paths = paths.iter().map(|&path| path.to_owned()).collect();
            Said::Answer(Answer::Only { paths, why: why.map(str::to_owned) })
        };
        for (line, said) in [
            ("files 1 3", only(&["a.rs", "c.rs"], None)),
            ("f 2\n", only(&["b.rs"], None)),
            ("files 1, 2: keep the old name", only(&["a.rs", "b.rs"], Some("keep the old name"))),
            ("files 4", Said::Unclear),
            ("files 0", Said::Unclear),
            ("files a.rs", Said::Unclear),
            ("files", Said::Unclear),
            ("y", Said::Answer(Answer::Yes)),
        ] {
            assert_eq!(read(line, &offers), said, "{line}");
        }
        assert_eq!(read("files 1", &Offers::Once), Said::Unclear);
    }
}
