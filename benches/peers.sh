#!/usr/bin/env bash
# One GEMM prediction here and in aiconfigurator-core 0.12.0, in the same run on the same table
# (H200, vLLM 0.24.0). Installs the peer from PyPI into a virtual environment under target/.
#
#   benches/peers.sh
set -euo pipefail
cd "$(dirname "$0")/.."

peer=target/peers
if ! "$peer/bin/python" -c 'import aiconfigurator_core' 2>/dev/null; then
  python3 -m venv "$peer"
  "$peer/bin/pip" install --quiet aiconfigurator-core==0.12.0
fi

echo "kernelgauge"
# criterion puts the times on a line of their own where the name is long.
cargo bench --quiet --bench predict -- --noplot 'one gemm prediction' | awk '
  /^one gemm prediction\// { name = $0; sub(/.*\//, "", name); sub(/ *time:.*/, "", name) }
  / time: / { sub(/.*time: */, ""); printf "  %-15s %s\n", name, $0 }'

echo "aiconfigurator-core 0.12.0"
"$peer/bin/python" - <<'PYTHON'
# The public way to its engine for a single op is a list of ops compiled once and evaluated at
# a given m. Every shape in a list is another one, so that no answer is remembered.
import json
import time

import aiconfigurator_core
from aiconfigurator_core.sdk import common, perf_database
from aiconfigurator_core.sdk.engine import build_database_probe_spec_json, build_ops_json
from aiconfigurator_core.sdk.operations.gemm import GEMM

database = perf_database.get_database("h200_sxm", "vllm", "0.24.0")
bf16 = common.GEMMQuantMode.bfloat16


def engine(shapes):
    ops = [GEMM(f"{n}x{k}", 1.0, n, k, bf16) for n, k in shapes]
    spec = json.loads(build_database_probe_spec_json(database))
    spec["context_ops"] = json.loads(build_ops_json(ops))
    compiled = aiconfigurator_core.engine_spec_bincode_from_json(json.dumps(spec))
    return aiconfigurator_core.AicEngine.from_spec(bytes(compiled), None)


def microseconds(shapes, m):
    ready = engine(shapes)
    indices = list(range(len(shapes)))
    times = []
    # The first evaluation loads the table; afterwards m changes with every one.
    for repeat in range(-1, 20):
        start = time.perf_counter()
        ready.evaluate_context_ops(indices, 1, m[repeat % len(m)])
        times.append(time.perf_counter() - start)
    return sorted(times[1:])[10] / len(shapes) * 1e6


powers = [1024, 2048, 4096, 8192]
measured = [(n, k) for n in powers for k in powers]
unseen = [(5000 + 8 * i, 7000 + 24 * i) for i in range(500)]
print(f"  measured point  {microseconds(measured, [1024, 2048, 4096, 8192]):.2f} us")
print(f"  measured line   {microseconds(measured, list(range(3001, 3022))):.2f} us")
print(f"  unseen line     {microseconds(unseen, list(range(3001, 3022))):.2f} us")
PYTHON
