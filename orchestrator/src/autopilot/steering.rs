//! The question for the next step, asked in the steering model's own dialogue: it only grows, and no other model reads it.
//! What is said in it belongs to [`super::course_texts`], what follows from an answer to [`super::course`].

use std::sync::Arc;

use actors::calls::model_call::CallError;
use actors::looks::look_effect::LookSources;
use actors::looks::own_tools;
use actors::run::Run;
use actors::run::command_runner::CommandRunner;
use actors::talk::brief::{Brief, BriefShare};
use actors::talk::prompts::Prompts;
use actors::talk::{AnswerError, Grammar, refused_plan};
use checks::wording::Wording;
use facts::closed::JournalClosed;
use facts::event::{Blob, Event};
use facts::grammar::contract::ContractError;
use missions::rlm::Rlm;
use model::AgentRole;
use ractor::ActorRef;

use super::steering_answer::SteeringAnswer;
use super::steering_dialogue::SteeringExchange;
use crate::request::SteeringQuestion;
use crate::request::routing::{self, RoutedQuestion};
use crate::root::active::Work;
use crate::root::{Msg, News, State};

/// The grammar of the steering model's answers.
struct Steering<'q> {
    until: Option<&'q str>,
}

impl Grammar for Steering<'_> {
    type Answer = String;

    fn is_formed(&self, answer: &str) -> bool {
        SteeringAnswer::is_formed(answer)
    }

    async fn read(&self, answer: &str) -> Result<Result<String, ContractError>, JournalClosed> {
        Ok(SteeringAnswer::read(answer, self.until).map(|_| answer.to_owned()))
    }

    fn refused(&self, error: Wording) -> Event {
        Event::AnswerRefused { error }
    }

    fn repair(&self, prompts: &Prompts, error: &ContractError) -> String {
        refused_plan(prompts, error)
    }
}

impl State {
    /// Asks the steering model. Its answer becomes part of the dialogue, not of the conversation.
    pub(crate) async fn start_steering(
        &mut self,
        myself: &ActorRef<Msg>,
        brief: Brief,
        question: SteeringQuestion,
    ) {
        if question.opens {
            self.steering.clear();
        }
        let Some(children) = self.spawn_children(myself).await else { return };
        let Some(active) = self.active_mut() else { return };
        active.work = Work::Answering(Box::new(children.clone()));
        let run = active.run.clone();
        let (earlier, router) = (self.steering.clone(), self.router.handle());
        let workspace = Arc::new(self.workspace(run.scope(), myself));
        let (commands, index) = (CommandRunner { workspace, run: run.clone() }, self.index.clone());
        self.start_work(myself, async move {
            let Ok(own) = own_tools::find_own_tools(&commands).await else {
                return News::Steered(Err(JournalClosed.into()));
            };
            let tools = (toolbox::tools(), &own[..]);
            let mut dialogue = routing::dialogue(&run, tools);
            for SteeringExchange { told, answer } in earlier {
                dialogue.say(&told);
                dialogue.heard_before(&answer);
            }
            let told = if question.opens {
                let said = routing::analysis_instructions(&run, tools, question.said);
                let (role, reads) = (AgentRole::Analysis, BriefShare::Everything);
                brief.introduction(run.prompts(), &mut dialogue, role, reads, &said)
            } else {
                question.said
            };
            let told = run.redactor.redact(told.trim_end()).into_owned();
            dialogue.say(&told);
            let rlm = Rlm { run: run.clone(), children, index: index.clone() };
            let sources = LookSources {
                commands: &commands,
                index: Some(&index),
                own: &own,
                programs: Some(&rlm),
            };
            // The same for every question of the dialogue, so that the same model is asked.
            let task = Brief { request: brief.request.clone(), ..Brief::default() };
            let asked = RoutedQuestion { run: &run, sources, brief: &task, router, dialogue };
            let answer = asked.ask(&Steering { until: question.until.as_deref() }).await;
            News::Steered(heard(&run, told, answer).await)
        });
    }

    /// Returns the current request, if it is a question to the steering model.
    pub(crate) fn steering_question(&self) -> Option<SteeringQuestion> {
        self.active()?.request.steering().cloned()
    }

    /// Adds an exchange to the dialogue, and returns the answer.
    pub(crate) fn steered(&mut self, exchange: SteeringExchange) -> String {
        let answer = exchange.answer.clone();
        self.steering.push(exchange);
        answer
    }
}

/// Records a usable answer.
async fn heard(
    run: &Run,
    told: String,
    answer: Result<String, AnswerError>,
) -> Result<SteeringExchange, AnswerError> {
    let answer = answer?;
    let event = Event::AutopilotAnswered { told: Blob::new(told.clone()), answer: answer.clone() };
    let recorded = run.publish(event).await;
    recorded.map_err(|closed| AnswerError::Call(CallError::from(closed)))?;
    Ok(SteeringExchange { told, answer })
}
