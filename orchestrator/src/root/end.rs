//! The end of a request, which happens exactly once: remaining work is stopped, and the last event is written.

use std::sync::PoisonError;
use std::time::Duration;

use actors::run::workspace::Staged;
use actors::run::{Run, UserWord};
use facts::amounts::Spending;
use facts::delivery::{Delivery, FailureKind, Rollback, UndoTarget};
use facts::event::Event;
use facts::words::Side;
use lanes::crew::Crew;
use lanes::team::Team;
use missions::children::Children;

use super::ending::{Ending, failed_request};
use super::{RequestOutcome, State};
use crate::request::LAST_REQUEST;
use crate::root::supervision;
use crate::session::memory::{self, Delivered, DeliveryPlace, remember};
use crate::session::run_beginning::{Progress, progress};
use crate::session::turn::FinishedTurn;
use crate::workspace::worktrees;

/// How long work may take to stop.
const PATIENCE: Duration = Duration::from_millis(500);

impl State {
    fn place_of_memory(&self) -> DeliveryPlace {
        let (tree, session) = (self.reader.clone(), self.session.clone());
        DeliveryPlace { tree, file: memory::file_of(&self.places), session }
    }

    /// Ends the run: kills the remaining work, and records how it ended.
    pub(crate) async fn end(&mut self, ending: Ending) {
        let Some(active) = &mut self.active else { return };
        if active.ending.is_some() {
            return;
        }
        // A replayed run may reach another end before the recorded cancellation arrives.
        let stopped = active.run.publisher.recording().and_then(|recording| recording.stops_here());
        let ending = stopped.map_or(ending, Ending::from);
        for task in &mut active.tasks {
            task.abort();
            // Wait for it before querying the ledger, so that its last call is counted.
            tokio::time::timeout(PATIENCE, task).await.ok();
        }
        let crew = active.crew.as_ref().map(Crew::cell);
        let team = active.team.as_ref().map(Team::cell);
        let children = active.children.as_ref().map(Children::cell);
        for at_work in crew.into_iter().chain(team).chain(children) {
            supervision::shut_down(at_work).await;
        }
        if let Some(children) = active.children.take() {
            children.give_up().await;
        }
        active.stop.send_replace(true);
        active.ending = Some(Box::new(ending));
        if self.main_tree.is_some() {
            self.finish().await;
        }
    }

    /// Finishes the run and reports its outcome. It takes the run out of the state, so this happens only once.
    pub(crate) async fn finish(&mut self) {
        let Some(mut active) = self.active.take() else { return };
        let Some(ending) = active.ending.take() else {
            self.active = Some(active);
            return;
        };
        let Ending { delivery, plan, answer, review, card, failing, mut ways_back, lanes, kept } =
            *ending;
        let changes = active.trail.changes();
        let done = matches!(delivery, Delivery::Delivered { .. } | Delivery::NoEditNeeded { .. });
        if !done && !changes.is_empty() {
            ways_back.insert(0, (UndoTarget::Start, active.trail.to_start()));
        }
        let spent = active.run.admission.spent().await.unwrap_or_default();
        if let Some(admission) = active.slot.cell() {
            supervision::shut_down(admission).await;
        }
        let mut rollbacks = Vec::new();
        let mut delivery = delivery;
        let mut is_over = true;
        match progress(&active.run.publisher) {
            Progress::AsRecorded | Progress::Live => {}
            // Stopped before it did anything new: it stays interrupted.
            Progress::OnTheWay => is_over = false,
            Progress::Astray(why) => {
                // It cannot be resumed, and that is recorded permanently. The state to undo to is not known.
                active.run.publisher = self.idle.publisher.for_run(active.run.id());
                delivery = failed_request(FailureKind::Resume, &why).delivery;
                ways_back.clear();
            }
        }
        if !is_over {
            ways_back.clear();
        }
        for (to, changes) in ways_back {
            let patch = active.run.fresh_id();
            let staged = Staged::way_back(to, changes).event(&patch, None);
            if active.run.publish(staged).await.is_ok() {
                rollbacks.push(Rollback { patch, to });
            }
        }
        if let Some(text) = answer.as_ref().filter(|_| active.request.is_turn()) {
            active.run.publish(answer_turn(text)).await.ok();
        }
        if let (Some(review), LAST_REQUEST) = (&review, active.request.text.as_str()) {
            active.run.publish(Event::QaReport { review: review.clone() }).await.ok();
        }
        let Spending { known, unknown } = spent;
        let finished = Event::RunFinished {
            delivery: delivery.clone(),
            spent: known,
            spent_unknown: unknown,
            rollbacks: rollbacks.clone(),
        };
        if is_over && active.run.record(finished).await.is_err() {
            let why = self.journal.failure().unwrap_or("it takes no more events");
            delivery = failed_request(FailureKind::Journal, why).delivery;
        }
        if is_over && lanes.is_empty() && active.claim.take().is_some() {
            // Its lanes were cut off; their changes are in the journal.
            let sessions = self.sessions.clone();
            worktrees::collect_left(&self.places, &self.dir, sessions, self.idle.config()).await;
        }
        if let (true, Delivery::Delivered { verified }) = (is_over, &delivery)
            && !changes.is_empty()
        {
            let (request, plan, changes) = (&active.request.text, plan.as_ref(), &changes);
            let delivered = Delivered { request, plan, changes, verified };
            remember(&active.run, delivered, self.place_of_memory()).await;
        }
        // A card that was not carried out may be approved again.
        let again = active.approved.take().filter(|_| is_over && !done);
        self.cards.extend(again.map(|card| (card.hash(), card)));
        if active.request.is_turn() {
            self.turns.push(FinishedTurn {
                run: active.run.id().to_owned(),
                said: said(&active.run),
                request: active.run.redactor.redact(&active.request.text).into_owned(),
                delivery: delivery.clone(),
                plan: plan.clone(),
                answer: answer.clone(),
                changes: changes.clone(),
                failing,
            });
        }
        let (run, reply, put_aside) = (active.run.id().to_owned(), active.reply, active.put_aside);
        let outcome = RequestOutcome {
            run,
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
        if reply.send(outcome).is_err() {
            tracing::debug!("the requester is gone");
        }
    }
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
