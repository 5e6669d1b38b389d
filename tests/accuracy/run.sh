#!/bin/sh
# Prints docs/accuracy.md: the held-out errors of the shipped machines and of the public tables
# under DATASETS, beside those of other tools.
#
#   tests/accuracy/run.sh DATASETS WORK > docs/accuracy.md
#
# DATASETS holds the public measurements that tests/accuracy/README.md names; WORK is a folder for
# what is imported from them and for what was said about it. CALIBRATE names a binary other than
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
bars=$here/bars.csv
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
        "$calibrate" import "$file" --out "$folder" --where gemm_dtype=bfloat16 >"$work/import.log" 2>&1 ||
            { cat "$work/import.log" >&2; exit 2; }
    done
}

# evaluate NAME ARGUMENT...: a Markdown table; what is above its limits is kept.
evaluate() {
    name=$1
    shift
    status=0
    "$calibrate" evaluate "$@" --peers "$here/peers.csv" --limits "$bars" \
        --format markdown 2>"$work/$name.log" || status=$?
    cat "$work/$name.log" >&2
    case $status in
    0) ;;
    1) grep '^warning: ' "$work/$name.log" | sed "s/^warning: /* $name: /" >>"$missed" ;;
    *) exit "$status" ;;
    esac
}

cat "$here/heading.md"

cat <<'TEXT'

# Shipped machines

`calibrate evaluate data/machines/NAME`: the thinned tables that ship, fitted as they ship; the band
0.2..0.4 of their points and lines.
TEXT
# The bars of products are those of the full tables, those of single points of collectives below.
grep -v -e ',gemm,' -e ',collective,all,point,' "$here/bars.csv" >"$work/bars-shipped.csv"
bars=$work/bars-shipped.csv
for folder in "$root"/data/machines/*/; do
    name=$(basename "$folder")
    printf '\n## %s\n\n' "$name"
    evaluate "$name" "$folder" --bands 0.2..0.4 \
        --splits point,line,every_second,sister_dtype,frontier,far_frontier,wide_frontier,ranks
done

cat <<'TEXT'

# Every single point of collectives

A band of points holds the same ten or so (ranks, bytes) out of every collective and type, and a
switch of protocols among them moves the share that intervals cover by ten points and more. So each fifth
is held out in turn here, every point once.
TEXT
grep -e '^machine,' -e ',collective,all,point,' "$here/bars.csv" >"$work/bars-points.csv"
bars=$work/bars-points.csv
for folder in "$root"/data/machines/*-*/; do
    name=$(basename "$folder")
    [ -f "$folder/collective.csv" ] || continue
    printf '\n## %s, collectives\n\n' "$name"
    evaluate "$name-points" "$folder" --ops collective --splits point \
        --bands 0..0.2,0.2..0.4,0.4..0.6,0.6..0.8,0.8..1
done

bars=$here/bars.csv
cat <<'TEXT'

# Full public tables

bf16 products as measured by the collector of aiconfigurator-core 0.12.0 with vLLM, every row of
the table, fitted with `--detail full`; what ships is a thinned table and `--detail standard`.
`repeat` is the same package's trtllm table, another measurement of the same library.
TEXT
tables=$datasets/aiconfigurator
vllm=$work/vllm
both="--bands 0.2..0.4,0.6..0.8"
table "$vllm/h100-sxm" h100-sxm "$tables/h100_sxm/gemm/vllm/0.24.0/gemm_perf.parquet"

sed -n '1,/^machine,/p' "$here/bars.csv" >"$work/no-bars.csv"
echo 'none,gemm,bf16,point,100,,,,' >>"$work/no-bars.csv"

# products MACHINE SYSTEM VLLM TRTLLM
products() {
    table "$vllm/$1" "$1" "$tables/$2/gemm/vllm/$3/gemm_perf.parquet"
    repeat=
    if [ -n "$4" ]; then
        table "$work/trtllm/$1" "$1" "$tables/$2/gemm/trtllm/$4/gemm_perf.parquet"
        repeat="--repeat $work/trtllm/$1"
    fi
    printf '\n## %s, products\n\n' "$1"
    # shellcheck disable=SC2086
    evaluate "$1-products" "$vllm/$1" --detail full $both $repeat \
        --splits point,line,every_second,frontier
    printf '\nThe band of the peers:\n\n'
    # shellcheck disable=SC2086
    # Its band is not the bars'.
    bars=$work/no-bars.csv
    evaluate "$1-peers" "$vllm/$1" --detail full --bands 0..0.2 $repeat --splits point,line
    bars=$here/bars.csv
}
products h200-sxm h200_sxm 0.24.0 1.3.0rc20
products a100-sxm a100_sxm 0.14.0 1.0.0
products l40s-pcie l40s 0.24.0 ""

cat <<'TEXT'

# Machines that borrow

