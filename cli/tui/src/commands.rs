//! The slash commands of the conversation. Pure.

use orchestrator::request::intent::RequestIntent;
use tools::ids::short_id;

use crate::conversation::ConversationSetting;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Help,
    Exit,
    /// Treats the text as an edit.
    Edit,
    /// Treats the text as a question.
    Ask,
    /// Plans the text without changing anything.
    Plan,
    /// Reviews the changes that the text names; uncommitted changes if it is empty.
    Review,
    /// Changes a setting for the requests that follow.
    Set(ConversationSetting),
    /// Sends a message to the running request.
    Now,
    Queue,
    Status,
    /// Summarizes the conversation for the requests that follow.
    Compact,
    /// Shows what fills the context.
    Context,
    Redraw,
    /// Shows the printed text on the alternate screen.
    Transcript,
    /// Switches to another session.
    Resume,
    /// Switches to a new session.
    Clear,
    /// Undoes what the last request changed.
    Undo,
    /// Runs a command of the program: these words, followed by the text.
    Program(&'static [&'static str]),
}

/// A command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SlashCommand {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) what: What,
}

const fn command(name: &'static str, about: &'static str, what: What) -> SlashCommand {
    SlashCommand { name, about, what }
}

/// All commands, in the order in which they are listed.
pub(crate) const COMMANDS: [SlashCommand; 39] = [
    command("help", "list commands and keys", What::Help),
    command("edit", "treat the text as an edit", What::Edit),
    command("ask", "treat the text as a question", What::Ask),
    command("plan", "plan the text; alone, switch to plan mode", What::Plan),
    command("review", "review uncommitted changes, or a range", What::Review),
    command("diff", "show staged patches, or a run's changes", What::Program(&["diff"])),
    command("apply", "apply a staged patch", What::Program(&["apply"])),
    command("undo", "undo what the last request changed", What::Undo),
    command("commit", "commit what deepseek changed, nothing else", What::Program(&["commit"])),
    command("rewind", "list checkpoints, or undo changes back to one", What::Program(&["rewind"])),
    command("lanes", "show the changes of a lane, by number", What::Program(&["diff", "--lane"])),
    command("model", "switch to another model", What::Set(ConversationSetting::Model)),
    command("thinking", "on, off, or auto as configured", What::Set(ConversationSetting::Thinking)),
    command("mode", "plan, agent, yolo or hetun (also Tab)", What::Set(ConversationSetting::Mode)),
    command("approval", "suggest, auto or never", What::Set(ConversationSetting::Approval)),
    command("now", "send a message to the running request", What::Now),
    command("queue", "list the queue; go, drop N, clear", What::Queue),
    command("status", "show the session and its settings", What::Status),
    command("context", "show what fills the context, in tokens", What::Context),
    command("compact", "summarize the conversation so far", What::Compact),
    command("cost", "add up calls, tokens and cost (also /usage)", What::Program(&["usage"])),
    command("sessions", "list sessions, or show one", What::Program(&["sessions"])),
    command("resume", "resume another session, by id or from a list", What::Resume),
    command("clear", "start a new session (also /new)", What::Clear),
    command("transcript", "scroll through the output (also Ctrl-T)", What::Transcript),
    command("fork", "start a session from an earlier point", What::Program(&["fork"])),
    command("export", "print a session as Markdown, JSON or HTML", What::Program(&["export"])),
    command("replay", "check that a session can be repeated", What::Program(&["replay"])),
    command("explain", "explain an event and its causes", What::Program(&["explain"])),
    command("init", "write AGENTS.md and a configuration", What::Program(&["init"])),
    command("config", "show or change the configuration", What::Program(&["config"])),
    command("memory", "list, edit or delete what is remembered", What::Program(&["memory"])),
    command("mcp", "list and approve servers of tools", What::Program(&["mcp"])),
    command("tools", "list the tools that models may call", What::Program(&["tools"])),
    command("policy", "show what is allowed without asking", What::Program(&["policy"])),
    command("trust", "trust the configuration of this workspace", What::Program(&["trust"])),
    command("doctor", "check the setup", What::Program(&["doctor"])),
    command("redraw", "repaint the live rows", What::Redraw),
    command("exit", "leave (also Ctrl-D)", What::Exit),
];

