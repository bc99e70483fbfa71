"""Files and data frames in, released files and frames out.

The same three verbs and argument names as on the command line. A path gives files (the release, its certificate and
its report, all or none); a pandas, Polars or PyArrow table gives a table of the same kind beside its certificate.
"""

from reticent.tables.delimited import Reading
from reticent.tables.fitting import diagnose, fit
from reticent.tables.pipeline import Release
from reticent.tables.private import Private
from reticent.tables.verbs import aggregate, quantize, redact, switch

__all__ = ["Private", "Reading", "Release", "aggregate", "diagnose", "fit", "quantize", "redact", "switch"]
