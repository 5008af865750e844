//! A server at an address: its headers and tokens, what is tried again, and what of its failures says that nothing happened.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the errors and messages of the transport grow; all others pass through"
)]

use std::collections::{BTreeMap, HashMap};
use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use config::McpServer;
use config::access::Secret;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use model::ServerRoute;
use reqwest::Url;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::redirect::{Action, Attempt, Policy};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use serde_json::json;
use sse_stream::Sse;
use thiserror::Error;

use crate::connection::{Age, ConnectError, Connection, ServerLimits};
use crate::entry::ServerEntry;
use crate::expand::expand;
use crate::failure::HttpFailure;
use crate::oauth::{Challenge, Tokens};

/// Time for a connection.
const TO_CONNECT: Duration = Duration::from_secs(10);
/// How long to wait before each further try of what may be tried again.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(3)];
/// The longest wait that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

type HttpError<E> = StreamableHttpError<E>;

/// What requests to a server are sent with.
#[derive(Clone)]
pub(crate) struct HttpTarget {
    name: String,
    pub(crate) url: Url,
    headers: HashMap<HeaderName, HeaderValue>,
}

impl HttpTarget {
    /// Returns what an entry says, with the values of variables.
    pub(crate) fn of(
        entry: &ServerEntry,
        variables: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let McpServer { url, headers, .. } = &entry.server;
        let expanded = |text: &str| {
            expand(text, &|name| variables.get(name).cloned()).map_err(|error| error.to_string())
        };
        let url = Url::parse(&expanded(url)?).map_err(|error| format!("`url`: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("`url` must begin with http:// or https://".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("`url` has a user name or password; send a header instead".to_owned());
        }
        let header = |(name, value): (&String, &String)| {
            let wrong = |_| format!("the header `{name}` cannot be sent");
            let mut value = HeaderValue::from_str(&expanded(value)?)
                .map_err(|_| format!("the value of the header `{name}` cannot be sent"))?;
            value.set_sensitive(true);
            Ok((HeaderName::from_bytes(name.as_bytes()).map_err(wrong)?, value))
        };
        let headers = headers.iter().map(header).collect::<Result<_, String>>()?;
        Ok(Self { name: entry.name.clone(), url, headers })
    }

    /// Returns true if the entry has a key of its own.
    fn has_key(&self) -> bool {
        self.headers.contains_key(&AUTHORIZATION)
    }

    fn route(&self) -> Result<ServerRoute, String> {
        let route = ServerRoute::with(&self.url, TO_CONNECT, |builder, _| {
            builder.redirect(Policy::custom(within_origin))
        });
        route.map_err(|error| error.to_string())
    }

    /// Returns how errors name the address: not its path, which may hold a secret.
    fn named(&self, route: &ServerRoute) -> String {
        let mut origin = self.url.clone();
        origin.set_path("");
        route.named(&origin)
    }

    /// Asks the server for what it says when it wants a login.
    pub(crate) async fn challenge(&self) -> Result<Challenge, String> {
        let route = self.route()?;
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "deepseek", "version": env!("CARGO_PKG_VERSION") },
            },
        });
        let request = route.client.post(self.url.clone()).timeout(TO_CONNECT);
        let request = request.headers(self.headers.clone().into_iter().collect());
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.header(ACCEPT, "application/json, text/event-stream");
        let answer = request.body(hello.to_string()).send().await;
        let answer = answer.map_err(|error| self.broken(&route, error).to_string())?;
        let header = answer.headers().get(WWW_AUTHENTICATE);
        let header = header.and_then(|header| header.to_str().ok());
        Ok(header.map(Challenge::parse).unwrap_or_default())
    }

    /// Returns what ended a request before its answer.
    fn broken(&self, route: &ServerRoute, error: reqwest::Error) -> HttpFailure {
        let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
        if let Some(redirect) = causes.find_map(|it| it.downcast_ref::<Redirect>()) {
            return HttpFailure::Refused(redirect.to_string());
        }
        let named = self.named(route);
        if let Some(no) = route.no_connection(&error) {
            return HttpFailure::Refused(format!("{named} cannot be reached: {}", no.message));
        }
        let error = error.without_url();
        let last = std::iter::successors(error.source(), |&cause| cause.source()).last();
        let why = last.map_or_else(|| error.to_string(), ToString::to_string);
        HttpFailure::Unknown(format!("{named} broke off: {why}"))
    }
}

/// A redirect that is not followed.
#[derive(Debug, Error)]
#[error("it leads on to {0}, which is another address than the one that you approved")]
struct Redirect(String);

/// Follows a redirect that stays at the same origin and keeps the request as it is.
fn within_origin(attempt: Attempt<'_>) -> Action {
    const MOST: usize = 5;
    let previous = attempt.previous();
    let stays = previous.first().is_some_and(|url| url.origin() == attempt.url().origin());
    let keeps = matches!(attempt.status().as_u16(), 307 | 308);
    if stays && keeps && previous.len() <= MOST {
        return attempt.follow();
    }
    let mut to = attempt.url().clone();
    to.set_query(None);
    attempt.error(Redirect(to.into()))
}

