//! New namespaces: user ids without meaning outside, processes that end together, a network with only loopback.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};

use crate::orders::{Failure, Network, Step};

/// Enters new namespaces. The next process started is the first of the pid namespace.
pub(crate) fn enter(network: Network) -> Result<(), Failure> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if network == Network::Own {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).map_err(|error| Failure::of(Step::Namespaces, &error.into()))?;
    let (user, group) = (user.as_raw(), group.as_raw());
    let ids = || {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    };
    ids().map_err(|error| Failure::of(Step::Ids, &error))?;
    if network == Network::Own {
        loopback_up().map_err(|error| Failure::of(Step::Loopback, &error))?;
    }
    Ok(())
}

/// Turns on the loopback interface, which then gets its addresses by itself. Sends one rtnetlink message and reads the
/// answer; see rtnetlink(7).
fn loopback_up() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 1 | 4;
    const LOOPBACK: i32 = 1;
    const UP: u32 = 1;
    let mut message = Vec::new();
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACK.to_ne_bytes());
    message.extend([0; 8]);
    // Family, padding and type of the interface: any.
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    // `None` is protocol number 0, NETLINK_ROUTE.
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0_u8; 64];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    // A header of 16 bytes, then the error number, negative, or 0.
    let errno =
        answer.get(..length).and_then(|it| it.get(16..20)).and_then(|it| it.try_into().ok());
    match errno.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(errno) => Err(io::Error::from_raw_os_error(-errno)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
