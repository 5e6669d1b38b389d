//! Collects what the binaries know of their build: version, git revision, data stamp, man
//! pages and completions.
//!
//! Works without git and without a repository (a source tarball says `unknown`). The commands
//! themselves are declared in the `args` modules of their crates, which depend on clap and std
//! only so that they can be included here.

#![allow(clippy::print_stdout, reason = "cargo reads the script's answers from there")]

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory;
use clap_complete::Shell;
use sha2::{Digest, Sha256};

#[allow(dead_code, clippy::large_enum_variant, reason = "declared here, parsed elsewhere")]
#[path = "calibrate/src/args.rs"]
mod calibrate_args;
#[allow(dead_code, clippy::large_enum_variant, reason = "declared here, parsed elsewhere")]
#[path = "predict/src/args.rs"]
mod predict_args;

/// Hex digits of a stamp: enough to tell builds apart, short enough to read aloud.
const STAMP_DIGITS: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    watch(&root.join("build.rs"));
    println!("cargo::rustc-env=KERNELGAUGE_GIT={}", git_revision(&root));
    println!("cargo::rustc-env=KERNELGAUGE_DATA={}", data_stamp(&root.join("data/machines"))?);
    write_texts(calibrate_args::Arguments::command(), &out)?;
    write_texts(predict_args::Arguments::command(), &out)?;
    Ok(())
}

fn variable(name: &str) -> Result<OsString, String> {
    std::env::var_os(name).ok_or_else(|| format!("cargo did not set {name}"))
}

/// Asks for a rerun when `path` changes. A path that does not exist would ask for one every
/// time, so it is left out.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// `1a2b3c4d5e6f`, `1a2b3c4d5e6f-dirty`, or `unknown` where `root` is not the top of a
/// repository: a tarball unpacked inside somebody else's must not borrow its revision.
fn git_revision(root: &Path) -> String {
    let unknown = || "unknown".to_owned();
    let top = git(root, &["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    if top.and_then(|top| top.canonicalize().ok()) != root.canonicalize().ok() {
        return unknown();
    }
    watch_revision(root);
    let digits = format!("--short={STAMP_DIGITS}");
    let Some(revision) = git(root, &["rev-parse", &digits, "HEAD"]) else {
        return unknown();
    };
    // Without --no-optional-locks, status would rewrite the index under a commit in progress.
    let status = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"];
    match git(root, &status).as_deref() {
        Some("") => revision,
        _ => format!("{revision}-dirty"),
    }
}

/// A commit or checkout moves HEAD or the branch it names; an edit makes the tree dirty.
fn watch_revision(root: &Path) {
    let branch = git(root, &["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(root, &["rev-parse", "--git-path", name]) {
            watch(&root.join(path));
        }
    }
    for source in ["src", "data/src", "cuda/src", "calibrate/src", "model/src", "predict/src"] {
        watch(&root.join(source));
    }
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Short sha256 over name, manifest and model of every shipped machine, in name order.
fn data_stamp(machines: &Path) -> Result<String, Box<dyn Error>> {
    watch(machines);
    let mut folders: Vec<PathBuf> = match fs::read_dir(machines) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?,
        Err(_) => Vec::new(),
    };
    folders.sort();
    let mut hash = Sha256::new();
    for folder in folders {
        for file in ["dataset.toml", "model.json"] {
            let path = folder.join(file);
            let Ok(content) = fs::read(&path) else { continue };
            hash.update(path.strip_prefix(machines)?.to_string_lossy().as_bytes());
            hash.update(content.len().to_le_bytes());
            hash.update(content);
        }
    }
    Ok(format!("{:x}", hash.finalize())[..STAMP_DIGITS].to_owned())
}

/// Writes `<name>.1` and the completion scripts of one command.
fn write_texts(command: clap::Command, out: &Path) -> Result<(), Box<dyn Error>> {
    let name = command.get_name().to_owned();
    fs::write(out.join(format!("{name}.1")), man_page(&command)?)?;
    for (shell, ending) in [(Shell::Bash, "bash"), (Shell::Zsh, "zsh"), (Shell::Fish, "fish")] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command.clone(), &name, &mut script);
        fs::write(out.join(format!("{name}.{ending}")), script)?;
    }
    Ok(())
}

/// One page: the command, then a section for each subcommand that help shows.
fn man_page(command: &clap::Command) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let mut built = command.clone();
    built.build();
    for subcommand in built.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let title = format!("{} {}", command.get_name(), subcommand.get_name()).to_uppercase();
        let man = clap_mangen::Man::new(subcommand.clone());
        let mut section = Vec::new();
        man.render_description_section(&mut section)?;
        man.render_options_section(&mut section)?;
        let section = String::from_utf8(section)?;
        // Without the preamble, which the page has already.
        let preamble = |line: &&str| !line.starts_with(".ie ") && !line.starts_with(".el ");
        let lines: Vec<&str> = section.lines().filter(preamble).collect();
        let section = lines.join("\n");
        let section =
            section.replace(".SH DESCRIPTION\n", "").replace(".SH OPTIONS", ".SS Options");
        page.extend_from_slice(format!(".SH \"{title}\"\n{section}\n").as_bytes());
    }
    Ok(page)
}
