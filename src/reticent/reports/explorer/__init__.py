"""The explorer: one page on which a mechanism and its parameters are chosen by looking.

All numbers are computed here, by the library; the page only looks them up, draws them, and puts together the command
line that gives them. What takes long is computed once, by ``python tools/make_explorer_tables.py``, and ships with the
package.
"""

from reticent.reports.explorer.page import Input, explorer

__all__ = ["Input", "explorer"]
