"""All experiments by name. Each is loaded when it is run."""

from __future__ import annotations

from reticent.errors import ArgumentError
from reticent.experiments.frame import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment("redaction-fig2", "Influence and regions, and where it is not convex", "redaction:influence"),
    Experiment("redaction-fig3", "Utility and true leakage of every redaction against ε", "redaction:utility"),
    Experiment("redaction-fig4", "Redaction probabilities near the private record", "redaction:probabilities"),
    Experiment("switching-fig2", "Where a value goes: allocation laws at equal ε", "switching_laws:laws"),
    Experiment("switching-table", "δ, displacement and look-ahead of every switch", "switching_table:table"),
    Experiment(
        "switching-series",
        "What switching does to real series, at equal ε",
        "switching_series:series",
        ("cgm-glucose", "sgsc-50-households", "fitbit-hourly-steps"),
    ),
    Experiment(
        "noiseless-fig3",
        "Which of two households is in a mean: advantage against n and ε",
        "membership:half_hourly",
        ("sgsc-50-households",),
    ),
    Experiment(
        "noiseless-fig3-weekly",
        "Which of two households is in a mean of weekly totals",
        "membership:weekly",
        ("lcl-1130-households-weekly",),
    ),
    Experiment(
        "noiseless-fig4",
        "Which appliances are on: f-score against ε",
        "disaggregation:appliances",
        ("nilm-appliances",),
    ),
    Experiment(
        "noiseless-fig4-houses",
        "Which appliances are on, in two other houses",
        "disaggregation:other_houses",
        ("nilm-appliances",),
    ),
    Experiment(
        "noiseless-fig6",
        "Share of trips with a unique start and end against ε",
        "unique_trips:unique_trips",
        ("nyc-green-taxi-2013-08", "chicago-taxi"),
    ),
)


def find(name: str) -> Experiment:
    """The experiment of that name.

    Raises
    ------
    ArgumentError
        If there is none.
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    raise ArgumentError(f"name: must be one of {', '.join(each.name for each in EXPERIMENTS)}")
