//! New namespaces: user ids without meaning outside, processes that end together, a network with only loopback.

use std::fs::{self, File};
use std::io;

use nix::sched::{CloneFlags, setns, unshare};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};

use crate::orders::{ConfinementStep, Failure, Network};

/// Enters new namespaces; the user namespace is that of `holder`, if there is one. The next process started is the first
/// of the pid namespace.
pub(crate) fn enter_namespaces(network: Network, holder: Option<u32>) -> Result<(), Failure> {
    let mut flags = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if network == Network::Own {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    if let Some(holder) = holder {
        join(holder).map_err(|error| Failure::of(ConfinementStep::Join, &error))?;
        unshare(flags).map_err(|error| Failure::of(ConfinementStep::Namespaces, &error.into()))?;
    } else {
        with_own_user(flags)?;
    }
    if network == Network::Own {
        loopback_up().map_err(|error| Failure::of(ConfinementStep::Loopback, &error))?;
    }
    Ok(())
}

/// Enters namespaces in which mounts can be made for other processes to join.
pub(crate) fn enter_to_hold() -> Result<(), Failure> {
    with_own_user(CloneFlags::CLONE_NEWNS)
}

/// Joins the user and mount namespaces of a process.
fn join(holder: u32) -> io::Result<()> {
    // Both are opened before the first is joined: afterwards `/proc` may be another one.
    let open = |name: &str| File::open(format!("/proc/{holder}/ns/{name}"));
    let (users, mounts) = (open("user")?, open("mnt")?);
    setns(users, CloneFlags::CLONE_NEWUSER)?;
    setns(mounts, CloneFlags::CLONE_NEWNS)?;
    Ok(())
}

/// Enters new namespaces, among them one for users, in which this process has the ids that it has outside.
fn with_own_user(flags: CloneFlags) -> Result<(), Failure> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    unshare(flags | CloneFlags::CLONE_NEWUSER)
        .map_err(|error| Failure::of(ConfinementStep::Namespaces, &error.into()))?;
    let (user, group) = (user.as_raw(), group.as_raw());
    let ids = || {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    };
    ids().map_err(|error| Failure::of(ConfinementStep::Ids, &error))
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
