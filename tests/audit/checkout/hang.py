"""A script of Triton's that does not end."""

import time

SOURCE = """
@triton.jit
def nothing():
    pass
"""

time.sleep(600)
