//! Finds checks of a plan that are useless: policy denies them or asks when the user is absent, their program is
//! missing or a trial showed that they lack something while other checks exist, or the remaining ones prove nothing and
//! none can be derived. The Architect learns this right after planning, before any work depends on them.

use checks::proves_nothing::proves_nothing;
use checks::verified::Missing;
use checks::wording::Wording;
use config::{Approval, Mode};
use facts::closed::JournalClosed;
use facts::event::Event;
use facts::signal::Attendance;
use policy::{Act, Confinement, Gaps, Stage, Verdict};
use sandbox::Degree;
use shell::CommandLine;

use crate::run::Run;
use crate::run::always_allowed::Always;
use crate::run::effect::{Effect, Position, Trace};
use crate::run::file_reader::FileReader;
use crate::talk::prompts::Prompt;
use crate::talk::{Objection, Raised};

/// Returns the objection to the checks of a plan, if some of them would not be run although others could be, or if
/// those that would be run prove nothing although nothing else can be derived. `tried` are the commands that lacked
/// something when the Architect tried them.
pub(crate) async fn objection(
    run: &Run,
    file_reader: &FileReader,
    commands: &[String],
    tried: &[(String, Missing)],
) -> Result<Option<Objection>, JournalClosed> {
    let always = file_reader.always();
    let barring = &mut Barring { commands, tried, always };
    let Barred { commands, missing, lacking, mut vacuous, confined } = run.perform(barring).await?;
    if commands.is_empty() && vacuous.is_empty() {
        return Ok(None);
    }
    let is_barred = |command: &String| objected(run, command, confined).is_some();
    let mut derived = file_reader.startable_checks().await?;
    derived.retain(|command| !is_barred(command) && lacked_by(command, tried).is_none());
    let (barred, mut unstarted): (Vec<String>, Vec<String>) = commands
        .into_iter()
        .partition(|command| missing.is_empty() && lacking.is_empty() || is_barred(command));
    if derived.is_empty() {
        // If nothing else checks the workspace, the user has to install what is missing.
        unstarted.clear();
    } else {
        // The derived checks are run instead.
        vacuous.clear();
    }
    if barred.is_empty() && unstarted.is_empty() && vacuous.is_empty() {
        return Ok(None);
    }
    let prompts = run.prompts();
    let mut said = Vec::new();
    let mut listed = |commands: &[String], what: &str, why: &dyn Fn(&str) -> String| {
        let mut checks = Vec::new();
        for command in commands {
            let why = why(command);
            said.push(format!("`{command}` {what}: {why}"));
            let check = prompts.render(Prompt::BarredCheck, &[("command", command), ("why", &why)]);
            checks.push(check);
        }
        checks.join("\n")
    };
    let lacking = listed(&unstarted, "would not be run", &|command| {
        if let Some(missing) = lacked_by(command, &lacking) {
            return format!("you tried it, and {missing}");
        }
        let program = CommandLine::named_program(command).unwrap_or_default();
        format!("the program `{program}` is not installed here")
    });
    let checks = listed(&barred, "would not be run", &|command| {
        objected(run, command, confined).map(Obstacle::into_why).unwrap_or_default()
    });
    let empty = listed(&vacuous, "proves nothing", &|command| {
        proves_nothing(command).map(|why| why.to_string()).unwrap_or_default()
    });
    let derived = if derived.is_empty() {
        String::new()
    } else {
        let commands = derived.join("\n");
        "\n\n".to_owned() + &prompts.render(Prompt::BarredDerived, &[("commands", &commands)])
    };
    let mut repairs = Vec::new();
    if !unstarted.is_empty() {
        repairs.push(
            prompts.render(Prompt::PlanUnstarted, &[("checks", &lacking), ("derived", &derived)]),
        );
    }
    if !barred.is_empty() {
        let allowed = run.config().policy.allow_commands.join("\n");
        repairs.push(prompts.render(
            Prompt::PlanBarred,
            &[("checks", &checks), ("allowed", &allowed), ("derived", &derived)],
        ));
    }
    if !vacuous.is_empty() {
        repairs.push(
            prompts.render(Prompt::PlanVacuous, &[("checks", &empty), ("derived", &derived)]),
        );
    }
    // Whoever insists on checks that prove nothing has no others; a check that is not run may still be exchanged.
    let raised = match (barred.is_empty(), unstarted.is_empty()) {
        (true, true) => Raised::Once,
        (false, _) | (_, false) => Raised::EachTime,
    };
    let (said, repair) = (Wording::from(said.join("; ")), repairs.join("\n\n"));
    Ok(Some(Objection { said, repair, raised }))
}

/// Returns what a command lacked when it was tried, if it was.
fn lacked_by<'t>(command: &str, tried: &'t [(String, Missing)]) -> Option<&'t Missing> {
    tried.iter().find(|(tried, _)| tried == command).map(|(_, missing)| missing)
}

/// Why a command does not run without further ado.
enum Obstacle {
    /// It needs the user's approval.
    Asked(String),
    /// It is always denied.
    Denied(String),
}

