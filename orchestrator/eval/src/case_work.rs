//! A variant's work on a case: attempts until one passes or there are no more. It goes on where a crash ended it.

use std::sync::Arc;

use model::price::Usd;
use tools::blocking::on_a_thread;
use tree::remove_tree;

use crate::answers::{AnswerDesk, OpenDesk};
use crate::attempt::Attempt;
use crate::budget::EvalBudget;
use crate::eval_error::EvalError;
use crate::evaluate::Evaluation;
use crate::events::{EvalEvent, EvalSink};
use crate::results::record::{AttemptResult, EvalCase, EvalRecord, TestVerdict, Variant};
use crate::scratch::repository::Scratch;

/// A variant's work on a case.
pub(crate) struct CaseWork {
    pub(crate) own: Arc<Evaluation>,
    pub(crate) case: EvalCase,
    pub(crate) commands: Vec<String>,
    pub(crate) variant: Variant,
    pub(crate) earlier: Vec<AttemptResult>,
    pub(crate) is_open: bool,
    pub(crate) budget: Arc<EvalBudget>,
    pub(crate) answers: Option<Arc<AnswerDesk>>,
    pub(crate) sink: EvalSink,
}

impl CaseWork {
    pub(crate) fn is_finished(&self) -> bool {
        let tries = usize::try_from(self.case.tries).unwrap_or(1);
        let last = self.earlier.last().map(|attempt| &attempt.verdict);
        last.is_some_and(|verdict| !matches!(verdict, TestVerdict::Failed(_)))
            || self.earlier.len() >= tries
    }

    /// Makes attempts until one passes or there are no more.
    pub(crate) async fn finish(mut self) -> Result<(), EvalError> {
        while !self.is_finished() {
            let reserved = match self.budget.reserve() {
                Ok(reserved) => reserved,
                Err(spent) => {
                    if self.budget.is_first_to_tell() {
                        (self.sink)(EvalEvent::OverBudget { spent });
                    }
                    return Ok(());
                }
            };
            let made = self.attempt(reserved).await;
            let cost = made.as_ref().ok().and_then(|result| result.used.cost_nano_usd);
            self.budget.settle(reserved, cost);
            let result = made?;
            self.is_open = false;
            self.earlier.push(result);
        }
        // What is shown of it is kept beside it.
        let run = self.own.place.run(&self.case.id, &self.variant.name);
        self.own.workshop.remove(&run.join("tree")).await;
        Ok(())
    }

    async fn attempt(&self, budget: Option<Usd>) -> Result<AttemptResult, EvalError> {
        let own = &self.own;
        let number = u32::try_from(self.earlier.len()).unwrap_or_default() + 1;
        let (case, variant) = (self.case.id.clone(), self.variant.name.clone());
        let scratch = self.scratch(number).await?;
        if !self.is_open {
            let began =
                EvalRecord::Began { case: case.clone(), variant: variant.clone(), attempt: number };
            own.record(began).await?;
        }
        (self.sink)(EvalEvent::Began {
            case: case.clone(),
            variant: variant.clone(),
            attempt: number,
        });
        let desk = self.answers.as_ref();
        let desk = match desk {
            Some(desk) => Some(desk.open(&case, &variant).await?),
            None => None,
        };
        let attempt = Attempt {
            case: &self.case,
            variant: &self.variant,
            commands: &self.commands,
            number,
            earlier: &self.earlier,
            scratch: &scratch,
            budget,
            access: desk.as_ref().map(OpenDesk::access).unwrap_or_default(),
            access_flags: desk.as_ref().map(|_| OpenDesk::flags()).unwrap_or_default(),
        };
        let result = attempt.make(&own.workshop, &own.place).await?;
        if let Some(desk) = &desk {
            desk.keep_result(&result).await?;
        }
        own.record(EvalRecord::Judged {
            case: case.clone(),
            variant: variant.clone(),
            attempt: number,
            result: result.clone(),
        })
        .await?;
        (self.sink)(EvalEvent::Judged { case, variant, attempt: number, result: result.clone() });
        Ok(result)
    }

    /// Makes the scratch repository, or finds the one in which earlier work was done.
    async fn scratch(&self, number: u32) -> Result<Scratch, EvalError> {
        let run = self.own.place.run(&self.case.id, &self.variant.name);
        let (case, source) = (self.case.clone(), self.own.workshop.source.clone());
        let is_kept = self.is_open || number > 1;
        on_a_thread(move || {
            let file = |error| EvalError::File { path: run.clone(), error };
            if is_kept {
                return Ok(Scratch::find(&case, &source, &run.join("tree")));
            }
            if run.exists() {
                remove_tree(&run).map_err(file)?;
            }
            Scratch::make(&case, &source, &run.join("tree")).map(|(scratch, _)| scratch)
        })
        .await
    }
}
