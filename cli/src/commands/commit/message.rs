//! The message of a commit, from what was asked and planned. Pure.

/// The width of a subject that git's own listings show whole.
const SUBJECT: usize = 72;

/// A request that changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Done {
    /// As it was asked.
    pub(super) request: String,
    /// Those of the last plan.
    pub(super) steps: Vec<String>,
}

/// The message for these, oldest first: one is told with its steps, several by what was asked.
pub(super) fn proposed(done: &[Done]) -> String {
    let (subject, lines): (String, Vec<String>) = match done {
        [] => return "Apply changes of deepseek\n".to_owned(),
        [one] => (subject(&one.request), one.steps.iter().map(|step| line(step)).collect()),
        [first, rest @ ..] => {
            let more = format!(" (and {} more)", rest.len());
            let room = SUBJECT - more.len();
            let subject = format!("{}{more}", cut(&subject(&first.request), room));
            (subject, done.iter().map(|it| line(&it.request)).collect())
        }
    };
    // A step that says what the subject says is none to tell.
    let lines: Vec<String> = lines.into_iter().filter(|line| *line != subject).collect();
    if lines.is_empty() {
        return subject + "\n";
    }
    let body: String = lines.iter().map(|line| format!("- {line}\n")).collect::<Vec<_>>().concat();
    format!("{subject}\n\n{body}")
}

/// A request as a subject: its first line, begun with a capital, without a full stop.
fn subject(request: &str) -> String {
    let line = line(request);
    let mut letters = line.trim_end_matches(['.', ' ']).chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    cut(&(first + letters.as_str()), SUBJECT)
}

/// The first line that says something. A line that begins with `#` would be a comment of git's.
fn line(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let visible = first.chars().filter(|c| !c.is_control());
    visible.collect::<String>().trim_start_matches(['#', ' ']).to_owned()
}

/// As many whole words as there is room for.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for word in text.split(' ') {
        if kept.chars().count() + word.chars().count() + 2 > room {
            break;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(word);
    }
    if kept.is_empty() {
        kept = text.chars().take(room - 1).collect();
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(request: &str, steps: &[&str]) -> Done {
        let steps = steps.iter().map(|step| (*step).to_owned()).collect();
        Done { request: request.to_owned(), steps }
    }

    #[test]
    fn a_message_is_what_was_asked_with_the_steps() {
        let one = done("fix the failing test.\nIt is flaky.", &["seed the clock", "run it twice"]);
        assert_eq!(
            proposed(std::slice::from_ref(&one)),
            "Fix the failing test\n\n- seed the clock\n- run it twice\n"
        );
        assert_eq!(proposed(&[done("Add x", &["Add x"])]), "Add x\n");
        assert_eq!(
            proposed(&[one, done("rename a", &["b"])]),
            "Fix the failing test (and 1 more)\n\n- fix the failing test.\n- rename a\n"
        );
        assert_eq!(proposed(&[done("# a comment?", &[])]), "A comment?\n");
    }

    #[test]
    fn a_subject_is_never_too_long() {
        for request in ["word ".repeat(40), "重构".repeat(60), "x".repeat(100)] {
            let message = proposed(&[done(&request, &[]), done(&request, &[])]);
            let subject = message.lines().next().unwrap();
            assert!(subject.chars().count() <= SUBJECT, "{subject}");
            assert!(subject.contains('…'), "{subject}");
        }
    }
}
