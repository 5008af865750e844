//! Addresses, proxies and certificates: what people set works, and what cannot work is explained in one sentence.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mock::ScriptedReply;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::support::{Run, World};

/// Signed by itself, for localhost and 127.0.0.1, valid until 2120. The key protects nothing.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
MIIBKzCB3qADAgECAgEBMAUGAytlcDAYMRYwFAYDVQQDDA1kZWVwc2VlayB0ZXN0
MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYDVQQDDA1k
ZWVwc2VlayB0ZXN0MCowBQYDK2VwAyEAOFB2V1VbhHu29nRkOnDWgNWgQfnaNlIV
udap5/lMIwSjSzBJMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAMBgNVHRMB
Af8EAjAAMB0GA1UdDgQWBBS3ZlU1l5T6Q33x4s2hsP9iHL+SKjAFBgMrZXADQQD3
f34EsHr9P6wXtrWAUWjGd1m0YwmZuGSGDOno9F3byDsbZJe8QBXcZC0ylhaQ/57N
4Aj1t7Q0Yg+MWl2/GzIH
-----END CERTIFICATE-----
";
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIEbbaDlUwIVIrw5EEpyzvT91mIbNICcitId/cWOMoMK6
-----END PRIVATE KEY-----
";

/// A project whose question the provider answers, as often as it is asked.
fn world() -> World {
    World::greeting(vec![ScriptedReply::text("It greets.").forever()])
}

/// Asks a question at `base_url`, with these variables.
fn ask(world: &World, base_url: &str, variables: &[(&str, &str)]) -> Run {
    let mut program = world.deepseek(["ask", "What is this?"]);
    program.env("DEEPSEEK_BASE_URL", base_url);
    for (name, value) in variables {
        program.env(name, value);
    }
    program.run()
}

/// Returns how a question ended: its answer, or the error and the hint, with the paths and ports of this test replaced.
fn told(run: &Run, replaced: &[(&str, &str)]) -> String {
    let lines =
        run.stderr.lines().filter(|line| line.starts_with("error:") || line.starts_with("hint:"));
    let told = match run.code {
        Some(0) => run.stdout.trim().to_owned(),
        Some(code) => format!("{code} {}", lines.collect::<Vec<_>>().join("\n  ")),
        None => format!("killed: {}", run.stderr),
    };
    replaced.iter().fold(told, |told, (value, name)| told.replace(value, name))
}

/// Forwards what arrives on either side to the other.
pub(super) fn tunnel(left: &TcpStream, right: &TcpStream) {
    let copy = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            // Either side may close first.
            drop(io::copy(&mut from, &mut to));
            drop(to.shutdown(std::net::Shutdown::Write));
        })
    };
    let there = copy(left.try_clone().unwrap(), right.try_clone().unwrap());
    let back = copy(right.try_clone().unwrap(), left.try_clone().unwrap());
    there.join().unwrap();
    back.join().unwrap();
}

/// Starts a server that handles each connection with `serve`. Returns its port.
fn serving(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    port
}

/// Starts a SOCKS5 proxy that leads every name to `server`. Returns its port, and the number of connections so far.
fn socks(server: String) -> (u16, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let port = serving(move |mut client| {
        let mut read = |count: usize| {
            let mut bytes = vec![0; count];
            client.read_exact(&mut bytes).map(|()| bytes)
        };
        let greeting = read(2).unwrap();
        read(usize::from(greeting[1])).unwrap();
        client.write_all(&[5, 0]).unwrap();
        let mut read = |count: usize| {
            let mut bytes = vec![0; count];
            client.read_exact(&mut bytes).map(|()| bytes)
        };
        let request = read(5).unwrap();
        assert_eq!(request[..4], [5, 1, 0, 3], "it asks the proxy for a name");
        read(usize::from(request[4]) + 2).unwrap();
        counted.fetch_add(1, Ordering::SeqCst);
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        tunnel(&client, &TcpStream::connect(&server).unwrap());
    });
    (port, count)
}

/// Starts a server that speaks TLS and answers every question. Returns its port.
fn tls() -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    serving(move |mut stream| {
        let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut tls = Stream::new(&mut connection, &mut stream);
        let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Over TLS.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let mut heard = Vec::new();
        let mut piece = [0; 4096];
        // A client that does not trust the server leaves.
        while let Ok(count @ 1..) = tls.read(&mut piece) {
            heard.extend_from_slice(&piece[..count]);
            if heard.ends_with(b"}") {
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
                let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
                drop(tls.write_all(answer.as_bytes()));
                tls.conn.send_close_notify();
                drop(tls.flush());
                break;
            }
        }
    })
}

/// Returns a port on which nothing listens.
fn closed_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

