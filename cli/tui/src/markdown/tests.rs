use super::*;
use crate::styled;

const PAGE: Page = Page { paint: Paint::Colour, width: 60 };

fn on(text: &str, page: Page) -> String {
    let mut markdown = Markdown::default();
    // The pieces do not matter: here, each is one character.
    let mut out: String =
        text.chars().map(|c| markdown.take_in(c.encode_utf8(&mut [0; 4]), page)).collect();
    out.push_str(&markdown.end(page));
    out
}

fn painted(text: &str) -> String {
    on(text, PAGE)
}

/// Formats a text and removes the colours.
fn shown(text: &str, width: usize) -> String {
    let painted = on(text, Page { width, ..PAGE });
    let mut parts = painted.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').unwrap().1)
}

#[test]
fn headings_code_and_bold_text_are_formatted() {
    assert_eq!(painted("# Title"), "\x1b[1mTitle\x1b[0m\n");
    assert_eq!(painted("a `b` **c** d\n"), "a \x1b[36mb\x1b[0m \x1b[1mc\x1b[0m d\n");
    assert_eq!(painted("2 ** 3 and a ` b"), "2 ** 3 and a ` b\n");
    assert_eq!(painted("#no title\n####### none"), "#no title\n####### none\n");
}

#[test]
fn a_code_block_is_coloured_and_its_fences_are_not_shown() {
    let code = painted("see:\n```rust\n# no *title* `x`\n\n```\nend");
    assert_eq!(code, "see:\n\n\x1b[36m# no *title* `x`\x1b[0m\n\n\nend\n");
    // Empty lines of the text are enough of a gap.
    assert_eq!(shown("a\n\n```\nb\n```\n\nc", 60), "a\n\nb\n\nc\n");
    assert_eq!(shown("````\n```x\n```\n````\n", 60), "```x\n```\n");
    assert_eq!(shown("```x``` and\n1. do\n   ```\n   x\n   ```\n", 60), "x and\n1. do\n\n   x\n");
    assert_eq!(shown("~~~\n```\n~~~", 60), "```\n");
}

#[test]
fn nested_lists_and_block_quotes_keep_their_depth() {
    let text =
        "- a\n  * b *c*\n    1. d\n+ [ ] e\n\n> q\n> > - r\n> ```\n> x *y*\n> > z\nend\n---\n";
    let expected =
        "• a\n  • b c\n    1. d\n• [ ] e\n\n│ q\n│ │ • r\n\n│ x *y*\n│ > z\n\nend\n────────\n";
    assert_eq!(shown(text, 60), expected);
}

#[test]
fn a_table_is_laid_out_in_columns() {
    let text = "Sizes:\n| Name | Count | Note |\n|:-----|------:|:---:|\n| `a` | 1 | x |\n| 你好 | 1000 | *wide* |\n| b \\| c |\nend\n";
    insta::assert_snapshot!(shown(text, 60));
    assert!(painted(text).contains("\x1b[1mName\x1b[0m"));
    // Without outer bars, and as the last lines of a text.
    assert_eq!(shown("a | b\n--|--\n1 | 2", 60), "a │ b\n──┼──\n1 │ 2\n");
    assert_eq!(shown("> |a|\n> |-|\n> |1|\n", 60), "│ a\n│ ─\n│ 1\n");
}

#[test]
fn a_table_that_is_too_wide_is_wrapped_or_listed() {
    let text = "| Crate | Version | What it is for |\n|---|---|---|\n\
        | `ratatui` | 0.30 | **buffers and widgets** for the live rows at the bottom |\n\
        | vt100 | 0.18 | 测试用的终端模拟器，带有滚动缓冲区 |\n";
    insta::assert_snapshot!(shown(text, 44));
    for width in 0..100 {
        for line in on(text, Page { width, ..PAGE }).lines() {
            let is_record = line.contains(": ");
            assert!(
                is_record || styled::width(line) <= width || line.is_empty(),
                "{width}: {line}"
            );
        }
    }
    insta::assert_snapshot!(shown(text, 20));
}

#[test]
fn bars_alone_are_not_a_table() {
    for text in ["a | b\nc | d\n", "| a |\n\n", "|a|b|\n|-|\n", "|-|\n", "a | b\n"] {
        assert_eq!(shown(text, 60), text);
    }
}

#[test]
fn what_is_held_back_is_open() {
    let mut markdown = Markdown::default();
    assert_eq!(markdown.take_in("| a |\n|--", PAGE), "");
    assert_eq!(markdown.open(), "| a |\n|--");
    assert_eq!(markdown.take_in("-|\n| b |\n", PAGE), "");
    assert_eq!(markdown.open(), "| a |\n|---|\n| b |\n");
    assert!(markdown.take_in("\n", PAGE).ends_with("b\n\n"));
    assert_eq!(markdown.open(), "");
}

#[test]
fn without_colours_only_tables_are_changed() {
    let plain = Page { paint: Paint::Plain, width: 60 };
    let text = "# T\n- *a* `b`\n> q\n```\nx\n```\n[a](b)\n";
    assert_eq!(on(text, plain), text);
    assert_eq!(on("|*a*|b|\n|-|-|\n|1|2|\n", plain), "*a* │ b\n────┼──\n1   │ 2\n");
}
