//! How the space of a round is divided among the looks of an answer. Pure.

/// Divides `room` among looks that want this much: what is small is shown whole, and the others share the rest equally.
pub(crate) fn shares(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..wanted.len()).collect();
    by_size.sort_by_key(|at| wanted.get(*at));
    let (mut left, mut without) = (room, wanted.len());
    let mut shares = vec![0; wanted.len()];
    for at in by_size {
        let equal = left / without;
        let wants = wanted.get(at).copied().unwrap_or_default();
        if let Some(share) = shares.get_mut(at) {
            *share = wants.min(equal);
            left -= *share;
        }
        without -= 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_small_is_whole_and_the_rest_is_divided() {
        assert_eq!(shares(&[10, 20], 100), [10, 20]);
        assert_eq!(shares(&[90, 10, 90], 100), [45, 10, 45]);
        assert_eq!(shares(&[500], 100), [100]);
        assert_eq!(shares(&[0, 500, 30], 90), [0, 60, 30]);
        assert_eq!(shares(&[], 100), [0; 0]);
    }

    proptest! {
        #[test]
        fn no_more_is_shared_than_there_is_and_all_of_it_if_it_is_wanted(
            wanted in proptest::collection::vec(0_usize..500, 0..20), room in 0_usize..2_000,
        ) {
            let shares = shares(&wanted, room);
            let total: usize = shares.iter().sum();
            prop_assert!(total <= room);
            let all: usize = wanted.iter().sum();
            prop_assert!(all > room || shares == wanted);
            prop_assert!(all <= room || room - total < wanted.len().max(1));
            for (share, wants) in shares.iter().zip(&wanted) {
                prop_assert!(share <= wants);
            }
        }
    }
}
