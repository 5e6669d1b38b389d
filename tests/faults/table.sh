#!/bin/sh
# How a run ends under each fault of the stand-in driver, as a Markdown table with measured times.
#
#   tests/faults/table.sh [BIN]
#
# BIN is the folder with the binary `calibrate`; the stand-in lies in its folder `deps` (`cargo build
# --workspace` puts both there). Stand-ins fail as drivers do; no time in a data set comes from them.
set -u

here=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-$here/target/debug}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/driver"
for library in libcuda.so.1 libnvidia-ml.so.1; do
    cp "$bin/deps/libkernelgauge_fake_driver.so" "$scratch/driver/$library" || exit 3
done
cd "$scratch" || exit 3
export TMPDIR="$scratch" LD_LIBRARY_PATH="$scratch/driver"

# row NAME FAULT FIRST ARGUMENTS...: one run; FIRST is `once` where only one process has the fault.
row() {
    name=$1 fault=$2 first=$3
    shift 3
    rm -rf run once
    unset KERNELGAUGE_FAKE_ONCE
    [ "$first" = once ] && export KERNELGAUGE_FAKE_ONCE="$scratch/once"
    began=$(date +%s%N)
    KERNELGAUGE_FAKE_FAULT=$fault "$bin/calibrate" --device "$gpu" --quick --ops memory --out run "$@" \
        >out.txt 2>err.txt
    code=$?
    took=$((($(date +%s%N) - began) / 10000000))
    points=0 failed=0
    if [ -f run/journal.jsonl ]; then
        points=$(grep -c '{"point"' run/journal.jsonl)
        failed=$(grep -c '"status":"failed"' run/journal.jsonl)
    fi
    said=$(sed -n 's/^error: //p' err.txt | head -1)
    if [ -z "$said" ] && [ -f run/samples/memory.csv ]; then
        said=$(grep ',failed,' run/samples/memory.csv | head -1 | sed 's/.*,failed,//; s/"//g')
    fi
    printf '| %s | %s of %s | %s | %d.%02d s | %s |\n' "$name" "$failed" "$points" "$code" \
        $((took / 100)) $((took % 100)) "$(printf %s "$said" | cut -c1-110)"
}

echo '| fault | failed points | exit code | time to end | in the words of the program |'
echo '|---|---|---|---|---|'
gpu=0
row 'none' '' always
gpu=9
row 'a GPU that is not there' '' always
gpu=0
row 'no GPU' no_device always
cp driver/libcuda.so.1 whole
# An old driver lacks a function: here it has a name that no one looks for.
LC_ALL=C sed -i 's/cuEventElapsedTime_v2/XuEventElapsedTime_v2/g' driver/libcuda.so.1
row 'a driver that is too old' old_driver always
mv whole driver/libcuda.so.1
row 'an allocation without room' out_of_memory:6 always
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
