use ticket_queue::{Queue, QueueError, Ticket};

fn ticket(id: u32, priority: i32) -> Ticket {
    Ticket::new(id, priority, format!("subject {id}"))
}

/// A queue of tickets with the ids 1, 2, 3 and so on.
fn queue(priorities: &[i32]) -> Queue {
    let mut queue = Queue::new();
    for (id, &priority) in (1..).zip(priorities) {
        queue.push(ticket(id, priority)).unwrap();
    }
    queue
}

fn ids(mut queue: Queue) -> Vec<u32> {
    let sorted: Vec<u32> = queue.sorted().iter().map(|ticket| ticket.id).collect();
    let mut popped = Vec::new();
    while let Some(ticket) = queue.pop() {
        popped.push(ticket.id);
        assert_eq!(queue.len(), sorted.len() - popped.len());
    }
    assert_eq!(sorted, popped, "sorted and pop must agree");
    popped
}

/// The same queue as a plain sorted list, to compare with.
#[derive(Default)]
struct Model {
    tickets: Vec<Ticket>,
}

impl Model {
    fn push(&mut self, ticket: Ticket) {
        let place = self.tickets.partition_point(|other| other.priority >= ticket.priority);
        self.tickets.insert(place, ticket);
    }

    fn remove(&mut self, id: u32) -> Option<Ticket> {
        let place = self.tickets.iter().position(|ticket| ticket.id == id)?;
        Some(self.tickets.remove(place))
    }

    fn set_priority(&mut self, id: u32, priority: i32) -> Option<i32> {
        let old = self.tickets.iter().find(|ticket| ticket.id == id)?.priority;
        if old != priority {
            let ticket = self.remove(id)?;
            self.push(Ticket { priority, ..ticket });
        }
        Some(old)
    }
}

#[test]
fn empty_queue() {
    let mut queue = Queue::new();
    assert!(queue.is_empty());
    assert_eq!(queue.pop(), None);
    assert_eq!(queue.remove(1), None);
    assert_eq!(queue.set_priority(1, 5), None);
    assert_eq!(queue.pop_ready(9), None);
}

#[test]
fn pushed_tickets_are_counted_and_found() {
    let queue = queue(&[1, 5, 3]);
    assert_eq!(queue.len(), 3);
    assert_eq!(queue.sorted()[0], &ticket(2, 5));
}

#[test]
fn highest_priority_first() {
    assert_eq!(ids(queue(&[1, 5, 3, 4, 2])), [2, 4, 3, 5, 1]);
    assert_eq!(ids(queue(&[i32::MIN, 0, i32::MAX])), [3, 2, 1]);
}

#[test]
fn single_ticket() {
    assert_eq!(ids(queue(&[7])), [1]);
}

