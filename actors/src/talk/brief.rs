//! The start of a task: what is known about the workspace regardless of the request, the conversation so far, the
//! evidence found for the request, and the request. Pure.
//!
//! The parts shared by all requests come first and the role's own instructions last, so that the provider's prompt
//! cache can reuse the beginning between requests and roles.

use model::AgentRole;

use crate::talk::dialogue::Dialogue;
use crate::talk::prompts::{Prompt, Prompts};

/// A task and its context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brief {
    /// What is the same for every request: instructions, a summary of the project, its checks.
    pub workspace: String,
    /// The earlier turns of the conversation.
    pub earlier: String,
    /// The evidence found for the request.
    pub evidence: String,
    /// The user's request.
    pub request: String,
}

/// How much of the brief a role reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BriefShare {
    /// All of it.
    Everything,
    /// The workspace and the request only: another role has researched and planned.
    Plan,
}

impl Brief {
    /// Returns what precedes a role's first question in a dialogue: the brief, unless another role has put it there,
    /// and the role's `instructions`. Empty if the role has already asked something.
    pub fn introduction(
        &self,
        prompts: &Prompts,
        dialogue: &mut Dialogue,
        role: AgentRole,
        reads: BriefShare,
        instructions: &str,
    ) -> String {
        if !dialogue.is_first_of(role) {
            return String::new();
        }
        let opening = match reads {
            _ if !dialogue.is_new() => instructions.to_owned(),
            BriefShare::Everything => prompts.render(
                Prompt::Opening,
                &[
                    ("workspace", &self.workspace(prompts)),
                    ("earlier", &paragraph(self.earlier.clone())),
                    ("evidence", &self.evidence(prompts)),
                    ("request", &self.request),
                    ("role", &instructions),
                ],
            ),
            BriefShare::Plan => prompts.render(
                Prompt::OpeningForPlan,
                &[
                    ("workspace", &self.workspace(prompts)),
                    ("request", &self.request),
                    ("role", &instructions),
                ],
            ),
        };
        opening + "\n\n"
    }

    /// Returns the evidence with its heading; empty if there is none.
    pub fn evidence(&self, prompts: &Prompts) -> String {
        if self.evidence.is_empty() {
            return String::new();
        }
        paragraph(prompts.render(Prompt::Evidence, &[("evidence", &self.evidence)]))
    }

    fn workspace(&self, prompts: &Prompts) -> String {
        if self.workspace.is_empty() {
            return String::new();
        }
        paragraph(prompts.render(Prompt::Workspace, &[("workspace", &self.workspace)]))
    }
}

/// Appends an empty line, unless the text is empty.
pub fn paragraph(text: String) -> String {
    if text.is_empty() { text } else { text + "\n\n" }
}

#[cfg(test)]
mod tests {
    use tools::redact::Redactor;

    use super::*;

    fn brief(request: &str) -> Brief {
        Brief {
            workspace: "A shop. Tests: `make test`.".into(),
            earlier: String::new(),
            evidence: format!("cart.py, for {request}"),
            request: request.to_owned(),
        }
    }

    fn said(brief: &Brief, dialogue: &mut Dialogue, role: AgentRole, reads: BriefShare) -> String {
        brief.introduction(&Prompts::default(), dialogue, role, reads, &format!("You {role:?}."))
    }

    #[test]
    fn a_role_reads_the_brief_and_its_instructions_once() {
        let mut dialogue = Dialogue::new("s".into(), &Redactor::default());
        let first = said(&brief("x"), &mut dialogue, AgentRole::Architect, BriefShare::Everything);
        assert!(first.contains("A shop.") && first.contains("cart.py, for x"), "{first}");
        assert!(first.ends_with("You Architect.\n\n"), "{first}");
        dialogue.say(&first);
        let again = said(&brief("x"), &mut dialogue, AgentRole::Architect, BriefShare::Everything);
        assert_eq!(again, "");
        let other = said(&brief("x"), &mut dialogue, AgentRole::Editor, BriefShare::Plan);
        assert_eq!(other, "You Editor.\n\n");
    }

    #[test]
    fn a_role_that_is_given_a_plan_does_not_see_the_evidence_behind_it() {
        let mut dialogue = Dialogue::new("s".into(), &Redactor::default());
        let first = said(&brief("x"), &mut dialogue, AgentRole::Editor, BriefShare::Plan);
        assert!(first.contains("A shop.") && !first.contains("cart.py"), "{first}");
        assert!(first.contains("The user's request:\n\nx\n\nYou Editor."), "{first}");
    }

    #[test]
    fn requests_share_the_workspace_prefix_and_roles_share_the_whole_brief() {
        let opening = |request: &str, role| {
            said(
                &brief(request),
                &mut Dialogue::new("s".into(), &Redactor::default()),
                role,
                BriefShare::Everything,
            )
        };
        let common =
            |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let (x, y) = (opening("x", AgentRole::Architect), opening("y", AgentRole::Architect));
        assert!(common(&x, &y) > x.find("make test").unwrap());
        let planner = opening("x", AgentRole::LanePlanner);
        assert!(common(&x, &planner) > x.find("request:\n\nx").unwrap());
    }
}
