"""The process that does the operations, so that limits can end one of them without ending the server.

It reads requests as lines of JSON and answers each with a line on the pipe that its argument names: kernels
and libraries may write anything to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.operations.record import Outcome


def main() -> None:
    """Answers requests until the input ends."""
    from workbench.operations import operations

    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as answers:
        for line in sys.stdin:
            request: dict[str, Any] = json.loads(line)
            outcome = operations()[request["operation"]].run(request["arguments"])
            answer = {"data": outcome.data, "picture": _picture(outcome)}
            print(json.dumps(answer, allow_nan=False), file=answers, flush=True)


def _picture(outcome: Outcome) -> str:
    """The picture of an answer as PNG in base64; "" if it has none."""
    if outcome.result is None or not outcome.result.picture:
        return ""
    from workbench.views.picture import png_of_svg

    return png_of_svg(outcome.result.picture)


if __name__ == "__main__":
    main()
