"""Training of small language models on the kernels: a script to copy, configurations, and a text.

`python -m workbench train --model llama-tiny --steps 200 --out runs/first`; `train.py` is the script.
"""

import os

# PyTorch's threads spin for milliseconds after each of its operators, on the processors that the emulated
# device needs for the next kernel, so a step takes up to twice as long. OpenMP reads this when PyTorch is
# loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
