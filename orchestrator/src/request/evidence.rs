//! Renders the evidence for a request, for models and for the journal. `search` gathers it. Pure.

use actors::talk::prompts::{Prompt, Prompts};
use facts::event::{Blob, Event};
use search::{Evidence, Titles, estimate_tokens, render, render_stable};
use tools::redact::Redactor;

/// Returns the event that records the gathered evidence.
pub(crate) fn gathered(
    prompts: &Prompts,
    redactor: &Redactor,
    evidence: &Evidence,
    earlier: &str,
) -> Event {
    let kept = |text: &str| Blob::new(redactor.redact(text).into_owned());
    let titles = titles(prompts, evidence);
    let (workspace, text) = (render_stable(evidence, &titles), render(evidence, &titles));
    let items = evidence.items.iter();
    Event::EvidenceGathered {
        items: items
            .map(|item| {
                format!("{}:{}-{} {}", item.path, item.first_line, item.last_line, item.hash)
            })
            .collect(),
        omitted: evidence.omitted.clone(),
        partial: evidence.partial,
        tokens: estimate_tokens(&text),
        text: kept(&text),
        workspace: (!workspace.is_empty()).then(|| kept(&workspace)),
        earlier: (!earlier.is_empty()).then(|| kept(earlier)),
    }
}

fn titles(prompts: &Prompts, evidence: &Evidence) -> Titles {
    let (shown, files) = (evidence.map.len(), evidence.files);
    let map = if evidence.truncated {
        prompts.render(Prompt::EvidenceManyFiles, &[("shown", &shown), ("files", &files)])
    } else {
        prompts.render(Prompt::EvidenceFiles, &[("shown", &shown), ("files", &files)])
    };
    let checks = prompts.render(Prompt::EvidenceChecks, &[]);
    let omitted = prompts.render(Prompt::EvidenceOmitted, &[]);
    let mentions = prompts.render(Prompt::EvidenceMentions, &[]);
    let example = prompts.render(Prompt::EvidenceExample, &[]);
    Titles { checks, mentions, example, map, omitted }
}

#[cfg(test)]
mod tests {
    use search::TITLE_BYTES;

    use super::*;

    #[test]
    fn titles_state_the_number_of_files_and_fit_their_limit() {
        let files = usize::try_from(u32::MAX).unwrap();
        let mut evidence = Evidence { files, ..Evidence::default() };
        let few = titles(&Prompts::default(), &evidence);
        assert_eq!(few.map, "Files (0 of 4294967295):");
        evidence.truncated = true;
        let many = titles(&Prompts::default(), &evidence);
        assert_eq!(many.map, "Files (0 of more than 4294967295):");
        for title in [few.checks, few.mentions, few.example, few.map, many.map, few.omitted] {
            assert!(title.len() + 20 < TITLE_BYTES, "{title}");
        }
    }
}
