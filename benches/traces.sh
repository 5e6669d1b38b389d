#!/usr/bin/env bash
# How fast a large Kineto trace is read here, by Python's json and by HolisticTraceAnalysis 0.5.0,
# in the same run on the same file: a real trace repeated until it has 500 MB, each time later and
# with numbers of its own, as a longer recording would have. Times are those of a core, so that
# what else runs on the machine is not in them. Installs the peer from PyPI into a virtual
# environment under target/, and takes about 8 GB of memory for it.
#
#   benches/traces.sh TRACE.json[.gz] [MEGABYTES]
set -euo pipefail
base=$(realpath "${1:?a Kineto trace to repeat}")
megabytes=${2:-500}
cd "$(dirname "$0")/.."

peer=target/peer-traces
if ! "$peer/bin/python" -c 'import hta' 2>/dev/null; then
  python3 -m venv "$peer"
  "$peer/bin/pip" install --quiet HolisticTraceAnalysis==0.5.0
fi
cargo build --quiet --release -p kernelgauge-trace --example read

large=target/large-trace.json
trap 'rm -f "$large"' EXIT
python3 - "$base" "$megabytes" "$large" <<'PYTHON'
import gzip
import re
import sys

base, megabytes, large = sys.argv[1], int(sys.argv[2]), sys.argv[3]
text = (gzip.open if base.endswith(".gz") else open)(base, "rb").read()
begin = text.index(b"[", text.index(b'"traceEvents"')) + 1

# The end of the list: the bracket that closes it, outside of texts.
depth, place = 1, begin
for found in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[\]]', text[begin:]):
    depth += {b"[": 1, b"]": -1}.get(found[0], 0)
    if depth == 0:
        place = begin + found.start()
        break
head, events, tail = text[:begin], text[begin:place].rstrip().rstrip(b","), text[place:]

starts = [float(ts) for ts in re.findall(rb'"ph": ?"X".*?"ts": ?([0-9.]+)', events, re.S)]
span = int(max(starts) - min(starts)) + 1_000_000
numbers = re.compile(rb'("(?:ts|correlation|External id|external id|Ev Idx|Record function id|id)": ?)([0-9]+)')
with open(large, "wb") as out:
    out.write(head)
    written, copy = len(head), 0
    while written < megabytes * 1_000_000:
        def moved(found):
            by = span if found[1].startswith(b'"ts"') else 10_000_000
            return found[1] + str(int(found[2]) + copy * by).encode()
        part = numbers.sub(moved, events) if copy else events
        written += out.write((b"," if copy else b"") + part)
        copy += 1
    out.write(tail)
print(f"{base.rsplit('/', 1)[-1]} x {copy}: {(written + len(tail)) / 1e6:.1f} MB")
PYTHON

echo "kernelgauge"
for _ in 1 2 3; do
  echo "  $(target/release/examples/read "$large")"
done

measure='
import os
import sys
import time

def report(name, seconds, path):
    megabytes = os.path.getsize(path) / 1e6
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(f"  {name}: {seconds:.2f} s of a core, {megabytes / seconds:.1f} MB/s, "
          f"peak {int(peak) * 1024 / 1e6:.0f} MB")
'
echo "Python"
python3 - "$large" <<PYTHON
$measure
import json
begin = time.process_time()
with open(sys.argv[1]) as file:
    trace = json.load(file)
report("json.load", time.process_time() - begin, sys.argv[1])
PYTHON

echo "HolisticTraceAnalysis 0.5.0"
"$peer/bin/python" - "$large" <<PYTHON
$measure
import logging
from hta.common.trace_parser import parse_trace_dataframe
from hta.configs.parser_config import ParserConfig
logging.disable(logging.WARNING)
begin = time.process_time()
meta, frame, symbols = parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())
report("parse_trace_dataframe", time.process_time() - begin, sys.argv[1])
print(f"  {len(frame)} rows")
PYTHON
