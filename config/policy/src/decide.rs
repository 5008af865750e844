//! The decision: one total table from mode, approval, stage, kind of action and confinement to a verdict. Pure.

use config::{Approval, Mode};

/// What the session is doing when an effect is about to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Gathering evidence and planning.
    Planning,
    /// Drafting and applying patches.
    Executing,
    /// Running checks.
    Verifying,
    /// Carrying out an effect that the user asked for by name, with a command such as `apply` or `rewind`.
    User,
}

/// Kinds of effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A workspace file is put into a prompt.
    Read(Secrecy),
    /// A patch is written.
    Patch(Patch),
    /// A command is run.
    Command(CommandKind),
    /// A command gets network access.
    Network,
    /// A tool of a server is called.
    Tool(ToolKind),
}

/// Kinds of tools of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolKind {
    /// The user says that it only reads.
    Reading,
    /// It may change something.
    Changing,
    /// Its server says that it may destroy something.
    Destroying,
}

/// Whether a file is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Secrecy {
    /// Not secret.
    Plain,
    /// Listed in `policy.secret_files`.
    Secret,
}

/// Kinds of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Patch {
    /// Within the safety gate, counting the earlier patches of the run.
    Within,
    /// Exceeds the safety gate.
    Larger,
    /// It touches files that other tools execute.
    Executed,
    /// It touches files that models may not change.
    Protected,
}

/// Kinds of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandKind {
    /// Every part is listed.
    Listed,
    /// Some part is not listed, or cannot be judged.
    Other,
    /// Some part is on the deny list.
    Denied,
}

/// How far commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confinement {
    /// Fully.
    Full,
    /// Partly.
    Floor {
        /// Whether the user knows what is missing.
        missing: Gaps,
    },
    /// Not at all, because this machine cannot.
    None,
    /// Not at all, because the user's own configuration turned it off.
    Off,
}

/// Whether the user knows what the confinement lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gaps {
    /// The user has not been told in this workspace.
    Untold,
    /// The user accepted it in this workspace.
    Accepted,
}

/// The verdict. `W` is the reason: a [`VerdictReason`] in the table, a sentence for one effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict<W = String> {
    /// The effect may happen.
    Allow,
    /// The user has to approve it.
    Ask {
        /// The reason.
        why: W,
    },
    /// The patch is staged instead of applied; the user can apply it later.
    Stage {
        /// The reason.
        why: W,
    },
    /// It may not happen, even with approval.
    Deny {
        /// The reason.
        why: W,
    },
}

impl<W> Verdict<W> {
    /// Returns `Ok` if the effect may happen without approval, otherwise the reason why not.
    pub fn unasked(self) -> Result<(), W> {
        match self {
            Self::Allow => Ok(()),
            Self::Ask { why } | Self::Stage { why } | Self::Deny { why } => Err(why),
        }
    }
}

/// Reasons of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VerdictReason {
    /// Plan mode cannot change or run anything.
    PlanMode,
    /// The planning stage changes nothing and runs nothing unconfined.
    Planning,
    /// Checks change no files.
    Verifying,
    /// The file is secret.
    Secret,
    /// Models may not change the file.
    Protected,
    /// The command is on the deny list.
    Denied,
    /// The patch changes files.
    Changes,
    /// The patch, or the run's patches in total, exceed the safety gate.
    Large,
    /// The patch changes files that other tools execute.
    Executed,
    /// The command is not listed.
    NotListed,
    /// Approval is `never`, so no command runs.
    Never,
    /// Commands are confined only partly.
    Floor,
    /// Commands are not confined.
    Unconfined,
    /// A command wants network access.
    Network,
    /// A tool of a server may change something.
    Changing,
    /// A tool of a server may destroy something.
    Destroying,
}

impl Stage {
    /// All stages.
    pub const ALL: [Self; 4] = [Self::Planning, Self::Executing, Self::Verifying, Self::User];
}

impl Action {
    /// All kinds of actions.
    pub const ALL: [Self; 13] = [
        Self::Read(Secrecy::Plain),
        Self::Read(Secrecy::Secret),
        Self::Patch(Patch::Within),
        Self::Patch(Patch::Larger),
        Self::Patch(Patch::Executed),
        Self::Patch(Patch::Protected),
        Self::Command(CommandKind::Listed),
        Self::Command(CommandKind::Other),
        Self::Command(CommandKind::Denied),
        Self::Network,
        Self::Tool(ToolKind::Reading),
        Self::Tool(ToolKind::Changing),
        Self::Tool(ToolKind::Destroying),
    ];
}

impl Confinement {
    /// Returns true if unreviewed code may run because it is confined.
    pub const fn is_confined(self) -> bool {
        matches!(self, Self::Full | Self::Floor { missing: Gaps::Accepted })
    }

    /// All confinements.
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::Floor { missing: Gaps::Accepted },
        Self::Floor { missing: Gaps::Untold },
        Self::None,
        Self::Off,
    ];
}

/// The content of a cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Yes,
    Asks,
    Staged,
    No,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
struct Row {
    why: VerdictReason,
    /// Under `suggest`, `auto`, `never`.
    cells: [Cell; 3],
    yolo: Yolo,
}

/// How YOLO mode treats a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Yolo {
    /// YOLO approves.
    Answers,
    /// The user is asked even in YOLO mode.
    Asks,
}

