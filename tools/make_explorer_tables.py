"""Compute the tables of the explorer that ship with the package: some ten minutes on two cores.

python tools/make_explorer_tables.py
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import reticent.reports.explorer.numbers as numbers


def main() -> None:
    """Write tables.json."""
    with ProcessPoolExecutor() as pool:
        switches = pool.map(numbers.switching, *zip(*numbers.switching_settings(), strict=True), chunksize=9)
        redactions = pool.map(numbers.redaction, *zip(*numbers.redaction_settings(), strict=True), chunksize=96)
        text = numbers.packed(list(redactions), list(switches))
    path = Path(numbers.__file__).with_name("tables.json")
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {len(text):,} characters")


if __name__ == "__main__":
    main()
