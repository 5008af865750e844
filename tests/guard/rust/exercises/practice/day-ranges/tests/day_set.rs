use day_ranges::{DayRange, DaySet};

const END: u32 = u32::MAX;

fn range(first: u32, last: u32) -> DayRange {
    DayRange::new(first, last).unwrap()
}

fn set(ranges: &[(u32, u32)]) -> DaySet {
    ranges.iter().map(|&(first, last)| range(first, last)).collect()
}

fn pairs(ranges: &[DayRange]) -> Vec<(u32, u32)> {
    ranges.iter().map(|range| (range.first(), range.last())).collect()
}

fn added(before: &[(u32, u32)], first: u32, last: u32) -> Vec<(u32, u32)> {
    let mut days = set(before);
    days.add(range(first, last));
    pairs(days.ranges())
}

fn removed(before: &[(u32, u32)], first: u32, last: u32) -> Vec<(u32, u32)> {
    let mut days = set(before);
    days.remove(range(first, last));
    pairs(days.ranges())
}

#[test]
fn empty_set() {
    let days = DaySet::new();
    assert!(days.is_empty());
    assert_eq!(days.len(), 0);
    assert!(!days.contains(0));
    assert_eq!(removed(&[], 1, 5), []);
}

#[test]
fn ranges_apart_are_sorted() {
    assert_eq!(added(&[(10, 12), (1, 2)], 5, 6), [(1, 2), (5, 6), (10, 12)]);
    assert_eq!(set(&[(10, 12), (1, 2)]).len(), 5);
    assert!(set(&[(10, 12), (1, 2)]).contains(12));
    assert!(!set(&[(10, 12), (1, 2)]).contains(3));
}

#[test]
fn overlapping_ranges_are_merged() {
    assert_eq!(added(&[(1, 5)], 3, 8), [(1, 8)]);
    assert_eq!(added(&[(5, 8)], 1, 5), [(1, 8)]);
    assert_eq!(added(&[(1, 9)], 3, 4), [(1, 9)]);
}

#[test]
fn touching_ranges_are_merged() {
    assert_eq!(added(&[(1, 3)], 4, 6), [(1, 6)]);
    assert_eq!(added(&[(4, 6)], 1, 3), [(1, 6)]);
    assert_eq!(added(&[(1, 3), (5, 7)], 4, 4), [(1, 7)]);
    assert_eq!(added(&[(1, 3)], 5, 6), [(1, 3), (5, 6)]);
}

#[test]
fn several_ranges_are_merged() {
    assert_eq!(added(&[(2, 3), (5, 6), (9, 9), (20, 21)], 1, 10), [(1, 10), (20, 21)]);
    assert_eq!(added(&[(2, 3), (5, 6), (9, 9), (20, 21)], 6, 19), [(2, 3), (5, 21)]);
    assert_eq!(added(&[(1, 2), (9, 9)], 2, 9), [(1, 9)]);
}

#[test]
fn adding_at_the_ends() {
    assert_eq!(added(&[(END, END)], END - 1, END - 1), [(END - 1, END)]);
    assert_eq!(added(&[(5, END)], END, END), [(5, END)]);
    assert_eq!(added(&[(0, 0)], 1, 1), [(0, 1)]);
    assert_eq!(added(&[(3, 4), (END, END)], 0, END), [(0, END)]);
    assert_eq!(added(&[(0, END)], 7, 9), [(0, END)]);
    assert_eq!(added(&[(5, END)], 0, 0), [(0, 0), (5, END)]);
}

#[test]
fn length_of_the_full_set() {
    assert_eq!(set(&[(0, END)]).len(), 1 << 32);
    assert_eq!(set(&[(1, END)]).len(), (1 << 32) - 1);
}

#[test]
fn removing_cuts() {
    assert_eq!(removed(&[(1, 9)], 4, 6), [(1, 3), (7, 9)]);
    assert_eq!(removed(&[(1, 9)], 1, 3), [(4, 9)]);
    assert_eq!(removed(&[(1, 9)], 7, 9), [(1, 6)]);
    assert_eq!(removed(&[(1, 9)], 1, 9), []);
    assert_eq!(removed(&[(1, 9)], 5, 5), [(1, 4), (6, 9)]);
}

#[test]
fn removing_from_several_ranges() {
    assert_eq!(removed(&[(1, 3), (5, 7), (9, 11)], 2, 10), [(1, 1), (11, 11)]);
    assert_eq!(removed(&[(1, 3), (5, 7), (9, 11)], 4, 8), [(1, 3), (9, 11)]);
    assert_eq!(removed(&[(1, 3), (5, 7)], 0, 6), [(7, 7)]);
}

