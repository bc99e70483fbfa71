"""The command line: one sentence, the right exit code, nothing of the data in a message."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reticent import cli, datasets, reports

PANEL = "id,ts,kwh,state\n" + "".join(
    f"{name},2024-01-{1 + hour // 24:02d} {hour % 24:02d}:00,{hour % 7}.5,{hour // 2 % 2}\n"
    for name in "ab"
    for hour in range(96)
)
COLUMNS = ["--id", "id", "--time", "ts"]
SWITCH = ["switch", "in.csv", *COLUMNS, "--value", "kwh", "--window", "4", "--epsilon", "2", "-o", "out.csv"]
QUANTIZE = [
    "quantize",
    "in.csv",
    *COLUMNS,
    "--value",
    "kwh",
    "--bits",
    "2",
    "--low",
    "0",
    "--high",
    "7",
    "-o",
    "out.csv",
]
REDACT = ["redact", "in.csv", *COLUMNS, "--value", "state", "--private", "2024-01-04 08:00/2024-01-04 09:00",
          "--model", "model.json", "--epsilon", "1", "-o", "out.csv", "--no-diagnosis"]  # fmt: skip
FIT = ["fit", "in.csv", *COLUMNS, "--value", "state", "--until", "2024-01-03", "-o", "model.json"]


class Run:
    """Runs the command in this process, as its entry point does."""

    def __init__(self, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.patch, self.capsys = patch, capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.patch.setattr(sys, "argv", ["reticent", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = self.capsys.readouterr()
        return int(ended.value.code or 0), out, err


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reports, "public_report", lambda certificate: "<html></html>")
    (tmp_path / "in.csv").write_text(PANEL)
    return Run(monkeypatch, capsys)


def names() -> set[str]:
    return {path.name for path in Path().iterdir()}


def without(arguments: list[str], option: str) -> list[str]:
    at = arguments.index(option)
    return arguments[:at] + arguments[at + 2 :]


def put(arguments: list[str], option: str, value: str) -> list[str]:
    if option not in arguments:
        return [*arguments, option, value]
    at = arguments.index(option)
    return [*arguments[: at + 1], value, *arguments[at + 2 :]]


@pytest.mark.parametrize("command", [SWITCH, QUANTIZE, REDACT], ids=lambda command: command[0])
def test_release_then_verify(run: Run, command: list[str]) -> None:
    assert run(*FIT)[0] == 0
    code, out, err = run(*command)
    assert code == 0
    assert "format:          csv\n" in err
    assert "rows:            192 read\n" in err
    assert "reticent verify out.csv.certificate.json out.csv" in out
    assert names() == {"in.csv", "model.json", "out.csv", "out.csv.certificate.json", "out.csv.report.html"}
    code, out, err = run("verify", "out.csv.certificate.json", "out.csv")
    assert (code, err) == (0, "")
    assert "consistent" in out
    code, out, _ = run("verify", "out.csv.certificate.json", "out.csv", "--json")
    assert json.loads(out)["verdict"] == "consistent"
    content = Path("out.csv").read_bytes()
    Path("out.csv").write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    code, out, err = run("verify", "out.csv.certificate.json", "out.csv")
    assert (code, out) == (1, "")
    assert "SHA-256" in err


@pytest.mark.parametrize("command", [SWITCH, QUANTIZE, REDACT], ids=lambda command: command[0])
def test_json_for_machines(run: Run, command: list[str]) -> None:
    run(*FIT)
    code, out, err = run(*command, "--json", "--quiet")
    assert (code, err) == (0, "")
    body = json.loads(out)
    assert body["certificate"]["action"] == command[0]
    assert Path(body["files"]["released"]).exists()


def test_keep_warns(run: Run) -> None:
    code, _, err = run(*without(SWITCH, "--id"), "--id", "id", "--keep", "state")
    assert code == 0
    assert "state" in err
    assert "unchanged" in err


def test_a_seed_is_not_private(run: Run) -> None:
    assert "NOT PRIVATE" in run(*SWITCH, "--seed", "1")[1]


WRONG = [
    (SWITCH, "--epsilon", "-1", "epsilon"),
    (SWITCH, "--epsilon", "nan", "epsilon"),
    (SWITCH, "--epsilon", "x", "--epsilon"),
    (SWITCH, "--window", "two", "--window"),
    (SWITCH, "--window", "0", "window"),
    (SWITCH, "--mechanism", "shuffle", "mechanism"),
    (SWITCH, "--value", "nothing", "column nothing"),
    (SWITCH, "--time", "nothing", "column nothing"),
    (SWITCH, "--id", "kwh", "kwh"),
    (SWITCH, "--duplicates", "first", "duplicates"),
    (SWITCH, "--delimiter", ",,", "delimiter"),
    (SWITCH, "--delimiter", '"', "delimiter"),
    (SWITCH, "--encoding", "klingon", "encoding"),
    (SWITCH, "--time-zone", "Mars/Base", "time-zone"),
    (SWITCH, "--time-format", "%Q%", "time-format"),
    (SWITCH, "--memory", "lots", "memory"),
    (SWITCH, "-o", "none/out.csv", "output"),
    (SWITCH, "-o", "/proc/out.csv", "output"),
    (SWITCH, "-o", "out.xlsx", ".xlsx"),
    (SWITCH, "-o", "in.csv", "input itself"),
    (SWITCH, "--nonsense", "1", "--nonsense"),
    (QUANTIZE, "--bits", "many", "bits"),
    (QUANTIZE, "--low", "9", "low"),
    (QUANTIZE, "--low", "zero", "low"),
    (QUANTIZE, "--outside", "ignore", "outside"),
    (QUANTIZE, "--symbols", "emoji", "symbols"),
    (REDACT, "--private", "yesterday", "private"),
    (REDACT, "--private", "2024-01-05/2024-01-04", "private"),
    (REDACT, "--private-where", "state = 1", "private"),
    (REDACT, "--private-where", "random() < 0.5", "private"),
    (REDACT, "--private-column", "state", "private"),
    (REDACT, "--epsilon", "inf", "epsilon"),
    (REDACT, "--model-from", "private", "model"),
    (REDACT, "--margin", "3", "margin"),
    (REDACT, "--every", "soon", "every"),
    (FIT, "--smoothing", "-1", "smoothing"),
    (FIT, "--states", "0", "states"),
    (FIT, "-o", "none/model.json", "output"),
]


@pytest.mark.parametrize(
    ("command", "option", "value", "named"), WRONG, ids=lambda each: each if isinstance(each, str) else each[0]
)
def test_wrong_use(run: Run, command: list[str], option: str, value: str, named: str) -> None:
    run(*FIT)
    before = names()
    code, out, err = run(*put(command, option, value))
    assert (code, out) == (2, "")
    assert err.startswith("reticent: ")
    assert err.count("\n") == 1
    assert named in err
    assert names() == before


@pytest.mark.parametrize("option", ["--value", "--time", "--window", "--epsilon", "-o"])
def test_an_option_that_is_missing(run: Run, option: str) -> None:
    code, _, err = run(*without(SWITCH, option))
    assert code == 2
    assert err.count("\n") == 1
    assert {"-o": "--output"}.get(option, option) in err


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("", "is empty"),
        (None, "cannot be read"),
        (PANEL.replace("1.5", "CANARY", 1), "text among numbers"),
        (PANEL + "a,2024-01-01 00:00,9.9,0\n", "repeat the time"),
        (PANEL.replace("2024-01-02 00:00", "CANARY", 1), "column ts"),
        (PANEL + "CANARY\n", "fields"),
        (PANEL + ",2024-01-09 00:00,1,1\n", "column id"),
        ('a,"b\n' * 5, "input"),
    ],
)
@pytest.mark.parametrize("command", [SWITCH, QUANTIZE], ids=lambda command: command[0])
def test_bad_data(run: Run, command: list[str], content: str | None, named: str) -> None:
    Path("in.csv").unlink() if content is None else Path("in.csv").write_text(content)
    before = names()
    code, out, err = run(*command)
    assert code in (1, 2)
    assert out == ""
    assert err.startswith("reticent: ")
    assert err.count("\n") == 1
    assert named in err or content == 'a,"b\n' * 5
    assert "CANARY" not in err
    assert names() == before


def test_data_that_do_not_fit_the_model(run: Run) -> None:
    run(*FIT)
    Path("in.csv").write_text(PANEL[:-2] + "77777\n")
    code, _, err = run(*REDACT)
    assert code == 1
    assert "not among the 2 states" in err
    assert "77777" not in err
    code, _, err = run(*put(REDACT, "--private", "2030-01-01/2030-01-02"))
    assert code == 1
    assert "no record lies in" in err


@pytest.mark.parametrize("content", ["", "{}", "[" * 10**5, '{"format": "reticent certificate"}'])
def test_verify_of_what_is_no_certificate(run: Run, content: str) -> None:
    Path("c.json").write_text(content)
    code, out, err = run("verify", "c.json")
    assert (code, out) == (1, "")
    assert err.startswith("reticent: certificate")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "kind", [OSError(28, "No space left on device"), MemoryError(), RuntimeError("CANARY"), KeyboardInterrupt()]
)
def test_an_error_inside_is_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch, kind: BaseException) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise kind

    monkeypatch.setattr("reticent.tables.formats.Writer.write", fail)
    code, _, err = run(*SWITCH)
    assert code == (130 if isinstance(kind, KeyboardInterrupt) else 1)
    err = err.removeprefix("\n")  # after the ^C that the terminal shows
    assert err.startswith("reticent: ")
    assert err.count("\n") == 1
    assert "CANARY" not in err
    assert names() == {"in.csv"}
    if isinstance(kind, RuntimeError):
        monkeypatch.setattr(sys, "argv", ["reticent", *SWITCH, "--debug"])
        with pytest.raises(RuntimeError):
            cli.main()


@pytest.mark.parametrize("command", [[], ["switch"], ["redact"], ["quantize"], ["fit"], ["verify"], ["demo"]], ids=str)
def test_help(run: Run, command: list[str]) -> None:
    for option in ("-h", "--help"):
        code, out, err = run(*command, option)
        assert (code, err) == (0, "")
        assert "Usage: reticent" in out


def test_version_and_a_pipe_in_a_process_of_their_own(tmp_path: Path) -> None:
    """No progress bar, no colour and no traceback where nobody looks."""
    (tmp_path / "in.csv").write_text(PANEL)
    entry = [sys.executable, "-c", "from reticent.cli import main; main()"]
    version = subprocess.run([*entry, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("reticent ")
    done = subprocess.run([*entry, *SWITCH, "--quiet"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    missing = subprocess.run([*entry, *put(SWITCH, "--value", "nothing")], capture_output=True, text=True, cwd=tmp_path)
    assert (missing.returncode, missing.stdout, missing.stderr.count("\n")) == (2, "", 1)


def test_the_demo_hands_out_the_shipped_data(run: Run) -> None:
    code, out, _ = run("demo", "--data", "data")
    assert code == 0
    for name in datasets.names():
        assert (Path("data") / datasets.path(name).name).read_bytes() == datasets.path(name).read_bytes()
        assert datasets.describe(name).licence in out
    code, _, err = run("demo", "--data", "data")
    assert (code, "--overwrite" in err) == (2, True)
    assert run("demo", "--data", "data", "--overwrite")[0] == 0


def test_the_demo(run: Run) -> None:
    code, out, err = run("demo", "-o", "tour")
    assert (code, err) == (0, "")
    assert out.count("certificate consistent") == 3
    released = [path for path in Path("tour").iterdir() if path.suffix == ".csv"]
    assert len(released) == 3
    assert (Path("tour") / "private").is_dir()
    code, _, err = run("demo", "-o", "tour")
    assert code == 2
    assert "--overwrite" in err
