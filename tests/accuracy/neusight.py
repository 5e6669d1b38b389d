#!/usr/bin/env python3
"""NeuSight's public tables: models of GPUs that were never measured, but for a row or two.

    neusight.py DATA WORK CALIBRATE PREDICT [--lenders | --labels]

DATA holds NeuSight's parquet files (sitemao/NeuSight). P4, P100, V100, T4 and A100-40 lend what
the training files have of them; A100-80, L4 and H100 are described by their data sheets and by
calibration rows that are not scored: of each variant in CALIBRATED (a comma-separated list in the
environment, here one linear and one add) the product nearest to the operations of a 4096 cubed
one, and the largest add. FAMILIES restricts what is fitted. Prints errors in percent on the test
files, by op, and the coverage of the 90 % interval. With --lenders each lender is left out in
turn and asked for its rows of the test files: what settings are chosen by. With --labels the
models of the three GPUs are asked for operators timed inside whole models too, where four peers
stand beside (neusight_labels.py), and the calibration rows are printed.
Needs pandas with a parquet reader.
"""

import hashlib
import io
import os
import subprocess
import sys

import pandas

import neusight_labels

# Figures: SMs, GB/s, last-level cache in MB, f32 TFLOP/s, compute capability.
# https://images.nvidia.com/content/pdf/tesla/184457-Tesla-P4-Datasheet-NV-Final-Letter-Web.pdf
# https://images.nvidia.com/content/tesla/pdf/nvidia-tesla-p100-PCIe-datasheet.pdf
# https://images.nvidia.com/content/technologies/volta/pdf/tesla-volta-v100-datasheet-letter-fnl-web.pdf
# https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/tesla-t4/t4-tensor-core-datasheet-951643.pdf
# https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-nvidia-us-2188504-web.pdf
# https://resources.nvidia.com/en-us-data-center-overview/l4-gpu-datasheet
# https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet
# SMs, caches: the architecture white papers; capabilities: https://developer.nvidia.com/cuda-gpus
LENDERS = {
    "Tesla P4": ("p4", 20, 192, 2, 5.5, 6.1),
    "Tesla P100-PCIE-16GB": ("p100", 56, 732, 4, 9.3, 6.0),
    "Tesla V100-PCIE-32GB": ("v100", 80, 900, 6, 14.0, 7.0),
    "Tesla T4": ("t4", 40, 320, 4, 8.1, 7.5),
    "NVIDIA A100-PCIE-40GB": ("a100-40", 108, 1555, 40, 19.5, 8.0),
}
NEW = {
    "NVIDIA A100 80GB PCIe": ("a100-80", 108, 1935, 40, 19.5, 8.0),
    "NVIDIA L4": ("l4", 58, 300, 48, 30.3, 8.9),
    "NVIDIA H100 80GB HBM3": ("h100", 132, 3350, 50, 66.9, 9.0),
}

# Operations of the calibration row: those of a square product of 4096. A vector op's row is its
# largest.
CALIBRATION = 2 * 4096**3

# The variants that have one: a peak and a bandwidth.
CALIBRATED = os.environ.get("CALIBRATED", "nt,add").split(",")

FAMILIES = os.environ.get("FAMILIES", "gemm,memory").split(",")

# NeuSight's names of ops that we have under another, and ours. `u` is one operand and a number.
MEMORY = {"add": "add", "mulu": "scale", "relu": "relu", "gelu": "gelu", "softmax": "softmax", "ln": "layer_norm"}
GROUPS = {"add": "element-wise", "scale": "element-wise", "relu": "element-wise", "gelu": "element-wise"}


def products(table, op):
    """Our columns; in NeuSight's bmm N is the contraction, in its linear K."""
    n, k = ("K", "N") if op == "bmm" else ("N", "K")
    return pandas.DataFrame(
        {
            "dtype": "f32",
            "layout": "nn" if op == "bmm" else "nt",
            "batch": table["B"],
            "m": table["M"],
            "n": table[n],
            "k": table[k],
            "time_us": (table["Latency"] * 1e3).round(3),
            "device": table["Device"],
        }
    )


def vectors(table):
    table = table[table["OPName"].isin(list(MEMORY))]
    op = table["OPName"].map(MEMORY)
    whole = op.isin(list(GROUPS))
    return pandas.DataFrame(
        {
            "op": op,
            "dtype": "f32",
            "elements": table["B"] * table["H"],
            "bytes_read": "",
            "bytes_written": "",
            "rows": table["B"].where(~whole, 1),
            "time_us": (table["Latency"] * 1e3).round(3),
            "device": table["Device"],
        }
    )


def read(data, part):
    gemm = [products(pandas.read_parquet(f"{data}/{part}_{op}.parquet"), op) for op in ("bmm", "linear")]
    memory = vectors(pandas.read_parquet(f"{data}/{part}_vec.parquet"))
    kept = lambda table: table[table["time_us"] > 0].reset_index(drop=True)
    both = {"gemm": kept(pandas.concat(gemm)), "memory": kept(memory)}
    return {family: both[family] for family in FAMILIES}


def write(folder, device, figures, tables):
    name, units, memory, cache, peak, capability = figures
    os.makedirs(folder, exist_ok=True)
    text = (
        f'format_version = 1\norigin = "imported"\n\n[machine]\nname = "{name}"\n'
        f'device = "{device}"\ncount = 1\n\n[machine.hardware]\nunits = {units}\n'
        f"memory_gb_s = {float(memory)}\ncache_bytes = {cache * 10**6}\n"
        f"compute_capability = {capability}\n\n[machine.hardware.peak_tflop_s]\nf32 = {peak}\n"
    )
    for family, table in tables.items():
        if table.empty:
            continue
        data = table.drop(columns="device").to_csv(index=False, lineterminator="\n").encode()
        with open(f"{folder}/{family}.csv", "wb") as file:
            file.write(data)
        digest = hashlib.sha256(data).hexdigest()
        text += f'\n[[files]]\nname = "{family}.csv"\nrows = {len(table)}\nsha256 = "{digest}"\n'
        text += 'source = "NeuSight"\nmethod = "mean of the five fastest of 25"\n'
    with open(f"{folder}/dataset.toml", "w") as file:
        file.write(text)


