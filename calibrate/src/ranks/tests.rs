//! Ranks that are threads: who comes together, what a collective of all is, and what becomes of
//! the others when one fails or goes.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use kernelgauge_cuda::simulated::SimulatedDevice;
use kernelgauge_cuda::{Condition, Device, Timer, Timing, Workload, World};
use kernelgauge_data::{
    Bytes, CacheState, Collective, CollectivePoint, Dtype, EVEN, Environment, Failure, Links,
    Machine, Manner, Nanos, Origin, Point, SkipReason,
};

use super::*;
use crate::remote::threads::{TOOL, Threads};
use crate::remote::wire::Gpus;
use crate::remote::{Deadlines, RemoteDevice};

/// What the ranks of a test share.
#[derive(Default)]
struct Shared {
    /// Every join, as rank and world.
    worlds: Mutex<Vec<World>>,
    /// Whether rank 2's next timing fails.
    fails: AtomicBool,
    /// How many of rank 2's next joins fail.
    refuses: AtomicU32,
}

/// One GPU that takes part in collectives: rank n takes 1000 - 100 n ns each time.
struct Gpu {
    rank: u32,
    simulated: SimulatedDevice,
    environment: Environment,
    key: String,
    shared: Arc<Shared>,
}

impl Gpu {
    fn new(rank: u32, shared: &Arc<Shared>) -> Self {
        let simulated = SimulatedDevice::new(1);
        let environment = simulated.environment();
        let key = format!("test-ranks-{}-{rank}-{:p}", std::process::id(), Arc::as_ptr(shared));
        Gpu { rank, simulated, environment, key, shared: Arc::clone(shared) }
    }
}

impl Device for Gpu {
    fn machine(&self) -> Machine {
        Machine { count: 1, name: "gpu".to_owned(), ..self.simulated.machine() }
    }
    fn origin(&self) -> Origin {
        self.simulated.origin()
    }
    fn environment(&self) -> Environment {
        self.environment.clone()
    }
    fn lock_keys(&self) -> Vec<String> {
        vec![self.key.clone()]
    }
    fn free_memory(&self) -> Bytes {
        self.simulated.free_memory()
    }
    fn timer(&self) -> Timer {
        self.simulated.timer()
    }
    fn memory_needed(&self, _point: &Point, _cache: CacheState) -> Bytes {
        Bytes::new(1)
    }
    fn supports_in(
        &self,
        _point: &Point,
        _cache: CacheState,
        _manner: Manner,
    ) -> Result<(), SkipReason> {
        Ok(())
    }
    fn prepare_in<'device>(
        &'device mut self,
        _point: &Point,
        _cache: CacheState,
        _manner: Manner,
        _seed: u64,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        Ok(Box::new(Work(self)))
    }
    fn unique_id(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(vec![7; 128])
    }
    fn join(&mut self, world: &World) -> Result<(), Failure> {
        assert_eq!(world.first_rank, self.rank);
        self.shared.worlds.lock().unwrap().push(world.clone());
        let refuses = &self.shared.refuses;
        if self.rank == 2 && refuses.load(Ordering::Relaxed) > 0 {
            refuses.fetch_sub(1, Ordering::Relaxed);
            return Err(Failure::Device("no ring".to_owned()));
        }
        Ok(())
    }
}

struct Work<'device>(&'device mut Gpu);

impl Workload for Work<'_> {
    fn kernel(&self) -> &str {
        "ncclAllReduce"
    }
    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        if self.0.rank == 2 && self.0.shared.fails.swap(false, Ordering::Relaxed) {
            return Err(Failure::TimedOut("the collective".to_owned()));
        }
        let elapsed = Nanos::new(u64::from(1000 - 100 * self.0.rank));
        Ok(Timing { throttled: self.0.rank == 1, ..Timing::of(elapsed, executions) })
    }
}

