//! The system call filter: blocks calls that would undo the other restrictions, or that they do not cover.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::orders::{ConfinementStep, Failure, Network};

/// Blocked system calls by number, each with the rules under which it is blocked; no rules means always.
type Caught = BTreeMap<i64, Vec<SeccompRule>>;

/// Which restrictions are already in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Namespaces: sockets do not lead out.
    Namespaces,
    /// Landlock only.
    Landlock,
}

/// Blocks the system calls that must not be made. The filter cannot be removed.
pub(crate) fn filter(behind: Behind, network: Network) -> Result<(), Failure> {
    let failed = |errno: i32| Failure { step: ConfinementStep::Seccomp, on: None, errno };
    // Programs work around a call that does not exist; a forbidden one is an error.
    let programs = [(libc::ENOSYS, absent()), (libc::EPERM, forbidden(behind, network))];
    for (errno, caught) in programs {
        let program = compiled(with_other_numbers(caught), errno).ok_or_else(|| failed(0))?;
        apply_filter(&program)
            .map_err(|_| failed(io::Error::last_os_error().raw_os_error().unwrap_or_default()))?;
    }
    Ok(())
}

fn compiled(caught: Caught, errno: i32) -> Option<BpfProgram> {
    let errno = SeccompAction::Errno(u32::try_from(errno).ok()?);
    let arch = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(caught, SeccompAction::Allow, errno, arch).ok()?.try_into().ok()
}

/// Calls for which programs have a fallback. The flags of `clone3` are behind a pointer, and `io_uring` bypasses filters.
fn absent() -> Caught {
    let calls = [
        libc::SYS_clone3,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ];
    calls.map(|call| (call, Vec::new())).into()
}

/// TIOCSTI: types into a terminal that another program reads.
const TYPE_INTO: u64 = 0x5412;

fn forbidden(behind: Behind, network: Network) -> Caught {
    const ALWAYS: [i64; 30] = [
        libc::SYS_acct,
        libc::SYS_add_key,
        libc::SYS_bpf,
        libc::SYS_delete_module,
        libc::SYS_finit_module,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fsopen,
        libc::SYS_fspick,
        libc::SYS_init_module,
        libc::SYS_kexec_load,
        libc::SYS_keyctl,
        libc::SYS_mount,
        libc::SYS_mount_setattr,
        libc::SYS_move_mount,
        libc::SYS_name_to_handle_at,
        libc::SYS_open_by_handle_at,
        libc::SYS_open_tree,
        libc::SYS_perf_event_open,
        libc::SYS_pivot_root,
        libc::SYS_quotactl,
        libc::SYS_reboot,
        libc::SYS_request_key,
        libc::SYS_setns,
        libc::SYS_settimeofday,
        libc::SYS_swapoff,
        libc::SYS_swapon,
        libc::SYS_syslog,
        libc::SYS_umount2,
        libc::SYS_userfaultfd,
    ];
    let mut caught: Caught = ALWAYS.map(|call| (call, Vec::new())).into();
    // Creating a user namespace would give all capabilities inside it.
    let new_user = u64::try_from(libc::CLONE_NEWUSER).unwrap_or_default();
    let makes_user = SeccompCmpOp::MaskedEq(new_user);
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        caught.insert(call, rule([(0, makes_user.clone(), new_user)]));
    }
    caught.insert(libc::SYS_ioctl, rule([(1, SeccompCmpOp::Eq, TYPE_INTO)]));
    let families: &[i32] = match (behind, network) {
        (Behind::Namespaces, _) => {
            &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
        }
        // At this level, file system sockets can be named and lead out: to docker, the session bus, ssh keys.
        (Behind::Landlock, Network::Own) => &[],
        (Behind::Landlock, Network::Host) => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    };
    let other = families
        .iter()
        .map(|family| (0, SeccompCmpOp::Ne, u64::try_from(*family).unwrap_or_default()));
    let sockets = if families.is_empty() { Vec::new() } else { rule(other) };
    caught.insert(libc::SYS_socket, sockets);
    caught
}

/// Builds one rule whose conditions must all hold. Each has the index of an argument, a comparison and a value.
fn rule(conditions: impl IntoIterator<Item = (u8, SeccompCmpOp, u64)>) -> Vec<SeccompRule> {
    let conditions = conditions.into_iter().filter_map(|(argument, compare, value)| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, value).ok()
    });
    SeccompRule::new(conditions.collect()).into_iter().collect()
}

/// Adds the second number that each call has where two ABIs share an architecture.
#[cfg(target_arch = "x86_64")]
fn with_other_numbers(caught: Caught) -> Caught {
    const X32: i64 = 0x4000_0000;
    let other: Caught = caught.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
    caught.into_iter().chain(other).collect()
}

#[cfg(not(target_arch = "x86_64"))]
const fn with_other_numbers(caught: Caught) -> Caught {
    caught
}
