//! Regenerates `src/nccl/bindings.rs` under the feature `bindgen`; does nothing otherwise.
//!
//! The file is kept in the repository, so that a machine without libclang builds the crate too.
//! `tests/nccl/check_bindings.sh` checks that it is what comes out here.

#![allow(clippy::print_stdout, reason = "cargo reads the script's answers from there")]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bindgen")]
    bindings::regenerate()?;
    Ok(())
}

#[cfg(feature = "bindgen")]
mod bindings {
    use std::error::Error;
    use std::fs;
    use std::path::PathBuf;

    pub fn regenerate() -> Result<(), Box<dyn Error>> {
        let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
        let header = root.join("nccl/kernelgauge_nccl.h");
        let bindings = root.join("src/nccl/bindings.rs");
        println!("cargo::rerun-if-changed={}", header.display());
        println!("cargo::rerun-if-changed={}", bindings.display());
        let generated = bindgen::Builder::default()
            .header(header.to_string_lossy())
            // The type of a stream is CUDA's; to us it is an address.
            .allowlist_function("nccl.*")
            .allowlist_type("nccl.*")
            .allowlist_var("KERNELGAUGE_NCCL_.*")
            .dynamic_library_name("NcclFunctions")
            // A library that lacks one function is still good for the others.
            .dynamic_link_require_all(false)
            // Codes of newer libraries stay plain numbers; as a Rust enum they would be
            // undefined behaviour.
            .default_enum_style(bindgen::EnumVariation::NewType {
                is_bitfield: false,
                is_global: false,
            })
            .generate_comments(false)
            .wrap_unsafe_ops(true)
            .rust_edition(bindgen::RustEdition::Edition2024)
            .rust_target(bindgen::RustTarget::stable(85, 0).map_err(|error| error.to_string())?)
            .generate()?
            .to_string();
        // Left alone when it is the same, so that nothing is built anew.
        if fs::read_to_string(&bindings).ok().as_ref() != Some(&generated) {
            fs::write(&bindings, generated)?;
        }
        Ok(())
    }
}
