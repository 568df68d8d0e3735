"""A judge of kernels that strangers submit: right or wrong, and the modelled time.

A submission runs in a process of its own, and only what it asks of the device is believed: its launches are
repeated in another process, on inputs that it cannot choose, and the results of that are compared.
"""
