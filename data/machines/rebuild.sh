#!/bin/sh
# Builds the data sets of the shipped GPU machines from the package they come from, with the
# commands of this repository, and compares them with what is here.
#
#   data/machines/rebuild.sh WORK            compare; differences are printed, exit code 1
#   data/machines/rebuild.sh WORK --update   replace
#   data/machines/rebuild.sh WORK --check    compare the full tables with the package's trtllm
#                                            tables, another measurement of the same shapes, and
#                                            the errors of thinned and full tables
#
# WORK is a folder for the package and the full tables (about 50 MB). Machine and hardware
# figures are taken from the dataset.toml of each machine, everything below them is written.
# CALIBRATE names a binary to use in place of a release build.
set -eu

work=${1:?usage: data/machines/rebuild.sh WORK [--update|--check]}
update=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
package=aiconfigurator-core
version=0.12.0
tables=$work/aiconfigurator_core/systems/data

mkdir -p "$work"
if [ ! -d "$tables" ]; then
    python3 -m pip download --quiet --no-deps --dest "$work" "$package==$version"
    python3 -m zipfile -e "$work"/aiconfigurator_core-"$version"-*.whl "$work"
fi
calibrate=${CALIBRATE:-}
if [ -z "$calibrate" ]; then
    cargo build --quiet --release --manifest-path "$here/../../Cargo.toml" --bin calibrate
    calibrate=${CARGO_TARGET_DIR:-$here/../../target}/release/calibrate
fi

# import_table MACHINE LINKS PATH METHOD
import_table() {
    "$calibrate" import "$tables/$3" --out "$work/full/$1" --links "$2" \
        --licence Apache-2.0 --method "$4" \
        --source "PyPI $package $version: aiconfigurator_core/systems/data/$3"
}

# build MACHINE SYSTEM LINKS VLLM_VERSION NCCL_FOLDER
build() {
    machine=$1 system=$2 links=$3 vllm=$4 nccl=$5
    rm -rf "$work/full/$machine" "$work/thin/$machine"
    mkdir -p "$work/full/$machine"
    sed '/^\[\[files\]\]/,$d' "$here/$machine/dataset.toml" >"$work/full/$machine/dataset.toml"
    import_table "$machine" "$links" "$system/gemm/vllm/$vllm/gemm_perf.parquet" \
        "by the collector of the package: y[m,n] = x[m,k] W[n,k]^T; CUDA graph over six weight copies (weights rotate, activations stay hot), 3 warm-ups, mean of 6, random data, clocks not locked"
    for phase in context generation; do
        import_table "$machine" "$links" \
            "$system/attention/vllm/$vllm/${phase}_attention_perf.parquet" \
            "by the collector of the package: mean latency as published"
    done
    import_table "$machine" "$links" "$system/comm/nccl/$nccl/nccl_perf.parquet" \
        "by the collector of the package with nccl-tests: latency as published"
    # In a hundred-thousand-row table every second or third row says as much.
    "$calibrate" thin "$work/full/$machine" --out "$work/thin/$machine" \
        --max-bytes 3600000 --summarise-kernels
}

build a100-sxm a100_sxm nvswitch 0.14.0 2.27.3
build h100-sxm h100_sxm nvswitch 0.24.0 2.27.3
build h200-sxm h200_sxm nvswitch 0.24.0 2.26.2
build l40s-pcie l40s pcie 0.24.0 2.27.3

# check MACHINE SYSTEM TRTLLM_VERSION: their kernels differ where weights are quantised and in
# attention; products in bf16 come from the same library.
check() {
    rm -rf "$work/trtllm/$1"
    mkdir -p "$work/trtllm/$1"
    sed '/^\[\[files\]\]/,$d' "$here/$1/dataset.toml" >"$work/trtllm/$1/dataset.toml"
    for table in gemm/trtllm/$3/gemm attention/trtllm/$3/context_attention \
        attention/trtllm/$3/generation_attention; do
        "$calibrate" import "$tables/$2/${table}_perf.parquet" --out "$work/trtllm/$1" 2>/dev/null
    done
    "$calibrate" compare "$work/full/$1" "$work/trtllm/$1"
    "$calibrate" thin "$work/full/$1" --check "$work/thin/$1"
}

if [ "$update" = --check ]; then
    check a100-sxm a100_sxm 1.0.0
    check h100-sxm h100_sxm 1.3.0rc20
    check h200-sxm h200_sxm 1.3.0rc20
    check l40s-pcie l40s 1.3.0rc20
fi

status=0
for machine in a100-sxm h100-sxm h200-sxm l40s-pcie; do
    if [ "$update" = --update ]; then
        cp "$work/thin/$machine"/* "$here/$machine/"
    else
        for file in "$work/thin/$machine"/*; do
            cmp "$file" "$here/$machine/$(basename "$file")" || status=1
        done
    fi
done
exit $status
