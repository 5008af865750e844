//! Wrappings of a diff other than fences and tags: a line above the diff opens one, and the line that closes it is known
//! from it. Pure.

/// Returns the line that closes the wrapping which `line` opens: `[/code]` for `[code=diff]`.
pub(super) fn closing(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
    let name_before = |rest: &str, ends: &[char]| {
        let name = rest.split(ends).next().unwrap_or_default();
        is_name(name).then(|| name.to_owned())
    };
    if let Some(rest) = text.strip_prefix("\\begin{") {
        return Some(format!("\\end{{{}}}", name_before(rest, &['}'])?));
    }
    if let Some((head, rest)) = text.split_at_checked("#+begin_".len())
        && head.eq_ignore_ascii_case("#+begin_")
    {
        let end = if head == "#+BEGIN_" { "#+END_" } else { "#+end_" };
        return Some(format!("{end}{}", name_before(rest, &[' '])?));
    }
    if let Some(rest) = text.strip_prefix('[').filter(|_| text.ends_with(']')) {
        return Some(format!("[/{}]", name_before(rest, &[']', '=', ' '])?));
    }
    if let Some(tag) = text.strip_suffix("<![CDATA[") {
        let name = tag.trim().strip_prefix('<').and_then(|tag| name_before(tag, &['>', ' ']));
        return Some(name.map_or_else(|| "]]>".to_owned(), |name| format!("]]></{name}>")));
    }
    let opens = |quotes: &str| text.ends_with(quotes) && text.matches(quotes).count() == 1;
    ["\"\"\"", "'''"].into_iter().find(|quotes| opens(quotes)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::Reason;
    use super::super::testing::{Files, plan_of};
    use super::*;

    #[test]
    fn each_wrapping_has_one_end() {
        for (open, close) in [
            ("[code=diff]", "[/code]"),
            ("<patch><![CDATA[", "]]></patch>"),
            ("<![CDATA[", "]]>"),
            ("#+BEGIN_SRC diff", "#+END_SRC"),
            ("#+begin_example", "#+end_example"),
            ("patch = \"\"\"", "\"\"\""),
            ("\\begin{verbatim}", "\\end{verbatim}"),
        ] {
            assert_eq!(closing(open.as_bytes()).as_deref(), Some(close));
        }
        for line in ["", "[1]", "The diff:", "x = [a]b", "'''a'''", "\\begin", "# BEGIN_SRC"] {
            assert_eq!(closing(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_wrapping_ends_with_its_own_end() {
        let hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
        let outcome = |open: &str, close: &str, counts: &str| {
            let files = Files::default().file("f.rs", "a\nb\nc\n");
            let hunk = hunk.replace("-1,2 +1,2", counts);
            let answer = format!("{open}\n--- a/f.rs\n+++ b/f.rs\n{hunk}{close}\n");
            plan_of(&files, &["f.rs"], &answer).map_err(|refusal| refusal.mismatches[0].reason)
        };
        for (open, close) in [
            ("[code]", "[/code]"),
            ("\\begin{lstlisting}", "\\end{lstlisting}"),
            ("#+BEGIN_SRC diff", "#+END_SRC"),
            ("diff = '''", "'''"),
        ] {
            assert!(outcome(open, close, "-1,2 +1,2").is_ok(), "{open}");
            assert!(outcome("The diff:", close, "-1,2 +1,2").is_err(), "{close}");
            assert!(outcome(open, close, "-1,2 +1,3").is_err(), "{open}: the counts do not hold");
        }
        assert_eq!(outcome("[code]", "[/diff]", "-1,2 +1,2").err(), Some(Reason::StrayLine));
    }
}
