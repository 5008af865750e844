//! The effect of reading a change in the workspace or its history: the git diff, and files unknown to git.

use std::time::Duration;

use checks::missing_prerequisite::hidden_path;
use checks::wording::Wording;
use config::Mode;
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use facts::grammar::look::Look;
use facts::grammar::review::{FILE, Reviewed, ShownDiff, paths_of, shown_diff};
use policy::{Verdict, quoted_word};
use sandbox::{Network, TreeWrites};
use shell::{Captured, CommandLine};
use tools::count::counted;
use tools::encoding::decode;
use tools::long_lines::shortened;
use tree::{Entry, FileMode, IgnoredByGit, RepoPath, dirs_of_repository};

use crate::looks::look_result::LookResult;
use crate::run::Run;
use crate::run::command_runner::{CommandPlace, CommandRunner};
use crate::run::effect::{Effect, Trace};

/// Reads a change as a diff, or returns why there is none.
pub async fn read_change(
    commands: &CommandRunner,
    of: &Reviewed,
    words: &str,
) -> Result<Result<String, Wording>, JournalClosed> {
    commands.run.perform(&mut Reading { commands, of, words }).await
}

/// Answers a look with the output of git, within `room` bytes; `None` if the look does not concern git.
pub(crate) async fn answer_git_look(
    commands: &CommandRunner,
    look: &Look,
    room: usize,
) -> Option<LookResult> {
    let pathspec = |path: &Option<RepoPath>| {
        path.as_ref().map_or(String::new(), |path| format!(" {}", quoted_word(path.as_str())))
    };
    let (words, of) = match look {
        Look::GitStatus => ("status --short --branch -- .".to_owned(), Output::Text),
        Look::GitDiff { range, staged, path } => {
            let since = match range {
                Some(range) => quoted_words(range),
                None if *staged => "--cached".to_owned(),
                None => "HEAD".to_owned(),
            };
            (format!("{DIFF} {since} --{}", pathspec(path)), Output::Diff)
        }
        Look::GitShow { revision, path: None, .. } => {
            let show = DIFF.replacen("diff", "show", 1);
            (format!("{show} {} --", quoted_word(revision)), Output::Diff)
        }
        Look::GitShow { revision, path: Some(path), .. } => {
            if let Err(why) = may_read(commands, path.as_str()) {
                return Some(LookResult::Nothing(why));
            }
            (
                format!("show --no-textconv {}", quoted_word(&format!("{revision}:./{path}"))),
                Output::Text,
            )
        }
        Look::Context { .. }
        | Look::Search { .. }
        | Look::Symbol { .. }
        | Look::List { .. }
        | Look::Run { .. }
        | Look::Query { .. }
        | Look::Program { .. }
        | Look::Own { .. }
        | Look::ServerTool { .. }
        | Look::FindTool { .. }
        | Look::Ask { .. } => return None,
    };
    if commands.run.config().policy.mode == Mode::Plan {
        return Some(LookResult::Nothing("no process is started in plan mode".to_owned()));
    }
    Some(match git(commands, &words).await {
        Ok(text) if text.trim().is_empty() => LookResult::Told("nothing".to_owned()),
        Ok(text) => LookResult::Told(match of {
            Output::Text => text,
            Output::Diff => readable(commands, &text, room),
        }),
        Err(why) => LookResult::Nothing(why.to_string()),
    })
}

/// The kind of output git prints.
enum Output {
    Text,
    /// A diff, possibly preceded by a commit message; some of its files may not be readable.
    Diff,
}

/// Removes the files of a diff that may not be read or do not fit.
fn readable(commands: &CommandRunner, diff: &str, room: usize) -> String {
    let begin = if diff.starts_with(FILE) {
        0
    } else {
        diff.find(&format!("\n{FILE}")).map_or(diff.len(), |at| at + 1)
    };
    let (message, diff) = diff.split_at(begin);
    let ShownDiff { text, left_out, .. } = shown_diff(diff, room, |path| may_read(commands, path));
    let mut told = message.to_owned();
    for (path, why) in left_out {
        told.extend(["not shown: ", &path, ": ", &why, "\n"]);
    }
    told + &text
}

fn may_read(commands: &CommandRunner, path: &str) -> Result<(), String> {
    commands.run.terms.rules.may_read(path).unasked()
}

