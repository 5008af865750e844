//! Names of the kinds, verdicts and reasons of the table. For people; no code parses them.

use std::fmt;

use crate::decide::{
    Action, CommandKind, Confinement, Gaps, Patch, Secrecy, Stage, ToolKind, Verdict, VerdictReason,
};

impl Stage {
    /// The name of the stage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Executing => "executing",
            Self::Verifying => "verifying",
            Self::User => "user",
        }
    }
}

impl Action {
    /// The name of the action.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read(Secrecy::Plain) => "read a file",
            Self::Read(Secrecy::Secret) => "read a secret file",
            Self::Patch(Patch::Within) => "patch within the safety gate",
            Self::Patch(Patch::Larger) => "larger patch",
            Self::Patch(Patch::Executed) => "patch what other tools execute",
            Self::Patch(Patch::Protected) => "patch what is protected",
            Self::Command(CommandKind::Listed) => "listed command",
            Self::Command(CommandKind::Other) => "other command",
            Self::Command(CommandKind::Denied) => "denied command",
            Self::Network => "network for a command",
            Self::Tool(ToolKind::Reading) => "reading tool of a server",
            Self::Tool(ToolKind::Changing) => "other tool of a server",
            Self::Tool(ToolKind::Destroying) => "destroying tool of a server",
        }
    }
}

impl Confinement {
    /// The name of the confinement.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Floor { missing: Gaps::Accepted } => "floor, accepted",
            Self::Floor { missing: Gaps::Untold } => "floor",
            Self::None => "none",
            Self::Off => "off",
        }
    }
}

impl VerdictReason {
    /// Returns true if it is a reason to ask. Under `never` such a reason stages or denies.
    pub(crate) const fn is_question(self) -> bool {
        match self {
            Self::Changes
            | Self::Large
            | Self::Executed
            | Self::NotListed
            | Self::Floor
            | Self::Unconfined
            | Self::Network
            | Self::Changing
            | Self::Destroying => true,
            Self::PlanMode
            | Self::Planning
            | Self::Verifying
            | Self::Secret
            | Self::Protected
            | Self::Denied
            | Self::Never => false,
        }
    }

    /// Returns true if a more specific reason can be given for the effect itself.
    pub(crate) const fn is_of_the_effect(self) -> bool {
        match self {
            Self::Protected | Self::Denied | Self::Large | Self::Executed | Self::NotListed => true,
            Self::PlanMode
            | Self::Planning
            | Self::Verifying
            | Self::Secret
            | Self::Changes
            | Self::Never
            | Self::Floor
            | Self::Unconfined
            | Self::Network
            | Self::Changing
            | Self::Destroying => false,
        }
    }
}

impl fmt::Display for VerdictReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PlanMode => "plan mode reads only",
            Self::Planning => {
                "before there is a plan, nothing is changed and commands run only confined"
            }
            Self::Verifying => "checks change no files",
            Self::Secret => "it is listed in policy.secret_files",
            Self::Protected => "models may not change it",
            Self::Denied => "it is listed in policy.deny_commands",
            Self::Changes => "the patch changes your files",
            Self::Large => "the patch is large",
            Self::Executed => "it changes files that other tools execute",
            Self::NotListed => "it is not listed in policy.allow_commands",
            Self::Never => "no command runs while policy.approval is never",
            Self::Floor => "this machine can confine commands only in part",
            Self::Unconfined => "this machine cannot confine commands",
            Self::Network => "it wants network access",
            Self::Changing => "the tool may change something: you have not said that it only reads",
            Self::Destroying => "the server says that the tool may destroy something",
        })
    }
}

impl<W> Verdict<W> {
    /// Returns the same verdict with another reason.
    pub(crate) fn map<V>(self, say: impl FnOnce(W) -> V) -> Verdict<V> {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Ask { why } => Verdict::Ask { why: say(why) },
            Self::Stage { why } => Verdict::Stage { why: say(why) },
            Self::Deny { why } => Verdict::Deny { why: say(why) },
        }
    }

    /// The name of the verdict.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask { .. } => "ask",
            Self::Stage { .. } => "stage",
            Self::Deny { .. } => "deny",
        }
    }

    /// Returns the reason, or `None` if the effect is allowed.
    pub const fn why(&self) -> Option<&W> {
        match self {
            Self::Allow => None,
            Self::Ask { why } | Self::Stage { why } | Self::Deny { why } => Some(why),
        }
    }
}

impl<W: fmt::Display> fmt::Display for Verdict<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why() {
            Some(why) => write!(f, "{}: {why}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}