/// Parses a line that starts with a slash into a command and its text. The error names the nearest command.
pub(crate) fn read_slash_command(line: &str) -> Result<(What, &str), String> {
    let rest = line.trim_start_matches('/');
    let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = match name {
        "quit" => "exit",
        "new" => "clear",
        "usage" => "cost",
        name => name,
    };
    if name == "normal" {
        return Ok((What::Set(ConversationSetting::Mode), "agent"));
    }
    let found = COMMANDS.iter().find(|command| command.name == name);
    found.map(|command| (command.what, text.trim())).ok_or_else(|| match nearest(name) {
        Some(near) => format!("there is no command /{name}; did you mean /{near}?"),
        None => format!("there is no command /{name}; /help lists them"),
    })
}

/// Returns the command that a name was probably meant to be.
fn nearest(name: &str) -> Option<&'static str> {
    crate::nearest::nearest(name, COMMANDS.iter().map(|command| command.name))
}

/// The meaning of a line in plain mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlainLine {
    /// A request, with its intent if the line states one.
    Request(String, Option<RequestIntent>),
    /// A review of these changes.
    Review(String),
    /// A command of the program.
    Program(Vec<String>),
    /// A shell command.
    Shell(String),
    /// A setting to change for the requests that follow.
    Set(ConversationSetting, String),
    /// These lines, which list the commands.
    Help(String),
    /// Show the session and its settings.
    Status,
    /// Summarize the conversation.
    Compact,
    /// Show what fills the context.
    Context,
    /// Undo what the last request changed.
    Undo,
    /// Switch to the session with this id.
    Resume(String),
    /// Switch to a new session.
    Clear,
    /// The user leaves.
    Exit,
    /// Not possible, for this reason.
    Not(String),
}

/// Parses a complete line in plain mode.
pub fn read_plain_line(text: &str) -> PlainLine {
    if let Some(command) = text.strip_prefix('!') {
        return match command.trim() {
            "" => PlainLine::Not("usage: !COMMAND runs a command in the sandbox".to_owned()),
            command => PlainLine::Shell(command.to_owned()),
        };
    }
    if let Some(question) = text.strip_prefix("? ") {
        return PlainLine::Request(question.to_owned(), Some(RequestIntent::Answer));
    }
    if is_word_of_leaving(text) {
        return PlainLine::Exit;
    }
    if !text.starts_with('/') {
        return PlainLine::Request(text.to_owned(), None);
    }
    let (what, rest) = match read_slash_command(text) {
        Ok(read) => read,
        Err(_) if is_path(text) => return PlainLine::Request(text.to_owned(), None),
        Err(why) => return PlainLine::Not(why),
    };
    let request = |intent| PlainLine::Request(rest.to_owned(), Some(intent));
    match what {
        What::Help => PlainLine::Help(plain_help()),
        What::Exit => PlainLine::Exit,
        What::Plan if rest.is_empty() => {
            PlainLine::Set(ConversationSetting::Mode, "plan".to_owned())
        }
        What::Edit | What::Ask if rest.is_empty() => PlainLine::Not(format!("usage: {text} TEXT")),
        What::Edit => request(RequestIntent::Edit),
        What::Ask => request(RequestIntent::Answer),
        What::Plan => request(RequestIntent::Plan),
        What::Review => PlainLine::Review(rest.to_owned()),
        What::Set(setting) if rest.is_empty() => PlainLine::Not(setting.takes().to_owned()),
        What::Set(setting) => PlainLine::Set(setting, rest.to_owned()),
        What::Status => PlainLine::Status,
        What::Compact => PlainLine::Compact,
        What::Context => PlainLine::Context,
        What::Undo => PlainLine::Undo,
        What::Resume if rest.is_empty() => {
            PlainLine::Not("usage: /resume ID; /sessions lists them".to_owned())
        }
        What::Resume => PlainLine::Resume(rest.to_owned()),
        What::Clear => PlainLine::Clear,
        What::Now | What::Queue | What::Redraw | What::Transcript => {
            PlainLine::Not(format!("{text} is not available in plain mode"))
        }
        What::Program(words) => {
            of_the_program(words, rest).map_or_else(PlainLine::Not, PlainLine::Program)
        }
    }
}

