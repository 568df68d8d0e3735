"""How many instructions a second the decoder reads, the first time that it sees each.

    python tests/benchmarks/decoding.py

The goal is 50,000 a second; a code object of a large kernel has 10,000.
"""

from __future__ import annotations

import random
import struct
import time

from workbench.codeobject.decoder import decode

COUNT = 20000
V_ADD_F32 = 0x0200_0000


def main() -> None:
    generator = random.Random(1)
    words = [V_ADD_F32 | generator.randrange(1 << 25) & ~0x1FF | 0x100 for _ in range(COUNT)]
    data = struct.pack(f"<{COUNT}I", *words)
    decode(data[:4], 0, "gfx950")
    started = time.process_time()
    decode(data, 0, "gfx950")
    print(f"{COUNT / (time.process_time() - started):,.0f} instructions a second")


if __name__ == "__main__":
    main()
