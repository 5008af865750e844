//! The way to a server: the proxy and the certificates that environment variables name, and in plain words why it cannot
//! be reached.

use std::env;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Client, ClientBuilder, Url};
use rustls::CertificateError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};

use super::ClientError;
use super::address::{is_loopback, without_credentials};

/// The variable that names a file of certificates to trust instead of those of the system.
const CERTIFICATE_FILE: &str = "SSL_CERT_FILE";
/// The variable that names directories of such files.
const CERTIFICATE_DIRS: &str = "SSL_CERT_DIR";

/// How the standard library begins to say that a name cannot be resolved.
const NOT_RESOLVED: &str = "failed to lookup address information: ";

/// How a server is reached.
#[derive(Debug, Clone)]
pub struct ServerRoute {
    /// The client that goes this way.
    pub client: Client,
    proxy: Option<NamedProxy>,
    connect: Duration,
}

/// A proxy, and the environment variable that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedProxy {
    variable: &'static str,
    /// Without credentials.
    address: String,
}

impl fmt::Display for NamedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variable, address } = self;
        write!(f, "through the proxy {address} of {variable}")
    }
}

/// Why no connection was made.
#[derive(Debug)]
pub struct NoConnection {
    /// The reason in plain words.
    pub message: String,
    /// Whether trying again cannot help: something answered, but not as it has to.
    pub lasts: bool,
}

impl ServerRoute {
    /// Prepares the way to `url`. A server on this machine needs neither certificates, which are slow to load, nor a proxy.
    pub fn to(url: &Url, connect: Duration) -> Result<Self, ClientError> {
        Self::with(url, connect, |builder, _| builder)
    }

