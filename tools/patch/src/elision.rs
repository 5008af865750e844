//! Recognizes comments that stand for code the author did not write out. Only single lines are examined.

/// Returns true if `line` is a comment such as `// ... existing code ...`.
pub(super) fn is_placeholder(line: &[u8]) -> bool {
    const WORDS: [&str; 9] = [
        "existing",
        "rest of",
        "rest unchanged",
        "unchanged",
        "remain",
        "omitted",
        "same as before",
        "previous code",
        "other code",
    ];
    // The first character rules most lines out.
    let first = line.trim_ascii_start().first();
    if first.is_some_and(|first| first.is_ascii_graphic() && !b"/#*<-;%{".contains(first)) {
        return false;
    }
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let Some(comment) = comment(line.trim()) else { return false };
    let comment = comment.trim_start();
    let Some(rest) = comment.strip_prefix("...").or_else(|| comment.strip_prefix('…')) else {
        return false;
    };
    let rest = rest.to_lowercase();
    WORDS.iter().any(|word| rest.contains(word))
}

/// Returns true if a line has three dots, or the character for them.
pub(super) fn has_dots(line: &[u8]) -> bool {
    let mut dots = memchr::memchr2_iter(b'.', b'\xe2', line).filter_map(|at| line.get(at..));
    dots.any(|text| text.starts_with(b"...") || text.starts_with("…".as_bytes()))
}

/// Returns true if a line ends in three dots, or the character for them.
pub(super) fn ends_in_dots(line: &[u8]) -> bool {
    let text = line.trim_ascii_end();
    text.ends_with(b"...") || text.ends_with("…".as_bytes())
}

/// Returns true if a line of code ends in dots directly after a word, in brackets that it does not close: `f(item...`.
pub(super) fn breaks_off(line: &[u8]) -> bool {
    if !ends_in_dots(line) {
        return false;
    }
    let Ok(text) = std::str::from_utf8(line) else { return false };
    let code = text.trim_end().trim_end_matches(['.', '…']);
    let count = |signs: &[char]| code.matches(|c| signs.contains(&c)).count();
    let has_comment = ["//", "#", "/*", "--"].iter().any(|mark| code.contains(mark));
    code.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        && count(&['(', '[']) > count(&[')', ']'])
        && count(&['"']) % 2 == 0
        && count(&['`']) % 2 == 0
        && !has_comment
}

/// Returns true if an added `line` stands for code, or ends in a comment that does. It accepts more than
/// `is_placeholder`, which also sees lines that may be prose.
pub(super) fn stands_for_code(line: &[u8]) -> bool {
    let has_dots = has_dots(line);
    let first = line.trim_ascii_start().first();
    if !has_dots && !first.is_some_and(|first| b"/#*<-;%[({".contains(first)) {
        return false;
    }
    let Ok(text) = std::str::from_utf8(line) else { return false };
    let text = text.trim();
    let trailing =
        || [" # ", " // ", " /* ", " -- "].iter().find_map(|mark| text.rsplit_once(mark));
    let is_bare = || text.starts_with("... ") || text.starts_with("… ");
    is_placeholder(line)
        || is_bare() && is_placeholder(&[b"#", text.as_bytes()].concat())
        || comment(text)
            .or_else(|| text.starts_with(['[', '(']).then_some(text))
            .is_some_and(says_so)
        // After an odd number of quotes, it is part of a string.
        || has_dots
            && trailing().is_some_and(|(code, comment)| {
                code.matches('"').count() % 2 == 0
                    && is_placeholder(&[b"#", comment.as_bytes()].concat())
            })
}

/// Returns true if a line that is only a remark, in brackets or a comment, says that the answer is incomplete.
pub(super) fn says_incomplete(line: &[u8]) -> bool {
    const WHAT: [&str; 10] = [
        "remaining",
        "rest",
        "the rest",
        "the remaining",
        "other",
        "more",
        "further",
        "output",
        "answer",
        "diff",
    ];
    const LEFT_OUT: [&str; 4] = ["omitted", "truncated", "left out", "to follow"];
    let Ok(text) = std::str::from_utf8(line) else { return false };
    let text = text.trim();
    let Some(inner) = comment(text).or_else(|| text.strip_prefix(['[', '('])) else { return false };
    let around = |c: char| c.is_whitespace() || ".…*/->()[]<#:!".contains(c);
    let inner = inner.trim_matches(around).to_lowercase();
    let is_left_out = WHAT.iter().any(|what| inner.starts_with(&format!("{what} ")))
        && LEFT_OUT.iter().any(|word| inner.contains(word))
        || LEFT_OUT.contains(&inner.as_str());
    is_left_out
        || inner.starts_with("continued in ")
        || inner.starts_with("continues in ")
        || inner == "to be continued"
        || inner.starts_with("continued") && inner.len() < "continued below".len()
}

