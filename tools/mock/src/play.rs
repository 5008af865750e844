//! Sends a response on a connection: writes, waits, disconnects.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep};

use super::answer::{End, Framing, Response, Step, Writes};

pub(super) const COMMENT: &[u8] = b": keep-alive\n\n";

/// What happens to the connection afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
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
) -> io::Result<After> {
    if answer.end == End::ResetUnanswered {
        return Ok(After::Reset);
    }
    let mut out =
        Out { writer, framing: answer.framing, writes: answer.writes, pending: answer.head() };
    for step in &answer.steps {
        match step {
            Step::Send(bytes) => out.send(bytes),
            Step::Flush => out.flush().await?,
            Step::Pause(wait) => {
                out.flush().await?;
                sleep(*wait).await;
            }
            Step::Comments { every, total } => {
                let end = Instant::now() + *total;
                while Instant::now() < end {
                    out.piece(COMMENT, *every).await?;
                }
            }
        }
    }
    match &answer.end {
        End::Complete => {
            out.end();
            ending();
            out.flush().await?;
            Ok(After::Keep)
        }
        End::Reset | End::ResetUnanswered => {
            out.flush().await?;
            Ok(After::Reset)
        }
        End::Hang => {
            out.flush().await?;
            std::future::pending().await
        }
        End::Repeat { piece, every } => loop {
            repeated.fetch_add(1, Ordering::Relaxed);
            out.piece(piece, *every).await?;
        },
    }
}

/// Frames and buffers bytes, so that a whole answer goes out in one write.
struct Out<'a, W> {
    writer: &'a mut W,
    framing: Framing,
    writes: Writes,
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
            Writes::Whole => self.writer.write_all(&bytes).await,
            Writes::Bytewise(wait) => {
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
        let steps = vec![Step::Send("data: a\n\n".into()), Step::Send("data: b\n\n".into())];
        assert_eq!(
            play(&mut written, &Response::stream(steps), &AtomicU64::new(0), || ()).await.unwrap(),
            After::Keep
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
        let comments =
            Step::Comments { every: Duration::from_secs(15), total: Duration::from_mins(1) };
        play(&mut written, &Response::stream(vec![comments]), &AtomicU64::new(0), || ())
            .await
            .unwrap();
        assert_eq!(String::from_utf8(written).unwrap().matches(": keep-alive").count(), 4);
    }
}
