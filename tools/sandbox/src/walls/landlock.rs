//! Landlock: restricts which files a process can open, and keeps it from reaching processes outside. Rules only add
//! access: what is not granted is denied, and a grant cannot be narrowed further down.

use std::ffi::OsString;
use std::io;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};

use crate::orders::{ConfinementStep, Failure, Grants, Lack};

/// The minimum version. Before it, any file could be truncated.
const LEAST: ABI = ABI::V3;
/// The first version that restricts signals.
const SCOPED: ABI = ABI::V6;

/// Restricts this process and everything it starts to `grants`. Returns the restriction that is missing, if any.
pub(crate) fn restrict(grants: &Grants) -> Result<Option<Lack>, Failure> {
    let failed = |error: &(dyn std::error::Error + 'static)| {
        let errno = root_cause(error).and_then(io::Error::raw_os_error).unwrap_or_default();
        Failure { step: ConfinementStep::Landlock, on: None, errno }
    };
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))
        .map_err(|error| failed(&error))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(SCOPED))
        .map_err(|error| failed(&error))?
        .scope(Scope::from_all(SCOPED))
        .map_err(|error| failed(&error))?
        .create()
        .map_err(|error| failed(&error))?;
    let read = AccessFs::from_read(SCOPED);
    let ruleset = grant(ruleset, &grants.read, read)
        .and_then(|rules| grant(rules, &grants.list, AccessFs::ReadDir.into()))
        .and_then(|rules| grant(rules, &grants.write, AccessFs::from_all(SCOPED)))
        .map_err(|error| failed(&error))?;
    let status = ruleset.restrict_self().map_err(|error| failed(&error))?;
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        return Err(Failure { step: ConfinementStep::Landlock, on: None, errno: 0 });
    };
    Ok((effective_abi < SCOPED).then_some(Lack::Signals))
}

/// Grants `access` to each of `paths` and everything below. Skips paths that do not exist.
fn grant(
    mut ruleset: RulesetCreated,
    paths: &[OsString],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    for path in paths {
        let Ok(opened) = PathFd::new(path) else { continue };
        let is_dir = std::fs::metadata(path).is_ok_and(|data| data.is_dir());
        let access = if is_dir { access } else { access & AccessFs::from_file(SCOPED) };
        if access.is_empty() {
            continue;
        }
        ruleset = ruleset.add_rule(PathBeneath::new(opened, access))?;
    }
    Ok(ruleset)
}

/// Returns the I/O error at the root of an error.
fn root_cause<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e io::Error> {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.find_map(|cause| cause.downcast_ref())
}
