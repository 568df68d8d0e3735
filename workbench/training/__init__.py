"""Training small language models on the kernels: a script to copy, configurations, and text that ships.

`python -m workbench train --model llama-tiny --steps 200 --out runs/first`; `train.py` is the script.
"""
