//! Finding the library, and libraries that are old or incomplete.

use std::process::Command;

use kernelgauge_cuda::nccl::{
    Communicator, Function, Library, NcclError, Place, Route, UniqueId, Version,
};
use kernelgauge_data::{Collective, Diagnostic as _, ExitStatus};

use super::fake::{Fake, LIMITS, built, example};

fn join_alone(library: Library) -> Result<Communicator, NcclError> {
    let id = library.unique_id().unwrap();
    Communicator::join(library, &id, Place { rank: 0, ranks: 1 }, LIMITS)
}

#[test]
fn version_functions_and_ids_are_read() {
    let fake = Fake::new(&[]);
    let library = fake.library();
    assert_eq!(library.version(), Version::new(2, 29, 2));
    assert_eq!(library.missing(), []);
    assert_eq!(library.path(), fake.path);
    let (first, second) = (library.unique_id().unwrap(), library.unique_id().unwrap());
    assert_ne!(first, second);
    assert_eq!(first.to_hex().parse::<UniqueId>(), Ok(first));
}

#[test]
fn a_library_before_non_blocking_calls_is_refused() {
    let fake = Fake::new(&[("VERSION", "21003")]);
    let error = join_alone(fake.library()).unwrap_err();
    let (found, needed) = (Version::new(2, 10, 3), Version::new(2, 14, 0));
    assert_eq!(error, NcclError::TooOld { found, needed });
    assert_eq!(error.exit_status(), ExitStatus::Environment);
    assert!(fake.log().is_empty());
}

#[test]
fn a_function_that_is_missing_is_named_and_never_called() {
    for (name, function) in [
        ("ncclCommInitRankConfig", Function::InitRankConfig),
        ("ncclCommAbort", Function::Abort),
        ("ncclCommGetAsyncError", Function::GetAsyncError),
    ] {
        let fake = Fake::new(&[]).without(name);
        let library = fake.library();
        assert_eq!(library.missing(), [function]);
        let version = library.version();
        let error = join_alone(library).unwrap_err();
        assert_eq!(error, NcclError::MissingFunction { function, version });
        assert!(error.hint().is_some());
        assert!(fake.log().is_empty(), "{name}");
    }
    let fake = Fake::new(&[]).without("ncclGetVersion");
    let error = Library::open(&fake.path).unwrap_err();
    assert!(error.to_string().contains("ncclGetVersion"), "{error}");
}

#[test]
fn a_collective_without_a_call_of_its_own_is_made_of_sends() {
    let fake = Fake::new(&[("VERSION", "22105")]).without("ncclAlltoAll");
    let library = fake.library();
    for (collective, route) in [
        (Collective::AllReduce, Route::Call(Function::AllReduce)),
        (Collective::AllToAll, Route::SendsAndReceives),
        (Collective::AllToAllV, Route::SendsAndReceives),
        (Collective::Gather, Route::Call(Function::Gather)),
    ] {
        assert_eq!(Route::of(collective, &library), route, "{collective}");
    }
}

#[test]
fn the_loader_finds_it_by_its_name() {
    let fake = Fake::new(&[]);
    let facts = |folder: &std::path::Path| {
        let output =
            Command::new(example("nccl_facts")).env("LD_LIBRARY_PATH", folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = facts(&fake.folder);
    let found = format!("library: {}\nversion: 2.29.2\nlacks: []\n", fake.path.display());
    assert!(text.starts_with(&found), "{text}");
    assert!(text.ends_with("one rank: formed and closed\n"), "{text}");
    // It lies in cargo's own folder too; no loader may take it from there.
    assert!(!facts(built().parent().unwrap()).contains("2.29.2"));
}

#[test]
fn a_machine_without_the_library_gets_a_sentence() {
    // Whether this machine has one is not known here.
    let Err(error) = Library::load() else { return };
    assert!(!error.to_string().contains('\n'), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(error.exit_status(), ExitStatus::Environment);
}
