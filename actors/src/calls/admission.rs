//! Admission of model calls: an actor that keeps the budget ledger, hands out permits, and queues callers visibly.
//!
//! Each lane has its own account with a share of the budget, so it cannot spend what others need, and its calls have
//! their own numbers. Permits are shared by all accounts.
//!
//! Admission does not make the calls. A caller holds a [`Permit`] for the duration of its call; dropping it, for
//! whatever reason, returns the permit and settles the ledger.

mod keeper;
mod permit;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use facts::amounts::{Allowance, Amount, Charge, Spending, Unaffordable};
use facts::scope::Scope;
use model::price::Prices;
use ractor::{Actor, ActorCell, RpcReplyPort};
use thiserror::Error;
use tokio::sync::watch;

use self::keeper::AdmissionActor;
pub use self::permit::Permit;
use crate::Unanswered;
pub use crate::calls::call_width::Pace;
use crate::calls::ledger::{Ask, Reservation};
use crate::mailbox::{Mailbox, Waits};
use crate::run::publisher::Publisher;

/// A message to the admission actor.
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
        charge: Charge,
        pace: Pace,
    },
    /// A call was abandoned after it was sent.
    Drop {
        account: Scope,
        id: u64,
        used: Amount,
    },
    /// Gives each of these accounts one of `parts` equal shares of what is left.
    Share {
        accounts: Vec<Scope>,
        parts: u64,
        reply: RpcReplyPort<Allowance>,
    },
    /// Counts an amount that was spent before the run.
    SetAside {
        of: Scope,
        amount: Amount,
    },
    /// Takes back the unused share of an account.
    Return {
        account: Scope,
    },
    /// Asks what an account has spent; the run's account includes the spending of its parts.
    Spent {
        account: Scope,
        reply: RpcReplyPort<Spending>,
    },
}

/// Why a call was not admitted.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
pub enum AdmissionError {
    /// The budget does not cover it.
    #[error(transparent)]
    Budget(#[from] Unaffordable),
    /// Admission has stopped.
    #[error("the admission of model calls stopped")]
    Stopped,
    /// No permit became available in time.
    #[error("no permit for a model call became available in time")]
    TimedOut,
}

/// A handle to the current admission actor; when the actor dies, the handle reaches its successor.
#[derive(Clone)]
pub struct Admission {
    /// `None` where no model calls are allowed.
    slot: watch::Receiver<Option<Mailbox<Msg>>>,
    account: Scope,
    timeout: Duration,
}

/// The last call number given out for each account. It outlives the actor: a number that was given out but is not yet
/// in the journal must not be given out again.
type Given = Arc<Mutex<BTreeMap<Scope, u64>>>;

/// The slot that holds the current admission actor; its supervisor keeps it.
pub struct Slot {
    slot: watch::Sender<Option<Mailbox<Msg>>>,
    given: Given,
}

impl Slot {
    /// Starts a new admission actor and puts it in place of one that died.
    pub async fn refill(
        &self,
        setup: AdmissionSetup,
        supervisor: ActorCell,
    ) -> Result<(), ractor::SpawnErr> {
        let mailbox = spawned(setup, &self.given, supervisor).await?;
        self.slot.send_replace(Some(mailbox));
        Ok(())
    }

    /// Returns the actor in the slot, for its supervisor.
    pub fn cell(&self) -> Option<ActorCell> {
        self.slot.borrow().as_ref().map(Mailbox::cell)
    }
}

/// The state of an account, from which a replacement actor continues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// The limits of the account.
    pub limits: Allowance,
    /// What was spent so far.
    pub spent: Spending,
    /// The highest call number given out so far.
    pub last_call: u64,
}

/// What the admission actor is created from.
pub struct AdmissionSetup {
    /// The account of the run.
    pub account: Account,
    /// The accounts of its parts; empty unless admission is being replaced.
    pub parts: BTreeMap<Scope, Account>,
    /// Maximum number of calls in flight.
    pub permits: usize,
    /// What calls cost.
    pub prices: Arc<Prices>,
    /// Where waiting callers are shown.
    pub publisher: Publisher,
    /// How long a caller waits for a permit.
    pub timeout: Duration,
    /// How waiting for it appears in the log.
    pub waits: Waits,
}

