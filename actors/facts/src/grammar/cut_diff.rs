//! A diff whose answer was cut at its limit: the sections of whole files that it has, and how the rest is joined to them.
//! Pure.

/// Returns the files whose sections arrived whole, and their text; `None` if there are none. The last section is the one that
/// was cut.
pub fn whole_sections(cut: &str) -> Option<(Vec<String>, String)> {
    let mut sections = sections(cut);
    sections.pop()?;
    let names = sections.iter().filter_map(Section::name).collect();
    let text: String = sections.iter().map(|section| section.text.as_str()).collect();
    (!text.is_empty()).then_some((names, text))
}

/// Appends what came later to sections that were kept. A file that it has again replaces the section that was kept.
pub fn joined(kept: &str, later: &str) -> String {
    if kept.is_empty() {
        return later.to_owned();
    }
    let again: Vec<String> = sections(later).iter().filter_map(Section::name).collect();
    let is_again = |section: &Section| section.name().is_some_and(|name| again.contains(&name));
    let kept = sections(kept).into_iter().filter(|section| !is_again(section));
    let kept: String = kept.map(|section| section.text).collect();
    kept + &without_fences(later)
}

/// The part of a diff that is about one file.
struct Section {
    text: String,
}

impl Section {
    /// Returns the file as its header names it.
    fn name(&self) -> Option<String> {
        let named = |start: &str| self.text.lines().find_map(|line| line.strip_prefix(start));
        let path = named("+++ b/").or_else(|| named("--- a/")).or_else(|| named("rename to "))?;
        Some(path.trim_end().to_owned())
    }
}

/// Splits an answer at the headers of its files. What comes before the first is left out, and so are the fences.
fn sections(answer: &str) -> Vec<Section> {
    let answer = without_fences(answer);
    let lines: Vec<&str> = answer.split_inclusive('\n').collect();
    let mut sections: Vec<Section> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_below_git = || {
            let above = lines.iter().take(at).rev();
            let headers =
                ["index ", "old mode ", "new mode ", "new file ", "deleted file ", "similarity "];
            let mut above = above.skip_while(|line| headers.iter().any(|it| line.starts_with(it)));
            above.next().is_some_and(|line| line.starts_with("diff --git "))
        };
        let is_header = line.starts_with("--- ")
            && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "))
            && !is_below_git();
        if is_header || line.starts_with("diff --git ") {
            sections.push(Section { text: String::new() });
        }
        if let Some(section) = sections.last_mut() {
            section.text.push_str(line);
        }
    }
    sections
}

/// Returns an answer without the lines of Markdown fences: inside a diff every line begins with a marker.
fn without_fences(answer: &str) -> String {
    answer.split_inclusive('\n').filter(|line| !line.starts_with("```")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &str) -> String {
        format!("--- a/{name}\n+++ b/{name}\n@@ -1 @@\n-old\n+new\n")
    }

    #[test]
    fn the_sections_before_the_last_are_whole() {
        let (a, b) = (section("a"), format!("diff --git a/b b/b\nindex 1..2\n{}", section("b")));
        let cut = format!("Here:\n```diff\n{a}{b}--- a/c\n+++ b/c\n@@ -1 @@\n-o");
        let whole = whole_sections(&cut);
        assert_eq!(whole, Some((vec!["a".to_owned(), "b".to_owned()], format!("{a}{b}"))));
        assert_eq!(whole_sections(&a), None);
        assert_eq!(whole_sections("I would"), None);
        assert_eq!(whole_sections(""), None);
    }

    #[test]
    fn what_comes_later_replaces_a_file_that_it_has_again() {
        let kept = section("a") + &section("b");
        let again = section("b").replace("new", "newer");
        let later = format!("```diff\n{again}{}```\n", section("c"));
        assert_eq!(joined(&kept, &later), section("a") + &again + &section("c"));
        assert_eq!(joined("", "```\nx"), "```\nx");
    }
}
