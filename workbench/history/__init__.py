"""The history of runs in this folder's notebooks, stored in a file over sessions and restarts.

`store` is the file, `recorder` writes events into it, `results` has the objects for runs, and `changes`
compares two of them. This module imports nothing, because `%load_ext workbench` needs only the recorder.
"""
