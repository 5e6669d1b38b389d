#!/bin/sh
# Prints docs/accuracy.md: the held-out errors of the shipped machines and of the public tables
# under DATASETS, beside those of other tools.
#
#   tests/accuracy/run.sh DATASETS WORK > docs/accuracy.md
#
# DATASETS holds the public measurements that tests/accuracy/README.md names; WORK is a folder for
# what is imported from them and for each evaluation as JSON. CALIBRATE names a binary other than
# the release build. Exit code 1 where a bar of bars.csv is missed: which ones stands on standard
# error and at the end of the document.
set -eu
datasets=${1:?usage: tests/accuracy/run.sh DATASETS WORK}
work=${2:?usage: tests/accuracy/run.sh DATASETS WORK}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$work"
work=$(cd "$work" && pwd)
calibrate=${CALIBRATE:-}
if [ -z "$calibrate" ]; then
    cargo build --quiet --release --locked --manifest-path "$root/Cargo.toml" --bin calibrate
    calibrate=${CARGO_TARGET_DIR:-$root/target}/release/calibrate
fi
missed=$work/missed.txt
: >"$missed"

# table FOLDER MACHINE FILE...: a data set of MACHINE's description and the tables named.
table() {
    folder=$1 machine=$2
    shift 2
    rm -rf "$folder"
    mkdir -p "$folder"
    sed '/^\[\[files\]\]/,$d' "$root/data/machines/$machine/dataset.toml" >"$folder/dataset.toml"
    for file in "$@"; do
        "$calibrate" import "$file" --out "$folder" --where gemm_dtype=bfloat16 2>"$work/import.log" ||
            { cat "$work/import.log" >&2; exit 2; }
    done
}

# evaluate NAME ARGUMENT...: a Markdown table; JSON and what is above its limits are kept.
evaluate() {
    name=$1
    shift
    status=0
    "$calibrate" evaluate "$@" --peers "$here/peers.csv" --limits "$here/bars.csv" \
        --format markdown 2>"$work/$name.log" || status=$?
    cat "$work/$name.log" >&2
    case $status in
    0) ;;
    1) grep '^warning: ' "$work/$name.log" | sed "s/^warning: /* /" >>"$missed" ;;
    *) exit "$status" ;;
    esac
}

cat "$here/heading.md"

cat <<'TEXT'

# Full public tables

bf16 products as measured by the collector of aiconfigurator-core 0.12.0 with vLLM, every row of
the table; beside them its trtllm table (`repeat`), which measures the same library once more, and
its own predictions (`peers`, band 0..0.2). What ships is a thinned table and `--detail standard`;
this is `--detail full`.
TEXT
tables=$datasets/aiconfigurator
# products MACHINE SYSTEM VLLM TRTLLM
products() {
    table "$work/vllm/$1" "$1" "$tables/$2/gemm/vllm/$3/gemm_perf.parquet"
    printf '\n## %s, products\n\n' "$1"
    repeat=
    if [ -n "$4" ]; then
        table "$work/trtllm/$1" "$1" "$tables/$2/gemm/trtllm/$4/gemm_perf.parquet"
        repeat="--repeat $work/trtllm/$1"
    fi
    # shellcheck disable=SC2086
    evaluate "$1-products" "$work/vllm/$1" $detail --bands 0.2..0.4,0.6..0.8 $repeat
    printf '\nThe band of the peers:\n\n'
    # shellcheck disable=SC2086
    evaluate "$1-products-peers" "$work/vllm/$1" $detail --bands 0..0.2 --splits point,line $repeat
}
detail="--detail full"
products h200-sxm h200_sxm 0.24.0 1.3.0rc20
products a100-sxm a100_sxm 0.14.0 1.0.0
products l40s-pcie l40s 0.24.0 ""

cat <<'TEXT'

# Shipped machines

`calibrate evaluate data/machines/NAME`: the thinned tables that ship, fitted as they ship.
TEXT
for folder in "$root"/data/machines/*/; do
    name=$(basename "$folder")
    printf '\n## %s\n\n' "$name"
    evaluate "$name" "$folder"
done

printf '\n# Bars that are missed\n\n'
if [ -s "$missed" ]; then
    cat "$missed"
    exit 1
fi
echo "None of [bars.csv](../tests/accuracy/bars.csv)."
