//! A whole model that borrows: every variant that the machine or its lenders measured.

use std::collections::BTreeSet;

use kernelgauge_data::{CacheState, DataSet, Family, Machine, Origin};
use rayon::prelude::*;

use super::{Lender, LenderName, fit_variant_borrowing};
use crate::fit::{FitError, FitOptions, Group, Kin, VariantTask, groups};
use crate::model::{Insufficient, Model};
use crate::terms::counts_steps;

impl Model {
    /// Fits every variant of `data` that has enough points or that `sources` can lend, and every
    /// variant of theirs that this machine's description is enough for: `data` may have no
    /// record at all. Processors have no lenders.
    ///
    /// # Errors
    /// When there is nothing to fit and nothing to borrow.
    pub fn fit_borrowing(
        data: &DataSet,
        sources: &[DataSet],
        options: &FitOptions,
    ) -> Result<Model, FitError> {
        let machine = &data.manifest.machine;
        let own = groups(&data.records);
        let lends = |source: &&DataSet| {
            let machines = [machine, &source.manifest.machine];
            !source.records.is_empty() && !machines.into_iter().any(counts_steps)
        };
        let sources: Vec<&DataSet> = sources.iter().filter(lends).collect();
        let lenders: Vec<Lender<'_>> = sources.iter().copied().map(Lender::of).collect();
        let wanted = wanted(&own, &lenders, machine);
        let fitted: Vec<_> = wanted
            .par_iter()
            .filter_map(|group| {
                let kin = Kin::of(group, &own, machine);
                let (seed, detail) = (options.seed, options.detail);
                let task = VariantTask::of(group, machine, &kin, seed, detail);
                match fit_variant_borrowing(&task, group, &own, &lenders) {
                    Some(model) => Some(Ok(model)),
                    // What only others have and cannot lend is theirs.
                    None if group.rows.is_empty() => None,
                    None => Some(Err(lacking(group))),
                }
            })
            .collect();
        let nothing = FitError::NothingToBorrow { machine: machine.name.clone() };
        let mut model = Model::assembled(data, options, fitted, nothing)?;
        // What rests on made-up times is made up.
        if sources.iter().any(|source| source.manifest.origin == Origin::Synthetic) {
            model.header.origin = Origin::Synthetic;
        }
        let named = |source: &DataSet| LenderName {
            machine: source.manifest.machine.name.clone(),
            data_sha256: source.digest(),
        };
        model.header.lenders = sources.iter().copied().map(named).collect();
        Ok(model)
    }

    /// Machines whose data the model borrowed from; none where it rests on its own.
    pub fn lenders(&self) -> &[LenderName] {
        &self.header.lenders
    }
}

/// The machine's own variants and those of its lenders, in order.
fn wanted<'data>(
    own: &[Group<'data>],
    lenders: &[Lender<'data>],
    machine: &Machine,
) -> Vec<Group<'data>> {
    let mut all = own.to_vec();
    let has = |family: Family, name: &str| own.iter().any(|g| g.family == family && g.name == name);
    let mut further: BTreeSet<(Family, String, CacheState)> = BTreeSet::new();
    for group in lenders.iter().flat_map(Lender::groups) {
        if machine.hardware.units.is_some() && !has(group.family, &group.name) {
            further.insert((group.family, group.name.clone(), group.cache));
        }
    }
    all.extend(further.into_iter().map(|(family, name, cache)| Group {
        family,
        name,
        cache,
        rows: Vec::new(),
    }));
    all.sort_by(|a, b| (a.family, &a.name, a.cache).cmp(&(b.family, &b.name, b.cache)));
    all
}

fn lacking(group: &Group<'_>) -> Insufficient {
    let reason = group.insufficient().unwrap_or_else(|| "no machine to borrow from".to_owned());
    group.lacking(reason)
}
