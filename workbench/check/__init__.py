"""Checks of a kernel: results against references, and the sanitizer's findings."""
