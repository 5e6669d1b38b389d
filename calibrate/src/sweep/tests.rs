//! Sweeps on the simulated device: cut, resumed, out of time, and on a broken device.

use std::path::PathBuf;

use kernelgauge_cuda::simulated::{Fault, SimulatedDevice};
use kernelgauge_data::{Environment, Family, Point};

use super::*;
use crate::journal::{FILE_NAME, FORMAT_VERSION, Header};
use crate::plan::Selection;

/// A folder with a journal, the plan, and what to select from it.
struct Bench {
    folder: PathBuf,
    plan: Plan,
    selected: Vec<usize>,
    clock: Clock,
    until: Option<Duration>,
    retry_failed: bool,
    interrupt: Interrupt,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Bench {
    fn new(name: &str) -> Self {
        let unique = format!("kernelgauge-sweep-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(&folder).unwrap();
        let plan = Plan::new(0);
        let mut selected =
            plan.select(&Selection { families: vec![Family::Copy, Family::Gemm], deepest: 0 });
        selected.truncate(60);
        Bench {
            folder,
            plan,
            selected,
            clock: Clock::Wall(std::time::Instant::now()),
            until: None,
            retry_failed: false,
            interrupt: Interrupt::default(),
        }
    }

    fn header(&self) -> Header {
        Header {
            format_version: FORMAT_VERSION,
            tool_version: "test".to_owned(),
            machine: "simulated".to_owned(),
            plan: self.plan.hash(),
            seed: 0,
            samples: None,
            started_utc: String::new(),
            environment: Environment::default(),
        }
    }

    fn run(&self, device: &mut dyn Device) -> (End, Contents) {
        let mut opened = Journal::open(&self.folder, self.header(), false).unwrap();
        let setting = Setting {
            plan: &self.plan,
            selected: &self.selected,
            measuring: MeasureOptions { time_limit: Nanos::new(400_000_000), samples: None },
            until: self.until,
            retry_failed: self.retry_failed,
            clock: &self.clock,
            interrupt: &self.interrupt,
        };
        let mut sink = Vec::new();
        let mut progress = Progress::new(&mut sink, false);
        let end = run(&setting, device, &mut opened.journal, &mut opened.contents, &mut progress);
        (end.unwrap(), opened.contents)
    }
}

fn device() -> SimulatedDevice {
    SimulatedDevice::new(3)
}

#[test]
fn every_selected_point_gets_its_outcome_and_sentinels_stand_between() {
    let bench = Bench::new("whole");
    let (end, contents) = bench.run(&mut device());
    assert_eq!(end, End::Finished);
    let records = contents.records();
    assert_eq!(records.len(), bench.selected.len());
    for (index, record) in &records {
        assert_eq!(record.point, bench.plan.points[*index].point);
        assert!(record.time().is_some() && record.conditions.kernel == "simulated");
    }
    let sentinels = contents.entries.iter().filter(|e| matches!(e, Entry::Sentinel { .. }));
    assert_eq!(sentinels.count(), 60 / sentinel::EVERY + 2);
    // A second run has nothing left to do.
    let (end, again) = bench.run(&mut device());
    assert_eq!((end, again.entries.len()), (End::Finished, contents.entries.len()));
}

#[test]
fn a_journal_cut_at_any_line_leads_to_the_same_measurements() {
    let bench = Bench::new("cut");
    let (_, whole) = bench.run(&mut device());
    let path = bench.folder.join(FILE_NAME);
    let text = std::fs::read_to_string(&path).unwrap();
    let ends: Vec<usize> = text.match_indices('\n').map(|(end, _)| end + 1).collect();
    for end in ends.iter().rev().step_by(9) {
        std::fs::write(&path, &text[..*end]).unwrap();
        let (_, resumed) = bench.run(&mut device());
        assert_eq!(resumed.records(), whole.records());
    }
}

#[test]
fn a_budget_in_the_device_s_time_is_kept_and_the_rest_comes_later() {
    let mut bench = Bench::new("budget");
    let mut simulated = device();
    bench.clock = Clock::Virtual(simulated.clock());
    bench.until = Some(Duration::from_millis(150));
    let (end, contents) = bench.run(&mut simulated);
    assert_eq!(end, End::BudgetUsed);
    let done = contents.records().len();
    assert!((5..55).contains(&done), "{done}");
    assert!(bench.clock.elapsed() < Duration::from_millis(250), "{:?}", bench.clock.elapsed());
    bench.until = None;
    let (end, contents) = bench.run(&mut simulated);
    assert_eq!((end, contents.records().len()), (End::Finished, 60));
}

#[test]
fn failures_are_kept_with_their_reason_and_retried_on_demand() {
    let mut bench = Bench::new("failures");
    let odd = |point: &Point| match point {
        Point::Copy(copy) if copy.bytes % 2 == 1 => Some(Fault::WrongResult),
        _ => None,
    };
    let (end, contents) = bench.run(&mut device().with_faults(odd));
    assert_eq!(end, End::Finished);
    let failed = |contents: &Contents| {
        contents.records().values().filter(|r| matches!(r.outcome, Outcome::Failed(_))).count()
    };
    let broken = failed(&contents);
    assert!((1..30).contains(&broken), "{broken}");
    // Without being asked to, a later run leaves them.
    assert_eq!(failed(&bench.run(&mut device()).1), broken);
    bench.retry_failed = true;
    assert_eq!(failed(&bench.run(&mut device()).1), 0);
}

#[test]
fn a_device_that_fails_point_after_point_is_lost() {
    let bench = Bench::new("lost");
    let (end, contents) = bench.run(&mut device().with_faults(|_| Some(Fault::DeviceError)));
    assert_eq!(end, End::DeviceLost("device error: simulated device error".to_owned()));
    // One family that fails may have the fault itself; two show that the device has it.
    let records = contents.records();
    let device = |record: &&Record| matches!(record.outcome, Outcome::Failed(Failure::Device(_)));
    let attempted = records.values().copied().filter(device).count();
    assert!((3..=6).contains(&attempted) && records.len() < 60, "{attempted}");
}

#[test]
fn a_family_that_fails_point_after_point_costs_no_other() {
    let mut bench = Bench::new("family");
    let broken = |point: &Point| (point.family() == Family::Gemm).then_some(Fault::DeviceError);
    let (end, contents) = bench.run(&mut device().with_faults(broken));
    assert_eq!(end, End::Finished);
    let records = contents.records();
    assert_eq!(records.len(), bench.selected.len());
    let words = "3 points of gemm in a row: device error: simulated device error".to_owned();
    let not_attempted = Outcome::Failed(Failure::AfterDeviceLost(words));
    assert!(records.values().any(|record| record.outcome == not_attempted));
    for record in records.values() {
        assert_eq!(record.time().is_some(), record.point.family() == Family::Copy);
    }
    bench.retry_failed = true;
    let (_, contents) = bench.run(&mut device());
    assert!(contents.records().values().all(|record| record.time().is_some()));
}

#[test]
fn contended_points_are_flagged_and_measured_anew_when_the_machine_is_quiet() {
    let bench = Bench::new("contended");
    let is_short = |point: &Point| matches!(point, Point::Copy(copy) if copy.bytes < 1 << 20);
    let mut busy = device().with_faults(move |point| is_short(point).then_some(Fault::Contended));
    let (end, contents) = bench.run(&mut busy);
    assert_eq!(end, End::Finished);
    let flagged = |contents: &Contents| {
        let records = contents.records();
        records.values().filter(|record| record.flags.contains(Flag::Contended)).count()
    };
    let points = |contents: &Contents| {
        contents.entries.iter().filter(|entry| matches!(entry, Entry::Point { .. })).count()
    };
    let shared = flagged(&contents);
    assert!(shared > 0);
    // A second outcome that is no better is not kept.
    assert_eq!(points(&contents), bench.selected.len());
    let (end, contents) = bench.run(&mut device());
    assert_eq!((end, flagged(&contents)), (End::Finished, 0));
    assert_eq!(points(&contents), bench.selected.len() + shared);
}

/// The points in the order they got an outcome.
fn order(contents: &Contents) -> Vec<usize> {
    let point = |entry: &Entry| match entry {
        Entry::Point { index, .. } => Some(*index),
        _ => None,
    };
    contents.entries.iter().filter_map(point).collect()
}

/// A first pass of forty points and 220 of the others.
fn bench_of_passes(name: &str) -> Bench {
    let mut bench = Bench::new(name);
    let families = vec![Family::Copy, Family::Memory];
    let all = bench.plan.select(&Selection { families, deepest: crate::plan::DEEPEST });
    let level = |index: &&usize| bench.plan.points[**index].level;
    let mut selected: Vec<usize> =
        all.iter().filter(|index| level(index) == 0).take(40).copied().collect();
    selected.extend(all.iter().filter(|index| level(index) > 0).take(220));
    bench.selected = selected;
    bench
}

#[test]
fn under_a_budget_doubt_decides_after_the_first_pass_and_a_cut_run_goes_on_the_same() {
    let mut bench = bench_of_passes("doubt");
    let (_, planned) = bench.run(&mut device());
    assert_eq!(order(&planned), bench.selected);
    let path = bench.folder.join(FILE_NAME);
    std::fs::remove_file(&path).unwrap();
    let budget = |bench: &mut Bench| {
        let simulated = device();
        bench.clock = Clock::Virtual(simulated.clock());
        bench.until = Some(Duration::from_secs(100_000));
        simulated
    };
    let mut simulated = budget(&mut bench);
    let (end, whole) = bench.run(&mut simulated);
    assert_eq!(end, End::Finished);
    let whole = order(&whole);
    assert_eq!(whole[..40], bench.selected[..40]);
    assert_ne!(whole, bench.selected);
    let (mut sorted, mut all) = (whole.clone(), bench.selected.clone());
    sorted.sort_unstable();
    all.sort_unstable();
    assert_eq!(sorted, all);
    let text = std::fs::read_to_string(&path).unwrap();
    let ends: Vec<usize> = text.match_indices('\n').map(|(end, _)| end + 1).collect();
    for end in ends.iter().skip(20).step_by(50) {
        std::fs::write(&path, &text[..*end]).unwrap();
        let mut simulated = budget(&mut bench);
        let (_, resumed) = bench.run(&mut simulated);
        assert_eq!(order(&resumed), whole);
    }
}
