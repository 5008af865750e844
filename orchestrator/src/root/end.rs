//! The end of a request, which happens exactly once: remaining work is stopped, and the last event is written.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use actors::answer;
use actors::calls::admission::Slot;
use actors::run::publisher::Publisher;
use actors::run::workspace::Staged;
use actors::run::{Run, UserWord};
use actors::workers::Finished;
use config::Config;
use facts::amounts::Spending;
use facts::delivery::{Delivery, FailureKind, Rollback, UndoTarget};
use facts::event::Event;
use facts::words::Side;
use journal::log::Journal;
use lanes::crew::undo_patch::Trail;
use patch::PutAside;
use ractor::{ActorRef, RpcReplyPort};
use tree::Change;

use super::active::{Active, Stopping, Work};
use super::ending::{Closed, Ending, failed_request};
use super::supervision::{close_index, shut_down, stop_work};
use super::{CurrentRequest, Msg, RequestOutcome, State};
use crate::request::{LAST_REQUEST, Request};
use crate::session::memory::{self, Delivered, DeliveryPlace, remember};
use crate::session::run_beginning::{Progress, progress};
use crate::session::turn::FinishedTurn;
use crate::workspace::places::WorkspacePlaces;
use crate::workspace::worktrees;

impl State {
    /// Ends the run. What works on it is stopped beside the mailbox, and then its end is recorded.
    pub(crate) fn end(&mut self, myself: &ActorRef<Msg>, ending: Ending) {
        let Some(active) = self.active_mut() else { return };
        let Some(to_stop) = active.stop_with(ending) else { return };
        let (stop, writer) = (active.stop.clone(), self.writer.clone());
        let work = self.workers.retire();
        let stopped = stop_work(work, to_stop, stop, writer);
        self.workers.start("stopping", myself, stopped, |_| Msg::Stopped);
    }

    /// Records the end of the run, once nothing works on it. It takes the run out of the state, so this happens only once.
    pub(crate) fn finish(&mut self, myself: &ActorRef<Msg>) {
        if let Some(closing) = self.closing() {
            let closing = async move { Box::new(closing.await) };
            self.workers.start("closing", myself, closing, Msg::Closed);
        }
    }

    /// Takes out the run whose end is decided. The future records its end.
    fn closing(&mut self) -> Option<impl Future<Output = Closed> + Send + use<>> {
        let active = match std::mem::replace(&mut self.current, CurrentRequest::Closing) {
            CurrentRequest::Active(active) => *active,
            other @ (CurrentRequest::Idle
            | CurrentRequest::Beginning(_)
            | CurrentRequest::Closing) => {
                self.current = other;
                return None;
            }
        };
        let (stopping, ended) = match active {
            Active {
                run,
                request,
                reply,
                slot,
                trail,
                put_aside,
                work: Work::Stopping(stopping),
                ..
            } => (*stopping, Ended { run, request, reply, slot, trail, put_aside }),
            active => {
                self.current = CurrentRequest::Active(Box::new(active));
                return None;
            }
        };
        let memory = DeliveryPlace {
            tree: self.reader.clone(),
            file: memory::file_of(&self.places),
            session: self.session.clone(),
        };
        let closing = Closing {
            publisher: self.idle.publisher.clone(),
            journal: Arc::clone(&self.journal),
            config: Arc::clone(&self.idle.terms.config),
            dir: self.dir.clone(),
            places: self.places.clone(),
            sessions: self.sessions.clone(),
            memory,
            images: self.last_brief.named_images(),
        };
        Some(closing.close(ended, stopping))
    }

    /// Takes in a request whose end is recorded, and answers it.
    pub(crate) fn closed(&mut self, closed: Finished<Box<Closed>>) {
        self.current = CurrentRequest::Idle;
        let Ok(closed) = closed.result() else {
            tracing::error!("recording the end of a request panicked");
            return;
        };
        let Closed { outcome, reply, turn, card } = *closed;
        self.cards.extend(card.map(|card| (card.hash(), card)));
        self.turns.extend(turn);
        answer(reply, outcome);
    }

    /// Ends with the session: a request whose end is decided is recorded, everything else is dropped.
    pub(crate) async fn wind_up(&mut self) {
        let is_ending = match &self.current {
            CurrentRequest::Active(active) => {
                active.stop.send_replace(true);
                active.work.is_stopping()
            }
            CurrentRequest::Closing => true,
            CurrentRequest::Idle | CurrentRequest::Beginning(_) => false,
        };
        if is_ending {
            self.workers.ended().await;
            if let Some(closing) = self.closing() {
                let Closed { outcome, reply, .. } = closing.await;
                answer(reply, outcome);
            }
        }
        self.idle.server_tools.end().await;
        // Work beside the mailbox keeps the journal open.
        drop(self.workers.retire());
        close_index(self.index.clone()).await;
    }
}

