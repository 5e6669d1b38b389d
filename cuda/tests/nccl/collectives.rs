//! What the collectives pass on, and those that fail or never end.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "SAFETY, for all: the fake moves no data, so that any address will do"
)]

use std::time::{Duration, Instant};

use kernelgauge_cuda::nccl::{
    Buffers, Code, Communicator, DevicePointer, Element, Function, Group, NcclError, Part, Parts,
    Reduction, Stream, Version, abort,
};
use kernelgauge_data::Dtype;

use super::fake::{Fake, LIMITS};

const SLACK: Duration = Duration::from_secs(5);

/// Elements of four bytes, 8 of them, from 4096 to 8192, on stream 7.
fn buffers() -> Buffers {
    Buffers {
        send: DevicePointer(4096),
        receive: DevicePointer(8192),
        count: 8,
        element: Element::of(Dtype::F32, Version::new(2, 29, 2)).unwrap(),
        stream: Stream(std::ptr::without_provenance_mut(7)),
    }
}

/// What was called, without who called it.
fn calls(fake: &Fake) -> Vec<String> {
    let log = fake.log();
    log.iter().map(|line| line.split(" rank ").next().unwrap().to_owned()).collect()
}

/// One collective on [`buffers`], which the fake neither reads nor writes.
type Call = fn(&Communicator, &Buffers) -> Result<(), NcclError>;

#[test]
fn every_argument_arrives_in_its_place() {
    let fake = Fake::new(&[]);
    let ranks = fake.ranks(3);
    fake.log();
    let table: [(Call, &[&str]); 9] = [
        (
            |c, b| unsafe { c.all_reduce(b, Reduction::Maximum) },
            &["all_reduce from 4096 to 8192 count 8 kind 7 by 2 stream 7"],
        ),
        (
            |c, b| unsafe { c.reduce_scatter(b, Reduction::Sum) },
            &["reduce_scatter from 4096 to 8192 count 8 kind 7 by 0 stream 7"],
        ),
        (
            |c, b| unsafe { c.reduce(b, Reduction::Average, 2) },
            &["reduce from 4096 to 8192 count 8 kind 7 by 4 root 2 stream 7"],
        ),
        (
            |c, b| unsafe { c.broadcast(b, 1) },
            &["broadcast from 4096 to 8192 count 8 kind 7 root 1 stream 7"],
        ),
        (
            |c, b| unsafe { c.all_gather(b) },
            &["all_gather from 4096 to 8192 count 8 kind 7 stream 7"],
        ),
        (
            |c, b| unsafe { c.all_to_all(b) },
            &["all_to_all from 4096 to 8192 count 8 kind 7 stream 7"],
        ),
        (
            |c, b| unsafe { c.gather(b, 2) },
            &["gather from 4096 to 8192 count 8 kind 7 root 2 stream 7"],
        ),
        (
            |c, b| unsafe { c.scatter(b, 2) },
            &["scatter from 4096 to 8192 count 8 kind 7 root 2 stream 7"],
        ),
        (
            |c, b| unsafe { c.send_receive(b) },
            &[
                "send from 4096 count 8 kind 7 peer 2 stream 7",
                "receive to 8192 count 8 kind 7 peer 0 stream 7",
            ],
        ),
    ];
    for (call, expected) in table {
        call(&ranks[1], &buffers()).unwrap();
        assert_eq!(calls(&fake), expected);
    }
    abort(ranks, LIMITS.abort).unwrap();
}

#[test]
fn old_libraries_get_sends_and_receives_part_by_part() {
    let fake = Fake::new(&[]).without("ncclAlltoAll").without("ncclGather").without("ncclScatter");
    let ranks = fake.ranks(2);
    fake.log();
    let to_all = [
        "send from 4096 count 8 kind 7 peer 0 stream 7",
        "receive to 8192 count 8 kind 7 peer 0 stream 7",
        "send from 4128 count 8 kind 7 peer 1 stream 7",
        "receive to 8224 count 8 kind 7 peer 1 stream 7",
    ];
    let table: [(Call, &[&str]); 5] = [
        (|c, b| unsafe { c.all_to_all(b) }, &to_all),
        (
            |c, b| unsafe { c.gather(b, 1) },
            &[
                "send from 4096 count 8 kind 7 peer 1 stream 7",
                "receive to 8192 count 8 kind 7 peer 0 stream 7",
                "receive to 8224 count 8 kind 7 peer 1 stream 7",
            ],
        ),
        (|c, b| unsafe { c.gather(b, 0) }, &["send from 4096 count 8 kind 7 peer 0 stream 7"]),
        (
            |c, b| unsafe { c.scatter(b, 1) },
            &[
                "send from 4096 count 8 kind 7 peer 0 stream 7",
                "send from 4128 count 8 kind 7 peer 1 stream 7",
                "receive to 8192 count 8 kind 7 peer 1 stream 7",
            ],
        ),
        (|c, b| unsafe { c.scatter(b, 0) }, &["receive to 8192 count 8 kind 7 peer 0 stream 7"]),
    ];
    for (call, expected) in table {
        call(&ranks[1], &buffers()).unwrap();
        assert_eq!(calls(&fake), expected);
    }
    abort(ranks, LIMITS.abort).unwrap();
}

