//! Which part of a request its user has said, and which is pasted: output, code and quotations. Decided by form. Pure.

use std::ops::Range;

/// Characters of a line that count as one row, so that a single long line counts as many.
const ROW_CHARS: usize = 80;
/// A line in sentence form outweighs this many rows without one.
const SAID: isize = -2;

/// Returns the lines of a request that its user has said.
///
/// Fenced and quoted lines are left out. So is every stretch in which the rows without sentence form outnumber the lines
/// with it two to one, by at least `pasted_rows`. The first and the last line stay if they consist of words, unlike what is
/// beside them.
pub fn own_words(request: &str, pasted_rows: usize) -> String {
    let mut fence = None;
    let mut lines: Vec<&str> = request
        .lines()
        .filter(|line| !is_fenced(line, &mut fence) && !line.trim_start().starts_with('>'))
        .collect();
    let mut weights: Vec<isize> = lines.iter().map(|line| weight(line)).collect();
    let last = lines.len().saturating_sub(1);
    for (edge, beside) in [(0, Some(1)), (last, last.checked_sub(1))] {
        let beside = beside.and_then(|at| lines.get(at)).copied().unwrap_or_default();
        if let (Some(line), Some(weight)) = (lines.get(edge), weights.get_mut(edge))
            && stands_apart(line, beside)
        {
            *weight = SAID;
        }
    }
    let least = isize::try_from(pasted_rows.max(1)).unwrap_or(isize::MAX);
    for pasted in stretches(&weights, 0..lines.len(), least).into_iter().rev() {
        lines.drain(pasted);
    }
    lines.join("\n")
}

/// Returns true for the lines of a fenced block. `fence` is the one that is open.
fn is_fenced(line: &str, fence: &mut Option<char>) -> bool {
    let line = line.trim_start();
    let mark = ['`', '~'].into_iter().find(|mark| line.starts_with(&mark.to_string().repeat(3)));
    match (*fence, mark) {
        (Some(open), Some(mark)) if open == mark => *fence = None,
        (Some(_), _) => {}
        (None, mark) => {
            *fence = mark;
            return mark.is_some();
        }
    }
    true
}

/// Returns the heaviest stretch of lines and those beside it, in order, as long as each weighs at least `least`.
fn stretches(weights: &[isize], within: Range<usize>, least: isize) -> Vec<Range<usize>> {
    let (mut best, mut heaviest) = (within.start..within.start, 0);
    let (mut start, mut sum) = (within.start, 0);
    for at in within.clone() {
        let weight = weights.get(at).copied().unwrap_or_default();
        if sum < 0 {
            (start, sum) = (at, 0);
        }
        sum += weight;
        // Of stretches that weigh the same, the longer one.
        if weight > 0 && sum >= heaviest {
            (best, heaviest) = (start..at + 1, sum);
        }
    }
    if heaviest < least {
        return Vec::new();
    }
    let mut all = stretches(weights, within.start..best.start, least);
    let behind = best.end..within.end;
    all.push(best);
    all.extend(stretches(weights, behind, least));
    all
}

fn weight(line: &str) -> isize {
    match line.trim() {
        "" => 0,
        line if has_sentence_form(line) => SAID,
        line => isize::try_from(line.chars().count().div_ceil(ROW_CHARS)).unwrap_or(isize::MAX),
    }
}

/// Returns true for a point of a list, and for a line in which a sentence ends. Both have to consist of words.
fn has_sentence_form(line: &str) -> bool {
    let (point, is_point) = super::point(line).map_or((line, false), |point| (point, true));
    is_worded(point) && (is_point || ends_a_sentence(point))
}

/// Returns true for a line of words beside an empty one, and for one of nothing but words beside one that is not of words.
fn stands_apart(line: &str, beside: &str) -> bool {
    if beside.trim().is_empty() {
        return is_worded(line);
    }
    let (words, all) = words(line);
    words == all && !is_worded(beside)
}

/// Returns true if at least two of three words of a line are of letters only.
fn is_worded(line: &str) -> bool {
    let (words, all) = words(line);
    all > 0 && words * 3 >= all * 2
}

/// Returns how many words of a line are of letters only, and how many there are.
fn words(line: &str) -> (usize, usize) {
    let is_word = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        // Chinese text has no spaces between its words.
        let joins = |c: char| if word.is_ascii() { matches!(c, '\'' | '-') } else { is_joint(c) };
        !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || joins(c))
    };
    let all = line.split_whitespace();
    (all.clone().filter(is_word).count(), all.count())
}

/// Returns true for punctuation between words, also that of Chinese text.
const fn is_joint(c: char) -> bool {
    matches!(c, '\'' | '’' | '-' | ',' | ';' | ':' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}')
}

