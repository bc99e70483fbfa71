"""The reconstruction run: on series drawn from the chain, and on a release that was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reticent.attacks.frame import AttackResult, Estimate, Rate
from reticent.attacks.reconstruction.adversary import Adversary, Ints, Mechanism
from reticent.errors import ArgumentError
from reticent.markov import MarkovChain
from reticent.randomness import Source, secure_source
from reticent.redaction import RedactionPolicy
from reticent.redaction.leakage import TOLERANCE, Secret, covered

Knowledge = Literal["true", "estimated"]

SMOOTHING = 0.5  # added to every count of an estimated chain, so that nothing is ruled out (Krichevsky and Trofimov)
_RECORDS_AT_ONCE = 1 << 21

GAIN = "largest ln(posterior odds / prior odds), nats"
SUCCESS = "share of secrets guessed right"

_KNOWS = {
    "true": "the mechanism, its parameters, and the chain that the series follow: the strongest adversary of the model",
    "estimated": "the mechanism and its parameters; the chain it has to estimate",
}
_TRAINED = {
    "true": "nothing: it computes the posterior exactly",
    "estimated": f"the transitions between records that are shown, with {SMOOTHING:g} added to every count",
}


@dataclass(frozen=True, eq=False)
class Case:
    """Series that were redacted by one design.

    Parameters
    ----------
    mechanism : RedactionPolicy or SequentialRedaction
    codes : int64, shape (m, n)
        The series as they are, -1 where a record is missing.
    outputs : int64, shape (m, n)
        What is shown of them, -1 where nothing is.
    """

    mechanism: Mechanism
    codes: Ints
    outputs: Ints


def unprotected(mechanism: Mechanism) -> RedactionPolicy:
    """The control: the same secrets in the same series, and nothing else withheld."""
    hidden = covered(mechanism.private, mechanism.n)
    r = np.where(hidden[:, None], 1.0, np.zeros((1, mechanism.chain.size)))
    return RedactionPolicy(mechanism.chain, r, list(mechanism.private), mechanism.missing)


def sample_outputs(mechanism: Mechanism, runs: int, source: Source | None = None) -> tuple[Ints, Ints]:
    """Series drawn from the mechanism's chain, and what it shows of them, shape (runs, n) each; -1 where nothing."""
    from reticent.attacks.reconstruction import _kernels

    source = secure_source() if source is None else source
    chain, n = mechanism.chain, mechanism.n
    uniform = (source.words(runs * n) >> np.uint64(11)).astype(np.float64).reshape(runs, n) * 2.0**-53
    codes = np.empty((runs, n), dtype=np.int64)
    _kernels.sample(uniform, chain.laws, chain.transitions, chain.phase, codes)
    codes[:, list(mechanism.missing)] = -1
    return codes, redacted(mechanism, codes, source)


def redacted(mechanism: Mechanism, codes: Ints, source: Source) -> Ints:
    """What a fresh draw of the mechanism shows of series, shape (m, n)."""
    runs, n = codes.shape
    starts = np.arange(runs, dtype=np.int64)
    mask = np.empty(runs * n, dtype=np.bool_)
    words = source.words(runs * mechanism.word_count)
    mechanism.draw(codes.reshape(-1), starts * n, words, starts * mechanism.word_count, mask)
    return np.where(mask.reshape(runs, n), -1, codes)


def estimate_chain(cases: Sequence[Case]) -> MarkovChain:
    """What an adversary makes of the transitions that are shown; its first instant is that of record 0 at phase 0."""
    from reticent.attacks.reconstruction import _kernels

    chain = cases[0].mechanism.chain
    counts = np.zeros((chain.period, chain.size, chain.size))
    for case in cases:
        _kernels.count_steps(np.ascontiguousarray(case.outputs), case.mechanism.chain.phase, counts)
    return MarkovChain.from_counts(counts, chain.states, SMOOTHING)


