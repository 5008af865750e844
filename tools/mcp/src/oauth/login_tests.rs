//! Tests of logins over real HTTP. One fake server is the server of tools and who gives tokens for it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::CallOutcome;
use crate::fake_http::{FakeHttp, FakeSession, HttpAsked, HttpSaid, older};
use crate::oauth::RedirectListener;

/// How the authority differs from an ordinary one.
#[derive(Default, Clone)]
struct Oddity {
    /// It says that it is another issuer.
    issuer: Option<&'static str>,
    /// What the server says where its authority is.
    authority: Option<String>,
    /// It has codes for other devices.
    devices: bool,
    /// Its tokens hold for this many seconds.
    holds: u64,
    /// It does not describe the server, only itself.
    old: bool,
}

/// The tokens that the fake gives, in their order.
fn token(number: usize) -> String {
    format!("token-{number}-of-the-user")
}

/// Starts a server of tools behind a login.
async fn guarded(oddity: Oddity) -> FakeHttp {
    let given = AtomicUsize::new(0);
    let challenge = Mutex::new(String::new());
    FakeHttp::start(move |own, asked| {
        let path = asked.path.split('?').next().unwrap_or_default();
        match path {
            "/mcp" => {
                let valid = format!("Bearer {}", token(given.load(Ordering::Relaxed)));
                let metadata = format!("{own}/.well-known/oauth-protected-resource/mcp");
                match asked.header("authorization") {
                    Some(sent) if sent == valid => older(asked),
                    _ => HttpSaid::status(401).with(
                        "www-authenticate",
                        &format!("Bearer resource_metadata=\"{metadata}\", scope=\"use\""),
                    ),
                }
            }
            "/.well-known/oauth-protected-resource/mcp" if !oddity.old => HttpSaid::json(&json!({
                "resource": format!("{own}/mcp"),
                "authorization_servers": [oddity.authority.as_deref().unwrap_or(own)],
            })),
            "/.well-known/oauth-authorization-server" => {
                let mut about = json!({
                    "issuer": oddity.issuer.unwrap_or(own),
                    "authorization_endpoint": format!("{own}/login"),
                    "token_endpoint": format!("{own}/token"),
                    "registration_endpoint": format!("{own}/register"),
                    "code_challenge_methods_supported": ["S256"],
                });
                if oddity.devices {
                    about["device_authorization_endpoint"] = format!("{own}/device").into();
                }
                HttpSaid::json(&about)
            }
            "/register" => HttpSaid::json(&json!({ "client_id": "registered" })),
            "/login" => {
                let sent = |name| field(&asked.path, name).unwrap();
                assert_eq!(sent("response_type"), "code");
                assert_eq!(sent("code_challenge_method"), "S256");
                assert_eq!(sent("resource"), format!("{own}/mcp"));
                assert_eq!(sent("scope"), "use");
                *challenge.lock().unwrap() = sent("code_challenge");
                let to = format!("{}?code=c%2F1&state={}", sent("redirect_uri"), sent("state"));
                HttpSaid::status(302).with("location", &to)
            }
            "/device" => HttpSaid::json(&json!({
                "device_code": "d", "user_code": "AB-12", "interval": 0, "expires_in": 60,
                "verification_uri": format!("{own}/go"),
            })),
            "/token" => answer_token(asked, &given, &challenge.lock().unwrap(), oddity.holds),
            _ => HttpSaid::status(404),
        }
    })
    .await
}

fn answer_token(asked: &HttpAsked, given: &AtomicUsize, challenge: &str, holds: u64) -> HttpSaid {
    let sent = |name| field(&format!("?{}", asked.body), name).unwrap_or_default();
    let refuses = |error: &str| {
        let body = json!({ "error": error }).to_string();
        HttpSaid::Answer(400, vec![("content-type", "application/json".into())], body)
    };
    assert_eq!(sent("client_id"), "registered");
    assert!(sent("resource").ends_with("/mcp"));
    let before = given.load(Ordering::Relaxed);
    let is_right = match sent("grant_type").as_str() {
        "authorization_code" => {
            let hash = Sha256::digest(sent("code_verifier").as_bytes());
            sent("code") == "c/1" && BASE64_URL_SAFE_NO_PAD.encode(hash) == challenge
        }
        "refresh_token" => sent("refresh_token") == format!("refresh-{before}"),
        // The first time the user has not typed it yet.
        _ if sent("device_code") == "d" && before == 0 => {
            given.fetch_add(1, Ordering::Relaxed);
            return refuses("authorization_pending");
        }
        _ => sent("device_code") == "d",
    };
    if !is_right {
        return refuses("invalid_grant");
    }
    let number = given.fetch_add(1, Ordering::Relaxed) + 1;
    HttpSaid::json(&json!({
        "access_token": token(number), "token_type": "Bearer", "expires_in": holds,
        "refresh_token": format!("refresh-{number}"),
    }))
}

