//! The start of a task: what is known about the workspace regardless of the request, the conversation so far, the
//! evidence found for the request, and the request. Pure.
//!
//! What is the same for every request and workspace comes first, then what is the same in this workspace, so that the
//! provider's prompt cache can reuse the beginning.

use model::{AgentRole, PromptImage};

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
    /// The images that the request names.
    pub images: Vec<PromptImage>,
    /// Those that could not be read, with the reason.
    pub unread_images: Vec<String>,
    /// True if the images are for who is given a plan: the planner's model takes none.
    pub images_with_plan: bool,
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
    /// and the role's `instructions`. Empty if the role has already asked something. The images of the request are shown
    /// with it once: to who reads everything, or else to who is given a plan. Others are told of them.
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
        if !dialogue.is_new() {
            return format!("{instructions}\n\n");
        }
        let (shown, unseen) = self.images.split_at(self.shown_to(reads));
        dialogue.show(shown);
        let request = self.request(prompts, unseen);
        let opening = match reads {
            BriefShare::Everything => prompts.render(
                Prompt::Opening,
                &[
                    ("workspace", &self.workspace(prompts)),
                    ("earlier", &paragraph(self.earlier.clone())),
                    ("evidence", &self.evidence(prompts)),
                    ("request", &request),
                    ("role", &instructions),
                ],
            ),
            BriefShare::Plan => prompts.render(
                Prompt::OpeningForPlan,
                &[
                    ("workspace", &self.workspace(prompts)),
                    ("request", &request),
                    ("role", &instructions),
                ],
            ),
        };
        format!("{}\n\n", opening.trim_end())
    }

    /// Returns how many of the images are shown to who reads this share: all or none.
    const fn shown_to(&self, reads: BriefShare) -> usize {
        match reads {
            BriefShare::Plan if !self.images_with_plan => 0,
            BriefShare::Everything | BriefShare::Plan => self.images.len(),
        }
    }

    /// Forgets the images, which belong to one request.
    pub fn forget_images(&mut self) {
        self.images.clear();
        self.unread_images.clear();
    }

    /// Returns the names of the images that the request names, in words.
    pub fn named_images(&self) -> Vec<String> {
        let shown = self.images.iter().map(|image| image.title.clone());
        shown.chain(self.unread_images.iter().cloned()).collect()
    }

    /// Returns the request. It is followed by the names of the images that are `unseen` or could not be read.
    fn request(&self, prompts: &Prompts, unseen: &[PromptImage]) -> String {
        let unseen = unseen.iter().map(|image| &image.title);
        let unseen: Vec<&str> = unseen.chain(&self.unread_images).map(String::as_str).collect();
        if unseen.is_empty() {
            return self.request.clone();
        }
        format!("{}\n\n{}", self.request, images_unseen(prompts, &unseen))
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

/// Names the images that a model is shown with a message.
pub fn images_shown(prompts: &Prompts, images: &[&str]) -> String {
    prompts.render(Prompt::Images, &[("images", &images.join(", "))])
}

/// Names images that a model is not shown.
pub fn images_unseen(prompts: &Prompts, images: &[&str]) -> String {
    prompts.render(Prompt::ImagesUnseen, &[("images", &images.join(", "))])
}

/// Appends an empty line, unless the text is empty.
pub fn paragraph(text: String) -> String {
    if text.is_empty() { text } else { text + "\n\n" }
}

#[cfg(test)]
mod tests {
    use model::ChatMessage;
    use tools::redact::Redactor;

    use super::*;

    fn brief(request: &str) -> Brief {
        Brief {
            workspace: "A shop. Tests: `make test`.".into(),
            earlier: String::new(),
            evidence: format!("cart.py, for {request}"),
            request: request.to_owned(),
            ..Brief::default()
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
        assert!(first.starts_with("You Architect.\n\n"), "{first}");
        assert!(first.ends_with("for x\n\n") && !first.ends_with("\n\n\n"), "{first}");
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
        assert!(first.ends_with("The user's request:\n\nx\n\n"), "{first}");
    }

    #[test]
    fn images_are_shown_to_who_reads_everything_and_others_are_told_of_them() {
        let image = PromptImage::new("a.png (9x9)".into(), ("image/png", "QUJD"), 1);
        let unread_images = vec!["b.png: it is damaged".into()];
        let brief = Brief { images: vec![image], unread_images, ..brief("x") };
        let mut images = Vec::new();
        for (reads, told) in [
            (
                BriefShare::Everything,
                "x\n\nImages that the request names and that are not shown here: b.png: it is damaged\n\n",
            ),
            (BriefShare::Plan, "not shown here: a.png (9x9), b.png: it is damaged\n\n"),
        ] {
            let mut dialogue = Dialogue::new("s".into(), &Redactor::default());
            let first = said(&brief, &mut dialogue, AgentRole::Editor, reads);
            assert!(first.contains(told), "{first}");
            dialogue.say(&first);
            let Some(ChatMessage::User { images: shown, .. }) = dialogue.messages().last() else {
                panic!()
            };
            images.push(shown.len());
        }
        assert_eq!(images, [1, 0]);
    }

    #[test]
    fn requests_share_the_role_and_the_workspace_and_other_workspaces_the_role() {
        let opening = |brief: Brief| {
            let mut dialogue = Dialogue::new("s".into(), &Redactor::default());
            said(&brief, &mut dialogue, AgentRole::Architect, BriefShare::Everything)
        };
        let common =
            |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let (x, y) = (opening(brief("x")), opening(brief("y")));
        assert_eq!(common(&x, &y), x.find("\n\nx\n").unwrap() + 2);
        let elsewhere = opening(Brief { workspace: String::new(), ..brief("x") });
        assert!(common(&x, &elsewhere) >= "You Architect.\n\n".len());
    }
}
