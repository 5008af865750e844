//! The budget ledger: what may be spent, what is reserved, what is spent. Pure.
//!
//! A call reserves its worst case before it is made, and is settled at its actual usage afterwards. Because a
//! reservation is never smaller than the actual usage, the sum of spent and reserved amounts never exceeds a limit.

use std::collections::BTreeMap;

use facts::amounts::{Allowance, Amount, Charge, Purse, Spending, Unaffordable};
use facts::scope::Scope;
use model::price::Usd;

/// A request to reserve a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Upper bound of the prompt tokens.
    pub prompt_tokens: u64,
    /// Maximum length of the answer that the caller would like.
    pub output_tokens: u32,
    /// True if the model reasons, which may take up the whole answer.
    pub reasons: bool,
    /// True if the recording shows that it was granted: then it is granted again, whatever else is reserved.
    pub was_granted: bool,
}

/// A reservation that guarantees that the budget covers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// The number of the call.
    pub id: u64,
    /// Maximum length of the answer: the requested length, or what the budget still allows.
    pub output_tokens: u32,
    /// The reserved amount.
    pub amount: Amount,
    /// The part of it for the prompt alone.
    pub prompt_nano_usd: Usd,
}

/// A shorter answer is not worth its prompt.
const LEAST_OUTPUT_TOKENS: u32 = 512;

/// Limits, reservations and spending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    limits: Allowance,
    /// The limits of the run, if this is the ledger of a part of it; messages name these.
    whole: Option<Allowance>,
    promised: BTreeMap<(Option<Scope>, u64), Amount>,
    /// The shares of parts of the run, which keep ledgers of their own.
    shares: BTreeMap<Scope, Amount>,
    spent: Spending,
    last_id: u64,
    /// The last call number of each child question; these are paid from this ledger but numbered separately.
    of_children: BTreeMap<Scope, u64>,
}

impl Ledger {
    /// Creates a ledger with nothing spent.
    pub fn new(limits: Allowance) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Returns the limits.
    pub const fn limits(&self) -> Allowance {
        self.limits
    }

    /// Makes it the ledger of a part of a run with the limits `whole`.
    #[must_use]
    pub fn as_share_of(self, whole: Allowance) -> Self {
        Self { whole: Some(whole), ..self }
    }

    /// Returns the ledger of a part of a run, with a share in addition to what it has spent.
    #[must_use]
    pub fn topped_up(self, share: Allowance, whole: Allowance) -> Self {
        let Amount { nano_usd, tokens, calls, reasoning } = self.spent.at_most();
        let limits = Allowance {
            usd: share.usd.map(|more| nano_usd + more),
            tokens: share.tokens.map(|more| tokens.saturating_add(more)),
            calls: share.calls.map(|more| calls.saturating_add(more)),
            reasoning: share.reasoning.map(|more| reasoning.saturating_add(more)),
        };
        Self { limits, ..self }.as_share_of(whole)
    }

    /// Returns what is settled so far.
    pub const fn spent(&self) -> Spending {
        self.spent
    }

    /// Reserves a call's worst case, for a `child` or for the owner of the ledger. The answer is shortened to what the
    /// budget still allows.
    ///
    /// `worst` returns the maximum cost of the call for a given answer length; `None` if the model has no price.
    pub fn reserve(
        &mut self,
        child: Option<&Scope>,
        ask: &Ask,
        worst: impl Fn(u32) -> Option<Usd>,
    ) -> Result<Reservation, Unaffordable> {
        let output =
            if ask.was_granted { ask.output_tokens } else { self.affordable(ask, &worst)? };
        let last = match child {
            Some(child) => self.of_children.entry(child.clone()).or_default(),
            None => &mut self.last_id,
        };
        *last += 1;
        let id = *last;
        let tokens = ask.prompt_tokens.saturating_add(u64::from(output));
        let nano_usd = worst(output).unwrap_or(Usd::ZERO);
        let reasoning = if ask.reasons { u64::from(output) } else { 0 };
        let amount = Amount { nano_usd, tokens, calls: 1, reasoning };
        self.promised.insert((child.cloned(), id), amount);
        let prompt_nano_usd = worst(0).unwrap_or(Usd::ZERO);
        Ok(Reservation { id, output_tokens: output, amount, prompt_nano_usd })
    }

