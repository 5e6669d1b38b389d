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
for folder in "$here"/data/machines/*/; do
    printf '\n## %s\n\n' "$(basename "$folder")"
    "$calibrate" evaluate "$folder" --format markdown
done
