//! Limits of resources, and what a process keeps of its rights.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

use crate::orders::{Failure, Limits, ProcessBounds, Step};

/// Limits what is counted for a process of its own: no core files, no endless file.
pub(crate) fn of_files(limits: Limits) -> Result<(), Failure> {
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, limits.file_bytes)
}

/// Limits the number of processes. It counts all of the user's, but for a user namespace of its own.
pub(crate) fn of_processes(limits: Limits) -> Result<(), Failure> {
    lower(Resource::Nproc, limits.processes)
}

/// Leaves a process what it has open, so much memory and so long of the processor: nothing can be opened or started.
pub(crate) fn of_one_alone(bounds: ProcessBounds) -> Result<(), Failure> {
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, 0)?;
    lower(Resource::Nproc, 0)?;
    lower(Resource::Nofile, 0)?;
    lower(Resource::Data, bounds.memory_bytes)?;
    lower(Resource::Cpu, bounds.cpu_seconds)
}

/// Lowers a limit for good. One that is lower stays.
fn lower(resource: Resource, to: u64) -> Result<(), Failure> {
    let hard = getrlimit(resource).maximum.map_or(to, |hard| hard.min(to));
    let limit = Rlimit { current: Some(hard), maximum: Some(hard) };
    setrlimit(resource, limit).map_err(|error| Failure::of(Step::Limits, &error.into()))
}

/// What the first process of a pid namespace still needs.
const OF_INIT: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::SETPCAP);

/// Keeps through the next `exec` what the first process of the pid namespace needs.
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
    kept().map_err(|error: rustix::io::Errno| Failure::of(Step::Capabilities, &error.into()))
}

/// What root needs to build what belongs to others, where it has no user namespace. Landlock comes before all of it.
pub(crate) const OF_FILES: CapabilitySet =
    CapabilitySet::CHOWN.union(CapabilitySet::DAC_OVERRIDE).union(CapabilitySet::FOWNER);

/// Gives all capabilities up but `kept`, for good.
pub(crate) fn drop_capabilities(kept: CapabilitySet) -> Result<(), Failure> {
    let dropped = || {
        let now = rustix::thread::capabilities(None)?;
        clear_ambient_capability_set()?;
        if now.effective.contains(CapabilitySet::SETPCAP) {
            for capability in CapabilitySet::all().difference(kept).iter() {
                // The kernel may know fewer.
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
    dropped().map_err(|error: rustix::io::Errno| Failure::of(Step::Capabilities, &error.into()))
}
