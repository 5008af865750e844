//! The decision: from mode, approval, stage, kind of action and confinement to a verdict, as one total table. Pure.

use config::{Approval, Mode};

/// What the session is doing when an effect wants to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Evidence is gathered and a plan made.
    Planning,
    /// Patches are drafted and applied.
    Executing,
    /// Checks are run.
    Verifying,
    /// The user asked for this very effect, by a command such as `apply` or `rewind`.
    User,
}

/// Kinds of effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A file of the workspace goes into a prompt.
    Read(Secrecy),
    /// A patch is written.
    Patch(Patch),
    /// A command is run.
    Command(Standing),
    /// A command gets the network.
    Network,
    /// A command may write outside the workspace.
    WriteOutside,
}

/// Kinds of files, to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Secrecy {
    /// Any that is not secret.
    Plain,
    /// One that `policy.secret_files` lists.
    Secret,
}

/// Kinds of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Patch {
    /// With those before it in the run, within the safety gate.
    Within,
    /// Beyond it.
    Larger,
    /// It touches files that other tools execute.
    Executed,
    /// It touches files that no model may change.
    Protected,
}

/// Kinds of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// Every part of it is listed.
    Listed,
    /// Some part is not, or cannot be judged.
    Other,
    /// Some part is on the deny list.
    Denied,
}

/// How far commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confinement {
    /// Wholly.
    Full,
    /// In part.
    Floor {
        /// What is missing.
        missing: Gaps,
    },
    /// Not at all, because nothing here can.
    None,
    /// Not at all, because the user's own configuration says so.
    Off,
}

/// Whether the user knows what a confinement lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gaps {
    /// It was not told in this workspace.
    Untold,
    /// The user accepted it in this workspace.
    Accepted,
}

/// The answer. `W` is why: a [`Why`] in the table, a sentence for one effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict<W = String> {
    /// It may happen.
    Allow,
    /// Somebody has to say yes.
    Ask {
        /// Why.
        why: W,
    },
    /// The patch is kept and not written; the user can apply it.
    Stage {
        /// Why.
        why: W,
    },
    /// It may not happen, whoever says yes.
    Deny {
        /// Why.
        why: W,
    },
}

impl<W> Verdict<W> {
    /// Whether it may happen without anybody's yes; why not otherwise.
    pub fn unasked(self) -> Result<(), W> {
        match self {
            Self::Allow => Ok(()),
            Self::Ask { why } | Self::Stage { why } | Self::Deny { why } => Err(why),
        }
    }
}

/// Reasons of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The mode has no way to change or run anything.
    PlanMode,
    /// The stage has none.
    Planning,
    /// Checks change no file.
    Verifying,
    /// The file is secret.
    Secret,
    /// No model changes the file.
    Protected,
    /// The command is on the deny list.
    Denied,
    /// The patch changes files.
    Changes,
    /// It is large, or the run's patches are together.
    Large,
    /// Other tools execute what it changes.
    Executed,
    /// The command is not listed.
    NotListed,
    /// Nothing is asked, so no command runs.
    Never,
    /// Commands are confined in part.
    Floor,
    /// Commands are not confined.
    Unconfined,
    /// A command wants the network.
    Network,
    /// A command wants to write outside the workspace.
    Outside,
}

impl Stage {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Planning, Self::Executing, Self::Verifying, Self::User];
}

impl Action {
    /// All there are.
    pub const ALL: [Self; 11] = [
        Self::Read(Secrecy::Plain),
        Self::Read(Secrecy::Secret),
        Self::Patch(Patch::Within),
        Self::Patch(Patch::Larger),
        Self::Patch(Patch::Executed),
        Self::Patch(Patch::Protected),
        Self::Command(Standing::Listed),
        Self::Command(Standing::Other),
        Self::Command(Standing::Denied),
        Self::Network,
        Self::WriteOutside,
    ];
}

impl Confinement {
    /// Whether code that nobody looked at may run, if only within its walls.
    pub const fn is_confined(self) -> bool {
        matches!(self, Self::Full | Self::Floor { missing: Gaps::Accepted })
    }

    /// All there are.
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::Floor { missing: Gaps::Accepted },
        Self::Floor { missing: Gaps::Untold },
        Self::None,
        Self::Off,
    ];
}

/// What a row says in a column.
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
    why: Why,
    /// Under `suggest`, `auto`, `never`.
    cells: [Cell; 3],
    yolo: Yolo,
}

