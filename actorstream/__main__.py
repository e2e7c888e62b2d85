"""`python -m actorstream`: the command line, where the script `actorstream` is not on the path."""

import sys

from actorstream.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
