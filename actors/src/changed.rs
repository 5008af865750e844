//! The effect of reading a change in the workspace or its history: the git diff, and files unknown to git.

use std::time::Duration;

use config::Mode;
use policy::{Verdict, quoted};
use sandbox::{Network, Writes};
use shell::CommandLine;
use tools::encoding::decode;
use tools::long_lines::shortened;
use tree::{Entry, RepoPath};

use crate::closed::JournalClosed;
use crate::commands::{Place, Runner};
use crate::effect::{Effect, Trace};
use crate::event::{Blob, Event};
use crate::look::Look;
use crate::looking::Elsewhere;
use crate::review::{FILE, Reviewed, ShownDiff, shown};
use crate::run::Run;
use crate::wording::Wording;

/// Reads a change as a diff, or returns why there is none.
pub async fn read(
    commands: &Runner,
    of: &Reviewed,
    words: &str,
) -> Result<Result<String, Wording>, JournalClosed> {
    commands.run.perform(&mut Reading { commands, of, words }).await
}

/// Answers a look with the output of git, within `room` bytes; `None` if the look does not concern git.
pub(crate) async fn told(commands: &Runner, look: &Look, room: usize) -> Option<Elsewhere> {
    let pathspec = |path: &Option<RepoPath>| {
        path.as_ref().map_or(String::new(), |path| format!(" {}", quoted(path.as_str())))
    };
    let (words, of) = match look {
        Look::GitStatus => ("status --short --branch".to_owned(), Output::Text),
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
            (format!("{show} {} --", quoted(revision)), Output::Diff)
        }
        Look::GitShow { revision, path: Some(path), .. } => {
            if let Err(why) = may_read(commands, path.as_str()) {
                return Some(Elsewhere::Nothing(why));
            }
            (
                format!("show --no-textconv {}", quoted(&format!("{revision}:./{path}"))),
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
        | Look::Ask { .. } => return None,
    };
    if commands.run.config().policy.mode == Mode::Plan {
        return Some(Elsewhere::Nothing("no process is started in plan mode".to_owned()));
    }
    Some(match git(commands, &words).await {
        Ok(text) if text.trim().is_empty() => Elsewhere::Told("nothing".to_owned()),
        Ok(text) => Elsewhere::Told(match of {
            Output::Text => text,
            Output::Diff => readable(commands, &text, room),
        }),
        Err(why) => Elsewhere::Nothing(why.to_string()),
    })
}

/// The kind of output git prints.
enum Output {
    Text,
    /// A diff, possibly preceded by a commit message; some of its files may not be readable.
    Diff,
}

/// Removes the files of a diff that may not be read or do not fit.
fn readable(commands: &Runner, diff: &str, room: usize) -> String {
    let begin = if diff.starts_with(FILE) {
        0
    } else {
        diff.find(&format!("\n{FILE}")).map_or(diff.len(), |at| at + 1)
    };
    let (message, diff) = diff.split_at(begin);
    let ShownDiff { text, left_out, .. } = shown(diff, room, |path| may_read(commands, path));
    let mut told = message.to_owned();
    for (path, why) in left_out {
        told.extend(["not shown: ", &path, ": ", &why, "\n"]);
    }
    told + &text
}

fn may_read(commands: &Runner, path: &str) -> Result<(), String> {
    commands.run.terms.rules.may_read(path).unasked()
}

fn quoted_words(words: &str) -> String {
    words.split_whitespace().map(quoted).collect::<Vec<_>>().join(" ")
}

async fn git(commands: &Runner, words: &str) -> Result<String, Wording> {
    let line =
        CommandLine::parse(&format!("{GIT} {words}")).map_err(|error| Wording::of(&error))?;
    let place = Place::discarding(&*commands.workspace, Network::Own);
    let place = Place { in_place_of: None, writes: Writes::Nothing, ..place };
    let outcome = commands.execute_in(place, &line, LIMIT).await;
    let output = outcome.output.text();
    if outcome.succeeded() {
        return Ok(output);
    }
    let fatal = output.lines().find(|line| line.starts_with("fatal: "));
    let said = fatal.or_else(|| output.lines().next()).unwrap_or("it said nothing");
    let said = said.trim_start_matches("fatal: ").trim_start_matches("warning: ");
    Err(Wording::from(format!("git: {said}")))
}

struct Reading<'c> {
    commands: &'c Runner,
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
const GIT: &str = "git --no-pager --no-optional-locks -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.quotePath=false";
const DIFF: &str = "diff --relative --no-color --no-ext-diff --no-textconv -M";
const LIMIT: Duration = Duration::from_mins(1);

impl Reading<'_> {
    async fn read(&self) -> Result<String, Wording> {
        match self.of {
            Reviewed::Made(diff) => Ok(self.commands.run.redactor.redact(diff).into_owned()),
            Reviewed::Staged => git(self.commands, &format!("{DIFF} --cached --")).await,
            Reviewed::Range(range) => {
                git(self.commands, &format!("{DIFF} {} --", quoted_words(range))).await
            }
            Reviewed::Uncommitted => {
                let tracked = match git(self.commands, &format!("{DIFF} HEAD --")).await {
                    Ok(diff) => diff,
                    // The repository has no commit yet.
                    Err(why) => {
                        git(self.commands, &format!("{DIFF} --cached --")).await.map_err(|_| why)?
                    }
                };
                let unknown = git(self.commands, "ls-files --others --exclude-standard").await?;
                Ok(tracked + &self.new_files(&unknown).await)
            }
        }
    }

    /// Returns files unknown to git as a diff that creates them. Files that may not be read are left out.
    async fn new_files(&self, names: &str) -> String {
        let (tree, terms) =
            (self.commands.workspace.reader().clone(), self.commands.run.terms.clone());
        let redactor = self.commands.run.redactor.clone();
        let names: Vec<RepoPath> =
            names.lines().filter_map(|name| RepoPath::parse(name).ok()).collect();
        tools::blocking::on_a_thread(move || {
            let max_bytes = terms.config.agent_loop.max_file_bytes;
            let created = |path: &RepoPath| {
                let head = format!("diff --git a/{path} b/{path}\nnew file mode 100644\n");
                let may_read = terms.rules.may_read(path.as_str()) == Verdict::Allow;
                let text = match tree.entry(path, max_bytes) {
                    Ok(Entry::File(file)) if may_read => {
                        decode(&file.bytes).map(|decoded| decoded.text.into_owned())
                    }
                    Ok(_) | Err(_) => None,
                };
                let text = shortened(&redactor.redact(&text?)).into_owned();
                let count = text.lines().count();
                let mut diff =
                    format!("{head}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n");
                text.lines().for_each(|line| diff.extend(["+", line, "\n"]));
                Some(diff)
            };
            names.iter().filter_map(created).collect()
        })
        .await
    }
}