def reconstruct(
    mechanism: Mechanism,
    *,
    epsilon: float | None = None,
    secret: int | Secret | None = None,
    chain: Knowledge = "true",
    runs: int = 10_000,
    source: Source | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[AttackResult, AttackResult]:
    """Attack releases of series drawn from the mechanism's own chain.

    Parameters
    ----------
    mechanism : RedactionPolicy or SequentialRedaction
        Also one that breaks its promise.
    epsilon : float, optional
        Nats: what was promised; the mechanism's exact leakage by default.
    secret : int or (int, int), optional
        The first one by default.
    chain : {"true", "estimated"}
        Whether the adversary knows it, or fits one to the records that all these releases show.
    runs : int
        Series drawn; fewer where they are long.
    source : Source, optional
    progress : callable, optional
        Called with runs done and runs in all.

    Returns
    -------
    (success, gain) : AttackResult, AttackResult
        The share of secrets (intervals: as a whole) that the most probable realisation gets right; and the largest gain
        of odds, which with the true chain ε bounds for every single output.

    Raises
    ------
    ArgumentError
        No run, or no such secret.
    """
    if runs < 1:
        raise ArgumentError("runs: must be a positive number of series to draw")
    source = secure_source() if source is None else source
    runs = min(runs, max(500, 100 * _RECORDS_AT_ONCE // mechanism.n))
    at_once = max(1, _RECORDS_AT_ONCE // mechanism.n)
    cases = []
    for start in range(0, runs, at_once):
        cases.append(Case(mechanism, *sample_outputs(mechanism, min(at_once, runs - start), source)))
        if progress:
            progress(min(runs, start + at_once), runs)
    knowing = Adversary.knowing(mechanism, secret)
    return _results(
        cases,
        {mechanism: epsilon if epsilon is not None else mechanism.leakage()},
        chain,
        "series drawn from the chain",
        knowing.secret,
    )


def reconstruct_cases(
    cases: Sequence[Case], epsilon: float, chain: Knowledge = "true"
) -> tuple[AttackResult, AttackResult]:
    """Attack every secret of releases that were made; see `reconstruct`.

    Parameters
    ----------
    cases : sequence of Case
        Their designs may differ; their chains differ in phase only.
    epsilon : float
        Nats, of the certificate.
    chain : {"true", "estimated"}

    Raises
    ------
    ArgumentError
        No case, or all secrets are missing in the original.
    """
    if not cases:
        raise ArgumentError("cases: no series holds a secret, so there is nothing to reconstruct")
    return _results(cases, dict.fromkeys([case.mechanism for case in cases], epsilon), chain, "this release", None)


def _results(
    cases: Sequence[Case], epsilons: dict[Mechanism, float], chain: Knowledge, where: str, only: Secret | None
) -> tuple[AttackResult, AttackResult]:
    estimate = estimate_chain(cases) if chain == "estimated" else None
    right = control_right = prior_right = 0
    gain = control_gain = allowed = 0.0
    trials = 0
    epsilon = max(epsilons.values())
    for case in cases:
        control = unprotected(case.mechanism)
        bare = np.where(covered(case.mechanism.private, case.mechanism.n)[None], -1, case.codes)
        for secret in case.mechanism.private if only is None else (only,):
            believed = case.mechanism.chain if estimate is None else estimate.shifted(case.mechanism.chain.phase)
            adversary = Adversary(case.mechanism, secret, believed)
            against = Adversary(control, secret, believed)
            truth = case.codes[:, secret[0] : secret[1] + 1]
            known = (truth >= 0).all(axis=1)
            if not known.any():
                continue
            shown, hidden = case.outputs[known], truth[known]
            right += int((adversary.guess(shown) == hidden).all(axis=1).sum())
            control_right += int((against.guess(bare[known]) == hidden).all(axis=1).sum())
            prior_right += int((adversary.prior_guess[0] == hidden).all(axis=1).sum())
            gain = max(gain, float(adversary.log_odds_gain(shown).max()))
            control_gain = max(control_gain, float(against.log_odds_gain(bare[known]).max()))
            knowing = Adversary(case.mechanism, secret, case.mechanism.chain)
            allowed += len(hidden) * knowing.success_bound(epsilons[case.mechanism])
            trials += len(hidden)
    if not trials:
        raise ArgumentError("original: every secret is missing there, so no guess can be checked")
    settings = {"adversary": f"{chain} chain", "on": where, "epsilon": epsilon}
    success = AttackResult(
        "reconstruction",
        SUCCESS,
        Rate(right, trials),
        Rate(control_right, trials),
        Rate(prior_right, trials),
        bound=allowed / trials,
        bound_reason=(
            f"no guess can be right more often, on average over series of the chain, where no odds change by more than "
            f"a factor e^{epsilon:.4g}."
        ),
        trained=_TRAINED[chain],
        knows=_KNOWS[chain],
        settings=settings,
    )
    exact = chain == "true"
    odds = AttackResult(
        "reconstruction",
        GAIN,
        Estimate.exact(gain, trials),
        Estimate.exact(control_gain, trials),
        Estimate.exact(0.0, trials),
        bound=epsilon + TOLERANCE if exact else None,
        bound_reason=(
            "every output of the mechanism keeps it, not just most."
            if exact
            else "odds that are computed with a wrong chain are not those of the guarantee."
        ),
        trained=_TRAINED[chain],
        knows=_KNOWS[chain],
        settings=settings,
    )
    return success, odds
