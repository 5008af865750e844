//! Who gives tokens for a server: what the server says of it, what that authority says of itself, and whether both agree.

use std::collections::BTreeMap;

use reqwest::Url;
use serde::Deserialize;

use super::led::{Leader, Sent};

/// What a server says when it wants a login, in the header `WWW-Authenticate`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Where the metadata of the resource is.
    metadata: Option<String>,
    /// The rights that are needed.
    pub(crate) scope: Option<String>,
}

impl Challenge {
    /// Reads the header.
    pub(crate) fn parse(header: &str) -> Self {
        let mut found = parameters(header);
        let mut take = |name: &str| found.remove(name).filter(|value| !value.is_empty());
        Self { metadata: take("resource_metadata"), scope: take("scope") }
    }
}

/// Returns the parameters of a challenge.
fn parameters(header: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.rsplit([',', ' ']).next().unwrap_or_default();
        let (value, remaining) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once([',', ' ']).unwrap_or((after, "")),
        };
        found.entry(name.to_ascii_lowercase()).or_insert_with(|| value.to_owned());
        rest = remaining;
    }
    found
}

/// What a server says of itself (RFC 9728).
#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// What an authority says of itself (RFC 8414).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Authority {
    pub(super) issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    scopes_supported: Vec<String>,
    code_challenge_methods_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(rename = "authorization_response_iss_parameter_supported")]
    pub(super) says_issuer: bool,
}

/// A server, and who gives tokens for it.
#[derive(Debug, Clone)]
pub(super) struct FoundAuthority {
    /// What tokens are asked for.
    pub(super) resource: String,
    /// The rights to ask for.
    pub(super) scopes: Vec<String>,
    pub(super) authority: Authority,
}

impl Authority {
    /// Checks that it is the one that was looked for and can do what is needed. Where the server does not say which it is, any on
    /// the server's own host is.
    fn checked(self, issuer: &Url, is_said: bool) -> Result<Self, String> {
        let bare = |issuer: &str| issuer.trim_end_matches('/').to_owned();
        let is_beside = || Url::parse(&self.issuer).is_ok_and(|it| it.origin() == issuer.origin());
        if bare(&self.issuer) != bare(issuer.as_str()) && (is_said || !is_beside()) {
            let other = &self.issuer;
            return Err(format!("the metadata of {issuer} is that of another issuer ({other})"));
        }
        if !self.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            return Err(format!("{issuer} does not support PKCE with S256"));
        }
        Ok(self)
    }

    /// Returns where the user logs in.
    pub(super) fn authorization(&self, leader: &Leader) -> Result<Url, String> {
        endpoint(leader, self.authorization_endpoint.as_deref())?
            .ok_or_else(|| format!("{} has no page to log in", self.issuer))
    }

    /// Returns where tokens are given.
    pub(super) fn token(&self, leader: &Leader) -> Result<Url, String> {
        endpoint(leader, Some(&self.token_endpoint))?
            .ok_or_else(|| format!("{} gives no tokens", self.issuer))
    }

    /// Returns where clients register, if they can.
    pub(super) fn registration(&self, leader: &Leader) -> Result<Option<Url>, String> {
        endpoint(leader, self.registration_endpoint.as_deref())
    }

    /// Returns where a device asks for a login, if it can.
    pub(super) fn device(&self, leader: &Leader) -> Result<Option<Url>, String> {
        endpoint(leader, self.device_authorization_endpoint.as_deref())
    }

    /// Returns true if a secret of a client is sent as a field, not as a header.
    pub(super) fn takes_secret_as_field(&self) -> bool {
        let methods = &self.token_endpoint_auth_methods_supported;
        methods.iter().any(|method| method == "client_secret_post")
    }
}

/// Reads an address and checks it.
fn endpoint(leader: &Leader, text: Option<&str>) -> Result<Option<Url>, String> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let url = Url::parse(text).map_err(|error| format!("`{text}` is no address: {error}"))?;
    leader.check(&url)?;
    Ok(Some(url))
}