/// Connects to a server.
pub(crate) async fn connect(
    entry: &ServerEntry,
    limits: ServerLimits,
    variables: &BTreeMap<String, String>,
    tokens: &Tokens,
) -> Result<Connection, ConnectError> {
    let target = HttpTarget::of(entry, variables).map_err(ConnectError::Start)?;
    let route = target.route().map_err(ConnectError::Start)?;
    let max_bytes = limits.max_message_bytes;
    let mut config = StreamableHttpClientTransportConfig::with_uri(target.url.as_str());
    config.custom_headers.clone_from(&target.headers);
    config.max_sse_event_size = max_bytes;
    config.max_json_response_size = max_bytes;
    let mut age = Age::Handshake;
    loop {
        let fault = Arc::new(OnceLock::new());
        let tokens = (!target.has_key()).then(|| tokens.clone());
        let (target, route) = (target.clone(), route.clone());
        let caller =
            Caller(Arc::new(Inner { target, route, tokens, fault: Arc::clone(&fault), max_bytes }));
        let transport = StreamableHttpClientTransport::with_client(caller, config.clone());
        match Connection::open(&entry.name, limits, age, fault, transport).await {
            Err(ConnectError::Refused(_)) if age == Age::Handshake => age = Age::Discovery,
            other => return other,
        }
    }
}

/// Sends the messages of a connection.
#[derive(Clone)]
struct Caller(Arc<Inner>);

struct Inner {
    target: HttpTarget,
    route: ServerRoute,
    /// None if the entry has a key of its own.
    tokens: Option<Tokens>,
    fault: Arc<OnceLock<String>>,
    max_bytes: usize,
}

impl Caller {
    /// Returns the token to send.
    async fn token(&self) -> Result<Option<Secret>, HttpError<HttpFailure>> {
        let Inner { target, tokens, .. } = &*self.0;
        let Some(tokens) = tokens else { return Ok(None) };
        let token = tokens.bearer(&target.url).await;
        token.map_err(|why| HttpError::Client(HttpFailure::Refused(self.log_in(&why, ""))))
    }

    /// Returns another token than one that was refused, if there is one.
    async fn another(&self, refused: Option<&Secret>) -> Option<Secret> {
        let Inner { target, tokens, .. } = &*self.0;
        // Why there is none is told by the server's refusal.
        tokens.as_ref()?.instead_of(&target.url, refused).await.ok().flatten()
    }

    fn log_in(&self, why: &str, flags: &str) -> String {
        format!("{why}; log in with `deepseek mcp login {}{flags}`", self.0.target.name)
    }

