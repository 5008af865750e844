//! The HTTP client: makes one attempt of one request. `sse`, `reply` and `classify` interpret the bytes; callers retry.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use config::FinishReasons;
use config::access::Secret;
use futures_util::future::BoxFuture;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER,
};
use reqwest::{Response, StatusCode, Url};
use thiserror::Error;
use tokio::time::{Instant, timeout, timeout_at};

use super::address::{AddressError, endpoint};
use super::body::BodyReader;
use super::bounds::{AnswerBounds, Watch};
use super::classify::{self, ProviderRefusal};
use super::network::{NoConnection, ServerRoute, causes, speaks_no_http};
use super::reply::{AnswerForm, Assembly, StreamState};
use super::{
    ChatModel, ChatRequest, ModelError, ModelReply, Partial, ReplyDelta, SpokenDialect, SseError,
    SseEvent,
};

/// Maximum size of an event's frame, on top of the answer's own limit, in bytes. Answers usually come one token at a
/// time, but some servers send a whole answer in one event.
const MAX_FRAME_BYTES: u64 = 16 * 1024;
/// How much of a refusal's body is read, in bytes.
const MAX_REFUSAL_BYTES: usize = 16 * 1024;
/// How long to wait for the end of the body after `[DONE]`, so that the connection can be reused.
const LAST_BYTES: Duration = Duration::from_millis(20);

/// Why a client cannot be made.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The base URL cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A variable names a proxy that cannot be used.
    #[error(
        "{variable} is {value:?}, which is not the address of a proxy: http://, https://, socks4:// or socks5://, with host and port"
    )]
    Proxy {
        /// The environment variable.
        variable: &'static str,
        /// Its value, without credentials.
        value: String,
    },
    /// A variable names certificates that cannot be used.
    #[error("{variable} names {path}, which cannot be used: {why}")]
    Certificates {
        /// The environment variable.
        variable: &'static str,
        /// The file or directory.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// `llm.dialect` names no dialect.
    #[error("llm.dialect is {name:?}, which is none of: auto, {known}")]
    Dialect {
        /// The setting.
        name: String,
        /// The names of all dialects.
        known: String,
    },
    /// The key cannot be sent as a header.
    #[error("the API key contains characters that cannot be sent")]
    Key,
    /// The machine's certificates cannot be used.
    #[error(
        "cannot set up the connection; certificates are those of SSL_CERT_FILE and SSL_CERT_DIR, or of the system"
    )]
    Setup(#[source] reqwest::Error),
}

/// A client for DeepSeek, or for any server with a compatible API.
pub struct DeepSeekClient {
    route: ServerRoute,
    url: Url,
    headers: HeaderMap,
    bounds: AnswerBounds,
    key: Option<Secret>,
    key_variable: String,
    finish_reasons: FinishReasons,
    /// The dialect of the server, with nothing refused.
    dialect: SpokenDialect,
    /// The dialects of models of which the server refused something.
    corrected: Mutex<BTreeMap<String, SpokenDialect>>,
    keep: Option<Keep>,
}

/// Keeps what a server refused, by model.
type Keep = Box<dyn Fn(&BTreeMap<String, SpokenDialect>) + Send + Sync>;

impl fmt::Debug for DeepSeekClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeepSeekClient").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

impl DeepSeekClient {
    /// Creates a client for the server at `base_url`. Without a key, no `Authorization` is sent, since a local server
    /// may not need one.
    pub fn new(
        llm: &config::Llm,
        base_url: &str,
        key: Option<Secret>,
    ) -> Result<Self, ClientError> {
        let bounds = AnswerBounds::from(llm);
        let url = endpoint(base_url)?;
        let dialect = SpokenDialect::at(llm, url.host_str().unwrap_or_default());
        if !llm.dialects.contains_key(&dialect.name) {
            let known = llm.dialects.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(ClientError::Dialect { name: dialect.name, known });
        }
        let headers = headers(key.as_ref())?;
        let route = ServerRoute::to(&url, bounds.connect)?;
        let key_variable = llm.api_key_env.clone();
        let finish_reasons = llm.finish_reasons.clone();
        let corrected = Mutex::default();
        Ok(Self {
            route,
            url,
            headers,
            bounds,
            key,
            key_variable,
            finish_reasons,
            dialect,
            corrected,
            keep: None,
        })
    }

