//! Restores the secrets in a diff whose author saw masks in their place. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Redactor, masks_in};

/// Returns `diff` with its masks replaced by their values in `texts`, the files before they were redacted for its author.
///
/// In lines that the files already have, every mask is replaced. In a new line, a mask is replaced only if a removed
/// line of the same hunk has it too. So a line with a secret can be edited, and the secret cannot be copied elsewhere.
///
/// # Errors
/// Returns the mask in a new line that cannot be replaced, unless the files contain that mask literally.
pub fn unmask<'d>(diff: &'d str, texts: &[String], redactor: &Redactor) -> Result<String, &'d str> {
    if masks_in(diff).next().is_none() {
        return Ok(diff.to_owned());
    }
    let known: BTreeMap<String, String> =
        texts.iter().flat_map(|text| redactor.masks_of(text)).collect();
    let literal: BTreeSet<&str> = texts.iter().flat_map(|text| masks_in(text)).collect();
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    let mut whole = String::with_capacity(diff.len());
    for hunk in lines.chunk_by(|_, next| !next.starts_with("@@") && !next.starts_with("--- ")) {
        let removed: BTreeSet<&str> = hunk
            .iter()
            .filter(|line| line.starts_with('-'))
            .flat_map(|line| masks_in(line))
            .collect();
        for line in hunk {
            let is_new = line.starts_with('+');
            let mut rest = *line;
            for mask in masks_in(line) {
                let Some((before, after)) = rest.split_once(mask) else { continue };
                let may_be = !is_new || removed.contains(mask);
                let value = known.get(mask).filter(|_| may_be).map(String::as_str);
                if is_new && value.is_none() && !literal.contains(mask) {
                    return Err(mask);
                }
                whole.push_str(before);
                whole.push_str(value.unwrap_or(mask));
                rest = after;
            }
            whole.push_str(rest);
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "port = 80\npassword = \"Tr0ub4dor-3x\"\nhost = \"a\"\n";

    fn redactor() -> Redactor {
        Redactor::new("salt", ["Tr0ub4dor-3x".to_owned(), "Wr0ng-h0rse-9".to_owned()])
    }

    fn unmasked(diff: &str) -> Result<String, String> {
        let diff = redactor().redact(diff).into_owned();
        assert!(!diff.contains("Tr0ub"));
        unmask(&diff, &[FILE.to_owned()], &redactor()).map_err(str::to_owned)
    }

    #[test]
    fn context_lines_and_changed_lines_get_their_secrets_back() {
        for diff in [
            "@@ -1,3 +1,3 @@\n-port = 80\n+port = 81\n password = \"Tr0ub4dor-3x\"\n host = \"a\"\n",
            "@@ -2 +2 @@\n-password = \"Tr0ub4dor-3x\"\n+passphrase = \"Tr0ub4dor-3x\"\n",
            "@@ -2 +1,0 @@\n-password = \"Tr0ub4dor-3x\"\n",
            "no masks at all",
        ] {
            assert_eq!(unmasked(diff).as_deref(), Ok(diff));
        }
    }

    #[test]
    fn a_secret_cannot_be_copied_to_another_line() {
        for diff in [
            "@@ -1 +1,2 @@\n port = 80\n+copy = \"Tr0ub4dor-3x\"\n",
            "@@ -2 +1,0 @@\n-password = \"Tr0ub4dor-3x\"\n@@ -3 +2,2 @@\n host = \"a\"\n+copy = \"Tr0ub4dor-3x\"\n",
            "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+copy = \"Tr0ub4dor-3x\"\n",
            "@@ -1,2 +1,2 @@\n port = 80\n-password = \"Tr0ub4dor-3x\"\n+password = \"Wr0ng-h0rse-9\"\n",
        ] {
            assert!(unmasked(diff).is_err(), "{diff}");
        }
    }

    #[test]
    fn a_mask_that_a_file_contains_literally_is_plain_text() {
        let file = "see [redacted:abcd]\n";
        let diff = "@@ -1 +1 @@\n-see [redacted:abcd]\n+look at [redacted:abcd]\n";
        assert_eq!(unmask(diff, &[file.to_owned()], &redactor()).as_deref(), Ok(diff));
        assert!(unmask("@@ -0,0 +1 @@\n+[redacted:abcd]\n", &[], &redactor()).is_err());
    }
}
