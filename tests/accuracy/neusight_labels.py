"""NeuSight's labels inside models: operators of whole models, four peers' predictions beside.

The forward times of op_labels_and_4_peers.parquet as rows of ours, and errors in percent on them,
ours and the peers' on the same rows. Of a GPU whose labels of training and of several GPUs are
kept for acceptance only the inference of one is read. neusight.py fits and asks; no setting of it
was chosen on these labels.
"""

import ast
import math

import pandas
import pyarrow.parquet

FILE = "op_labels_and_4_peers.parquet"

INFERENCE_ONLY = {"NVIDIA H100 80GB HBM3"}

# In the file's names, `micro` is Li et al. (MICRO 2023).
PEERS = {"neusight": "NeuSight", "roofline": "roofline", "habitat": "Habitat", "micro": "Li et al."}

# `u`: one operand and a number. What we have no op of is asked as one of the same traffic, as all
# these are bound by memory: read one and write one, or read two and write one.
ONE = {
    "VECaddu": "scale",
    "VECdivu": "scale",
    "VECmulu": "scale",
    "VECpowu": "scale",
    "VECrelu": "relu",
    "VECgelu": "gelu",
    "VECtanh": "gelu",
}
TWO = {"VECadd", "VECmul", "VECdiv"}
ROWS = {"VECsoftmax": "softmax", "VECln": "layer_norm"}


def read(data, devices):
    """The labels of `devices` that may be read, with `time_us`, `family` and our columns."""
    path = f"{data}/{FILE}"
    of = pyarrow.parquet.read_table(path, columns=["device", "run"]).to_pandas()
    # Filtered before a label is read.
    runs = []
    for device in devices:
        named = device.replace(" ", "_")
        for run in of.loc[of["device"] == named, "run"].unique():
            if device not in INFERENCE_ONLY or is_inference(run):
                runs.append([("device", "==", named), ("run", "==", run)])
    columns = ["device", "run", "input_shapes", "OpName", "FwOps", "fw_latency"]
    columns += [f"{peer}_fw" for peer in PEERS]
    table = pandas.read_parquet(path, columns=columns, filters=runs)
    table["device"] = table["device"].str.replace("_", " ")
    table["time_us"] = table["fw_latency"] * 1e3
    ours = pandas.DataFrame([asked(row) for row in table.itertuples()], index=table.index)
    return table.join(ours)


def is_inference(run):
    """`bert_large-inf-512-8`, no word more: model, mode, sequence, batch."""
    words = run.split("-")
    return len(words) == 4 and words[1] == "inf"


def asked(row):
    """Columns of ours, without `family` where nothing of ours is asked."""
    ((name, shape),) = ast.literal_eval(row.FwOps)
    if name == "Linear":
        m, k, n = shape
        return {"family": "gemm", "layout": "nt", "batch": 1, "m": m, "n": n, "k": k}
    if name == "BMM":
        batch, m, k, n = shape
        return {"family": "gemm", "layout": "nn", "batch": batch, "m": m, "n": n, "k": k}
    if name not in ONE and name not in TWO and name not in ROWS:
        return {"family": None}
    elements = math.prod(shape)
    rows = shape[0] if name in ROWS else 1
    op = ONE.get(name) or ROWS.get(name) or ("add" if reads_two(row, elements) else "scale")
    return {"family": "memory", "op": op, "elements": elements, "rows": rows}


def reads_two(row, elements):
    """Whether the second operand, which may be repeated over the first, is half of it or more."""
    second = ast.literal_eval(row.input_shapes)[1]
    return 2 * math.prod(second) >= elements


def questions(table, family):
    """The rows of `family` as `predict batch` asks them, less those it has no columns for."""
    table = table[table["family"] == family]
    numbers = {"gemm": ["batch", "m", "n", "k"], "memory": ["elements", "rows"]}[family]
    words = {"gemm": ["layout"], "memory": ["op"]}[family]
    whole = table[numbers].astype("int64").join(table[words]).assign(dtype="f32")
    return whole.join(table[["time_us", "device"]])


def print_scores(table, short):
    """Of all labels, with `answer`, `low` and `high` where we have them: errors by kind, how many
    lie in our 90 % interval, and what did not map."""
    named = [f"{name:>15}" for name in ("ours", *PEERS.values())]
    print(f"\nlabels inside models, forward: MAPE / median")
    print(f"{'':14} {'':8} {'n':>4}", *named, "    ours cover")
    answered = table.dropna(subset=["answer"])
    for kind, rows in answered.groupby("kind"):
        print_row(kind, "all", rows)
        for device, part in rows.groupby("device"):
            print_row("", short[device], part)
    left = table[table["family"].isna()]
    names = ", ".join(f"{name} {count}" for name, count in left["OpName"].value_counts().items())
    print(f"not mapped: {len(left)} of {len(table)} rows ({names})")
    print(f"mapped but not answered: {len(table) - len(left) - len(answered)} rows")


def print_row(kind, device, rows):
    cells = []
    for answer in (rows["answer"], *(rows[f"{peer}_fw"] * 1e3 for peer in PEERS)):
        error = (answer / rows["time_us"] - 1).abs() * 100
        cells.append(f"{error.mean():7.1f} /{error.median():6.1f}")
    covered = (rows["low"] <= rows["time_us"]) & (rows["time_us"] <= rows["high"])
    cells.append(f"{covered.mean() * 100:12.1f} %")
    print(f"{kind:14} {device:8} {len(rows):4}", *cells, flush=True)
