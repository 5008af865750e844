//! The effect of reading a change that is in the workspace or in its history: what git says of it, and files it does not know.

use std::time::Duration;

use policy::quoted;
use sandbox::{Network, Writes};
use shell::{CommandLine, CommandOutcome};
use tree::{Entry, RepoPath};

use crate::closed::JournalClosed;
use crate::commands::{Place, Runner};
use crate::effect::{Effect, Trace};
use crate::event::{Blob, Event};
use crate::review::Reviewed;
use crate::run::Run;
use crate::wording::Wording;

/// Reads a change as a diff; or why there is none.
pub async fn read(
    commands: &Runner,
    of: &Reviewed,
    words: &str,
) -> Result<Result<String, Wording>, JournalClosed> {
    commands.run.perform(&mut Reading { commands, of, words }).await
}

struct Reading<'c> {
    commands: &'c Runner,
    of: &'c Reviewed,
    /// As the user named it.
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

/// What git does by itself is left out: hooks, helpers, pagers, drivers, and everything that would be written.
const GIT: &str =
    "git --no-pager --no-optional-locks -c core.fsmonitor=false -c core.hooksPath=/dev/null";
const DIFF: &str = "diff --relative --no-color --no-ext-diff --no-textconv -M";
const LIMIT: Duration = Duration::from_mins(1);

impl Reading<'_> {
    async fn read(&self) -> Result<String, Wording> {
        match self.of {
            Reviewed::Staged => self.git(&format!("{DIFF} --cached --")).await,
            Reviewed::Range(range) => {
                let revisions: Vec<String> = range.split_whitespace().map(quoted).collect();
                self.git(&format!("{DIFF} {} --", revisions.join(" "))).await
            }
            Reviewed::Uncommitted => {
                let tracked = match self.git(&format!("{DIFF} HEAD --")).await {
                    Ok(diff) => diff,
                    // There is no commit yet.
                    Err(why) => self.git(&format!("{DIFF} --cached --")).await.map_err(|_| why)?,
                };
                let unknown = self.git("ls-files --others --exclude-standard").await?;
                Ok(tracked + &self.new_files(&unknown).await)
            }
        }
    }

    async fn git(&self, words: &str) -> Result<String, Wording> {
        let outcome = self.run(&format!("{GIT} {words}")).await?;
        let output = outcome.output.text();
        if outcome.succeeded() {
            return Ok(output);
        }
        let fatal = output.lines().find(|line| line.starts_with("fatal: "));
        let said = fatal.or_else(|| output.lines().next()).unwrap_or("it said nothing");
        let said = said.trim_start_matches("fatal: ").trim_start_matches("warning: ");
        Err(Wording::from(format!("git: {said}")))
    }

    async fn run(&self, text: &str) -> Result<CommandOutcome, Wording> {
        let line = CommandLine::parse(text).map_err(|error| Wording::of(&error))?;
        let root = self.commands.workspace.reader().root();
        let (reach, writes) = (Network::Own, Writes::Discarded);
        let place = Place { root, in_place_of: None, reach, writes };
        Ok(self.commands.execute_in(place, &line, LIMIT).await)
    }

    /// Files that git does not know, as a diff that creates them. What may not be read is named and not looked into.
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
                let may_read = terms.rules.may_read(path.as_str()) == policy::Verdict::Allow;
                let text = match tree.entry(path, max_bytes) {
                    Ok(Entry::File(file)) if may_read => {
                        String::from_utf8(file.bytes.to_vec()).ok()
                    }
                    Ok(_) | Err(_) => None,
                };
                let text = text.filter(|text| !text.contains('\0'))?;
                let text = redactor.redact(&text).into_owned();
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
