//! A login: by a page in a browser that leads back with a code, or by a code that the user types on another device.

use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::authority::{Challenge, FoundAuthority, discover};
use super::led::{Leader, Sent};
use super::tokens::{GrantedBy, KnownClient, TokenGrant, Tokens, refusal};

/// Why there is no login.
#[derive(Debug, Error)]
pub enum LoginError {
    /// The entry is not one of a server that takes logins.
    #[error("the MCP server `{0}` cannot be logged in at: {1}")]
    Entry(String, String),
    /// The server or who gives tokens for it does not do what is needed.
    #[error("{0}")]
    Refused(String),
    /// What came back is not the answer to what was asked.
    #[error("{0}; nothing was kept")]
    Answer(String),
    /// The user did not answer in time.
    #[error("the code was not used in time; nothing was kept")]
    Late,
    /// The tokens cannot be kept.
    #[error("the login cannot be kept: {0}")]
    Store(#[from] io::Error),
}

/// A login at a server whose authority is known.
pub struct Login {
    server: Url,
    leader: Leader,
    found: FoundAuthority,
    tokens: Tokens,
    /// The id of the client in the server's entry, and its secret if it has one.
    client: Option<(String, Option<String>)>,
}

/// A login that waits for the user in a browser.
pub struct AskedOfUser {
    /// The address to open.
    pub address: String,
    redirect: String,
    state: String,
    verifier: String,
    client: KnownClient,
}

/// A login that waits for the user on another device.
pub struct AskedOfDevice {
    /// The address to open there.
    pub address: String,
    /// The code to type there.
    pub code: String,
    /// The address that has the code in it, if there is one.
    pub address_with_code: Option<String>,
    device_code: String,
    pause: Duration,
    holds: Duration,
    client: KnownClient,
}

impl Login {
    /// Finds out who gives tokens for a server.
    pub(crate) async fn discover(
        server: Url,
        challenge: &Challenge,
        (client, scopes): (Option<(String, Option<String>)>, &[String]),
        tokens: Tokens,
    ) -> Result<Self, LoginError> {
        let leader = Leader::at(&server).await;
        leader.check(&server).map_err(LoginError::Refused)?;
        let found = discover(&leader, &server, challenge, scopes).await;
        let found = found.map_err(LoginError::Refused)?;
        Ok(Self { server, leader, found, tokens, client })
    }

    /// Returns who gives the tokens.
    pub fn issuer(&self) -> &str {
        &self.found.authority.issuer
    }

    /// Returns true if a code can be typed on another device.
    pub fn has_device_codes(&self) -> bool {
        matches!(self.found.authority.device(&self.leader), Ok(Some(_)))
    }

    /// Begins a login whose page leads back to `redirect`.
    pub async fn ask_user(&self, redirect: &str) -> Result<AskedOfUser, LoginError> {
        let authority = &self.found.authority;
        let mut url = authority.authorization(&self.leader).map_err(LoginError::Refused)?;
        let client = self.client(redirect, "authorization_code").await?;
        let (state, verifier) = (random()?, random()?);
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect)
            .append_pair("state", &state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &self.found.resource);
        if let Some(scope) = self.scope() {
            url.query_pairs_mut().append_pair("scope", &scope);
        }
        let redirect = redirect.to_owned();
        Ok(AskedOfUser { address: url.into(), redirect, state, verifier, client })
    }