/// Returns true if a sentence ends in a line: behind a small letter, and at the end of the line or before a capital one.
fn ends_a_sentence(line: &str) -> bool {
    let line = line.trim_end();
    line.char_indices().any(|(at, mark)| match mark {
        '。' | '！' | '？' => true,
        '.' | '!' | '?' => {
            let before = line.get(..at).and_then(|before| before.chars().next_back());
            let behind = line.get(at + 1..).unwrap_or_default();
            let next = behind.trim_start().chars().next();
            let is_small = |c: char| c.is_alphabetic() && !c.is_uppercase();
            let is_behind_a_word =
                before.is_some_and(|c| is_small(c) || matches!(c, ')' | '"' | '\'' | '`'));
            let begins = behind.starts_with(' ') && next.is_some_and(|c| !c.is_lowercase());
            is_behind_a_word && (behind.is_empty() || begins)
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 10;
    const ASKED: &str = "Why does the second test fail? It passed yesterday.";

    fn cargo(n: usize) -> String {
        format!(
            "error[E0308]: mismatched types in architecture {n}\n  --> src/plan.rs:{n}:5\n   |\n{n} |     a -> b\n\n"
        )
    }

    fn server(n: usize) -> String {
        format!("2026-11-27T02:03:{n:02} INFO app::design: must never plan -> apply request={n}\n")
    }

    fn python(n: usize) -> String {
        format!("  File \"/srv/app/design.py\", line {n}, in migrate\n    plan = design(a)\n")
    }

    fn npm(n: usize) -> String {
        format!(
            "npm ERR! A complete log of this run can be found in:\nnpm ERR!     /root/.npm/{n}.log\n"
        )
    }

    fn plain(n: usize) -> String {
        format!("warning the architecture of worker {n} must never change\n")
    }

    fn says(n: usize) -> String {
        // Every fifth line is a sentence.
        let sentence = if n % 5 == 3 { "The plan was made.\n" } else { "" };
        format!("{sentence}[{n}] 0x{n:04x} 计划 state=ok\n")
    }

    #[test]
    fn a_pasted_log_is_left_out_wherever_it_stands() {
        for log in [cargo, server, python, npm, plain, says] {
            let log: String = (1..=200).map(log).collect();
            for request in [
                format!("{ASKED}\n{log}"),
                format!("{ASKED}\n\n{log}"),
                format!("{log}\n{ASKED}"),
                format!("{ASKED}\n```\n{log}```"),
                format!("{ASKED}\n~~~text\n{log}~~~\n"),
            ] {
                assert_eq!(own_words(&request, ROWS).trim(), ASKED, "{request:.300}");
            }
            let first = own_words(&format!("think hard about this\n\n{log}"), ROWS);
            assert_eq!(first.trim(), "think hard about this");
        }
    }

    #[test]
    fn one_long_line_counts_as_many() {
        let json = format!("{{{}}}", "\"plan\":[1,2],".repeat(200));
        assert_eq!(own_words(&format!("{ASKED}\n{json}\n"), ROWS), ASKED);
        assert_eq!(own_words(&format!("{json}\n{ASKED}"), ROWS), ASKED);
    }

    #[test]
    fn what_a_user_writes_stays_as_it_is() {
        let point = |n: usize| format!("{n}. move the parser to a crate of its own\n");
        let prose = "This is a long description that its author wrapped by hand at a\n\
                     width of seventy, as one does in mails. Its sentences end where they\n\
                     end, most of them within a line. Some go on for two lines or three,\n\
                     and then stop.\n";
        let code = "let a = 1;\nlet b = 2;\n";
        let chinese = "请为迁移做一个计划,并评估风险和依赖。\n对比两种方案\n给出里程碑\n";
        for request in [
            "think hard",
            "maybe\n\nsomehow",
            &(1..40).map(point).collect::<String>(),
            &prose.repeat(10),
            &format!("Explain this:\n{code}"),
            &chinese.repeat(10),
            "a -> b\nb -> c",
            "",
        ] {
            assert_eq!(own_words(request, ROWS), request.trim_end_matches('\n'), "{request}");
        }
    }

    #[test]
    fn quoted_lines_are_left_out() {
        let request = "> 1. plan\n> 2. design\nWhat is meant by this?";
        assert_eq!(own_words(request, ROWS), "What is meant by this?");
    }

    proptest::proptest! {
        #[test]
        fn only_lines_of_the_request_are_kept_in_order(request in "([a-z 计.>`~|0-9-]{0,12}\n){0,40}") {
            let own = own_words(&request, 3);
            let mut lines = request.lines();
            for line in own.lines() {
                proptest::prop_assert!(lines.any(|it| it == line));
            }
        }
    }
}
