//! Evaluates how a script can end: what its exit status says about the commands in it. Pure.

use shell::{CommandLine, ScriptStep, ShellScript};

use super::hidden_failure::{By, HiddenFailure};
use super::{Vacuous, base_name, idle_commands};

/// Ways a script can end, as a set of bits.
type Ends = u8;
/// It succeeds, and the script goes on.
const OK: Ends = 1;
/// It fails, and the script goes on.
const FAILS: Ends = 2;
/// It ends the shell with success.
const LEAVES: Ends = 4;
/// It ends the shell with a failure.
const ABORTS: Ends = 8;
const EITHER: Ends = OK | FAILS;
const QUITS: Ends = LEAVES | ABORTS;

/// Maximum nesting depth of scripts in command words, such as `sh -c "sh -c …"`.
const MAX_SCRIPTS: usize = 6;

/// How a script can end, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EndStatus {
    ends: Ends,
    /// Why what decides the exit status cannot fail, if it cannot.
    why: Option<Vacuous>,
    pub(super) hidden: Option<HiddenFailure>,
}

impl EndStatus {
    fn of(ends: Ends) -> Self {
        Self { ends, ..Self::default() }
    }

    fn is(&self, ends: Ends) -> bool {
        self.ends & ends != 0
    }

    /// Returns true if it may succeed or fail, so that its exit status says something.
    fn is_open(&self) -> bool {
        self.is(OK | LEAVES) && self.is(FAILS | ABORTS)
    }

    /// Returns why it proves nothing by succeeding; `None` if it could fail.
    pub(super) fn proves_nothing(self) -> Option<Vacuous> {
        (!self.is(FAILS | ABORTS)).then(|| self.why.unwrap_or(Vacuous::Masked))
    }

    /// The status of a process of its own.
    fn contained(mut self) -> Self {
        let ends = self.ends;
        let maps = |from, to| if ends & from != 0 { to } else { 0 };
        self.ends = ends & EITHER | maps(LEAVES, OK) | maps(ABORTS, FAILS);
        self
    }

    /// The status of something that ends the shell.
    fn quitting(self) -> Self {
        let Self { ends, why, hidden } = self.contained();
        Self { ends: ends << 2, why, hidden }
    }

    fn negated(mut self) -> Self {
        // A condition on constants has no meaning either way.
        if !matches!(self.why, Some(Vacuous::Constant | Vacuous::Unrelated)) {
            let flipped = (self.ends & OK) << 1 | (self.ends & FAILS) >> 1;
            self.ends = self.ends & QUITS | flipped;
        }
        self
    }
}

/// Evaluates the script of a command line.
pub(super) fn of_line(line: &CommandLine) -> EndStatus {
    let script = line.script();
    let mut shell = Shell { depth: MAX_SCRIPTS, ..Shell::default() };
    let status = shell.status(&script).contained();
    let hidden = in_background(&script).filter(|_| !status.is(FAILS));
    let hidden = hidden.map(|inner| HiddenFailure::of(inner, By::Background));
    EndStatus { hidden: status.hidden.or(hidden), ..status }
}

/// Returns what a script runs in the background.
fn in_background(script: &ShellScript) -> Option<&ShellScript> {
    match script {
        ShellScript::Background(inner) => Some(inner),
        ShellScript::List(parts) => parts.iter().find_map(in_background),
        ShellScript::Step(_)
        | ShellScript::Not(_)
        | ShellScript::Pipe(_)
        | ShellScript::And(_)
        | ShellScript::Or(_)
        | ShellScript::If(_)
        | ShellScript::For(_)
        | ShellScript::While(_)
        | ShellScript::Case(_)
        | ShellScript::Subshell(_)
        | ShellScript::Unknown => None,
    }
}

/// Options of a shell.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    /// `set -e`.
    errexit: bool,
    /// `set -o pipefail`.
    pipefail: bool,
}

/// The state of a shell that matters for the exit status.
#[derive(Debug, Clone, Copy, Default)]
struct Shell {
    /// How many more scripts may be nested.
    depth: usize,
    flags: Flags,
    /// True where a failure is looked at, so that `set -e` does not apply.
    guarded: bool,
    /// How the previous command can have ended; 0 if there is none.
    last: Ends,
    /// True if the script sets variables.
    sets: bool,
}