#[test]
fn equals_keep_their_order() {
    assert_eq!(ids(queue(&[0; 9])), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(ids(queue(&[1, 2, 1, 2, 1, 2])), [2, 4, 6, 1, 3, 5]);
}

#[test]
fn changed_priority_goes_behind() {
    let mut queue = queue(&[2, 1, 1, 2, 0]);
    assert_eq!(queue.set_priority(2, 2), Some(1));
    assert_eq!(queue.set_priority(1, 0), Some(2));
    assert_eq!(ids(queue), [4, 2, 3, 5, 1]);
}

#[test]
fn same_priority_does_not_move() {
    let mut queue = queue(&[1, 1, 1]);
    assert_eq!(queue.set_priority(1, 1), Some(1));
    assert_eq!(ids(queue), [1, 2, 3]);
}

#[test]
fn changed_to_and_fro() {
    let mut queue = queue(&[1, 1, 1]);
    queue.set_priority(1, 5);
    queue.set_priority(1, 1);
    assert_eq!(ids(queue), [2, 3, 1]);
}

#[test]
fn any_ticket_can_be_removed() {
    let priorities = [9, 3, 8, 2, 1, 7, 6, 0, 1, 0, 0];
    let expected = ids(queue(&priorities));
    for id in 1..=11 {
        let mut queue = queue(&priorities);
        assert_eq!(queue.remove(id).map(|ticket| ticket.id), Some(id));
        assert_eq!(queue.remove(id), None);
        let others: Vec<u32> = expected.iter().copied().filter(|&other| other != id).collect();
        assert_eq!(ids(queue), others);
    }
}

#[test]
fn duplicates_are_refused() {
    let mut queue = queue(&[1, 2]);
    assert_eq!(queue.push(ticket(1, 9)), Err(QueueError::Duplicate(1)));
    assert_eq!(QueueError::Duplicate(1).to_string(), "ticket 1 is in the queue already");
    assert_eq!(queue.len(), 2);
    assert_eq!(queue.sorted()[1], &ticket(1, 1));
}

#[test]
fn ids_are_free_again() {
    let mut queue = queue(&[1, 2, 3]);
    queue.pop();
    assert_eq!(queue.push(ticket(3, 0)), Ok(None));
    queue.remove(1);
    assert_eq!(queue.push(ticket(1, 5)), Ok(None));
    assert_eq!(ids(queue), [1, 2, 3]);
}

#[test]
fn ready_tickets() {
    let mut queue = Queue::new();
    for (id, priority, time) in [(1, 5, 100), (2, 5, 10), (3, 5, 50), (4, 1, 0), (5, 9, 51)] {
        queue.push(ticket(id, priority).not_before(time)).unwrap();
    }
    assert_eq!(queue.pop_ready(50).map(|ticket| ticket.id), Some(2));
    assert_eq!(queue.pop_ready(49).map(|ticket| ticket.id), Some(4));
    assert_eq!(queue.pop_ready(49), None);
    assert_eq!(queue.pop_ready(50).map(|ticket| ticket.id), Some(3));
    assert_eq!(queue.len(), 2);
}

#[test]
fn passed_tickets_keep_their_places() {
    let mut queue = Queue::new();
    for id in 1..=5 {
        queue.push(ticket(id, 1).not_before(if id == 4 { 0 } else { 100 })).unwrap();
    }
    queue.pop_ready(5);
    assert_eq!(queue.pop_ready(5), None);
    assert_eq!(ids(queue), [1, 2, 3, 5]);
}

#[test]
fn full_queue_drops_the_last() {
    let mut queue = Queue::with_limit(2);
    assert_eq!(queue.push(ticket(1, 1)), Ok(None));
    assert_eq!(queue.push(ticket(2, 1)), Ok(None));
    assert_eq!(queue.push(ticket(3, 5)), Ok(Some(ticket(2, 1))));
    assert_eq!(queue.push(ticket(4, 1)), Ok(Some(ticket(4, 1))));
    assert_eq!(queue.push(ticket(5, 0)), Ok(Some(ticket(5, 0))));
    assert_eq!(queue.push(ticket(1, 7)), Err(QueueError::Duplicate(1)));
    assert_eq!(queue.push(ticket(2, 5)), Ok(Some(ticket(1, 1))));
    assert_eq!(ids(queue), [3, 2]);
}

#[test]
fn limit_of_nothing() {
    let mut queue = Queue::with_limit(0);
    assert_eq!(queue.push(ticket(1, 1)), Ok(Some(ticket(1, 1))));
    assert_eq!(queue.push(ticket(1, 1)), Ok(Some(ticket(1, 1))));
    assert!(queue.is_empty());
}

#[test]
fn many_changes() {
    let mut state = 12345_u32;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let mut queue = Queue::new();
    let mut model = Model::default();
    for _ in 0..5000 {
        let id = random(60);
        let priority = random(6) as i32;
        match random(4) {
            0 | 1 => {
                let pushed = queue.push(ticket(id, priority));
                if pushed.is_ok() {
                    model.push(ticket(id, priority));
                }
                assert_eq!(pushed.is_ok(), pushed == Ok(None));
            }
            2 => assert_eq!(queue.set_priority(id, priority), model.set_priority(id, priority)),
            _ if random(2) == 0 => assert_eq!(queue.remove(id), model.remove(id)),
            _ => {
                let first = model.tickets.first().map(|ticket| ticket.id);
                assert_eq!(queue.pop(), first.and_then(|id| model.remove(id)));
            }
        }
        assert_eq!(queue.len(), model.tickets.len());
    }
    assert_eq!(queue.sorted(), model.tickets.iter().collect::<Vec<_>>());
    assert_eq!(ids(queue).len(), model.tickets.len());
}