#[test]
fn uneven_parts_go_where_they_should() {
    let fake = Fake::new(&[]);
    let ranks = fake.ranks(2);
    fake.log();
    let send = [Part { offset: 0, count: 3 }, Part { offset: 3, count: 5 }];
    let receive = [Part { offset: 0, count: 1 }, Part { offset: 10, count: 2 }];
    let parts = Parts { send: &send, receive: &receive };
    unsafe { ranks[0].all_to_all_v(&buffers(), parts) }.unwrap();
    let expected = [
        "send from 4096 count 3 kind 7 peer 0 stream 7",
        "receive to 8192 count 1 kind 7 peer 0 stream 7",
        "send from 4108 count 5 kind 7 peer 1 stream 7",
        "receive to 8232 count 2 kind 7 peer 1 stream 7",
    ];
    assert_eq!(calls(&fake), expected);

    let parts = Parts { send: &send[..1], receive: &receive };
    let error = unsafe { ranks[0].all_to_all_v(&buffers(), parts) }.unwrap_err();
    assert_eq!(error.to_string(), "1 and 2 parts for 2 ranks");
    abort(ranks, LIMITS.abort).unwrap();
}

#[test]
fn all_ranks_of_a_process_start_together_and_are_waited_for() {
    let fake = Fake::new(&[]);
    let ranks = fake.ranks(2);
    let group = Group::start(fake.library()).unwrap();
    for communicator in &ranks {
        unsafe { communicator.all_reduce(&buffers(), Reduction::Sum) }.unwrap();
        unsafe { communicator.send_receive(&buffers()) }.unwrap();
        assert!(Group::is_open());
    }
    group.end(&ranks.iter().collect::<Vec<_>>()).unwrap();
    assert!(!Group::is_open());
    let ended = || Ok::<bool, NcclError>(fake.ended());
    for communicator in &ranks {
        communicator.wait("the all-reduce", LIMITS.launch, ended).unwrap();
    }
    abort(ranks, LIMITS.abort).unwrap();
}

#[test]
fn a_collective_that_never_ends_is_given_up() {
    let fake = Fake::new(&[("COLLECTIVE", "hang")]);
    let ranks = fake.ranks(2);
    let started = Instant::now();
    for communicator in &ranks {
        unsafe { communicator.all_reduce(&buffers(), Reduction::Sum) }.unwrap();
    }
    let ended = || Ok::<bool, NcclError>(fake.ended());
    let error = ranks[0].wait("all_reduce of 32 bytes", LIMITS.launch, ended).unwrap_err();
    assert_eq!(error.to_string(), "all_reduce of 32 bytes did not end within 0.3 s");
    abort(ranks, LIMITS.abort).unwrap();
    assert!(started.elapsed() < LIMITS.launch + SLACK);
}

#[test]
fn a_failure_elsewhere_is_seen_while_waiting() {
    let mut fake = Fake::new(&[]);
    let ranks = fake.ranks(2);
    unsafe { ranks[0].all_reduce(&buffers(), Reduction::Sum) }.unwrap();
    fake.set("KERNELGAUGE_FAKE_NCCL_ASYNC", "6");
    // The other rank never calls, so without the failure this would wait for ever.
    let ended = || Ok::<bool, NcclError>(fake.ended());
    let error = ranks[0].wait("it", Duration::from_secs(600), ended).unwrap_err();
    let (function, code) = (Function::GetAsyncError, Code(6));
    assert_eq!(error, NcclError::Call { function, code, detail: None });
    abort(ranks, LIMITS.abort).unwrap();
}

#[test]
fn a_launch_that_hangs_and_a_call_that_fails_say_so() {
    for (fault, value, expected) in [
        ("LAUNCH", "hang", "ncclAllGather did not end within 0.3 s"),
        ("CALL", "2", "ncclAllGather: a call of the operating system failed inside NCCL"),
        ("CALL", "99", "ncclAllGather: the library answered with a code that is not known"),
    ] {
        let mut fake = Fake::new(&[]);
        let ranks = fake.ranks(2);
        fake.set(&format!("KERNELGAUGE_FAKE_NCCL_{fault}"), value);
        let error = unsafe { ranks[0].all_gather(&buffers()) }.unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
        abort(ranks, LIMITS.abort).unwrap();
    }
}

#[test]
fn a_rank_that_does_not_exist_is_no_root() {
    let fake = Fake::new(&[]);
    let ranks = fake.ranks(2);
    let error = unsafe { ranks[0].broadcast(&buffers(), 2) }.unwrap_err();
    assert_eq!(error.to_string(), "there is no rank 2 of 2");
    abort(ranks, LIMITS.abort).unwrap();
}