#[test]
fn removing_what_is_not_there() {
    assert_eq!(removed(&[(1, 3), (9, 11)], 5, 7), [(1, 3), (9, 11)]);
    assert_eq!(removed(&[(5, 7)], 0, 4), [(5, 7)]);
}

#[test]
fn removing_at_the_ends() {
    assert_eq!(removed(&[(0, END)], 0, 0), [(1, END)]);
    assert_eq!(removed(&[(0, END)], END, END), [(0, END - 1)]);
    assert_eq!(removed(&[(0, END)], 0, END), []);
    assert_eq!(removed(&[(END, END)], 0, END - 1), [(END, END)]);
}

#[test]
fn gaps_between_ranges() {
    let days = set(&[(3, 5), (8, 9)]);
    assert_eq!(pairs(&days.gaps(1, 12)), [(1, 2), (6, 7), (10, 12)]);
    assert_eq!(pairs(&days.gaps(3, 9)), [(6, 7)]);
}

#[test]
fn gaps_inside_the_limits() {
    let days = set(&[(3, 5), (8, 9), (20, 30)]);
    assert_eq!(pairs(&days.gaps(4, 7)), [(6, 7)]);
    assert_eq!(pairs(&days.gaps(6, 6)), [(6, 6)]);
    assert_eq!(pairs(&days.gaps(10, 12)), [(10, 12)]);
    assert_eq!(pairs(&days.gaps(21, 25)), []);
    assert_eq!(pairs(&days.gaps(12, 25)), [(12, 19)]);
    assert_eq!(pairs(&days.gaps(7, 6)), []);
    assert_eq!(pairs(&days.gaps(4, 3)), []);
}

#[test]
fn gaps_at_the_ends() {
    assert_eq!(pairs(&DaySet::new().gaps(0, END)), [(0, END)]);
    assert_eq!(pairs(&set(&[(5, END)]).gaps(0, END)), [(0, 4)]);
    assert_eq!(pairs(&set(&[(0, END)]).gaps(0, END)), []);
    assert_eq!(pairs(&set(&[(0, 4)]).gaps(0, END)), [(5, END)]);
}

fn parsed(text: &str) -> Vec<(u32, u32)> {
    pairs(DaySet::parse(text).unwrap().ranges())
}

fn fails(text: &str, message: &str) {
    assert_eq!(DaySet::parse(text).unwrap_err().to_string(), message, "{text:?}");
}

#[test]
fn parses() {
    assert_eq!(parsed("1-3,7"), [(1, 3), (7, 7)]);
    assert_eq!("1-3,7".parse::<DaySet>().unwrap(), set(&[(1, 3), (7, 7)]));
    assert_eq!(parsed("007"), [(7, 7)]);
}

#[test]
fn parses_white_space_and_any_order() {
    assert_eq!(parsed(" 9 - 12 ,1-3, 7\t,10-20 "), [(1, 3), (7, 7), (9, 20)]);
    assert_eq!(parsed(""), []);
    assert_eq!(parsed(" \t"), []);
}

#[test]
fn parses_open_ends() {
    assert_eq!(parsed("10-"), [(10, END)]);
    assert_eq!(parsed("-5, 8 - "), [(0, 5), (8, END)]);
    assert_eq!(parsed("0-4294967295"), [(0, END)]);
}

#[test]
fn reports_items() {
    fails("1,,2", "item 2: empty");
    fails("1, ", "item 2: empty");
    fails(",", "item 1: empty");
    fails(" x ,2", "item 1: \"x\" is no day");
    fails("1,2, 9-2", "item 3: \"9-2\" is backwards");
    fails("1, 9 - 2 ", "item 2: \"9 - 2\" is backwards");
}

#[test]
fn reports_bad_days() {
    fails("4294967296", "item 1: \"4294967296\" is no day");
    fails("a - b", "item 1: \"a\" is no day");
    fails("1- b", "item 1: \"b\" is no day");
    fails("1-2-3", "item 1: \"2-3\" is no day");
    fails("x-", "item 1: \"x\" is no day");
    fails("5,-", "item 2: \"-\" is no day");
    fails("+5", "item 1: \"+5\" is no day");
    fails("1-+5", "item 1: \"+5\" is no day");
}

#[test]
fn writes_what_it_reads() {
    for text in ["1-3,7,10-", "", "5", "0-2", "0-", "3,4294967295", "4294967294-"] {
        assert_eq!(DaySet::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(set(&[(0, 5)]).to_string(), "0-5");
}
