//! Which point is next: the plan's order, with contended points once more some time later.
//!
//! A program that had the processor while a point was measured is often gone a little later.
//! Coming back at once would meet it again; coming back at the end would, under a budget, never
//! happen. While the machine stays busy nobody comes back: under a budget, new points are worth
//! more than old ones disturbed twice.

use std::collections::VecDeque;

/// Points measured before a contended one comes again.
const LATER: usize = 40;

/// One turn of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The point, by its index in the plan.
    pub index: usize,
    /// Whether it has an outcome that another program disturbed.
    pub again: bool,
}

/// What is left to do.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    todo: VecDeque<usize>,
    again: VecDeque<(usize, usize)>,
    turns: usize,
    busy: bool,
}

impl Queue {
    /// First the points of `todo`; those that earlier runs left `contended` among them.
    pub fn new(todo: &[usize], contended: &[usize]) -> Self {
        let again = contended.iter().map(|index| (0, *index)).collect();
        Queue { todo: todo.iter().copied().collect(), again, turns: 0, busy: false }
    }

    /// The next point; of contended ones those that waited long enough come first.
    pub fn next(&mut self) -> Option<Turn> {
        self.turns += 1;
        let quiet = |due: usize| due < self.turns && !self.busy;
        if self.again.front().is_some_and(|(due, _)| quiet(*due) || self.todo.is_empty()) {
            return self.again.pop_front().map(|(_, index)| Turn { index, again: true });
        }
        self.todo.pop_front().map(|index| Turn { index, again: false })
    }

    /// Lets the point in the place that `choose` picks, of those without an outcome, change
    /// places with the first.
    pub fn put_first(&mut self, choose: impl Fn(&VecDeque<usize>) -> usize) {
        let place = choose(&self.todo);
        if place < self.todo.len() {
            self.todo.swap(0, place);
        }
    }

    /// Puts the points without an outcome in another order.
    pub fn arrange(&mut self, order: Vec<usize>) {
        self.todo = order.into();
    }

    /// Notes whether other programs had the processor during the last turn.
    pub fn note(&mut self, busy: bool) {
        self.busy = busy;
    }

    /// Lets the point at `index` come once more.
    pub fn later(&mut self, index: usize) {
        self.again.push_back((self.turns + LATER, index));
    }

    /// The points that have no outcome yet, in order.
    pub fn left(&self) -> impl Iterator<Item = usize> + '_ {
        self.todo.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contended_points_come_once_more_after_others() {
        let todo: Vec<usize> = (0..100).collect();
        let mut queue = Queue::new(&todo, &[]);
        let mut seen = Vec::new();
        while let Some(turn) = queue.next() {
            if matches!(turn, Turn { index: 3 | 99, again: false }) {
                queue.later(turn.index);
            }
            seen.push(turn);
        }
        let place = |index, again| seen.iter().position(|turn| *turn == Turn { index, again });
        assert_eq!(seen.len(), 102);
        assert_eq!(place(3, true).unwrap() - place(3, false).unwrap(), LATER + 1);
        assert_eq!(place(99, true), Some(101));
    }

    #[test]
    fn nothing_comes_again_while_the_machine_is_busy() {
        let todo: Vec<usize> = (0..3 * LATER).collect();
        let mut queue = Queue::new(&todo, &[]);
        queue.next();
        queue.later(0);
        let mut order = Vec::new();
        while let Some(turn) = queue.next() {
            order.push(turn);
            queue.note(order.len() < 2 * LATER);
        }
        let place = order.iter().position(|turn| turn.again);
        assert_eq!(place, Some(2 * LATER));
    }

    #[test]
    fn what_earlier_runs_left_comes_first() {
        let mut queue = Queue::new(&[1], &[7]);
        assert_eq!(queue.next(), Some(Turn { index: 7, again: true }));
        assert_eq!(queue.next(), Some(Turn { index: 1, again: false }));
        assert_eq!(queue.next(), None);
    }
}
