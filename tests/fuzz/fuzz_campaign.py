"""Many inputs, each in its own folders and under a limit of time; what goes wrong is written down, with the input."""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, seed, settings

import reticent as rt
from fuzz.fuzz_cases import (
    ACCEPTED,
    OWN,
    REFUSED,
    Case,
    Pool,
    broken_policies,
    broken_tables,
    certificates,
    model_files,
    policies,
    released,
)
from reticent import reports, tables
from reticent.certificates import Certificate
from reticent.tables.models import Model

LIMIT, PATIENCE = 60, 600  # seconds of processor time, and by the clock, for one input
SHARE = {  # of a hundred; tables take most of the time
    "released": 8, "broken_tables": 5, "certificates": 36, "model_files": 10, "policies": 31, "broken_policies": 10,
}  # fmt: skip


class Hang(BaseException):
    """An input took longer than the limit."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Stop what takes longer."""

    def stop(*_: Any) -> None:
        raise Hang

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, LIMIT), (signal.SIGALRM, signal.ITIMER_REAL, PATIENCE))
    before = [signal.signal(sign, stop) for sign, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for (sign, _, _), handler in zip(timers, before, strict=True):
            signal.signal(sign, handler)


@dataclass
class Campaign:
    """Counts of what came out.

    Attributes
    ----------
    counts : Counter of (kind, outcome)
    findings : list of str
    """

    folder: Path
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    inputs: int = 0
    valid: int = 0

    def attempt(self, case: Case) -> None:
        """One input."""
        inputs, outputs = self.folder / "in", self.folder / "out"
        for each in (inputs, outputs):
            each.mkdir(parents=True, exist_ok=True)
            for left in each.iterdir():
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        if not case.valid and isinstance(case.content, tuple):
            (self.folder / "last.bin").write_bytes(case.content[1])  # what a crash leaves to be looked at
            (self.folder / "last.pickle").write_bytes(pickle.dumps(case.content[0]))
        began, trace = time.monotonic(), ""
        try:
            with limited():
                case.run(inputs, outputs)
            outcome = ACCEPTED
        except OWN as error:
            outcome = REFUSED
            self.reasons[f"{case.kind}: {str(error)[:60]}"] += 1
            if case.valid:
                trace = f"a valid input was refused: {error}"
            elif "\n" in str(error):
                trace = f"more than one line: {error!r}"
        except Hang:
            outcome, trace = "hang", "took too long"
        except AssertionError:
            outcome, trace = "wrong", traceback.format_exc()
        except Exception:
            outcome, trace = "traceback", traceback.format_exc()
        left = sorted(path.name for path in outputs.iterdir())
        whole = [] if not left else [left[0], f"{left[0]}.certificate.json", f"{left[0]}.report.html"]
        if not trace and (
            left != whole
            or (outcome == REFUSED and left and case.kind.endswith("table") and not _complete(outputs, left))
        ):
            outcome, trace = "partial", f"left behind: {left}"
        self.inputs += 1
        self.valid += case.valid
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.counts[case.kind, outcome] += 1
        if trace:
            self._note(case, outcome, trace)

    def _note(self, case: Case, outcome: str, trace: str) -> None:
        number = len(self.findings)
        self.findings.append(f"{case.kind}: {outcome}: {trace}")
        if number < 200:
            kept = self.folder.parent / f"finding-{self.folder.name}-{number}"
            kept.with_suffix(".txt").write_text(f"{case.kind}\n{trace}\n{case.content!r}", "utf-8", "backslashreplace")
            with contextlib.suppress(Exception):
                kept.with_suffix(".pickle").write_bytes(pickle.dumps(case.content))

    def run(self, inputs: int, salt: int, seconds: float = float("inf")) -> None:
        """About `inputs` inputs of all kinds, or until time is up."""
        reports.public_report = lambda certificate: "<html></html>"  # which takes longer than all the rest
        pool = make_pool(self.folder)
        strategies = {
            "released": released(), "broken_tables": broken_tables(), "certificates": certificates(pool),
            "model_files": model_files(pool), "policies": policies(), "broken_policies": broken_policies(pool),
        }  # fmt: skip
        until, block = time.monotonic() + seconds, 0
        self._tell(done=False)
        while self.inputs < inputs and time.monotonic() < until:
            block += 1
            for number, (name, share) in enumerate(SHARE.items()):
                self._block(
                    strategies[name],
                    max(1, round(share * min(10.0, inputs / 100))),
                    salt * 10**6 + block * 10 + number,
                    until,
                )
            self._tell(done=False)
        self._tell(done=True)

    def _block(self, strategy: Any, size: int, salt: int, until: float) -> None:
        @seed(salt)
        @settings(
            max_examples=size, database=None, derandomize=False, deadline=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(strategy)
        def each(case: Case) -> None:
            if time.monotonic() < until:
                self.attempt(case)

        each()

    def _tell(self, done: bool) -> None:
        (self.folder / "so-far.json").write_text(json.dumps({"done": done, **self.summary()}, indent=1))

    def summary(self) -> dict[str, Any]:
        """For people."""
        return {
            "inputs": self.inputs,
            "valid by construction": self.valid,
            "slowest (s)": round(self.slowest, 2),
            "outcomes": {f"{kind}: {outcome}": count for (kind, outcome), count in sorted(self.counts.items())},
            "findings": len(self.findings),
            "what": self.findings[:20],
            "commonest refusals": dict(self.reasons.most_common(40)),
        }


def _complete(outputs: Path, left: list[str]) -> bool:
    """A release that is in place, though what came after it was refused."""
    Certificate.read(outputs / left[1]).verify(outputs / left[0])
    return True


def make_pool(folder: Path) -> Pool:
    """Right releases of each verb."""
    home = folder / "pool"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    n = 40
    table = pa.table({
        "id": ["a"] * n + ["b"] * n, "t": [*range(n)] * 2, "v": [0, 0, 1, 1, 0, 1, 0, 0] * (n // 4),
        "x": [i / 8 for i in range(2 * n)],
        "g": ["north"] * 2 * n,
    })  # fmt: skip
    chain = rt.MarkovChain.binary(0.2, 0.3)
    common: dict[str, Any] = {"id": "id", "time": "t", "ledger": False}
    out = [home / f"{name}.csv" for name in ("redact", "released", "switch", "quantize", "aggregate")]
    tables.redact(table, value="v", private="4/5", epsilon=0.5, model=chain, output=out[0], **common)
    tables.redact(
        table,
        value="v",
        private="20/21",
        epsilon=2.0,
        model="released",
        margin=9,
        output=out[1],
        mechanism="optimal",
        **common,
    )
    tables.switch(table, value="x", window=4, epsilon=2.0, output=out[2], **common)
    tables.quantize(table, value="x", low=0, high=10, bits=2, output=out[3], **common)
    tables.aggregate(
        table, query="mean", value="x", over="g", low=0, high=10, resolution="0.125", bits=2, output=out[4], **common
    )  # fmt: skip
    bodies = tuple((dict(Certificate.read(path.with_name(f"{path.name}.certificate.json")).body), path) for path in out)
    cells = rt.Quantizer([0, 1, 2, 4], "interval")
    fine = rt.MarkovChain(np.full((3, 3), 1 / 3), cells.symbols)
    models = (Model(chain, "1h"), Model(fine, "30m", quantizer=cells))
    plans = (
        rt.optimal_policy(chain, 6, 3, 0.5),
        rt.sequential_redaction(chain, 6, 3, 0.5),
        rt.RedactionPolicy(fine, np.ones((4, 3)), (1, 2)),
    )
    return Pool(bodies, tuple(json.loads(model.to_json()) for model in models), tuple(plan.to_dict() for plan in plans))


def temporary() -> Path:
    """A folder for one campaign."""
    return Path(tempfile.mkdtemp(prefix="reticent-fuzz-"))
