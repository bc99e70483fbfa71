"""The verbs on a Spark DataFrame: `switch`, `quantize` and `redact`, with the arguments that they have everywhere.

The release is a Spark DataFrame again, lazy and distributed, beside a certificate and one charge to the ledger; Spark
Connect works too. Before it is handed out, one pass over the data checks them, computes the exact guarantee, and takes
a digest of what is released: then the ledger is charged. The frame is computed when it is used, as often as Spark
likes, and comes out the same each time: each series draws from one key of the job and its own identifier, and a task
that is given other rows than the first pass saw fails.

The key lives in the plan of the frame and dies with it; who has it undoes the switch. Spark writes closures and rows
to disks, so ``spark.io.encryption.enabled`` is required, and encryption of the network wherever there is one.
"""

from reticent.spark.verbs import quantize, redact, switch

__all__ = ["quantize", "redact", "switch"]