/// What is left of a request whose work is stopped.
struct Ended {
    run: Run,
    request: Request,
    reply: RpcReplyPort<RequestOutcome>,
    slot: Slot,
    trail: Trail,
    put_aside: Vec<PutAside>,
}

/// What the end of a run is recorded with.
struct Closing {
    /// The session's publisher, which belongs to no run.
    publisher: Publisher,
    journal: Arc<Journal>,
    config: Arc<Config>,
    dir: PathBuf,
    places: WorkspacePlaces,
    sessions: PathBuf,
    memory: DeliveryPlace,
    /// The images that its request names.
    images: Vec<String>,
}

impl Closing {
    /// Records the end of a run.
    async fn close(self, ended: Ended, stopping: Stopping) -> Closed {
        let Stopping { ending, claim, card: approved } = stopping;
        let Ending {
            mut delivery,
            plan,
            answer,
            review,
            card,
            failing,
            mut ways_back,
            lanes,
            kept,
        } = ending;
        let Ended { mut run, request, reply, slot, trail, put_aside } = ended;
        let changes = trail.changes();
        let done = matches!(delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. });
        if !done && !changes.is_empty() {
            ways_back.insert(0, (UndoTarget::Start, trail.to_start()));
        }
        let spent = run.admission.spent().await.unwrap_or_default();
        if let Some(admission) = slot.cell() {
            shut_down(admission).await;
        }
        // A paused run stays interrupted.
        let mut is_over = !matches!(delivery, Delivery::Paused { .. });
        match progress(&run.publisher) {
            Progress::AsRecorded | Progress::Live => {}
            // Stopped before it did anything new: it stays interrupted.
            Progress::OnTheWay => is_over = false,
            Progress::Astray(why) => {
                // It cannot be resumed, and that is recorded permanently. The state to undo to is not known.
                run.publisher = self.publisher.for_run(run.id());
                delivery = failed_request(FailureKind::Resume, &why).delivery;
                ways_back.clear();
            }
        }
        if !is_over {
            ways_back.clear();
        }
        let rollbacks = staged_ways_back(&run, ways_back).await;
        if let Some(text) = answer.as_ref().filter(|_| request.is_turn()) {
            run.publish(answer_turn(text)).await.ok();
        }
        if let (Some(review), LAST_REQUEST) = (&review, request.text.as_str()) {
            run.publish(Event::QaReport { review: review.clone() }).await.ok();
        }
        let Spending { known, unknown } = spent;
        let finished = Event::RunFinished {
            delivery: delivery.clone(),
            spent: known,
            spent_unknown: unknown,
            rollbacks: rollbacks.clone(),
        };
        if is_over && run.record(finished).await.is_err() {
            let why = self.journal.failure().unwrap_or("it takes no more events");
            delivery = failed_request(FailureKind::Journal, why).delivery;
        }
        let had_lanes = claim.is_some();
        drop(claim);
        if is_over && lanes.is_empty() && had_lanes {
            // Its lanes were cut off; their changes are in the journal.
            worktrees::collect_left(&self.places, &self.dir, self.sessions, &self.config).await;
        }
        if let (true, Delivery::Delivered { verified }) = (is_over, &delivery)
            && !changes.is_empty()
        {
            let (request, plan, changes) = (&request.text, plan.as_ref(), &changes);
            let delivered = Delivered { request, plan, changes, verified };
            remember(&run, delivered, self.memory).await;
        }
        let turn = request.is_turn().then(|| FinishedTurn {
            run: run.id().to_owned(),
            said: said(&run),
            request: run.redactor.redact(&request.text).into_owned(),
            images: self.images,
            delivery: delivery.clone(),
            plan: plan.clone(),
            answer: answer.clone(),
            changes: changes.clone(),
            failing,
        });
        let outcome = RequestOutcome {
            run: run.id().to_owned(),
            delivery,
            plan,
            answer,
            review,
            card,
            changes,
            put_aside,
            rollbacks,
            spent,
            lanes,
            kept,
        };
        let card = approved.filter(|_| is_over && !done);
        Closed { outcome, reply, turn, card }
    }
}

/// Stages the undo patches of a run.
async fn staged_ways_back(run: &Run, ways_back: Vec<(UndoTarget, Vec<Change>)>) -> Vec<Rollback> {
    let mut rollbacks = Vec::new();
    for (to, changes) in ways_back {
        let patch = run.fresh_id();
        let staged = Staged::way_back(to, changes).event(&patch, None);
        if run.publish(staged).await.is_ok() {
            rollbacks.push(Rollback { patch, to });
        }
    }
    rollbacks
}

/// Returns what the user said while a request was worked on.
fn said(run: &Run) -> Vec<UserWord> {
    run.user_said.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns the answer to a question as a turn of the conversation.
fn answer_turn(text: &str) -> Event {
    let (speaker, text) = (Side::Assistant, text.to_owned());
    Event::TurnAdded { speaker, text, intent: None, card: None, course: None }
}
