//! Admission of model calls: the actor that keeps the budget ledger, hands out permits, and makes callers queue visibly.
//!
//! A lane has an account of its own with a share of the budget: what it spends cannot be missing elsewhere, and its calls are
//! numbered for themselves. Permits are common to all.
//!
//! It does not make the calls. A caller holds a [`Permit`] for as long as its call takes; dropping it, however that
//! comes about, gives the permit back and settles the ledger.

mod keeper;
mod permit;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::price::Prices;
use ractor::{Actor, ActorCell, ActorRef, RpcReplyPort};
use thiserror::Error;
use tokio::sync::watch;

use self::keeper::AdmissionActor;
pub use self::permit::Permit;
use crate::ledger::{Allowance, Amount, Ask, Reservation, Unaffordable};
use crate::publisher::Publisher;
use crate::scope::Scope;
pub use crate::width::Pace;
use crate::{Unanswered, answered};

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

/// How long a dead Admission's slot may stay empty: its supervisor fills it as soon as it hears of it.
const SUCCESSION: Duration = Duration::from_secs(5);
