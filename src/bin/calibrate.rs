//! The `calibrate` command: hands arguments, streams and build facts to `kernelgauge_calibrate`.

use std::io;
use std::process::ExitCode;

use kernelgauge_calibrate::{BuildInfo, Completions};

const BUILD: BuildInfo = BuildInfo {
    version: env!("CARGO_PKG_VERSION"),
    git: env!("KERNELGAUGE_GIT"),
    data_stamp: env!("KERNELGAUGE_DATA"),
    man: include_str!(concat!(env!("OUT_DIR"), "/calibrate.1")),
    completions: Completions {
        bash: include_str!(concat!(env!("OUT_DIR"), "/calibrate.bash")),
        zsh: include_str!(concat!(env!("OUT_DIR"), "/calibrate.zsh")),
        fish: include_str!(concat!(env!("OUT_DIR"), "/calibrate.fish")),
    },
    shipped: kernelgauge_predict::machine::shipped_text,
};

fn main() -> ExitCode {
    let (mut stdout, mut stderr) = (io::stdout(), io::stderr());
    let status = kernelgauge_calibrate::run(std::env::args_os(), &mut stdout, &mut stderr, &BUILD);
    ExitCode::from(status.code())
}
