//! Tokens of servers: kept by the address of the server with the issuer that gave them, and renewed only there.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use config::access::Secret;
use reqwest::Url;
use reqwest::header::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex;
use tools::clock::{Clock as _, SystemClock};
use tree::FileHash;

use super::led::{Leader, Sent};

/// A token is renewed when it holds for less than this, in seconds.
const TOO_SHORT: u64 = 30;

/// Where the secrets of servers are kept, by name. Each method may block.
pub trait TokenStore: Send + Sync {
    /// Returns a secret, if there is one.
    fn read(&self, name: &str) -> io::Result<Option<Secret>>;

    /// Keeps a secret in the place of an earlier one.
    fn keep(&self, name: &str, secret: &Secret) -> io::Result<()>;

    /// Forgets a secret. Returns true if there was one.
    fn forget(&self, name: &str) -> io::Result<bool>;
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoTokens;

impl TokenStore for NoTokens {
    fn read(&self, _: &str) -> io::Result<Option<Secret>> {
        Ok(None)
    }

    fn keep(&self, _: &str, _: &Secret) -> io::Result<()> {
        Err(io::Error::other("there is no place for tokens"))
    }

    fn forget(&self, _: &str) -> io::Result<bool> {
        Ok(false)
    }
}

/// A client as an authority knows it. It has no `Debug`, since it may hold a secret.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownClient {
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) secret: Option<String>,
    /// Whether the secret is sent as a field, not as a header.
    #[serde(default)]
    pub(super) as_field: bool,
}

impl KnownClient {
    /// Returns a form of this client.
    pub(super) fn form(&self, mut fields: Vec<(&'static str, String)>) -> Sent {
        fields.push(("client_id", self.id.clone()));
        let mut basic = None;
        match &self.secret {
            Some(secret) if self.as_field => fields.push(("client_secret", secret.clone())),
            Some(secret) => {
                let encoded = BASE64_STANDARD.encode(format!("{}:{secret}", self.id));
                basic = HeaderValue::from_str(&format!("Basic {encoded}")).ok();
            }
            None => {}
        }
        Sent::Form { fields, basic }
    }
}

/// What the user was granted. It has no `Debug`, since it holds secrets.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TokenGrant {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) client: KnownClient,
    access_token: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    refresh_token: Option<String>,
    /// Seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    expires_at: Option<u64>,
}

/// The parts of a grant that do not come with the token.
pub(super) struct GrantedBy {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) client: KnownClient,
}

impl TokenGrant {
    /// Reads the answer of an authority. A refresh token that it does not give anew stays.
    pub(super) fn read(
        answer: &Value,
        by: GrantedBy,
        refresh_token: Option<String>,
    ) -> Result<Self, String> {
        let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
        let kind = text("token_type").unwrap_or_default();
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(format!("{} gives no bearer token", by.issuer));
        }
        let access_token = text("access_token").filter(|token| !token.is_empty());
        let GrantedBy { issuer, resource, token_endpoint, client } = by;
        Ok(Self {
            access_token: access_token.ok_or_else(|| format!("{issuer} gives no token"))?,
            refresh_token: text("refresh_token").or(refresh_token),
            expires_at: answer.get("expires_in").and_then(seconds).map(|holds| now() + holds),
            issuer,
            resource,
            token_endpoint,
            client,
        })
    }

    fn holds(&self) -> bool {
        self.expires_at.is_none_or(|at| now() + TOO_SHORT < at)
    }

    fn bearer(&self) -> Secret {
        Secret::from(self.access_token.clone())
    }
}

/// Reads a number of seconds; some authorities write it as text.
fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn now() -> u64 {
    u64::try_from(SystemClock.now().as_second()).unwrap_or_default()
}

/// Returns what an authority says when it refuses.
pub(super) fn refusal(issuer: &str, status: u16, answer: &Value) -> String {
    const LONGEST: usize = 300;
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    let said = match (text("error"), text("error_description")) {
        (Some(error), Some(why)) => format!("{error}: {why}"),
        (Some(error), None) => error.to_owned(),
        _ => format!("HTTP {status}"),
    };
    let plain: String = said.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    format!("{issuer} refuses ({plain})")
}

/// The tokens of a session. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Tokens {
    store: Arc<dyn TokenStore>,
    known: Arc<std::sync::Mutex<HashMap<String, Slot>>>,
}

/// What is known of one server, if it was read. Whatever renews its token holds the lock, so that it is renewed once.
type Slot = Arc<Mutex<Option<Option<TokenGrant>>>>;

impl Tokens {
    pub(crate) fn new(store: Arc<dyn TokenStore>) -> Self {
        Self { store, known: Arc::default() }
    }

    /// Returns the token for a server, renewed if it has ended; `None` if there is no login.
    pub(crate) async fn bearer(&self, server: &Url) -> Result<Option<Secret>, String> {
        let name = name_of(server);
        let slot = self.slot(&name);
        let mut known = slot.lock().await;
        let grant = match known.take() {
            Some(grant) => grant,
            None => self.read(&name).await?,
        };
        let grant = match grant {
            Some(grant) if !grant.holds() => Some(self.renewed(server, &name, grant).await?),
            other => other,
        };
        let bearer = grant.as_ref().map(TokenGrant::bearer);
        *known = Some(grant);
        Ok(bearer)
    }

    /// Returns another token than one that a server refused; `None` if there is none.
    pub(crate) async fn instead_of(
        &self,
        server: &Url,
        refused: Option<&Secret>,
    ) -> Result<Option<Secret>, String> {
        let name = name_of(server);
        let slot = self.slot(&name);
        let mut known = slot.lock().await;
        // The user may have logged in meanwhile.
        let Some(grant) = self.read(&name).await? else { return Ok(None) };
        let is_new = refused.is_none_or(|token| token.expose() != grant.access_token);
        let grant = if is_new && grant.holds() {
            grant
        } else if grant.refresh_token.is_some() {
            self.renewed(server, &name, grant).await?
        } else {
            return Ok(None);
        };
        let bearer = grant.bearer();
        *known = Some(Some(grant));
        Ok(Some(bearer))
    }

