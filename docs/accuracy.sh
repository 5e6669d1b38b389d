#!/bin/sh
# Prints docs/accuracy.md: the held-out errors of every shipped machine.
#
#   docs/accuracy.sh > docs/accuracy.md        (CALIBRATE names a binary other than the release build)
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
calibrate=${CALIBRATE:-$here/target/release/calibrate}
cat <<'TEXT'
# Accuracy

Printed by `docs/accuracy.sh`, which runs `calibrate evaluate data/machines/<name>` for every
shipped machine. All figures are percent of the measured time.

Each variant is fitted anew without the points it is asked for; corrections are chosen by inner
cross-validation on what is left. The splits:

| split | held out |
|---|---|
| point | a fifth of the points, by hash |
| line | a fifth of the lines: all points that differ only along the axis ((n, k) of a GEMM, ranks of a collective) |
| every_second | every second value along the axis |
| frontier | the top three octaves of the axis |

`covered` is the share of held-out points within the stated 90 % interval, `width` the median width
of that interval. `analytical` is the analytical term without its learned correction, `lookup` is
log-log interpolation between measured points of the same line. With ten points a split, as in
collectives, one point is ten percent of the coverage.
TEXT
cat <<'TEXT'

## The tables themselves

What the GPU machines were fitted to against another measurement of the same shapes, the trtllm
tables of the same package (`data/machines/rebuild.sh WORK --check`; 2 729 to 35 700 common points
a line). Times of trtllm over ours: median, and 10th to 90th percentile.

| machine | GEMM bf16 | context attention bf16 | generation attention bf16 |
|---|---|---|---|
| a100-sxm | 1.002 (0.93 to 1.03) | 1.23 (1.01 to 1.42) | 0.91 (0.63 to 1.45) |
| h100-sxm | 1.022 (0.96 to 1.09) | 1.27 (1.01 to 2.02) | 0.99 (0.73 to 1.44) |
| h200-sxm | 1.016 (0.97 to 1.07) | 1.26 (1.01 to 2.07) | 0.99 (0.73 to 1.51) |
| l40s-pcie | 1.010 (0.89 to 1.15) | 1.23 (0.79 to 1.63) | 0.86 (0.34 to 1.16) |

Products in bf16, from the same library on both sides, agree within 2 % in the median: no table is
off by a factor. fp8 agrees in the median too (0.94 to 1.02) and spreads by two; block-scaled fp8
and attention are other kernels and differ as such. A prediction from these machines speaks for
the kernels of vLLM.
TEXT
for folder in "$here"/data/machines/*/; do
    printf '\n## %s\n\n' "$(basename "$folder")"
    "$calibrate" evaluate "$folder" --format markdown
done
