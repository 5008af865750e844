//! The address that requests are sent to, from one as people copy it: a base, or one of the endpoints below it.

use std::net::IpAddr;

use reqwest::Url;
use thiserror::Error;

/// Why an address cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AddressError {
    /// It has no scheme.
    #[error("the base URL {url:?} does not say how to connect: use {instead}")]
    Scheme {
        /// The address as given.
        url: String,
        /// The address that would work.
        instead: String,
    },
    /// It is not an http or https URL.
    #[error("the base URL {url:?} is not an http or https URL")]
    Kind {
        /// The address as given.
        url: String,
    },
    /// It has a part that is never sent.
    #[error("the base URL {url:?} has a fragment, which is never sent: use {instead}")]
    Fragment {
        /// The address as given.
        url: String,
        /// The address without it.
        instead: String,
    },
    /// It carries a user name or password.
    #[error(
        "the base URL for {host} contains a user name or password; remove it, only the API key is sent"
    )]
    Credentials {
        /// The host of the URL.
        host: String,
    },
}

/// The endpoint that requests are sent to.
const CHAT: &str = "/chat/completions";
/// What else people copy from a page about an API.
const COPIED: [&str; 2] = [CHAT, "/models"];

/// Returns the URL of requests. Its query is that of the base.
pub(super) fn endpoint(base_url: &str) -> Result<Url, AddressError> {
    let base = base_url.trim();
    let of_another_kind = || AddressError::Kind { url: without_credentials(base) };
    if !base.contains("://") {
        return Err(without_scheme(base).unwrap_or_else(of_another_kind));
    }
    let mut url = Url::parse(base).map_err(|_| of_another_kind())?;
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"));
    let host = host.ok_or_else(of_another_kind)?;
    if has_credentials(&url) {
        return Err(AddressError::Credentials { host: host.to_owned() });
    }
    if url.fragment().is_some() {
        url.set_fragment(None);
        return Err(AddressError::Fragment { url: base.to_owned(), instead: url.to_string() });
    }
    let path = url.path().trim_end_matches('/');
    let above = COPIED.iter().find_map(|endpoint| path.strip_suffix(endpoint)).unwrap_or(path);
    let path = format!("{}{CHAT}", above.trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// Returns what is wrong with an address without a scheme, if it has a host.
fn without_scheme(base: &str) -> Option<AddressError> {
    let plain = Url::parse(&format!("http://{base}")).ok()?;
    let host = plain.host_str()?.to_owned();
    if has_credentials(&plain) {
        return Some(AddressError::Credentials { host });
    }
    let scheme = if is_loopback(&plain) { "http" } else { "https" };
    Some(AddressError::Scheme { url: base.to_owned(), instead: format!("{scheme}://{base}") })
}

fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns an address with its user name and password masked, even if it is malformed.
pub(super) fn without_credentials(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map(|(scheme, _)| format!("{scheme}://"));
            format!("{}****@{host}", scheme.unwrap_or_default())
        }
        None => address.to_owned(),
    }
}

/// Returns true for a server on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_found_below_a_base_or_in_what_was_copied() {
        for (base, expected) in [
            ("https://api.deepseek.com", "https://api.deepseek.com/chat/completions"),
            ("https://api.deepseek.com/v1/", "https://api.deepseek.com/v1/chat/completions"),
            (" http://127.0.0.1:8080// ", "http://127.0.0.1:8080/chat/completions"),
            ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
            ("http://h/v1/chat/completions/", "http://h/v1/chat/completions"),
            ("http://h/v1/models/", "http://h/v1/chat/completions"),
            ("http://h/chat/completions", "http://h/chat/completions"),
            ("http://h/models-a/b?x=1&y=%20", "http://h/models-a/b/chat/completions?x=1&y=%20"),
            (
                "https://h/openai/chat/completions?api-version=2024-10-21",
                "https://h/openai/chat/completions?api-version=2024-10-21",
            ),
        ] {
            assert_eq!(endpoint(base).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_what_can() {
        for (wrong, expected) in [
            (
                "api.deepseek.com/v1",
                "the base URL \"api.deepseek.com/v1\" does not say how to connect: use https://api.deepseek.com/v1",
            ),
            (
                "localhost:8080",
                "the base URL \"localhost:8080\" does not say how to connect: use http://localhost:8080",
            ),
            (
                "https://h/v1?x=1#key",
                "the base URL \"https://h/v1?x=1#key\" has a fragment, which is never sent: use https://h/v1?x=1",
            ),
            ("", "the base URL \"\" is not an http or https URL"),
            ("file:///x", "the base URL \"file:///x\" is not an http or https URL"),
            ("ftp://h", "the base URL \"ftp://h\" is not an http or https URL"),
        ] {
            assert_eq!(endpoint(wrong).unwrap_err().to_string(), expected);
        }
        for base in
            ["https://me:secret@h/v1", "me:secret@h", "ftp://me:secret@h", "http://a:secret@h:x"]
        {
            let error = endpoint(base).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
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
