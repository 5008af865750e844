//! Detects text in added lines that serving or a chat put there: tokens of the model's template, marks of a citation or
//! an edit block, remarks that something was cut off. Pure.

use super::body::{HunkLine, Kind};
use super::damaged_line::Damage;
use super::file_style::FileStyle;
use super::leak;
use super::refuse::Reason;

/// What the marks of a conflict or an edit block consist of.
const EDIT_MARKS: [&[u8]; 2] = [b" >>>>>>> ", b" <<<<<<< "];
/// Extensions of templates of texts, among them those of chats.
const TEMPLATES: [&str; 8] = ["j2", "jinja", "jinja2", "tmpl", "gotmpl", "hbs", "mustache", "tpl"];
/// What is counted when a text is cut off.
const UNITS: [&[u8]; 5] = [b"chars", b"characters", b"tokens", b"bytes", b"lines"];

/// Returns what is wrong with the lines that `body` adds.
pub(super) fn found(style: &FileStyle<'_>, body: &[HunkLine<'_>]) -> Option<Damage> {
    if style.is_of(&["diff", "patch", "snap"]) {
        return None;
    }
    let added = || body.iter().filter(|line| line.kind == Kind::Added);
    let damage = |reason, line: &HunkLine<'_>, has| Some(Damage::at(reason, line, has));
    // A template has several tokens.
    let ended = || added().find_map(|line| Some((line, token_at_end(line.text)?)));
    if !style.is_of(&TEMPLATES)
        && let Some((line, token)) = ended()
        && !style.has(b"<|")
        && !style.has("<\u{ff5c}".as_bytes())
        && !added().any(|other| has_other_token(other.text, token))
    {
        return damage(Reason::DamagedLine, line, "ends in a token of the model's template");
    }
    for line in added() {
        if let Some(mark) = citation(line.text)
            && !style.has(mark)
        {
            return damage(Reason::DamagedLine, line, "has the mark of a citation");
        }
        if style.is_code()
            && let Some(mark) = edit_mark(line.text)
            && !style.has(mark)
        {
            return damage(Reason::DamagedLine, line, "ends in the mark of an edit block");
        }
        if style.is_code() && is_cut_off(line.text) && !style.has(b"truncated") {
            return damage(Reason::ElidedCode, line, "says that it was cut off");
        }
    }
    None
}

/// Returns the template token that ends a line, directly after text and outside of quotes.
fn token_at_end(line: &[u8]) -> Option<&[u8]> {
    let text = line.trim_ascii_end();
    if !text.ends_with(b">") {
        return None;
    }
    let (before, token) = text.split_at_checked(memchr::memrchr(b'<', text)?)?;
    let is_glued = before.last().is_some_and(|byte| !byte.is_ascii_whitespace());
    (leak::is_template_token(token) && is_glued && !is_quoted(before)).then_some(token)
}

/// Returns true if a line has a template token other than this one: it shows a template.
fn has_other_token(line: &[u8], token: &[u8]) -> bool {
    memchr::memchr_iter(b'<', line).filter_map(|at| line.get(at..)).any(|rest| {
        let end = memchr::memchr(b'>', rest).map_or(rest.len(), |end| end + 1);
        let other = rest.get(..end).unwrap_or_default();
        other != token && leak::is_template_token(other)
    })
}

/// Returns true if a text ends inside quotes.
pub(super) fn is_quoted(before: &[u8]) -> bool {
    [b'"', b'\'', b'`'].iter().any(|quote| memchr::memchr_iter(*quote, before).count() % 2 == 1)
}

/// Returns the sign that tells the mark of a citation that a chat inserts: `【4†source】`, `:contentReference[oaicite:0]`.
fn citation(line: &[u8]) -> Option<&'static [u8]> {
    let is_free = |at: usize| !is_quoted(line.get(..at).unwrap_or_default());
    let open = "【".as_bytes();
    if !line.is_ascii()
        && let Some(at) = memchr::memmem::find(line, open)
        && let Some(rest) = line.get(at + open.len()..)
        && is_free(at)
    {
        let number = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b':');
        let number = number.count();
        let is_mark = rest.get(number..).is_some_and(|rest| rest.starts_with("†".as_bytes()));
        return (number > 0 && is_mark).then_some("†".as_bytes());
    }
    let is_mark = |at: &usize| {
        line.get(*at..).is_some_and(|rest| rest.starts_with(b"[oaicite:")) && is_free(*at)
    };
    memchr::memchr_iter(b'[', line).any(|at| is_mark(&at)).then_some(b"oaicite")
}

/// Returns the mark of a conflict or an edit block that ends a line of code, with a word.
fn edit_mark(line: &[u8]) -> Option<&'static [u8]> {
    let end = line.trim_ascii_end();
    let letters = end.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let marked = end.get(..end.len() - letters).filter(|_| letters > 0)?;
    let ends_in = |mark: &&&[u8]| {
        marked
            .strip_suffix(**mark)
            .is_some_and(|before| before.iter().any(u8::is_ascii_graphic) && !is_quoted(before))
    };
    EDIT_MARKS.iter().find(ends_in).copied()
}