/// Returns true if a line between or below hunks announces further ones that the answer does not have: a remark in
/// brackets, a comment, or text after dots that consists of nothing else.
pub(super) fn announces_more(line: &[u8]) -> bool {
    const ALONE: [&str; 9] = [
        "snip",
        "snipped",
        "cut",
        "etc",
        "and so on",
        "continues",
        "continued",
        "omitted",
        "truncated",
    ];
    const HOW_MANY: &str = "additional further more other others remaining rest same similar";
    const WHAT: &str = "calls changes cases code diff diffs edits files functions hunks lines methods occurrences \
        patch places sections sites tests updates usages";
    const MAX_WORDS: usize = 9;
    let trimmed = line.trim_ascii();
    // The first character rules most lines out.
    let may_begin = trimmed.first().is_some_and(|first| b"[(<#/.\xe2-".contains(first));
    let Ok(text) = std::str::from_utf8(trimmed) else { return false };
    if !may_begin || text.len() < 4 {
        return false;
    }
    let has_dots = has_dots(trimmed);
    let is_comment = ["//", "/*", "<!--"].iter().any(|mark| text.starts_with(mark));
    let pairs = [('[', ']'), ('(', ')'), ('<', '>')];
    let is_in_brackets =
        pairs.iter().any(|(open, close)| text.starts_with(*open) && text.ends_with(*close));
    let is_after_dots = text.starts_with("...") || text.starts_with('…');
    let is_dotted_remark = has_dots && ["# ", "-- "].iter().any(|mark| text.starts_with(mark));
    if !(is_comment || is_in_brackets || is_after_dots || is_dotted_remark) {
        return false;
    }
    let around = |c: char| c.is_whitespace() || ".…*/->()[]<#:!".contains(c);
    let inner = text.trim_matches(around).to_lowercase();
    if inner.is_empty() {
        return has_dots && !is_after_dots;
    }
    let words: Vec<&str> =
        inner.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |list: &str, word: &str| list.split_ascii_whitespace().any(|it| it == word);
    let any = |list: &str| words.iter().any(|word| has(list, word));
    let counts = |word: &&str| {
        word.bytes().all(|byte| byte.is_ascii_digit()) || has(HOW_MANY, word) || *word == "and"
    };
    // Without dots, a sentence in brackets may mention the rest.
    let is_remark = has_dots || is_comment || words.first().is_some_and(counts);
    ALONE.contains(&inner.as_str())
        || is_comment && inner.starts_with("and so on ")
        || is_remark
            && words.len() <= MAX_WORDS
            && any(HOW_MANY)
            && any(WHAT)
            && !any("no not none nothing are is was were unchanged")
        || is_in_brackets && says_incomplete(format!("[{inner}]").as_bytes())
}

/// How a comment may stand for code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// It consists of dots.
    Dots,
    /// It uses words that rarely make up a whole comment about code.
    Words,
}

/// Returns how an added `line` that is only a comment may stand for code. It stands for code only if it replaces some.
pub(super) fn may_stand_for_code(line: &[u8]) -> Option<Stand> {
    const ALONE: [&str; 14] = [
        "existing",
        "unchanged",
        "same",
        "same as before",
        "as before",
        "no change",
        "no changes",
        "omitted",
        "snip",
        "etc",
        "省略",
        "不变",
        "保持不变",
        "現状維持",
    ];
    const FIRST: [&str; 12] = [
        "existing",
        "rest",
        "remaining",
        "remainder",
        "unchanged",
        "same",
        "other",
        "previous",
        "original",
        "keep",
        "现有",
        "其余",
    ];
    const LAST: [&str; 28] = [
        "code",
        "implementation",
        "logic",
        "body",
        "function",
        "functions",
        "method",
        "methods",
        "class",
        "file",
        "module",
        "content",
        "contents",
        "fields",
        "cases",
        "tests",
        "imports",
        "here",
        "unchanged",
        "same",
        "before",
        "above",
        "is",
        "omitted",
        "etc",
        "stays",
        "代码",
        "不变",
    ];
    let text = std::str::from_utf8(line).ok()?.trim();
    if text == "…" {
        return Some(Stand::Dots);
    }
    let text = comment(text)?;
    let around = |c: char| c.is_whitespace() || ".…*/->()[]<#;%:!}".contains(c);
    let inner = text.trim_matches(around).to_lowercase();
    if inner.is_empty() {
        let dots = text.trim_matches([' ', '\t', '*', '/', '-', '>', '(', ')', '[', ']', '}']);
        return matches!(dots, "..." | "…" | "....").then_some(Stand::Dots);
    }
    let words: Vec<&str> = inner.split_whitespace().collect();
    let words = words.strip_prefix(&["the"]).unwrap_or(&words);
    let [first, .., last] = words else {
        return ALONE.contains(&inner.as_str()).then_some(Stand::Words);
    };
    let is_rest = first.starts_with("rest") && words.get(1) == Some(&"of");
    let is_after_dots = text.trim_start().starts_with(['…', '.']) && has_dots(text.as_bytes());
    let is_existing = *first == "existing" && words.len() == 2;
    let is_last = LAST.contains(last) || is_rest || is_after_dots || is_existing;
    let is_named = FIRST.contains(first) && is_last;
    (words.len() <= 6 && is_named || ALONE.contains(&inner.as_str())).then_some(Stand::Words)
}