    /// Replaces the bounds of an answer.
    #[must_use]
    pub fn within(self, bounds: AnswerBounds) -> Self {
        Self { bounds, ..self }
    }

    /// Uses what is known of the server from earlier: the dialects of models of which it refused something. `keep` is
    /// called with all of them when one is added.
    #[must_use]
    pub fn knowing(self, corrected: BTreeMap<String, SpokenDialect>, keep: Keep) -> Self {
        Self { corrected: Mutex::new(corrected), keep: Some(keep), ..self }
    }

    /// Returns the address that requests are sent to.
    pub const fn address(&self) -> &Url {
        &self.url
    }

    fn lock_corrected(&self) -> MutexGuard<'_, BTreeMap<String, SpokenDialect>> {
        self.corrected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(
        &self,
        request: &ChatRequest,
        deltas: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<ModelReply, ModelError> {
        let mut watch = Watch::new(self.bounds, Instant::now());
        let mut response = self.send(request, &watch).await?;
        watch.bytes(0, Instant::now());
        let status = response.status();
        if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            let message = format!("the proxy refuses its user name or password ({status})");
            let url = self.route.named(&self.url);
            return Err(ModelError::Unreachable { url, message, lasts: true });
        }
        if status != StatusCode::OK {
            return Err(self.refused(response, &request.model, &mut watch).await);
        }
        let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or("?"));
        let kind = kind.unwrap_or("nothing").to_owned();
        let max_event_bytes = request.max_bytes.saturating_add(MAX_FRAME_BYTES);
        let mut body = BodyReader::new(usize::try_from(max_event_bytes).unwrap_or(usize::MAX));
        let form = AnswerForm {
            dialect: &request.dialect,
            reasons: &self.finish_reasons,
            key: self.key.as_ref(),
        };
        let mut assembly = Assembly::new(request, form);
        loop {
            let partial = assembly.partial(body.unfinished());
            let bytes = match self.read(&mut response, &mut watch, partial).await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                // The answer has ended; only counts are missing.
                Err(_) if assembly.has_ended() => break,
                Err(error) => return Err(error),
            };
            let unreadable = |error: SseError, partial| {
                let message = error.to_string();
                ModelError::Malformed { message, partial }
            };
            body.feed(&bytes).map_err(|error| unreadable(error, partial))?;
            loop {
                let event = body
                    .next_event()
                    .map_err(|error| unreadable(error, assembly.partial(body.unfinished())))?;
                let Some(event) = event else { break };
                match event {
                    SseEvent::Comment => deltas(ReplyDelta::KeepAlive),
                    SseEvent::Data(data) => match assembly.event(&data, deltas)? {
                        StreamState::Open => watch.event(Instant::now()),
                        StreamState::Done => {
                            drained(response).await;
                            return assembly.finish(&body, &kind, deltas);
                        }
                    },
                }
            }
            if assembly.has_tokens() {
                watch.token();
            }
            if assembly.has_ended() {
                watch.ended();
            }
        }
        assembly.last(&mut body, deltas)?;
        assembly.finish(&body, &kind, deltas)
    }

    /// Sends the request and waits for the headers of the answer.
    async fn send(&self, request: &ChatRequest, watch: &Watch) -> Result<Response, ModelError> {
        let mut headers = self.headers.clone();
        let about = [
            ("x-agent-role", Some(request.role.as_str())),
            ("x-agent-run", Some(request.run.as_str())),
            ("x-agent-lane", request.lane.as_deref()),
        ];
        for (name, value) in about {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        let sent =
            self.route.client.post(self.url.clone()).headers(headers).body(request.body()).send();
        in_time(watch, Partial::default(), sent).await?.map_err(|error| {
            match self.route.no_connection(&error) {
                Some(NoConnection { message, lasts }) => {
                    ModelError::Unreachable { url: self.route.named(&self.url), message, lasts }
                }
                None => self.broken(error, Partial::default()),
            }
        })
    }

    /// Reads the next bytes of the body; `None` at its end.
    async fn read(
        &self,
        response: &mut Response,
        watch: &mut Watch,
        partial: Partial,
    ) -> Result<Option<bytes::Bytes>, ModelError> {
        let bytes = in_time(watch, partial, response.chunk()).await?;
        let bytes = bytes.map_err(|error| self.broken(error, partial))?;
        let count = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if !watch.bytes(count, Instant::now()) {
            let message = format!("the answer has more than {} bytes", self.bounds.stream_bytes);
            return Err(ModelError::Malformed { message, partial });
        }
        Ok(bytes)
    }

    /// Reads the body of a refusal. If the connection breaks, what was read so far is enough.
    async fn refusal(&self, mut response: Response, watch: &mut Watch) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < MAX_REFUSAL_BYTES {
            match self.read(&mut response, watch, Partial::default()).await {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                Ok(None) | Err(_) => break,
            }
        }
        body
    }

    async fn refused(&self, response: Response, model: &str, watch: &mut Watch) -> ModelError {
        let status = response.status().as_u16();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after =
            header(RETRY_AFTER).and_then(|value| classify::retry_after(value, header(DATE)));
        let body = self.refusal(response, watch).await;
        let refusal = ProviderRefusal { status, retry_after, body: &body };
        let error = classify::classify_refusal(&refusal, model, self.key.as_ref());
        if let (ModelError::Auth { message }, None) = (&error, &self.key) {
            let message =
                format!("no key was sent, because {} is not set; {message}", self.key_variable);
            return ModelError::Auth { message };
        }
        error
    }

    /// Converts a transport error: a failed connection, or framing or compression that cannot be decoded.
    fn broken(&self, error: reqwest::Error, partial: Partial) -> ModelError {
        let error = error.without_url();
        let causes = causes(&error);
        let message =
            causes.iter().fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        let message = classify::masked_text(&message, self.key.as_ref());
        if let Some(why) = speaks_no_http(&causes) {
            let url = self.route.named(&self.url);
            let advice = match self.url.scheme() {
                "http" => "; if it speaks TLS, use https:// in its address",
                _ => "",
            };
            let message = format!("{url} does not speak proper HTTP ({why}){advice}");
            return ModelError::Malformed { message, partial };
        }
        let unreadable = |cause: &io::Error| {
            matches!(cause.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
        };
        if causes.iter().filter_map(|cause| cause.downcast_ref()).any(unreadable) {
            return ModelError::Malformed { message, partial };
        }
        ModelError::Transport { url: self.route.named(&self.url), message, partial }
    }
}