impl Row {
    const fn new(why: VerdictReason, cells: [Cell; 3]) -> Self {
        Self { why, cells, yolo: Yolo::Answers }
    }

    const fn forbidden(why: VerdictReason) -> Self {
        Self { why, cells: [Cell::No; 3], yolo: Yolo::Asks }
    }

    const fn verdict(self, cell: Cell) -> Verdict<VerdictReason> {
        let why = self.why;
        match cell {
            Cell::Yes => Verdict::Allow,
            Cell::Asks => Verdict::Ask { why },
            Cell::Staged => Verdict::Stage { why },
            Cell::No => Verdict::Deny { why },
        }
    }
}

/// Decides whether a kind of action may happen. Approval settings apply to agent mode; YOLO consults them only in rows
/// that always ask.
pub const fn decide(
    mode: Mode,
    approval: Approval,
    stage: Stage,
    action: Action,
    confinement: Confinement,
) -> Verdict<VerdictReason> {
    let row = row(stage, action, confinement);
    let [suggest, auto, never] = row.cells;
    let cell = match approval {
        Approval::Suggest => suggest,
        Approval::Auto => auto,
        Approval::Never => never,
    };
    match (mode, action) {
        (
            Mode::Plan,
            Action::Patch(_)
            | Action::Command(_)
            | Action::Network
            | Action::Tool(ToolKind::Changing | ToolKind::Destroying),
        ) => Verdict::Deny { why: VerdictReason::PlanMode },
        (Mode::Yolo, _) if matches!(row.yolo, Yolo::Answers) => Verdict::Allow,
        (Mode::Plan | Mode::Agent | Mode::Yolo | Mode::Hetun, _) => row.verdict(cell),
    }
}

const fn row(stage: Stage, action: Action, confinement: Confinement) -> Row {
    use Cell::{Asks, No, Yes};
    match (action, stage) {
        (Action::Read(Secrecy::Plain), _) => Row::new(VerdictReason::Changes, [Yes; 3]),
        (Action::Read(Secrecy::Secret), _) => Row::forbidden(VerdictReason::Secret),
        (Action::Patch(Patch::Protected), _) => Row::forbidden(VerdictReason::Protected),
        (Action::Command(CommandKind::Denied), _) => Row::forbidden(VerdictReason::Denied),
        (Action::Patch(_), Stage::Planning) => Row::forbidden(VerdictReason::Planning),
        (Action::Patch(_), Stage::Verifying) => Row::forbidden(VerdictReason::Verifying),
        (Action::Patch(patch), Stage::Executing | Stage::User) => patched(stage, patch),
        (Action::Command(listing), _) => command(stage, listing, confinement),
        (Action::Network, _) => Row::new(VerdictReason::Network, [Asks, Asks, No]),
        (Action::Tool(ToolKind::Reading), _) => Row::new(VerdictReason::Changing, [Yes; 3]),
        (Action::Tool(ToolKind::Changing), _) => {
            Row::new(VerdictReason::Changing, [Asks, Asks, No])
        }
        (Action::Tool(ToolKind::Destroying), _) => {
            Row { yolo: Yolo::Asks, ..Row::new(VerdictReason::Destroying, [Asks, Asks, No]) }
        }
    }
}

const fn patched(stage: Stage, patch: Patch) -> Row {
    use Cell::{Asks, Staged, Yes};
    match (patch, stage) {
        // A user who asks for a patch by name has approved it, except for its size, which only the diff shows.
        (Patch::Within, Stage::User) => Row::new(VerdictReason::Changes, [Asks, Yes, Yes]),
        (Patch::Within, _) => Row::new(VerdictReason::Changes, [Asks, Yes, Staged]),
        (Patch::Larger, _) => Row::new(VerdictReason::Large, [Asks, Asks, Staged]),
        (Patch::Executed, _) => Row::new(VerdictReason::Executed, [Asks, Asks, Staged]),
        (Patch::Protected, _) => Row::forbidden(VerdictReason::Protected),
    }
}

const fn command(stage: Stage, listing: CommandKind, confinement: Confinement) -> Row {
    use Cell::{Asks, No, Yes};
    match (confinement, listing, stage) {
        (_, CommandKind::Denied, _) => Row::forbidden(VerdictReason::Denied),
        // Before there is a plan, only confined commands run.
        (Confinement::None | Confinement::Off, _, Stage::Planning) => {
            Row::forbidden(VerdictReason::Planning)
        }
        (Confinement::Floor { missing: Gaps::Untold }, _, _) => {
            Row { yolo: Yolo::Asks, ..Row::new(VerdictReason::Floor, [Asks, Asks, No]) }
        }
        (Confinement::None, _, _) => {
            Row { yolo: Yolo::Asks, ..Row::new(VerdictReason::Unconfined, [Asks, Asks, No]) }
        }
        (_, CommandKind::Listed | CommandKind::Other, Stage::User) => {
            Row::new(VerdictReason::NotListed, [Yes; 3])
        }
        (_, CommandKind::Listed, _) => Row::new(VerdictReason::Never, [Yes, Yes, No]),
        (Confinement::Off, CommandKind::Other, _) => {
            Row::new(VerdictReason::NotListed, [Asks, Asks, No])
        }
        (_, CommandKind::Other, _) => Row::new(VerdictReason::NotListed, [Asks, Yes, No]),
    }
}