/// How clearly a comment mentions that something stays unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mention {
    /// In words that hardly mean anything else.
    Plain,
    /// In a word with other meanings.
    Loose,
}

/// Returns how clearly a line that is only a short comment mentions unchanged code, in one of several languages. If
/// next to nothing else replaces several lines of code, the comment stands for them.
pub(super) fn mentions_unchanged(line: &[u8]) -> Option<Mention> {
    const PLAIN: [&str; 34] = [
        "unchanged",
        "existing code",
        "existing logic",
        "existing impl",
        "same as",
        "same logic",
        "same pattern",
        "rest of the ",
        "as is ",
        "as before",
        "snip ",
        "etc. ",
        "not shown",
        "sin cambios",
        "resto del ",
        "existente",
        "inchang",
        "reste du ",
        "existant",
        "unverändert",
        "bleibt",
        "rest des ",
        "bestehend",
        "без изменений",
        "остальн",
        "существующ",
        "既存",
        "変更なし",
        "残り",
        "기존",
        "나머지",
        "现有",
        "其余",
        "不变",
    ];
    const LOOSE: [&str; 8] =
        ["exist", "same", "rest ", "remain", "keep", "omit", "original", "previous"];
    let text = std::str::from_utf8(line).ok().and_then(|line| comment(line.trim()))?;
    // Commented-out code does not mention anything.
    if text.contains(|c: char| c.is_ascii_digit() || "=_;{}".contains(c)) {
        return None;
    }
    let text = format!("{} ", text.trim().to_lowercase());
    let has = |stems: &[&str]| stems.iter().any(|stem| text.contains(stem));
    let mention = if has(&PLAIN) {
        Mention::Plain
    } else if has(&LOOSE) {
        Mention::Loose
    } else {
        return None;
    };
    (text.split_whitespace().count() <= 9).then_some(mention)
}

/// Returns true if a line has code: it is neither blank nor only a comment.
pub(super) fn is_code(line: &[u8]) -> bool {
    const MARKS: [&[u8]; 8] = [b"//", b"/*", b"* ", b"*/", b"# ", b"<!--", b"-- ", b";"];
    let text = line.trim_ascii();
    !text.is_empty()
        && text != b"#"
        && text != b"*"
        && !MARKS.iter().any(|mark| text.starts_with(mark))
}

/// Returns true if a comment says that code is unchanged: between dots, in brackets, or literally.
fn says_so(comment: &str) -> bool {
    const SAME: [&str; 6] = ["unchanged", "the same", "as before", "as is", "as it was", "omitted"];
    const BETWEEN: [&str; 14] = [
        "other",
        "more",
        "same",
        "existing",
        "remaining",
        "implementation",
        "其余",
        "其他",
        "省略",
        "不变",
        "保持",
        "残り",
        "変更なし",
        "나머지",
    ];
    const DOTS: [&str; 2] = ["...", "…"];
    let bare = comment.trim();
    let core = bare.trim_matches(['(', ')', '[', ']']);
    let around = |c: char| c.is_whitespace() || ".…*/->()[]".contains(c);
    let inner = bare.trim_matches(around).to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| inner.starts_with(word));
    let says_same = SAME.iter().any(|same| inner.ends_with(same));
    let between_dots = is_between(core, &DOTS, &DOTS)
        && (says_same || BETWEEN.iter().any(|word| inner.contains(word)));
    let in_brackets = is_between(bare, &["(", "["], &[")", "]"])
        && inner.split_whitespace().count() <= 4
        && begins(&["existing ", "unchanged", "remaining ", "rest of "]);
    let in_words = begins(&["rest of ", "the rest of ", "remaining "]) && says_same
        || begins(&["keep existing ", "keep the existing "])
        || begins(&["其余"]) && (inner.ends_with("省略") || inner.ends_with("不变"));
    bare == "[...]" || between_dots || in_brackets || in_words
}