    /// Prepares the way to `url` with what `change` does to the client. It is told whether a proxy is on the way.
    pub fn with(
        url: &Url,
        connect: Duration,
        change: impl FnOnce(ClientBuilder, bool) -> ClientBuilder,
    ) -> Result<Self, ClientError> {
        // Fails if an earlier client already installed it.
        drop(rustls::crypto::ring::default_provider().install_default());
        let builder = Client::builder()
            .user_agent(concat!("deepseek/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(connect)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .tcp_nodelay(true);
        let is_here = is_loopback(url);
        let proxy = if is_here { None } else { proxy(url, |name| env::var(name).ok())? };
        let builder = if is_here { builder.no_proxy() } else { builder };
        let needs_certificates = !is_here || url.scheme() == "https";
        let builder = if needs_certificates {
            certificates()?;
            builder
        } else {
            builder.tls_certs_only([])
        };
        let client = change(builder, proxy.is_some()).build().map_err(ClientError::Setup)?;
        Ok(Self { client, proxy, connect })
    }

    /// Returns an address as an error names it: with the proxy on the way, and without a query, which may have a key.
    pub fn named(&self, url: &Url) -> String {
        let mut shown = url.clone();
        shown.set_query(None);
        match &self.proxy {
            Some(proxy) => format!("{shown} {proxy}"),
            None => shown.to_string(),
        }
    }

    /// Returns in plain words why no connection was made; `None` if one was.
    pub fn no_connection(&self, error: &reqwest::Error) -> Option<NoConnection> {
        if !error.is_connect() {
            return None;
        }
        let causes = causes(error);
        let tls = causes.iter().find_map(|cause| tls_error(*cause));
        let message = match tls {
            Some(rustls::Error::InvalidMessage(_)) => {
                "the server does not speak TLS: use http:// instead of https:// in its address"
                    .to_owned()
            }
            Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => format!(
                "the issuer of its certificate is not trusted: set {CERTIFICATE_FILE} to a file with the issuer's certificate"
            ),
            Some(rustls::Error::InvalidCertificate(why)) => {
                format!("its certificate is refused: {why}")
            }
            Some(other) => format!("there is no TLS connection: {other}"),
            None if error.is_timeout() => {
                format!("there is no connection within {} s", self.connect.as_secs())
            }
            None => self.in_words(error, &causes),
        };
        Some(NoConnection { message, lasts: tls.is_some() })
    }

    fn in_words(&self, error: &reqwest::Error, causes: &[&(dyn Error + 'static)]) -> String {
        let last = causes.last().map_or_else(|| error.to_string(), ToString::to_string);
        let system = causes.iter().find_map(|cause| io_error(*cause));
        let plain = match system.map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => "nothing accepts connections there",
            Some(io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => {
                "it was closed at once; if the server does not speak TLS, use http:// in its address"
            }
            Some(_) if last.starts_with(NOT_RESOLVED) => "the host is not known",
            None if self.proxy.is_some() => "the proxy does not lead there",
            Some(_) | None => return last,
        };
        format!("{plain} ({})", last.trim_start_matches(NOT_RESOLVED))
    }
}

/// Returns why what answered is not HTTP, if it is not.
pub(super) fn speaks_no_http(causes: &[&(dyn Error + 'static)]) -> Option<String> {
    let broken = causes.iter().find_map(|cause| cause.downcast_ref::<hyper::Error>());
    broken.filter(|it| it.is_parse()).map(ToString::to_string)
}

/// Returns the causes of an error, from the outermost to the first.
pub(super) fn causes(error: &reqwest::Error) -> Vec<&(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source()).collect()
}

/// Returns the TLS error in an error.
fn tls_error<'e>(cause: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    // An I/O error does not report the error inside it as its source.
    let inside = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    cause.downcast_ref().or_else(|| inside.and_then(|inside| tls_error(inside)))
}

/// Returns the innermost I/O error in an error.
fn io_error<'e>(cause: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let error = cause.downcast_ref::<io::Error>()?;
    Some(error.get_ref().and_then(|inside| io_error(inside)).unwrap_or(error))
}

/// Returns the proxy on the way to `url`, from the variables that `get` reads: those of its scheme come first, and upper
/// case before lower case.
fn proxy(
    url: &Url,
    get: impl Fn(&'static str) -> Option<String>,
) -> Result<Option<NamedProxy>, ClientError> {
    let of_scheme = match url.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy"],
        _ => ["HTTP_PROXY", "http_proxy"],
    };
    let set = |names: [&'static str; 2]| names.into_iter().find_map(|it| Some((it, get(it)?)));
    let named = [of_scheme, ["ALL_PROXY", "all_proxy"]].into_iter().filter_map(set);
    let Some((variable, value)) = named.into_iter().find(|(_, value)| !value.is_empty()) else {
        return Ok(None);
    };
    let except = set(["NO_PROXY", "no_proxy"]).map(|(_, value)| value).unwrap_or_default();
    let Ok(uri) = url.as_str().parse() else { return Ok(None) };
    let intercepted =
        |proxy: &str| Matcher::builder().all(proxy).no(except.as_str()).build().intercept(&uri);
    if intercepted("http://any").is_none() {
        return Ok(None);
    }
    match intercepted(&value) {
        Some(proxy) => {
            let address = proxy.uri().to_string().trim_end_matches('/').to_owned();
            Ok(Some(NamedProxy { variable, address }))
        }
        None => Err(ClientError::Proxy { variable, value: without_credentials(&value) }),
    }
}

/// Checks the certificates that variables name.
fn certificates() -> Result<(), ClientError> {
    let wrong = |variable, path: &Path, why: String| {
        let path = path.display().to_string();
        Err(ClientError::Certificates { variable, path, why })
    };
    if let Some(file) = env::var_os(CERTIFICATE_FILE) {
        let file = Path::new(&file);
        let all =
            CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match all {
            Ok(all) if all.is_empty() => {
                return wrong(
                    CERTIFICATE_FILE,
                    file,
                    "it has no certificate in PEM form".to_owned(),
                );
            }
            Ok(_) => {}
            Err(pem::Error::Io(error)) => return wrong(CERTIFICATE_FILE, file, error.to_string()),
            Err(error) => return wrong(CERTIFICATE_FILE, file, error.to_string()),
        }
    }
    for dir in env::var_os(CERTIFICATE_DIRS).iter().flat_map(env::split_paths) {
        if let Err(error) = dir.read_dir() {
            return wrong(CERTIFICATE_DIRS, &dir, error.to_string());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(url: &str, set: &[(&str, &str)]) -> String {
        let get = |name: &str| {
            set.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
        };
        match proxy(&Url::parse(url).unwrap(), get) {
            Ok(proxy) => proxy.map(|it| it.to_string()).unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_variable_of_a_proxy_is_known() {
        let (https, http) = ("https://api.example/x", "http://api.example/x");
        for (url, set, expected) in [
            (https, &[("HTTP_PROXY", "http://p:1")][..], ""),
            (http, &[("http_proxy", "p:1")], "through the proxy http://p:1 of http_proxy"),
            (
                https,
                &[("ALL_PROXY", "socks5h://me:secret@p:1"), ("https_proxy", "")],
                "through the proxy socks5h://p:1 of ALL_PROXY",
            ),
            (
                https,
                &[("ALL_PROXY", "http://a:1"), ("https_proxy", "http://b:1")],
                "through the proxy http://b:1 of https_proxy",
            ),
            (https, &[("ALL_PROXY", "http://a:1"), ("NO_PROXY", "b, .example")], ""),
            (https, &[("ALL_PROXY", "http://a:1"), ("no_proxy", "*")], ""),
            (https, &[("all_proxy", "gopher://a"), ("NO_PROXY", "api.example")], ""),
            (
                https,
                &[("all_proxy", "gopher://me:secret@a:1")],
                "all_proxy is \"gopher://****@a:1\", which is not the address of a proxy: http://, https://, socks4:// \
                 or socks5://, with host and port",
            ),
        ] {
            assert_eq!(found(url, set), expected, "{set:?}");
        }
    }
}
