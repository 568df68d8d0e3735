"""A script of Triton's that does not end."""

import time

try:
    import triton

    @triton.jit
    def nothing() -> None:
        pass

finally:
    time.sleep(600)
