//! Finds an added line that stands for code which its author did not write out, by its form and by what it replaces. Pure.

use super::file_habits::FileHabits;
use crate::diff::hunk_lines::{HunkLine, Kind};

/// The marks that open a comment, longest first, and those that close one.
const OPENERS: [&str; 10] = ["{/*", "<!--", "\"\"\"", "//", "/*", "(*", "--", "#", ";", "%"];
const CLOSERS: [&str; 5] = ["*/}", "-->", "\"\"\"", "*/", "*)"];
/// The number of lines of code that a single comment cannot replace.
const MANY: usize = 10;

/// How a line stands for code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A remark that begins with dots: `# ... as before ...`, `[... the rest ...]`.
    Remark,
    /// A comment that begins with dots and does not end in them: beside another comment, it goes on with its sentence.
    Sentence,
    /// Nothing but dots in brackets.
    Omission,
    /// Nothing but dots, or a comment that ends in them or in a full stop: it stands for code only if it replaces some.
    Dots,
}

/// Returns an added line that stands for code.
pub(super) fn found<'h, 'a>(
    habits: &FileHabits<'_>,
    body: &'h [HunkLine<'a>],
) -> Option<&'h HunkLine<'a>> {
    let stands = |line: &HunkLine<'_>, replaces: bool, beside_a_comment: bool| match form(line.text)
    {
        Some(Form::Remark) => true,
        Some(Form::Sentence) => replaces || !beside_a_comment,
        // Data and quotations may have any dots.
        Some(Form::Omission | Form::Dots) => replaces,
        None => false,
    };
    let is_new = |line: &&HunkLine<'_>| line.kind == Kind::Added && !habits.has_line(line.text);
    body.split(|line| line.kind == Kind::Context).find_map(|run| {
        let of = |kind| run.iter().filter(move |line| line.kind == kind && !line.is_blank());
        let is_comment = |line: &HunkLine<'_>| in_comment(line.text).is_some();
        let code = |kind| of(kind).filter(|line| !is_comment(line)).count();
        let in_place = code(Kind::Removed) > of(Kind::Added).count();
        let is_beside = |line: &HunkLine<'_>| {
            run.iter().any(|it| it.at.abs_diff(line.at) == 1 && it.is_new() && is_comment(it))
        };
        let told =
            of(Kind::Added).find(|line| stands(line, in_place, is_beside(line)) && is_new(line));
        let mut added = of(Kind::Added);
        let alone = added.next().filter(|line| added.next().is_none() && is_comment(line));
        let alone = alone.filter(|_| habits.is_code() && code(Kind::Removed) >= MANY);
        told.or_else(|| alone.filter(is_new))
    })
}

/// Returns true if a line next to a diff stands for hunks or lines that the answer does not have.
pub(crate) fn announces_more(line: &[u8]) -> bool {
    matches!(form(line), Some(Form::Remark | Form::Sentence | Form::Omission))
}

