"""The process that does the operations, so that limits can end one of them without ending the server.

It reads requests as lines of JSON and answers each with a line on the pipe that its argument names: kernels
and libraries may write anything to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    """Answers requests until the input ends."""
    from workbench.operations import operations

    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as answers:
        for line in sys.stdin:
            request: dict[str, Any] = json.loads(line)
            outcome = operations()[request["operation"]].run(request["arguments"])
            picture = "" if outcome.result is None else outcome.result.picture
            answer = {"data": outcome.data, "picture": picture}
            print(json.dumps(answer, allow_nan=False), file=answers, flush=True)


if __name__ == "__main__":
    main()