/// A file in the directory of a test.
fn file(world: &World, name: &str, text: &str) -> PathBuf {
    let path = world.home().join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn an_address_works_as_it_was_copied() {
    let world = world();
    let base = world.provider.base_url();
    for (copied, path) in [
        ("/v1", "/v1/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/chat/completions/", "/v1/chat/completions"),
        ("/v1/models", "/v1/chat/completions"),
    ] {
        let run = ask(&world, &format!("{base}{copied}"), &[]);
        assert_eq!(told(&run, &[]), "It greets.", "{copied}: {path}");
    }
    let port = serving(|mut stream| {
        let mut heard = [0; 4096];
        let count = stream.read(&mut heard).unwrap();
        let line = String::from_utf8_lossy(&heard[..count]).lines().next().unwrap().to_owned();
        let body = format!("{{\"error\":{{\"message\":\"asked for {line}\"}}}}");
        let answer = format!("HTTP/1.1 400 No\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let azure = format!("http://127.0.0.1:{port}/openai/chat/completions?api-version=2024-10-21");
    let run = ask(&world, &azure, &[]);
    let asked = "POST /openai/chat/completions?api-version=2024-10-21 HTTP/1.1";
    assert!(run.stderr.contains(asked), "{}", run.stderr);
}

#[test]
fn a_socks_proxy_is_used_and_loopback_needs_none() {
    let world = world();
    let server = world.provider.base_url().replace("http://", "");
    let (port, count) = socks(server);
    let proxy = format!("socks5h://127.0.0.1:{port}");
    for variable in ["ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"] {
        let run = ask(&world, "http://model.invalid", &[(variable, &proxy)]);
        assert_eq!(told(&run, &[]), "It greets.", "{variable}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 4);
    let run = ask(&world, &world.provider.base_url(), &[("ALL_PROXY", &proxy)]);
    assert_eq!(told(&run, &[]), "It greets.");
    assert_eq!(count.load(Ordering::SeqCst), 4, "a server on this machine needs no proxy");
}

#[test]
fn a_self_signed_server_is_trusted_if_a_variable_says_so() {
    let world = world();
    let base = format!("https://localhost:{}", tls());
    let path = file(&world, "issuer.pem", CERTIFICATE);
    let run = ask(&world, &base, &[("SSL_CERT_FILE", path.to_str().unwrap())]);
    assert_eq!(told(&run, &[]), "Over TLS.");
    // Named as `openssl rehash` names them.
    let dir = world.home().join("certificates");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("d4a1f2b0.0"), CERTIFICATE).unwrap();
    let run = ask(&world, &base, &[("SSL_CERT_DIR", dir.to_str().unwrap())]);
    assert_eq!(told(&run, &[]), "Over TLS.");
}

#[test]
fn every_network_error_names_the_address_the_cause_and_the_variable() {
    type Variables = Vec<(&'static str, String)>;
    let world = world();
    let (closed, tls) = (closed_port(), tls().to_string());
    let plain = world.provider.base_url().rsplit_once(':').unwrap().1.to_owned();
    let empty = file(&world, "empty.pem", "no certificate\n");
    let there = empty.parent().unwrap().to_str().unwrap().to_owned();
    let missing = format!("{there}/missing.pem");
    let (empty, directory) = (format!("{there}/empty.pem"), there.clone());
    let at = |scheme: &str, port: &str| format!("{scheme}://127.0.0.1:{port}");
    let through = |kind: &str| format!("{kind}://me:secret@127.0.0.1:{closed}");
    let cases: Vec<(&str, String, Variables)> = vec![
        ("no scheme", "model.invalid/v1".to_owned(), vec![]),
        ("a fragment", "https://model.invalid/v1#x".to_owned(), vec![]),
        ("refused port", at("http", &closed), vec![]),
        ("unknown host", "http://model.invalid/v1?key=secret".to_owned(), vec![]),
        ("TLS to a plain server", at("https", &plain), vec![]),
        ("plain to a TLS server", at("http", &tls), vec![]),
        ("unknown issuer", at("https", &tls), vec![]),
        (
            "proxy not there",
            "http://model.invalid".to_owned(),
            vec![("http_proxy", through("http"))],
        ),
        (
            "proxy not there, over TLS",
            "https://model.invalid".to_owned(),
            vec![("HTTPS_PROXY", through("http"))],
        ),
        (
            "SOCKS proxy not there",
            "https://model.invalid".to_owned(),
            vec![("ALL_PROXY", through("socks5h"))],
        ),
        (
            "no proxy",
            "https://model.invalid".to_owned(),
            vec![("ALL_PROXY", "gopher://me:secret@p:70".to_owned())],
        ),
        ("no such file", at("https", &tls), vec![("SSL_CERT_FILE", missing.clone())]),
        ("no certificate", at("https", &tls), vec![("SSL_CERT_FILE", empty)]),
        ("a directory", at("https", &tls), vec![("SSL_CERT_FILE", directory)]),
        ("no such directory", at("https", &tls), vec![("SSL_CERT_DIR", missing)]),
    ];
    let replaced = [
        (closed.as_str(), "CLOSED"),
        (tls.as_str(), "TLS"),
        (plain.as_str(), "PLAIN"),
        (there.as_str(), "DIR"),
    ];
    let mut shown = String::new();
    for (name, base, variables) in &cases {
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let run = ask(&world, base, &variables);
        assert!(!run.stderr.contains("secret"), "{}", run.stderr);
        shown.push_str(&format!("{name}: {}\n", told(&run, &replaced)));
    }
    insta::assert_snapshot!(shown, @r#"
    no scheme: 2 error: the base URL "model.invalid/v1" does not say how to connect: use https://model.invalid/v1
      hint: check llm.base_url with `deepseek config show`
    a fragment: 2 error: the base URL "https://model.invalid/v1#x" has a fragment, which is never sent: use https://model.invalid/v1
      hint: check llm.base_url with `deepseek config show`
    refused port: 5 error: no connection to http://127.0.0.1:CLOSED/chat/completions: nothing accepts connections there (Connection refused (os error 111))
      hint: check the network, llm.base_url (also whether it is http or https) and, if one is set, the proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; NO_PROXY excepts a host): `deepseek doctor`
    unknown host: 5 error: no connection to http://model.invalid/v1/chat/completions: the host is not known (Name or service not known)
      hint: check the network, llm.base_url (also whether it is http or https) and, if one is set, the proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; NO_PROXY excepts a host): `deepseek doctor`
    TLS to a plain server: 5 error: no connection to https://127.0.0.1:PLAIN/chat/completions: it was closed at once; if the server does not speak TLS, use http:// in its address (Connection reset by peer (os error 104))
      hint: check the network, llm.base_url (also whether it is http or https) and, if one is set, the proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; NO_PROXY excepts a host): `deepseek doctor`
    plain to a TLS server: 5 error: the provider sent an unreadable answer: http://127.0.0.1:TLS/chat/completions does not speak proper HTTP (invalid HTTP version parsed); if it speaks TLS, use https:// in its address
      hint: check that llm.base_url is the address of an API, not of a web page: `deepseek doctor`; if it is, the problem is at the provider
    unknown issuer: 5 error: no connection to https://127.0.0.1:TLS/chat/completions: the issuer of its certificate is not trusted: set SSL_CERT_FILE to a file with the issuer's certificate
      hint: check the network, llm.base_url (also whether it is http or https) and, if one is set, the proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; NO_PROXY excepts a host): `deepseek doctor`
    proxy not there: 5 error: no connection to http://model.invalid/chat/completions through the proxy http://127.0.0.1:CLOSED of http_proxy: nothing accepts connections there (Connection refused (os error 111))
      hint: check the network, llm.base_url (also whether it is http or https) and, if one is set, the proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; NO_PROXY excepts a host): `deepseek doctor`
    proxy not there, over TLS: 5 error: no connection to https://model.invalid/chat/completions through the proxy http://127.0.0.1:CLOSED of HTTPS_PROXY: nothing accepts connections there (Connection refused (os error 111))
      hint: check the network, llm.base_url (also whether it is http or https) and, if one is set, the proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; NO_PROXY excepts a host): `deepseek doctor`
    SOCKS proxy not there: 5 error: no connection to https://model.invalid/chat/completions through the proxy socks5h://127.0.0.1:CLOSED of ALL_PROXY: the proxy does not lead there (SOCKS error: failed to create underlying connection)
      hint: check the network, llm.base_url (also whether it is http or https) and, if one is set, the proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; NO_PROXY excepts a host): `deepseek doctor`
    no proxy: 2 error: ALL_PROXY is "gopher://****@p:70", which is not the address of a proxy: http://, https://, socks4:// or socks5://, with host and port
      hint: correct the variable or unset it; NO_PROXY names hosts that need no proxy
    no such file: 2 error: SSL_CERT_FILE names DIR/missing.pem, which cannot be used: No such file or directory (os error 2)
      hint: set SSL_CERT_FILE to a file of certificates in PEM form, SSL_CERT_DIR to a directory of them, or unset both
    no certificate: 2 error: SSL_CERT_FILE names DIR/empty.pem, which cannot be used: it has no certificate in PEM form
      hint: set SSL_CERT_FILE to a file of certificates in PEM form, SSL_CERT_DIR to a directory of them, or unset both
    a directory: 2 error: SSL_CERT_FILE names DIR, which cannot be used: Is a directory (os error 21)
      hint: set SSL_CERT_FILE to a file of certificates in PEM form, SSL_CERT_DIR to a directory of them, or unset both
    no such directory: 2 error: SSL_CERT_DIR names DIR/missing.pem, which cannot be used: No such file or directory (os error 2)
      hint: set SSL_CERT_FILE to a file of certificates in PEM form, SSL_CERT_DIR to a directory of them, or unset both
    "#);
}
