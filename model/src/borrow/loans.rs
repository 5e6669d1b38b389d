//! What lenders know of a variant, and how wrong they would have been about each other.
//!
//! Products are cut by kernels that a library has for an architecture: only the lenders nearest
//! to the borrower lend their constants, by compute capability where both state one, else by the
//! figures of their descriptions. Passes over rows follow from sizes alone, and all lend.

use kernelgauge_data::{DataSet, Family, Machine, Point};

use super::figures::{Figures, From, Rates};
use crate::correction::{Candidate, Correction, Lessons};
use crate::fit::{Group, VariantTask, groups, learn};
use crate::math::{Stream, ln};
use crate::rows::Row;
use crate::terms::{AnalyticalTerm, Features, Party, SharedTerm, counts_steps};

/// Rows of a lender that take part in a common correction.
const ROWS_TAUGHT: usize = 6000;

/// Rows of a lender that are asked what others would have said.
const ROWS_ASKED: usize = 600;

/// Shares of the lenders' correction that may be taken.
const SHARES: [f64; 3] = [0.0, 0.5, 1.0];

/// Lenders that are this much farther than the nearest still count as near: in compute
/// capability, or in the mean logarithm of a figure.
const AS_NEAR: f64 = 0.01;

/// A machine that lends, and its rows.
pub(crate) struct Lender<'data> {
    machine: &'data Machine,
    groups: Vec<Group<'data>>,
}

impl<'data> Lender<'data> {
    /// Of a data set.
    pub(crate) fn of(data: &'data DataSet) -> Self {
        Lender { machine: &data.manifest.machine, groups: groups(&data.records) }
    }

    /// Its variants.
    pub(super) fn groups(&self) -> &[Group<'data>] {
        &self.groups
    }

    /// Rows of all its collectives.
    pub(super) fn collectives(&self) -> Vec<Row<'data>> {
        let all = self.groups.iter().filter(|group| group.family == Family::Collective);
        all.flat_map(|group| group.rows.iter().cloned()).collect()
    }

    pub(super) fn group(&self, task: &VariantTask<'_>) -> Option<&Group<'data>> {
        let same = |group: &&Group<'_>| group.family == task.family && group.name == task.name;
        let mut found = self.groups.iter().filter(same).filter(|g| g.insufficient().is_none());
        found.clone().find(|group| group.cache == task.cache).or_else(|| found.next())
    }
}

/// One lender's part.
#[derive(Clone, Copy)]
struct Loan<'loan, 'data> {
    machine: &'loan Machine,
    rows: &'loan [Row<'data>],
    rates: Rates,
}

/// All that is lent for one variant.
pub(super) struct Loans<'loan, 'data> {
    family: Family,
    loans: Vec<Loan<'loan, 'data>>,
    /// The figures of the borrower, and what they were settled from.
    pub figures: Figures,
    rates: Rates,
    from: From,
    borrower: &'loan Machine,
}

/// What was borrowed: a law and a correction, tried on the lenders themselves.
pub(super) struct Lent {
    pub term: SharedTerm,
    /// The law of every lender by itself, near or not.
    pub each: Vec<SharedTerm>,
    pub correction: Correction,
    /// What lenders' times exceeded by what the others said of them.
    pub residuals: Vec<f64>,
    /// The same of the law alone.
    pub analytical: Vec<f64>,
}

impl<'loan, 'data> Loans<'loan, 'data> {
    /// What `lenders` have for a variant of the machine whose data are `groups`; none where
    /// nobody has it, or figures are not known.
    pub(super) fn of(
        task: &VariantTask<'loan>,
        dtype_of: &Point,
        groups: &[Group<'_>],
        lenders: &'loan [Lender<'data>],
    ) -> Option<Self> {
        let dtype = dtype_of.dtype();
        let loans: Vec<Loan<'_, '_>> = lenders
            .iter()
            .filter(|lender| !counts_steps(lender.machine))
            .filter_map(|lender| {
                let rows = &lender.group(task)?.rows[..];
                let machine = lender.machine;
                let of = (task.family, task.name);
                let rates = Rates::of(of, dtype, Some(rows), &lender.groups, machine);
                rates.figures(machine, &[], From::Variant)?;
                Some(Loan { machine, rows, rates })
            })
            .collect();
        let others: Vec<Group<'_>> =
            groups.iter().filter(|group| group.name != task.name).cloned().collect();
        let rates = Rates::of((task.family, task.name), dtype, None, &others, task.machine);
        let lent: Vec<Rates> = loans.iter().map(|loan| loan.rates).collect();
        let from = rates.from(&lent);
        let figures = rates.figures(task.machine, &lent, from)?;
        if loans.is_empty() {
            return None;
        }
        let (family, borrower) = (task.family, task.machine);
        Some(Loans { family, loans, figures, rates, from, borrower })
    }

    /// Names of the machines that lend to the borrower.
    pub(super) fn names(&self) -> Vec<String> {
        let near = self.near(self.borrower, None);
        near.into_iter().map(|index| self.loans[index].machine.name.clone()).collect()
    }

