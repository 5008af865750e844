//! Formats emphasis, code and links within a line of Markdown. Anything that is not complete within the line is literal. Pure.

use anstyle::{AnsiColor, Style};
use front::paint::Paint;

/// A longer line is not prose, and looking for the end of everything that begins in it would take too long.
const MAX_BYTES: usize = 8_192;

/// Formats text on top of this style. Without colours it is unchanged.
pub(super) fn inline(text: &str, style: Style, paint: Paint) -> String {
    if !paint.is_coloured() || text.len() > MAX_BYTES {
        return text.to_owned();
    }
    let mut spans = Spans::default();
    spans.read(text, style);
    spans.0.iter().map(|(style, text)| paint.with(*style, text)).collect()
}

/// Pieces of text, each in one style.
#[derive(Default)]
struct Spans(Vec<(Style, String)>);

impl Spans {
    fn push(&mut self, style: Style, text: &str) {
        match self.0.last_mut() {
            Some((last, before)) if *last == style => before.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push((style, text.to_owned())),
        }
    }

    /// Reads text that is in this style.
    fn read(&mut self, text: &str, style: Style) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let before = text.get(..text.len() - rest.len());
            let before = before.and_then(|it| it.chars().next_back());
            rest = match c {
                '\\' => self.escaped(rest, style),
                '`' => self.code(rest, style),
                '*' | '_' => self.emphasis(rest, before, style),
                '[' | '!' | '<' => self.link(rest, style),
                _ => None,
            }
            .unwrap_or_else(|| {
                let (literal, after) = rest.split_at(literal(rest));
                self.push(style, literal);
                after
            });
        }
    }

    /// Reads a backslash before punctuation, which makes it literal. Like the following functions, returns what comes after it,
    /// or `None` if the text does not begin with it.
    fn escaped<'t>(&mut self, text: &'t str, style: Style) -> Option<&'t str> {
        let escaped = text.get(1..2).filter(|it| it.chars().all(|c| c.is_ascii_punctuation()))?;
        self.push(style, escaped);
        text.get(2..)
    }

    /// Reads a code span.
    fn code<'t>(&mut self, text: &'t str, style: Style) -> Option<&'t str> {
        let (code, after) = code_span(text)?;
        let inner = code.strip_prefix(' ').and_then(|it| it.strip_suffix(' '));
        let code = inner.filter(|it| !it.trim().is_empty()).unwrap_or(code);
        self.push(style.fg_color(Some(AnsiColor::Cyan.into())), code);
        Some(after)
    }

    /// Reads emphasised text: `*italic*`, `_italic_`, `**bold**` or `***both***`.
    fn emphasis<'t>(
        &mut self,
        text: &'t str,
        before: Option<char>,
        style: Style,
    ) -> Option<&'t str> {
        let opening = Run::at(text, before)?;
        let inner = emphasised(text, opening)?;
        let inside = match opening.count {
            1 => style.italic(),
            2 => style.bold(),
            _ => style.bold().italic(),
        };
        self.read(inner, inside);
        text.get(inner.len() + 2 * opening.count..)
    }

    /// Reads a link or an image, whose address is shown after its text, or an address between angle brackets.
    fn link<'t>(&mut self, text: &'t str, style: Style) -> Option<&'t str> {
        if let Some(rest) = text.strip_prefix('<') {
            let (address, after) = rest.split_once('>')?;
            let is_address = address.contains("://") && !address.contains(char::is_whitespace);
            return is_address.then(|| {
                self.push(style.underline(), address);
                after
            });
        }
        let rest = text.strip_prefix('!').unwrap_or(text).strip_prefix('[')?;
        let label = rest.get(..closed(rest, '[', ']')?)?;
        let target = rest.get(label.len() + 1..)?.strip_prefix('(')?;
        let whole = target.get(..closed(target, '(', ')')?)?;
        // A title may follow the address.
        let address = whole.split_whitespace().next()?.trim_matches(['<', '>']);
        self.read(label, style);
        if label.trim_matches('`') != address {
            self.push(style, " (");
            self.push(style.underline(), address);
            self.push(style, ")");
        }
        target.get(whole.len() + 1..)
    }
}

/// Returns the length of the text up to the next character that may have a meaning.
fn literal(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let marks = ['\\', '`', '*', '_', '[', '!', '<'];
    if matches!(first, '`' | '*' | '_') {
        return text.len() - text.trim_start_matches(first).len();
    }
    let first = first.len_utf8();
    text.get(first..).and_then(|rest| rest.find(marks)).map_or(text.len(), |at| first + at)
}

/// Splits off the code span at the start of the text; returns its code and what comes after it.
fn code_span(text: &str) -> Option<(&str, &str)> {
    let count = text.len() - text.trim_start_matches('`').len();
    let inside = text.get(count..).filter(|_| count > 0)?;
    let mut rest = inside;
    while let Some(at) = rest.find('`') {
        let ticks = rest.get(at..)?;
        let after = ticks.trim_start_matches('`');
        if ticks.len() - after.len() == count {
            return Some((inside.get(..inside.len() - ticks.len())?, after));
        }
        rest = after;
    }
    None
}

/// A run of the same mark of emphasis.
#[derive(Debug, Clone, Copy)]
struct Run {
    mark: char,
    count: usize,
    /// The characters around it.
    before: Option<char>,
    after: Option<char>,
}

impl Run {
    /// Returns the run at the start of the text.
    fn at(text: &str, before: Option<char>) -> Option<Self> {
        let mark = text.chars().next().filter(|c| matches!(c, '*' | '_'))?;
        let rest = text.trim_start_matches(mark);
        Some(Self { mark, count: text.len() - rest.len(), before, after: rest.chars().next() })
    }

