//! Requests to where a server leads: bounded, without redirects, and to no address that is more private than the server's.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt as _;
use model::ServerRoute;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;

use super::zone::Zone;

/// Time for one request.
const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum size of an answer, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The server that leads.
#[derive(Debug, Clone)]
pub(super) struct Leader {
    zone: Zone,
    /// Whether its own address is not encrypted.
    is_plain: bool,
    origin: String,
}

/// What is sent.
pub(super) enum Sent {
    Nothing,
    Form { fields: Vec<(&'static str, String)>, basic: Option<HeaderValue> },
    Json(Value),
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// The document; null if it is none.
    pub(super) body: Value,
}

impl Leader {
    /// Returns the server at an address that the user approved.
    pub(super) async fn at(url: &Url) -> Self {
        let zone = match zone_of(url) {
            Some(zone) => zone,
            None => Zone::of_name(addresses(url).await.iter().map(SocketAddr::ip)),
        };
        let origin = url.origin().ascii_serialization();
        Self { zone, is_plain: url.scheme() == "http", origin }
    }

    /// Checks an address without asking for what its name stands for.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        match url.scheme() {
            "https" => {}
            "http" if self.is_plain && self.zone != Zone::Public => {}
            _ => return Err(format!("{url} is not https, so no login is sent there")),
        }
        zone_of(url).map_or(Ok(()), |zone| self.check_zone(url, zone))
    }

    fn check_zone(&self, url: &Url, zone: Zone) -> Result<(), String> {
        if self.zone.may_lead_to(zone) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        Err(format!("{} leads to {host}, which is {zone}; a server may not", self.origin))
    }

    /// Sends a request to where the server leads.
    pub(super) async fn request(&self, url: &Url, sent: Sent) -> Result<Answer, String> {
        self.check(url)?;
        let host = url.host_str().unwrap_or_default();
        let found = addresses(url).await;
        let mut refused = Ok(());
        let route = ServerRoute::with(url, PATIENCE, |builder, is_proxied| {
            // A proxy looks for the address itself. Otherwise it is the one that was checked.
            if is_proxied || zone_of(url).is_some() {
                return builder;
            }
            refused = match found.as_slice() {
                [] => Err(format!("the host {host} is not known")),
                found => found.iter().try_for_each(|it| self.check_zone(url, Zone::of(it.ip()))),
            };
            builder.resolve_to_addrs(host, &found)
        });
        let route = route.map_err(|error| error.to_string())?;
        refused?;
        let method = if matches!(sent, Sent::Nothing) { Method::GET } else { Method::POST };
        let request = route.client.request(method, url.clone()).timeout(PATIENCE);
        let request = request.header(ACCEPT, "application/json");
        let request = match sent {
            Sent::Nothing => request,
            Sent::Form { fields, basic } => {
                let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
                let request = request.body(form(&fields));
                match basic {
                    Some(basic) => request.header(AUTHORIZATION, basic),
                    None => request,
                }
            }
            Sent::Json(body) => {
                request.header(CONTENT_TYPE, "application/json").body(body.to_string())
            }
        };
        let failed = |error: reqwest::Error| {
            let named = route.named(url);
            match route.no_connection(&error) {
                Some(no) => format!("{named} cannot be reached: {}", no.message),
                None => format!("{named} does not answer: {}", error.without_url()),
            }
        };
        let answer = request.send().await.map_err(failed)?;
        let status = answer.status().as_u16();
        let mut body = Vec::new();
        let mut stream = answer.bytes_stream();
        while let Some(part) = stream.next().await {
            body.extend_from_slice(&part.map_err(failed)?);
            if body.len() > MAX_BYTES {
                return Err(format!("the answer of {} is too long", route.named(url)));
            }
        }
        Ok(Answer { status, body: serde_json::from_slice(&body).unwrap_or_default() })
    }
}

fn zone_of(url: &Url) -> Option<Zone> {
    Zone::of_host(url.host_str().unwrap_or_default())
}

/// Returns what the host of an address stands for; nothing if it is not known.
async fn addresses(url: &Url) -> Vec<SocketAddr> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let found = tokio::net::lookup_host((host, port)).await;
    found.map(Iterator::collect).unwrap_or_default()
}

/// Returns the fields of a form as they are sent.
fn form(fields: &[(&str, String)]) -> String {
    let Ok(mut url) = Url::parse("form:") else { return String::new() };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leader(zone: Zone, is_plain: bool) -> Leader {
        Leader { zone, is_plain, origin: "https://mcp.example".into() }
    }

    #[test]
    fn a_server_leads_only_to_encrypted_addresses_of_its_own_zone() {
        let check =
            |leader: &Leader, url: &str| leader.check(&Url::parse(url).unwrap()).map_err(drop);
        let public = leader(Zone::Public, false);
        assert!(check(&public, "https://auth.example/token").is_ok());
        for url in [
            "http://auth.example/token",
            "https://127.0.0.1/token",
            "https://127.1/token",
            "https://0x7f000001/token",
            "https://localhost/",
            "https://10.0.0.8/",
            "https://169.254.169.254/latest/meta-data",
            "https://[::ffff:10.0.0.8]/",
            "file:///etc/passwd",
        ] {
            assert!(check(&public, url).is_err(), "{url}");
        }
        assert!(check(&leader(Zone::Public, true), "http://mcp.example/mcp").is_err());
        let here = leader(Zone::Loopback, true);
        assert!(check(&here, "http://127.0.0.1:9/token").is_ok());
        assert!(check(&here, "https://169.254.169.254/").is_err());
        let why = public.check(&Url::parse("https://10.0.0.8/").unwrap()).unwrap_err();
        assert_eq!(
            why,
            "https://mcp.example leads to 10.0.0.8, which is a private address; a server may not"
        );
    }

    #[tokio::test]
    async fn what_may_not_be_is_not_asked() {
        for (url, expected) in [
            ("https://localhost.:1/", "an address of this machine"),
            ("https://no-such-host.invalid/", "the host no-such-host.invalid is not known"),
        ] {
            let url = Url::parse(url).unwrap();
            let refused = leader(Zone::Public, false).request(&url, Sent::Nothing).await;
            let why = refused.err().unwrap();
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn a_form_is_encoded() {
        let fields = [("a", "x y&z=1".to_owned()), ("b", "ü".to_owned())];
        assert_eq!(form(&fields), "a=x+y%26z%3D1&b=%C3%BC");
    }
}