/// What YOLO makes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Yolo {
    /// Every question is answered with yes.
    Answers,
    /// The questions of this row are asked all the same.
    Asks,
}

impl Row {
    const fn new(why: Why, cells: [Cell; 3]) -> Self {
        Self { why, cells, yolo: Yolo::Answers }
    }

    const fn forbidden(why: Why) -> Self {
        Self { why, cells: [Cell::No; 3], yolo: Yolo::Asks }
    }

    const fn verdict(self, cell: Cell) -> Verdict<Why> {
        let why = self.why;
        match cell {
            Cell::Yes => Verdict::Allow,
            Cell::Asks => Verdict::Ask { why },
            Cell::Staged => Verdict::Stage { why },
            Cell::No => Verdict::Deny { why },
        }
    }
}

/// Whether a kind of action may happen. Approvals are the agent's: YOLO looks at them only where it has to ask.
pub const fn decide(
    mode: Mode,
    approval: Approval,
    stage: Stage,
    action: Action,
    confinement: Confinement,
) -> Verdict<Why> {
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
            Action::Patch(_) | Action::Command(_) | Action::Network | Action::WriteOutside,
        ) => Verdict::Deny { why: Why::PlanMode },
        (Mode::Yolo, _) if matches!(row.yolo, Yolo::Answers) => Verdict::Allow,
        (Mode::Plan | Mode::Agent | Mode::Yolo | Mode::Hetun, _) => row.verdict(cell),
    }
}

const fn row(stage: Stage, action: Action, confinement: Confinement) -> Row {
    use Cell::{Asks, No, Yes};
    match (action, stage) {
        (Action::Read(Secrecy::Plain), _) => Row::new(Why::Changes, [Yes; 3]),
        (Action::Read(Secrecy::Secret), _) => Row::forbidden(Why::Secret),
        (Action::Patch(Patch::Protected), _) => Row::forbidden(Why::Protected),
        (Action::Command(Standing::Denied), _) => Row::forbidden(Why::Denied),
        (Action::Patch(_) | Action::WriteOutside, Stage::Planning) => Row::forbidden(Why::Planning),
        (Action::Patch(_), Stage::Verifying) => Row::forbidden(Why::Verifying),
        (Action::Patch(patch), Stage::Executing | Stage::User) => patched(stage, patch),
        (Action::Command(listing), _) => command(stage, listing, confinement),
        (Action::Network, _) => Row::new(Why::Network, [Asks, Asks, No]),
        (Action::WriteOutside, Stage::Executing | Stage::Verifying | Stage::User) => {
            Row::new(Why::Outside, [Asks, Asks, No])
        }
    }
}

const fn patched(stage: Stage, patch: Patch) -> Row {
    use Cell::{Asks, Staged, Yes};
    match (patch, stage) {
        // Who asks for a patch by its name has approved of it, but for the size that only the diff shows.
        (Patch::Within, Stage::User) => Row::new(Why::Changes, [Asks, Yes, Yes]),
        (Patch::Within, _) => Row::new(Why::Changes, [Asks, Yes, Staged]),
        (Patch::Larger, _) => Row::new(Why::Large, [Asks, Asks, Staged]),
        (Patch::Executed, _) => Row::new(Why::Executed, [Asks, Asks, Staged]),
        (Patch::Protected, _) => Row::forbidden(Why::Protected),
    }
}

const fn command(stage: Stage, listing: Standing, confinement: Confinement) -> Row {
    use Cell::{Asks, No, Yes};
    match (confinement, listing, stage) {
        (_, Standing::Denied, _) => Row::forbidden(Why::Denied),
        // Before there is a plan nothing runs unless it is confined.
        (Confinement::None | Confinement::Off, _, Stage::Planning) => Row::forbidden(Why::Planning),
        (Confinement::Floor { missing: Gaps::Untold }, _, _) => {
            Row { yolo: Yolo::Asks, ..Row::new(Why::Floor, [Asks, Asks, No]) }
        }
        (Confinement::None, _, _) => {
            Row { yolo: Yolo::Asks, ..Row::new(Why::Unconfined, [Asks, Asks, No]) }
        }
        (_, Standing::Listed | Standing::Other, Stage::User) => Row::new(Why::NotListed, [Yes; 3]),
        (_, Standing::Listed, _) => Row::new(Why::Never, [Yes, Yes, No]),
        (Confinement::Off, Standing::Other, _) => Row::new(Why::NotListed, [Asks, Asks, No]),
        (_, Standing::Other, _) => Row::new(Why::NotListed, [Asks, Yes, No]),
    }
}
