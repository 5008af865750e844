//! Lines about what fills the context of the next request. Pure.

use orchestrator::session::context::{Context, ContextPart};
use tools::count::counted;

use crate::diff::harmless;

/// Most characters of a request that are shown.
const SHOWN: usize = 60;

/// Formats a report as a table, with a line that says what the conversation may use.
pub fn context_lines(Context { window, conversation, parts }: &Context) -> String {
    let row = |(part, tokens): &(ContextPart, usize)| format!("{tokens:>9}  {}", named(part));
    let total: usize = parts.iter().map(|(_, tokens)| tokens).sum();
    let said: usize =
        parts.iter().filter(|(part, _)| is_conversation(part)).map(|(_, tokens)| tokens).sum();
    let rows: Vec<String> = parts.iter().map(row).collect();
    format!(
        "estimated tokens of the next request, without its own text\n{}\n{total:>9}  in all, of {window}\nconversation: {said} of {conversation} tokens (agent_loop.conversation_tokens); /compact summarizes it now",
        rows.join("\n")
    )
}

const fn is_conversation(part: &ContextPart) -> bool {
    matches!(part, ContextPart::Summary(_) | ContextPart::Turn(..))
}

fn named(part: &ContextPart) -> String {
    match part {
        ContextPart::Rules => "rules".to_owned(),
        ContextPart::Workspace => "project: instructions, summary, checks".to_owned(),
        ContextPart::Summary(turns) => format!("summary of {}", counted(*turns, "turn")),
        ContextPart::Turn(number, request) => {
            let request = request.lines().next().unwrap_or_default();
            let shown: String = request.chars().take(SHOWN).collect();
            let more = if shown.len() < request.len() { "…" } else { "" };
            format!("turn {number}: {}{more}", harmless(&shown))
        }
        ContextPart::Fates => "what became of earlier changes".to_owned(),
        ContextPart::Memory => "memory of the project".to_owned(),
        ContextPart::Evidence => "evidence, as of the last request".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_each_part_and_the_limits() {
        let parts = vec![
            (ContextPart::Rules, 1_200),
            (ContextPart::Summary(3), 300),
            (ContextPart::Turn(4, "Fix it\nnow".to_owned()), 40),
            (ContextPart::Evidence, 900),
        ];
        let context = Context { window: 128_000, conversation: 8_000, parts };
        insta::assert_snapshot!(context_lines(&context), @"
        estimated tokens of the next request, without its own text
             1200  rules
              300  summary of 3 turns
               40  turn 4: Fix it
              900  evidence, as of the last request
             2440  in all, of 128000
        conversation: 340 of 8000 tokens (agent_loop.conversation_tokens); /compact summarizes it now
        ");
    }
}
