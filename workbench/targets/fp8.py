"""Encodings of 8-bit floats."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fp8:
    """An encoding of 8-bit floats: the names of PyTorch's types for it.

    Attributes:
        name: "ocp" or "fnuz".
        e4m3, e5m2: names of torch dtypes.
    """

    name: str
    e4m3: str
    e5m2: str

    def type_for(self, dtype: str) -> str | None:
        """Its type of as many exponent bits as another 8-bit float; None for what is none."""
        if dtype in (OCP.e4m3, FNUZ.e4m3):
            return self.e4m3
        return self.e5m2 if dtype in (OCP.e5m2, FNUZ.e5m2) else None


OCP = Fp8("ocp", "float8_e4m3fn", "float8_e5m2")
FNUZ = Fp8("fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz")
