"""Checks of a kernel: results against references, and what the sanitizer found."""