    /// Ends a login with what came back: the address that the browser was sent to, or the code alone.
    pub async fn finish(&self, asked: AskedOfUser, answer: &str) -> Result<(), LoginError> {
        let authority = &self.found.authority;
        let code = code_in(answer, &asked.state, (&authority.issuer, authority.says_issuer))
            .map_err(LoginError::Answer)?;
        let form = asked.client.form(vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", asked.redirect),
            ("code_verifier", asked.verifier),
            ("resource", self.found.resource.clone()),
        ]);
        let (status, body) = self.token(form).await?;
        if status != 200 {
            return Err(LoginError::Refused(refusal(self.issuer(), status, &body)));
        }
        self.keep(&body, asked.client).await
    }

    /// Begins a login on another device.
    pub async fn ask_device(&self) -> Result<AskedOfDevice, LoginError> {
        const PAUSE: u64 = 5;
        const LONGEST: u64 = 1800;
        const SHORTEST: Duration = Duration::from_millis(100);
        let endpoint = self.found.authority.device(&self.leader).map_err(LoginError::Refused)?;
        let endpoint = endpoint.ok_or_else(|| {
            LoginError::Refused(format!("{} has no codes for other devices", self.issuer()))
        })?;
        let client = self.client("http://127.0.0.1/callback", DEVICE_GRANT).await?;
        let mut fields = vec![("resource", self.found.resource.clone())];
        fields.extend(self.scope().map(|scope| ("scope", scope)));
        let answer = self.leader.request(&endpoint, client.form(fields)).await;
        let answer = answer.map_err(LoginError::Refused)?;
        let text = |name: &str| answer.body.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| answer.body.get(name).and_then(Value::as_u64);
        let (Some(device_code), Some(code), Some(address)) =
            (text("device_code"), text("user_code"), text("verification_uri"))
        else {
            let (status, body) = (answer.status, &answer.body);
            return Err(LoginError::Refused(refusal(self.issuer(), status, body)));
        };
        Ok(AskedOfDevice {
            address,
            code,
            address_with_code: text("verification_uri_complete"),
            device_code,
            pause: Duration::from_secs(number("interval").unwrap_or(PAUSE).min(LONGEST))
                .max(SHORTEST),
            holds: Duration::from_secs(number("expires_in").unwrap_or(LONGEST).min(LONGEST)),
            client,
        })
    }

    /// Waits until the user has typed the code.
    pub async fn finish_device(&self, asked: AskedOfDevice) -> Result<(), LoginError> {
        const SLOWER: Duration = Duration::from_secs(5);
        let AskedOfDevice { device_code, mut pause, mut holds, client, .. } = asked;
        loop {
            holds = holds.checked_sub(pause).ok_or(LoginError::Late)?;
            tokio::time::sleep(pause).await;
            let form = client.form(vec![
                ("grant_type", DEVICE_GRANT.to_owned()),
                ("device_code", device_code.clone()),
                ("resource", self.found.resource.clone()),
            ]);
            let (status, body) = self.token(form).await?;
            match body.get("error").and_then(Value::as_str) {
                None if status == 200 => return self.keep(&body, client).await,
                Some("authorization_pending") => {}
                Some("slow_down") => pause += SLOWER,
                Some("expired_token") => return Err(LoginError::Late),
                _ => return Err(LoginError::Refused(refusal(self.issuer(), status, &body))),
            }
        }
    }

    async fn token(&self, form: Sent) -> Result<(u16, Value), LoginError> {
        let endpoint = self.found.authority.token(&self.leader).map_err(LoginError::Refused)?;
        let answer = self.leader.request(&endpoint, form).await.map_err(LoginError::Refused)?;
        Ok((answer.status, answer.body))
    }

    async fn keep(&self, answer: &Value, client: KnownClient) -> Result<(), LoginError> {
        let token_endpoint =
            self.found.authority.token(&self.leader).map_err(LoginError::Refused)?;
        let by = GrantedBy {
            issuer: self.found.authority.issuer.clone(),
            resource: self.found.resource.clone(),
            token_endpoint: token_endpoint.into(),
            client,
        };
        let grant = TokenGrant::read(answer, by, None).map_err(LoginError::Refused)?;
        Ok(self.tokens.keep(&self.server, grant).await?)
    }

    /// Returns the client of the entry, or registers one.
    async fn client(&self, redirect: &str, grant: &str) -> Result<KnownClient, LoginError> {
        let authority = &self.found.authority;
        let as_field = authority.takes_secret_as_field();
        if let Some((id, secret)) = self.client.clone() {
            return Ok(KnownClient { id, secret, as_field });
        }
        let endpoint = authority.registration(&self.leader).map_err(LoginError::Refused)?;
        let endpoint = endpoint.ok_or_else(|| {
            let issuer = self.issuer();
            LoginError::Refused(format!(
                "{issuer} registers no clients; write the id of one that it knows as `client_id` in the server's entry"
            ))
        })?;
        let mut wanted = json!({
            "client_name": "deepseek",
            "redirect_uris": [redirect],
            "grant_types": [grant, "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        });
        if let (Some(scope), Some(wanted)) = (self.scope(), wanted.as_object_mut()) {
            wanted.insert("scope".to_owned(), scope.into());
        }
        let answer = self.leader.request(&endpoint, Sent::Json(wanted)).await;
        let answer = answer.map_err(LoginError::Refused)?;
        let text = |name: &str| {
            let value = answer.body.get(name).and_then(Value::as_str);
            value.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let Some(id) = text("client_id") else {
            let why = refusal(self.issuer(), answer.status, &answer.body);
            return Err(LoginError::Refused(format!("registration: {why}")));
        };
        Ok(KnownClient { id, secret: text("client_secret"), as_field })
    }

    fn scope(&self) -> Option<String> {
        let scopes = &self.found.scopes;
        (!scopes.is_empty()).then(|| scopes.join(" "))
    }
}

/// The name of the grant by another device (RFC 8628).
const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Returns the code in what came back: an address with it, what stands in that address after `?`, or the code alone, which
/// cannot be checked.
fn code_in(
    answer: &str,
    state: &str,
    (issuer, must_say_issuer): (&str, bool),
) -> Result<String, String> {
    let answer = answer.trim();
    let query = match (answer.split_once('?'), answer.contains('=')) {
        (Some((_, query)), _) => query,
        (None, true) => answer,
        (None, false) if answer.is_empty() => return Err("there is no code".to_owned()),
        (None, false) => return Ok(answer.to_owned()),
    };
    let url = Url::parse(&format!("form:?{query}")).map_err(|error| error.to_string())?;
    let value = |name: &str| {
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    if value("state").as_deref() != Some(state) {
        return Err("the answer does not belong to this login (state)".to_owned());
    }
    match value("iss") {
        Some(said) if said.trim_end_matches('/') != issuer.trim_end_matches('/') => {
            return Err(format!("the answer is of another issuer ({said}) than {issuer}"));
        }
        None if must_say_issuer => {
            return Err(format!("the answer does not say that it is of {issuer}"));
        }
        _ => {}
    }
    if value("error").is_some() {
        let said =
            json!({ "error": value("error"), "error_description": value("error_description") });
        return Err(refusal(issuer, 400, &said));
    }
    value("code").ok_or_else(|| "the answer has no code".to_owned())
}

/// Returns a text that cannot be guessed.
fn random() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| LoginError::Refused("the system gives no random numbers".to_owned()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_belongs_to_the_login_that_asked_for_it() {
        let here = "http://127.0.0.1:9/callback";
        let of = |answer: &str, must| code_in(answer, "st", ("https://a", must));
        for (answer, must, expected) in [
            (format!("{here}?code=x%2Fy&state=st"), false, Ok("x/y")),
            (format!(" {here}?state=st&code=x&iss=https%3A%2F%2Fa\n"), true, Ok("x")),
            ("code=x&state=st".to_owned(), false, Ok("x")),
            ("x".to_owned(), false, Ok("x")),
            (String::new(), false, Err("no code")),
            (format!("{here}?code=x&state=other"), false, Err("(state)")),
            (format!("{here}?code=x"), false, Err("(state)")),
            (format!("{here}?code=x&state=st&iss=https://b"), false, Err("another issuer")),
            (format!("{here}?code=x&state=st"), true, Err("does not say")),
            (format!("{here}?error=access_denied&state=st"), false, Err("access_denied")),
            (format!("{here}?state=st"), false, Err("no code")),
        ] {
            match (of(&answer, must), expected) {
                (Ok(code), Ok(expected)) => assert_eq!(code, expected, "{answer}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{answer}: {why}"),
                (got, _) => panic!("{answer}: {got:?}"),
            }
        }
    }

    #[test]
    fn random_texts_differ_and_can_be_a_verifier() {
        let (one, two) = (random().unwrap(), random().unwrap());
        assert!(one != two && (43..=128).contains(&one.len()), "{one}");
    }
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod over_http;
