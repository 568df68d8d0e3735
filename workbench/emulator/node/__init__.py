"""The emulated node: its devices and memory, and one launch from its checks to its outcome."""