/// Finds out who gives tokens for a server.
pub(super) async fn discover(
    leader: &Leader,
    server: &Url,
    challenge: &Challenge,
    wanted: &[String],
) -> Result<FoundAuthority, String> {
    let described = resource(leader, server, challenge).await?;
    let (resource, issuers, offered) = match described {
        Some(it) => (it.resource, it.authorization_servers, it.scopes_supported),
        None => (without_query(server).to_string(), Vec::new(), Vec::new()),
    };
    // Older servers are their own authority.
    let own = server.origin().ascii_serialization();
    let mut why = format!("{own} does not say who gives tokens for it");
    let is_said = !issuers.is_empty();
    let issuers = if is_said { issuers } else { vec![own] };
    for issuer in issuers {
        match authority(leader, &issuer, is_said).await {
            Ok(Some(authority)) => {
                let scopes = scopes(wanted, challenge, offered, &authority);
                return Ok(FoundAuthority { resource, scopes, authority });
            }
            Ok(None) => {}
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Returns what a server says of itself; nothing if it does not.
async fn resource(
    leader: &Leader,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, String> {
    let told = challenge
        .metadata
        .as_deref()
        .map(|text| server.join(text).map_err(|error| format!("`{text}` is no address: {error}")));
    let guessed = well_known(server, "oauth-protected-resource").map(Ok);
    for url in told.into_iter().chain(guessed) {
        let url = url?;
        let answer = leader.request(&url, Sent::Nothing).await?;
        let Ok(found) = serde_json::from_value::<ResourceMetadata>(answer.body) else { continue };
        if !covers(&found.resource, server) {
            let other = &found.resource;
            return Err(format!("{url} describes another server ({other})"));
        }
        return Ok(Some(found));
    }
    Ok(None)
}

/// Returns what an authority says of itself; nothing if it does not.
async fn authority(
    leader: &Leader,
    issuer: &str,
    is_said: bool,
) -> Result<Option<Authority>, String> {
    let issuer =
        Url::parse(issuer).map_err(|error| format!("`{issuer}` is no address: {error}"))?;
    for url in authority_documents(&issuer) {
        let answer = leader.request(&url, Sent::Nothing).await?;
        if answer.status != 200 {
            continue;
        }
        let found: Authority = serde_json::from_value(answer.body)
            .map_err(|error| format!("the metadata at {url} is damaged: {error}"))?;
        return found.checked(&issuer, is_said).map(Some);
    }
    Ok(None)
}

/// Returns the rights to ask for: those of the entry, or of the challenge, or of the server's description.
fn scopes(
    wanted: &[String],
    challenge: &Challenge,
    offered: Vec<String>,
    authority: &Authority,
) -> Vec<String> {
    const REFRESH: &str = "offline_access";
    if !wanted.is_empty() {
        return wanted.to_vec();
    }
    let mut scopes = match &challenge.scope {
        Some(scope) => scope.split_whitespace().map(str::to_owned).collect(),
        None => offered,
    };
    let gives_refresh = authority.scopes_supported.iter().any(|scope| scope == REFRESH);
    if gives_refresh && !scopes.is_empty() && !scopes.iter().any(|scope| scope == REFRESH) {
        scopes.push(REFRESH.to_owned());
    }
    scopes
}

/// Returns true if a resource is the server or above it.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let above = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(above);
    resource.origin() == server.origin()
        && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn without_query(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Returns where documents of a kind are: for the path, and for the host.
fn well_known(url: &Url, kind: &str) -> impl Iterator<Item = Url> + use<> {
    let path = url.path().trim_end_matches('/').to_owned();
    let root = format!("/.well-known/{kind}");
    let with_path = (!path.is_empty()).then(|| format!("{root}{path}"));
    let base = without_query(url);
    with_path.into_iter().chain([root]).map(move |path| {
        let mut url = base.clone();
        url.set_path(&path);
        url
    })
}

/// Returns where the metadata of an issuer may be.
fn authority_documents(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let at = |path: String| {
        let mut url = without_query(issuer);
        url.set_path(&path);
        url
    };
    let mut urls: Vec<Url> = ["oauth-authorization-server", "openid-configuration"]
        .map(|kind| at(format!("/.well-known/{kind}{path}")))
        .into();
    if !path.is_empty() {
        urls.push(at(format!("{path}/.well-known/openid-configuration")));
    }
    urls
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_challenge_is_read() {
        for (header, metadata, scope) in [
            ("Bearer", None, None),
            (
                "Bearer realm=\"a, b\", resource_metadata=\"https://a/x?y=1\", scope=\"r w\"",
                Some("https://a/x?y=1"),
                Some("r w"),
            ),
            ("Bearer scope=r,resource_metadata=https://a/x", Some("https://a/x"), Some("r")),
            ("Bearer error=\"invalid_token\",Scope=\"\"", None, None),
            ("Bearer resource_metadata=\"https://a", Some("https://a"), None),
        ] {
            let challenge = Challenge::parse(header);
            assert_eq!(challenge.metadata.as_deref(), metadata, "{header}");
            assert_eq!(challenge.scope.as_deref(), scope, "{header}");
        }
    }

    #[test]
    fn documents_are_looked_for_in_the_order_of_the_standard() {
        let resource: Vec<String> =
            well_known(&url("https://a/m/cp?x=1"), "oauth-protected-resource")
                .map(String::from)
                .collect();
        assert_eq!(
            resource,
            [
                "https://a/.well-known/oauth-protected-resource/m/cp",
                "https://a/.well-known/oauth-protected-resource"
            ]
        );
        let of = |issuer: &str| -> Vec<String> {
            authority_documents(&url(issuer)).into_iter().map(String::from).collect()
        };
        assert_eq!(
            of("https://a"),
            [
                "https://a/.well-known/oauth-authorization-server",
                "https://a/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            of("https://a/t/"),
            [
                "https://a/.well-known/oauth-authorization-server/t",
                "https://a/.well-known/openid-configuration/t",
                "https://a/t/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn a_description_is_of_the_server_or_of_what_is_above_it() {
        for (resource, is_it) in [
            ("https://a/mcp", true),
            ("https://a", true),
            ("https://a/mcp/", true),
            ("https://a/mc", false),
            ("https://a/other", false),
            ("https://b/mcp", false),
            ("http://a/mcp", false),
            ("a", false),
        ] {
            assert_eq!(covers(resource, &url("https://a/mcp")), is_it, "{resource}");
        }
    }

    #[test]
    fn an_authority_is_the_one_that_was_looked_for_and_supports_pkce() {
        let authority = |issuer: &str, method: &str| Authority {
            issuer: issuer.to_owned(),
            code_challenge_methods_supported: vec![method.to_owned()],
            ..Authority::default()
        };
        let checked = |issuer, method| authority(issuer, method).checked(&url("https://a/"), true);
        assert!(checked("https://a", "S256").is_ok());
        assert!(checked("https://b", "S256").unwrap_err().contains("another issuer (https://b)"));
        assert!(checked("https://a/oauth", "S256").is_err());
        let unsaid = |issuer| authority(issuer, "S256").checked(&url("https://a/"), false);
        assert!(unsaid("https://a/oauth").is_ok() && unsaid("https://b/").is_err());
        assert!(checked("", "S256").is_err());
        assert!(checked("https://a", "plain").unwrap_err().contains("PKCE"));
    }

    #[test]
    fn the_rights_of_the_entry_come_first() {
        let authority =
            Authority { scopes_supported: vec!["offline_access".into()], ..Authority::default() };
        let challenge = Challenge::parse("Bearer scope=\"a b\"");
        let offered = || vec!["c".to_owned()];
        assert_eq!(scopes(&["x".into()], &challenge, offered(), &authority), ["x"]);
        assert_eq!(scopes(&[], &challenge, offered(), &authority), ["a", "b", "offline_access"]);
        let none = Challenge::default();
        assert_eq!(scopes(&[], &none, offered(), &Authority::default()), ["c"]);
        assert!(scopes(&[], &none, Vec::new(), &authority).is_empty());
    }
}
