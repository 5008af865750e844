//! Performs the effects that keys request, with the session, the program around it, or the terminal.

use std::sync::{Arc, PoisonError};

use front::diff::harmless_text;
use front::error::{CliError, CliErrorKind};

use super::{ConversationEnd, Converse, Then, no_terminal};
use crate::commands::{as_slash_commands, open_elsewhere};
use crate::conversation::{ConversationAct, ConversationSetting, YOLO};
use crate::host::Host;
use crate::terminal::{HeldTerminal, restore_echo};

impl Converse {
    /// Performs an effect.
    pub(super) async fn act(&mut self, act: ConversationAct) -> Result<Then, CliError> {
        match act {
            ConversationAct::Begin(request) => self.begin(request).await?,
            ConversationAct::Review(what) => {
                let named = what.clone();
                match self.of_host(move |host| host.reviewable(&named)).await? {
                    Ok(()) => {
                        if let Some(request) = self.talk.review_request(&what) {
                            self.begin(request).await?;
                        }
                    }
                    Err(why) => self.talk.say(&harmless_text(&as_slash_commands(&why))),
                }
            }
            ConversationAct::Steer(words) => match self.session.steer(words.clone()).await {
                Ok(()) => self.talk.steers(words),
                Err(why) => self.talk.not_steered(&words, &why.to_string()),
            },
            ConversationAct::Cancel => self.session.cancel(),
            ConversationAct::StopAtOnce => {
                return Err(CliError::new(CliErrorKind::Interrupted, "stopped at once"));
            }
            ConversationAct::Leave => return Ok(self.leave()),
            ConversationAct::Suspend => {
                self.step_aside();
                self.was_suspended = true;
                self.typed = HeldTerminal::suspend().map_err(|error| no_terminal(&error))?;
            }
            ConversationAct::Program(words) => {
                self.step_aside();
                HeldTerminal::lend_without_echo().map_err(|error| no_terminal(&error))?;
                let (host, session) = (Arc::clone(&self.host), self.session.id.clone());
                let printed = self.aside(move || host.command(&session, &words)).await?;
                self.talk.output.was_printed(&printed);
            }
            ConversationAct::Shell(line) => {
                let output = Arc::clone(&self.talk.shell_output);
                let on_output = move |bytes: &[u8]| {
                    output.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
                };
                self.shell = Some(self.host.shell(&line, Box::new(on_output)));
            }
            ConversationAct::Kill => self.shell = None,
            ConversationAct::Compact => {
                let said = self.session.compact().await;
                self.talk.say(&said.unwrap_or_else(|why| why.to_string()));
            }
            ConversationAct::Context => {
                let said = self.session.context().await;
                self.talk.say(&said.unwrap_or_else(|why| why.to_string()));
            }
            ConversationAct::Set(setting, value) => self.set(setting, &value).await,
            ConversationAct::Edit => {
                self.step_aside();
                HeldTerminal::lend();
                let (host, text) = (Arc::clone(&self.host), self.talk.composer.text());
                match self.aside(move || host.edited(&text)).await? {
                    Ok(text) => self.talk.composer.set(text.trim_end()),
                    Err(why) => self.talk.say(&harmless_text(&why)),
                }
            }
            ConversationAct::FindFiles => {
                let files = self.of_host(|host| host.files()).await?;
                self.talk.know_files(files, self.at());
            }
            ConversationAct::FindNamed(named) => {
                let offers = self.of_host(move |host| host.named(named)).await?;
                self.talk.know_named(named, offers);
            }
            ConversationAct::FindSessions => match self.of_host(|host| host.sessions()).await? {
                Ok(kept) => self.talk.offer_sessions(kept),
                Err(why) => self.talk.say(&harmless_text(&why)),
            },
            ConversationAct::Resume(called) => {
                let found = self
                    .of_host(move |host| host.session(&called).map(|id| (host.is_open(&id), id)));
                match found.await? {
                    Ok((_, id)) if id == self.session.id => {
                        self.talk.say("this session is already open");
                    }
                    Ok((true, id)) => self.talk.say(&open_elsewhere(&id)),
                    Ok((false, id)) => {
                        self.left = Some(ConversationEnd::Resume(id));
                        return Ok(Then::End);
                    }
                    Err(why) => self.talk.say(&harmless_text(&why)),
                }
            }
            ConversationAct::Clear => {
                self.left = Some(ConversationEnd::New);
                return Ok(Then::End);
            }
            ConversationAct::Redraw => {
                let left = self.screen.leave(HeldTerminal::size());
                self.write(&left);
            }
            ConversationAct::Keep(message) => self.history.add(&message),
        }
        Ok(Then::On)
    }

    /// Changes a setting for the requests that follow.
    async fn set(&mut self, setting: ConversationSetting, value: &str) {
        let said = match self.host.configured(setting, value) {
            Ok(config) => {
                self.talk.facts.update(&config);
                let (mode, asks) = (&self.talk.facts.mode, &self.talk.facts.approval);
                let but = if setting == ConversationSetting::Approval && asks != value {
                    format!(" (mode {mode}: {asks})")
                } else {
                    String::new()
                };
                match self.session.configure(config).await {
                    // One key leads there, and it may have been a slip.
                    Ok(()) if setting == ConversationSetting::Mode && mode == YOLO => {
                        format!("mode {mode}: {asks} · Shift-Tab goes back")
                    }
                    // The row of settings shows the change.
                    Ok(()) if setting == ConversationSetting::Mode => return,
                    Ok(()) => format!("from the next request on: {} {value}{but}", setting.name()),
                    Err(error) => format!("error: {error}"),
                }
            }
            Err(why) => why,
        };
        self.talk.say(&harmless_text(&said));
    }

    /// Prints finished text and erases the live rows, to free the terminal for another program.
    fn step_aside(&mut self) {
        self.draw();
        let left = self.screen.leave(HeldTerminal::size());
        self.write(&left);
    }

    /// Asks the host for something that takes a moment.
    async fn of_host<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Host) -> T + Send + 'static,
    ) -> Result<T, CliError> {
        let host = Arc::clone(&self.host);
        let answer = tokio::task::spawn_blocking(move || ask(host.as_ref())).await;
        answer.map_err(|error| CliError::caused(CliErrorKind::Internal, &error))
    }

    /// Runs something that uses the terminal, and takes the terminal back.
    async fn aside<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CliError> {
        let done = tokio::task::spawn_blocking(work).await;
        restore_echo();
        self.typed = HeldTerminal::take().map_err(|error| no_terminal(&error))?;
        done.map_err(|error| CliError::caused(CliErrorKind::Internal, &error))
    }
}
