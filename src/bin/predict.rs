//! The `predict` command: hands arguments, streams and build facts to `kernelgauge_predict`.

use std::io;
use std::process::ExitCode;

use kernelgauge_predict::{BuildInfo, Completions};

const BUILD: BuildInfo = BuildInfo {
    version: env!("CARGO_PKG_VERSION"),
    git: env!("KERNELGAUGE_GIT"),
    data_stamp: env!("KERNELGAUGE_DATA"),
    man: include_str!(concat!(env!("OUT_DIR"), "/predict.1")),
    completions: Completions {
        bash: include_str!(concat!(env!("OUT_DIR"), "/predict.bash")),
        zsh: include_str!(concat!(env!("OUT_DIR"), "/predict.zsh")),
        fish: include_str!(concat!(env!("OUT_DIR"), "/predict.fish")),
    },
    shipped: kernelgauge_predict::machine::shipped_text,
};

fn main() -> ExitCode {
    let (mut stdout, mut stderr) = (io::stdout(), io::stderr());
    let status = kernelgauge_predict::run(std::env::args_os(), &mut stdout, &mut stderr, &BUILD);
    ExitCode::from(status.code())
}
