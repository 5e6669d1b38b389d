//! Training rows: the measured records of one variant, repeats folded.

use kernelgauge_data::point::Parameters;
use kernelgauge_data::{Nanos, Point, Record};

use crate::math::{ln, median};

/// One measured point, all its repeats together.
#[derive(Debug, Clone)]
pub(crate) struct Row<'data> {
    /// The point.
    pub point: &'data Point,
    /// Its integer parameters.
    pub parameters: Parameters,
    /// The time: of several repeats the median.
    pub time: Nanos,
    /// Natural logarithm of the time in nanoseconds.
    pub log_ns: f64,
    /// Fifth and 95th percentile of the samples, or the extremes of repeats, where known.
    pub range: Option<(Nanos, Nanos)>,
    /// Half the log ratio of the slowest and the fastest of several runs; 0 of one.
    pub unsettled: f64,
}

/// Half-widths of a normal distribution at 5..95 % over those at 10..90 %: 1.6449 / 1.2816.
const P90_TO_P95: f64 = 1.2835;

/// Folds records of one variant into one row per point, in order of the parameters. Records
/// without a time, or with a flag that keeps them out of fits, are left out.
pub(crate) fn fold<'data>(records: &[&'data Record]) -> Vec<Row<'data>> {
    let mut keyed: Vec<(Parameters, &Record, Nanos)> = records
        .iter()
        .filter_map(|record| {
            let time = record.fit_time().filter(|time| time.get() > 0)?;
            Some((record.point.parameters(), *record, time))
        })
        .collect();
    keyed.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
    keyed.chunk_by(|a, b| a.0 == b.0).map(fold_repeats).collect()
}

/// One row of repeats in ascending order of time.
fn fold_repeats<'data>(repeats: &[(Parameters, &'data Record, Nanos)]) -> Row<'data> {
    let times: Vec<f64> = repeats.iter().map(|(_, _, time)| time.as_f64()).collect();
    let time = Nanos::saturating(median(times));
    let (parameters, record, first) = &repeats[0];
    let last = repeats[repeats.len() - 1].2;
    let range = if repeats.len() > 1 { Some((*first, last)) } else { sampled_range(record, time) };
    let log_ns = ln(time.as_f64());
    let unsettled = (ln(last.as_f64()) - ln(first.as_f64())) / 2.0;
    Row { point: &record.point, parameters: *parameters, time, log_ns, range, unsettled }
}

fn sampled_range(record: &Record, time: Nanos) -> Option<(Nanos, Nanos)> {
    let kernelgauge_data::Outcome::Measured(measurement) = &record.outcome else { return None };
    let spread = measurement.spread?;
    let widen = |edge: Nanos| {
        Nanos::saturating(time.as_f64() + (edge.as_f64() - time.as_f64()) * P90_TO_P95)
    };
    Some((widen(spread.p10).max(spread.min).min(time), widen(spread.p90).min(spread.max).max(time)))
}
