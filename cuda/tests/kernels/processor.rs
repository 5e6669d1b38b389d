//! Compiles kernels for the processor, through `host.h`; whole-program tests do it here too.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// No fused multiply-add, so that plain loops of the tests give the same bits; fibers jump
/// between stacks, which hardened headers take for a fault.
const OPTIONS: [&str; 8] = [
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-U_FORTIFY_SOURCE",
    "-xc++",
];

/// A C++ compiler.
pub struct Compiler {
    name: String,
}

impl Compiler {
    /// The first that answers; none, with a message, where there is none.
    pub fn find() -> Option<Self> {
        let named = std::env::var("CXX").ok();
        let usual = ["c++", "g++", "clang++"].map(str::to_owned);
        let found = named.into_iter().chain(usual).find(|name| {
            Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
        });
        if found.is_none() {
            let what = "skipped: no C++ compiler (c++, g++ or clang++) to run kernels with";
            // The test passes; where standard error is closed, nobody reads why.
            let _ = writeln!(io::stderr(), "{what}");
        }
        Some(Compiler { name: found? })
    }

    /// The library of `file` in `folder`, compiled now or by another test of the same sources,
    /// and kept in `target`.
    pub fn library(&self, folder: &Path, file: &str, target: &Path) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (&self.name, OPTIONS).hash(&mut hasher);
        for name in [file, "device.h", "rows.h", "bags.h", "host.h"] {
            fs::read(folder.join(name)).unwrap().hash(&mut hasher);
        }
        fs::create_dir_all(target).unwrap();
        let library = target.join(format!("{file}-{:016x}.so", hasher.finish()));
        if library.exists() {
            return library;
        }
        // Tests run at the same time: each writes its own file and renames it when it is whole.
        let process = std::process::id();
        let own = library.with_extension(format!("{process}-{:?}", std::thread::current().id()));
        let output = Command::new(&self.name)
            .args(OPTIONS)
            .arg(folder.join(file))
            .arg("-o")
            .arg(&own)
            .output()
            .unwrap();
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        fs::rename(&own, &library).unwrap();
        library
    }
}
