//! The permit a caller holds during its call: a place among the calls in flight, and the ledger's reservation for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use facts::amounts::{Amount, Charge};
use facts::scope::Scope;
use model::BYTES_PER_TOKEN;
use model::price::Usd;

use super::{Msg, Pace};
use crate::calls::ledger::Reservation;
use crate::mailbox::Mailbox;

/// A permit and a reservation for one attempt.
pub struct Permit {
    admission: Mailbox<Msg>,
    account: Scope,
    reservation: Reservation,
    prompt_tokens: u64,
    answer_bytes: AtomicU64,
    charge: Option<Charge>,
    /// The charge recorded for this call if it was abandoned in the recording.
    presumed: Option<Amount>,
    sent: bool,
    throttled: AtomicBool,
}

impl Permit {
    pub(super) fn new(
        admission: Mailbox<Msg>,
        account: Scope,
        reservation: Reservation,
        prompt_tokens: u64,
    ) -> Self {
        let answer_bytes = AtomicU64::new(0);
        let (charge, presumed, sent) = (None, None, false);
        let throttled = AtomicBool::new(false);
        Self {
            admission,
            account,
            reservation,
            prompt_tokens,
            answer_bytes,
            charge,
            presumed,
            sent,
            throttled,
        }
    }

    /// Returns the reservation.
    pub const fn reservation(&self) -> Reservation {
        self.reservation
    }

    /// Marks the request as sent: from now on it may cost something, even if no answer arrives.
    pub const fn sent(&mut self) {
        self.sent = true;
    }

    /// Sets the amount to charge if this call is abandoned, as recorded for the original call.
    pub const fn presume(&mut self, used: Option<Amount>) {
        self.presumed = used;
    }

    /// Records whether the provider throttled the call; the number of concurrent calls depends on it.
    pub fn felt(&self, pace: Pace) {
        self.throttled.store(pace == Pace::Throttled, Ordering::Relaxed);
    }

    /// Counts bytes of the answer, so that a call that dies halfway can be charged.
    pub fn count(&self, bytes: usize) {
        self.answer_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes of the answer that were received but not passed on, such as those of an incomplete event.
    pub fn count_up_to(&self, bytes: u64) {
        self.answer_bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Returns the estimated tokens received, independently of the server's count.
    pub fn heard_tokens(&self) -> u64 {
        self.answer_bytes.load(Ordering::Relaxed).div_ceil(BYTES_PER_TOKEN)
    }

    /// Returns what the ledger is charged if nothing more is known: the prompt at its upper bound, and a token for each
    /// byte received, up to the number of tokens requested; beyond that, the estimated tokens received.
    pub fn worst_so_far(&self) -> Amount {
        if !self.sent {
            return Amount::default();
        }
        let Reservation { output_tokens, amount, prompt_nano_usd, .. } = self.reservation;
        let bytes = self.answer_bytes.load(Ordering::Relaxed);
        let heard = bytes.min(u64::from(output_tokens)).max(self.heard_tokens());
        let answer = amount.nano_usd.saturating_sub(prompt_nano_usd).nanos();
        // Rounded up, so that the bound holds.
        let share = u128::from(answer) * u128::from(heard);
        let heard_nanos = share.div_ceil(u128::from(output_tokens.max(1)));
        let nano_usd =
            prompt_nano_usd + Usd::from_nanos(u64::try_from(heard_nanos).unwrap_or(u64::MAX));
        // If the model reasons, all of it may be reasoning.
        let (tokens, reasoning) =
            (self.prompt_tokens.saturating_add(heard), amount.reasoning.min(heard));
        Amount { nano_usd, tokens, calls: 1, reasoning }
    }

    /// Ends the call with what it is charged.
    pub fn settle(mut self, charge: Charge) {
        self.charge = Some(charge);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let (id, account) = (self.reservation.id, self.account.clone());
        let throttled = self.throttled.load(Ordering::Relaxed);
        let pace = if throttled { Pace::Throttled } else { Pace::Kept };
        let message = match (self.charge, self.presumed) {
            (Some(charge), _) => Msg::Settle { account, id, charge, pace },
            (None, Some(used)) => Msg::Drop { account, id, used },
            (None, None) if self.sent => Msg::Drop { account, id, used: self.worst_so_far() },
            (None, None) => {
                let charge = Charge::Known(Amount::default());
                Msg::Settle { account, id, charge, pace }
            }
        };
        // If admission has stopped, there is no ledger to update; its successor restores one from the journal.
        self.admission.cast("settle", message).ok();
    }
}
