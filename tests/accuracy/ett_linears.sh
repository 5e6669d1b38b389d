#!/bin/sh
# Linear layers of estimate-train-time (A100-80, fp16) as data sets that `calibrate evaluate` reads.
#
#   tests/accuracy/ett_linears.sh RAW OUT [CALIBRATE]
#
# RAW is its folder Perlmutter/operator; OUT/forward and OUT/backward are written. A forward pass
# is one product of m = b l rows. A backward pass is two (towards the input and the weights) whose
# times are stated as one: a data set of its own, in which a product means both. What n and k are:
#
#   linear1 (queries, keys, values)  n = 3 dim / mp      k = dim
#   linear2 (attention's output)     n = dim             k = dim / mp
#   linear3 (first of the MLP)       n = 4 dim / mp      k = dim
#   linear4 (second of the MLP)      n = dim             k = 4 dim / mp
#   linear_final (logits)            n = vocabulary / mp k = dim
#
# The vocabulary is GPT-NeoX's 50257, padded to a multiple of 128 mp as it pads it. Layers of one
# (m, n, k) become repeats of one point, so that no shape lies on both sides of a split.
set -eu
raw=$1 out=$2 calibrate=${3:-target/release/calibrate}
root=$(cd "$(dirname "$0")/../.." && pwd)
for pass in forward backward; do
    rm -rf "${out:?}/$pass"
    mkdir -p "$out/$pass"
    table=$out/$pass/linears.csv
    echo 'dtype,m,n,k,time_us' >"$table"
    for layer in 1 2 3 4 _final; do
        tr -d '\r' <"$raw/NVIDIAA100-SXM4-80GB_linear${layer}_fp16.csv" |
            awk -F, -v layer="$layer" -v pass="$pass" '
                NR == 1 {
                    if ($0 != "mp,b,l,dim,F_dur(us),B_dur(us)") { print "columns: " $0; exit 1 }
                    next
                }
                {
                    mp = $1; m = $2 * $3; dim = $4
                    unit = 128 * mp
                    vocabulary = int((50257 + unit - 1) / unit) * unit
                    if (layer == 1) { n = 3 * dim / mp; k = dim }
                    if (layer == 2) { n = dim; k = dim / mp }
                    if (layer == 3) { n = 4 * dim / mp; k = dim }
                    if (layer == 4) { n = dim; k = 4 * dim / mp }
                    if (layer == "_final") { n = vocabulary / mp; k = dim }
                    printf "f16,%d,%d,%d,%s\n", m, n, k, pass == "forward" ? $5 : $6
                }' >>"$table"
    done
    # Repeats that disagree are kept and reported, by exit status 1.
    "$calibrate" import "$table" --out "$out/$pass/data" --machine a100-80 \
        --device-name 'NVIDIA A100-SXM4-80GB' --source 'estimate-train-time, Perlmutter/operator' ||
        [ $? -eq 1 ]
    # The hardware is that of the shipped A100, of the same memory.
    sed -n '/^\[machine.hardware/,/^\[\[/p' "$root/data/machines/a100-sxm/dataset.toml" |
        sed -e '/^\[\[/d' >"$out/$pass/hardware.toml"
    awk -v hardware="$out/$pass/hardware.toml" '
        /^\[machine.hardware\]/ { while ((getline line < hardware) > 0) print line; next }
        { print }' "$out/$pass/data/dataset.toml" >"$out/$pass/dataset.toml"
    mv "$out/$pass/dataset.toml" "$out/$pass/data/dataset.toml"
done