impl Admission {
    /// Starts admission under `supervisor`, and returns the slot through which it can be replaced.
    pub async fn spawn(
        setup: AdmissionSetup,
        supervisor: ActorCell,
    ) -> Result<(Self, Slot), ractor::SpawnErr> {
        let (timeout, given) = (setup.timeout, Given::default());
        let account = setup.publisher.scope().clone();
        let mailbox = spawned(setup, &given, supervisor).await?;
        let (keep, slot) = watch::channel(Some(mailbox));
        Ok((Self { slot, account, timeout }, Slot { slot: keep, given }))
    }

    /// Returns a handle that admits no calls.
    pub fn closed() -> Self {
        Self { slot: watch::channel(None).1, account: Scope::SESSION, timeout: Duration::ZERO }
    }

    fn mailbox(&self) -> Option<Mailbox<Msg>> {
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
            match admission.call("admit", message, Some(self.timeout)).await {
                Ok(granted) => {
                    let account = self.account.clone();
                    return Ok(Permit::new(admission, account, granted?, ask.prompt_tokens));
                }
                Err(Unanswered::TimedOut) => return Err(AdmissionError::TimedOut),
                // The actor died: ask its successor, if one is started.
                Err(Unanswered::Stopped) => succeeded(&mut slot).await?,
            }
        }
    }

    /// Returns a handle for the calls of a part of the run, which must have been given a share.
    #[must_use]
    pub fn for_scope(&self, account: Scope) -> Self {
        Self { account, ..self.clone() }
    }

    /// Gives each of these scopes one of `parts` equal shares of what is left; `None` when admission has stopped for
    /// good.
    pub async fn share(&self, accounts: Vec<Scope>, parts: u64) -> Option<Allowance> {
        let mut slot = self.slot.clone();
        loop {
            let admission = slot.borrow_and_update().clone()?;
            let accounts = accounts.clone();
            let message = |reply| Msg::Share { accounts, parts, reply };
            if let Ok(share) = admission.call("share", message, Some(self.timeout)).await {
                return Some(share);
            }
            succeeded(&mut slot).await.ok()?;
        }
    }

    /// Counts what an earlier run, `of`, has spent against the limits, but not as spent by this run.
    pub fn set_aside(&self, of: Scope, amount: Amount) {
        // If admission has stopped, there is no ledger to update.
        if let Some(admission) = self.mailbox() {
            admission.cast("set aside", Msg::SetAside { of, amount }).ok();
        }
    }

    /// Takes back what a scope did not use of its share. The scope must make no more calls.
    pub fn take_back(&self, account: Scope) {
        // If admission has stopped, there is no ledger to update.
        if let Some(admission) = self.mailbox() {
            admission.cast("return", Msg::Return { account }).ok();
        }
    }

    /// Returns what is settled so far, for a part of the run or for the run including its parts; `None` when admission
    /// has stopped.
    pub async fn spent(&self) -> Option<Spending> {
        let (admission, account) = (self.mailbox()?, self.account.clone());
        let message = |reply| Msg::Spent { account, reply };
        admission.call("spent", message, Some(self.timeout)).await.ok()
    }
}

/// Starts an admission actor.
async fn spawned(
    setup: AdmissionSetup,
    given: &Given,
    supervisor: ActorCell,
) -> Result<Mailbox<Msg>, ractor::SpawnErr> {
    let (waits, setup) = (setup.waits.clone(), (setup, Arc::clone(given)));
    let (actor, _) = Actor::spawn_linked(None, AdmissionActor, setup, supervisor).await?;
    Ok(Mailbox::new(actor, waits))
}

/// Waits until a dead admission actor has a successor.
async fn succeeded(slot: &mut watch::Receiver<Option<Mailbox<Msg>>>) -> Result<(), AdmissionError> {
    match tokio::time::timeout(SUCCESSION, slot.changed()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(AdmissionError::Stopped),
    }
}

/// How long the slot may stay empty after the actor dies; its supervisor refills it as soon as it is notified.
const SUCCESSION: Duration = Duration::from_secs(5);
