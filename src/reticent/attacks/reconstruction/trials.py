"""The reconstruction run: on series drawn from the chain, and on a release that was made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from reticent.attacks.frame import AttackResult, Estimate, Rate
from reticent.attacks.reconstruction.adversary import Adversary, Floats, Ints, Mechanism, TwiceShown, success_bound
from reticent.errors import ArgumentError
from reticent.markov import MarkovChain
from reticent.randomness import Source, secure_source
from reticent.redaction import RedactionPolicy
from reticent.redaction.leakage import TOLERANCE, Secret, covered

Knowledge = Literal["true", "estimated"]

SMOOTHING = 0.5  # added to every count of an estimated chain, so that nothing is ruled out (Krichevsky and Trofimov)
_RECORDS_AT_ONCE = 1 << 21

GAIN = "largest ln(posterior/prior odds), nats"
RECORDS = "share of hidden records guessed right"
DRAWN = "drawn series"
SUCCESS = "share of secrets guessed right"

_NO_BOUND = "a sequential redaction that is drawn twice has none, and a ledger refuses the second draw."
_NAMED = {"true": "knows the chain", "estimated": "estimates the chain"}
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
    again : int64, shape (m, n), optional
        What a second draw of the same sequential redaction shows.
    """

    mechanism: Mechanism
    codes: Ints
    outputs: Ints
    again: Ints | None = None

    @property
    def seen(self) -> Ints:
        """What the adversary sees of each series, in one row."""
        return self.outputs if self.again is None else np.hstack([self.outputs, self.again])


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


