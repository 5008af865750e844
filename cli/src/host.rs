//! What a conversation needs from the rest of the program: its commands, the workspace's files, the user's editor.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::{CommandFactory as _, FromArgMatches as _, ValueEnum as _};
use config::{Config, Settings};
use tools::regular::{self, MAX_NOTE_BYTES};
use tui::{Completion, ConversationSetting, KeptSession, Named};

use crate::args::Cli;
use crate::commands::{review, sandbox};
use crate::completion_candidates::{self, Nameable, Offer, kept_sessions};
use crate::flags::flag_settings::{has_other_models, priced_models};
use crate::flags::{ApprovalFlag, Global, ThinkingFlag};
use crate::past::Past;
use crate::render;
use crate::surroundings::{CommandSource, Surroundings};
use crate::takes;

/// The most files of a workspace that are offered for completion.
const OFFERED_FILES: usize = 50_000;

/// The program, with the flags it was started with.
pub(crate) struct ProgramHost {
    around: Surroundings,
    /// The flags; slash commands such as `/model` change them.
    global: Mutex<Global>,
    workspace: PathBuf,
    /// The models that were known at the start.
    models: Vec<String>,
}

impl ProgramHost {
    /// Creates a host for these flags, and this workspace with its settings.
    pub(crate) fn new(
        around: Surroundings,
        global: Global,
        workspace: PathBuf,
        settings: &Settings,
    ) -> Self {
        let has_live_rows = around.has_live_rows(&global);
        let given = if has_live_rows { CommandSource::LiveRows } else { CommandSource::PlainLines };
        let around = Surroundings { given, ..around };
        let models = completion_candidates::models(settings);
        Self { around, global: Mutex::new(global), workspace, models }
    }

    fn flags(&self) -> MutexGuard<'_, Global> {
        self.global.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the flags, with the workspace filled in.
    fn here(&self) -> Global {
        Global { workspace: Some(self.workspace.clone()), ..self.flags().clone() }
    }

    /// Parses a command line and adds this process's flags that select workspace and configuration.
    fn parsed(&self, words: &[String]) -> Result<Cli, clap::Error> {
        let words: Vec<&str> =
            std::iter::once("deepseek").chain(words.iter().map(String::as_str)).collect();
        let found = takes::for_words(Cli::command(), &words).try_get_matches_from(words)?;
        let mut cli = Cli::from_arg_matches(&found)?;
        let Global { config, profile, color, set, plain, .. } = self.flags().clone();
        let Global { no_alt_screen, mouse_capture, no_mouse_capture, .. } = *self.flags();
        let global = &mut cli.global;
        global.workspace = global.workspace.take().or_else(|| Some(self.workspace.clone()));
        global.config = global.config.take().or(config);
        global.profile = global.profile.take().or(profile);
        global.color = color;
        global.no_alt_screen |= no_alt_screen;
        global.mouse_capture |= mouse_capture;
        global.no_mouse_capture |= no_mouse_capture;
        global.plain |= plain;
        global.set = set.into_iter().chain(std::mem::take(&mut global.set)).collect();
        Ok(cli)
    }
}

impl tui::Host for ProgramHost {
    fn command(&self, session: &str, words: &[String]) -> String {
        let conversation = Some(session.to_owned());
        let around = Surroundings { conversation, ..self.around.clone() };
        render::recording(|| {
            let cli = match self.parsed(words) {
                Ok(cli) => cli,
                Err(error) => return render::warn(error.render().to_string().trim_end()),
            };
            if let Err(error) = crate::perform(&cli, &around) {
                render::warn(&render::harmless(&tui::as_slash_commands(&error.to_string())));
            }
        })
    }

    fn shell(&self, line: &str, mut on_output: tui::OnOutput) -> tui::Shell {
        let words = ["sandbox", "--", "sh", "-c", line].map(str::to_owned);
        let parsed = self.parsed(&words).map_err(|error| error.render().to_string());
        let around = self.around.clone();
        Box::pin(async move {
            let global = parsed?.global;
            let [_, _, command @ ..] = words.as_slice() else { return Ok(String::new()) };
            let ended = sandbox::captured(&around, &global, command, &mut *on_output).await;
            ended.map_err(|error| error.to_string())
        })
    }

    fn configured(&self, setting: ConversationSetting, value: &str) -> Result<Config, String> {
        let mut changed = self.flags().clone();
        let settings = |flags: &Global| {
            self.around.settings(flags, &self.workspace).map_err(|error| error.to_string())
        };
        // A model may have been added to the configuration since the start.
        let mut models = self.models.clone();
        models.extend(completion_candidates::models(&settings(&changed)?));
        models.extend(priced_models(&settings(&changed)?));
        models.sort();
        models.dedup();
        let value = if setting == ConversationSetting::Model {
            value.to_owned()
        } else {
            value.to_lowercase()
        };
        let other_models = has_other_models(&settings(&changed)?);
        setting.check(&value, &models, other_models)?;
        match setting {
            ConversationSetting::Model => changed.model = Some(value),
            ConversationSetting::Thinking => {
                changed.thinking = Some(ThinkingFlag::from_str(&value, true)?);
            }
            ConversationSetting::Mode => {
                changed.set.push(("policy.mode".to_owned(), format!("{value:?}")));
            }
            ConversationSetting::Approval => {
                changed.approval = Some(ApprovalFlag::from_str(&value, true)?);
            }
        }
        let config = settings(&changed)?.config;
        *self.flags() = changed;
        Ok(config)
    }

    fn files(&self) -> Vec<String> {
        let listing = tree::list_files(&self.workspace, OFFERED_FILES);
        listing.files.into_iter().map(|file| file.path.to_string()).collect()
    }

    fn named(&self, what: Named) -> Vec<Completion> {
        let what = match what {
            Named::Session => Nameable::Session,
            Named::Run => Nameable::Run,
            Named::Patch => Nameable::Patch,
            Named::Checkpoint => Nameable::Checkpoint,
        };
        let offers = what.offers(&self.around, &self.here());
        offers.into_iter().map(Offer::into_candidate).collect()
    }

    fn sessions(&self) -> Result<Vec<KeptSession>, String> {
        Past::find(&self.around, &self.here())
            .and_then(|past| kept_sessions(&past))
            .map_err(|it| it.to_string())
    }

    fn session(&self, called: &str) -> Result<String, String> {
        let past = Past::find(&self.around, &self.here()).map_err(|error| error.to_string())?;
        past.here(called).map_err(|error| error.to_string())
    }

    fn is_open(&self, session: &str) -> bool {
        let past = Past::find_quietly(&self.around, &self.here());
        past.is_ok_and(|past| past.is_open(session))
    }

    fn reviewable(&self, what: &str) -> Result<(), String> {
        review::check(&self.workspace, what).map_err(|error| error.to_string())
    }

    fn edited(&self, text: &str) -> Result<String, String> {
        let editor = self.around.editor().ok_or("neither VISUAL nor EDITOR is set\nhint: `export EDITOR=vi`, for example, before you start; Alt-Enter starts a new line here")?;
        let failed = |error: std::io::Error| format!("cannot edit the input: {error}");
        let mut file = tempfile::Builder::new().suffix(".md").tempfile().map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        let status = shell::interactive(editor, file.path()).map_err(failed)?;
        if !status.success() {
            return Err(format!("{editor} ended with {status}"));
        }
        // Read by path: editors often replace the file instead of writing to it.
        regular::read_text(file.path(), MAX_NOTE_BYTES).map_err(failed)
    }
}
