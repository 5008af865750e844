//! Finds words and identifiers in prose, and word boundaries. It does not handle paths and quotes.

use tools::words::{han_pairs, is_han, is_hump, split_at_han, words_of_name};

use super::TermKind;

/// Common words of requests that do not help to find anything.
const COMMON: &str = "\
    about above add added after again all already also always and another any anything app \
    application are ask back bad because been before being below best better between both break bug \
    bugs but call called calls can cannot change changed changes check class clean code codebase com \
    correct correctly could crash crate create current currently delete describe did does doesn \
    doing don done each edit else error errors every everything example existing explain extend fail \
    failed failing fails failure feature file files find first fix fixed fixes following for from \
    func function functions get gets give given gives good handle has have hello help her here his \
    how implement implementation improve include instead into isn issue its just keep last let lib \
    like line lines list look main make makes method methods missing module more most move must name \
    need needs never new next not nothing now off old one only org other our out output over own \
    please problem program project put read really refactor remove rename repo repository request \
    result return returned returns right run running runs same see self set should show some \
    something src std still stop such support sure take task tell test tests than thanks that the \
    their them then there these they thing this those through too try two under until update use \
    used uses using value values very via want was way well were what when where which while who \
    whole why will with without work working works would write wrong you your";

/// The same for Chinese, as pairs of characters.
const COMMON_HAN: &str = "\
    一下 不要 什么 代码 使用 修复 修改 函数 删除 功能 可以 告诉 增加 如何 实现 帮我 应该 怎么 \
    所有 支持 文件 方法 检查 没有 添加 现在 看看 程序 解释 请问 进行 错误 问题 需要 项目";

/// Chinese particles, which join words and are not part of any.
const HAN_PARTICLES: &str = "的了是和把与及或被吗呢吧啊让给都也还很这那我你他它们且";

/// Longest run of Chinese characters that may be one word.
const MAX_HAN_WORD: usize = 4;
/// Longest identifier; longer ones are hashes and encoded data.
const MAX_IDENTIFIER: usize = 64;

/// Returns true if `word`, in lower case, does not help to find anything.
pub(in super::super) fn is_common(word: &str) -> bool {
    [COMMON, COMMON_HAN].iter().any(|common| common.split(' ').any(|known| known == word))
}

/// Calls `on_term` with every identifier, part of an identifier and word of `prose`, in order and with repetitions.
pub(super) fn scan(prose: &str, on_term: &mut dyn FnMut(TermKind, String)) {
    for piece in prose.split_inclusive(|c: char| !is_token_char(c)) {
        let token = piece.strip_suffix(|c: char| !is_token_char(c)).unwrap_or(piece);
        let called = piece.ends_with('(');
        let mut pieces = split_at_han(token).peekable();
        while let Some(piece) = pieces.next() {
            if piece.starts_with(is_han) {
                han(piece, on_term);
            } else {
                chain(piece, called && pieces.peek().is_none(), on_term);
            }
        }
    }
}

fn is_token_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':')
}

/// Handles `a`, `a.b` or `a::b`: reports the whole and each name in it.
fn chain(run: &str, called: bool, on_term: &mut dyn FnMut(TermKind, String)) {
    let run = run.trim_matches(['.', ':']);
    let names: Vec<&str> = run.split(['.', ':']).filter(|name| !name.is_empty()).collect();
    let colons = run.matches(':').count() == 2 * run.matches("::").count();
    let all_names =
        names.iter().all(|name| name.starts_with(|c: char| c == '_' || c.is_alphabetic()));
    let longest = names.iter().map(|name| name.len()).max().unwrap_or_default();
    let chained = names.len() > 1 && colons && all_names && longest >= 3;
    if chained {
        on_term(TermKind::Identifier, run.to_owned());
    }
    for name in names {
        identifier_or_word(name, called || chained, on_term);
    }
}

fn identifier_or_word(
    name: &str,
    surely_identifier: bool,
    on_term: &mut dyn FnMut(TermKind, String),
) {
    let lower = name.to_lowercase();
    if name.chars().count() < 3
        || name.len() > MAX_IDENTIFIER
        || !name.contains(char::is_alphabetic)
    {
        return;
    }
    let shaped = name.trim_matches('_').contains('_')
        || name.contains(|c: char| c.is_ascii_digit())
        || words_of_name(name).nth(1).is_some();
    let shaped = shaped && !name.starts_with(|c: char| c.is_ascii_digit());
    if (surely_identifier && !is_common(&lower)) || shaped {
        on_term(TermKind::Identifier, name.to_owned());
        let parts = words_of_name(name).map(str::to_lowercase);
        for part in parts.filter(|part| *part != lower && is_significant(part)) {
            on_term(TermKind::Part, part);
        }
    } else if is_significant(&lower) {
        on_term(TermKind::Word, singular(&lower).to_owned());
    }
}