def drawn_cases(
    mechanism: Mechanism, runs: int, source: Source, progress: Callable[[int, int], None] | None = None
) -> Iterator[Case]:
    """Redacted series of the mechanism's chain, a few million records at a time; fewer than `runs` of very long ones.

    Parameters
    ----------
    mechanism : RedactionPolicy or SequentialRedaction
    runs : int
        Series drawn.
    source : Source
    progress : callable, optional
        Called with runs done and runs in all.
    """
    runs = min(runs, max(500, 100 * _RECORDS_AT_ONCE // mechanism.n))
    at_once = max(1, _RECORDS_AT_ONCE // mechanism.n)
    for start in range(0, runs, at_once):
        yield Case(mechanism, *sample_outputs(mechanism, min(at_once, runs - start), source))
        if progress:
            progress(min(runs, start + at_once), runs)


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
) -> tuple[AttackResult, ...]:
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
    tuple of AttackResult
        The share of secrets (intervals: as a whole) that the most probable realisation gets right; where there are
        intervals, also the share of their records; and the largest gain of odds, which with the true chain ε bounds for
        every single output.

    Raises
    ------
    ArgumentError
        No run, or no such secret.
    """
    if runs < 1:
        raise ArgumentError("runs: must be a positive number of series to draw")
    source = secure_source() if source is None else source
    cases = drawn_cases(mechanism, runs, source, progress)
    epsilon = mechanism.leakage() if epsilon is None else epsilon
    return _results(cases, epsilon, chain, DRAWN, Adversary.knowing(mechanism, secret).secret)


def reconstruct_cases(
    cases: Sequence[Case], epsilon: float, chain: Knowledge = "true", where: str = "this release"
) -> tuple[AttackResult, ...]:
    """Attack every secret of releases that were made; see `reconstruct`.

    Parameters
    ----------
    cases : sequence of Case
        Their designs may differ; their chains differ in phase only.
    epsilon : float
        Nats, of the certificate; infinite where nothing is promised.
    chain : {"true", "estimated"}
    where : str
        What was attacked, for the settings.

    Raises
    ------
    ArgumentError
        No case, or all secrets are missing in the original.
    """
    if not cases:
        raise ArgumentError("cases: no series holds a secret, so there is nothing to reconstruct")
    return _results(cases, epsilon, chain, where, None)


@dataclass
class Tally:
    """What was counted, over all secrets of all cases, and the results that it comes to.

    Parameters
    ----------
    epsilon : float
        Nats, that were promised; infinite where nothing is.
    """

    epsilon: float
    trials: int = 0
    right: int = 0
    control_right: int = 0
    prior_right: int = 0
    gain: float = 0.0
    control_gain: float = 0.0
    allowed: float = 0.0
    records_allowed: float = 0.0
    records: list[Ints] = field(default_factory=list)  # of each secret: right, by the control, by guessing, in all

    @property
    def longest(self) -> int:
        """Records of the longest secret."""
        return max((int(counts[0, 3]) for counts in self.records), default=0)

    def add(self, case: Case, believed: MarkovChain | None = None, only: Secret | None = None) -> None:
        """Attack all secrets of a case (or one alone) with the true chain, or that which is believed in."""
        for secret in case.mechanism.private if only is None else (only,):
            self._add(case, secret, case.mechanism.chain if believed is None else believed)

    def _add(self, case: Case, secret: Secret, believed: MarkovChain) -> None:
        """Attack one secret of a case, and its control."""
        mechanism = case.mechanism
        truth = case.codes[:, secret[0] : secret[1] + 1]
        known = (truth >= 0).all(axis=1)
        if not known.any():
            return
        shown, hidden = case.seen[known], truth[known]
        bare = np.where(covered(mechanism.private, mechanism.n)[None], -1, case.codes)[known]
        adversary = (Adversary if case.again is None else TwiceShown)(mechanism, secret, believed)
        against = Adversary(unprotected(mechanism), secret, believed)
        gains = adversary.log_odds_gain(shown)
        if np.isnan(gains).any():
            raise ArgumentError("outputs: some are no possible output of the mechanism; is it the one that made them?")
        self.trials += len(hidden)
        self.right += _count_right(adversary.guess(shown), hidden)
        self.control_right += _count_right(against.guess(bare), hidden)
        self.prior_right += _count_right(adversary.prior_guess[0], hidden)
        self.gain = max(self.gain, float(gains.max()))
        self.control_gain = max(self.control_gain, float(against.log_odds_gain(bare).max()))
        knowing = Adversary(mechanism, secret, mechanism.chain)
        self.allowed += len(hidden) * knowing.success_bound(self.epsilon)
        for law in knowing.priors:
            self.records_allowed += len(hidden) * success_bound(self.epsilon, law)
        counts = [adversary.record_guesses(shown), against.record_guesses(bare), adversary.prior_record_guesses]
        right = [(guess == hidden).sum(axis=1) for guess in counts]
        self.records.append(np.stack([*right, np.full(len(hidden), hidden.shape[1])], axis=1))

    def results(self, chain: Knowledge = "true", where: str = DRAWN) -> tuple[AttackResult, ...]:
        """As `reconstruct` returns them.

        Raises
        ------
        ArgumentError
            All secrets are missing.
        """
        if not self.trials:
            raise ArgumentError("original: every secret is missing there, so no guess can be checked")
        promised, exact = math.isfinite(self.epsilon), chain == "true"
        settings = {"adversary": _NAMED[chain], "on": where, "epsilon": self.epsilon}
        success = AttackResult(
            "reconstruction",
            SUCCESS,
            Rate(self.right, self.trials),
            Rate(self.control_right, self.trials),
            Rate(self.prior_right, self.trials),
            bound=self.allowed / self.trials if promised else None,
            bound_reason=(
                f"no guess is right more often, on average over series of the chain, if no odds change by more than a "
                f"factor e^{self.epsilon:.4g}."
                if promised
                else _NO_BOUND
            ),
            trained=_TRAINED[chain],
            knows=_KNOWS[chain],
            settings=settings,
        )
        odds = AttackResult(
            "reconstruction",
            GAIN,
            Estimate.exact(self.gain, self.trials),
            Estimate.exact(self.control_gain, self.trials),
            Estimate.exact(0.0, self.trials),
            bound=self.epsilon + TOLERANCE if promised and exact else None,
            bound_reason=(
                _NO_BOUND
                if not promised
                else "every output of the mechanism keeps it, not just most."
                if exact
                else "odds that are computed with a wrong chain are not those of the guarantee."
            ),
            trained=_TRAINED[chain],
            knows=_KNOWS[chain],
            settings=settings,
        )
        return (success, self._record_result(success), odds) if self.longest > 1 else (success, odds)

    def _record_result(self, success: AttackResult) -> AttackResult:
        """Of intervals also the records one by one: the guarantee holds for each of them, whose odds are averages."""
        counts = np.concatenate(self.records).astype(np.float64)
        total = counts[:, 3]

        def share(right: Floats) -> Estimate:
            return mean_share(float(right.sum() / total.sum()), len(total))

        return replace(
            success,
            measure=RECORDS,
            protected=share(counts[:, 0]),
            control=share(counts[:, 1]),
            baseline=share(counts[:, 2]),
            bound=None if success.bound is None else self.records_allowed / float(total.sum()),
        )


def _count_right(guess: Ints, truth: Ints) -> int:
    return int((guess == truth).all(axis=1).sum())


def _results(
    cases: Iterable[Case], epsilon: float, chain: Knowledge, where: str, only: Secret | None
) -> tuple[AttackResult, ...]:
    tally, estimate = Tally(epsilon), None
    if chain == "estimated":
        cases = list(cases)
        estimate = estimate_chain(cases)
    for case in cases:
        tally.add(case, None if estimate is None else estimate.shifted(case.mechanism.chain.phase), only)
    return tally.results(chain, where)


def mean_share(share: float, units: int) -> Estimate:
    """A mean of shares of so many independent units, with Wilson's interval of 95 %.

    A share varies no more than a yes or no with the same mean. A bootstrap would find no variation in one unit, nor
    where all are alike.
    """
    z = 1.959964
    middle = (share + z * z / (2 * units)) / (1 + z * z / units)
    half = z / (1 + z * z / units) * math.sqrt(share * (1 - share) / units + z * z / (4 * units * units))
    return Estimate(share, max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half)), units)
