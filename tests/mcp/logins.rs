//! Logins at a server at an address, as the user makes them: on a terminal, by another device, and without either.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};

use super::definition;
use crate::support::{Terminal, World};

/// The token that the server takes, and the one that renews it.
const TOKEN: &str = "at-5f3a9c";
const RENEWAL: &str = "rt-77d0e1";

/// Starts a server that wants a login and gives it. Returns its address.
fn guarded() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let own = origin.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, &own);
        }
    });
    format!("{origin}/mcp")
}

fn answer(mut stream: TcpStream, own: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        match header.trim().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_lowercase(), value.to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let is_known = headers.get("authorization").is_some_and(|it| *it == format!("Bearer {TOKEN}"));
    let (status, body) = match path.as_str() {
        "/mcp" if !is_known => (401, Value::Null),
        "/mcp" => match asked["method"].as_str() {
            Some("initialize") => (
                200,
                result(
                    &asked,
                    &json!({
                        "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                        "serverInfo": { "name": "guarded", "version": "1" },
                    }),
                ),
            ),
            Some("tools/list") => (200, result(&asked, &json!({ "tools": [definition("add")] }))),
            _ => (202, Value::Null),
        },
        "/.well-known/oauth-authorization-server" => (
            200,
            json!({
                "issuer": own,
                "authorization_endpoint": format!("{own}/login"),
                "token_endpoint": format!("{own}/token"),
                "device_authorization_endpoint": format!("{own}/device"),
                "registration_endpoint": format!("{own}/register"),
                "code_challenge_methods_supported": ["S256"],
            }),
        ),
        "/register" => (201, json!({ "client_id": "deepseek-1" })),
        "/device" => (
            200,
            json!({
                "device_code": "dc-1", "user_code": "WXYZ-1", "verification_uri": format!("{own}/go"),
                "interval": 0, "expires_in": 60,
            }),
        ),
        "/token" => (
            200,
            json!({
                "access_token": TOKEN, "refresh_token": RENEWAL, "token_type": "Bearer", "expires_in": 3600,
            }),
        ),
        _ => (404, Value::Null),
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n");
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).ok();
}

fn result(asked: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })
}

fn world() -> World {
    let url = guarded();
    World::greeting(Vec::new()).configure(&format!("[mcp.servers.far]\nurl = \"{url}\"\n"))
}

/// Returns the files with tokens.
fn tokens(world: &World) -> Vec<PathBuf> {
    let dir = world.home().join("config/deepseek/mcp-tokens");
    let Ok(found) = fs::read_dir(dir) else { return Vec::new() };
    found.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn without_a_terminal_a_code_for_another_device_logs_in_and_the_token_is_shown_nowhere() {
    let world = world();
    let run = |words: &str| world.deepseek(words.split(' ')).run();
    let refused = run("mcp approve far --yes");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("log in with `deepseek mcp login far`"), "{}", refused.stderr);
    let headless = run("mcp login far");
    assert_eq!(headless.code, Some(3), "{}", headless.stderr);
    let hint = "without one, log in with a code for another device: --device";
    assert!(headless.stderr.contains(hint), "{}", headless.stderr);

    let login = run("mcp login far --device");
    assert_eq!((login.code, login.stdout.as_str()), (Some(0), "logged in at `far`\n"));
    assert!(
        login.stderr.contains("/go on any device and type the code WXYZ-1"),
        "{}",
        login.stderr
    );
    let kept = tokens(&world);
    let text = fs::read_to_string(&kept[0]).unwrap();
    assert!(kept.len() == 1 && text.contains(TOKEN) && text.contains(RENEWAL), "{kept:?}");
    assert_eq!(fs::metadata(&kept[0]).unwrap().permissions().mode() & 0o777, 0o600);

    let approved = run("mcp approve far --yes");
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    let mut said = String::new();
    for words in ["mcp check far", "mcp get far", "mcp list --output json", "config show"] {
        let run = run(words);
        assert_eq!(run.code, Some(0), "{words}: {}", run.stderr);
        said += &run.stdout;
        said += &run.stderr;
    }
    for run in [&login, &approved] {
        said += &run.stdout;
        said += &run.stderr;
    }
    assert!(!said.contains(TOKEN) && !said.contains(RENEWAL), "{said}");

    let out = run("mcp logout far --output json");
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    assert!(out.stdout.contains("\"was_logged_in\":true"), "{}", out.stdout);
    assert!(tokens(&world).is_empty());
    assert!(run("mcp logout far").stderr.contains("there was no login at `far`"));
    assert_eq!(run("mcp check far").code, Some(1));
}

#[test]
fn on_a_terminal_the_address_at_which_the_browser_ends_may_be_pasted() {
    let world = world();
    let mut terminal = Terminal::start(&mut world.deepseek(["mcp", "login", "far"]));
    terminal.until("paste the address at which it ends here:", 1);
    let shown = terminal.shown().replace(['\r', '\n'], "");
    let state = shown.split("&state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    terminal.types(&format!("http://127.0.0.1:9/callback?code=c&state={state}\r"));
    terminal.until("logged in at `far`", 1);
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(tokens(&world).len(), 1);

    let mut terminal = Terminal::start(&mut world.deepseek(["mcp", "login", "far"]));
    terminal.until("paste the address at which it ends here:", 1);
    terminal.types("http://127.0.0.1:9/callback?code=c&state=other\r");
    terminal.until("does not belong to this login", 1);
    assert_eq!(terminal.end(), Some(3));
}

#[test]
fn a_server_of_the_workspace_is_not_connected_to_for_a_login_before_the_user_agrees() {
    let world = World::greeting(Vec::new());
    let entry = json!({ "mcpServers": { "far": { "url": guarded() } } });
    world.project.write(".mcp.json", entry.to_string());
    let run = |words: &str| world.deepseek(words.split(' ')).run();
    let refused = run("mcp login far --device");
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(!refused.stderr.contains("WXYZ-1") && tokens(&world).is_empty(), "{}", refused.stderr);
    assert_eq!(run("mcp login far --device --yes").code, Some(0));
}