fn remote(gpu: impl Fn() -> Gpu + Send + 'static) -> RemoteDevice {
    RemoteDevice::open(
        Box::new(Threads(gpu)),
        Gpus::All.into(),
        TOOL.to_owned(),
        Deadlines::default(),
    )
    .unwrap()
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn place(rank: u32, ranks: u32, master: &str, token: &str) -> Place {
    let (master, token) = (master.to_owned(), token.to_owned());
    Place { rank, ranks, local: None, master, token }
}

/// How a rank ended: its error, if any.
type Ended = JoinHandle<Option<String>>;

/// A rank but the first, with a GPU that `change` may make other than the rest.
fn joins(place: Place, tool: &'static str, gpu: Gpu) -> Ended {
    std::thread::spawn(move || {
        let mut gpu = gpu;
        let facts = Facts::of(&gpu);
        let within = Duration::from_secs(5);
        let meeting = Meeting { place: &place, facts, tool, within };
        let mut said = Vec::new();
        match serve(&meeting, &mut gpu) {
            Ok(()) => None,
            Err(error) => {
                error.report(&mut said);
                Some(String::from_utf8(said).unwrap())
            }
        }
    })
}

/// Rank 0 of `ranks` with the GPU of rank 0.
fn gathers(
    ranks: u32,
    master: &str,
    within: Duration,
    shared: &Arc<Shared>,
) -> Result<SpreadDevice, RanksError> {
    let shared = Arc::clone(shared);
    let own = remote(move || Gpu::new(0, &shared));
    let place = place(0, ranks, master, "secret");
    let meeting = Meeting { place: &place, facts: Facts::of(&own), tool: TOOL, within };
    let (arrived, nodes) = gather(&meeting)?;
    assert_eq!(nodes, 1);
    Ok(SpreadDevice::open(own, arrived, nodes, TOOL, Deadlines::default()).unwrap())
}

const WITHIN: Duration = Duration::from_secs(5);

fn three(shared: &Arc<Shared>) -> (SpreadDevice, Vec<Ended>) {
    let master = free_address();
    let others =
        [1, 2].map(|rank| joins(place(rank, 3, &master, "secret"), TOOL, Gpu::new(rank, shared)));
    (gathers(3, &master, WITHIN, shared).unwrap(), others.into())
}

fn all_reduce(ranks: u64) -> Point {
    let (collective, dtype) = (Collective::AllReduce, Dtype::F32);
    Point::Collective(CollectivePoint {
        collective,
        dtype,
        ranks,
        nodes: 1,
        links: Links::Unstated,
        bytes: 1 << 20,
        imbalance: EVEN,
    })
}

fn timed(device: &mut SpreadDevice, ranks: u64) -> Result<Timing, Failure> {
    let mut workload = device.prepare_in(&all_reduce(ranks), CacheState::Hot, Manner::Usual, 1)?;
    assert_eq!(workload.kernel(), "ncclAllReduce");
    workload.verify()?;
    workload.time(10)
}

fn ended(others: Vec<Ended>) -> Vec<Option<String>> {
    others.into_iter().map(|other| other.join().unwrap()).collect()
}

#[test]
fn a_collective_of_all_takes_the_least_time_of_any_rank() {
    let shared = Arc::new(Shared::default());
    let (mut device, others) = three(&shared);
    assert_eq!((device.machine().name.as_str(), device.machine().count), ("gpu-x3", 3));
    assert_eq!(device.environment().get("processes"), Some("3"));
    let worlds = shared.worlds.lock().unwrap().clone();
    let mut firsts: Vec<u32> = worlds.iter().map(|world| world.first_rank).collect();
    firsts.sort_unstable();
    assert_eq!(firsts, [0, 1, 2]);
    assert!(worlds.iter().all(|world| (world.ranks, world.local_ranks, world.nodes) == (3, 1, 1)));
    let timing = timed(&mut device, 3).unwrap();
    assert_eq!(timing.elapsed, Nanos::new(800));
    assert!(timing.throttled && !timing.contended);
    // What is not of all ranks is measured by rank 0 alone.
    assert_eq!(timed(&mut device, 2).unwrap().elapsed, Nanos::new(1000));
    drop(device);
    assert_eq!(ended(others), [None, None]);
}

#[test]
fn what_fails_on_one_rank_has_failed_and_the_ranks_join_anew() {
    let shared = Arc::new(Shared::default());
    let (mut device, others) = three(&shared);
    shared.fails.store(true, Ordering::Relaxed);
    let failure = Failure::TimedOut("rank 2: the collective".to_owned());
    assert_eq!(timed(&mut device, 3), Err(failure));
    assert_eq!(device.condition(), Condition::Sound);
    assert_eq!(shared.worlds.lock().unwrap().len(), 3);
    assert_eq!(timed(&mut device, 3).unwrap().elapsed, Nanos::new(800));
    assert_eq!(shared.worlds.lock().unwrap().len(), 6);
    drop(device);
    assert_eq!(ended(others), [None, None]);
}

#[test]
fn ranks_that_cannot_join_twice_in_a_row_are_given_up_and_the_rest_goes_on() {
    let shared = Arc::new(Shared::default());
    let (mut device, others) = three(&shared);
    let fails = |device: &mut SpreadDevice, refuses| {
        shared.fails.store(true, Ordering::Relaxed);
        let failure = Failure::TimedOut("rank 2: the collective".to_owned());
        assert_eq!(timed(device, 3), Err(failure));
        shared.refuses.store(refuses, Ordering::Relaxed);
    };
    // Once is made good at once.
    fails(&mut device, 1);
    assert_eq!(timed(&mut device, 3).unwrap().elapsed, Nanos::new(800));
    fails(&mut device, 2);
    assert_eq!(timed(&mut device, 3), Err(Failure::Device("rank 2: no ring".to_owned())));
    let joins = shared.worlds.lock().unwrap().len();
    let why = "the ranks cannot join: device error: rank 2: no ring".to_owned();
    assert_eq!(timed(&mut device, 3), Err(Failure::AfterDeviceLost(why.clone())));
    let unsupported = Err(SkipReason::Unsupported(why));
    assert_eq!(device.supports(&all_reduce(3), CacheState::Hot), unsupported);
    assert_eq!(timed(&mut device, 2).unwrap().elapsed, Nanos::new(1000));
    assert_eq!(device.condition(), Condition::Sound);
    assert_eq!(shared.worlds.lock().unwrap().len(), joins);
    drop(device);
    assert_eq!(ended(others), [None, None]);
}

#[test]
fn ranks_that_are_missing_are_named_and_those_that_came_are_told() {
    let (shared, master) = (Arc::new(Shared::default()), free_address());
    let came = joins(place(2, 4, &master, "secret"), TOOL, Gpu::new(2, &shared));
    let stray = joins(place(1, 4, &master, "guess"), TOOL, Gpu::new(1, &shared));
    let error = gathers(4, &master, Duration::from_millis(800), &shared).err().unwrap();
    let words = "ranks 1, 3 of 4 did not come within 0 s; one connection without the right token \
                 was refused";
    assert_eq!(error.to_string(), words);
    let said = ended(vec![came, stray]);
    assert!(said[0].as_ref().unwrap().contains(words), "{said:?}");
    assert!(said[1].as_ref().unwrap().contains("its token is not that of rank 0"), "{said:?}");
}

/// Makes a rank other than the rest; its version.
type Odd = fn(&mut Place, &mut Gpu) -> &'static str;

#[test]
fn ranks_that_do_not_go_together_are_told_why_on_every_rank() {
    let cases: [(&str, Odd); 6] = [
        ("rank 1 is of version 0.0.9, rank 0 of 0.1.0 (git test)", |_, _| "0.0.9"),
        ("rank 1 was told of 4 ranks, rank 0 of 3", |place, _| {
            place.ranks = 4;
            TOOL
        }),
        ("two processes say to be rank 2", |place, _| {
            place.rank = 2;
            TOOL
        }),
        ("a second process says to be rank 0 of 3", |place, _| {
            place.rank = 0;
            TOOL
        }),
        ("have the same GPU", |_, gpu| {
            gpu.key = Gpu::new(2, &gpu.shared).key;
            TOOL
        }),
        ("ranks 0 and 1 differ in driver_version: none, 570", |_, gpu| {
            gpu.environment.set("driver_version", "570");
            TOOL
        }),
    ];
    for (words, change) in cases {
        let (shared, master) = (Arc::new(Shared::default()), free_address());
        let good = joins(place(2, 3, &master, "secret"), TOOL, Gpu::new(2, &shared));
        let (mut odd, mut gpu) = (place(1, 3, &master, "secret"), Gpu::new(1, &shared));
        let tool = change(&mut odd, &mut gpu);
        let bad = joins(odd, tool, gpu);
        let error = gathers(3, &master, WITHIN, &shared).err().unwrap().to_string();
        assert!(error.contains(words), "{error}, not {words}");
        for said in ended(vec![good, bad]).into_iter().flatten() {
            // Whoever came too late to be told finds no one.
            assert!(
                said.contains(words) || said.contains("was not reached"),
                "{said}, not {words}"
            );
        }
    }
}

#[test]
fn a_rank_that_is_gone_ends_the_run_of_all() {
    let shared = Arc::new(Shared::default());
    let master = free_address();
    let other = joins(place(1, 3, &master, "secret"), TOOL, Gpu::new(1, &shared));
    let (mut gone, shared_too) = (place(2, 3, &master, "secret"), Arc::clone(&shared));
    gone.rank = 2;
    // A rank whose process is killed: it comes, joins, and its connection closes.
    let killed = std::thread::spawn(move || {
        let gpu = Gpu::new(2, &shared_too);
        let place = gone;
        let meeting = Meeting { place: &place, facts: Facts::of(&gpu), tool: TOOL, within: WITHIN };
        joining::joined(&meeting).unwrap()
    });
    let error = {
        let shared = Arc::clone(&shared);
        let own = remote(move || Gpu::new(0, &shared));
        let place = place(0, 3, &master, "secret");
        let meeting = Meeting { place: &place, facts: Facts::of(&own), tool: TOOL, within: WITHIN };
        let (arrived, nodes) = gather(&meeting).unwrap();
        drop(killed.join().unwrap());
        SpreadDevice::open(own, arrived, nodes, TOOL, Deadlines::default()).err().unwrap()
    };
    assert!(error.to_string().contains("rank 2 is gone"), "{error}");
    let said = ended(vec![other]).remove(0).unwrap();
    assert!(said.contains("rank 0 ended before the run was over"), "{said}");
}
