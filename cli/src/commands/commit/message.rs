//! Commit messages made from requests and plans. Pure.

/// The longest subject, in characters, that git's own listings show in full.
const SUBJECT: usize = 72;

/// A request that changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Done {
    /// The request, in the user's words.
    pub(super) request: String,
    /// The steps of the last plan.
    pub(super) steps: Vec<String>,
}

/// Composes a message for requests, oldest first. The body lists the steps of a single request, or several requests.
pub(super) fn proposed(done: &[Done]) -> String {
    let (subject, lines): (String, Vec<String>) = match done {
        [] => return "Apply changes made by deepseek\n".to_owned(),
        [one] => (subject(&one.request), one.steps.iter().map(|step| line(step)).collect()),
        [first, rest @ ..] => {
            let more = format!(" (and {} more)", rest.len());
            let room = SUBJECT - more.len();
            let subject = format!("{}{more}", cut(&subject(&first.request), room));
            (subject, done.iter().map(|it| line(&it.request)).collect())
        }
    };
    // A step that repeats the subject adds nothing.
    let lines: Vec<String> = lines.into_iter().filter(|line| *line != subject).collect();
    if lines.is_empty() {
        return subject + "\n";
    }
    let body: String = lines.iter().map(|line| format!("- {line}\n")).collect::<Vec<_>>().concat();
    format!("{subject}\n\n{body}")
}

/// Turns a request into a subject: its first line, capitalised, without a full stop.
fn subject(request: &str) -> String {
    let line = line(request);
    let mut letters = line.trim_end_matches(['.', ' ']).chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    cut(&(first + letters.as_str()), SUBJECT)
}

/// Returns the first line that is not blank, without leading `#`, which git would take for a comment.
fn line(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let visible = first.chars().filter(|c| !c.is_control());
    visible.collect::<String>().trim_start_matches(['#', ' ']).to_owned()
}

/// Cuts a text after the last whole word that fits.
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
