"""`actorstream keys`: makes the key by which the hosts of a job know each other."""

from __future__ import annotations

from pathlib import Path


def keys(folder: Path, /) -> int:
    """Make the key by which the hosts of a job know each other.

    Writes FOLDER/job.key, which only you can read. Copy it to every host and name it in the deployment: network.key = "FILE".
    Whoever has the key can take part in the job and read what its hosts send. If `launch` starts
    the hosts itself, you need no key. Exit status: 0 made, 2 there is one already, or it cannot be written.

    Parameters
    ----------
    folder
        Where the key goes; made if it is not there.
    """
    from actorstream.transports.network.keys import make_key

    print(make_key(folder))
    return 0