impl Shell {
    fn status(&mut self, script: &ShellScript) -> EndStatus {
        let mut status = match script {
            ShellScript::Step(step) => self.step(step),
            ShellScript::Not(inner) => self.looked_at(inner).negated(),
            ShellScript::Pipe(parts) => self.pipe(parts),
            ShellScript::And(both) => return self.and(both),
            ShellScript::Or(both) => return self.or(both),
            ShellScript::List(parts) => return self.list(parts),
            ShellScript::If(parts) => return self.branch(parts),
            ShellScript::For(body) => return self.repeated(body, OK),
            ShellScript::While(both) => {
                let [condition, body] = both.as_ref();
                let condition = self.looked_at(condition);
                // It may also never end.
                let ends = if condition.is_open() { EITHER } else { OK };
                return self.repeated(body, ends);
            }
            ShellScript::Case(branches) => return self.case(branches),
            ShellScript::Subshell(inner) => {
                let mut inside = *self;
                inside.status(inner).contained()
            }
            // A server, for example, that what follows checks.
            ShellScript::Background(_) => {
                EndStatus { ends: OK, why: Some(Vacuous::Masked), hidden: None }
            }
            ShellScript::Unknown => EndStatus::of(EITHER),
        };
        if self.flags.errexit
            && !self.guarded
            && status.is(FAILS)
            && !matches!(script, ShellScript::Not(_))
        {
            status.ends = status.ends & !FAILS | ABORTS;
        }
        self.last = status.ends;
        status
    }

    /// The status of a script whose failure is looked at.
    fn looked_at(&mut self, script: &ShellScript) -> EndStatus {
        let before = std::mem::replace(&mut self.guarded, true);
        let status = self.status(script);
        self.guarded = before;
        status
    }

    fn list(&mut self, parts: &[ShellScript]) -> EndStatus {
        let mut all = EndStatus::of(OK);
        for (at, part) in parts.iter().enumerate() {
            let mut status = self.status(part);
            if status.is(FAILS) && parts.get(at + 1).is_some_and(|next| !reads_status(next)) {
                hide(&mut status, part, By::Sequence);
            }
            all.ends = all.ends & QUITS | status.ends;
            all.hidden = all.hidden.or(status.hidden);
            all.why = if all.hidden.is_some() { Some(Vacuous::Masked) } else { status.why };
            if !all.is(EITHER) {
                break;
            }
        }
        all
    }

    fn and(&mut self, [left, right]: &[ShellScript; 2]) -> EndStatus {
        let first = self.looked_at(left);
        if !first.is(OK) {
            return first;
        }
        let second = self.status(right);
        self.last = first.ends & FAILS | second.ends;
        let ends = first.ends & !OK | second.ends;
        EndStatus { ends, why: second.why, hidden: first.hidden.or(second.hidden) }
    }

    fn or(&mut self, [left, right]: &[ShellScript; 2]) -> EndStatus {
        let mut first = self.looked_at(left);
        if !first.is(FAILS) {
            return first;
        }
        let second = self.status(right);
        let succeeds = second.is(OK | LEAVES);
        if first.is_open() && succeeds && !is_assignment(right) {
            hide(&mut first, left, By::Or);
        }
        self.last = first.ends & OK | second.ends;
        let ends = first.ends & !FAILS | second.ends;
        let why = if first.is_open() { Some(Vacuous::Masked) } else { second.why };
        EndStatus { ends, why, hidden: first.hidden.or(second.hidden) }
    }

    fn branch(&mut self, [when, then, otherwise]: &[ShellScript; 3]) -> EndStatus {
        let mut condition = self.looked_at(when);
        let mut all = EndStatus::of(condition.ends & QUITS);
        for (branch, taken) in [(then, OK), (otherwise, FAILS)] {
            if condition.is(taken) {
                let status = self.status(branch);
                all.ends |= status.ends;
                all.why = all.why.or(status.why);
                all.hidden = all.hidden.or(status.hidden);
            }
        }
        if condition.is_open() && !all.is(FAILS | ABORTS) {
            hide(&mut condition, when, By::Branch);
            all.why = Some(Vacuous::Masked);
        }
        self.last = all.ends;
        all.hidden = condition.hidden.or(all.hidden);
        all
    }

    /// The status of a loop. Only the last pass decides.
    fn repeated(&mut self, body: &ShellScript, ends: Ends) -> EndStatus {
        self.sets = true;
        let mut status = self.status(body);
        if status.is(OK) && status.is(FAILS) {
            hide(&mut status, body, By::Branch);
        }
        status.ends |= ends;
        self.last = status.ends;
        status
    }