impl Obstacle {
    fn into_why(self) -> String {
        match self {
            Self::Asked(why) => format!("{why}, and there is no terminal to ask on"),
            Self::Denied(why) => why,
        }
    }
}

/// Returns the obstacle to a command of a plan under the run's policy, if any.
fn objected(run: &Run, command: &str, confined: Degree) -> Option<Obstacle> {
    let line = CommandLine::parse(command).ok()?;
    let act = Act::Command(line.command());
    // The plan is not to blame for confinement that this machine lacks.
    let confinement = match confined {
        Degree::Full => Confinement::Full,
        Degree::Floor => Confinement::Floor { missing: Gaps::Accepted },
        Degree::None => Confinement::Off,
    };
    match run.terms.rules.decide(Stage::Verifying, act, confinement) {
        Verdict::Allow => None,
        Verdict::Ask { why } => Some(Obstacle::Asked(why)),
        Verdict::Stage { why } | Verdict::Deny { why } => Some(Obstacle::Denied(why)),
    }
}

/// Returns true for the commands that do nothing.
fn is_empty(command: &str) -> bool {
    matches!(command.trim(), "true" | ":")
}

/// The effect of finding out which checks would not be run. A replay cannot determine whether the user was present, so
/// the result is recorded.
struct Barring<'c> {
    commands: &'c [String],
    /// The commands that lacked something when they were tried.
    tried: &'c [(String, Missing)],
    /// The commands that the user always allows.
    always: Option<Always>,
}

/// The checks that would not be run at this confinement, and those that prove nothing.
struct Barred {
    commands: Vec<String>,
    /// Missing programs of those checks.
    missing: Vec<String>,
    /// Those of these checks that lacked something when they were tried.
    lacking: Vec<(String, Missing)>,
    vacuous: Vec<String>,
    confined: Degree,
}

impl Barring<'_> {
    /// Returns the programs of the checks that are not installed on this machine.
    fn missing(&self, run: &Run) -> Vec<String> {
        let programs =
            self.commands.iter().filter_map(|command| CommandLine::named_program(command));
        programs.filter(|program| !run.env.finds(program)).collect()
    }

    fn is_allowed(&self, command: &str, confined: Degree) -> bool {
        let line = CommandLine::parse(command).ok();
        self.always.as_ref().zip(line).is_some_and(|(always, line)| always.allows(&line, confined))
    }
}

impl Effect for Barring<'_> {
    type Outcome = Barred;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Barred> {
        let (commands, missing, lacking, vacuous) = Default::default();
        let nothing = Barred { commands, missing, lacking, vacuous, confined: Degree::None };
        let Event::ChecksBarred { commands, missing, lacking, vacuous, confined } = event else {
            return Trace::Foretold(nothing);
        };
        let (commands, missing) = (commands.clone(), missing.clone());
        let (lacking, vacuous, confined) = (lacking.clone(), vacuous.clone(), *confined);
        Trace::Done(Barred { commands, missing, lacking, vacuous, confined })
    }

    async fn act(&mut self, run: &Run) -> Result<Barred, JournalClosed> {
        let confined = run.confinement().await.degree();
        let policy = &run.config().policy;
        let any_runs = match policy.mode {
            Mode::Plan => false,
            Mode::Agent | Mode::Hetun => policy.approval != Approval::Never,
            Mode::Yolo => true,
        };
        let missing = if any_runs { self.missing(run) } else { Vec::new() };
        let is_missing = |command: &str| {
            CommandLine::named_program(command).is_some_and(|it| missing.contains(&it))
        };
        let is_barred = |command: &str| match objected(run, command, confined) {
            Some(Obstacle::Asked(_)) => {
                run.attendance == Attendance::Unattended && !self.is_allowed(command, confined)
            }
            Some(Obstacle::Denied(_)) => true,
            None => is_missing(command) || lacked_by(command, self.tried).is_some(),
        };
        let named = self.commands.iter().filter(|_| any_runs);
        let (commands, mut vacuous): (Vec<String>, Vec<String>) =
            named.cloned().partition(|command| is_barred(command));
        // Whoever names the empty command says that there is no check, and need not be told.
        let is_telling = |command: &String| proves_nothing(command).is_none();
        if vacuous.iter().any(is_telling) || vacuous.iter().all(|command| is_empty(command)) {
            vacuous.clear();
        }
        let lacks = |command: &String| {
            lacked_by(command, self.tried).map(|missing| (command.clone(), missing.clone()))
        };
        let lacking: Vec<_> = commands.iter().filter_map(lacks).collect();
        if !(commands.is_empty() && vacuous.is_empty()) {
            let (commands, missing) = (commands.clone(), missing.clone());
            let (lacking, vacuous) = (lacking.clone(), vacuous.clone());
            run.publish(Event::ChecksBarred { commands, missing, lacking, vacuous, confined })
                .await?;
        }
        Ok(Barred { commands, missing, lacking, vacuous, confined })
    }
}
