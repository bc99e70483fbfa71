"""All benchmarks in one run, as ratios; writes the tables of docs/performance.md.

    python benchmarks/run.py [--quick] [--only memory,starting,running,shapes,growth] [--large] [--print]

What is compared takes turns, each time in the same process or each as a process of its own; a figure is the median of
several turns. Some ten minutes on two cores; `--quick` takes a tenth of the rows and prints only. Needs the extra
``bench``; peers that are not installed are left out and named.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path

import in_memory
import whole_files
from measuring import Scale, note

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
QUICK = Scale(rows=2_000_000, values=200_000, repeat=3, patience=10.0, limit=60.0)
PACKAGES = ("numpy", "numba", "duckdb", "pyarrow", "pandas", "diffprivlib", "opendp")


def memory(folder: Path, scale: Scale) -> list[str]:
    """On one core, beside the bare random source and other packages."""
    return in_memory.part(scale)


PARTS: dict[str, Callable[[Path, Scale], list[str]]] = {
    "memory": memory,
    "starting": whole_files.starting,
    "running": whole_files.running,
    "shapes": whole_files.shapes,
    "growth": whole_files.growth,
}


def machine() -> str:
    """In words, with what else it was doing."""
    name, memory = platform.processor() or platform.machine(), ""
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        name = found[1].strip() if found else name
        memory = f", {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"no {package}")
    return (
        f"{os.cpu_count()} cores ({name}){memory}, {platform.system()}, Python {platform.python_version()}, "
        f"{', '.join(versions)}; load {os.getloadavg()[0]:.1f} when it began"
    )


def measured(name: str, scale: Scale) -> list[str]:
    """One part, in a process of its own: what it needs in memory must not count as that of those that others start."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        return pool.submit(PARTS[name], Path(folder), scale).result()


def write(name: str, lines: list[str]) -> None:
    """Into the page, in place of what this part wrote before; other parts stay."""
    page = PAGE.read_text(encoding="utf-8")
    begin, end = (f"<!-- {name}: {where} -->" for where in ("written by benchmarks/run.py", "to here"))
    before, rest = page.split(begin)
    _, after = rest.split(end)
    text = "\n".join(lines).strip()
    PAGE.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer turns; only prints")
    parser.add_argument("--large", action="store_true", help="also 10^8 rows")
    parser.add_argument("--print", action="store_true", help="print the tables and leave the page as it is")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--only: no such part: {', '.join(sorted(unknown))}")
    scale = QUICK if options.quick else Scale(large=options.large)
    for name in options.only.split(","):
        note(f"{name}: {PARTS[name].__doc__}")
        begun, where = time.perf_counter(), machine()
        lines = [f"Measured on {where}.", "", *measured(name, scale)]
        note(f"{name}: done in {time.perf_counter() - begun:.0f} s")
        if options.print or options.quick:
            print(f"## {name}\n", *lines, sep="\n", flush=True)
        else:
            write(name, lines)


if __name__ == "__main__":
    main()
