//! Admission of model calls: the actor that keeps the budget ledger, hands out permits, and makes callers queue visibly.
//!
//! A lane has an account of its own with a share of the budget: what it spends cannot be missing elsewhere, and its calls are
//! numbered for themselves. Permits are common to all.
//!
//! It does not make the calls. A caller holds a [`Permit`] for as long as its call takes; dropping it, however that
//! comes about, gives the permit back and settles the ledger.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::BYTES_PER_TOKEN;
use model::price::{Prices, Usd};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort};
use thiserror::Error;
use tokio::sync::watch;

use crate::event::Event;
use crate::ledger::{Allowance, Amount, Ask, Ledger, Reservation, Unaffordable};
use crate::publisher::Publisher;
use crate::scope::Scope;
use crate::turns::{Party, Place, Turns};
use crate::width::Width;
use crate::{Unanswered, answer, answered};

pub use crate::width::Pace;

/// What admission is asked.
enum Msg {
    Admit {
        account: Scope,
        model: String,
        ask: Ask,
        reply: RpcReplyPort<Result<Reservation, Unaffordable>>,
    },
    Settle {
        account: Scope,
        id: u64,
        used: Amount,
        pace: Pace,
    },
    /// A call that was sent is given up.
    Drop {
        account: Scope,
        id: u64,
        used: Amount,
    },
    /// Gives each of these accounts one of so many parts of what is left.
    Share {
        accounts: Vec<Scope>,
        parts: u64,
        reply: RpcReplyPort<Allowance>,
    },
    /// Takes back what an account did not use.
    Return {
        account: Scope,
    },
    /// What an account has spent; that of the run has what its parts spent in it.
    Spent {
        account: Scope,
        reply: RpcReplyPort<Amount>,
    },
}

/// Why a call was not admitted.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
pub enum AdmissionError {
    /// It cannot be paid.
    #[error(transparent)]
    Budget(#[from] Unaffordable),
    /// Admission is gone.
    #[error("the admission of model calls stopped")]
    Stopped,
    /// No permit came free in time.
    #[error("no permit for a model call came free in time")]
    TimedOut,
}

/// A handle to admission that is running, whichever that is: a successor takes the slot of one that died.
#[derive(Clone)]
pub struct Admission {
    /// None where nobody admits calls.
    slot: watch::Receiver<Option<ActorRef<Msg>>>,
    account: Scope,
    timeout: Duration,
}

/// The last number that was given to a call of each account. It outlives admission: what was given and is not in the journal
/// yet must not be given again.
type Given = Arc<Mutex<BTreeMap<Scope, u64>>>;

/// Admission's place, kept by its supervisor.
pub struct Slot {
    slot: watch::Sender<Option<ActorRef<Msg>>>,
    given: Given,
}

impl Slot {
    /// Puts a new Admission in the place of one that died.
    pub async fn refill(
        &self,
        setup: AdmissionSetup,
        supervisor: ActorCell,
    ) -> Result<(), ractor::SpawnErr> {
        let setup = (setup, Arc::clone(&self.given));
        let (actor, _) = Actor::spawn_linked(None, AdmissionActor, setup, supervisor).await?;
        self.slot.send_replace(Some(actor));
        Ok(())
    }

    /// The actor in the slot, for its supervisor.
    pub fn cell(&self) -> Option<ActorCell> {
        self.slot.borrow().as_ref().map(ActorRef::get_cell)
    }
}

/// An account, when admission is replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// What may be spent.
    pub limits: Allowance,
    /// What was spent before.
    pub spent: Amount,
    /// The highest number a call has had.
    pub last_call: u64,
}

/// What admission is made with.
pub struct AdmissionSetup {
    /// The account of the run.
    pub account: Account,
    /// Those of its parts, when admission is replaced.
    pub parts: BTreeMap<Scope, Account>,
    /// Calls in flight at once.
    pub permits: usize,
    /// What calls cost.
    pub prices: Arc<Prices>,
    /// Where waiting is shown.
    pub publisher: Publisher,
    /// How long a caller waits for a permit.
    pub timeout: Duration,
}

impl Admission {
    /// Starts admission under `supervisor`, with the slot by which it can be replaced.
    pub async fn spawn(
        setup: AdmissionSetup,
        supervisor: ActorCell,
    ) -> Result<(Self, Slot), ractor::SpawnErr> {
        let (timeout, given) = (setup.timeout, Given::default());
        let account = setup.publisher.scope().clone();
        let setup = (setup, Arc::clone(&given));
        let (actor, _) = Actor::spawn_linked(None, AdmissionActor, setup, supervisor).await?;
        let (keep, slot) = watch::channel(Some(actor));
        Ok((Self { slot, account, timeout }, Slot { slot: keep, given }))
    }