    /// Keeps what the user was granted.
    pub(super) async fn keep(&self, server: &Url, grant: TokenGrant) -> io::Result<()> {
        let name = name_of(server);
        self.write(&name, &grant).await?;
        *self.slot(&name).lock().await = Some(Some(grant));
        Ok(())
    }

    /// Forgets it. Returns true if there was something.
    pub(crate) async fn forget(&self, server: &Url) -> io::Result<bool> {
        let (store, name) = (Arc::clone(&self.store), name_of(server));
        *self.slot(&name).lock().await = None;
        tools::blocking::on_a_thread(move || store.forget(&name)).await
    }

    fn slot(&self, name: &str) -> Slot {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(name.to_owned()).or_default())
    }

    /// Renews a token where it came from. Another process may have done so already.
    async fn renewed(
        &self,
        server: &Url,
        name: &str,
        grant: TokenGrant,
    ) -> Result<TokenGrant, String> {
        let kept = self.read(name).await?;
        if let Some(kept) = kept.filter(|kept| *kept != grant && kept.holds()) {
            return Ok(kept);
        }
        let issuer = grant.issuer.clone();
        let Some(refresh_token) = grant.refresh_token else {
            return Err(format!("the login at {issuer} has ended"));
        };
        let endpoint = Url::parse(&grant.token_endpoint)
            .map_err(|error| format!("the kept login is damaged: {error}"))?;
        let form = grant.client.form(vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh_token.clone()),
            ("resource", grant.resource.clone()),
        ]);
        let answer = Leader::at(server).await.request(&endpoint, form).await?;
        if answer.status != 200 {
            let why = refusal(&issuer, answer.status, &answer.body);
            let passes = answer.status >= 500;
            return Err(if passes { why } else { format!("the login has ended: {why}") });
        }
        let TokenGrant { issuer, resource, token_endpoint, client, .. } = grant;
        let by = GrantedBy { issuer, resource, token_endpoint, client };
        let grant = TokenGrant::read(&answer.body, by, Some(refresh_token))?;
        self.write(name, &grant).await.map_err(unusable)?;
        Ok(grant)
    }

    async fn read(&self, name: &str) -> Result<Option<TokenGrant>, String> {
        let (store, name) = (Arc::clone(&self.store), name.to_owned());
        let kept = tools::blocking::on_a_thread(move || store.read(&name)).await;
        // What cannot be read is as good as no login.
        let parsed = |secret: Secret| serde_json::from_str(secret.expose()).ok();
        Ok(kept.map_err(unusable)?.and_then(parsed))
    }

    async fn write(&self, name: &str, grant: &TokenGrant) -> io::Result<()> {
        let (store, name) = (Arc::clone(&self.store), name.to_owned());
        let text = Secret::from(serde_json::to_string(grant)?);
        tools::blocking::on_a_thread(move || store.keep(&name, &text)).await
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unusable(error: io::Error) -> String {
    format!("the login cannot be kept or read: {error}")
}

/// Returns the name under which the tokens of a server are kept. The address itself may hold a secret.
fn name_of(server: &Url) -> String {
    const LENGTH: usize = 32;
    let hash = FileHash::of(server.as_str().as_bytes()).to_string();
    format!("mcp-{}", hash.chars().take(LENGTH).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn by() -> GrantedBy {
        let client = KnownClient { id: "me".into(), secret: None, as_field: false };
        let text = |text: &str| text.to_owned();
        GrantedBy {
            issuer: text("https://a"),
            resource: text("https://s/mcp"),
            token_endpoint: text("https://a/token"),
            client,
        }
    }

    #[test]
    fn an_answer_is_read_and_a_refresh_token_stays() {
        let answer = json!({ "access_token": "x", "token_type": "Bearer", "expires_in": "3600" });
        let grant = TokenGrant::read(&answer, by(), Some("r".into())).ok().unwrap();
        assert!(grant.holds() && grant.refresh_token.as_deref() == Some("r"));
        let answer = json!({ "access_token": "x", "token_type": "bearer", "expires_in": 20 });
        assert!(!TokenGrant::read(&answer, by(), None).ok().unwrap().holds());
        for wrong in [
            json!({ "access_token": "x" }),
            json!({ "access_token": "x", "token_type": "mac" }),
            json!({ "token_type": "bearer" }),
            json!(null),
        ] {
            assert!(TokenGrant::read(&wrong, by(), None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_refusal_is_one_line() {
        let said = json!({ "error": "invalid_grant", "error_description": "no\u{1b}[2J\nmore" });
        assert_eq!(
            refusal("https://a", 400, &said),
            "https://a refuses (invalid_grant: no[2Jmore)"
        );
        assert_eq!(refusal("https://a", 502, &Value::Null), "https://a refuses (HTTP 502)");
    }

    #[test]
    fn a_secret_of_a_client_is_sent_as_the_authority_wants_it() {
        let client = |as_field| KnownClient { id: "me".into(), secret: Some("s".into()), as_field };
        let Sent::Form { fields, basic } = client(true).form(Vec::new()) else { panic!() };
        assert!(basic.is_none() && fields.contains(&("client_secret", "s".into())));
        let Sent::Form { fields, basic } = client(false).form(Vec::new()) else { panic!() };
        assert_eq!((fields.len(), basic.unwrap().to_str().unwrap()), (1, "Basic bWU6cw=="));
    }
}
