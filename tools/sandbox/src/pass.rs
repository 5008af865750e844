//! Passes a command its standard input and output past the helper, whose own standard input are its orders.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The space for two descriptors in a message.
const SPACE: usize = rustix::cmsg_space!(ScmRights(2));

/// Returns what has to be the standard output of the helper, for a command with [`Passed`](crate::CommandStreams::Passed)
/// streams.
pub fn pass_streams(input: OwnedFd, output: OwnedFd) -> io::Result<OwnedFd> {
    let (here, there) = UnixStream::pair()?;
    let passed = [input.as_fd(), output.as_fd()];
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    if !rights.push(SendAncillaryMessage::ScmRights(&passed)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // They arrive even if this end is closed by then.
    sendmsg(here, &[IoSlice::new(b".")], &mut rights, SendFlags::empty())?;
    Ok(there.into())
}

/// Receives the streams in the helper.
pub(crate) fn passed_streams() -> io::Result<[OwnedFd; 2]> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let (over, flags) = (rustix::stdio::stdout(), RecvFlags::CMSG_CLOEXEC);
    recvmsg(over, &mut [IoSliceMut::new(&mut [0])], &mut rights, flags)?;
    let passed = rights.drain().filter_map(|message| {
        if let RecvAncillaryMessage::ScmRights(passed) = message { Some(passed) } else { None }
    });
    let passed: Vec<OwnedFd> = passed.flatten().collect();
    passed.try_into().map_err(|_| io::ErrorKind::UnexpectedEof.into())
}