    /// Admission of where no calls are made: it admits none.
    pub fn nobody() -> Self {
        Self { slot: watch::channel(None).1, account: Scope::SESSION, timeout: Duration::ZERO }
    }

    fn actor(&self) -> Option<ActorRef<Msg>> {
        self.slot.borrow().clone()
    }

    /// Waits for a permit and reserves the call's worst case.
    pub async fn admit(&self, model: &str, ask: Ask) -> Result<Permit, AdmissionError> {
        let mut slot = self.slot.clone();
        loop {
            let admission = slot.borrow_and_update().clone().ok_or(AdmissionError::Stopped)?;
            let model = model.to_owned();
            let account = self.account.clone();
            let message = |reply| Msg::Admit { account, model, ask, reply };
            match answered(admission.call(message, Some(self.timeout)).await) {
                Ok(granted) => {
                    let account = self.account.clone();
                    return Ok(Permit::new(admission, account, granted?, ask.prompt_tokens));
                }
                Err(Unanswered::TimedOut) => return Err(AdmissionError::TimedOut),
                // It died: its successor is asked, if there is going to be one.
                Err(Unanswered::Stopped) => succeeded(&mut slot).await?,
            }
        }
    }

    /// The same, for the calls of a part of the run. It has to have a share.
    #[must_use]
    pub fn for_scope(&self, account: Scope) -> Self {
        Self { account, ..self.clone() }
    }

    /// Gives each of these scopes one of `parts` equal parts of what is left; `None` when admission is gone for good.
    pub async fn share(&self, accounts: Vec<Scope>, parts: u64) -> Option<Allowance> {
        let mut slot = self.slot.clone();
        loop {
            let admission = slot.borrow_and_update().clone()?;
            let accounts = accounts.clone();
            let message = |reply| Msg::Share { accounts, parts, reply };
            if let Ok(share) = answered(admission.call(message, Some(self.timeout)).await) {
                return Some(share);
            }
            succeeded(&mut slot).await.ok()?;
        }
    }

    /// Takes back what a scope did not use of its share. It makes no more calls.
    pub fn take_back(&self, account: Scope) {
        // Admission that is gone keeps no ledger.
        if let Some(admission) = self.actor() {
            admission.cast(Msg::Return { account }).ok();
        }
    }

    /// What is settled so far, in a part of the run or in the run with its parts; `None` when admission is gone.
    pub async fn spent(&self) -> Option<Amount> {
        let (admission, account) = (self.actor()?, self.account.clone());
        answered(admission.call(|reply| Msg::Spent { account, reply }, Some(self.timeout)).await)
            .ok()
    }
}

/// Comes back when a dead Admission has a successor.
async fn succeeded(
    slot: &mut watch::Receiver<Option<ActorRef<Msg>>>,
) -> Result<(), AdmissionError> {
    match tokio::time::timeout(SUCCESSION, slot.changed()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(AdmissionError::Stopped),
    }
}

/// Those who wait that are told how far they have come.
const MOST_TOLD: usize = 3;

/// How long a dead Admission's slot may stay empty: its supervisor fills it as soon as it hears of it.
const SUCCESSION: Duration = Duration::from_secs(5);

/// A permit and a reservation for one attempt.
pub struct Permit {
    admission: ActorRef<Msg>,
    account: Scope,
    reservation: Reservation,
    prompt_tokens: u64,
    answer_bytes: AtomicU64,
    used: Option<Amount>,
    /// What was charged when it was given up before.
    presumed: Option<Amount>,
    sent: bool,
    throttled: AtomicBool,
}

