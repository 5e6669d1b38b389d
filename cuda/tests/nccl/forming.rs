//! Communicators: formed, closed, and given up in time.

use std::time::{Duration, Instant};

use kernelgauge_cuda::nccl::{
    Code, Communicator, Function, NcclError, Place, abort, close, init_all,
};

use super::fake::{Fake, LIMITS};

/// What a busy machine may take beyond the limits. A hang takes for ever.
const SLACK: Duration = Duration::from_secs(5);

fn init(fake: &Fake, ranks: u32) -> Result<Vec<Communicator>, NcclError> {
    init_all(fake.library(), ranks, LIMITS, |_| Ok(()))
}

fn place(rank: u32, ranks: u32) -> Place {
    Place { rank, ranks }
}

#[test]
fn all_ranks_of_a_process_are_formed_and_closed() {
    let fake = Fake::new(&[]);
    let mut selected = Vec::new();
    let formed: Result<_, NcclError> = init_all(fake.library(), 3, LIMITS, |rank| {
        selected.push(rank);
        Ok(())
    });
    let ranks = formed.unwrap();
    assert_eq!(selected, [0, 1, 2]);
    for (rank, communicator) in (0..).zip(&ranks) {
        assert_eq!(communicator.place(), place(rank, 3));
        assert_eq!(communicator.count(), Ok(3));
        assert_eq!(communicator.rank(), Ok(rank));
        assert_eq!(communicator.device(), Ok(rank));
        assert_eq!(communicator.is_idle(), Ok(true));
    }
    close(ranks, LIMITS.launch).unwrap();
    let mut log = fake.log();
    log[6..].sort();
    let line = |verb: &str, rank: u32| format!("{verb} rank {rank} of 3");
    let expected = ["join", "finalize", "destroy"];
    let expected: Vec<String> =
        expected.iter().flat_map(|verb| (0..3).map(|rank| line(verb, rank))).collect();
    assert_eq!(log, expected);
}

#[test]
fn ranks_in_threads_find_each_other() {
    let fake = Fake::new(&[]);
    let library = fake.library();
    let id = library.unique_id().unwrap();
    let join = |rank| move || Communicator::join(library, &id, place(rank, 2), LIMITS);
    let other = std::thread::spawn(join(1));
    let ranks = vec![join(0)().unwrap(), other.join().unwrap().unwrap()];
    close(ranks, LIMITS.launch).unwrap();
}

#[test]
fn a_rank_that_never_comes_ends_at_the_limit() {
    let fake = Fake::new(&[]);
    let id = fake.library().unique_id().unwrap();
    let started = Instant::now();
    let error = Communicator::join(fake.library(), &id, place(1, 2), LIMITS).unwrap_err();
    let NcclError::Deadline { what, limit } = &error else { panic!("{error}") };
    assert_eq!((what.as_str(), *limit), ("joining as rank 1 of 2", LIMITS.init));
    assert!(started.elapsed() < LIMITS.init + SLACK);
    assert_eq!(fake.log(), ["join rank 1 of 2", "abort rank 1 of 2"]);
}

#[test]
fn an_init_that_never_returns_ends_even_where_aborting_hangs() {
    for end in ["", "hang"] {
        let fake = Fake::new(&[("INIT", "hang"), ("END", end)]);
        let started = Instant::now();
        let error = init(&fake, 4).unwrap_err();
        assert_eq!(error.to_string(), "forming a communicator of 4 ranks did not end within 0.3 s");
        assert!(started.elapsed() < LIMITS.init + LIMITS.abort + SLACK);
        let aborted = fake.log().iter().filter(|line| line.starts_with("abort")).count();
        assert_eq!(aborted, if end == "hang" { 0 } else { 4 });
    }
}

#[test]
fn codes_of_forming_are_passed_on_known_or_not() {
    for (number, text) in [
        ("1", "a call of CUDA failed inside NCCL (ncclUnhandledCudaError)"),
        ("8", "NCCL gave up waiting (ncclTimeout)"),
        ("4711", "the library answered with a code that is not known here (4711)"),
    ] {
        let fake = Fake::new(&[("INIT", number)]);
        let error = init(&fake, 2).unwrap_err();
        assert_eq!(error.to_string(), format!("ncclCommGetAsyncError: {text}"));
        let NcclError::Call { code, detail, .. } = error else { panic!("{error}") };
        assert_eq!(code, Code(number.parse().unwrap()));
        // Only of a code that is unknown here is the library asked what it means.
        assert_eq!(detail.is_some(), number == "4711");
        assert_eq!(fake.log().len(), 4);
    }
}

#[test]
fn a_rank_that_is_taken_or_does_not_exist_is_refused() {
    let fake = Fake::new(&[]);
    let library = fake.library();
    let id = library.unique_id().unwrap();
    let first = Communicator::join(library, &id, place(0, 1), LIMITS).unwrap();
    let error = Communicator::join(library, &id, place(0, 1), LIMITS).unwrap_err();
    let (function, code) = (Function::InitRankConfig, Code(5));
    assert_eq!(error, NcclError::Call { function, code, detail: None });
    abort(vec![first], LIMITS.abort).unwrap();

    for (rank, ranks) in [(2, 2), (0, 0), (0, u32::MAX)] {
        let error = Communicator::join(library, &id, place(rank, ranks), LIMITS).unwrap_err();
        assert!(matches!(error, NcclError::Argument { .. }), "{error}");
    }
}

#[test]
fn a_device_that_cannot_be_selected_takes_the_others_along() {
    let fake = Fake::new(&[]);
    let no_device = |rank| match rank {
        2 => Err(NcclError::Argument { what: "no device 2".to_owned() }),
        _ => Ok(()),
    };
    let error = init_all(fake.library(), 4, LIMITS, no_device).unwrap_err();
    assert_eq!(error.to_string(), "no device 2");
    let mut log = fake.log();
    log.sort();
    let expected =
        ["abort rank 0 of 4", "abort rank 1 of 4", "join rank 0 of 4", "join rank 1 of 4"];
    assert_eq!(log, expected);
    // The group has ended: the next communicator forms.
    abort(fake.ranks(2), LIMITS.abort).unwrap();
}

#[test]
fn an_environment_that_makes_calls_block_is_refused() {
    let mut fake = Fake::new(&[]);
    fake.set("NCCL_COMM_BLOCKING", "1");
    assert_eq!(init(&fake, 1).unwrap_err(), NcclError::BlockingForced);
    fake.set("NCCL_COMM_BLOCKING", "0");
    abort(init(&fake, 1).unwrap(), LIMITS.abort).unwrap();
}

#[test]
fn closing_and_aborting_that_hang_are_left_behind() {
    let mut fake = Fake::new(&[]);
    let (closed, aborted) = (fake.ranks(2), fake.ranks(2));
    fake.set("KERNELGAUGE_FAKE_NCCL_END", "hang");
    let started = Instant::now();
    let error = close(closed, LIMITS.launch).unwrap_err();
    assert_eq!(error.to_string(), "closing 2 ranks did not end within 0.3 s");
    let error = abort(aborted, LIMITS.abort).unwrap_err();
    assert_eq!(error.to_string(), "aborting 2 ranks did not end within 0.3 s");
    assert!(started.elapsed() < LIMITS.launch + LIMITS.abort + SLACK);
}