The same tables with others to borrow from (`--borrow`): a twentieth of the points known, nothing
but the description known, and the m that only the sister GPU was measured at.
TEXT
# borrowing TITLE MACHINE LENDERS ARGUMENT...
borrowing() {
    title=$1 machine=$2 lenders=$3
    shift 3
    printf '\n## %s\n\n' "$title"
    # shellcheck disable=SC2086
    evaluate "$machine-borrowing" "$vllm/$machine" --borrow "$lenders" $both "$@"
}
hardly=few_shot,unseen_machine
borrowing "a100-sxm from h100-sxm and l40s-pcie" a100-sxm "$vllm/h100-sxm,$vllm/l40s-pcie" --splits $hardly
borrowing "l40s-pcie from h100-sxm and a100-sxm" l40s-pcie "$vllm/h100-sxm,$vllm/a100-sxm" --splits $hardly
# few_points TITLE NAME MACHINES LENDERS: machines that lend to each other, and others that lend;
# both joined by commas.
few_points() {
    printf '\n## %s\n\n' "$1"
    evaluate "$2" "${3%%,*}" --among "${3#*,}" --borrow "$4" --ops collective --splits few_points
}
# joined ARGUMENT...
joined() {
    (IFS=, && printf '%s' "$*")
}
frontier_limits() {
    # A frontier that a sister helps with has a bar of its own.
    sed 's/^h200-sxm+h100-sxm,/h200-sxm,/; /^h200-sxm,gemm,bf16,frontier,5.0/d' "$here/bars.csv"
}
frontier_limits >"$work/bars-sister.csv"
printf '\n## h200-sxm beyond m = 4096 from h100-sxm\n\n'
bars=$work/bars-sister.csv
evaluate h200-sxm-sister "$vllm/h200-sxm" --borrow "$vllm/h100-sxm" --splits frontier --detail full
bars=$here/bars.csv

cat <<'TEXT'

# Three points a curve

Of each curve (machine, collective, type, ranks) the smallest, the largest and the middle size are
known, the rest is asked; all other machines lend that are not of the same source (`calibrate
evaluate --among`). First the machines that ship, then posted nccl-tests logs: machines of one
node, and of several. The weights of lenders were chosen on the machines that ship and on a half of
the repositories: for these the figures are not blind.
TEXT
posted=$work/posted
sh "$here/posted.sh" "$datasets/nccl_public/nccl_public.csv" "$posted" "$calibrate"
shipped=$(joined "$root"/data/machines/*-sxm "$root"/data/machines/*-pcie)
one=$(joined "$posted"/one-node/*)
several=$(joined "$posted"/several-nodes/*)
few_points "The machines that ship" few-shipped "$shipped" "$one,$several"
few_points "Posted logs of one node" few-one-node "$one" "$shipped,$several"
few_points "Posted logs of several nodes" few-several-nodes "$several" "$shipped,$one"

cat <<'TEXT'

# Layers of estimate-train-time

Linear layers and `nn.Embedding` in fp16 on an A100-80 (Perlmutter), by shape: no shape lies on both
sides. Its own forests and boosting reach 10.3 % forward and 9.6 % backward on the layers, 4.6 and
5.2 % on the embedding.
TEXT
operators=$datasets/estimate_train_time/Perlmutter/operator
sh "$here/ett_linears.sh" "$operators" "$work/ett" "$calibrate" >"$work/import.log" 2>&1
for pass in forward backward; do
    printf '\n## Linear layers, %s\n\n' "$pass"
    # shellcheck disable=SC2086
    evaluate "ett-$pass" "$work/ett/$pass/data" --detail full $both --splits point
done
rm -rf "$work/ett/embedding"
mkdir -p "$work/ett/embedding"
sh "$here/ett-embedding.sh" "$operators/NVIDIAA100-SXM4-80GB_embedding_fp16.csv" >"$work/ett/embedding.csv"
sed '/^\[\[files\]\]/,$d' "$work/ett/forward/data/dataset.toml" >"$work/ett/embedding/dataset.toml"
"$calibrate" import "$work/ett/embedding.csv" --out "$work/ett/embedding" >"$work/import.log" 2>&1 || [ $? -eq 1 ]
printf '\n## Embedding\n\n'
# shellcheck disable=SC2086
evaluate ett-embedding "$work/ett/embedding" $both --splits point

# Needs pandas with a parquet reader; PYTHON names one that has it.
python=${PYTHON:-python3}
if "$python" -c 'import pandas, pyarrow' 2>/dev/null; then
    cat <<'TEXT'

# GPUs never measured

NeuSight's public operators (f32): P4, P100, V100, T4 and A100-40 lend; A100-80, L4 and H100 are
described by their data sheets and one product and one addition each, which are not scored. First its
test files, then operators as measured inside whole models beside four peers' predictions
(`tests/accuracy/neusight.py DATA WORK calibrate predict --labels`).

TEXT
    printf '```text\n'
    "$python" "$here/neusight.py" "$datasets/neusight" "$work/neusight" "$calibrate" \
        "$(dirname "$calibrate")/predict" --labels
    printf '```\n'
fi

cat <<'TEXT'

# How few points would have been enough

The H200's table answers for the machine; lines of the band 0.2..0.4 are held out before anything is
chosen. `calibrate evaluate DIR --sweep`.

TEXT
"$calibrate" evaluate "$vllm/h200-sxm" --sweep --bands 0.2..0.4 --format markdown

printf '\n# Bars that are missed\n\n'
if [ -s "$missed" ]; then
    cat "$missed"
    exit 1
fi
echo "None of [bars.csv](../tests/accuracy/bars.csv)."
