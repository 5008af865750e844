//! Names ids by their beginning or by their end, which is more distinctive because ids begin with the time. Pure.

/// How many of an id's characters are random.
const SHORT: usize = 6;

/// Returns the random end of an id: short, and practically unique.
pub fn short_id(id: &str) -> &str {
    id.len().checked_sub(SHORT).and_then(|at| id.get(at..)).unwrap_or(id)
}

/// Returns the `ids` that `word` may refer to, without duplicates: an exact match, or those that begin with it, or else
/// those that end with it.
pub fn ids_called<'a>(ids: impl Iterator<Item = &'a str>, word: &str) -> Vec<&'a str> {
    let mut ids: Vec<&str> = if word.is_empty() { Vec::new() } else { ids.collect() };
    ids.sort_unstable();
    ids.dedup();
    if let Some(id) = ids.iter().find(|id| **id == word) {
        return vec![id];
    }
    let begins: Vec<&str> = ids.iter().copied().filter(|id| id.starts_with(word)).collect();
    if begins.is_empty() {
        ids.into_iter().filter(|id| id.ends_with(word)).collect()
    } else {
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_called_by_its_beginning_or_its_end() {
        let ids = ["01m80aa9hr33yegy", "01m80ac8a905x0nj", "01m80ac8a905x0nj", "905x0nj"];
        let of = |word| ids_called(ids.into_iter(), word);
        assert_eq!(of("01m80aa"), ["01m80aa9hr33yegy"]);
        assert_eq!(of("33yegy"), ["01m80aa9hr33yegy"]);
        assert_eq!(of("905x0nj"), ["905x0nj"]);
        assert_eq!(of("01m"), ["01m80aa9hr33yegy", "01m80ac8a905x0nj"]);
        assert_eq!(of("5x0nj"), ["01m80ac8a905x0nj", "905x0nj"]);
        assert_eq!((of(""), of("x")), (Vec::new(), Vec::new()));
        assert_eq!((short_id("01m80aa9hr33yegy"), short_id("abc")), ("33yegy", "abc"));
    }
}