fn quoted_words(words: &str) -> String {
    words.split_whitespace().map(quoted_word).collect::<Vec<_>>().join(" ")
}

async fn git(commands: &CommandRunner, words: &str) -> Result<String, Wording> {
    ran(commands, words).await.map(|output| output.text())
}

/// Runs git and returns its output. If it fails, and the sandbox hides what it reads, the error says so.
async fn ran(commands: &CommandRunner, words: &str) -> Result<Captured, Wording> {
    let line =
        CommandLine::parse(&format!("{GIT} {words}")).map_err(|error| Wording::of(&error))?;
    let place = CommandPlace::discarding(&*commands.workspace, Network::Own);
    let place = CommandPlace { in_place_of: None, writes: TreeWrites::Nothing, ..place };
    let fence = commands.fence(&place);
    let outcome = commands.execute_in(place, &line, LIMIT).await;
    if outcome.succeeded() {
        return Ok(outcome.output);
    }
    let output = outcome.output.text();
    let fatal = output.lines().find(|line| line.starts_with("fatal: "));
    let said = fatal.or_else(|| output.lines().next()).unwrap_or("it said nothing");
    let said = said.trim_start_matches("fatal: ").trim_start_matches("warning: ");
    let root = commands.workspace.reader().root().to_owned();
    let read = tools::blocking::on_a_thread(move || dirs_of_repository(&root)).await;
    let hidden = fence.first_hidden(read).await.map(|path| {
        let cure = hidden_path(&path).cure.unwrap_or_default();
        format!("; the sandbox hides {}, which this shows: {cure}", path.display())
    });
    Err(Wording::from(format!("git: {said}{}", hidden.unwrap_or_default())))
}

/// Reads the diff that git makes of `since`, in all of the workspace or in `paths`, which begin with a space. Files for which there was no room are named in it.
async fn diff(commands: &CommandRunner, since: &str, paths: &str) -> Result<String, Wording> {
    let (head, tail) = ran(commands, &format!("{DIFF} {since} --{paths}")).await?.parts();
    if tail.is_empty() {
        return Ok(head);
    }
    // The files around the omitted middle are not complete.
    let until = head.rfind(&format!("\n{FILE}")).map_or(0, |at| at + 1);
    let from = tail.find(&format!("\n{FILE}")).map_or(tail.len(), |at| at + 1);
    let whole = |text: &str| text.to_owned();
    let mut shown =
        head.get(..until).map(whole).unwrap_or_default() + tail.get(from..).unwrap_or_default();
    let names = git(commands, &format!("{DIFF} --name-only -z {since} --{paths}")).await?;
    let are_shown = paths_of(&shown);
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        if !are_shown.iter().any(|path| path == name) {
            shown.push_str(&unshown(name, "the whole diff is too large"));
        }
    }
    Ok(shown)
}

struct Reading<'c> {
    commands: &'c CommandRunner,
    of: &'c Reviewed,
    /// As the user wrote it.
    words: &'c str,
}

impl Effect for Reading<'_> {
    type Outcome = Result<String, Wording>;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Self::Outcome> {
        let Event::DiffRead { diff, failed, .. } = event else { return Trace::Absent };
        let diff = String::from_utf8_lossy(&diff.content).into_owned();
        Trace::Done(failed.clone().map_or(Ok(diff), Err))
    }

    async fn act(&mut self, run: &Run) -> Result<Self::Outcome, JournalClosed> {
        let read = self.read().await;
        let (diff, failed) = match &read {
            Ok(diff) => (diff.clone(), None),
            Err(why) => (String::new(), Some(why.clone())),
        };
        let of = run.redactor.redact(self.words).into_owned();
        run.publish(Event::DiffRead { of, diff: Blob::new(diff), failed }).await?;
        Ok(read)
    }
}

/// Turns off everything git would do on its own: hooks, helpers, pagers, drivers, and all writes.
const GIT: &str = "git --no-pager --no-optional-locks --literal-pathspecs -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.quotePath=false -c core.safecrlf=false -c diff.suppressBlankEmpty=false -c diff.orderFile=/dev/null";
/// Keeps to the user's settings in what is compared, but not in the form that is read here.
const DIFF: &str = "diff --relative --no-color --no-ext-diff --no-textconv --submodule=short --src-prefix=a/ --dst-prefix=b/";
/// Lists new files, as the user's settings have it.
const STATUS: &str = "status --porcelain=v1 -z -- .";
const NEW: &str = "ls-files --others --exclude-standard -z";
const LIMIT: Duration = Duration::from_mins(1);

