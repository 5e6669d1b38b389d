#!/usr/bin/env bash
# Compiles every CUDA kernel for five architectures and prints registers, spills and shared memory;
# fails on an error or a spill. Needs no GPU, driver or toolkit: NVRTC comes from PyPI (NVIDIA's
# EULA applies to it, so it is downloaded where it is needed and never kept here).
#
# NVRTC 13 no longer compiles for sm_70, so that one takes NVRTC 12.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${KERNELGAUGE_NVRTC:-target/nvrtc}

# Leaves the library of wheel $1 in $folder/$1; repeated calls take what is there.
fetch() {
  [ -e "$folder/$1/done" ] && return
  rm -rf "${folder:?}/$1"
  mkdir -p "$folder/$1/wheel"
  python3 -m pip download -q --no-deps --disable-pip-version-check -d "$folder/$1/wheel" "$1"
  python3 -m zipfile -e "$folder/$1"/wheel/*.whl "$folder/$1"
  rm -r "$folder/$1/wheel"
  touch "$folder/$1/done"
}

command -v python3 >/dev/null || {
  echo "error: python3 was not found" >&2
  echo "hint: install python3 and python3-pip, which download NVRTC" >&2
  exit 3
}
fetch nvidia-cuda-nvrtc
fetch nvidia-cuda-nvrtc-cu12

cargo build -q -p kernelgauge-cuda --example compile_kernels --locked
compile() { ./target/debug/examples/compile_kernels --nvrtc "$@"; }

# One process loads one NVRTC.
newer=$(find "$folder/nvidia-cuda-nvrtc" -name 'libnvrtc.so.13' | head -n 1)
older=$(find "$folder/nvidia-cuda-nvrtc-cu12" -name 'libnvrtc.so.12' | head -n 1)
compile "$older" --arch sm_70
compile "$newer" --arch sm_80 --arch sm_90 --arch sm_100 --arch sm_120
