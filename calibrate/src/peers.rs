//! Copies between every two GPUs, as a report shows them: one row for each GPU that is read.

use std::collections::BTreeMap;

use kernelgauge_data::{CopyDirection, Manner, Point, Record};

use crate::columns::Columns;

/// The pair of the usual manner.
const FIRST: (u32, u32) = (0, 1);

/// The table of GB/s at the largest size that every pair was measured with; nothing where not
/// more than one pair was.
pub fn markdown(records: &[Record]) -> String {
    let mut sizes: BTreeMap<u64, BTreeMap<(u32, u32), f64>> = BTreeMap::new();
    for record in records {
        let Point::Copy(copy) = &record.point else { continue };
        let pair = match Manner::of(&record.conditions) {
            Manner::Usual => FIRST,
            Manner::Pair { from, to } => (from, to),
            Manner::InPlace | Manner::Isolated => continue,
        };
        if let (CopyDirection::PeerToPeer, Some(time)) = (copy.direction, record.fit_time()) {
            let gb_s = copy.bytes as f64 / time.as_f64();
            sizes.entry(copy.bytes).or_default().insert(pair, gb_s);
        }
    }
    let most = sizes.values().map(BTreeMap::len).max().unwrap_or_default();
    let largest = sizes.into_iter().rev().find(|(_, pairs)| pairs.len() == most && most > 1);
    let Some((bytes, pairs)) = largest else { return String::new() };
    let bytes = kernelgauge_data::Bytes::new(bytes);
    format!(
        "## Between GPUs\n\nGB/s of a copy of {bytes}, from the GPU of the row.\n\n{}",
        matrix(&pairs)
    )
}

fn matrix(pairs: &BTreeMap<(u32, u32), f64>) -> String {
    let last = pairs.keys().map(|(from, to)| *from.max(to)).max().unwrap_or_default();
    let heading: Vec<String> =
        ["GPU>".to_owned()].into_iter().chain((0..=last).map(|gpu| format!("{gpu}>"))).collect();
    let mut columns = Columns::new(&heading.iter().map(String::as_str).collect::<Vec<_>>());
    for from in 0..=last {
        let cell = |to| pairs.get(&(from, to)).map_or("-".to_owned(), |gb_s| format!("{gb_s:.1}"));
        columns.row([from.to_string()].into_iter().chain((0..=last).map(cell)));
    }
    columns.markdown()
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Conditions, CopyPoint, Flags, Measurement, Nanos, Outcome};

    use super::*;

    fn copy(kernel: &str, bytes: u64, nanos: u64) -> Record {
        let direction = CopyDirection::PeerToPeer;
        Record {
            point: Point::Copy(CopyPoint { direction, pinned: false, bytes }),
            conditions: Conditions { kernel: kernel.to_owned(), ..Conditions::default() },
            outcome: Outcome::Measured(Measurement::stated(Nanos::new(nanos))),
            flags: Flags::NONE,
        }
    }

    #[test]
    fn pairs_are_shown_at_the_largest_size_all_have() {
        let records = [
            copy("p (graph)", 1000, 100),
            copy("p (graph, GPU 1 to 0)", 1000, 50),
            copy("p (graph)", 9000, 100),
        ];
        let text = markdown(&records);
        assert!(text.contains("1000 B") || text.contains("1000 bytes"), "{text}");
        assert!(text.contains("10.0") && text.contains("20.0") && !text.contains("90.0"), "{text}");
        assert_eq!(markdown(&records[..1]), "");
    }
}
