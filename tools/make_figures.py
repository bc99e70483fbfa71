"""Make the figures of the documentation: by `reticent experiment`, and pictures of pages by `make_pictures.py`.

`--list` prints each figure with its command; without it they are all made afresh (some take minutes, and those that
take data need the folder with a folder for each data set):

    python tools/make_figures.py ../shared/data
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from reticent.experiments import EXPERIMENTS

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
PICTURES = ("explorer.png", "report.png")


def commands() -> dict[str, str]:
    """The figures that are there, each with its command."""
    kinds = {each.name: each for each in EXPERIMENTS}
    listed = {}
    for path in sorted(FIGURES.iterdir()):
        if path.name in PICTURES:
            listed[f"figures/{path.name}"] = "python tools/make_pictures.py"
            continue
        experiment = kinds[path.stem]
        data = " --data DATA" if experiment.sources else ""
        listed[f"figures/{path.name}"] = f"reticent experiment {experiment.name}{data} -o FOLDER"
    return listed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", help="folder with a folder for each data set")
    parser.add_argument("--list", action="store_true", help="print each figure with its command")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(f"{figure}\t{command}" for figure, command in commands().items()))
        return
    for figure, command in commands().items():
        if figure.endswith(PICTURES):
            continue  # of pages in a browser, which make_pictures.py drives
        with tempfile.TemporaryDirectory() as folder:
            line = [{"DATA": asked.data, "FOLDER": folder}.get(part, part) for part in shlex.split(command)]
            if None in line:
                parser.error(f"{figure} takes data: name their folder")
            subprocess.run(line, check=True)
            shutil.copy(Path(folder) / Path(figure).name, FIGURES)


if __name__ == "__main__":
    main()
