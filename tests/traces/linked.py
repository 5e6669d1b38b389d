#!/usr/bin/env python3
"""Prints, for every trace below a folder, how much of it was linked.

    tests/traces/linked.py PREDICT FOLDER

PREDICT is the binary. A line per trace, or per folder named on a line of its own in GROUPS: device
work that was launched within the recording and has its launch, that has an op, and collectives
described. Work that a program launched outside of every op has none. Exits with 1 if a trace with
NVIDIA devices has less than 99.9 % of its launches.
"""

import json
import pathlib
import subprocess
import sys

# Folders whose files are the ranks of one run.
GROUPS = {"dlrm_kineto"}


def inspect(predict, path):
    command = [predict, "inspect", str(path), "--format", "json", "--top", "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[0]
    return json.loads(done.stdout), None


def share(part, whole):
    return "-" if whole == 0 else f"{100 * part / whole:.2f} %"


def main():
    predict, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    names = sorted(folder.rglob("*.json.gz"))
    paths = sorted({p.parent if p.parent.name in GROUPS else p for p in names})
    missed = 0
    print("| trace | device | work | before the recording | with launch | with op | collectives |")
    print("|---|---|---|---|---|---|---|")
    for path in paths:
        found, error = inspect(predict, path)
        name = path.relative_to(folder)
        if error is not None:
            print(f"| {name} | {error} | | | | | |")
            continue
        if found["coverage"]["device_work"] == 0 and not any(r["steps"] for r in found["ranks"]):
            continue
        links = found["coverage"]
        device = next((rank["device"] for rank in found["ranks"] if rank["device"]), "") or ""
        before = links["launched_before_recording"]
        could = links["device_work"] - before
        launched, within = links["linked_to_launch"], links["linked_to_op"]
        described = f"{links['described_collectives']} of {links['collectives']}"
        print(
            f"| {name} | {device} | {links['device_work']} | {before} | {share(launched, could)} "
            f"| {share(within, launched)} | {described} |"
        )
        nvidia = any(word in device for word in ("NVIDIA", "Tesla", "GeForce"))
        if nvidia and could and launched < 0.999 * could:
            missed += 1
    sys.exit(1 if missed else 0)


main()
