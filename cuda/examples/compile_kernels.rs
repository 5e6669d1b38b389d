//! Compiles every kernel for an architecture and prints what each takes: `cargo run -p
//! kernelgauge-cuda --example compile_kernels -- [--nvrtc FILE] --arch sm_90 ...`.
//!
//! No GPU and no driver is needed. It ends with 1 where a kernel spills registers to memory, or
//! where the catalogue and the compiled code name different kernels, and with 3 where NVRTC is
//! missing.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use kernelgauge_cuda::nvidia::kernels::{Architecture, Compiler, KernelError, SOURCES, Usage};
use kernelgauge_cuda::nvidia::library::Library;
use kernelgauge_data::Diagnostic;

/// What the command line asks for.
#[derive(Debug, Default)]
struct Request {
    nvrtc: Option<String>,
    architectures: Vec<Architecture>,
}

fn main() -> ExitCode {
    match request().and_then(|request| run(&request)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err((code, message)) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            ExitCode::from(code)
        }
    }
}

fn request() -> Result<Request, (u8, String)> {
    let mut request = Request::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or((2, format!("{word} needs a value")))?;
        match word.as_str() {
            "--nvrtc" => request.nvrtc = Some(value),
            "--arch" => request.architectures.push(value.parse().map_err(|what| (2, what))?),
            _ => return Err((2, format!("unknown option {word}: there are --nvrtc and --arch"))),
        }
    }
    Ok(request)
}

/// Whether all is well.
fn run(request: &Request) -> Result<bool, (u8, String)> {
    if let Some(path) = &request.nvrtc {
        Library::Nvrtc.open_at(Path::new(path)).map_err(|error| (3, error.to_string()))?;
    }
    let told = |error: KernelError| {
        let hint = error.hint().unwrap_or_default();
        (error.exit_status().code(), format!("{error}\nhint: {hint}"))
    };
    let compiler = Compiler::open().map_err(told)?;
    let (major, minor) = compiler.version();
    let mut well = true;
    for architecture in &request.architectures {
        say(&format!("\n{architecture} by NVRTC {major}.{minor}"))?;
        say(&format!("{:<46}{:>10}{:>8}{:>14}", "kernel", "registers", "spills", "shared bytes"))?;
        for source in &SOURCES {
            let mut found = compiler.compile(source, *architecture).map_err(told)?.usage();
            found.sort_by(|a, b| a.entry.cmp(&b.entry));
            let names: BTreeSet<&str> = found.iter().map(|usage| usage.entry.as_str()).collect();
            if names != source.entries.iter().map(|entry| entry.name).collect() {
                say(&format!("{}: the catalogue lists other kernels than these", source.file))?;
                well = false;
            }
            for Usage { entry, registers, spills: [stores, loads], shared } in &found {
                let spills = stores + loads;
                let mark = if spills > 0 { "  <- spills" } else { "" };
                say(&format!("{entry:<46}{registers:>10}{spills:>8}{shared:>14}{mark}"))?;
                well &= spills == 0;
            }
        }
    }
    Ok(well)
}

fn say(line: &str) -> Result<(), (u8, String)> {
    writeln!(io::stdout(), "{line}").map_err(|error| (3, format!("standard output: {error}")))
}
