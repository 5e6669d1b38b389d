#!/bin/sh
# Turns posted nccl-tests tables into data sets, one folder for each machine:
#
#     tests/accuracy/posted.sh nccl_public.csv OUT [calibrate]
#
# The table has one row for each size of each posted log: where it was posted, collective, GPU, links,
# ranks, nodes, NCCL's version, element type, size in bytes, times out of place and in place in us,
# wrong elements, remarks. What one place posted of one GPU over one kind of links with one NCCL
# and one set-up (the remarks) is one machine, its repeats repeats of points. OUT/one-node has those
# within a node, OUT/several-nodes the rest. Left out: wrong results, sizes rounded to 0 or
# cut off, rows of one rank.
# Each folder states the repository alone as its source, so that machines of one never lend to each
# other (`calibrate evaluate --among`); logs whose repository is not known count as of one.
set -eu

[ $# -ge 2 ] || { echo "usage: $0 nccl_public.csv OUT [calibrate]" >&2; exit 2; }
table=$1 out=$2 calibrate=${3:-calibrate}
rm -rf "$out"
mkdir -p "$out/raw" "$out/one-node" "$out/several-nodes"

# The last column, remarks, is the only one that is quoted or has commas.
awk -F, -v out="$out/raw" '
    BEGIN {
        dtype["float"] = "f32"; dtype["double"] = "f64"; dtype["half"] = "f16"
        dtype["bfloat16"] = "bf16"
        width["float"] = 4; width["double"] = 8; width["half"] = 2; width["bfloat16"] = 2
        split("nvswitch nvlink pcie xgmi", same, " ")
        for (place in same) links[same[place]] = same[place]
        links["multi-node"] = "network"
        collective["alltoall"] = "all_to_all"; collective["sendrecv"] = "send_recv"
    }
    NR == 1 {
        if ($0 !~ /^source_url,table_id,collective,gpu,interconnect,ngpus,nnodes,nccl_version,dtype,redop,size_bytes,count,time_us_out_of_place,/) {
            print "not the columns of the posted tables: " $0 > "/dev/stderr"
            exit 2
        }
        next
    }
    !($9 in dtype) || !($5 in links) || $6 < 2 || $11 < 1 { next }
    {
        split($19, wrong, "|")
        time = $13 + 0 > 0 ? $13 : $16
        if (wrong[1] + 0 > 0 || wrong[2] + 0 > 0 || time + 0 <= 0) next
        # Some logs print a rounded size.
        if ($11 % width[$9]) next
        split($1, part, "/")
        site = $1 ~ /^https:/ ? part[3] "/" part[4] "/" part[5] : "repository not identified"
        remarks = ""
        for (column = 20; column <= NF; column++) remarks = remarks $column
        gsub(/;?size_rounded_to_0|"/, "", remarks)
        machine = site "|" $4 "|" $5 "|" $8 "|" remarks
        if (!(machine in file)) {
            name = $4
            gsub(/[^A-Za-z0-9]+/, "-", name)
            name = tolower(name) "-" $5 "-" ++machines
            kind = $5 == "multi-node" ? "several-nodes" : "one-node"
            file[machine] = out "/" name ".csv"
            print "collective,dtype,ranks,nodes,links,bytes,time_us" > file[machine]
            print kind "|" name "|" $4 "|" site "|" int($6 / $7) > (out "/machines")
        }
        kind = $3 in collective ? collective[$3] : $3
        printf "%s,%s,%s,%s,%s,%s,%.3f\n", kind, dtype[$9], $6, $7, links[$5], $11, time > file[machine]
    }
' "$table"

while IFS='|' read -r kind name gpu site count; do
    "$calibrate" import "$out/raw/$name.csv" --out "$out/$kind/$name" --machine "$name" \
        --device-name "$gpu" --count "$count" --source "$site" \
        --method "nccl-tests, as posted" >"$out/raw/$name.log" 2>&1 || [ $? -eq 1 ] ||
        { cat "$out/raw/$name.log" >&2; exit 2; }
done <"$out/raw/machines"
