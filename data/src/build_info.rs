//! What a binary knows about its own build, handed to the command it runs.
//!
//! The root package's build script collects these texts; the crates that implement the
//! commands only print them.

/// Version and generated texts of one command.
#[derive(Debug, Clone, Copy)]
pub struct BuildInfo {
    /// Version of the package: `0.1.0`.
    pub version: &'static str,
    /// Short git revision, with `-dirty` where tracked files differed; `unknown` outside a
    /// repository.
    pub git: &'static str,
    /// Short sha256 over the shipped data sets' manifests and models.
    pub data_stamp: &'static str,
    /// The man page, in roff.
    pub man: &'static str,
    /// Completion scripts.
    pub completions: Completions,
    /// The model file of a shipped machine by its name, with the name in full.
    pub shipped: fn(&str) -> Option<(&'static str, &'static str)>,
}

/// The completion script of each supported shell.
#[derive(Debug, Clone, Copy)]
pub struct Completions {
    /// For bash.
    pub bash: &'static str,
    /// For zsh.
    pub zsh: &'static str,
    /// For fish.
    pub fish: &'static str,
}

impl BuildInfo {
    /// What `--version` prints after the command's name:
    /// `0.1.0 (git 1a2b3c4d5e6f, data 0f1e2d3c4b5a)`.
    pub fn version_line(&self) -> String {
        format!("{} (git {}, data {})", self.version, self.git, self.data_stamp)
    }

    /// A build without a build script, for tests of the commands' libraries.
    pub const fn plain() -> Self {
        BuildInfo {
            version: env!("CARGO_PKG_VERSION"),
            git: "unknown",
            data_stamp: "unknown",
            man: "",
            completions: Completions { bash: "", zsh: "", fish: "" },
            shipped: |_| None,
        }
    }
}