    /// Returns false for marks that never are emphasis here: `__init__` is a name far more often than bold text.
    const fn is_known(self) -> bool {
        matches!((self.mark, self.count), ('*', 1..=3) | ('_', 1))
    }

    /// Returns true if emphasis can begin here. A single mark must not be within a word or a path: `snake_case`, `2*3`, `src/*.rs`.
    /// A script without blanks between words needs none around its emphasis either.
    fn can_open(self) -> bool {
        let begins = |c: char| c.is_whitespace() || !c.is_ascii() || "([{\"'*_~|>".contains(c);
        self.is_known()
            && self.after.is_some_and(|c| !c.is_whitespace())
            && (self.count > 1 || self.before.is_none_or(begins))
    }

    /// Returns true if emphasis can end here.
    fn can_close(self) -> bool {
        self.before.is_some_and(|c| !c.is_whitespace())
            && (self.count > 1 || self.after.is_none_or(|c| !c.is_ascii_alphanumeric()))
    }
}

/// Returns the text between an opening run, with which `text` begins, and its closing marks.
fn emphasised(text: &str, opening: Run) -> Option<&str> {
    let inside = text.get(opening.count..).filter(|_| opening.can_open())?;
    // The lengths of the runs that are open, outermost first.
    let mut open = vec![opening.count];
    let mut rest = inside;
    while let Some(c) = rest.chars().next() {
        let at = inside.len() - rest.len();
        let before = inside.get(..at)?.chars().next_back();
        rest = if c == '\\' {
            let mut after = rest.chars();
            after.by_ref().take(2).for_each(drop);
            after.as_str()
        } else if let Some((_, after)) = code_span(rest) {
            after
        } else if c == opening.mark
            && let Some(run) = Run::at(rest, before)
        {
            let mut left = run.count;
            while run.can_close()
                && let Some(count) = open.last().copied().filter(|count| *count <= left)
            {
                open.pop();
                if open.is_empty() {
                    return inside.get(..at + run.count - left).filter(|it| !it.is_empty());
                }
                left -= count;
            }
            if left == run.count && run.can_open() {
                open.push(left);
            }
            rest.get(run.count..)?
        } else {
            rest.get(c.len_utf8()..)?
        };
    }
    None
}

/// Returns where the bracket before the text is closed.
fn closed(text: &str, opens: char, closes: char) -> Option<usize> {
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == closes && depth == 0 {
            return Some(text.len() - rest.len());
        }
        if c == opens {
            depth += 1;
        } else if c == closes {
            depth -= 1;
        }
        rest = match code_span(rest) {
            Some((_, after)) => after,
            None => rest.get(c.len_utf8()..)?,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats a line and writes its styles as letters: `i` italic, `b` bold, `u` underlined, `c` code.
    fn shown(text: &str) -> String {
        let painted = inline(text, Style::new(), Paint::Colour);
        [("\x1b[3m", "<i>"), ("\x1b[1m", "<b>"), ("\x1b[4m", "<u>"), ("\x1b[36m", "<c>")]
            .iter()
            .fold(painted.replace("\x1b[0m", "</>"), |text, (code, name)| text.replace(code, name))
    }

    #[test]
    fn emphasis_and_code_are_formatted() {
        for (text, expected) in [
            ("a *b c* d", "a <i>b c</> d"),
            ("_b_, (_c_).", "<i>b</>, (<i>c</>)."),
            ("**b** ***c***", "<b>b</> <b><i>c</>"),
            ("**b *c* d**", "<b>b </><b><i>c</><b> d</>"),
            ("**b *c***", "<b>b </><b><i>c</>"),
            ("*a **b** c*", "<i>a </><b><i>b</><i> c</>"),
            ("**the `**` mark**", "<b>the </><b><c>**</><b> mark</>"),
            ("`` a`b ``", "<c>a`b</>"),
            ("这是*重点*和**重点。**内容", "这是<i>重点</>和<b>重点。</>内容"),
            (r"\*a\* and \_b\_", "*a* and _b_"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn marks_that_are_not_emphasis_are_literal() {
        for text in [
            "snake_case and other_snake_case",
            "a_b_c _ d",
            "__init__ calls __new__",
            "2*3*4 and 2 * 3 * 4",
            "*.rs and *.toml",
            "src/*.rs, lib/*.rs",
            "2 ** 3 and a ** b",
            "a ` b and *c",
            "**not closed",
            "****",
            "[x] done, array[0](1",
            "a < b > c, Vec<T>",
            r"C:\dir",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn the_address_of_a_link_is_shown() {
        for (text, expected) in [
            (
                "see [the *docs*](https://x.org/a_(b)).",
                "see the <i>docs</> (<u>https://x.org/a_(b)</>).",
            ),
            ("![a](b.png \"title\")", "a (<u>b.png</>)"),
            ("[`src/x.rs`](src/x.rs)", "<c>src/x.rs</>"),
            ("<https://x.org>", "<u>https://x.org</>"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        let marks = ["*", "_", "`", "[", "]", "(", ")", "\\", "<", ">", "!", "a", " ", "你"];
        let mut seed = 7_usize;
        for _ in 0..20_000 {
            let text: String = (0..12)
                .map(|_| {
                    seed = seed
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    marks[(seed >> 33) % marks.len()]
                })
                .collect();
            let shown = inline(&text, Style::new(), Paint::Colour);
            let count = |text: &str, c: char| text.matches(c).count();
            assert_eq!(count(&shown, 'a'), count(&text, 'a'), "{text:?}: {shown:?}");
            assert_eq!(count(&shown, '你'), count(&text, '你'), "{text:?}: {shown:?}");
        }
    }
}