/// Returns the words of a command of the program. Without words of the user, one that has several parts shows or lists; an
/// error says what it needs.
pub(crate) fn of_the_program(words: &[&str], rest: &str) -> Result<Vec<String>, String> {
    let part = match words {
        [.., "--lane"] if rest.is_empty() => {
            return Err("/lanes NN: the number of a lane".to_owned());
        }
        ["config" | "policy"] if rest.is_empty() => Some("show"),
        ["memory" | "tools"] if rest.is_empty() => Some("list"),
        _ => None,
    };
    Ok(words.iter().copied().chain(part).map(str::to_owned).chain(given_words(rest)?).collect())
}

/// Returns the setting that a command of the program stores, if conversations have it: then it also holds at once.
pub fn also_sets(words: &[String]) -> Option<(ConversationSetting, String)> {
    let [config, set, key, value] = words else { return None };
    let setting = match key.as_str() {
        "policy.approval" => ConversationSetting::Approval,
        "policy.mode" => ConversationSetting::Mode,
        _ => return None,
    };
    (config == "config" && set == "set").then(|| (setting, value.clone()))
}

/// Splits a text into words, at blanks outside of quotation marks, as a shell does.
fn given_words(text: &str) -> Result<Vec<String>, String> {
    // A shell would also take `#3` for a comment.
    if !text.contains(['\'', '"', '\\']) {
        return Ok(text.split_whitespace().map(str::to_owned).collect());
    }
    shlex::split(text).ok_or_else(|| {
        "a quotation mark is not closed; put a text with an apostrophe in double ones: \"don't\""
            .to_owned()
    })
}

/// Returns true if the line starts with a path instead of a command.
pub(crate) fn is_path(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.trim_start_matches('/').contains('/')
}

/// Returns true if the line is the word with which other programs are left.
pub(crate) fn is_word_of_leaving(line: &str) -> bool {
    matches!(line, "exit" | "quit" | ":q")
}

/// Returns the lines of `/help` in plain mode.
fn plain_help() -> String {
    let mut text = String::from("Ask a question or describe a change.\n");
    for SlashCommand { name, about, what } in &COMMANDS {
        if !matches!(what, What::Now | What::Queue | What::Redraw | What::Transcript) {
            text.push_str(&format!("  /{name:<10} {about}\n"));
        }
    }
    text + "  !COMMAND    run a command in the sandbox\n  Ctrl-C      stop the running request"
}

/// Rewrites commands in a text from their shell form to their slash form, as far as the conversation has them.
pub fn as_slash_commands(text: &str) -> String {
    const GIVEN: &str = "`deepseek ";
    let mut parts = text.split(GIVEN);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let name = part.split([' ', '`']).next().unwrap_or_default();
        let is_here = COMMANDS.iter().any(|command| command.name == name);
        text + if is_here { "`/" } else { GIVEN } + part
    })
}

/// Says that a session cannot be resumed now, because another process has it open.
pub fn open_elsewhere(session: &str) -> String {
    format!("another process is using the session {}", short_id(session))
}

