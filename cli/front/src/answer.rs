//! A question as people see it, and their answer as they type it. Pure.

use actors::publisher::Answer;

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
}

/// What can be answered beside yes and no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offers {
    /// That it is not asked for again, too.
    Always,
    /// Nothing else.
    Once,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// An answer.
    Answer(Answer),
    /// To see once more what it is about.
    Show,
    /// Nothing that is understood.
    Unclear,
}

/// Reads a line. A line that is empty is a no.
pub fn read(line: &str, offers: Offers) -> Said {
    let line = line.trim();
    let (word, rest) = line.split_once([' ', ',', ':']).unwrap_or((line, ""));
    let rest = rest.trim_start_matches([' ', ',', ':']);
    let why = rest.strip_prefix("because ").unwrap_or(rest);
    match (word.to_lowercase().as_str(), why) {
        ("y" | "yes", "") => Said::Answer(Answer::Yes),
        ("a" | "always", "") if offers == Offers::Always => Said::Answer(Answer::Always),
        ("s" | "show", "") => Said::Show,
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
            ("always", Said::Answer(Answer::Always)),
            ("yes please", Said::Unclear),
            ("what?", Said::Unclear),
            ("yno", Said::Unclear),
        ] {
            assert_eq!(read(line, Offers::Always), said, "{line}");
        }
        assert_eq!(read("always", Offers::Once), Said::Unclear);
    }
}
