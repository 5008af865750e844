//! A listener on this machine for the page that a browser is sent to after a login.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The path of the page.
const PATH: &str = "/callback";
/// Maximum size of a request, in bytes.
const MAX_BYTES: u64 = 16 << 10;
/// Time for a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A listener for one request.
#[derive(Debug)]
pub struct RedirectListener {
    listener: TcpListener,
    address: String,
}

impl RedirectListener {
    /// Listens on a free port.
    pub async fn open() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = format!("http://{}{PATH}", listener.local_addr()?);
        Ok(Self { listener, address })
    }

    /// Returns the address of the page.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits until a browser asks for the page, and returns the address with what it was sent with.
    pub async fn answer(self) -> io::Result<String> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let asked = tokio::time::timeout(PATIENCE, answered(stream)).await;
            // Browsers ask for more than the page, and others may ask too.
            if let Ok(Ok(Some(query))) = asked {
                return Ok(format!("{}?{query}", self.address));
            }
        }
    }
}

/// Answers a request. Returns the query if it asks for the page.
async fn answered(mut stream: TcpStream) -> io::Result<Option<String>> {
    let mut request = Vec::new();
    let mut head = (&mut stream).take(MAX_BYTES);
    while !request.ends_with(b"\r\n\r\n") {
        if head.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    let text = String::from_utf8_lossy(&request);
    let target = text.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    let query = target.and_then(|target| target.strip_prefix(PATH)?.strip_prefix('?'));
    let (status, said) = match query {
        Some(_) => ("200 OK", "deepseek has the answer. You can close this page."),
        None => ("404 Not Found", "Nothing is here."),
    };
    let length = said.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{said}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(query.map(str::to_owned))
}