/// Returns the lines of `/help`.
pub(crate) fn help() -> String {
    let mut text = String::from("Ask a question or describe a change.\n");
    for SlashCommand { name, about, .. } in &COMMANDS {
        text.push_str(&format!("  /{name:<10} {about}\n"));
    }
    text + "  !COMMAND    run a command in the sandbox
  @PATH       name a file or an image; Tab completes
Keys:
  Enter       send, or queue while a request is running
  Ctrl-Enter  send to the running request (as /now)
  Alt-Enter   start a new line (also Ctrl-J, or \\ before Enter)
  Up, Ctrl-R  recall an earlier message
  Tab         complete the word; with no text, switch the mode
  Ctrl-T      page through the output (your terminal scrolls it)
  Ctrl-X Ctrl-E  edit the input in $EDITOR
  Esc         close a menu, stop the request, unqueue, clear
  Ctrl-D      leave (also Ctrl-C twice)
"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_command_names_are_accepted() {
        assert_eq!(read_slash_command("/edit  fix it "), Ok((What::Edit, "fix it")));
        assert_eq!(read_slash_command("/quit"), Ok((What::Exit, "")));
        assert_eq!(read_slash_command("/new"), Ok((What::Clear, "")));
        assert_eq!(read_slash_command("/usage"), read_slash_command("/cost"));
        assert!(read_slash_command("/exi").is_err_and(|why| why.contains("/exit")));
        assert!(read_slash_command("/").is_err_and(|why| why.contains("/help")));
    }

    #[test]
    fn an_open_quotation_mark_is_an_error() {
        assert!(
            of_the_program(&["commit"], "-m don't").is_err_and(|why| why.contains("\"don't\""))
        );
    }

    #[test]
    fn a_misspelled_command_is_answered_with_a_suggestion() {
        for (typed, meant) in [
            ("comit", "/commit"),
            ("commmit", "/commit"),
            ("udno", "/undo"),
            ("statsu", "/status"),
            ("mdoel", "/model"),
            ("hepl", "/help"),
            ("reviw", "/review"),
        ] {
            let why = read_slash_command(&format!("/{typed}")).unwrap_err();
            assert!(why.ends_with(&format!("did you mean {meant}?")), "{why}");
        }
        for typed in ["xyz", "frobnicate", "你好"] {
            assert!(
                read_slash_command(&format!("/{typed}"))
                    .is_err_and(|why| !why.contains("did you mean"))
            );
        }
    }

    #[test]
    fn commands_in_text_are_rewritten_to_their_slash_form() {
        assert_eq!(
            as_slash_commands("`deepseek diff 1` shows it, `deepseek auth login` keeps the key"),
            "`/diff 1` shows it, `deepseek auth login` keeps the key"
        );
        assert_eq!(as_slash_commands("no command"), "no command");
    }

    #[test]
    fn plain_mode_has_the_same_commands() {
        let request = |text: &str, intent| PlainLine::Request(text.to_owned(), intent);
        let words =
            |words: &[&str]| PlainLine::Program(words.iter().map(|&it| it.to_owned()).collect());
        for (text, asked) in [
            ("fix it", request("fix it", None)),
            ("/src/x.rs fails", request("/src/x.rs fails", None)),
            ("? why", request("why", Some(RequestIntent::Answer))),
            ("/edit fix it", request("fix it", Some(RequestIntent::Edit))),
            ("/review HEAD~1", PlainLine::Review("HEAD~1".to_owned())),
            ("/diff --run latest", words(&["diff", "--run", "latest"])),
            ("/config", words(&["config", "show"])),
            ("/config get llm.base_url", words(&["config", "get", "llm.base_url"])),
            ("/tools", words(&["tools", "list"])),
            ("/lanes 02", words(&["diff", "--lane", "02"])),
            ("/mode yolo", PlainLine::Set(ConversationSetting::Mode, "yolo".to_owned())),
            ("/normal", PlainLine::Set(ConversationSetting::Mode, "agent".to_owned())),
            ("/plan", PlainLine::Set(ConversationSetting::Mode, "plan".to_owned())),
            ("!ls -l", PlainLine::Shell("ls -l".to_owned())),
            ("/quit", PlainLine::Exit),
            ("exit", PlainLine::Exit),
            ("exit early on errors", request("exit early on errors", None)),
            ("/config add x 'make test'", words(&["config", "add", "x", "make test"])),
            ("/commit -m \"it's done\"", words(&["commit", "-m", "it's done"])),
            ("/rewind #3", words(&["rewind", "#3"])),
        ] {
            assert_eq!(read_plain_line(text), asked, "{text}");
        }
        for text in ["/comit", "/now stop", "/mode", "/edit", "!", "/resume", "/lanes"] {
            assert!(matches!(read_plain_line(text), PlainLine::Not(_)), "{text}");
        }
        assert!(plain_help().contains("/commit") && !plain_help().contains("/redraw"));
    }

    #[test]
    fn help_fits_a_narrow_terminal() {
        for line in help().lines() {
            assert!(line.len() <= 64, "{line}");
        }
    }
}
