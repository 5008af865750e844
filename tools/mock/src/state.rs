//! The state of the fake, and its decisions about requests. No sockets: the server asks for decisions and carries them out.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::answer::Response;
use super::cache::{self, Cache, Canonical};
use super::content::Content;
use super::dialect;
use super::http::Incoming;
use super::refusal::RefusedRequest;
use super::render::{self, RenderedTurn};
use super::route::{self, Route};
use super::schema::RequestMessage;
use super::validate::{self, Accepted};
use super::{Behaviour, Exchange, Options, ReceivedRequest, Replies, ScriptedReply};
use config::Dialect;
use model::Usage;

/// The default choices of `random`: mostly answers, and temporary failures.
const RANDOM_MIX: [Behaviour; 10] = [
    Behaviour::Text,
    Behaviour::Text,
    Behaviour::Text,
    Behaviour::ReasoningText,
    Behaviour::Http429,
    Behaviour::Http500,
    Behaviour::Http503,
    Behaviour::ResetMid,
    Behaviour::EofNoDone,
    Behaviour::EmptyStop,
];

/// The script, cache and recorded requests of a fake.
#[derive(Debug)]
pub(super) struct State {
    options: Options,
    /// Unless it is DeepSeek's own.
    dialect: Option<Dialect>,
    source: Replies,
    cache: Cache,
    random: fastrand::Rng,
    arrived: u64,
    exchanges: VecDeque<Exchange>,
    log: Option<File>,
}

/// The decision about a request.
pub(super) struct FaultDecision {
    pub(super) delay: Duration,
    pub(super) answer: Response,
    /// What the cache stores when the answer begins.
    pub(super) stored: Option<(Canonical, RequestMessage)>,
    behaviour: Option<Behaviour>,
    refusal: Option<String>,
    usage: Option<Usage>,
    counted: Option<Usage>,
    piece: u64,
    /// Number of repetitions of an endless answer.
    pub(super) repeated: Arc<AtomicU64>,
}

impl FaultDecision {
    fn of(answer: Response) -> Self {
        Self {
            delay: Duration::ZERO,
            answer,
            stored: None,
            behaviour: None,
            refusal: None,
            usage: None,
            counted: None,
            piece: 0,
            repeated: Arc::default(),
        }
    }

    fn refused(refusal: RefusedRequest) -> Self {
        let answer = Response::refused(&refusal);
        Self { refusal: Some(refusal.message), ..Self::of(answer) }
    }
}

impl State {
    pub(super) fn new(source: Replies, options: Options, log: Option<File>) -> Self {
        Self {
            source,
            cache: Cache::new(options.cache),
            random: fastrand::Rng::with_seed(options.seed),
            arrived: 0,
            exchanges: VecDeque::new(),
            log,
            dialect: (options.dialect != dialect::DEEPSEEK)
                .then(|| dialect::named(&options.dialect).unwrap_or_default()),
            options,
        }
    }

    /// Returns the recorded requests, oldest first.
    pub(super) fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.iter().cloned().collect()
    }

    /// Stores an answered request in the cache.
    pub(super) fn store(&mut self, prompt: &Canonical, answer: &RequestMessage) {
        self.cache.store(prompt, answer);
    }

    /// Decides about a request that arrived `at` after the start, and records both. `given` is the reply, if it comes from
    /// elsewhere.
    pub(super) fn decide(
        &mut self,
        incoming: &Incoming,
        given: Option<ScriptedReply>,
        (at, connection, in_flight): (Duration, u64, usize),
    ) -> FaultDecision {
        self.arrived += 1;
        let request = ReceivedRequest { number: self.arrived, ..incoming.as_received() };
        let decision = match self.routed(&request, given, in_flight) {
            Ok(decision) => decision,
            Err(refusal) => FaultDecision::refused(refusal),
        };
        self.remember(Exchange {
            request: Arc::new(request),
            at,
            connection,
            in_flight,
            status: decision.answer.status(),
            behaviour: decision.behaviour,
            refusal: decision.refusal.clone(),
            usage: decision.usage,
            counted: decision.counted,
            piece: decision.piece,
            repeated: Arc::clone(&decision.repeated),
        });
        decision
    }

    fn routed(
        &mut self,
        request: &ReceivedRequest,
        given: Option<ScriptedReply>,
        in_flight: usize,
    ) -> Result<FaultDecision, RefusedRequest> {
        let options = &self.options;
        let route = route::route(request)?;
        route::key(request, options)?;
        match route {
            Route::Models => Ok(FaultDecision::of(Response::json(200, models(options)))),
            Route::Balance => Ok(FaultDecision::of(Response::json(200, BALANCE))),
            Route::Chat { beta } => {
                if let Some(dialect) = &self.dialect {
                    dialect::check(dialect, &request.json)?;
                }
                let accepted = validate::chat(request, options, beta, in_flight)?;
                let reply = given.or_else(|| self.source.take(request));
                let reply =
                    reply.ok_or_else(|| RefusedRequest::new(500, "mock script exhausted"))?;
                Ok(self.answered(request.number, &accepted, &reply))
            }
        }
    }

    fn answered(
        &mut self,
        number: u64,
        accepted: &Accepted,
        reply: &ScriptedReply,
    ) -> FaultDecision {
        let behaviour = self.drawn(reply);
        let delay = Duration::from_millis(reply.delay_ms);
        if let Some(answer) = render::failure(behaviour, reply) {
            return FaultDecision {
                delay,
                behaviour: Some(behaviour),
                ..FaultDecision::of(answer)
            };
        }
        let Accepted { body, prompt } = accepted;
        let content = Content::new(behaviour, reply, body.thinks());
        let counted = content.usage(prompt.tokens(), self.cache.hit(prompt), body.max_tokens());
        let usage = reply.usage.over(counted);
        let turn = RenderedTurn {
            number,
            model: &body.model,
            behaviour,
            reply,
            content: &content,
            usage,
            streams: body.streams(),
            names_usage: body.wants_usage(),
            dialect: self.dialect.as_ref(),
        };
        let is_endless = Behaviour::ENDLESS_TEXTS.contains(&behaviour);
        let piece = if is_endless { cache::tokens(&content.text) } else { 0 };
        FaultDecision {
            delay,
            stored: Some((prompt.clone(), content.message(number))),
            behaviour: Some(behaviour),
            usage: Some(usage),
            counted: Some(counted),
            piece,
            ..FaultDecision::of(turn.answer())
        }
    }

    /// Returns the reply's behaviour, or a random one if that is `random`.
    fn drawn(&mut self, reply: &ScriptedReply) -> Behaviour {
        if reply.behaviour != Behaviour::Random {
            return reply.behaviour;
        }
        let mix = if reply.of.is_empty() { &RANDOM_MIX } else { reply.of.as_slice() };
        self.random.choice(mix).copied().unwrap_or_default()
    }

    /// Records an exchange. Writing a line takes microseconds, since it goes to the page cache, so it needs no thread.
    fn remember(&mut self, exchange: Exchange) {
        if let Some(log) = &mut self.log
            && let Err(error) = writeln!(log, "{}", exchange.to_json())
        {
            tracing::error!(%error, "cannot write the log");
        }
        self.exchanges.push_back(exchange);
        while self.exchanges.len() > self.options.remember {
            self.exchanges.pop_front();
        }
    }
}

