"""The long fuzz run: ``python tests/fuzz/run.py --inputs 100000`` (both cores; a summary, and status 1 on findings)."""

from __future__ import annotations

import argparse
import faulthandler
import json
import multiprocessing
import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

MOST_CRASHES = 20


def work(folder: str, inputs: int, salt: int, seconds: float) -> None:
    """One process."""
    from fuzz.fuzz_campaign import Campaign

    os.environ["RETICENT_HOME"] = f"{folder}/home"
    faulthandler.enable()
    campaign = Campaign(Path(folder))
    campaign.run(inputs, salt, seconds)


def watch(folder: Path, inputs: int, salt: int, seconds: float) -> None:
    """One share of the inputs: a process that dies is a finding, and another one goes on."""
    shutil.rmtree(folder, ignore_errors=True)
    done = crashes = 0
    while done < inputs and crashes < MOST_CRASHES:
        own = folder / f"process-{crashes}"
        own.mkdir(parents=True)
        run = multiprocessing.get_context("spawn").Process(
            target=work, args=(str(own), inputs - done, salt + 1000 * crashes, seconds)
        )
        run.start()
        run.join()
        told = own / "so-far.json"
        if run.exitcode == 0 or not told.exists():  # done, or there is no use in another
            return
        done += json.loads(told.read_text())["inputs"]
        crashes += 1


def main() -> None:
    """Run, and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop by then")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default="fuzz-run", help="what goes wrong is kept there, with its input")
    asked = parser.parse_args()
    share = -(-asked.inputs // asked.processes)
    folders = [Path(asked.folder, str(number)) for number in range(asked.processes)]
    watchers = [
        multiprocessing.get_context("fork").Process(
            target=watch, args=(folder, share, asked.seed * 100 + number, asked.seconds)
        )
        for number, folder in enumerate(folders)
    ]
    for each in watchers:
        each.start()
    for each in watchers:
        each.join()
    summary = told([each for folder in folders for each in sorted(folder.glob("process-*"))])
    print(json.dumps(summary, indent=1))
    raise SystemExit(bool(summary["findings"] or summary["processes that died"]))


def told(folders: list[Path]) -> dict[str, Any]:
    """The sums over all processes."""
    total: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    slowest, died, what = 0.0, 0, []
    for folder in folders:
        report = folder / "so-far.json"
        if not report.exists():
            died += 1
            continue
        body = json.loads(report.read_text())
        died += not body["done"]
        outcomes.update(body["outcomes"])
        total.update({name: body[name] for name in ("inputs", "valid by construction", "findings")})
        slowest = max(slowest, body["slowest (s)"])
        what += body["what"]
    names = ("inputs", "valid by construction", "findings")
    sums = {name: total[name] for name in names} | {"processes that died": died, "slowest (s)": slowest}
    return {**sums, "outcomes": dict(sorted(outcomes.items())), "what": what[:20]}


if __name__ == "__main__":
    main()
