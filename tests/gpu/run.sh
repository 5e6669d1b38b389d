#!/bin/sh
# Everything that only a machine with a GPU can show, in at most eight minutes, into one folder.
#
#   tests/gpu/run.sh OUT [BIN]
#
# OUT is a folder (made where missing; it stays below 60 MB). BIN is the folder of release binaries
# built elsewhere (`target/release`), which need nothing but a driver here. Each step has its own
# limit, and none runs past the whole script's; all are told of in OUT/steps.txt with exit code and
# seconds, and one that fails does not stop the next. Clocks, power limits and modes of the GPU are left as they are. OUT/README of what each
# file means: tests/gpu/README.md.
set -u

out=${1:?usage: tests/gpu/run.sh OUT [BIN]}
here=$(cd "$(dirname "$0")/../.." && pwd)
bin=${2:-$here/target/release}
budget=${KERNELGAUGE_GPU_BUDGET:-240}
fresh=${KERNELGAUGE_GPU_FRESH:-30}
whole=${KERNELGAUGE_GPU_SECONDS:-470}
mkdir -p "$out"
: >"$out/steps.txt"
started=$(date +%s)

# step NAME LIMIT COMMAND...: runs it for at most LIMIT seconds, and within the whole script's.
step() {
    name=$1 limit=$2
    shift 2
    began=$(date +%s)
    left=$((whole - (began - started)))
    if [ "$left" -lt 5 ]; then
        echo "$name: skipped, no time is left" | tee -a "$out/steps.txt"
        return 0
    fi
    [ "$limit" -le "$left" ] || limit=$left
    timeout --kill-after=10 "$limit" "$@" >"$out/$name.txt" 2>"$out/$name.err"
    code=$?
    echo "$name: exit $code, $(($(date +%s) - began)) s of $limit" | tee -a "$out/steps.txt"
    return $code
}

# What the driver says of the GPU: no serial number, no UUID, no names of hosts or users.
if command -v nvidia-smi >/dev/null; then
    step nvidia_smi 20 nvidia-smi \
        --query-gpu=name,driver_version,pstate,temperature.gpu,power.draw,power.limit,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,ecc.mode.current,mig.mode.current,persistence_mode,compute_mode \
        --format=csv
    step topology 20 nvidia-smi topo -m
fi
step doctor 30 "$bin/calibrate" doctor
step plan 30 "$bin/calibrate" --device 0 --plan
# NVRTC compiles every kernel for the architectures in use, where it is on the machine.
if [ -x "$bin/examples/compile_kernels" ]; then
    step kernels 60 "$bin/examples/compile_kernels" --arch sm_90
fi
# Every collective on two ranks that share the GPU, where NCCL is 2.30 or newer.
if [ -x "$bin/examples/nccl_checks" ]; then
    NCCL_MULTI_RANK_GPU_ENABLE=1 step nccl 90 "$bin/examples/nccl_checks"
fi
step calibrate $((budget + 40)) "$bin/calibrate" --device 0 --budget "${budget}s" --out "$out/machine"
if [ -f "$out/machine/model.json" ]; then
    step fresh 60 "$bin/calibrate" evaluate "$out/machine" --device 0 --fresh "$fresh"
    step fresh_points 60 "$bin/calibrate" evaluate "$out/machine" --device 0 --fresh "$fresh" \
        --seed 1 --format json
fi
# The same device copies and matrix products timed by PyTorch, and training steps recorded.
python=$(command -v python3 || true)
if [ -n "$python" ] && "$python" -c 'import torch' 2>/dev/null; then
    step torch 60 "$python" "$here/tests/gpu/torch_copies.py"
    table=$out/machine/samples/gemm.csv
    [ ! -f "$table" ] || step torch_gemm 60 "$python" "$here/tests/gpu/torch_gemm.py" "$table"
    step torch_steps 90 "$python" "$here/tests/gpu/torch_steps.py" "$out/steps"
else
    echo "torch, torch_gemm, torch_steps: PyTorch is not installed" | tee -a "$out/steps.txt"
fi
du -sk "$out" | awk '{ print "size: " $1 / 1024 " MB" }' | tee -a "$out/steps.txt"
