"""Registry, command, files, and the sentence that says where data can be had."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reticent.cli import app
from reticent.errors import ArgumentError
from reticent.experiments import EXPERIMENTS, Experiment, Outcome, find, write
from reticent.experiments.sources import SOURCES, located
from reticent.reports import vega


def test_names_are_unique_and_every_function_and_source_exists() -> None:
    from importlib import import_module

    assert len({each.name for each in EXPERIMENTS}) == len(EXPERIMENTS)
    for each in EXPERIMENTS:
        module, function = each.function.split(":")
        assert callable(getattr(import_module(f"reticent.experiments.{module}"), function))
        assert set(each.sources) <= set(SOURCES)
        assert find(each.name) is each


def test_an_unknown_name_is_refused_with_the_names() -> None:
    with pytest.raises(ArgumentError, match="name: must be one of redaction-fig2"):
        find("fig2")


def test_the_command_lists_and_needs_a_name_and_a_folder() -> None:
    listed = CliRunner().invoke(app, ["experiment", "--list"])
    assert listed.exit_code == 0
    assert all(each.name in listed.output for each in EXPERIMENTS)
    for arguments, named in ([], "name"), (["redaction-fig2"], "output"):
        refused = CliRunner().invoke(app, ["experiment", *arguments])
        assert isinstance(refused.exception, ArgumentError)
        assert str(refused.exception).startswith(named)


@pytest.mark.parametrize("name", [each.name for each in EXPERIMENTS if each.sources])
@pytest.mark.parametrize("data", [None, "empty"])
def test_without_the_data_one_sentence_says_where_they_can_be_had(name: str, data: str | None, tmp_path: Path) -> None:
    experiment = find(name)
    with pytest.raises(ArgumentError) as caught:
        experiment.run(None if data is None else tmp_path)
    message = str(caught.value)
    assert message.startswith("data: give with --data a folder that holds ")
    assert "\n" not in message
    for source in experiment.sources:
        assert SOURCES[source].origin in message


def test_what_is_there_of_the_data_is_used(tmp_path: Path) -> None:
    file = tmp_path / "chicago-taxi" / "data.csv"
    file.parent.mkdir()
    file.touch()
    assert located(tmp_path, find("noiseless-fig6").sources) == {"chicago-taxi": file}


def test_four_files_are_written(tmp_path: Path) -> None:
    rows = [{"x": 1, "y": 0.5}, {"x": 2, "y": 0.25}]
    chart = vega.chart(rows).mark("line").encode(x="x:Q", y="y:Q")
    experiment = Experiment("small", "A small one", "nowhere:none")
    paths = write(experiment, Outcome(rows, chart, "It falls.", "| a |\n| --- |"), tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["small.csv", "small.svg", "small.png", "small.md"]
    with paths[0].open() as file:
        assert list(csv.DictReader(file)) == [{"x": "1", "y": "0.5"}, {"x": "2", "y": "0.25"}]
    assert paths[1].read_text().startswith("<svg")
    assert paths[2].read_bytes().startswith(b"\x89PNG")
    assert paths[3].read_text() == "# A small one\n\nIt falls.\n\n| a |\n| --- |\n"


def test_an_experiment_runs_from_the_command(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["experiment", "redaction-fig2", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "erratum 13" in done.output
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".svg", ".png", ".md"}
