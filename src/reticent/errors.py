"""What can go wrong, by kind. Every message is one sentence that names the argument and the remedy.

No message ever contains a value of the data: counts, kinds, lines and columns only.
"""

from __future__ import annotations


class ReticentError(Exception):
    """Base of every error that the package raises on purpose."""


class ArgumentError(ReticentError, ValueError):
    """An argument is outside what is allowed; nothing was drawn, charged or written."""


class InputError(ReticentError, ValueError):
    """The data cannot be read as asked (columns, times, duplicates, text among numbers)."""


class EmptyInputError(InputError):
    """The data have no rows."""


class RefusedError(ReticentError):
    """The release would not keep its promise, so there is none (fail closed)."""


class VerificationError(ReticentError):
    """A certificate, or the file that it speaks of, is not what it claims to be."""


class LedgerError(ReticentError):
    """The ledger, or what is kept outside it, is not as it was left: nothing is charged, nothing released."""
