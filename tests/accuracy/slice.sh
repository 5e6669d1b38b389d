#!/bin/sh
# The slice of the accuracy evaluation that CI runs: shipped data, under a minute or two.
#
#   tests/accuracy/slice.sh        CALIBRATE names a binary other than the release build
#
# Exit code 1 where an error is above limits.csv, and where the limits let a worse model pass.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
calibrate=${CALIBRATE:-$root/target/release/calibrate}

splits=point,line,every_second,sister_dtype,frontier,far_frontier,ranks

# slice MACHINE FAMILIES [ARGUMENT...]
slice() {
    machine=$1 families=$2
    shift 2
    "$calibrate" evaluate "$root/data/machines/$machine" --ops "$families" --bands 0.2..0.4 \
        --splits "$splits" --limits "$here/limits.csv" "$@"
}

slice a100-sxm gemm,collective,attention
slice h200-sxm collective
slice l40s-pcie collective
slice host-x86-64 embedding,memory,copy

# A model made worse on purpose, the analytical term alone, must not pass.
echo "the analytical term alone, which has to exceed the limits:"
status=0
slice a100-sxm gemm --basis analytical || status=$?
if [ "$status" != 1 ]; then
    echo "error: the limits let the analytical term alone pass, or it failed otherwise" >&2
    exit 1
fi