    /// Rows of the machines that lend to the borrower.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'loan Row<'data>> {
        let near = self.near(self.borrower, None);
        near.into_iter().flat_map(|index| self.loans[index].rows.iter())
    }

    /// A lender's rows beside its own term, for corrections that its shapes share.
    pub(super) fn taught(&self, task: &VariantTask<'_>, lessons: &mut Lessons) {
        for index in self.near(self.borrower, None) {
            let loan = &self.loans[index];
            let term = AnalyticalTerm::fit(task.family, loan.rows, &[], loan.machine, task.cache);
            learn(lessons, loan.rows, &term);
        }
    }

    /// Which lenders lend to `machine`: `without` is that machine itself.
    fn near(&self, machine: &Machine, without: Option<usize>) -> Vec<usize> {
        let others = || (0..self.loans.len()).filter(|index| Some(*index) != without);
        if self.family != Family::Gemm {
            return others().collect();
        }
        let far = |index: usize| distance(machine, self.loans[index].machine);
        let nearest = others().map(far).fold(f64::INFINITY, f64::min);
        others().filter(|index| far(*index) <= nearest + AS_NEAR).collect()
    }

    /// Figures and rows of these lenders.
    fn parties(&self, of: &[usize]) -> Vec<Party<'_, 'data>> {
        let party = |index: &usize| {
            let loan = &self.loans[*index];
            Some(Party {
                figures: loan.rates.figures(loan.machine, &[], self.from)?,
                rows: loan.rows,
            })
        };
        of.iter().filter_map(party).collect()
    }

    /// The law of these lenders.
    fn law(&self, of: &[usize]) -> Option<SharedTerm> {
        let parties = self.parties(of);
        if parties.is_empty() {
            return None;
        }
        SharedTerm::fit(self.family, &parties)
    }

    /// The law and the lessons of what it leaves, of these lenders.
    fn pooled(&self, of: &[usize]) -> Option<(SharedTerm, Lessons)> {
        let term = self.law(of)?;
        let parties = self.parties(of);
        let mut lessons = Lessons::default();
        for (index, party) in parties.iter().enumerate() {
            let own = term.of(&party.figures, Some(index));
            learn(&mut lessons, picked(party.rows, ROWS_TAUGHT), &own);
        }
        Some((term, lessons))
    }

    /// Borrows; none for families whose constants are not comparable.
    pub(super) fn lent(&self) -> Option<Lent> {
        let (term, lessons) = self.pooled(&self.near(self.borrower, None))?;
        let tried: Vec<[Vec<f64>; SHARES.len()]> =
            (0..self.loans.len()).filter_map(|index| self.tried(index)).collect();
        let mean = |residuals: &[f64]| {
            residuals.iter().map(|r| r.abs()).sum::<f64>() / residuals.len().max(1) as f64
        };
        let loss = |share: usize| tried.iter().map(|of| mean(&of[share])).sum::<f64>();
        // A larger share has to win by 2 %, as any richer correction.
        let better = |best: usize, share: usize| {
            if loss(share) < loss(best) * 0.98 { share } else { best }
        };
        let share = (0..SHARES.len()).reduce(better).unwrap_or(0);
        let of = |share: usize| tried.iter().flat_map(|of| of[share].iter().copied()).collect();
        let correction = scaled(lessons, SHARES[share]);
        let each = (0..self.loans.len()).filter_map(|index| self.law(&[index])).collect();
        Some(Lent { term, each, correction, residuals: of(share), analytical: of(0) })
    }

    /// What a lender's times exceed by what the others say of it, by share of the correction.
    fn tried(&self, index: usize) -> Option<[Vec<f64>; SHARES.len()]> {
        let of = self.near(self.loans[index].machine, Some(index));
        let (term, lessons) = self.pooled(&of)?;
        let loan = &self.loans[index];
        let others: Vec<Rates> = of.iter().map(|other| self.loans[*other].rates).collect();
        let figures = loan.rates.known_as(&self.rates).figures(loan.machine, &others, self.from)?;
        let own = term.of(&figures, None);
        let full = scaled(lessons, 1.0);
        let mut features = Features::new();
        let mut residuals: [Vec<f64>; SHARES.len()] = Default::default();
        for row in picked(loan.rows, ROWS_ASKED) {
            let law = own.log_ns(row.point, &mut features);
            let correction = full.log_ratio(&features, &row.parameters);
            for (slot, share) in residuals.iter_mut().zip(SHARES) {
                slot.push(row.log_ns - law - share * correction);
            }
        }
        Some(residuals)
    }
}

/// How unlike two machines are.
fn distance(one: &Machine, other: &Machine) -> f64 {
    let (one, other) = (&one.hardware, &other.hardware);
    if let (Some(a), Some(b)) = (one.compute_capability, other.compute_capability) {
        return (a - b).abs();
    }
    let mut logs = Vec::new();
    let mut compare = |a: Option<f64>, b: Option<f64>| {
        if let (Some(a), Some(b)) = (a, b) {
            logs.push((ln(a.max(1e-9)) - ln(b.max(1e-9))).abs());
        }
    };
    compare(one.units.map(f64::from), other.units.map(f64::from));
    compare(one.memory_gb_s, other.memory_gb_s);
    compare(one.cache_bytes.map(|v| v as f64), other.cache_bytes.map(|v| v as f64));
    for (dtype, peak) in &one.peak_tflop_s {
        compare(Some(*peak), other.peak_tflop_s.get(dtype).copied());
    }
    logs.iter().sum::<f64>() / logs.len().max(1) as f64
}

fn scaled(mut lessons: Lessons, share: f64) -> Correction {
    if share == 0.0 {
        return Correction::None;
    }
    lessons.log_ratio.iter_mut().for_each(|ratio| *ratio *= share);
    Candidate::ManyTrees.fit(&lessons)
}

/// At most `most` rows, drawn by a fixed seed, in order.
fn picked<'row, 'data>(rows: &'row [Row<'data>], most: usize) -> Vec<&'row Row<'data>> {
    Stream::new(1).drawn(rows.len(), most).into_iter().map(|index| &rows[index]).collect()
}
