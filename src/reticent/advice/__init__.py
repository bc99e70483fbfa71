"""Which mechanism fits a file, what it promises, what it costs in utility, and the command that does it.

Private: the utility is that of the very values. Nothing is released and nothing is charged.
"""

from reticent.advice.comparing import advise
from reticent.advice.draws import Expected
from reticent.advice.option import Advice, Option

__all__ = ["Advice", "Expected", "Option", "advise"]
