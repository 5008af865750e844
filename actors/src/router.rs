//! The Router admits model calls: it keeps the budget ledger, hands out permits, and makes callers queue visibly.
//!
//! It does not make the calls. A caller holds an [`Admission`] for as long as its call takes; dropping it, however that
//! comes about, gives the permit back and settles the ledger.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort};
use thiserror::Error;
use tokio::sync::watch;
use tools::model::price::{Prices, Usd};

use crate::event::Event;
use crate::ledger::{Allowance, Amount, Ask, Ledger, Reservation, Unaffordable};
use crate::publisher::{Publisher, Signal};
use crate::{Unanswered, answer, answered};

/// What the Router is asked.
enum Msg {
    Admit {
        model: String,
        ask: Ask,
        reply: RpcReplyPort<Result<Reservation, Unaffordable>>,
    },
    Settle {
        id: u64,
        used: Amount,
    },
    /// A call that was sent is given up.
    Drop {
        id: u64,
        used: Amount,
    },
    Spent {
        reply: RpcReplyPort<Amount>,
    },
}

/// Why a call was not admitted.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
pub enum AdmissionError {
    /// It can not be paid.
    #[error(transparent)]
    Budget(#[from] Unaffordable),
    /// The Router is gone.
    #[error("the router stopped")]
    Stopped,
    /// No permit came free in time.
    #[error("no permit for a model call came free in time")]
    TimedOut,
}

/// A handle to the Router that is running, whichever that is: a successor takes the seat of one that died.
#[derive(Clone)]
pub struct Router {
    seat: watch::Receiver<ActorRef<Msg>>,
    timeout: Duration,
}

/// The Router's place, kept by its supervisor.
pub struct Seat(watch::Sender<ActorRef<Msg>>);

impl Seat {
    /// Puts a new Router in the place of one that died.
    pub async fn refill(
        &self,
        setup: RouterSetup,
        supervisor: ActorCell,
    ) -> Result<(), ractor::SpawnErr> {
        let (actor, _) = Actor::spawn_linked(None, RouterActor, setup, supervisor).await?;
        self.0.send_replace(actor);
        Ok(())
    }

    /// The actor in the seat, for its supervisor.
    pub fn cell(&self) -> ActorCell {
        self.0.borrow().get_cell()
    }
}

/// What a Router is made with.
pub struct RouterSetup {
    /// What may be spent.
    pub limits: Allowance,
    /// What was spent before, when a Router is replaced.
    pub spent: Amount,
    /// The highest number a call has had, when a Router is replaced.
    pub last_call: u64,
    /// Calls in flight at once.
    pub permits: usize,
    /// What calls cost.
    pub prices: Arc<Prices>,
    /// Where waiting is shown.
    pub publisher: Publisher,
    /// How long a caller waits for a permit.
    pub timeout: Duration,
}

impl Router {
    /// Starts a Router under `supervisor`, with the seat by which it can be replaced.
    pub async fn spawn(
        setup: RouterSetup,
        supervisor: ActorCell,
    ) -> Result<(Self, Seat), ractor::SpawnErr> {
        let timeout = setup.timeout;
        let (actor, _) = Actor::spawn_linked(None, RouterActor, setup, supervisor).await?;
        let (keep, seat) = watch::channel(actor);
        Ok((Self { seat, timeout }, Seat(keep)))
    }

    /// Waits for a permit and reserves the call's worst case.
    pub async fn admit(&self, model: &str, ask: Ask) -> Result<Admission, AdmissionError> {
        let mut seat = self.seat.clone();
        loop {
            let router = seat.borrow_and_update().clone();
            let model = model.to_owned();
            let message = |reply| Msg::Admit { model, ask, reply };
            match answered(router.call(message, Some(self.timeout)).await) {
                Ok(granted) => return Ok(Admission::new(router, granted?, ask.prompt_tokens)),
                Err(Unanswered::TimedOut) => return Err(AdmissionError::TimedOut),
                // It died: its successor is asked, if there is going to be one.
                Err(Unanswered::Stopped) => {
                    match tokio::time::timeout(SUCCESSION, seat.changed()).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) | Err(_) => return Err(AdmissionError::Stopped),
                    }
                }
            }
        }
    }

    /// What is settled so far; `None` when the Router is gone.
    pub async fn spent(&self) -> Option<Amount> {
        let router = self.seat.borrow().clone();
        answered(router.call(|reply| Msg::Spent { reply }, Some(self.timeout)).await).ok()
    }
}

/// How long a dead Router's seat may stay empty: its supervisor fills it as soon as it hears of it.
const SUCCESSION: Duration = Duration::from_secs(5);

/// A permit and a reservation for one attempt.
pub struct Admission {
    router: ActorRef<Msg>,
    reservation: Reservation,
    prompt_tokens: u64,
    answer_bytes: AtomicU64,
    used: Option<Amount>,
    /// What was charged when it was given up before.
    presumed: Option<Amount>,
    sent: bool,
}

