//! The tool `rlm.run`, which runs programs for a model that answers a question. It only reads.

use actors::looks::programs::{ProgramTold, Programs};
use actors::run::Run;
use config::Mode;
use facts::closed::JournalClosed;
use futures_util::future::BoxFuture;
use index::Index;
use interpreter::HELPERS;
use lanes::team::split::path_pattern::Pattern;

use crate::children::Children;
use crate::program::{self, Programming};
use crate::research::sources::{ReadSources, SourceReading, WantedFiles};

/// Runs programs over the files of a workspace.
pub struct Rlm {
    /// The run they belong to.
    pub run: Run,
    /// The pool that asks their questions.
    pub children: Children,
    /// The index of the files.
    pub index: Index,
}

impl Programs for Rlm {
    fn run<'p>(
        &'p self,
        program: &'p str,
        paths: &'p [String],
    ) -> BoxFuture<'p, Result<ProgramTold, JournalClosed>> {
        Box::pin(async move {
            // Shown only on request: every question would pay for the text.
            if program.trim() == "help" {
                return Ok(Ok(HELPERS.trim_end().to_owned()));
            }
            let patterns: Result<Vec<Pattern>, _> = paths.iter().map(|it| it.parse()).collect();
            let wanted = match patterns {
                Ok(patterns) => WantedFiles::Named { patterns, program: program.to_owned() },
                Err(error) => return Ok(Err(format!("`paths`: {error}"))),
            };
            if self.run.config().policy.mode == Mode::Plan {
                return Ok(Err("no process is started in plan mode".to_owned()));
            }
            let reading = &mut SourceReading { wanted, index: &self.index };
            let ReadSources { files, coverage } = self.run.perform(reading).await?;
            if files.is_empty() {
                return Ok(Err("there are no files of these paths that can be read".to_owned()));
            }
            let programming = Programming {
                run: self.run.clone(),
                children: self.children.clone(),
                files: program::program_files(&files),
                depth: 1,
            };
            let mut outcome = programming.conduct(program).await?;
            if coverage.files_seen < coverage.files_total {
                let (seen, total) = (coverage.files_seen, coverage.files_total);
                outcome.notes.push(format!(
                    "only {seen} of {total} files were read, so what this counts or lists is not complete: name fewer `paths`"
                ));
            }
            Ok(program::program_outcome(self.run.prompts(), &outcome))
        })
    }
}
