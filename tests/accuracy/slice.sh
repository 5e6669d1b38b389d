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

# slice MACHINE FAMILIES
slice() {
    "$calibrate" evaluate "$root/data/machines/$1" --ops "$2" --bands 0.2..0.4 \
        --limits "$here/limits.csv"
}

slice a100-sxm gemm,collective
slice h200-sxm collective
slice l40s-pcie collective
slice host-x86-64 gemm,embedding,memory,copy

# A model made worse on purpose, the analytical term alone, must not pass.
if "$calibrate" evaluate "$root/data/machines/a100-sxm" --ops gemm --bands 0.2..0.4 \
    --basis analytical --limits "$here/limits.csv" 2>/dev/null; then
    echo "error: the limits let the analytical term alone pass" >&2
    exit 1
fi
