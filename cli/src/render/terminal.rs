//! The plain text view of a run: results on standard output, progress on standard error, questions at the terminal.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use facts::event::Event;
use facts::scope::Scope;
use facts::signal::{ApprovalQuestion, Attendance, OpenQuestion, Signal};
use front::diff::harmless;
use front::paint::Paint;
use front::run_view::{
    Accounts, CommandsGiven, Detail, RunView, Streams, UndoPoint, ViewItem, ViewOptions,
};
use futures_util::future::BoxFuture;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use orchestrator::root::RequestOutcome;
use rustix::termios::tcgetwinsize;
use tui::QuestionOptions;

use super::RunPresenter;
use super::ask::{ReviewScreen, answer_in_words, ask_by_keys, ask_on_lines, words};
use crate::flags::Global;
use crate::surroundings::Surroundings;

/// Columns to assume if the terminal does not report its size.
const USUAL_WIDTH: usize = 80;

/// The plain text view.
pub(crate) struct PlainView {
    paint: Paint,
    run: RunView,
    /// The animated status line. Only on a terminal; removed while text is streamed or a question is open.
    bar: Option<ProgressBar>,
    moves: bool,
    attendance: Attendance,
    /// The alternate screen, if it may be used.
    screen: Option<ReviewScreen>,
    /// How questions are asked by keys, where they are.
    asks: Option<QuestionOptions>,
    begun: Instant,
}

impl PlainView {
    /// Creates a view for this environment and these flags.
    pub(crate) fn new(around: &Surroundings, global: &Global, commands: CommandsGiven) -> Self {
        let paint = around.paint(global.color);
        let moves = around.stderr_is_terminal && !global.plain;
        let detail = if moves { Detail::Beside } else { Detail::All };
        let streams =
            if around.stdout_is_terminal { Streams::AsItComes } else { Streams::AtTheEnd };
        let attendance = if around.stdin_is_terminal && around.stderr_is_terminal {
            Attendance::Attended
        } else {
            Attendance::Unattended
        };
        let accounts = if global.verbose == 0 { Accounts::InALine } else { Accounts::InFull };
        let commits = around.offers_commits(global);
        let options = ViewOptions { paint, detail, streams, accounts, commands, commits };
        let run = RunView::new(options, Duration::ZERO);
        let alternate = around.alternate_screen(global);
        let screen = alternate.is_allowed().then_some(ReviewScreen { paint, alternate });
        let asks = around.asks(global);
        Self { paint, run, bar: None, moves, attendance, screen, asks, begun: Instant::now() }
    }

    fn print(&mut self, shown: Vec<ViewItem>) {
        for shown in shown {
            match shown {
                ViewItem::Line(text) => self.say(&text),
                ViewItem::Piece(text) => {
                    self.rest();
                    super::text(&text);
                }
            }
        }
    }

    fn say(&self, text: &str) {
        super::record(&format!("{text}\n"));
        let write = || writeln!(io::stderr(), "{text}").ok();
        match &self.bar {
            Some(bar) => {
                bar.suspend(write);
                to_the_left();
            }
            None => drop(write()),
        }
    }

    /// Removes the status line until the next tick.
    fn rest(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    async fn ask(&mut self, question: ApprovalQuestion) {
        if self.attendance == Attendance::Unattended {
            // Dropping the question tells the asker that there is no terminal.
            return;
        }
        let mut asked = self.run.question(&question);
        self.rest();
        if let Some(how) = self.asks {
            return ask_by_keys(asked, question.answer, how).await;
        }
        let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into())).bold();
        let words = words(&asked, self.screen);
        if !asked.who.is_empty() {
            asked.who = self.paint.with(yellow, &asked.who);
        }
        asked.asks.push_str(&format!(" [y/N; {words}] "));
        ask_on_lines(asked, self.screen, question.answer).await;
    }

    /// Asks the user a question of a model or a server, for an answer in words.
    async fn ask_for_words(&mut self, question: OpenQuestion) {
        if self.attendance == Attendance::Unattended {
            return;
        }
        self.rest();
        let (text, if_empty) = (harmless(&question.text), harmless(&question.if_empty));
        let asks = format!("{text}\nYour answer (empty: {if_empty}): ");
        answer_in_words(&asks, question.answer).await;
    }
}

impl RunPresenter for PlainView {
    fn attendance(&self) -> Attendance {
        self.attendance
    }

    fn signal(&mut self, signal: Signal) -> BoxFuture<'_, ()> {
        let shown = self.run.signal(&signal, self.begun.elapsed());
        self.print(shown);
        match signal {
            Signal::Question(question) => Box::pin(self.ask(question)),
            Signal::Asked(question) => Box::pin(self.ask_for_words(question)),
            Signal::Event(_)
            | Signal::Text(..)
            | Signal::Reasoning(..)
            | Signal::Waiting(..)
            | Signal::Paused(..)
            | Signal::Unapprovable(_)
            | Signal::Confined(_) => Box::pin(std::future::ready(())),
        }
    }

    fn earlier(&mut self, scope: &Scope, event: &Event) {
        self.run.earlier(scope, event, self.begun.elapsed());
    }

    fn submitted(&mut self) {
        self.run.submitted(self.begun.elapsed());
    }

    fn start(&self) -> Option<u64> {
        self.run.undo_start()
    }

    fn resumes_after(&mut self, undo: UndoPoint) {
        self.run.resumes_after(undo);
    }

    fn tick(&mut self) {
        if !self.moves || self.run.is_streaming() {
            return;
        }
        let at = self.begun.elapsed();
        let columns = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        let width = if columns == 0 { USUAL_WIDTH } else { columns };
        let rows =
            [self.run.mission_rows(width), self.run.lane_rows(width, at)].concat().join("\n");
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            match ProgressStyle::with_template("{spinner} {wide_msg}\n{prefix}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_message(self.run.progress(at));
        bar.set_prefix(rows);
        bar.tick();
        to_the_left();
    }

    fn note(&mut self, text: &str) {
        self.rest();
        if self.run.is_streaming() {
            super::print_line("");
        }
        self.say(text);
    }

    fn outcome(&mut self, outcome: &RequestOutcome, session: &str) {
        self.rest();
        let shown = self.run.outcome(outcome, session, self.begun.elapsed());
        self.print(shown);
    }
}

/// Moves the cursor to column 0, so that a `^C` echoed by the terminal does not shift the line that is printed next.
fn to_the_left() {
    write!(io::stderr(), "\r").ok();
}