    /// Returns the longest answer that the budget still allows.
    fn affordable(
        &self,
        ask: &Ask,
        worst: &impl Fn(u32) -> Option<Usd>,
    ) -> Result<u32, Unaffordable> {
        let used = self.used();
        let (of, whole) = match self.whole {
            Some(whole) => (Purse::Share, whole),
            None => (Purse::Budget, self.limits),
        };
        if let Some(limit) = self.limits.calls
            && used.calls >= limit
        {
            return Err(Unaffordable::Calls { of, limit: whole.calls.unwrap_or(limit) });
        }
        let mut output = ask.output_tokens;
        let least = output.min(LEAST_OUTPUT_TOKENS);
        if let Some(limit) = self.limits.tokens {
            let left = limit.saturating_sub(used.tokens).saturating_sub(ask.prompt_tokens);
            output = output.min(u32::try_from(left).unwrap_or(u32::MAX));
            if output < least {
                return Err(Unaffordable::Tokens { of, limit: whole.tokens.unwrap_or(limit) });
            }
        }
        if let Some(limit) = self.limits.reasoning.filter(|_| ask.reasons) {
            let left = limit.saturating_sub(used.reasoning);
            output = output.min(u32::try_from(left).unwrap_or(u32::MAX));
            if output < least {
                return Err(Unaffordable::Reasoning { limit });
            }
        }
        if let Some(limit) = self.limits.usd {
            let left = limit.saturating_sub(used.nano_usd);
            output = affordable(output, left, worst).ok_or(Unaffordable::NoPrice)?;
            if output < least {
                let least = worst(least).unwrap_or(Usd::ZERO);
                let limit = whole.usd.unwrap_or(limit);
                return Err(Unaffordable::Usd { of, limit, left, least });
            }
        }
        Ok(output)
    }

    /// Returns what is spent, reserved, or shared out.
    fn used(&self) -> Amount {
        let set_aside = self.promised.values().chain(self.shares.values());
        set_aside.fold(self.spent.at_most(), |sum, amount| sum.plus(*amount))
    }

    /// Returns one of `parts` equal parts of what is left.
    pub fn part(&self, parts: u64) -> Allowance {
        let (used, parts) = (self.used(), parts.max(1));
        let Allowance { usd, tokens, calls, reasoning } = self.limits;
        let left = |limit: u64, used: u64| limit.saturating_sub(used) / parts;
        Allowance {
            usd: usd.map(|limit| Usd::from_nanos(left(limit.nanos(), used.nano_usd.nanos()))),
            tokens: tokens.map(|limit| left(limit, used.tokens)),
            calls: calls.map(|limit| left(limit, used.calls)),
            reasoning: reasoning.map(|limit| left(limit, used.reasoning)),
        }
    }

    /// Sets aside a share for a part of the run, or replaces it with what the part used in the end.
    pub fn share(&mut self, part: Scope, share: Amount) {
        self.shares.insert(part, share);
    }

    /// Replaces a reservation with the actual usage. A reservation that does not exist was settled before.
    pub fn settle(&mut self, child: Option<&Scope>, id: u64, charge: Charge) {
        if self.promised.remove(&(child.cloned(), id)).is_some() {
            self.spent = self.spent.plus(charge.spending());
        }
    }

    /// Takes over from a lost ledger: what it had spent, and the last call number it gave out.
    pub fn restore(&mut self, spent: Spending, last_id: u64) {
        self.spent = self.spent.plus(spent);
        self.last_id = self.last_id.max(last_id);
    }

    /// Like [`restore`](Self::restore), for a child question.
    pub fn restore_child(&mut self, child: Scope, spent: Spending, last_id: u64) {
        self.spent = self.spent.plus(spent);
        let last = self.of_children.entry(child).or_default();
        *last = (*last).max(last_id);
    }
}