fn is_significant(word: &str) -> bool {
    word.chars().count() >= 3 && word.chars().all(char::is_alphabetic) && !is_common(word)
}

/// Returns the word without a plural `s`.
fn singular(word: &str) -> &str {
    let keeps = ["ss", "us", "is", "as", "os"].iter().any(|end| word.ends_with(end));
    word.strip_suffix('s').filter(|stem| stem.len() >= 3 && !keeps).unwrap_or(word)
}

/// Reports Chinese words: the text between particles, split into pairs if it is long.
fn han(run: &str, on_term: &mut dyn FnMut(TermKind, String)) {
    for piece in run.split(|c| HAN_PARTICLES.contains(c)) {
        let length = piece.chars().count();
        if length < 2 {
            continue;
        }
        let pairs: Vec<&str> = han_pairs(piece).collect();
        let common: Vec<bool> = pairs.iter().map(|pair| is_common(pair)).collect();
        if length <= MAX_HAN_WORD && !common.contains(&true) {
            on_term(TermKind::Word, piece.to_owned());
            continue;
        }
        // Skips pairs that overlap a common word: they are half of it and half of its neighbour.
        for (at, pair) in pairs.into_iter().enumerate() {
            let mut near = at.saturating_sub(1)..=at + 1;
            if !near.any(|at| common.get(at).copied().unwrap_or(false)) {
                on_term(TermKind::Word, pair.to_owned());
            }
        }
    }
}

/// Returns true if `text` contains `needle` and no letter, digit or underscore continues it.
pub(super) fn has_whole(text: &str, needle: &str) -> bool {
    let continues = |a: Option<char>, b: Option<char>| {
        let in_word = |c: char| c == '_' || (c.is_alphanumeric() && !is_han(c));
        a.is_some_and(in_word) && b.is_some_and(in_word)
    };
    text.match_indices(needle).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + needle.len()..).unwrap_or_default();
        !continues(before.chars().next_back(), needle.chars().next())
            && !continues(needle.chars().next_back(), after.chars().next())
    })
}

/// Returns true if `text` contains the lower-case `needle` as a word, as a word inside an identifier, or in the plural.
pub(super) fn has_word(text: &str, needle: &str) -> bool {
    // Only ASCII changes case, so that byte offsets are the same in both texts.
    text.to_ascii_lowercase().match_indices(needle).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let word = text.get(at..at + needle.len()).unwrap_or_default();
        let after = text.get(at + needle.len()..).unwrap_or_default();
        begins_word(before, word) && ends_word(word, after)
    })
}

fn begins_word(before: &str, word: &str) -> bool {
    let mut chars = word.chars();
    let (Some(before), Some(first)) = (before.chars().next_back(), chars.next()) else {
        return true;
    };
    is_word_boundary(before, first, chars.next())
}

fn ends_word(word: &str, after: &str) -> bool {
    let mut chars = after.chars();
    let (Some(last), Some(next)) = (word.chars().next_back(), chars.next()) else { return true };
    let second = chars.next();
    let plural = next.eq_ignore_ascii_case(&'s') && second.is_none_or(|c| !c.is_alphabetic());
    is_word_boundary(last, next, second) || plural
}

/// Returns whether one word ends with `before` and the next begins with `c`.
fn is_word_boundary(before: char, c: char, after: Option<char>) -> bool {
    let pair = [before, c];
    pair.iter().any(|c| !c.is_alphabetic() || is_han(*c)) || is_hump(before, c, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_recognized() {
        for word in ["about", "your", "file", "什么", "项目"] {
            assert!(is_common(word), "{word}");
        }
        for word in ["", "pagination", "about above", "分页"] {
            assert!(!is_common(word), "{word}");
        }
    }

    #[test]
    fn words_are_bounded_by_case_changes_and_underscores() {
        for text in [
            "build",
            "Build it",
            "re_build",
            "getBuild()",
            "BUILDS",
            "prebuild Build",
            "XMLBuild",
            "build2",
        ] {
            assert!(has_word(text, "build"), "{text}");
        }
        for text in ["rebuild", "builder", "REBUILD", "buildup"] {
            assert!(!has_word(text, "build"), "{text}");
        }
        assert!(has_word("class HTTPServer", "http"));
        assert!(has_word("修复登录页面", "登录"));
    }

    #[test]
    fn names_match_as_whole_words() {
        assert!(has_whole("x = foo(1)", "foo"));
        assert!(has_whole("调用foo函数", "foo"));
        assert!(has_whole("a->b", "->"));
        for text in ["foo_bar", "xfoo", "Foo", "foo1"] {
            assert!(!has_whole(text, "foo"), "{text}");
        }
    }
}
