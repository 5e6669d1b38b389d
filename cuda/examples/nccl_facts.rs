//! Says what the NCCL of this machine offers, and how forming a communicator of one rank ends,
//! which takes a GPU.
//!
//! `cargo run -p kernelgauge-cuda --example nccl_facts [-- FILE]`, where FILE is the library if
//! it is not the one that would be found. The id of the communicator holds an address and is not
//! shown.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use kernelgauge_cuda::nccl::{Communicator, Library, Limits, NcclError, Place, close};
use kernelgauge_data::Diagnostic as _;

fn main() -> ExitCode {
    let opened = match std::env::args_os().nth(1) {
        Some(file) => Library::open(Path::new(&file)),
        None => Library::load(),
    };
    let library = match opened {
        Ok(library) => library,
        Err(error) => {
            tell(&error);
            return ExitCode::from(error.exit_status().code());
        }
    };
    println!("library: {}", library.path().display());
    println!("version: {}", library.version());
    println!("lacks: {:?}", library.missing());
    match one_rank(library) {
        Ok(()) => println!("one rank: formed and closed"),
        Err(error) => {
            println!("one rank: failed");
            tell(&error);
        }
    }
    ExitCode::SUCCESS
}

fn one_rank(library: Library) -> Result<(), NcclError> {
    let limits = Limits { init: Duration::from_secs(20), ..Limits::default() };
    let id = library.unique_id()?;
    println!("id: {} bytes", id.as_bytes().len());
    let communicator = Communicator::join(library, &id, Place { rank: 0, ranks: 1 }, limits)?;
    close(vec![communicator], limits.launch)
}

fn tell(error: &NcclError) {
    eprintln!("error: {error}");
    if let Some(hint) = error.hint() {
        eprintln!("hint: {hint}");
    }
}
