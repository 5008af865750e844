//! The commands of the conversation: a word behind a slash. Pure.

use crate::conversation::Setting;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Help,
    Exit,
    /// The text behind it is an edit.
    Edit,
    /// The text behind it is a question.
    Ask,
    /// The text behind it is planned and not done.
    Plan,
    /// Changes are reviewed, those that the text behind it names.
    Review,
    /// What follows keeps to another configuration.
    Set(Setting),
    /// The request at work is told.
    Now,
    Queue,
    Status,
    Redraw,
    /// What was printed is read on a screen of its own.
    Transcript,
    /// Another session takes the place of this one.
    Resume,
    /// A new one does.
    Clear,
    /// What the last request changed is taken back.
    Undo,
    /// A command of the program: these words, and those behind it.
    Program(&'static [&'static str]),
}

/// A command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) what: What,
}

const fn command(name: &'static str, about: &'static str, what: What) -> Command {
    Command { name, about, what }
}

/// All of them, in the order in which they are listed.
pub(crate) const COMMANDS: [Command; 33] = [
    command("help", "list commands and keys", What::Help),
    command("edit", "treat the text as an edit", What::Edit),
    command("ask", "treat the text as a question", What::Ask),
    command("plan", "make a plan and stop", What::Plan),
    command("review", "review uncommitted changes, or a range", What::Review),
    command("diff", "show staged patches, or a run's changes", What::Program(&["diff"])),
    command("apply", "apply a staged patch", What::Program(&["apply"])),
    command("undo", "undo what the last request changed", What::Undo),
    command("commit", "commit what was changed, and nothing else", What::Program(&["commit"])),
    command("rewind", "list checkpoints, or go back to one", What::Program(&["rewind"])),
    command("lanes", "show what a lane changed: its number", What::Program(&["diff", "--lane"])),
    command("model", "have another model answer", What::Set(Setting::Model)),
    command("thinking", "on, off, or auto as configured", What::Set(Setting::Thinking)),
    command("mode", "plan, agent, yolo or hetun (also Tab)", What::Set(Setting::Mode)),
    command("approval", "suggest, auto or never", What::Set(Setting::Approval)),
    command("now", "tell the request at work", What::Now),
    command("queue", "list the queue; go, drop N, clear", What::Queue),
    command("status", "show the session and its settings", What::Status),
    command("cost", "add up calls, tokens and cost", What::Program(&["usage"])),
    command("sessions", "list sessions, or show one", What::Program(&["sessions"])),
    command("resume", "resume another session: its id, or pick", What::Resume),
    command("clear", "begin a new session (also /new)", What::Clear),
    command("transcript", "read what was printed (also Ctrl-T)", What::Transcript),
    command("explain", "explain an event and its causes", What::Program(&["explain"])),
    command("init", "write AGENTS.md and a configuration", What::Program(&["init"])),
    command("config", "show or change the configuration", What::Program(&["config"])),
    command("memory", "list, change or forget what is remembered", What::Program(&["memory"])),
    command("tools", "list the tools that models may call", What::Program(&["tools"])),
    command("policy", "show what may happen without asking", What::Program(&["policy"])),
    command("trust", "let this workspace configure in full", What::Program(&["trust"])),
    command("doctor", "check whether everything is in place", What::Program(&["doctor"])),
    command("redraw", "paint the live rows again", What::Redraw),
    command("exit", "leave (also Ctrl-D)", What::Exit),
];

/// What a line asks for, which begins with a slash.
pub(crate) fn read(line: &str) -> Result<(What, &str), String> {
    let rest = line.trim_start_matches('/');
    let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = match name {
        "quit" => "exit",
        "new" => "clear",
        name => name,
    };
    let found = COMMANDS.iter().find(|command| command.name == name);
    found.map(|command| (command.what, text.trim())).ok_or_else(|| {
        let near =
            COMMANDS.iter().find(|command| !name.is_empty() && command.name.starts_with(name));
        match near {
            Some(near) => format!("there is no command /{name}; did you mean /{}?", near.name),
            None => format!("there is no command /{name}; /help lists them"),
        }
    })
}

/// The lines of `/help`.
pub(crate) fn help() -> String {
    let mut text = String::from("Say what you want to know or have changed.\n");
    for Command { name, about, .. } in &COMMANDS {
        text.push_str(&format!("  /{name:<10} {about}\n"));
    }
    text + "  !COMMAND    run a command in the sandbox
  @PATH       name a file; Tab completes
Keys:
  Enter       send; while a request is at work: queue
  Ctrl-Enter  tell the request at work (as /now)
  Alt-Enter   begin a new line (also Ctrl-J, or \\ before Enter)
  Up, Ctrl-R  bring back an earlier message
  Tab         the next mode: plan, agent, yolo, hetun
  Ctrl-T      read what was printed
  Ctrl-X Ctrl-E  edit the input in $EDITOR
  Esc Esc     stop the request (also Ctrl-C)
  Ctrl-D      leave (also Ctrl-C twice)
"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_by_its_whole_name_only() {
        assert_eq!(read("/edit  fix it "), Ok((What::Edit, "fix it")));
        assert_eq!(read("/quit"), Ok((What::Exit, "")));
        assert_eq!(read("/new"), Ok((What::Clear, "")));
        assert!(read("/ex").is_err_and(|why| why.contains("/explain")));
        assert!(read("/").is_err_and(|why| why.contains("/help")));
    }

    #[test]
    fn help_fits_a_narrow_terminal() {
        for line in help().lines() {
            assert!(line.len() <= 64, "{line}");
        }
    }
}