    fn case(&mut self, branches: &[ShellScript]) -> EndStatus {
        let mut all = EndStatus::of(OK);
        for branch in branches {
            let mut inside = *self;
            let status = inside.status(branch);
            all.ends |= status.ends;
            all.why = all.why.or(status.why);
            all.hidden = all.hidden.or(status.hidden);
        }
        self.last = all.ends;
        all
    }

    fn pipe(&mut self, parts: &[ShellScript]) -> EndStatus {
        let mut all = EndStatus::of(OK);
        let mut any = 0;
        for (at, part) in parts.iter().enumerate() {
            let mut inside = *self;
            let mut status = inside.status(part).contained();
            any |= status.ends & FAILS;
            if at + 1 < parts.len() && status.is_open() && !self.flags.pipefail {
                hide(&mut status, part, By::Pipe);
            }
            all = EndStatus { hidden: all.hidden.or(status.hidden), ..status };
        }
        if self.flags.pipefail {
            all.ends |= any;
        }
        all.why = Some(Vacuous::Masked);
        all
    }

    fn step(&mut self, step: &ScriptStep) -> EndStatus {
        let is_run = |value: &String| value.contains("$(");
        let Some((program, args)) = step.words.split_first() else {
            self.sets |= !step.values.is_empty();
            // The status of `x=$(a)` is that of `a`.
            let ends = if step.values.iter().any(is_run) { EITHER } else { OK };
            return EndStatus { ends, why: Some(Vacuous::Masked), hidden: None };
        };
        let name = base_name(program);
        self.sets |= matches!(name, "read" | "export" | "." | "source" | "eval" | "set");
        match (name, args) {
            ("false", _) => return EndStatus { ends: FAILS, ..never(name) },
            ("exit" | "return", _) => return self.exit(args),
            ("set", _) => {
                self.set(args);
                return never("set");
            }
            ("test" | "[", _) => return self.condition(step, args),
            _ => {}
        }
        match self.wrapped(name, args, step.expands) {
            Some(status) => status,
            None => idle_commands::weighed(name, args).map_or_else(
                || EndStatus::of(EITHER),
                |why| EndStatus { ends: OK, why: Some(why), hidden: None },
            ),
        }
    }

    fn exit(self, args: &[String]) -> EndStatus {
        let program = "exit";
        match args.first().map(String::as_str) {
            Some("0") => EndStatus { ends: LEAVES, ..never(program) },
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                EndStatus::of(ABORTS)
            }
            None | Some("$?" | "\"$?\"") => {
                let last = if self.last == 0 { OK } else { self.last };
                EndStatus { ends: last, ..never(program) }.quitting()
            }
            Some(_) => EndStatus::of(QUITS),
        }
    }

    /// Evaluates a condition of `test`.
    fn condition(self, step: &ScriptStep, args: &[String]) -> EndStatus {
        let is_open = match args {
            [one, equals, other] if one == other && is_equals(equals) => false,
            [looks, path] if is_always_there(looks, path) => false,
            _ => self.looks(step, args),
        };
        if is_open {
            return EndStatus::of(EITHER);
        }
        let why = if step.expands { Vacuous::Unrelated } else { Vacuous::Constant };
        EndStatus { ends: OK, why: Some(why), hidden: None }
    }

    /// Returns true if a condition looks at files that may be missing, or at what a command printed.
    fn looks(self, step: &ScriptStep, args: &[String]) -> bool {
        /// Operators that look at files.
        const LOOKS: [&str; 25] = [
            "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-N", "-O", "-G", "-p",
            "-r", "-s", "-S", "-t", "-u", "-v", "-w", "-x", "-nt", "-ot", "-ef",
        ];
        let decides = |word: &String| {
            let is_variable = is_variable(word);
            match word.trim_matches('"') {
                "$?" => self.last & FAILS != 0,
                // A variable of the environment has nothing to do with the code.
                _ if is_variable => self.sets,
                plain => step.expands && plain.contains(['$', '*', '?', '[', '~', '`']),
            }
        };
        args.iter().any(|arg| LOOKS.contains(&arg.as_str()) || decides(arg))
    }

    fn set(&mut self, args: &[String]) {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (is_on, letters) = match (arg.strip_prefix('-'), arg.strip_prefix('+')) {
                (Some(letters), _) => (true, letters),
                (None, Some(letters)) => (false, letters),
                (None, None) => return,
            };
            if letters.contains('e') {
                self.flags.errexit = is_on;
            }
            if letters.ends_with('o') {
                match args.next().map(String::as_str) {
                    Some("errexit") => self.flags.errexit = is_on,
                    Some("pipefail") => self.flags.pipefail = is_on,
                    _ => {}
                }
            }
        }
    }

    /// Evaluates a command run by a wrapper such as `env`, `timeout` or `sh -c`; `None` if it is not such a program, or
    /// what it runs is not known.
    fn wrapped(&mut self, name: &str, args: &[String], expands: bool) -> Option<EndStatus> {
        let depth = self.depth.checked_sub(1)?;
        match name {
            "sh" | "ash" | "bash" | "dash" | "ksh" | "zsh" => {
                let mut shell = Self { depth, ..Self::default() };
                let text = shell.options(args)?;
                let line = CommandLine::parse(text).ok()?;
                Some(shell.status(&line.script()).contained())
            }
            "eval" => {
                let line = CommandLine::parse(&args.join(" ")).ok()?;
                Some(Self { depth, ..*self }.status(&line.script()))
            }
            "command" if args.first().is_some_and(|it| it == "-v" || it == "-V") => {
                Some(never(name))
            }
            _ => {
                let words = idle_commands::run_by(name, args)?;
                if words.is_empty() {
                    return Some(never(name));
                }
                let step = ScriptStep { values: Vec::new(), words: words.to_vec(), expands };
                let status = Self { depth, ..*self }.step(&step).contained();
                Some(if name == "exec" { status.quitting() } else { status })
            }
        }
    }

    /// Sets the options of a shell, and returns the script of `-c`.
    fn options<'a>(&mut self, args: &'a [String]) -> Option<&'a str> {
        let mut is_script = false;
        let mut rest = args;
        while let Some(option) = rest.first() {
            if option.len() < 2 || !option.starts_with(['-', '+']) {
                break;
            }
            let takes = option.ends_with('o') && !option.starts_with("--");
            let (these, after) = rest.split_at_checked(1 + usize::from(takes))?;
            if !option.starts_with("--") {
                self.set(these);
                is_script |= option.starts_with('-') && option.contains('c');
            }
            rest = after;
        }
        rest.first().filter(|_| is_script).map(String::as_str)
    }
}

