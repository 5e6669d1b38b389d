#!/usr/bin/env bash
# Installs what the tests need beyond the Rust toolchain of rust-toolchain.toml. Safe to repeat.
set -euo pipefail

command -v cargo >/dev/null || {
  echo "error: cargo was not found" >&2
  echo "hint: install Rust 1.95 or newer with rustup" >&2
  exit 3
}
command -v cc >/dev/null || {
  echo "no C compiler: installing one (the zstd decoder of the Parquet importer needs it)" >&2
  apt-get update -qq && apt-get install -y -qq gcc libc6-dev
}
command -v c++ >/dev/null || {
  echo "no C++ compiler: installing one (tests run the CUDA kernels on the processor)" >&2
  apt-get update -qq && apt-get install -y -qq g++
}
command -v cargo-nextest >/dev/null || cargo install cargo-nextest --locked
