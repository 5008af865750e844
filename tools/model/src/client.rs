//! The HTTP client: makes one attempt of one request. `sse`, `reply` and `classify` interpret the bytes; callers retry.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use config::access::Secret;
use futures_util::future::BoxFuture;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, Response, StatusCode, Url};
use thiserror::Error;
use tokio::time::{Instant, timeout, timeout_at};

use super::bounds::{AnswerBounds, Watch};
use super::classify::{self, ProviderRefusal};
use super::reply::{Assembly, StreamState, partial_of_whole};
use super::{
    Awaited, ChatModel, ChatRequest, ModelError, ModelReply, Partial, ReplyDelta, SseEvent,
    SseParser,
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
    /// The key cannot be sent as a header.
    #[error("the API key contains characters that cannot be sent")]
    Key,
    /// The machine's certificates or proxy settings cannot be used.
    #[error("cannot set up the connection")]
    Setup(#[source] reqwest::Error),
}

/// A client for DeepSeek, or for any server with a compatible API.
#[derive(Debug)]
pub struct DeepSeekClient {
    http: Client,
    url: Url,
    headers: HeaderMap,
    bounds: AnswerBounds,
    key: Option<Secret>,
    key_variable: String,
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
        Self::with_bounds(bounds, base_url, key, llm.api_key_env.clone())
    }

    /// Like `new`, with the bounds given directly. `key_variable` is the environment variable named in the error about
    /// a missing key.
    pub fn with_bounds(
        bounds: AnswerBounds,
        base_url: &str,
        key: Option<Secret>,
        key_variable: String,
    ) -> Result<Self, ClientError> {
        let url = endpoint(base_url)?;
        let headers = headers(key.as_ref())?;
        let http = http(&url, bounds.connect).map_err(ClientError::Setup)?;
        Ok(Self { http, url, headers, bounds, key, key_variable })
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
            return Err(self.refused(response, Some(&request.model), &mut watch).await);
        }
        let max_event_bytes = request.max_bytes.saturating_add(MAX_FRAME_BYTES);
        let max_event_bytes = usize::try_from(max_event_bytes).unwrap_or(usize::MAX);
        if !is_event_stream(&response) {
            return Err(self.not_a_stream(response, &mut watch, max_event_bytes).await);
        }

        let mut parser = SseParser::new(max_event_bytes);
        let mut assembly = Assembly::new(request, self.key.as_ref());
        loop {
            let partial = assembly.partial(parser.unfinished());
            let Some(bytes) = self.read(&mut response, &mut watch, partial).await? else {
                return Err(ModelError::Truncated { partial });
            };
            parser.feed(&bytes);
            loop {
                let event = parser.next_event().map_err(|error| ModelError::Malformed {
                    message: error.to_string(),
                    partial: assembly.partial(parser.unfinished()),
                })?;
                let Some(event) = event else { break };
                match event {
                    SseEvent::Comment => deltas(ReplyDelta::KeepAlive),
                    SseEvent::Data(data) => match assembly.event(&data, deltas)? {
                        StreamState::Open => watch.event(Instant::now()),
                        StreamState::Done => {
                            drained(response).await;
                            return assembly.finish();
                        }
                    },
                }
            }
            if assembly.has_tokens() {
                watch.token();
            }
        }
    }

    /// Checks the server and the key by requesting the list of models, the cheapest request that shows both. Costs nothing.
    ///
    /// A server without such a list passes.
    pub async fn check_access(&self) -> Result<(), ModelError> {
        let mut url = self.url.clone();
        url.set_path(&self.url.path().replace("/chat/completions", "/models"));
        let mut watch = Watch::new(self.bounds, Instant::now());
        let sent = self.http.get(url).headers(self.headers.clone()).send();
        let response = within(&watch, Partial::default(), sent).await?;
        let response = response.map_err(|error| self.broken(error, Partial::default()))?;
        match response.status() {
            StatusCode::OK if is_page(&response) => {
                Err(self.not_a_stream(response, &mut watch, MAX_REFUSAL_BYTES).await)
            }
            StatusCode::OK | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            _ => Err(self.refused(response, None, &mut watch).await),
        }
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
        within(watch, Partial::default(), sent).await?.map_err(|error| {
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
        let bytes = within(watch, partial, response.chunk()).await?;
        let bytes = bytes.map_err(|error| self.broken(error, partial))?;
        let count = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if !watch.bytes(count, Instant::now()) {
            let message = format!("the answer has more than {} bytes", self.bounds.stream_bytes);
            return Err(ModelError::Malformed { message, partial });
        }
        Ok(bytes)
    }

    /// Reads a body that is not a stream, up to about `most` bytes. If the connection breaks, what was read so far is
    /// enough.
    async fn body(&self, mut response: Response, watch: &mut Watch, most: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < most {
            match self.read(&mut response, watch, Partial::default()).await {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                Ok(None) | Err(_) => break,
            }
        }
        body
    }

    async fn refused(
        &self,
        response: Response,
        model: Option<&str>,
        watch: &mut Watch,
    ) -> ModelError {
        let status = response.status().as_u16();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after =
            header(RETRY_AFTER).and_then(|value| classify::retry_after(value, header(DATE)));
        let body = self.body(response, watch, MAX_REFUSAL_BYTES).await;
        let refusal = ProviderRefusal { status, retry_after, body: &body };
        let error = classify::classify_refusal(&refusal, model, self.key.as_ref());
        if let (ModelError::Auth { message }, None) = (&error, &self.key) {
            let message =
                format!("no key was sent, because {} is not set; {message}", self.key_variable);
            return ModelError::Auth { message };
        }
        error
    }

    /// Returns the error for a body that is not a stream. A whole answer in JSON, of up to about `most` bytes, is paid for.
    async fn not_a_stream(&self, response: Response, watch: &mut Watch, most: usize) -> ModelError {
        let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or("?"));
        let kind = kind.unwrap_or("nothing").to_owned();
        let length = response.content_length().unwrap_or_default();
        let (body, partial) = if kind.contains("json") {
            let body = self.body(response, watch, most).await;
            let partial = partial_of_whole(&body, length);
            (body, partial)
        } else {
            (self.body(response, watch, MAX_REFUSAL_BYTES).await, Partial::default())
        };
        let text = classify::masked_text(&String::from_utf8_lossy(&body), self.key.as_ref());
        let message = format!("expected a stream of events, got {kind}: {text}");
        ModelError::Malformed { message, partial }
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
}

/// Waits for `future` until the earliest deadline of `watch`.
async fn within<T>(
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

/// Returns whether a response is a stream of events. One without a content type is assumed to be.
fn is_event_stream(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_none_or(|kind| {
        kind.to_str().is_ok_and(|kind| kind.trim_start().starts_with("text/event-stream"))
    })
}

/// Returns whether a response is a web page.
fn is_page(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().starts_with("text/html"))
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
