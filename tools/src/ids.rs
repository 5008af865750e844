//! What ids are called by: their beginning, or their end, which differs sooner because ids begin with the time. Pure.

/// So many characters of an id are chance.
const SHORT: usize = 6;

/// The end of an id: short, and as good as unique.
pub fn short(id: &str) -> &str {
    id.len().checked_sub(SHORT).and_then(|at| id.get(at..)).unwrap_or(id)
}

/// Those of `ids` that `word` may mean: the one that it is, or those that begin so, or else those that end so. Each once.
pub fn called<'a>(ids: impl Iterator<Item = &'a str>, word: &str) -> Vec<&'a str> {
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
        let of = |word| called(ids.into_iter(), word);
        assert_eq!(of("01m80aa"), ["01m80aa9hr33yegy"]);
        assert_eq!(of("33yegy"), ["01m80aa9hr33yegy"]);
        assert_eq!(of("905x0nj"), ["905x0nj"]);
        assert_eq!(of("01m"), ["01m80aa9hr33yegy", "01m80ac8a905x0nj"]);
        assert_eq!(of("5x0nj"), ["01m80ac8a905x0nj", "905x0nj"]);
        assert_eq!((of(""), of("x")), (Vec::new(), Vec::new()));
        assert_eq!((short("01m80aa9hr33yegy"), short("abc")), ("33yegy", "abc"));
    }
}
