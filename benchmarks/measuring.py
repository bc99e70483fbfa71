"""What the parts of `run.py` share: turns, medians, processes and tables."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Work = Callable[[], object]

INSTALLED = {"PYTHONDONTWRITEBYTECODE": ""}  # what is installed is compiled to bytecode, whatever holds here


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    Parameters
    ----------
    rows : int
        Of the large file.
    values : int
        In memory.
    repeat : int
        Turns at most.
    patience : float
        Seconds that the turns of a comparison may take; the first is always finished.
    limit : float
        Seconds after which a process is stopped, and left out.
    large : bool
        Also 10^8 rows.
    """

    rows: int = 20_000_000
    values: int = 1_000_000
    repeat: int = 5
    patience: float = 60.0
    limit: float = 120.0
    large: bool = False


@dataclass(frozen=True)
class Spent:
    """Seconds, processor seconds and peak megabytes (where it is a process of its own)."""

    wall: float
    processor: float
    peak: float = 0.0


def note(words: str) -> None:
    """Progress, for who waits."""
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


def turns(works: Mapping[str, Callable[[], Spent | None]], scale: Scale) -> dict[str, Spent]:
    """Median of each, in turn; one that gives None is left out from then on."""
    runs: dict[str, list[Spent]] = {name: [] for name in works}
    begun, left = time.perf_counter(), dict(works)
    for turn in range(scale.repeat):
        if turn and (time.perf_counter() - begun) * (turn + 1) / turn > scale.patience:
            break
        for name, work in list(left.items()):
            spent = work()
            if spent is None:
                del left[name], runs[name]
            else:
                runs[name].append(spent)
    return {name: median(each) for name, each in runs.items()}


def median(runs: Sequence[Spent]) -> Spent:
    """Each figure by itself; the largest peak."""
    middle = (statistics.median(getattr(each, what) for each in runs) for what in ("wall", "processor"))
    return Spent(*middle, max(each.peak for each in runs))


def timed(work: Work) -> Spent:
    """A call in this process."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - processor)


def process(command: Sequence[str], limit: float, **variables: str) -> Spent | None:
    """A process of its own; None, and a note, where it takes longer than the limit."""
    begun = time.perf_counter()
    child = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **INSTALLED, **variables},
        text=True,
    )
    stopped: list[bool] = []
    stop = threading.Timer(limit, lambda: (stopped.append(True), child.kill()))
    stop.start()
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    stop.cancel()
    if stopped:
        note(f"stopped after {limit:g} s: {' '.join(command)}")
        return None
    if status:
        raise SystemExit(f"failed: {' '.join(command)}\n{said}")
    return Spent(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Markdown."""
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    yield from ("| " + " | ".join(row) + " |" for row in rows)
    yield ""
