//! A minimal HTTP/1.1 server side: reads single requests from a connection and leaves every byte of the response to the
//! caller.

use std::io;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::ReceivedRequest;

/// Maximum size of a request's head, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Maximum size of a body, in bytes; the same as the provider's limit.
const MAX_BODY_BYTES: usize = 48 * 1024 * 1024;
const MAX_HEADERS: usize = 64;

/// A request as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Incoming {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
}

impl Incoming {
    /// Returns it with its body parsed, not numbered yet.
    pub(super) fn as_received(&self) -> ReceivedRequest {
        ReceivedRequest {
            number: 0,
            method: self.method.clone(),
            path: self.path.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            json: serde_json::from_slice(&self.body).unwrap_or_default(),
        }
    }
}

/// Reads the next request; `None` when the client sends no more. `buffer` keeps bytes beyond the request.
pub(super) async fn read_request(
    reader: &mut (impl AsyncRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Incoming>> {
    let (mut incoming, head_length) = loop {
        if let Some(head) = head(buffer)? {
            break head;
        }
        if buffer.len() > MAX_HEAD_BYTES {
            return Err(invalid("the head is too long"));
        }
        if reader.read_buf(buffer).await? == 0 {
            return if buffer.is_empty() {
                Ok(None)
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            };
        }
    };
    let header = |name: &str| {
        incoming.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    };
    if header("transfer-encoding").is_some() {
        return Err(invalid("chunked requests are not supported"));
    }
    let body_length: usize = match header("content-length") {
        Some(length) => {
            length.parse().map_err(|_| invalid("the content length is not a number"))?
        }
        None => 0,
    };
    if body_length > MAX_BODY_BYTES {
        return Err(invalid("the body is too long"));
    }
    if header("expect").is_some() {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let length = head_length + body_length;
    while buffer.len() < length {
        if reader.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let beyond = buffer.split_off(length);
    incoming.body = Bytes::from(std::mem::replace(buffer, beyond)).slice(head_length..);
    Ok(Some(incoming))
}

/// Parses the head of the request at the start of `buffer`, and returns it with its length; `None` if it is incomplete.
fn head(buffer: &[u8]) -> io::Result<Option<(Incoming, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = request.parse(buffer).map_err(invalid)? else {
        return Ok(None);
    };
    let path = request.path.unwrap_or_default();
    let headers = request.headers.iter().map(|header| {
        let value = String::from_utf8_lossy(header.value).into_owned();
        (header.name.to_ascii_lowercase(), value)
    });
    let incoming = Incoming {
        method: request.method.unwrap_or_default().to_owned(),
        path: path.split_once('?').map_or(path, |(path, _)| path).to_owned(),
        headers: headers.collect(),
        body: Bytes::new(),
    };
    Ok(Some((incoming, length)))
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn requests(bytes: &[u8]) -> io::Result<Vec<Incoming>> {
        let (mut reader, mut buffer, mut writer) = (bytes, Vec::new(), Vec::new());
        let mut all = Vec::new();
        while let Some(request) = read_request(&mut reader, &mut writer, &mut buffer).await? {
            all.push(request);
        }
        Ok(all)
    }

    #[tokio::test]
    async fn a_connection_can_carry_several_requests() {
        let all = requests(
            b"POST /a?x=1 HTTP/1.1\r\nX-Agent-Role: editor\r\nContent-Length: 2\r\n\r\nhiGET /b HTTP/1.1\r\n\r\n",
        )
        .await
        .unwrap();
        assert_eq!(all[0].path, "/a");
        assert_eq!(all[0].headers[0], ("x-agent-role".to_owned(), "editor".to_owned()));
        assert_eq!(all[0].body, "hi");
        assert_eq!((all[1].method.as_str(), all[1].path.as_str()), ("GET", "/b"));
    }

    #[tokio::test]
    async fn invalid_requests_are_errors() {
        assert!(requests(b"hello\r\n\r\n").await.is_err());
        assert!(requests(b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nshort").await.is_err());
        assert!(requests(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n").await.is_err());
        assert!(requests(b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n").await.is_err());
        assert!(requests(b"").await.unwrap().is_empty());
    }
}