    /// Sends a message, again if that can do no harm.
    async fn post(
        &self,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError<HttpFailure>> {
        let Inner { target, route, .. } = &*self.0;
        let uri: Arc<str> = target.url.as_str().into();
        let mut pauses = PAUSES.iter().filter(|_| may_be_repeated(&message));
        let mut token = self.token().await?;
        let mut may_renew = true;
        loop {
            let bearer = bearer(token.as_ref());
            let (uri, message) = (Arc::clone(&uri), message.clone());
            let (session, headers) = (session.clone(), headers.clone());
            let client = &route.client;
            let sent = client
                .post_message_with_response_limits(uri, message, session, bearer, headers, limits);
            let error = match sent.await {
                Ok(response) => return Ok(self.watched(response)),
                Err(error) => error,
            };
            if refused_with(&error) == Some(401) && may_renew {
                may_renew = false;
                if let Some(another) = self.another(token.as_ref()).await {
                    token = Some(another);
                    continue;
                }
            }
            match (self.asks_to_wait(&error), pauses.next()) {
                (Some(asked), Some(pause)) => tokio::time::sleep(asked.max(*pause)).await,
                _ => return Err(self.in_words(error)),
            }
        }
    }

    /// Returns how long to wait before a message may be sent again; `None` if that cannot help.
    fn asks_to_wait(&self, error: &HttpError<reqwest::Error>) -> Option<Duration> {
        match error {
            HttpError::HttpStatus(status) => {
                let asked = status.retry_after.as_deref().and_then(|text| text.parse().ok());
                Some(asked.map(Duration::from_secs).unwrap_or_default().min(LONGEST_PAUSE))
            }
            HttpError::Client(error) if error.is_redirect() || error.is_builder() => None,
            HttpError::Client(error) => {
                let lasts = self.0.route.no_connection(error).is_some_and(|no| no.lasts);
                (!lasts).then(Duration::default)
            }
            _ => None,
        }
    }

    /// Watches a stream of events for one that is too long.
    fn watched(&self, response: StreamableHttpPostResponse) -> StreamableHttpPostResponse {
        match response {
            StreamableHttpPostResponse::Sse(stream, session) => {
                StreamableHttpPostResponse::Sse(self.watched_stream(stream), session)
            }
            other => other,
        }
    }

    fn watched_stream(
        &self,
        stream: BoxStream<'static, Result<Sse, SseError>>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let (fault, max) = (Arc::clone(&self.0.fault), self.0.max_bytes);
        let watched = stream.inspect(move |event| {
            let is_too_long =
                |error: &SseError| error.to_string().contains(&format!("{max} bytes"));
            if event.as_ref().is_err_and(is_too_long) {
                fault.set(too_long(max)).ok();
            }
        });
        watched.boxed()
    }

    /// Returns a failure in words. The ones that the transport acts on stay as they are.
    fn in_words(&self, error: HttpError<reqwest::Error>) -> HttpError<HttpFailure> {
        let Inner { target, route, max_bytes, .. } = &*self.0;
        let failure = match error {
            HttpError::SessionExpired => return HttpError::SessionExpired,
            HttpError::ServerDoesNotSupportSse => return HttpError::ServerDoesNotSupportSse,
            HttpError::ServerDoesNotSupportDeleteSession => {
                return HttpError::ServerDoesNotSupportDeleteSession;
            }
            HttpError::InsufficientScope(error) if !target.has_key() => {
                let scope = Challenge::parse(&error.www_authenticate_header).scope;
                let scope = scope.as_deref().map(scope_flags).unwrap_or_default();
                HttpFailure::Refused(self.log_in("it wants a login with more rights", &scope))
            }
            HttpError::Client(error) => target.broken(route, error),
            HttpError::ResponseBodyTooLarge { .. } => HttpFailure::Unknown(too_long(*max_bytes)),
            error => match refused_with(&error) {
                Some(status @ (401 | 403)) if target.has_key() => HttpFailure::Refused(format!(
                    "it refuses the header `Authorization` of its entry (HTTP {status})"
                )),
                Some(401) => HttpFailure::Refused(self.log_in("it wants a login", "")),
                Some(400) => HttpFailure::Strange("it refuses (HTTP 400)".to_owned()),
                Some(status @ (404 | 405)) => HttpFailure::Refused(format!(
                    "it has no server of this protocol at the address (HTTP {status})"
                )),
                Some(408) | None => HttpFailure::Unknown(format!("it answers with {error}")),
                Some(status) if status >= 500 => {
                    HttpFailure::Unknown(format!("it answers with HTTP {status}"))
                }
                Some(status) => HttpFailure::Refused(format!("it refuses (HTTP {status})")),
            },
        };
        HttpError::Client(failure)
    }
}

/// Returns a token as the transport wants it.
fn bearer(token: Option<&Secret>) -> Option<String> {
    token.map(|token| token.expose().to_owned())
}

/// Returns the status with which a server refused, if it did.
fn refused_with(error: &HttpError<reqwest::Error>) -> Option<u16> {
    match error {
        HttpError::AuthRequired(_) => Some(401),
        HttpError::InsufficientScope(_) => Some(403),
        HttpError::HttpStatus(error) => Some(error.status),
        // It has no field for the status.
        HttpError::UnexpectedServerResponse(text) => {
            text.strip_prefix("HTTP ")?.split(' ').next()?.parse().ok()
        }
        _ => None,
    }
}

fn too_long(max: usize) -> String {
    format!("it sent a message of more than {max} bytes (mcp.max_message_bytes)")
}

/// Returns true for what changes nothing: the beginning of a connection, and the list of tools.
const fn may_be_repeated(message: &ClientJsonRpcMessage) -> bool {
    match message {
        ClientJsonRpcMessage::Request(it) => matches!(
            it.request,
            ClientRequest::InitializeRequest(_)
                | ClientRequest::DiscoverRequest(_)
                | ClientRequest::ListToolsRequest(_)
        ),
        ClientJsonRpcMessage::Notification(it) => {
            matches!(it.notification, ClientNotification::InitializedNotification(_))
        }
        _ => false,
    }
}

impl StreamableHttpClient for Caller {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError<HttpFailure>> {
        self.post(message, session, headers, StreamableHttpResponseLimits::default()).await
    }

    async fn post_message_with_response_limits(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError<HttpFailure>> {
        self.post(message, session, headers, limits).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError<HttpFailure>> {
        let bearer = bearer(self.token().await?.as_ref());
        let deleted = self.0.route.client.delete_session(uri, session, bearer, headers).await;
        deleted.map_err(|error| self.in_words(error))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError<HttpFailure>> {
        let bearer = bearer(self.token().await?.as_ref());
        let (client, max) = (&self.0.route.client, self.0.max_bytes);
        let stream = client
            .get_stream_with_max_sse_event_size(uri, session, last_event, bearer, headers, max)
            .await;
        match stream {
            Ok(stream) => Ok(self.watched_stream(stream)),
            // Trying again does not help then.
            Err(error) if refused_with(&error).is_some_and(|status| status < 500) => {
                Err(HttpError::ServerDoesNotSupportSse)
            }
            Err(error) => Err(self.in_words(error)),
        }
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        bearer: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        _: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError<HttpFailure>> {
        self.get_stream(uri, session, last_event, bearer, headers).await
    }
}

/// Returns the rights as flags of a login. What could mean something else on a command line is left out: a server says it.
fn scope_flags(scope: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:/".contains(c);
    let plain =
        scope.split_whitespace().filter(|it| !it.starts_with('-') && it.chars().all(is_plain));
    plain.flat_map(|it| [" --scope ", it]).collect()
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
