"""Times device copies and fills with PyTorch, for comparison with what calibrate measures.

Prints CSV: op, bytes, microseconds (median of 50 samples, each of several executions between two
events on the stream). Bytes are those of one operand.
"""

import statistics
import sys

import torch


def median_us(execute, executions=20, samples=50):
    for _ in range(5):
        execute()
    torch.cuda.synchronize()
    times = []
    for _ in range(samples):
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(executions):
            execute()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / executions)
    return statistics.median(times)


def main():
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    print("op,bytes,time_us,torch")
    for power in range(10, 31, 2):
        size = 1 << power
        source = torch.empty(size, dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        print(f"copy_d2d,{size},{median_us(lambda: target.copy_(source)):.3f},{torch.__version__}")
        print(f"fill,{size},{median_us(lambda: target.fill_(1)):.3f},{torch.__version__}")


if __name__ == "__main__":
    main()
