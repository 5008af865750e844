//! The markup that all pages share: escaped text, filled templates, headings, diffs. Pure.

use std::fmt::{self, Write as _};

use front::diff::harmless_text;

/// The style of all pages.
const STYLE: &str = include_str!("style.css");

/// Text with markup escaped and control characters replaced.
pub(crate) struct Escaped<'t>(pub(crate) &'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in harmless_text(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Fills the placeholders of a template; `style` is that of all pages. Inserted text is not expanded again.
pub(crate) fn filled(template: &str, texts: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or(("", part));
        let text = [("style", STYLE)].iter().chain(texts).find(|(known, _)| *known == name);
        page.push_str(text.map_or("", |(_, text)| text));
        page.push_str(rest);
    }
    page
}

pub(crate) fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// Renders a heading with an optional coloured label.
pub(crate) fn heading(class: &str, mark: &str, text: &str) -> String {
    let text = Escaped(text);
    if mark.is_empty() {
        return format!("<h3>{text}</h3>\n");
    }
    format!("<h3>{text} <span class=\"mark {class}\">{mark}</span></h3>\n")
}

/// Renders a diff with added and removed lines coloured.
pub(crate) fn coloured(diff: &str) -> String {
    let line = |line: &str| {
        let text = Escaped(line);
        let is_name = ["+++ ", "--- ", "diff --git "].iter().any(|name| line.starts_with(name));
        match line.chars().next() {
            Some('+') if !is_name => format!("<span class=\"new\">{text}</span>"),
            Some('-') if !is_name => format!("<span class=\"gone\">{text}</span>"),
            Some('@') => format!("<span class=\"place\">{text}</span>"),
            _ if is_name => format!("<span class=\"place\">{text}</span>"),
            _ => format!("{text}\n"),
        }
    };
    // A scrollable element must be reachable by keyboard.
    let lines: Vec<String> = diff.lines().map(line).collect();
    format!("<pre tabindex=\"0\" role=\"group\" aria-label=\"diff\">{}</pre>\n", lines.concat())
}

/// Renders a table with row headers; all texts are markup. It scrolls, so it must be reachable by keyboard.
pub(crate) fn comparison(
    caption: &str,
    corner: &str,
    columns: &[String],
    rows: &[(String, Vec<String>)],
) -> String {
    let columns = columns.iter().map(|name| format!("<th scope=\"col\">{name}</th>"));
    let row = |(name, cells): &(String, Vec<String>)| {
        let cells = cells.join("</td><td>");
        format!("<tr><th scope=\"row\">{name}</th><td>{cells}</td></tr>\n")
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table: {caption}\">\n<table>\n<caption>{caption}</caption>\n<thead><tr><th scope=\"col\">{corner}</th>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n",
        columns.collect::<String>(),
        rows.iter().map(row).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_is_escaped() {
        let hostile = "<script>alert('1')</script>&\"\u{1b}[2J\u{202e}";
        let text = Escaped(hostile).to_string();
        assert!(!text.contains(['<', '>', '"', '\'', '\u{1b}', '\u{202e}']), "{text}");
        let diff = coloured(&format!("+{hostile}\n-{hostile}\n {hostile}\n"));
        assert!(!diff.contains("<script"), "{diff}");
    }

    #[test]
    fn inserted_text_is_not_expanded_again() {
        let page = "<title>{{title}}</title>\n{{text}}\n<style>{{style}}</style>";
        let page = filled(page, &[("title", "{{text}}"), ("text", "{{title}}")]);
        assert!(page.contains("<title>{{text}}</title>"), "{page}");
        assert!(page.contains("\n{{title}}\n"), "{page}");
        assert!(page.contains("prefers-color-scheme: dark"), "{page}");
    }
}
