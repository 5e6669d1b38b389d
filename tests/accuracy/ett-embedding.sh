#!/bin/sh
# Turns `NVIDIAA100-SXM4-80GB_embedding_fp16.csv` of estimate-train-time (github.com/DebarghaG/
# estimate-train-time, MIT) into the columns of embedding.csv, on standard output:
#
#     tests/accuracy/ett-embedding.sh RAW.csv > embedding.csv
#
# Its columns are mp,b,l,dim,F_dur(us),B_dur(us): the mean of ten runs of `nn.Embedding` in fp16
# over the share of a vocabulary that one of mp ranks holds (Kernel_sampling/target_functions.py:
# ceil(50257 / (128 mp)) * 128 rows, indices uniform), for b sequences of l tokens. The op knows
# b * l alone, so that (2, 4096) and (4, 2048) are one shape measured twice: whoever splits the
# rows has to split them by what is printed here.
set -eu

[ $# -eq 1 ] || { echo "usage: $0 RAW.csv > embedding.csv" >&2; exit 2; }

awk -F, '
    NR == 1 {
        sub(/\r$/, "")
        if ($0 != "mp,b,l,dim,F_dur(us),B_dur(us)") {
            print "not the columns of the embedding table: " $0 > "/dev/stderr"
            exit 2
        }
        print "direction,optimizer,dtype,tables,rows,dim,batch,pooling,distribution,time_us"
        next
    }
    NF >= 6 {
        shard = 128 * $1
        rows = int((50257 + shard - 1) / shard) * 128
        shape = sprintf("f16,1,%d,%d,%d,1,uniform", rows, $4, $2 * $3)
        printf "forward,,%s,%s\n", shape, $5 + 0
        printf "backward,dense,%s,%s\n", shape, $6 + 0
    }
' "$1"
