"""What a Spark session must be: one that puts the key of the job, and the rows, on no disk and no wire in the clear."""

from __future__ import annotations

from typing import Any

from reticent.errors import RefusedError

DISKS = "spark.io.encryption.enabled"
NETWORK = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled")
MASTER = "spark.master"


def setting(session: Any, name: str) -> str | None:
    """A setting of the session as its cluster was started with; None where there is none.

    Raises
    ------
    Exception
        If it cannot be asked.
    """
    context = None if type(session).__module__.startswith("pyspark.sql.connect") else session.sparkContext
    value = session.conf.get(name, None) if context is None else context.getConf().get(name, None)
    return None if value is None else str(value)


def check_encrypted(session: Any, declared: bool) -> None:
    """Refuse to hand the key of a job to a cluster that may write it in the clear.

    Parameters
    ----------
    session : SparkSession
    declared : bool
        The curator's word, where settings cannot be read; it does not stand against one that says otherwise.

    Raises
    ------
    RefusedError
        Disks, or a network, without encryption; settings that cannot be read, if nothing is declared.
    """
    try:
        disks, master = setting(session, DISKS), setting(session, MASTER) or ""
        network = [setting(session, name) for name in NETWORK]
    except Exception as error:  # whatever a server of another version answers
        if declared:
            return
        raise RefusedError(
            f"spark: whether this session encrypts cannot be read ({type(error).__name__}); make sure that {DISKS} is "
            "true, and pass encrypted=True to declare it"
        ) from None
    if disks != "true":
        raise RefusedError(
            f"spark: {DISKS} is not on, so Spark would write the key of the job to its disks, and who has it undoes "
            f"the release; start the session with .config('{DISKS}', 'true')"
        )
    alone = master == "local" or master.startswith("local[")
    if not alone and "true" not in network and not declared:
        raise RefusedError(
            f"spark: the key of the job would cross the network in the clear; start the session with "
            f".config('{NETWORK[0]}', 'true') and .config('spark.authenticate', 'true'), or pass encrypted=True if the "
            "network is encrypted by other means"
        )
