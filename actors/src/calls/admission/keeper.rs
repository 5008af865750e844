//! The actor behind admission: it keeps the ledgers and decides whose call is next.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use facts::amounts::{Allowance, Amount, Charge, Spending, Unaffordable};
use facts::event::Event;
use facts::scope::Scope;
use model::price::Prices;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::{Account, AdmissionSetup, Given, Msg};
use crate::answer;
use crate::calls::call_order::{Party, QueuePlace, Turns};
use crate::calls::call_width::Width;
use crate::calls::ledger::{Ask, Ledger, Reservation};
use crate::run::publisher::Publisher;

/// Number of waiting callers that are told their new place when the queue moves.
const MOST_TOLD: usize = 3;

pub(super) struct AdmissionActor;

/// A caller in the queue.
struct Waiting {
    account: Scope,
    model: String,
    ask: Ask,
    reply: RpcReplyPort<Result<Reservation, Unaffordable>>,
}

pub(super) struct State {
    ledger: Ledger,
    parts: BTreeMap<Scope, Ledger>,
    given: Given,
    prices: Arc<Prices>,
    publisher: Publisher,
    width: Width,
    in_flight: usize,
    /// Calls in flight that belong to parts of the run, not to the run itself.
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
        // Child questions have no ledger of their own: the run pays for them.
        for (scope, child) in of_children {
            let last = child.last_call.max(last(&scope));
            ledger.restore_child(scope, child.spent, last);
        }
        for (scope, last) in lock(&given).iter().filter(|(scope, _)| is_child(scope)) {
            ledger.restore_child(scope.clone(), Spending::default(), *last);
        }
        let whole = setup.account.limits;
        let open = |(scope, part): (Scope, Account)| {
            let ledger = opened(part, last(&scope)).as_share_of(whole);
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
            Msg::Settle { account, id, charge, pace } => {
                state.width = state.width.after(pace);
                state.settle(&account, id, charge);
            }
            Msg::Drop { account, id, used } => {
                state.settle(&account, id, Charge::AtMost(used));
                let dropped = Event::CallDropped { call: id, charged: used };
                if state.publisher_of(&account).publish(dropped).await.is_err() {
                    tracing::debug!("a call that was given up is not in the journal");
                }
            }
            Msg::Share { accounts, parts, reply } => answer(reply, state.share(accounts, parts)),
            Msg::SetAside { of, amount } => state.ledger.share(of, amount),
            Msg::Return { account } => {
                let spent = state.parts.get(&account).map(Ledger::spent).unwrap_or_default();
                state.ledger.share(account, spent.at_most());
            }
            Msg::Spent { account, reply } => answer(reply, state.spent(&account)),
        }
        Ok(())
    }
}

/// Opens a ledger that continues from a previous one.
fn opened(account: Account, last_given: u64) -> Ledger {
    let mut ledger = Ledger::new(account.limits);
    ledger.restore(account.spent, account.last_call.max(last_given));
    ledger
}

/// Returns the account if it belongs to a child question.
fn child(account: &Scope) -> Option<&Scope> {
    Some(account).filter(|account| account.child().is_some())
}

fn lock(given: &Given) -> MutexGuard<'_, BTreeMap<Scope, u64>> {
    given.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Returns a publisher for the scope of an account.
    fn publisher_of(&self, account: &Scope) -> Publisher {
        let below = account.segments().iter().skip(self.publisher.scope().segments().len());
        below.fold(self.publisher.clone(), |above, segment| above.for_part(segment.clone()))
    }

    fn is_of_run(&self, account: &Scope) -> bool {
        account == self.publisher.scope()
    }

    fn ledger_of(&mut self, account: &Scope) -> &mut Ledger {
        // Child questions are paid from the run's ledger.
        if self.is_of_run(account) || account.child().is_some() {
            return &mut self.ledger;
        }
        // An admission actor that died gave the share, and the share is not recorded: the account gets what is left.
        let ledger = &mut self.ledger;
        self.parts.entry(account.clone()).or_insert_with(|| {
            let left = ledger.part(1);
            ledger.share(account.clone(), left.into());
            Ledger::default().topped_up(left, ledger.limits())
        })
    }

    fn share(&mut self, accounts: Vec<Scope>, parts: u64) -> Allowance {
        let part = self.ledger.part(parts);
        for account in accounts {
            let before = self.parts.remove(&account).unwrap_or_default();
            let ledger = before.topped_up(part, self.ledger.limits());
            self.ledger.share(account.clone(), ledger.limits().into());
            self.parts.insert(account, ledger);
        }
        part
    }

    fn spent(&mut self, account: &Scope) -> Spending {
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

    fn tell_wait(&self, place: QueuePlace, Waiting { account, .. }: &Waiting) {
        let is_part = self.party(account).is_part();
        let most = if is_part { self.width.for_parts() } else { self.width.now };
        let throttled = if self.width.is_narrowed() { ": the provider throttles" } else { "" };
        self.publisher_of(account).show_wait(format!(
            "queued {place}: at most {most} model calls are in flight{throttled}"
        ));
    }

    fn settle(&mut self, account: &Scope, id: u64, charge: Charge) {
        self.ledger_of(account).settle(child(account), id, charge);
        self.give_back(account);
        self.admit_next();
        // Callers further back keep the place last shown to them; they can only have moved up since.
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

    /// Takes the next caller off the queue, if another call may be made.
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
                // The caller left before it received the reservation.
                let nothing = Charge::Known(Amount::default());
                self.ledger_of(&account).settle(child(&account), id, nothing);
                self.give_back(&account);
            }
        }
    }
}
