"""`python -m actorstream`: the same as the command `actorstream`."""

from __future__ import annotations

import sys

from actorstream.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
