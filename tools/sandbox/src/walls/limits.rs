//! Resource limits, and the capabilities that a process keeps.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

use crate::orders::{ConfinementStep, Failure, ProcessBounds, ProcessLimits};

/// Sets the limits that are counted per process: no core files, bounded file sizes.
pub(crate) fn of_files(limits: ProcessLimits) -> Result<(), Failure> {
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, limits.file_bytes)
}

/// Limits the number of processes. Outside a user namespace of its own, the limit counts all of the user's processes.
pub(crate) fn of_processes(limits: ProcessLimits) -> Result<(), Failure> {
    lower(Resource::Nproc, limits.processes)
}

/// Limits a process to what it has open, and to some memory and processor time. It cannot open or start anything.
pub(crate) fn of_one_alone(bounds: ProcessBounds) -> Result<(), Failure> {
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, 0)?;
    lower(Resource::Nproc, 0)?;
    lower(Resource::Nofile, 0)?;
    lower(Resource::Data, bounds.memory_bytes)?;
    lower(Resource::Cpu, bounds.cpu_seconds)
}

/// Lowers a limit permanently. A lower limit is kept.
fn lower(resource: Resource, to: u64) -> Result<(), Failure> {
    let hard = getrlimit(resource).maximum.map_or(to, |hard| hard.min(to));
    let limit = Rlimit { current: Some(hard), maximum: Some(hard) };
    setrlimit(resource, limit).map_err(|error| Failure::of(ConfinementStep::Limits, &error.into()))
}

/// Capabilities that the first process of a pid namespace still needs.
const OF_INIT: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::SETPCAP);

/// Keeps these capabilities through the next `exec`.
pub(crate) fn keep_for_init() -> Result<(), Failure> {
    let kept = || {
        let all = rustix::thread::capabilities(None)?;
        let inheritable = all.inheritable.union(OF_INIT);
        set_capabilities(None, CapabilitySets { inheritable, ..all })?;
        for capability in OF_INIT.iter() {
            configure_capability_in_ambient_set(capability, true)?;
        }
        Ok(())
    };
    kept().map_err(|error: rustix::io::Errno| {
        Failure::of(ConfinementStep::Capabilities, &error.into())
    })
}

/// Capabilities that root needs to build files of other users without a user namespace. Landlock still applies on top.
pub(crate) const OF_FILES: CapabilitySet =
    CapabilitySet::CHOWN.union(CapabilitySet::DAC_OVERRIDE).union(CapabilitySet::FOWNER);

/// Permanently drops all capabilities except `kept`.
pub(crate) fn drop_capabilities(kept: CapabilitySet) -> Result<(), Failure> {
    let dropped = || {
        let now = rustix::thread::capabilities(None)?;
        clear_ambient_capability_set()?;
        if now.effective.contains(CapabilitySet::SETPCAP) {
            for capability in CapabilitySet::all().difference(kept).iter() {
                // Older kernels have fewer capabilities.
                match remove_capability_from_bounding_set(capability) {
                    Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let permitted = now.permitted.intersection(kept);
        let inheritable = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: permitted, permitted, inheritable })
    };
    dropped().map_err(|error: rustix::io::Errno| {
        Failure::of(ConfinementStep::Capabilities, &error.into())
    })
}
