//! Where NCCL lies when the loader does not know it: folders of Python wheels and toolkits.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::nvidia::places::package_folders;

/// The library's folder in the wheels of NVIDIA: of NCCL alone, and of all of CUDA 13.
const WHEELS: [&str; 2] = ["nvidia/nccl/lib", "nvidia/cu13/lib"];

/// Folders to look into, in order; `variable` reads the environment.
pub(super) fn folders(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let named = |name: &str| variable(name).filter(|text| !text.is_empty()).map(PathBuf::from);
    let mut found = Vec::new();
    for (name, below) in [
        ("NCCL_HOME", "lib"),
        ("CUDA_HOME", "lib64"),
        ("CUDA_PATH", "lib64"),
        ("CONDA_PREFIX", "lib"),
    ] {
        found.extend(named(name).map(|prefix| prefix.join(below)));
    }
    let local = named("HOME").map(|home| home.join(".local"));
    let prefixes = [named("VIRTUAL_ENV"), named("CONDA_PREFIX"), local];
    for prefix in prefixes.into_iter().flatten().chain(["/usr/local".into(), "/usr".into()]) {
        found.extend(wheels(&prefix));
    }
    found.extend(["/usr/local/cuda/lib64", "/usr/local/lib", "/opt/nccl/lib"].map(PathBuf::from));
    found
}

/// Folders of NVIDIA's wheels in the Python installations below `prefix`, those that exist.
fn wheels(prefix: &Path) -> Vec<PathBuf> {
    package_folders(prefix)
        .into_iter()
        .flat_map(|folder| WHEELS.map(|wheel| folder.join(wheel)))
        .filter(|folder| folder.is_dir())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn wheels_of_a_virtual_environment_are_found() {
        let prefix = std::env::temp_dir().join(format!("kernelgauge-nccl-{}", std::process::id()));
        let wheel = prefix.join("lib/python3.11/site-packages/nvidia/nccl/lib");
        fs::create_dir_all(&wheel).unwrap();
        let variable = |name: &str| (name == "VIRTUAL_ENV").then(|| prefix.clone().into());
        assert!(folders(variable).contains(&wheel));
        fs::remove_dir_all(&prefix).unwrap();
    }

    #[test]
    fn named_folders_come_before_usual_ones_and_empty_names_are_none() {
        let variable = |name: &str| match name {
            "CUDA_HOME" => Some("/somewhere/cuda".into()),
            "NCCL_HOME" => Some(OsString::new()),
            _ => None,
        };
        let found = folders(variable);
        assert_eq!(found[0], Path::new("/somewhere/cuda/lib64"));
        assert!(found.contains(&"/usr/local/cuda/lib64".into()));
        assert!(!found.contains(&"lib".into()));
    }
}
