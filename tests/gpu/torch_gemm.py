"""Times the matrix products of a calibration with PyTorch, for comparison.

    torch_gemm.py GEMM_CSV [SECONDS]

Reads the rows of samples/gemm.csv that were measured and took more than 50 us, and times the same
shape, type and layout: torch.matmul, torch._scaled_mm for fp8, torch._int_mm for int8. Each time is
the median of samples of several executions between two events, replayed from a CUDA graph. Prints CSV
(ratio = ours / PyTorch's), then the median ratio of every type and of all. What does not fit
into SECONDS (50) is left out, spread evenly over the rows.
"""

import csv
import random
import statistics
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("PyTorch is not installed: nothing to compare with")

FLOATS = {
    "f64": torch.float64,
    "f32": torch.float32,
    "tf32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
}
SHORTEST_US = 50.0


def operand(dtype, batch, rows, columns, transposed):
    """A matrix as it is multiplied; one that lies transposed in memory is a view of that."""
    shape = (columns, rows) if transposed else (rows, columns)
    shape = (batch, *shape) if batch > 1 else shape
    if dtype == "int8":
        stored = torch.randint(-128, 128, shape, dtype=torch.int8, device="cuda")
    elif dtype == "fp8":
        stored = (torch.rand(shape, device="cuda") * 2 - 1).to(torch.float8_e4m3fn)
    else:
        stored = torch.rand(shape, dtype=FLOATS[dtype], device="cuda") * 2 - 1
    return stored.transpose(-2, -1) if transposed else stored


def product(row):
    """A function that multiplies the operands of `row`, or a reason why PyTorch does not."""
    dtype, layout = row["dtype"], row.get("layout") or "nt"
    batch, m, n, k = (int(row[name]) for name in ("batch", "m", "n", "k"))
    if dtype not in FLOATS and dtype not in ("fp8", "int8"):
        return None, "no such type"
    if dtype in ("fp8", "int8") and (batch > 1 or layout != "nt"):
        return None, "no batches and no other layout"
    a = operand(dtype, batch, m, k, layout == "tn")
    b = operand(dtype, batch, k, n, layout == "nt")
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    if dtype == "fp8":
        scale_a = torch.tensor(0.5, device="cuda")
        scale_b = torch.tensor(0.25, device="cuda")
        return lambda: torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16), ""
    if dtype == "int8":
        return lambda: torch._int_mm(a, b), ""
    return lambda: torch.matmul(a, b), ""


def median_us(execute, seconds=0.15):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            execute()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    executions = 8
    with torch.cuda.graph(graph):
        for _ in range(executions):
            execute()
    times, began = [], time.monotonic()
    while len(times) < 7 or (time.monotonic() - began < seconds and len(times) < 40):
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        graph.replay()
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / executions)
    return statistics.median(times)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    until = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 50)
    with open(sys.argv[1], newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row.get("status") or "ok") == "ok"]
    rows = [row for row in rows if float(row["time_us"]) > SHORTEST_US]
    random.Random(0).shuffle(rows)
    print(f"# torch {torch.__version__}, CUDA {torch.version.cuda}, {len(rows)} shapes above 50 us")
    print("dtype,layout,batch,m,n,k,time_us,torch_us,ratio")
    ratios, passed_over = {}, 0
    for row in rows:
        if time.monotonic() > until:
            break
        try:
            execute, reason = product(row)
            if execute is None:
                raise RuntimeError(reason)
            theirs = median_us(execute)
        except (RuntimeError, ValueError, AttributeError) as error:
            passed_over += 1
            print(f"# passed over {row['dtype']} {row['m']} {row['n']} {row['k']}: {str(error)[:100]!r}")
            continue
        ours = float(row["time_us"])
        ratios.setdefault(row["dtype"], []).append(ours / theirs)
        shape = [row["dtype"], row.get("layout") or "", row["batch"], row["m"], row["n"], row["k"]]
        print(",".join([*shape, f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.4f}"]))
    everything = [ratio for each in ratios.values() for ratio in each]
    for dtype, each in sorted(ratios.items()):
        print(f"# {dtype}: median ratio {statistics.median(each):.4f} of {len(each)}")
    if everything:
        print(f"# all: median ratio {statistics.median(everything):.4f} of {len(everything)}")
    print(f"# {passed_over} passed over, {len(rows) - passed_over - len(everything)} not reached")


if __name__ == "__main__":
    main()
