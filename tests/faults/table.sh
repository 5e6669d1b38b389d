#!/bin/sh
# How a run ends under each fault of the stand-ins, as the Markdown table of docs/failures.md, with
# measured times.
#
#   tests/faults/table.sh [BIN]
#
# BIN is the folder with the binary `calibrate`; the stand-ins lie in its folder `deps` (`cargo test
# --workspace --no-run` puts all there). A C++ compiler is needed for the rows of kernels. Stand-ins
# fail as libraries do; no time in a data set comes from them.
set -u

here=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$here/target/debug}" && pwd) || exit 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/driver" "$scratch/kernels" "$scratch/exchange"
cd "$scratch" || exit 3
export TMPDIR="$scratch" LD_LIBRARY_PATH="$scratch/driver" XDG_CACHE_HOME="$scratch/cache"
export KERNELGAUGE_FAKE_KERNELS="$scratch/kernels"

# put NAME LIBRARY: the stand-in NAME under the name of the real library.
put() {
    cp "$bin/deps/libkernelgauge_fake_$1.so" "driver/$2" || exit 3
}

# rename LIBRARY FUNCTION: takes a function away, by a name that no one looks for.
rename() {
    LC_ALL=C sed -i "s/$2/X${2#?}/g" "driver/$1"
}

# report NAME CODE TIME: one row about what lies in `run`, TIME in hundredths of a second.
report() {
    tried=0 failed=0
    if [ -f run/journal.jsonl ]; then
        tried=$(grep '{"point"' run/journal.jsonl | grep -vc '"status":"skipped"')
        failed=$(grep -c '"status":"failed"' run/journal.jsonl)
    fi
    said=$(sed -n 's/^error: //p' err.txt | head -1)
    if [ -z "$said" ] && [ -f "run/samples/$table.csv" ]; then
        said=$(grep ",$shown," "run/samples/$table.csv" | grep -v 'out_of_memory' | head -1 |
            sed "s/.*,$shown,//; s/\"//g; s/,*\$//")
    fi
    printf '| %s | %s of %s | %s | %d.%02d s | %s |\n' "$1" "$failed" "$tried" "$2" \
        $(($3 / 100)) $(($3 % 100)) "$(printf %s "$said" | cut -c1-110)"
}

now() {
    echo $(($(date +%s%N) / 10000000))
}

# fresh FIRST: no run is there; FIRST is `once` where only one process has the fault.
fresh() {
    rm -rf run once exchange
    mkdir exchange
    unset KERNELGAUGE_FAKE_ONCE
    if [ "$1" = once ]; then export KERNELGAUGE_FAKE_ONCE="$scratch/once"; fi
}

# row NAME FAULT FIRST ARGUMENTS...: one run on the GPUs `gpu`.
row() {
    name=$1 fault=$2 first=$3
    shift 3
    fresh "$first"
    began=$(now)
    KERNELGAUGE_FAKE_FAULT=$fault "$bin/calibrate" --device "$gpu" --quick --samples 3 \
        --ops "$table" --out run "$@" >out.txt 2>err.txt
    code=$?
    report "$name" $code $(($(now) - began))
}

# rank N ARGUMENTS...: starts rank N of three.
rank() {
    number=$1
    shift
    OMPI_COMM_WORLD_RANK=$number OMPI_COMM_WORLD_LOCAL_RANK=$number OMPI_COMM_WORLD_SIZE=3 \
        OMPI_COMM_WORLD_LOCAL_SIZE=3 PMIX_NAMESPACE="table-$$" \
        KERNELGAUGE_FAKE_NCCL_FOLDER="$scratch/exchange" \
        "$bin/calibrate" --device 0..7 --quick --samples 3 --ops "$table" --out run "$@" \
        >"out-$number.txt" 2>"err-$number.txt" &
}

# ranks NAME FIRST WHAT ARGUMENTS...: one run of three ranks; WHAT becomes of rank 2. What is
# printed is how rank 0 ended.
ranks() {
    name=$1 first=$2 what=$3
    shift 3
    fresh "$first"
    began=$(now)
    rank 0 "$@"
    zero=$!
    rank 1 "$@"
    case $what in
    missing) ;;
    token)
        export KERNELGAUGE_TOKEN=another
        rank 2 "$@"
        unset KERNELGAUGE_TOKEN
        ;;
    *) rank 2 "$@" ;;
    esac
    last=$!
    if [ "$what" = killed ]; then
        # Some points are measured first.
        looks=0
        while [ "$looks" -lt 500 ] && ! grep -q '{"point"' run/journal.jsonl 2>/dev/null; do
            looks=$((looks + 1))
            sleep 0.02
        done
        kill -9 "$last"
    fi
    wait "$zero"
    code=$?
    took=$(($(now) - began))
    wait 2>/dev/null
    mv err-0.txt err.txt
    report "$name" $code $took
}