/// Returns true if a line ends in `[truncated]`, or says how much of it was: `…12 chars truncated…`.
fn is_cut_off(line: &[u8]) -> bool {
    // Few lines end like this; the last byte is that of `…`.
    if !line.trim_ascii_end().last().is_some_and(|end| b"]).>\xa6".contains(end)) {
        return false;
    }
    let Some(at) = memchr::memmem::find(line, b"truncated") else { return false };
    let (before, rest) = line.split_at_checked(at).unwrap_or_default();
    let code = ["[", "[…", "[...", "... (", "… (", "...(", "…("]
        .iter()
        .find_map(|sign| before.strip_suffix(sign.as_bytes()));
    if matches!(rest.trim_ascii_end(), b"truncated]" | b"truncated)")
        && code.is_some_and(|code| !code.trim_ascii().is_empty())
    {
        return true;
    }
    let end = rest.trim_ascii_end().strip_prefix(b"truncated").unwrap_or_default();
    if !["…", "...", "]", "]...", ">"].iter().any(|sign| sign.as_bytes() == end) {
        return false;
    }
    let before = before.trim_ascii_end();
    let unit = UNITS.iter().find_map(|unit| before.strip_suffix(*unit));
    let Some(counted) = unit.map(<[u8]>::trim_ascii_end) else { return false };
    let digits = counted.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = counted.get(..counted.len() - digits).unwrap_or_default();
    let is_sign =
        |sign: &[u8]| ["…", "...", "...[", "[", "<"].iter().any(|it| sign.ends_with(it.as_bytes()));
    digits > 0 && is_sign(sign.trim_ascii_end())
}

#[cfg(test)]
mod tests {
    use super::super::testing::reason_of;
    use super::*;

    fn reason(name: &str, file: &str, hunk: &str) -> Option<Reason> {
        reason_of(found, name, file, hunk)
    }

    #[test]
    fn leaked_text_is_found() {
        for (line, expected) in [
            ("x = 1<|endoftext|>", Reason::DamagedLine),
            ("x = 1<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>", Reason::DamagedLine),
            ("x = 1\u{3010}4\u{2020}source\u{3011}", Reason::DamagedLine),
            ("x = 1\u{3010}12:3\u{2020}a.py\u{3011}", Reason::DamagedLine),
            ("x = 1 :contentReference[oaicite:0]{index=0}", Reason::DamagedLine),
            ("x = 1 >>>>>>> REPLACE", Reason::DamagedLine),
            ("x = f(\"a\") <<<<<<< HEAD", Reason::DamagedLine),
            ("x = [1, 2 [truncated]", Reason::ElidedCode),
            ("x = \"k1, [...truncated]", Reason::ElidedCode),
            ("x = \"k1 ... (truncated)", Reason::ElidedCode),
            ("x = \"k1\u{2026}12 chars truncated\u{2026}", Reason::ElidedCode),
            ("x = [1, 2 [85 lines truncated]", Reason::ElidedCode),
        ] {
            let hunk = format!(" y = 0\n+{line}");
            assert_eq!(reason("a.py", "y = 0\n", &hunk), Some(expected), "{line}");
            assert_eq!(reason("a.patch", "y = 0\n", &hunk), None, "{line}");
            let file = format!("{line}\n");
            assert_eq!(reason("a.py", &file, &hunk), None, "the file has it: {line}");
        }
        let cited = "+It is fast\u{3010}4\u{2020}source\u{3011}.";
        assert_eq!(reason("a.md", "x\n", cited), Some(Reason::DamagedLine));
        assert_eq!(reason("a.md", "x\n", "+It is fast.<|im_end|>"), Some(Reason::DamagedLine));
    }

    #[test]
    fn text_that_may_be_meant_is_left() {
        for (name, line) in [
            ("a.py", "EOS = \"<|endoftext|>\""),
            ("a.py", "eos = <|endoftext|>"),
            ("a.md", "The text ends with `<|endoftext|>`."),
            ("a.md", "The text ends with <|endoftext|>"),
            ("a.txt", "<|im_start|>user\\nHi<|im_end|>"),
            ("a.jinja", "{{ text }}<|im_end|>"),
            ("a.fs", "let p = a <|> b"),
            ("a.md", "Such marks as `\u{3010}4\u{2020}source\u{3011}` are removed."),
            ("a.py", "s = re.sub(r'\u{3010}4\u{2020}source\u{3011}', '', s)"),
            ("a.py", "# \u{3010}1\u{3011} a remark"),
            ("a.py", "s = s.replace(':contentReference[oaicite:0]', '')"),
            ("a.py", "MARK = ' >>>>>>> REPLACE'"),
            ("a.md", "It ends with >>>>>>> REPLACE"),
            ("a.java", "A<B<C<D<E<F<G<H>>>>>>> x;"),
            ("a.py", "return text[:99] + '[truncated]'"),
            ("a.py", "# the text is truncated"),
            ("a.rs", "(\"x = [1, 2 [85 lines truncated]\", None),"),
            ("a.rs", "let end = \"[truncated]\";"),
            ("a.py", "# the text is short (truncated)"),
            ("a.py", "log(f'{n} bytes truncated')"),
            ("a.md", "12 lines truncated"),
        ] {
            assert_eq!(reason(name, "x\n", &format!("+{line}")), None, "{line}");
        }
        let template = "+<|im_start|>system\n+{text}<|im_end|>";
        assert_eq!(reason("a.yaml", "x\n", template), None);
    }
}
