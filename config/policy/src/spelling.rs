//! Spellings that some file system treats as the same name: other case, trailing characters, invisible characters.
//! Pure.

/// Returns true if some file system opens one of `names` (given in lower case) when asked for `part`.
///
/// NTFS ignores trailing dots and spaces, cuts at a colon and has short names. HFS+, and ext4 with case folding, ignore
/// invisible characters.
pub fn spells(part: &str, names: &[&str]) -> bool {
    // Upper case first: some letters that are already lower case fold to others.
    let folded = |c: char| c.to_uppercase().flat_map(char::to_lowercase);
    let visible = || part.chars().filter(|c| !is_ignorable(*c)).flat_map(folded);
    let first = visible().next();
    if !names.iter().any(|name| name.chars().next() == first) {
        return false;
    }
    let visible: String = visible().collect();
    let name = visible.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    names.contains(&name)
}

/// Returns true for invisible characters that some file systems ignore in names: Unicode's
/// `Default_Ignorable_Code_Point`, and the interlinear marks.
pub fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}