put driver libcuda.so.1
put driver libnvidia-ml.so.1
echo '| fault | failed of tried points | exit code | time to end | in the words of the program |'
echo '|---|---|---|---|---|'

# Fills; what is measured beside them needs a compiler of kernels.
export KERNELGAUGE_FAKE_MEMORY=96
table=memory shown=failed gpu=0
row 'none' '' always
gpu=9
row 'a GPU that is not there' '' always
gpu=0
row 'no GPU' no_device always
rename libcuda.so.1 cuEventElapsedTime_v2
row 'a driver that is too old' old_driver always
put driver libcuda.so.1
row 'an allocation without room' out_of_memory:20 always
row 'elapsed times of zero' zero_elapsed always
row 'an error that sticks to one process' sticky:60 once
row 'an error that sticks to every process' sticky:12 always
row 'a crash of one process' crash:60 once
row 'a crash of every process' crash:12 always
row 'a crash while the GPU is opened' crash:1 always
row 'a call that never returns, in one process' hang:60 once
row 'the same, `--deadline 1s`' hang:60 once --deadline 1s
row 'the same in every process' hang:12 always --deadline 1s
row 'the same while the GPU is opened' hang:1 always --deadline 1s
row 'a GPU that is lost' lost:100 always

# Kernels.
shown=skipped
row 'NVRTC is missing' '' always
compiler=$(command -v "${CXX:-c++}" || true)
if [ -n "$compiler" ]; then
    put compiler libnvrtc.so.13
    for source in "$here"/cuda/kernels/*.cu; do basename "$source"; done |
        xargs -P 2 -I '{}' "$compiler" -std=c++17 -O0 -fPIC -shared -ffp-contract=off \
            -fno-strict-aliasing -U_FORTIFY_SOURCE -xc++ "$here/cuda/kernels/{}" \
            -o 'kernels/{}.so' || exit 3
    export KERNELGAUGE_FAKE_MEMORY=81
    KERNELGAUGE_FAKE_COMPILER=old row 'an NVRTC that does not know the GPU' '' always
    shown=failed
    row 'kernels with wrong results' wrong_kernel always
    row 'a launch that is refused' launch_fails:40 always
    rm driver/libnvrtc.so.13
fi

# Matrix products.
export KERNELGAUGE_FAKE_MEMORY=86
table=gemm shown=skipped
row 'cuBLASLt is missing' '' always
put cublaslt libcublasLt.so.13
row 'cuBLASLt has no algorithm' no_algorithm always
rename libcublasLt.so.13 cublasLtMatmulPreferenceCreate
row 'cuBLASLt lacks a function' '' always
put cublaslt libcublasLt.so.13
shown=failed
row 'wrong products' wrong_product always
rm driver/libcublasLt.so.13

# Collectives.
export KERNELGAUGE_FAKE_MEMORY=81
table=collective shown=skipped gpu=0,1
row 'NCCL is missing' '' always
put nccl libnccl.so.2
shown=failed
export KERNELGAUGE_FAKE_NCCL_INIT=hang
row 'NCCL: forming ranks never ends, `--deadline 100ms`' '' always --deadline 100ms
unset KERNELGAUGE_FAKE_NCCL_INIT
export KERNELGAUGE_FAKE_NCCL_COLLECTIVE=hang:262144
row 'NCCL: two collectives never end, `--deadline 1s`' '' always --deadline 1s
export KERNELGAUGE_FAKE_NCCL_COLLECTIVE=hang
row 'NCCL: no collective ends, `--deadline 1s`' '' always --deadline 1s
export KERNELGAUGE_FAKE_NCCL_COLLECTIVE=wrong
row 'NCCL: wrong results' '' always

# Three processes with a GPU each.
export KERNELGAUGE_FAKE_NCCL_COLLECTIVE=hang:2046
ranks 'three ranks: a collective never ends on one, `--deadline 1s --budget 6s`' once all \
    --deadline 1s --budget 6s
export KERNELGAUGE_FAKE_NCCL_COLLECTIVE=hang KERNELGAUGE_FAKE_NCCL_INIT=hang-later
ranks 'three ranks: the same, and joining anew never ends, `--deadline 300ms`' once all \
    --deadline 300ms
unset KERNELGAUGE_FAKE_NCCL_INIT
export KERNELGAUGE_FAKE_NCCL_COLLECTIVE=wrong
ranks 'three ranks: wrong results on one, `--budget 3s`' once all --budget 3s
unset KERNELGAUGE_FAKE_NCCL_COLLECTIVE
table=copy
ranks 'three ranks: one does not come, `--join-within 1s`' always missing --join-within 1s
ranks 'three ranks: one has another token, `--join-within 1s`' always token --join-within 1s
table=collective
ranks 'three ranks: one is killed' always killed