impl Reading<'_> {
    async fn read(&self) -> Result<String, Wording> {
        match self.of {
            Reviewed::Made(diff) => Ok(self.commands.run.redactor.redact(diff).into_owned()),
            Reviewed::Staged => diff(self.commands, "--cached", "").await,
            Reviewed::Range(range) => diff(self.commands, &quoted_words(range), "").await,
            Reviewed::Uncommitted => {
                let tracked = match diff(self.commands, "HEAD", "").await {
                    Ok(diff) => diff,
                    // The repository has no commit yet.
                    Err(why) => diff(self.commands, "--cached", "").await.map_err(|_| why)?,
                };
                Ok(tracked + &self.new_files(&self.new_names().await?).await)
            }
        }
    }

    /// Returns the names of files unknown to git, each with a NUL after it; none if the user's git does not show them.
    async fn new_names(&self) -> Result<String, Wording> {
        let (status, tail) = ran(self.commands, STATUS).await?.parts();
        // A rename has its second name in an entry of its own, which has no mark.
        if !status.split('\0').chain(tail.split('\0')).any(|entry| entry.starts_with("?? ")) {
            return Ok(String::new());
        }
        let (names, rest) = ran(self.commands, NEW).await?.parts();
        if rest.is_empty() {
            return Ok(names);
        }
        Err("git: there are more new files than can be listed; commit or ignore some".into())
    }

    /// Returns files unknown to git as a diff that creates them. Those that are not shown are named with the reason.
    async fn new_files(&self, names: &str) -> String {
        let (tree, terms) =
            (self.commands.workspace.reader().clone(), self.commands.run.terms.clone());
        let redactor = self.commands.run.redactor.clone();
        let names: Vec<String> =
            names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        tools::blocking::on_a_thread(move || {
            let max_bytes = terms.config.agent_loop.max_file_bytes;
            let created = |name: &String| {
                let Ok(path) = RepoPath::parse(name) else {
                    let dir = name.strip_suffix('/');
                    let why = if dir.is_some() { "a repository of its own" } else { "its name" };
                    return unshown(dir.unwrap_or(name), why);
                };
                // Whoever shows the diff says why a file may not be read.
                if terms.rules.may_read(path.as_str()) != Verdict::Allow {
                    return unshown(name, "it may not be read");
                }
                let file = match tree.entry_or_link(&path, max_bytes) {
                    Ok(Entry::File(file)) => file,
                    Ok(Entry::TooLarge { bytes }) => {
                        return unshown(name, &counted(bytes, "byte"));
                    }
                    Ok(_) | Err(_) => return unshown(name, "it cannot be read"),
                };
                let mode = match file.mode {
                    FileMode::Regular => "100644",
                    FileMode::Executable => "100755",
                    FileMode::Symlink => "120000",
                };
                let head = format!("{FILE}a/{path} b/{path}\nnew file mode {mode}\n");
                let Some(decoded) = decode(&file.bytes) else {
                    return format!("{head}Binary files /dev/null and b/{path} differ\n");
                };
                if decoded.text.is_empty() {
                    return head;
                }
                let text = shortened(&redactor.redact(&decoded.text)).into_owned();
                let count = text.lines().count();
                let mut diff =
                    format!("{head}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n");
                text.lines().for_each(|line| diff.extend(["+", line, "\n"]));
                diff
            };
            // Git does not see in the sandbox which file of the user the repository's settings name.
            let ignored = IgnoredByGit::below(tree.root());
            let is_new = |name: &&String| !ignored.has(&tree.root().join(name));
            names.iter().filter(is_new).map(created).collect()
        })
        .await
    }
}

/// Returns a section of a diff for a file that is not shown.
fn unshown(path: &str, why: &str) -> String {
    let path = path.replace(char::is_control, "?");
    format!("{FILE}a/{path} b/{path}\n(not shown: {why})\n")
}