/// Returns a value of a query.
fn field(query: &str, name: &str) -> Option<String> {
    let url = Url::parse("http://x").unwrap().join(query).unwrap();
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn behind(fake: &FakeHttp) -> FakeSession {
    let session = FakeSession::at(&format!("{}/mcp", fake.origin));
    session.approve();
    session
}

/// Logs in as a browser does that follows the redirect to the listener.
async fn log_in(session: &FakeSession) -> Result<(), LoginError> {
    let login = session.servers.login(&session.entry(), &[]).await?;
    let listener = RedirectListener::open().await?;
    let asked = login.ask_user(listener.address()).await?;
    let address = asked.address.clone();
    let browser = tokio::spawn(async move {
        let page = reqwest::get(address).await.unwrap();
        assert_eq!(page.status(), 200);
    });
    let answer = listener.answer().await?;
    browser.await.unwrap();
    login.finish(asked, &answer).await
}

#[tokio::test]
async fn a_login_by_a_page_gives_a_token_that_is_sent_until_it_is_forgotten() {
    let fake = guarded(Oddity { holds: 3600, ..Oddity::default() }).await;
    let session = behind(&fake);
    let why = session.look().await.unwrap_err().to_string();
    assert!(why.ends_with("log in with `deepseek mcp login fake`"), "{why}");
    log_in(&session).await.unwrap();
    assert!(session.kept.text().contains(&token(1)));
    let three = CallOutcome::Answered { text: "3".to_owned(), failed: false };
    assert_eq!(session.call().await, three);
    assert!(session.servers.logout(&session.entry()).await.unwrap());
    assert_eq!(session.kept.text(), "");
    assert!(!session.servers.logout(&session.entry()).await.unwrap());
    let CallOutcome::Refused(why) = session.call().await else { panic!() };
    assert!(why.ends_with("log in with `deepseek mcp login fake`"), "{why}");
}

#[tokio::test]
async fn an_older_server_is_its_own_authority() {
    let fake = guarded(Oddity { holds: 3600, old: true, ..Oddity::default() }).await;
    let session = behind(&fake);
    log_in(&session).await.unwrap();
    assert_eq!(session.look().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_token_that_has_ended_or_is_refused_is_renewed_once() {
    let fake = guarded(Oddity { holds: 10, ..Oddity::default() }).await;
    let session = behind(&fake);
    log_in(&session).await.unwrap();
    // Each holds for less than is worth sending, so every request renews.
    assert_eq!(session.look().await.unwrap().len(), 1);
    assert!(!session.kept.text().contains(&token(1)));

    let fake = guarded(Oddity { holds: 3600, ..Oddity::default() }).await;
    let session = behind(&fake);
    log_in(&session).await.unwrap();
    // The server no longer takes the first token, though it would hold.
    let kept = session.kept.text();
    let other = behind(&fake);
    let url = Url::parse(&format!("{}/mcp", fake.origin)).unwrap();
    let grant: TokenGrant = serde_json::from_str(&kept).unwrap();
    let tokens = Tokens::new(std::sync::Arc::<crate::fake_http::Kept>::clone(&other.kept) as _);
    tokens.keep(&url, grant).await.unwrap();
    assert!(tokens.instead_of(&url, None).await.unwrap().is_some());
    let refused = tokens.bearer(&url).await.unwrap().unwrap();
    let renewed = tokens.instead_of(&url, Some(&refused)).await.unwrap().unwrap();
    assert_eq!(renewed.expose(), token(2));
    // The first session still has the old one; its authority says that the login has ended.
    let why = session.look().await.unwrap_err().to_string();
    assert!(why.ends_with("log in with `deepseek mcp login fake`"), "{why}");
    assert!(!why.contains("token-") && !why.contains("refresh-"), "{why}");
    // Another process may have renewed it: what is kept is used.
    session.kept.copy(&other.kept);
    assert_eq!(session.look().await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_answer_to_another_login_is_refused() {
    let fake = guarded(Oddity { holds: 3600, ..Oddity::default() }).await;
    let session = behind(&fake);
    let login = session.servers.login(&session.entry(), &[]).await.unwrap();
    let asked = login.ask_user("http://127.0.0.1:9/callback").await.unwrap();
    let answer = "http://127.0.0.1:9/callback?code=c%2F1&state=other";
    let why = login.finish(asked, answer).await.unwrap_err().to_string();
    assert_eq!(why, "the answer does not belong to this login (state); nothing was kept");
    // A code that another client got does not fit the verifier.
    let asked = login.ask_user("http://127.0.0.1:9/callback").await.unwrap();
    let why = login.finish(asked, "c/1").await.unwrap_err().to_string();
    assert!(why.ends_with("refuses (invalid_grant)"), "{why}");
    assert_eq!(session.kept.text(), "");
}

#[tokio::test]
async fn a_server_that_leads_elsewhere_is_refused() {
    for (oddity, expected) in [
        (
            Oddity { issuer: Some("https://evil.example"), ..Oddity::default() },
            "is that of another issuer (https://evil.example)",
        ),
        (
            Oddity { authority: Some("https://169.254.169.254/".into()), ..Oddity::default() },
            "leads to 169.254.169.254, which is a link-local address; a server may not",
        ),
        (
            Oddity { authority: Some("ftp://127.0.0.1/".into()), ..Oddity::default() },
            "ftp://127.0.0.1/.well-known/oauth-authorization-server is not https",
        ),
    ] {
        let fake = guarded(oddity).await;
        let session = behind(&fake);
        let why = session.servers.login(&session.entry(), &[]).await.err().unwrap().to_string();
        assert!(why.contains(expected), "{why}");
        assert_eq!(fake.asked().iter().filter(|asked| asked.path == "/register").count(), 0);
    }
}

#[tokio::test]
async fn a_login_by_another_device_waits_for_the_user() {
    let fake = guarded(Oddity { devices: true, holds: 3600, ..Oddity::default() }).await;
    let session = behind(&fake);
    let login = session.servers.login(&session.entry(), &[]).await.unwrap();
    assert!(login.has_device_codes());
    let asked = login.ask_device().await.unwrap();
    assert_eq!((asked.code.as_str(), &asked.address), ("AB-12", &format!("{}/go", fake.origin)));
    login.finish_device(asked).await.unwrap();
    assert_eq!(session.look().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_program_is_not_logged_in_at() {
    let server = config::McpServer { command: "x".into(), ..config::McpServer::default() };
    let session = FakeSession::with(server);
    let why = session.servers.login(&session.entry(), &[]).await.err().unwrap().to_string();
    assert!(why.contains("it is a program"), "{why}");
}