def calibration(tables):
    """One row per variant, and what is left to be scored."""
    rows, rest = {}, {}
    for family, table in tables.items():
        keys = ["layout"] if family == "gemm" else ["op"]
        if family == "gemm":
            flops = 2 * table["batch"] * table["m"] * table["n"] * table["k"]
            wide = table[["m", "n", "k"]].min(axis=1) >= 256
            rank = (flops.astype(float) / CALIBRATION).where(wide, 1e18)
            rank = rank.where(rank >= 1, 1 / rank)
        else:
            rank = -table["elements"]
        picked = rank.groupby([table[key] for key in keys]).idxmin()
        picked = picked[[key for key in picked.index if key in CALIBRATED]]
        rows[family] = table.loc[picked]
        rest[family] = table.drop(index=picked)
    return rows, rest


def predicted(predict, model, family, table):
    text = table.drop(columns=["time_us", "device"]).assign(family=family)
    with open(f"{os.path.dirname(model)}/asked-{family}.csv", "w") as file:
        file.write(text.to_csv(index=False))
    answer = subprocess.run(
        [predict, "batch", file.name, "--machine", model, "--extrapolate"],
        capture_output=True,
        text=True,
    )
    answered = pandas.read_csv(io.StringIO(answer.stdout), low_memory=False)
    return answered[["time_us", "low_us", "high_us"]].reset_index(drop=True)


def kind_of(name):
    return {"nn": "bmm", "nt": "linear"}.get(name) or GROUPS.get(name, name)


def scored(label, table):
    error = (table["answer"] / table["time_us"] - 1).abs() * 100
    covered = (table["low"] <= table["time_us"]) & (table["time_us"] <= table["high"])
    by = error.groupby(table["device"]).mean().round(1).to_dict()
    short = {{**LENDERS, **NEW}[device][0]: value for device, value in by.items()}
    width = ((table["high"] - table["low"]) / table["answer"]).median() * 100
    print(
        f"{label:14} n {len(table):5} MAPE {error.mean():5.1f} median {error.median():5.1f} "
        f"p90 {error.quantile(0.9):5.1f} covered {covered.mean() * 100:5.1f} % "
        f"width {width:4.0f} %  {short}",
        flush=True,
    )


def print_calibration(name, rows):
    for family, table in rows.items():
        for row in table.drop(columns=["device", "dtype"]).to_dict("records"):
            words = " ".join(f"{key} {value}" for key, value in row.items() if value != "")
            print(f"calibrates {name}: {family} {words}", flush=True)


def label_answers(predict, model, labels):
    """Our answers to the labels that map, by the labels' index."""
    answers = []
    for family in FAMILIES:
        asked = neusight_labels.questions(labels, family)
        if not asked.empty:
            answer = predicted(predict, model, family, asked).set_axis(asked.index)
            answers.append(answer.set_axis(["answer", "low", "high"], axis=1))
    return pandas.concat(answers)


def print_labels(labels, answers):
    layout = labels["layout"].where(labels["layout"].notna(), labels["op"])
    labels = labels.assign(kind=layout.map(kind_of, na_action="ignore")).join(answers)
    neusight_labels.print_scores(labels, {device: given[0] for device, given in NEW.items()})


def main():
    data, work, calibrate, predict = [word for word in sys.argv[1:] if word[:2] != "--"]
    flags = {word for word in sys.argv[1:] if word[:2] == "--"}
    if flags not in (set(), {"--lenders"}, {"--labels"}):
        sys.exit(__doc__)
    train, test = read(data, "train"), read(data, "test")
    of = lambda tables, device: {family: t[t["device"] == device] for family, t in tables.items()}
    for device, figures in LENDERS.items():
        write(f"{work}/{figures[0]}", device, figures, of(train, device))
    answered = []
    # Settings are chosen on the lenders themselves, each left out in turn.
    asked = LENDERS if "--lenders" in flags else NEW
    labels = neusight_labels.read(data, list(NEW)) if "--labels" in flags else None
    of_labels = []
    for device, figures in asked.items():
        rows, rest = calibration(of(test, device))
        folder = f"{work}/new-{figures[0]}"
        write(folder, device, figures, rows)
        others = [given for given in LENDERS.values() if given != figures]
        borrow = [word for given in others for word in ("--borrow", f"{work}/{given[0]}")]
        subprocess.run([calibrate, "fit", folder, *borrow], check=True, stdout=subprocess.DEVNULL)
        if labels is not None:
            print_calibration(figures[0], rows)
            own = labels[labels["device"] == device]
            of_labels.append(label_answers(predict, f"{folder}/model.json", own))
        for family, table in rest.items():
            if table.empty:
                continue
            table = table.reset_index(drop=True)
            answers = predicted(predict, f"{folder}/model.json", family, table)
            answered.append(
                table.assign(
                    kind=table["layout" if family == "gemm" else "op"].map(kind_of),
                    answer=answers["time_us"], low=answers["low_us"], high=answers["high_us"]
                )
            )
    whole = pandas.concat(answered).dropna(subset=["answer"])
    for name, table in whole.groupby("kind"):
        scored(name, table)
    if labels is not None:
        print_labels(labels, pandas.concat(of_labels))


if __name__ == "__main__":
    main()