const BALANCE: &str = r#"{"is_available":true,"balance_infos":[{"currency":"USD","total_balance":"110.00","granted_balance":"10.00","topped_up_balance":"100.00"}]}"#;

/// Lists the canonical model ids; older names are served but not listed.
fn models(options: &Options) -> String {
    let entries: Vec<serde_json::Value> = options
        .models
        .iter()
        .filter(|model| *model != "deepseek-v4-flash")
        .map(|model| serde_json::json!({"id": model, "object": "model", "owned_by": "deepseek"}))
        .collect();
    serde_json::json!({"object": "list", "data": entries}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(role: &str) -> Incoming {
        let body = serde_json::json!({"model": "deepseek-flash", "messages": [{"role": "user", "content": "hi"}]});
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Incoming {
            method: "POST".into(),
            path: "/chat/completions".into(),
            headers: vec![header("authorization", "Bearer k"), header("x-agent-role", role)],
            body: body.to_string().into(),
        }
    }

    fn decide(state: &mut State, incoming: &Incoming) -> FaultDecision {
        state.decide(incoming, None, (Duration::ZERO, 1, 1))
    }

    #[test]
    fn answers_and_errors_are_delayed_as_configured() {
        for behaviour in [Behaviour::Text, Behaviour::Http500] {
            let reply = ScriptedReply { delay_ms: 30, ..ScriptedReply::of(behaviour) };
            let mut state = State::new(vec![reply].into(), Options::default(), None);
            let decision = decide(&mut state, &chat("editor"));
            assert_eq!(decision.delay, Duration::from_millis(30));
            assert_eq!(decision.behaviour, Some(behaviour));
        }
    }

    #[test]
    fn a_refused_request_uses_up_no_reply() {
        let replies = vec![ScriptedReply::text("plan").to("architect")];
        let mut state = State::new(replies.into(), Options::default(), None);
        let keyless = Incoming { headers: Vec::new(), ..chat("architect") };
        assert_eq!(decide(&mut state, &keyless).answer.status, 401);
        assert_eq!(decide(&mut state, &chat("editor")).answer.status, 500);
        assert_eq!(decide(&mut state, &chat("architect")).answer.status, 200);
        assert_eq!(decide(&mut state, &chat("architect")).answer.status, 500);
    }

    #[test]
    fn the_oldest_requests_are_forgotten() {
        let options = Options { remember: 2, ..Options::default() };
        let mut state = State::new(vec![ScriptedReply::text("ok").forever()].into(), options, None);
        for _ in 0..5 {
            decide(&mut state, &chat("editor"));
        }
        let numbers: Vec<u64> = state.exchanges().iter().map(|seen| seen.request.number).collect();
        assert_eq!(numbers, [4, 5]);
    }

    #[test]
    fn models_and_balance_are_served() {
        let mut state = State::new(vec![].into(), Options::default(), None);
        for path in ["/models", "/v1/user/balance"] {
            let get = Incoming { method: "GET".into(), path: path.into(), ..chat("") };
            let super::super::answer::ResponseStep::Send(body) =
                decide(&mut state, &get).answer.steps.remove(0)
            else {
                panic!("{path} has no body")
            };
            assert!(serde_json::from_slice::<serde_json::Value>(&body).unwrap().is_object());
        }
    }
}