/// Returns true if `text` begins with one of `open` and ends, apart from the end of a comment, with one of `close`.
fn is_between(text: &str, open: &[&str], close: &[&str]) -> bool {
    let end = text.trim_end_matches([' ', '*', '/', '-', '>']);
    open.iter().any(|it| text.starts_with(it)) && close.iter().any(|it| end.ends_with(it))
}

/// Returns the text of a line that is only a comment.
fn comment(line: &str) -> Option<&str> {
    ["//", "#", "/*", "{/*", "<!--", "--", ";", "%", "*"]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_apart_from_other_comments() {
        for line in [
            "// ... existing code ...",
            "    # ... rest of the code remains unchanged ...",
            "/* ... rest unchanged ... */",
            "# ... (unchanged) ...",
            "<!-- … rest of the page -->",
        ] {
            assert!(is_placeholder(line.as_bytes()), "{line}");
        }
        for line in [
            "// existing code",
            "...",
            "# ...",
            "foo(...); // rest",
            "// ... and so on",
            "let x = ..existing;",
        ] {
            assert!(!is_placeholder(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn announcements_of_further_hunks_are_told_apart_from_remarks() {
        for line in [
            "[... 2 more hunks ...]",
            "[2 more hunks]",
            "... (similar changes in the other functions)",
            "[snip]",
            "<!-- more hunks here -->",
            "# ... more changes ...",
            "/* ... */",
            "[...]",
            "<rest of diff omitted>",
            "// and so on for the remaining call sites",
            "[continues]",
            "(and 3 more files)",
            "… same changes in all other tests",
        ] {
            assert!(announces_more(line.as_bytes()), "{line}");
        }
        for line in [
            "(no other changes)",
            "[see the other file]",
            "# Other changes",
            "## Remaining changes",
            "(The other changes are in the tests.)",
            "... and that is all.",
            "...",
            "- other changes",
            "More changes follow from this.",
            "<div>",
            "// see the docs",
            "(rest of the file unchanged)",
            "[1]",
            "(2 files)",
        ] {
            assert!(!announces_more(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn comments_that_may_stand_for_code_have_dots_or_a_few_words() {
        for (line, stand) in [
            ("    # ...", Stand::Dots),
            ("// …", Stand::Dots),
            ("/* ... */", Stand::Dots),
            ("/* existing code */", Stand::Words),
            ("// rest unchanged", Stand::Words),
            ("# Rest of the loop", Stand::Words),
            ("<!-- unchanged -->", Stand::Words),
            ("-- same as above", Stand::Words),
            ("// the remaining methods", Stand::Words),
            ("# 其余 代码", Stand::Words),
            ("    …", Stand::Dots),
        ] {
            assert_eq!(may_stand_for_code(line.as_bytes()), Some(stand), "{line}");
        }
        for line in [
            "# existing users keep their names",
            "// other rune can transform into r.",
            "// the same",
            "...",
            "x = 1  # ...",
            "// ... and so on",
            "# ....... ",
            "#",
            "// remaining bytes",
        ] {
            assert_eq!(may_stand_for_code(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn placeholders_without_dots_or_in_other_languages_are_recognized() {
        for line in [
            "    # rest of the function stays the same",
            "    // (existing implementation)",
            "// ... other fields ...",
            "# ... 其余代码不变 ...",
            "[rest of the function unchanged]",
            "        [...]",
            "(... unchanged ...)",
            "/* ... as before ... */",
            "/* 其余部分省略 */",
            "# keep existing code here",
            "with open(p) as f:  # ... rest unchanged ...",
            "/* ... more cases ... */",
            "... rest unchanged",
        ] {
            assert!(stands_for_code(line.as_bytes()), "{line}");
        }
        for line in [
            "// existing code",
            "# ...",
            "// ... and so on",
            "// the rest of the buffer is zero",
            "print('loading...')  # shown while other files load",
            "// remaining bytes are kept",
            "[existing]",
            "#[must_use]",
            "let all = [...others, ...same];",
            "    ...existing,",
        ] {
            assert!(!stands_for_code(line.as_bytes()), "{line}");
        }
    }
}