impl ChatModel for DeepSeekClient {
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        deltas: &'a mut (dyn FnMut(ReplyDelta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(self.run(request, deltas))
    }

    fn dialect(&self, model: &str) -> SpokenDialect {
        self.lock_corrected().get(model).unwrap_or(&self.dialect).clone()
    }

    fn remember(&self, model: &str, dialect: &SpokenDialect) {
        let mut corrected = self.lock_corrected();
        // Another way of thinking may have been refused something else.
        let known = corrected.entry(model.to_owned()).or_insert_with(|| dialect.clone());
        known.refused.extend(&dialect.refused);
        known.most_tokens = known.most_tokens.into_iter().chain(dialect.most_tokens).min();
        if let Some(keep) = &self.keep {
            keep(&corrected);
        }
    }
}

/// Waits for `future` until the earliest deadline of `watch`.
async fn in_time<T>(
    watch: &Watch,
    partial: Partial,
    future: impl Future<Output = T>,
) -> Result<T, ModelError> {
    let (deadline, passed) = watch.next();
    timeout_at(deadline, future).await.map_err(|_| passed.error(partial))
}

/// Reads what follows `[DONE]`, usually just the end of the body. A server that takes too long loses its connection.
async fn drained(mut response: Response) {
    let end = async { while let Ok(Some(_)) = response.chunk().await {} };
    drop(timeout(LAST_BYTES, end).await);
}

fn headers(key: Option<&Secret>) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(key) = key {
        let value = format!("Bearer {}", key.expose());
        let mut value = HeaderValue::try_from(value).map_err(|_| ClientError::Key)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod lies;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_but_cannot_be_printed() {
        let headers = headers(Some(&Secret::from("sk-1".to_owned()))).unwrap();
        assert_eq!(headers[AUTHORIZATION].to_str().unwrap(), "Bearer sk-1");
        assert!(!format!("{headers:?}").contains("sk-1"));
        let unsendable = super::headers(Some(&Secret::from("a\nb".to_owned())));
        assert!(matches!(unsendable, Err(ClientError::Key)));
    }
}