/// Returns the longest answer up to `wanted` that costs at most `left`; zero if none does, `None` without a price.
fn affordable(wanted: u32, left: Usd, worst: impl Fn(u32) -> Option<Usd>) -> Option<u32> {
    if worst(wanted)? <= left {
        return Some(wanted);
    }
    // Invariant: `fits` is affordable (or zero), `too_long` is not.
    let (mut fits, mut too_long) = (0, wanted);
    while too_long - fits > 1 {
        let middle = fits + (too_long - fits) / 2;
        if worst(middle)? <= left {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    Some(fits)
}

#[cfg(test)]
mod tests {
    use facts::scope::Segment;
    use proptest::prelude::*;

    use super::*;

    const PROMPT_NANOS: u64 = 1000;
    const OUTPUT_NANOS: u64 = 2000;

    fn cost(prompt: u64, output: u32) -> Usd {
        Usd::from_nanos(prompt * PROMPT_NANOS + u64::from(output) * OUTPUT_NANOS)
    }

    fn reserve(ledger: &mut Ledger, prompt: u64, output: u32) -> Result<Reservation, Unaffordable> {
        let ask = Ask {
            prompt_tokens: prompt,
            output_tokens: output,
            reasons: false,
            was_granted: false,
        };
        ledger.reserve(None, &ask, |output| Some(cost(prompt, output)))
    }

    #[test]
    fn an_answer_is_shortened_to_what_is_left() {
        let mut ledger = Ledger::new(Allowance { tokens: Some(10_000), ..Allowance::default() });
        let first = reserve(&mut ledger, 1000, 8000).unwrap();
        assert_eq!(first.output_tokens, 8000);
        assert_eq!(reserve(&mut ledger, 100, 8000).unwrap().output_tokens, 900);
        assert_eq!(
            reserve(&mut ledger, 1, 8000),
            Err(Unaffordable::Tokens { of: Purse::Budget, limit: 10_000 })
        );
        ledger.settle(
            None,
            first.id,
            Charge::Known(Amount { tokens: 1100, calls: 1, ..Amount::default() }),
        );
        assert_eq!(reserve(&mut ledger, 100, 8000).unwrap().output_tokens, 7800);
    }

    #[test]
    fn money_and_calls_are_also_limited() {
        let mut ledger =
            Ledger::new(Allowance { usd: Some(Usd::from_dollars(0.01)), ..Allowance::default() });
        assert_eq!(reserve(&mut ledger, 2000, 60_000).unwrap().output_tokens, 4000);
        assert!(matches!(reserve(&mut ledger, 2000, 60_000), Err(Unaffordable::Usd { .. })));
        let ask = Ask { prompt_tokens: 1, output_tokens: 1, reasons: false, was_granted: false };
        assert_eq!(ledger.reserve(None, &ask, |_| None), Err(Unaffordable::NoPrice));
        let mut ledger = Ledger::new(Allowance { calls: Some(1), ..Allowance::default() });
        assert!(ledger.reserve(None, &ask, |_| None).is_ok());
        assert_eq!(
            ledger.reserve(None, &ask, |_| None),
            Err(Unaffordable::Calls { of: Purse::Budget, limit: 1 })
        );
    }

    #[test]
    fn reasoning_has_a_limit_of_its_own() {
        let limits = Allowance { reasoning: Some(10_000), ..Allowance::default() };
        let mut ledger = Ledger::new(limits);
        let thinks =
            Ask { prompt_tokens: 1, output_tokens: 8000, reasons: true, was_granted: false };
        let first = ledger.reserve(None, &thinks, |_| None).unwrap();
        assert_eq!(first.output_tokens, 8000);
        assert_eq!(ledger.reserve(None, &thinks, |_| None).unwrap().output_tokens, 2000);
        let refused = ledger.reserve(None, &thinks, |_| None);
        assert_eq!(refused, Err(Unaffordable::Reasoning { limit: 10_000 }));
        let speaks = Ask { reasons: false, ..thinks };
        assert_eq!(ledger.reserve(None, &speaks, |_| None).unwrap().output_tokens, 8000);
        let used = Amount { reasoning: 1000, ..Amount::default() };
        ledger.settle(None, first.id, Charge::Known(used));
        assert_eq!(ledger.reserve(None, &thinks, |_| None).unwrap().output_tokens, 7000);
    }

    #[test]
    fn a_reservation_is_settled_once() {
        let mut ledger = Ledger::new(Allowance::default());
        let reservation = reserve(&mut ledger, 1, 1).unwrap();
        let used = Amount { tokens: 2, calls: 1, ..Amount::default() };
        ledger.settle(None, reservation.id, Charge::Known(used));
        ledger.settle(None, reservation.id, Charge::Known(used));
        assert_eq!(ledger.spent().known.tokens, 2);
    }

    #[test]
    fn a_call_of_unknown_cost_counts_against_the_budget_but_not_as_spent() {
        let mut ledger = Ledger::new(Allowance { tokens: Some(10_000), ..Allowance::default() });
        let [lost, known] = [(), ()].map(|()| reserve(&mut ledger, 1000, 512).unwrap().id);
        let used =
            |tokens| Amount { tokens, calls: 1, nano_usd: Usd::from_nanos(tokens), reasoning: 0 };
        ledger.settle(None, lost, Charge::AtMost(used(6000)));
        ledger.settle(None, known, Charge::Known(used(1100)));
        let spent = ledger.spent();
        assert_eq!(spent, Spending { known: used(1100), unknown: used(6000) });
        assert_eq!(spent.at_most().tokens, 7100);
        assert!(reserve(&mut ledger, 2500, 512).is_err(), "the bound is kept");
        let mut successor = Ledger::default();
        successor.restore(spent, 2);
        assert_eq!(successor.spent(), spent);
    }

    #[test]
    fn child_questions_are_numbered_separately_and_share_one_budget() {
        let limits = Allowance { calls: Some(3), ..Allowance::default() };
        let mut ledger = Ledger::new(limits);
        let child = |number| Scope::of_run("r").within(Segment::Child(number));
        let ask = Ask { prompt_tokens: 1, output_tokens: 1, reasons: false, was_granted: false };
        let of = |ledger: &mut Ledger, child: &Scope| ledger.reserve(Some(child), &ask, |_| None);
        let numbers = [child(1), child(2), child(2)].map(|it| of(&mut ledger, &it).unwrap().id);
        assert_eq!(numbers, [1, 1, 2]);
        assert_eq!(
            of(&mut ledger, &child(3)),
            Err(Unaffordable::Calls { of: Purse::Budget, limit: 3 })
        );
        let again = Ask { was_granted: true, ..ask };
        assert_eq!(ledger.reserve(Some(&child(3)), &again, |_| None).unwrap().id, 1);
        let used = Amount { tokens: 2, calls: 1, ..Amount::default() };
        ledger.settle(Some(&child(2)), 1, Charge::Known(used));
        ledger.settle(None, 1, Charge::Known(used));
        assert_eq!(ledger.spent().known, used, "a reservation belongs to one question only");
    }

    #[test]
    fn a_share_is_not_available_to_others() {
        let limits = Allowance { calls: Some(10), tokens: Some(9000), ..Allowance::default() };
        let mut ledger = Ledger::new(limits);
        let one = Amount { calls: 1, ..Amount::default() };
        ledger.restore(Spending { known: one, ..Spending::default() }, 1);
        let part = ledger.part(3);
        assert_eq!(part, Allowance { calls: Some(3), tokens: Some(3000), ..Allowance::default() });
        let parts = ["1", "2"].map(Scope::of_run);
        for scope in parts.clone() {
            ledger.share(scope, part.into());
        }
        assert_eq!(ledger.part(1).calls, Some(3));
        for _ in 0..3 {
            reserve(&mut ledger, 1, 1).unwrap();
        }
        assert_eq!(
            reserve(&mut ledger, 1, 1),
            Err(Unaffordable::Calls { of: Purse::Budget, limit: 10 })
        );
        // The first part used two of its three calls.
        ledger.share(parts[0].clone(), Amount { calls: 2, ..Amount::default() });
        assert!(reserve(&mut ledger, 1, 1).is_ok());
    }

    #[test]
    fn a_part_that_gets_another_share_keeps_its_calls_and_names_the_whole_budget() {
        let whole = Allowance { tokens: Some(60_000), ..Allowance::default() };
        let share = |tokens| Allowance { tokens: Some(tokens), ..Allowance::default() };
        let mut part = Ledger::default().topped_up(share(6000), whole);
        let first = reserve(&mut part, 1000, 512).unwrap();
        part.settle(
            None,
            first.id,
            Charge::Known(Amount { tokens: 1400, calls: 1, ..Amount::default() }),
        );
        let refused = reserve(&mut part, 9000, 512).unwrap_err();
        assert_eq!(refused, Unaffordable::Tokens { of: Purse::Share, limit: 60_000 });
        let mut part = part.topped_up(share(20_000), whole);
        assert_eq!(part.limits().tokens, Some(21_400));
        assert_eq!(reserve(&mut part, 9000, 512).unwrap().id, 2);
    }

    proptest! {
        /// Whatever is requested, and however calls end within their reservation, no limit is exceeded.
        #[test]
        fn spending_never_exceeds_a_limit(
            tokens in 0u64..50_000,
            dollars in 0.0f64..0.1,
            calls in proptest::collection::vec((0u64..9_000, 1u32..70_000, 1u32..9, any::<bool>()), 1..40),
        ) {
            let limits = Allowance { usd: Some(Usd::from_dollars(dollars)), tokens: Some(tokens), ..Allowance::default() };
            let mut ledger = Ledger::new(limits);
            let mut open = Vec::new();
            for (prompt, output, share, settle_now) in calls {
                if let Ok(granted) = reserve(&mut ledger, prompt, output) {
                    let used = granted.output_tokens / share;
                    let tokens = prompt + u64::from(used);
                    open.push((granted.id, Amount { nano_usd: cost(prompt, used), tokens, calls: 1, reasoning: 0 }));
                }
                if settle_now && let Some((id, used)) = open.pop() {
                    ledger.settle(None, id, Charge::Known(used));
                }
            }
            for (id, used) in open {
                ledger.settle(None, id, Charge::Known(used));
            }
            prop_assert!(ledger.spent().at_most().tokens <= tokens);
            prop_assert!(ledger.spent().at_most().nano_usd <= Usd::from_dollars(dollars));
        }
    }
}
