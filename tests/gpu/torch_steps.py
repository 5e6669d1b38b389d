"""Records training steps with PyTorch: what `predict` of a whole step is judged by.

    python3 torch_steps.py OUT [--device cuda|cpu] [--seconds N]

Two models, each small enough for any GPU: a DLRM (embedding bags, bottom and top MLP, pairwise
interaction, SGD) and a decoder-only transformer (bf16 autocast, AdamW). Per model the folder OUT
receives

* NAME.steps.csv     milliseconds of steps run without any recording, by events on the stream;
* NAME.kineto.json.gz  three steps recorded by torch.profiler, with shapes;
* NAME.et.json.gz    the execution trace of the same three steps (no durations in it).

Names of hosts, paths and identifiers of the device are taken out of the recordings. On a
processor the same steps run, for rehearsal: their times say nothing of a GPU.
"""

import argparse
import gzip
import json
import os
import socket
import statistics
import sys
import time

import torch
from torch import nn

WARM_UP = 5
RECORDED = 3
# Steps without recording: at least so many, at most so many seconds.
LEAST_STEPS = 10
# Keys of the recordings that name a machine, a device or a place.
PRIVATE = ("uuid", "hostname", "traceName", "host_name", "serial")


class Dlrm(nn.Module):
    """Deep learning recommendation model: rows, tables, dimension and widths as given."""

    def __init__(self, tables, rows, dim, dense, bottom, top):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="sum") for _ in range(tables))
        self.bottom = mlp([dense, *bottom, dim])
        pairs = (tables + 1) * tables // 2
        self.top = mlp([dim + pairs, *top, 1], last=False)
        self.register_buffer("lower", torch.tril_indices(tables + 1, tables + 1, -1), False)

    def forward(self, dense, indices, offsets):
        bottom = self.bottom(dense)
        bags = [bag(index, offsets) for bag, index in zip(self.bags, indices)]
        features = torch.stack([bottom, *bags], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        pairs = products[:, self.lower[0], self.lower[1]]
        return self.top(torch.cat([bottom, pairs], dim=1))


def mlp(widths, last=True):
    layers = []
    for place, (before, after) in enumerate(zip(widths, widths[1:])):
        layers.append(nn.Linear(before, after))
        if last or place < len(widths) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class Transformer(nn.Module):
    """Decoder-only: learned positions, pre-norm blocks, tied to nothing."""

    def __init__(self, layers, width, heads, vocabulary, length):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        block = lambda: nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True,
            norm_first=True)
        self.blocks = nn.ModuleList(block() for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        self.register_buffer("mask", mask, False)

    def forward(self, tokens):
        place = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.tokens(tokens) + self.positions(place)
        for block in self.blocks:
            hidden = block(hidden, src_mask=self.mask, is_causal=True)
        return self.head(self.norm(hidden))


def dlrm(device, small):
    tables, rows, dim, batch, pooling = (4, 1000, 16, 64, 4) if small else (
        8, 1_000_000, 64, 2048, 30)
    widths = ([32], [32]) if small else ([512, 512], [1024, 1024, 1024])
    model = Dlrm(tables, rows, dim, 64, *widths).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    dense = torch.randn(batch, 64, device=device)
    shape = (tables, batch * pooling)
    indices = torch.randint(rows, shape, device=device)
    offsets = torch.arange(0, batch * pooling, pooling, device=device)
    target = torch.rand(batch, 1, device=device)
    loss_of = nn.BCEWithLogitsLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(dense, indices, offsets), target).backward()
        optimizer.step()

    return step


def transformer(device, small):
    layers, width, heads, vocabulary, length, batch = (
        2, 64, 4, 512, 32, 2) if small else (12, 1024, 16, 32_000, 1024, 8)
    model = Transformer(layers, width, heads, vocabulary, length).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(vocabulary, (batch, length), device=device)
    kind = torch.device(device).type

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(kind, dtype=torch.bfloat16):
            logits = model(tokens)
            loss = nn.functional.cross_entropy(
                logits[:, :-1].reshape(-1, vocabulary).float(), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()

    return step


def wait(device):
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def timed(step, device, seconds):
    """Milliseconds of steps one by one, begin to begin, as they follow each other."""
    cuda = torch.device(device).type == "cuda"
    times, began = [], time.monotonic()
    while len(times) < LEAST_STEPS or time.monotonic() - began < seconds:
        if cuda:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            step()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        else:
            start = time.perf_counter()
            step()
            times.append((time.perf_counter() - start) * 1e3)
    return times


def recorded(step, device, kineto, trace):
    from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile

    activities = [ProfilerActivity.CPU]
    if torch.device(device).type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    observer = ExecutionTraceObserver()
    observer.register_callback(trace)
    with profile(activities=activities, record_shapes=True) as profiler:
        observer.start()
        for number in range(RECORDED):
            with torch.profiler.record_function(f"ProfilerStep#{number}"):
                step()
        wait(device)
        observer.stop()
    observer.unregister_callback()
    profiler.export_chrome_trace(kineto)


def scrubbed(value, words):
    """The same JSON without private keys, and without `words` in any text."""
    if isinstance(value, dict):
        return {key: scrubbed(inner, words) for key, inner in value.items()
                if not any(private.lower() in key.lower() for private in PRIVATE)}
    if isinstance(value, list):
        return [scrubbed(inner, words) for inner in value]
    if isinstance(value, str):
        for word in words:
            value = value.replace(word, "")
    return value


def packed(path):
    """Scrubs the JSON at `path` and packs it."""
    with open(path, encoding="utf-8", errors="replace") as file:
        content = json.load(file, strict=False)
    words = [socket.gethostname(), os.path.expanduser("~"), os.getcwd(), sys.prefix]
    words = [word for word in words if len(word) > 3]
    with gzip.open(path + ".gz", "wt", compresslevel=6) as file:
        json.dump(scrubbed(content, words), file, separators=(",", ":"))
    os.remove(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    cuda = torch.device(arguments.device).type == "cuda"
    if cuda and not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    os.makedirs(arguments.out, exist_ok=True)
    torch.manual_seed(0)
    failed = False
    for name, make in (("dlrm", dlrm), ("transformer", transformer)):
        path = lambda end: os.path.join(arguments.out, f"{name}.{end}")
        try:
            step = make(arguments.device, small=not cuda)
            for _ in range(WARM_UP):
                step()
            wait(arguments.device)
            times = timed(step, arguments.device, arguments.seconds)
            with open(path("steps.csv"), "w", encoding="utf-8") as file:
                file.write("step,time_ms\n")
                file.writelines(f"{place},{value:.4f}\n" for place, value in enumerate(times))
            recorded(step, arguments.device, path("kineto.json"), path("et.json"))
            for end in ("kineto.json", "et.json"):
                packed(path(end))
            print(f"{name}: median {statistics.median(times):.3f} ms of {len(times)} steps, "
                  f"PyTorch {torch.__version__}")
        except RuntimeError as error:
            # One model that does not fit or run must not cost the other.
            failed = True
            print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
