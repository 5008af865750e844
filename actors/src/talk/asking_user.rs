//! Asks the user what a request means. If the user is absent, the run does not wait: the model decides and states its
//! assumptions.

use std::sync::PoisonError;

use facts::closed::JournalClosed;
use facts::event::Event;
use facts::signal::Attendance;
use model::AgentRole;

use crate::run::effect::{Effect, Trace};
use crate::run::{Run, UserWord};
use crate::talk::prompts::Prompt;

/// Asks the user. The inner result is the user's answer, or the text that tells the model why the user was not asked.
pub(crate) async fn asked(
    run: &Run,
    role: AgentRole,
    question: &str,
) -> Result<Result<String, String>, JournalClosed> {
    let may_ask =
        matches!(role, AgentRole::Analysis | AgentRole::Architect | AgentRole::Researcher);
    if !may_ask || run.scope().lane().is_some() {
        return Ok(Err(run.prompts().render(Prompt::AskNotHere, &[])));
    }
    let said_before = || run.user_said.lock().unwrap_or_else(PoisonError::into_inner);
    let is_answer = |word: &&UserWord| matches!(word, UserWord::Answer { .. });
    let asked = said_before().iter().filter(is_answer).count();
    if asked >= run.config().agent_loop.max_user_questions {
        return Ok(Err(run.prompts().render(Prompt::AskNoMore, &[])));
    }
    let said = ask_user(run, role, question).await?;
    Ok(Ok(said.unwrap_or_else(|| run.prompts().render(Prompt::AskNobody, &[]))))
}

/// Asks the user for `role` if one is there, or as recorded. `None` without an answer.
pub async fn ask_user_if_there(
    run: &Run,
    role: AgentRole,
    question: &str,
) -> Result<Option<String>, JournalClosed> {
    let is_asked = |event: &Event| matches!(event, Event::UserAsked { .. }).then_some(());
    let asks = if run.publisher.follows() {
        run.publisher.recorded_next(is_asked).is_some()
    } else {
        run.attendance == Attendance::Attended
    };
    if asks { ask_user(run, role, question).await } else { Ok(None) }
}

/// Asks the user what a server wants to know in the middle of a call, whose result is what is looked up in a recorded run.
/// `if_empty` says what an empty answer means. `None` if there is no user to answer.
pub(crate) async fn asked_by_server(
    run: &Run,
    role: AgentRole,
    question: &str,
    if_empty: &str,
) -> Result<Option<String>, JournalClosed> {
    let question = run.redactor.redact(question).into_owned();
    run.record(Event::UserAsked { role, question: question.clone() }).await?;
    let answer = put(run, question, if_empty).await;
    run.record(Event::UserAnswered { answer: answer.clone() }).await?;
    Ok(answer)
}

/// Asks the user for `role`. `None` without an answer.
async fn ask_user(
    run: &Run,
    role: AgentRole,
    question: &str,
) -> Result<Option<String>, JournalClosed> {
    let said = run.perform(&mut Asking { role, question, begun: false }).await?;
    let question = run.redactor.redact(question).into_owned();
    let mut said_before = run.user_said.lock().unwrap_or_else(PoisonError::into_inner);
    said_before.push(UserWord::Answer { question, answer: said.clone() });
    drop(said_before);
    Ok(said)
}

/// Puts a question to the user. Returns the answer with secrets masked; `None` if there is no user to answer.
async fn put(run: &Run, question: String, if_empty: &str) -> Option<String> {
    let answer = run.publisher.ask_for_words(question, if_empty.to_owned());
    let answer = run.waits("user").answer("question", answer).await?;
    Some(run.redactor.redact(answer.trim()).into_owned())
}

/// What an empty answer to a model's question means.
const IF_EMPTY: &str = "the model decides";

struct Asking<'a> {
    role: AgentRole,
    question: &'a str,
    /// True once the question is recorded.
    begun: bool,
}

impl Effect for Asking<'_> {
    type Outcome = Option<String>;
    type Stop = JournalClosed;

    fn look(&mut self, event: &Event) -> Trace<Option<String>> {
        if let Event::UserAnswered { answer } = event {
            return Trace::Done(answer.clone());
        }
        if let Event::UserAsked { .. } = event {
            self.begun = true;
            return Trace::Begun;
        }
        Trace::Absent
    }

    async fn act(&mut self, run: &Run) -> Result<Option<String>, JournalClosed> {
        let question = run.redactor.redact(self.question).into_owned();
        if !self.begun {
            run.record(Event::UserAsked { role: self.role, question: question.clone() }).await?;
        }
        let answer = match run.attendance {
            Attendance::Attended => put(run, question, IF_EMPTY).await,
            Attendance::Unattended => None,
        };
        let answer = answer.filter(|answer| !answer.is_empty());
        run.record(Event::UserAnswered { answer: answer.clone() }).await?;
        Ok(answer)
    }
}