/// Returns how a line may stand for code.
fn form(line: &[u8]) -> Option<Form> {
    let may_be = |at: usize| {
        let rest = line.get(at..).unwrap_or_default();
        rest.starts_with(b"...") || rest.starts_with("…".as_bytes())
    };
    if !memchr::memchr2_iter(b'.', b'\xe2', line).any(may_be) {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?.trim();
    let dots = |text: &str| text.strip_prefix("...").or(text.strip_prefix('…')).map(str::to_owned);
    let in_brackets = [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| Some(text.strip_prefix(open)?.strip_suffix(close)?.trim()));
    if let Some(inner) = in_comment(line) {
        return match dots(inner) {
            // A full stop ends a sentence that began above.
            Some(rest) if rest.ends_with('.') && !rest.ends_with("..") => Some(Form::Dots),
            Some(rest) if rest.ends_with(char::is_alphanumeric) => Some(Form::Sentence),
            Some(_) => Some(Form::Remark),
            None if inner.ends_with("...") || inner.ends_with('…') => Some(Form::Dots),
            None => None,
        };
    }
    if let Some(rest) = in_brackets.and_then(dots) {
        return match rest.trim_matches(['.', '…']) {
            "" => Some(Form::Omission),
            rest if rest.starts_with(' ') => Some(Form::Remark),
            _ => None,
        };
    }
    dots(text).filter(String::is_empty).map(|_| Form::Dots)
}

/// Returns the text of a line that is only a comment.
fn in_comment(line: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let opener = OPENERS.iter().find(|opener| text.starts_with(**opener))?;
    let last = opener.chars().last()?;
    let inner = text.strip_prefix(opener)?.trim_start_matches([last, '!']).trim();
    let closer = CLOSERS.iter().find_map(|closer| inner.strip_suffix(closer));
    Some(closer.unwrap_or(inner).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::testing::hunk_of;

    fn stands(name: &str, file: &str, hunk: &[&str]) -> bool {
        found(&FileHabits::of(file.as_bytes(), name), &hunk_of(hunk)).is_some()
    }

    #[test]
    fn a_remark_after_dots_stands_for_code() {
        for (name, hunk) in [
            ("a.py", &["-x = 1", "-y = 2", "+# ..."][..]),
            ("a.py", &[" x = 1", "+    # ... rest unchanged", " y = 2"]),
            ("a.c", &[" f();", "+/* … existing code … */", " h();"]),
            ("a.tsx", &["-<p>a</p>", "+{/* ... existing JSX ... */}"]),
            ("a.html", &["+<!-- ... -->"]),
            ("a.json", &["+  \"x\": {", "+    # ... (unchanged) ...", "+  }"]),
            ("a.rs", &["+// ... existing code", "+f();"]),
            ("a.sql", &["-a int,", "+a text,", "+    -- ... other columns"]),
            ("a.py", &["-x = 1", "-y = 2", "+[...]"]),
            ("a.md", &["+[... the rest of it is omitted ...]"]),
            ("a.c", &["-a();", "-b();", "+…"]),
            ("a.c", &["-a();", "-b();", "+// as before..."]),
        ] {
            assert!(stands(name, "x\n", hunk), "{hunk:?}");
        }
        for (name, hunk) in [
            ("a.py", &["+# wait for it..."][..]),
            ("a.rs", &["+// ... but no more than needed."]),
            ("a.rs", &["+// ... but no more", "+// than needed."]),
            ("a.py", &[" class A:", "+    ..."]),
            ("a.ts", &["+[...a, ...b]", "+  ...rest,", "+  {...props}"]),
            ("a.md", &["+ucg 0.3.3", "+[...]"]),
        ] {
            assert!(!stands(name, "x\n", hunk), "{hunk:?}");
        }
        assert!(!stands("a.py", "x\n  # ...\n", &["-x", "-y", "+# ..."]), "the file has it");
    }

    #[test]
    fn dots_in_data_are_data_unless_they_stand_for_many_lines() {
        for dots in ["+[...]", "+..."] {
            assert!(!stands("a.json", "a\nb\n", &[" a", dots]), "{dots}");
            assert!(!stands("a.json", "a\nb\n", &["-a", dots]), "{dots}");
            assert!(stands("a.json", "a\nb\nc\n", &["-a", "-b", "-c", dots]), "{dots}");
            assert!(stands("a.md", "a\nb\nc\n", &["-a", "-b", "-c", dots]), "{dots}");
        }
    }

    #[test]
    fn one_comment_does_not_replace_much_code() {
        let removed = |lines: usize| -> Vec<String> {
            (0..lines).map(|at| format!("-call({at});")).collect()
        };
        let with = |lines: usize, added: &str| {
            let mut hunk = removed(lines);
            hunk.push(added.to_owned());
            stands("a.rs", "x\n", &hunk.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert!(with(MANY, "+// existing code"));
        assert!(!with(MANY - 1, "+// not needed any more"));
        assert!(!with(MANY, "+call_all();"));
    }
}
