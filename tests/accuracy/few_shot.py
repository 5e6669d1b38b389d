#!/usr/bin/env python3
"""A new GPU from a twentieth of its products, and sizes that only a sister GPU measured.

    few_shot.py WORK CALIBRATE PREDICT TARGET LOW SHARE [LENDER ...]    a twentieth: SHARE 0.05
    few_shot.py WORK CALIBRATE PREDICT --frontier TARGET [LENDER ...]   m beyond an eighth

TARGET and LENDER are data-set folders with a `gemm.csv` of one dtype. The rows fitted are those
whose hash lies in [LOW, LOW + SHARE), the hash of `calibrate evaluate`; all others are asked.
Prints errors in percent and the coverage of the 90 % interval. Python's standard library only.
"""

import csv
import hashlib
import io
import os
import subprocess
import sys
import tempfile


def share(row):
    key = "|".join(row[name] for name in ("m", "n", "k"))
    return int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) / 2**32


def read(folder):
    with open(os.path.join(folder, "gemm.csv"), newline="") as file:
        return [row for row in csv.DictReader(file) if not row.get("flags")]


def manifest_of(folder):
    """The description of the machine, without its files."""
    with open(os.path.join(folder, "dataset.toml")) as file:
        return file.read().split("[[files]]")[0]


def write(folder, manifest, rows):
    os.makedirs(folder, exist_ok=True)
    text = io.StringIO()
    names = ["dtype", "batch", "m", "n", "k", "time_us", "flags"]
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    data = text.getvalue().encode()
    with open(os.path.join(folder, "gemm.csv"), "wb") as file:
        file.write(data)
    entry = (
        f'[[files]]\nname = "gemm.csv"\nrows = {len(rows)}\n'
        f'sha256 = "{hashlib.sha256(data).hexdigest()}"\n'
    )
    with open(os.path.join(folder, "dataset.toml"), "w") as file:
        file.write(manifest + entry)


def predicted(predict, model, rows):
    """(time, low, high) of each row, in microseconds."""
    text = io.StringIO()
    names = ["family", "dtype", "batch", "m", "n", "k"]
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "family": "gemm"} for row in rows)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(text.getvalue())
        file.flush()
        answer = subprocess.run(
            [predict, "batch", file.name, "--machine", model, "--extrapolate"],
            check=True,
            capture_output=True,
            text=True,
        )
    answered = csv.DictReader(io.StringIO(answer.stdout))
    return [tuple(float(row[name]) for name in ("time_us", "low_us", "high_us")) for row in answered]


def report(label, rows, answers):
    errors = []
    covered = 0
    widths = []
    for row, (time, low, high) in zip(rows, answers, strict=True):
        measured = float(row["time_us"])
        errors.append(abs(time - measured) / measured * 100)
        covered += low <= measured <= high
        widths.append((high - low) / time * 100)
    errors.sort()
    widths.sort()
    count = len(errors)
    print(
        f"{label}: n {count} MAPE {sum(errors) / count:.2f} median {errors[count // 2]:.2f} "
        f"p90 {errors[int(count * 0.9)]:.2f} covered {covered / count * 100:.1f} % "
        f"width {widths[count // 2]:.0f} %",
        flush=True,
    )


def main():
    work, calibrate, predict, *rest = sys.argv[1:]
    frontier = rest[0] == "--frontier"
    if frontier:
        target, *lenders = rest[1:]
    else:
        target, low, part, *lenders = rest
        low, part = float(low), float(part)
    rows = read(target)
    largest = max(int(row["m"]) for row in rows)
    if frontier:
        known = [int(row["m"]) * 8 <= largest for row in rows]
    else:
        known = [low <= share(row) < low + part for row in rows]
    folder = os.path.join(work, "new")
    write(folder, manifest_of(target), [row for row, kept in zip(rows, known) if kept])
    borrow = [word for lender in lenders for word in ("--borrow", lender)]
    subprocess.run([calibrate, "fit", folder, *borrow], check=True, stdout=subprocess.DEVNULL)
    asked = [row for row, kept in zip(rows, known) if not kept]
    name = os.path.basename(target.rstrip("/"))
    label = f"{name}, {len(rows) - len(asked)} rows, lenders {[os.path.basename(l) for l in lenders]}"
    answers = predicted(predict, os.path.join(folder, "model.json"), asked)
    if frontier:
        bands = lambda row: 0.2 <= share(row) < 0.4 or 0.6 <= share(row) < 0.8
        for inside, what in ((True, "bands"), (False, "others")):
            picked = [index for index, row in enumerate(asked) if bands(row) == inside]
            report(f"{label}, {what}", [asked[i] for i in picked], [answers[i] for i in picked])
    else:
        report(label, asked, answers)


if __name__ == "__main__":
    main()
