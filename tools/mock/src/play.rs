//! Sends a response on a connection: writes, waits, disconnects.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep};

use super::answer::{AnswerPieces, ConnectionEnd, Framing, Response, ResponseStep};

pub(super) const COMMENT: &[u8] = b": keep-alive\n\n";

/// What happens to the connection afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterAnswer {
    /// It can carry another request.
    Keep,
    /// It is reset.
    Reset,
}

/// Sends `answer`, and calls `ending` before its last bytes go out, so that a client that has them can rely on its effects.
///
/// Some answers never end; the caller stops when the client disconnects. `repeated` counts their repetitions.
pub(super) async fn play(
    writer: &mut (impl AsyncWrite + Unpin),
    answer: &Response,
    repeated: &AtomicU64,
    ending: impl FnOnce(),
) -> io::Result<AfterAnswer> {
    if answer.end == ConnectionEnd::ResetUnanswered {
        return Ok(AfterAnswer::Reset);
    }
    let mut out =
        Out { writer, framing: answer.framing, writes: answer.writes, pending: answer.head() };
    for step in &answer.steps {
        match step {
            ResponseStep::Send(bytes) => out.send(bytes),
            ResponseStep::Flush => out.flush().await?,
            ResponseStep::Pause(wait) => {
                out.flush().await?;
                sleep(*wait).await;
            }
            ResponseStep::Comments { every, total } => {
                let end = Instant::now() + *total;
                while Instant::now() < end {
                    out.piece(COMMENT, *every).await?;
                }
            }
        }
    }
    match &answer.end {
        ConnectionEnd::Complete => {
            out.end();
            ending();
            out.flush().await?;
            Ok(AfterAnswer::Keep)
        }
        ConnectionEnd::Reset | ConnectionEnd::ResetUnanswered => {
            out.flush().await?;
            Ok(AfterAnswer::Reset)
        }
        ConnectionEnd::Hang => {
            out.flush().await?;
            std::future::pending().await
        }
        ConnectionEnd::Repeat { piece, every } => loop {
            repeated.fetch_add(1, Ordering::Relaxed);
            out.piece(piece, *every).await?;
        },
    }
}

/// Frames and buffers bytes, so that a whole answer goes out in one write.
struct Out<'a, W> {
    writer: &'a mut W,
    framing: Framing,
    writes: AnswerPieces,
    pending: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> Out<'_, W> {
    fn send(&mut self, bytes: &[u8]) {
        match self.framing {
            Framing::Length => self.pending.extend_from_slice(bytes),
            Framing::Chunked if bytes.is_empty() => {}
            Framing::Chunked => {
                self.pending.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
                self.pending.extend_from_slice(bytes);
                self.pending.extend_from_slice(b"\r\n");
            }
        }
    }

    async fn piece(&mut self, piece: &[u8], every: Duration) -> io::Result<()> {
        self.send(piece);
        self.flush().await?;
        sleep(every).await;
        Ok(())
    }

    fn end(&mut self) {
        if self.framing == Framing::Chunked {
            self.pending.extend_from_slice(b"0\r\n\r\n");
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.pending);
        match self.writes {
            AnswerPieces::Whole => self.writer.write_all(&bytes).await,
            AnswerPieces::Bytewise(wait) => {
                for byte in bytes.chunks(1) {
                    if !wait.is_zero() {
                        sleep(wait).await;
                    }
                    self.writer.write_all(byte).await?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_is_framed_and_terminated() {
        let mut written = Vec::new();
        let steps = vec![
            ResponseStep::Send("data: a\n\n".into()),
            ResponseStep::Send("data: b\n\n".into()),
        ];
        assert_eq!(
            play(&mut written, &Response::stream(steps), &AtomicU64::new(0), || ()).await.unwrap(),
            AfterAnswer::Keep
        );
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n\
             transfer-encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n9\r\ndata: b\n\n\r\n0\r\n\r\n"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn comments_last_for_the_configured_time() {
        let mut written = Vec::new();
        let comments = ResponseStep::Comments {
            every: Duration::from_secs(15),
            total: Duration::from_mins(1),
        };
        play(&mut written, &Response::stream(vec![comments]), &AtomicU64::new(0), || ())
            .await
            .unwrap();
        assert_eq!(String::from_utf8(written).unwrap().matches(": keep-alive").count(), 4);
    }
}