impl Admission {
    fn new(router: ActorRef<Msg>, reservation: Reservation, prompt_tokens: u64) -> Self {
        let answer_bytes = AtomicU64::new(0);
        let (used, presumed, sent) = (None, None, false);
        Self { router, reservation, prompt_tokens, answer_bytes, used, presumed, sent }
    }

    /// What was granted.
    pub const fn reservation(&self) -> Reservation {
        self.reservation
    }

    /// The request leaves: from now on it may cost something, even if nothing is heard of it again.
    pub const fn sent(&mut self) {
        self.sent = true;
    }

    /// Presumes that it used this, if it is given up: that is what was charged then.
    pub const fn presume(&mut self, used: Option<Amount>) {
        self.presumed = used;
    }

    /// Counts bytes of the answer, so that a call that dies in the middle can be charged.
    pub fn count(&self, bytes: usize) {
        self.answer_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// What the ledger will be charged if nothing more is known: the prompt at its bound, and a token for each byte heard.
    pub fn worst_so_far(&self) -> Amount {
        if !self.sent {
            return Amount::default();
        }
        let Reservation { output_tokens, amount, prompt_nano_usd, .. } = self.reservation;
        let heard = self.answer_bytes.load(Ordering::Relaxed).min(u64::from(output_tokens));
        let answer = amount.nano_usd.saturating_sub(prompt_nano_usd).nanos();
        // Rounded up, so that a bound stays one.
        let share = u128::from(answer) * u128::from(heard);
        let heard_nanos = share.div_ceil(u128::from(output_tokens.max(1)));
        let nano_usd =
            prompt_nano_usd + Usd::from_nanos(u64::try_from(heard_nanos).unwrap_or(u64::MAX));
        Amount { nano_usd, tokens: self.prompt_tokens.saturating_add(heard), calls: 1 }
    }

    /// Ends the call with what it really used.
    pub fn settle(mut self, used: Amount) {
        self.used = Some(used);
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let id = self.reservation.id;
        let message = match (self.used, self.presumed) {
            (Some(used), _) => Msg::Settle { id, used },
            (None, Some(used)) => Msg::Drop { id, used },
            (None, None) if self.sent => Msg::Drop { id, used: self.worst_so_far() },
            (None, None) => Msg::Settle { id, used: Amount::default() },
        };
        // A Router that is gone keeps no ledger; its successor restores one from the journal.
        self.router.cast(message).ok();
    }
}

struct RouterActor;

/// A caller in the queue: the model, what is asked, where the answer goes.
type Waiting = (String, Ask, RpcReplyPort<Result<Reservation, Unaffordable>>);

struct State {
    ledger: Ledger,
    prices: Arc<Prices>,
    publisher: Publisher,
    permits: usize,
    in_flight: usize,
    queue: VecDeque<Waiting>,
}

impl Actor for RouterActor {
    type Msg = Msg;
    type State = State;
    type Arguments = RouterSetup;

    async fn pre_start(
        &self,
        _: ActorRef<Msg>,
        setup: RouterSetup,
    ) -> Result<State, ActorProcessingErr> {
        let mut ledger = Ledger::new(setup.limits);
        ledger.restore(setup.spent, setup.last_call);
        Ok(State {
            ledger,
            prices: setup.prices,
            publisher: setup.publisher,
            permits: setup.permits,
            in_flight: 0,
            queue: VecDeque::new(),
        })
    }

    async fn handle(
        &self,
        _: ActorRef<Msg>,
        msg: Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Admit { model, ask, reply } => state.enqueue(model, ask, reply),
            Msg::Settle { id, used } => state.settle(id, used),
            Msg::Drop { id, used } => {
                state.settle(id, used);
                let dropped = Event::CallDropped { call: id, charged: used };
                if state.publisher.publish(dropped).await.is_err() {
                    tracing::debug!("a call that was given up is not in the journal");
                }
            }
            Msg::Spent { reply } => answer(reply, state.ledger.spent()),
        }
        Ok(())
    }
}

impl State {
    fn enqueue(
        &mut self,
        model: String,
        ask: Ask,
        reply: RpcReplyPort<Result<Reservation, Unaffordable>>,
    ) {
        self.queue.push_back((model, ask, reply));
        if self.in_flight >= self.permits {
            let why =
                format!("queued {}.: {} model calls are in flight", self.queue.len(), self.permits);
            self.publisher.show(Signal::Waiting(why.into()));
        }
        self.admit_next();
    }

    fn settle(&mut self, id: u64, used: Amount) {
        self.ledger.settle(id, used);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.admit_next();
    }

    fn admit_next(&mut self) {
        while self.in_flight < self.permits {
            let Some((model, ask, reply)) = self.queue.pop_front() else { return };
            if reply.is_closed() {
                continue;
            }
            let worst = |output| self.prices.worst_case(&model, ask.prompt_tokens, output);
            let granted = self.ledger.reserve(&ask, worst);
            let reserved = granted.as_ref().ok().map(|reservation| reservation.id);
            self.in_flight += usize::from(reserved.is_some());
            if reply.send(granted).is_err()
                && let Some(id) = reserved
            {
                // The caller left between the question and the answer.
                self.ledger.settle(id, Amount::default());
                self.in_flight -= 1;
            }
        }
    }
}