fn never(program: &str) -> EndStatus {
    let why = Some(Vacuous::NeverFails { program: program.to_owned() });
    EndStatus { ends: OK, why, hidden: None }
}

/// Records that the failure of a script is hidden, unless the failure of a part of it is.
fn hide(status: &mut EndStatus, script: &ShellScript, by: By) {
    if status.is_open() && status.hidden.is_none() {
        status.hidden = Some(HiddenFailure::of(script, by));
    }
}

/// Returns true if the first command of a script reads the exit status of the one before.
fn reads_status(script: &ShellScript) -> bool {
    match script {
        ShellScript::Step(ScriptStep { words, values, .. }) => {
            let is_bare = matches!(words.as_slice(), [only] if only == "exit" || only == "return");
            is_bare || words.iter().chain(values).any(|word| word.contains("$?"))
        }
        ShellScript::Not(inner) => reads_status(inner),
        ShellScript::And(both) | ShellScript::Or(both) => {
            let [first, _] = both.as_ref();
            reads_status(first)
        }
        ShellScript::If(parts) => {
            let [when, ..] = parts.as_ref();
            reads_status(when)
        }
        ShellScript::Pipe(_)
        | ShellScript::List(_)
        | ShellScript::For(_)
        | ShellScript::While(_)
        | ShellScript::Case(_)
        | ShellScript::Subshell(_)
        | ShellScript::Background(_)
        | ShellScript::Unknown => false,
    }
}

/// Returns true if a condition holds in every directory: `test -d .`.
fn is_always_there(looks: &str, path: &str) -> bool {
    matches!(looks, "-d" | "-e" | "-r" | "-x")
        && path.split('/').all(|part| matches!(part, "" | "." | ".."))
}

fn is_equals(operator: &str) -> bool {
    matches!(operator, "=" | "==" | "-eq")
}

fn is_assignment(script: &ShellScript) -> bool {
    matches!(script, ShellScript::Step(step) if step.words.is_empty() && !step.values.is_empty())
}

/// Returns true for `$x`, `"$x"` and `${x}`, but not for `$?`.
fn is_variable(word: &str) -> bool {
    let name = word.trim_matches('"').strip_prefix('$');
    let name =
        name.map(|it| it.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or(it));
    name.is_some_and(|it| {
        !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
