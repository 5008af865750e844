//! The HTTP client: makes one attempt of one request. `sse`, `reply` and `classify` interpret the bytes; callers retry.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use config::FinishReasons;
use config::access::Secret;
use futures_util::future::BoxFuture;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, Response, StatusCode, Url};
use thiserror::Error;
use tokio::time::{Instant, timeout, timeout_at};

use super::body::BodyReader;
use super::bounds::{AnswerBounds, Watch};
use super::classify::{self, ProviderRefusal};
use super::reply::{AnswerForm, Assembly, StreamState};
use super::{
    Awaited, ChatModel, ChatRequest, ModelError, ModelReply, Partial, ReplyDelta, SpokenDialect,
    SseError, SseEvent,
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
    /// The base URL is not an http or https URL.
    #[error("the base URL {url:?} is not an http or https URL")]
    BaseUrl {
        /// The URL as given.
        url: String,
    },
    /// The base URL carries a user name or password.
    #[error(
        "the base URL for {host} contains a user name or password; remove it, only the API key is sent"
    )]
    Credentials {
        /// The host of the URL.
        host: String,
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
    /// The machine's certificates or proxy settings cannot be used.
    #[error("cannot set up the connection")]
    Setup(#[source] reqwest::Error),
}

/// A client for DeepSeek, or for any server with a compatible API.
pub struct DeepSeekClient {
    http: Client,
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
        let http = http(&url, bounds.connect).map_err(ClientError::Setup)?;
        let key_variable = llm.api_key_env.clone();
        let finish_reasons = llm.finish_reasons.clone();
        let corrected = Mutex::default();
        Ok(Self {
            http,
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
        let sent = self.http.post(self.url.clone()).headers(headers).body(request.body()).send();
        in_time(watch, Partial::default(), sent).await?.map_err(|error| {
            if error.is_connect() && error.is_timeout() {
                let seconds = self.bounds.connect.as_secs();
                let partial = Partial::default();
                ModelError::TimedOut { what: Awaited::Connection, seconds, partial }
            } else {
                self.broken(error, Partial::default())
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
        let causes: Vec<&(dyn Error + 'static)> =
            std::iter::successors(error.source(), |&cause| cause.source()).collect();
        let message =
            causes.iter().fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        let message = classify::masked_text(&message, self.key.as_ref());
        if causes.iter().any(|cause| speaks_no_tls(*cause)) {
            let message =
                "the server does not speak TLS: use http:// instead of https:// in its address"
                    .to_owned();
            return ModelError::Transport { url: self.url.to_string(), message, partial };
        }
        let unreadable = |cause: &io::Error| {
            matches!(cause.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
        };
        if causes.iter().filter_map(|cause| cause.downcast_ref()).any(unreadable) {
            return ModelError::Malformed { message, partial };
        }
        ModelError::Transport { url: self.url.to_string(), message, partial }
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
        corrected.insert(model.to_owned(), dialect.clone());
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

/// Returns whether an error means that the server does not speak TLS.
fn speaks_no_tls(cause: &(dyn Error + 'static)) -> bool {
    // An I/O error does not report the error inside it as its source.
    let inside = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match (cause.downcast_ref::<rustls::Error>(), inside) {
        (Some(tls), _) => matches!(tls, rustls::Error::InvalidMessage(_)),
        (None, Some(inside)) => speaks_no_tls(inside),
        (None, None) => false,
    }
}

/// Builds the request URL from a base with or without `/v1` and trailing slashes.
fn endpoint(base_url: &str) -> Result<Url, ClientError> {
    let wrong = || ClientError::BaseUrl { url: base_url.to_owned() };
    let mut url = Url::parse(base_url.trim()).map_err(|_| wrong())?;
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"));
    let host = host.ok_or_else(wrong)?.to_owned();
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ClientError::Credentials { host });
    }
    let path = format!("{}/chat/completions", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
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

/// Creates the connection pool. A server on this machine needs neither certificates, which are slow to load, nor a proxy.
fn http(url: &Url, connect: Duration) -> reqwest::Result<Client> {
    // Fails if an earlier client already installed it.
    drop(rustls::crypto::ring::default_provider().install_default());
    let builder = Client::builder()
        .user_agent(concat!("deepseek/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .tcp_nodelay(true);
    if !is_loopback(url) {
        return builder.build();
    }
    let builder = builder.no_proxy();
    if url.scheme() == "http" { builder.tls_certs_only([]).build() } else { builder.build() }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod lies;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_joined_to_any_base() {
        for (base, expected) in [
            ("https://api.deepseek.com", "https://api.deepseek.com/chat/completions"),
            ("https://api.deepseek.com/v1/", "https://api.deepseek.com/v1/chat/completions"),
            (" http://127.0.0.1:8080// ", "http://127.0.0.1:8080/chat/completions"),
            ("http://h/a/b?x=1#y", "http://h/a/b/chat/completions"),
        ] {
            assert_eq!(endpoint(base).unwrap().as_str(), expected);
        }
        for wrong in ["", "api.deepseek.com", "file:///x", "ftp://h"] {
            assert!(matches!(endpoint(wrong), Err(ClientError::BaseUrl { .. })), "{wrong}");
        }
        let error = endpoint("https://me:secret@h/v1").unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn a_key_is_sent_but_cannot_be_printed() {
        let headers = headers(Some(&Secret::from("sk-1".to_owned()))).unwrap();
        assert_eq!(headers[AUTHORIZATION].to_str().unwrap(), "Bearer sk-1");
        assert!(!format!("{headers:?}").contains("sk-1"));
        let unsendable = super::headers(Some(&Secret::from("a\nb".to_owned())));
        assert!(matches!(unsendable, Err(ClientError::Key)));
    }

    #[test]
    fn loopback_addresses_are_recognized() {
        for (url, expected) in [
            ("http://localhost:1", true),
            ("http://127.1.2.3", true),
            ("http://[::1]:80", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