impl Permit {
    fn new(
        admission: ActorRef<Msg>,
        account: Scope,
        reservation: Reservation,
        prompt_tokens: u64,
    ) -> Self {
        let answer_bytes = AtomicU64::new(0);
        let (used, presumed, sent) = (None, None, false);
        let throttled = AtomicBool::new(false);
        Self {
            admission,
            account,
            reservation,
            prompt_tokens,
            answer_bytes,
            used,
            presumed,
            sent,
            throttled,
        }
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

    /// Tells what it felt of the provider's limits: how many calls are made at once goes by that.
    pub fn felt(&self, pace: Pace) {
        self.throttled.store(pace == Pace::Throttled, Ordering::Relaxed);
    }

    /// Counts bytes of the answer, so that a call that dies in the middle can be charged.
    pub fn count(&self, bytes: usize) {
        self.answer_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes of the answer that were not passed on, such as those of an event without an end.
    pub fn count_up_to(&self, bytes: u64) {
        self.answer_bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Tokens of what was heard, whatever the server says of them.
    pub fn heard_tokens(&self) -> u64 {
        self.answer_bytes.load(Ordering::Relaxed).div_ceil(BYTES_PER_TOKEN)
    }

    /// What the ledger will be charged if nothing more is known: the prompt at its bound, and a token for each byte heard, up to
    /// those that were asked for; beyond them, what was heard.
    pub fn worst_so_far(&self) -> Amount {
        if !self.sent {
            return Amount::default();
        }
        let Reservation { output_tokens, amount, prompt_nano_usd, .. } = self.reservation;
        let bytes = self.answer_bytes.load(Ordering::Relaxed);
        let heard = bytes.min(u64::from(output_tokens)).max(self.heard_tokens());
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

impl Drop for Permit {
    fn drop(&mut self) {
        let (id, account) = (self.reservation.id, self.account.clone());
        let throttled = self.throttled.load(Ordering::Relaxed);
        let pace = if throttled { Pace::Throttled } else { Pace::Kept };
        let message = match (self.used, self.presumed) {
            (Some(used), _) => Msg::Settle { account, id, used, pace },
            (None, Some(used)) => Msg::Drop { account, id, used },
            (None, None) if self.sent => Msg::Drop { account, id, used: self.worst_so_far() },
            (None, None) => Msg::Settle { account, id, used: Amount::default(), pace },
        };
        // Admission that is gone keeps no ledger; its successor restores one from the journal.
        self.admission.cast(message).ok();
    }
}

struct AdmissionActor;

/// A caller in the queue.
struct Waiting {
    account: Scope,
    model: String,
    ask: Ask,
    reply: RpcReplyPort<Result<Reservation, Unaffordable>>,
}

struct State {
    ledger: Ledger,
    parts: BTreeMap<Scope, Ledger>,
    given: Given,
    prices: Arc<Prices>,
    publisher: Publisher,
    width: Width,
    in_flight: usize,
    /// Those in flight that are not the run's own.
    of_parts: usize,
    queue: Turns<Waiting>,
}

impl Actor for AdmissionActor {
    type Msg = Msg;
    type State = State;
    type Arguments = (AdmissionSetup, Given);

    async fn pre_start(
        &self,
        _: ActorRef<Msg>,
        (setup, given): (AdmissionSetup, Given),
    ) -> Result<State, ActorProcessingErr> {
        let last = |account: &Scope| lock(&given).get(account).copied().unwrap_or_default();
        let mut ledger = opened(setup.account, last(setup.publisher.scope()));
        let is_child = |scope: &Scope| scope.child().is_some();
        let (of_children, of_parts): (Vec<_>, Vec<_>) =
            setup.parts.into_iter().partition(|(scope, _)| is_child(scope));
        for (scope, part) in &of_parts {
            ledger.share(scope.clone(), part.limits.into());
        }
        // Small questions have no ledger of their own: the run pays them.
        for (scope, child) in of_children {
            let last = child.last_call.max(last(&scope));
            ledger.restore_child(scope, child.spent, last);
        }
        for (scope, last) in lock(&given).iter().filter(|(scope, _)| is_child(scope)) {
            ledger.restore_child(scope.clone(), Amount::default(), *last);
        }
        let open = |(scope, part): (Scope, Account)| {
            let ledger = opened(part, last(&scope));
            (scope, ledger)
        };
        let parts = of_parts.into_iter().map(open).collect();
        Ok(State {
            ledger,
            parts,
            given,
            prices: setup.prices,
            publisher: setup.publisher,
            width: Width::new(setup.permits),
            in_flight: 0,
            of_parts: 0,
            queue: Turns::default(),
        })
    }

    async fn handle(
        &self,
        _: ActorRef<Msg>,
        msg: Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Admit { account, model, ask, reply } => {
                state.enqueue(Waiting { account, model, ask, reply });
            }
            Msg::Settle { account, id, used, pace } => {
                state.width = state.width.after(pace);
                state.settle(&account, id, used);
            }
            Msg::Drop { account, id, used } => {
                state.settle(&account, id, used);
                let dropped = Event::CallDropped { call: id, charged: used };
                if state.publisher_of(&account).publish(dropped).await.is_err() {
                    tracing::debug!("a call that was given up is not in the journal");
                }
            }
            Msg::Share { accounts, parts, reply } => answer(reply, state.share(accounts, parts)),
            Msg::Return { account } => {
                let spent = state.parts.get(&account).map(Ledger::spent).unwrap_or_default();
                state.ledger.share(account, spent);
            }
            Msg::Spent { account, reply } => answer(reply, state.spent(&account)),
        }
        Ok(())
    }
}

/// A ledger that goes on where another ended.
fn opened(account: Account, last_given: u64) -> Ledger {
    let mut ledger = Ledger::new(account.limits);
    ledger.restore(account.spent, account.last_call.max(last_given));
    ledger
}

/// The account, if it is that of a small question.
fn child(account: &Scope) -> Option<&Scope> {
    Some(account).filter(|account| account.child().is_some())
}

fn lock(given: &Given) -> MutexGuard<'_, BTreeMap<Scope, u64>> {
    given.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Speaks for an account.
    fn publisher_of(&self, account: &Scope) -> Publisher {
        let below = account.segments().iter().skip(self.publisher.scope().segments().len());
        below.fold(self.publisher.clone(), |above, segment| above.for_part(segment.clone()))
    }

    fn is_of_run(&self, account: &Scope) -> bool {
        account == self.publisher.scope()
    }

    fn ledger_of(&mut self, account: &Scope) -> &mut Ledger {
        // A small question is paid from the ledger of the run.
        if self.is_of_run(account) || account.child().is_some() {
            return &mut self.ledger;
        }
        // A share that admission which died had given, and nobody knows of: it is what is left.
        let ledger = &mut self.ledger;
        self.parts.entry(account.clone()).or_insert_with(|| {
            let left = ledger.part(1);
            ledger.share(account.clone(), left.into());
            Ledger::new(left)
        })
    }

    fn share(&mut self, accounts: Vec<Scope>, parts: u64) -> Allowance {
        let part = self.ledger.part(parts);
        for account in accounts {
            self.ledger.share(account.clone(), part.into());
            self.parts.insert(account, Ledger::new(part));
        }
        part
    }

    fn spent(&mut self, account: &Scope) -> Amount {
        let own = self.ledger_of(account).spent();
        if !self.is_of_run(account) {
            return own;
        }
        self.parts.values().fold(own, |sum, part| sum.plus(part.spent()))
    }

    fn party(&self, account: &Scope) -> Party {
        Party::of(account, self.publisher.scope())
    }

    fn enqueue(&mut self, waiting: Waiting) {
        let account = waiting.account.clone();
        self.queue.join(self.party(&account), waiting);
        self.admit_next();
        let place = self.queue.in_order().find(|(_, waiting)| waiting.account == account);
        if let Some((place, waiting)) = place {
            self.tell_wait(place, waiting);
        }
    }

    fn tell_wait(&self, place: Place, Waiting { account, .. }: &Waiting) {
        let is_part = self.party(account).is_part();
        let most = if is_part { self.width.for_parts() } else { self.width.now };
        let throttled = if self.width.is_narrowed() { ": the provider throttles" } else { "" };
        self.publisher_of(account).show_wait(format!(
            "queued {place}: at most {most} model calls are in flight{throttled}"
        ));
    }

    fn settle(&mut self, account: &Scope, id: u64, used: Amount) {
        self.ledger_of(account).settle(child(account), id, used);
        self.give_back(account);
        self.admit_next();
        // Those behind them have heard of a place from which they can only have moved up.
        for (place, waiting) in self.queue.in_order().take(MOST_TOLD) {
            self.tell_wait(place, waiting);
        }
    }

    fn give_back(&mut self, account: &Scope) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.party(account).is_part() {
            self.of_parts = self.of_parts.saturating_sub(1);
        }
    }

    /// Whose call is next, if one more may be made.
    fn next(&mut self) -> Option<Waiting> {
        if self.in_flight >= self.width.now {
            return None;
        }
        let own = self.queue.next_own();
        own.or_else(|| {
            let is_room = self.of_parts < self.width.for_parts();
            is_room.then(|| self.queue.next_of_parts())?
        })
    }

    fn admit_next(&mut self) {
        while let Some(Waiting { account, model, ask, reply }) = self.next() {
            if reply.is_closed() {
                continue;
            }
            let prices = Arc::clone(&self.prices);
            let worst = |output| prices.worst_case(&model, ask.prompt_tokens, output);
            let granted = self.ledger_of(&account).reserve(child(&account), &ask, worst);
            let reserved = granted.as_ref().ok().map(|reservation| reservation.id);
            if let Some(id) = reserved {
                lock(&self.given).insert(account.clone(), id);
                self.in_flight += 1;
                self.of_parts += usize::from(self.party(&account).is_part());
            }
            if reply.send(granted).is_err()
                && let Some(id) = reserved
            {
                // The caller left between the question and the answer.
                self.ledger_of(&account).settle(child(&account), id, Amount::default());
                self.give_back(&account);
            }
        }
    }
}
