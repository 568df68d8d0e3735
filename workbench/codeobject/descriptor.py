"""The kernel descriptor, from which the hardware sets up a wave before a kernel's first instruction."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from workbench.errors import CodeObjectError
from workbench.targets import Target
from workbench.targets import target as target_record


@dataclass(frozen=True, slots=True)
class KernelDescriptor:
    """The 64 bytes that tell the hardware how to start a kernel (LLVM AMDGPUUsage, "Kernel descriptor").

    Sizes are bytes, counts are registers of a wave, enables are bools. `entry_offset` is relative to the
    descriptor's own address. `accum_offset` is the VGPR row at which AGPRs begin in the unified register
    file. The float fields are the initial values of the MODE register's fields. What the fields mean depends
    on the target.
    """

    group_segment_fixed_size: int
    private_segment_fixed_size: int
    kernarg_size: int
    entry_offset: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    kernarg_preload_length: int
    kernarg_preload_offset: int
    target: str

    SIZE = 64

    @classmethod
    def from_bytes(cls, data: bytes, target: str) -> KernelDescriptor:
        """Decodes a descriptor of a target's kernel; CodeObjectError if there are fewer than 64 bytes."""
        if len(data) < cls.SIZE:
            raise CodeObjectError(
                f"kernel descriptor has {len(data)} bytes of {cls.SIZE}: the code object is cut off."
            )
        group, private, kernarg, entry, rsrc3, rsrc1, rsrc2, properties, preload = struct.unpack_from(
            "<III4xq20xIIIHH4x", data
        )
        return cls(
            group_segment_fixed_size=group,
            private_segment_fixed_size=private,
            kernarg_size=kernarg,
            entry_offset=entry,
            rsrc1=rsrc1,
            rsrc2=rsrc2,
            rsrc3=rsrc3,
            properties=properties,
            kernarg_preload_length=preload & 0x7F,
            kernarg_preload_offset=preload >> 7,
            target=target,
        )

    @property
    def _unit(self) -> Target:
        return target_record(self.target)

    @property
    def granulated_vgpr_count(self) -> int:
        return self.rsrc1 & 0x3F

    @property
    def vgpr_count(self) -> int:
        """Vector registers (AGPRs included) that a wave gets, a multiple of the target's step."""
        return (self.granulated_vgpr_count + 1) * self._unit.vgpr_encoding[self.wave_size]

    @property
    def accum_offset(self) -> int:
        """Row at which AGPR 0 lies, 4 to 256; the number of rows on targets without AGPRs."""
        return ((self.rsrc3 & 0x3F) + 1) * 4 if self._unit.has_agprs else self.vgpr_count

    @property
    def sgpr_count(self) -> int:
        """SGPRs that a wave gets, VCC and the other special registers included."""
        if (fixed := self._unit.wave_sgprs) is not None:
            return fixed
        return ((self.rsrc1 >> 6 & 0xF) // 2 + 1) * 16

    @property
    def float_denorm_mode_16_64(self) -> int:
        return self.rsrc1 >> 18 & 3

    @property
    def float_mode(self) -> int:
        """The MODE register's bits 7:0: rounding in 3:0, denormals in 7:4."""
        return self.rsrc1 >> 12 & 0xFF

    @property
    def dx10_clamp(self) -> bool:
        """Whether a clamp makes NaN 0."""
        return bool(self.rsrc1 >> 21 & 1) or not self._unit.has_ieee_mode

    @property
    def ieee_mode(self) -> bool:
        return bool(self.rsrc1 >> 23 & 1) and self._unit.has_ieee_mode

    @property
    def fp16_overflow(self) -> bool:
        return bool(self.rsrc1 >> 26 & 1)

    @property
    def enable_private_segment(self) -> bool:
        return bool(self.rsrc2 & 1)

    @property
    def user_sgpr_count(self) -> int:
        return self.rsrc2 >> 1 & (1 << self._unit.user_sgpr_bits) - 1

    @property
    def enable_workgroup_id_x(self) -> bool:
        return bool(self.rsrc2 >> 7 & 1)

    @property
    def enable_workgroup_id_y(self) -> bool:
        return bool(self.rsrc2 >> 8 & 1)

    @property
    def enable_workgroup_id_z(self) -> bool:
        return bool(self.rsrc2 >> 9 & 1)

    @property
    def enable_workgroup_info(self) -> bool:
        return bool(self.rsrc2 >> 10 & 1)

    @property
    def workitem_id_mode(self) -> int:
        """0: x; 1: x and y; 2: x, y and z, packed 10 bits each into v0."""
        return self.rsrc2 >> 11 & 3

    @property
    def tg_split(self) -> bool:
        return bool(self.rsrc3 >> 16 & 1)

    @property
    def enable_private_segment_buffer(self) -> bool:
        return bool(self.properties & 1)

    @property
    def enable_dispatch_ptr(self) -> bool:
        return bool(self.properties >> 1 & 1)

    @property
    def enable_queue_ptr(self) -> bool:
        return bool(self.properties >> 2 & 1)

    @property
    def enable_kernarg_ptr(self) -> bool:
        return bool(self.properties >> 3 & 1)

    @property
    def enable_dispatch_id(self) -> bool:
        return bool(self.properties >> 4 & 1)

    @property
    def enable_flat_scratch_init(self) -> bool:
        return bool(self.properties >> 5 & 1)

    @property
    def enable_private_segment_size(self) -> bool:
        return bool(self.properties >> 6 & 1)

    @property
    def wave32(self) -> bool:
        return bool(self.properties >> 10 & 1)

    @property
    def wave_size(self) -> int:
        """Lanes of the kernel's waves. Targets with waves of one size ignore the bit, which is reserved."""
        sizes = self._unit.wave_sizes
        return sizes[0] if len(sizes) == 1 else 32 if self.wave32 else 64

    @property
    def uses_dynamic_stack(self) -> bool:
        return bool(self.properties >> 11 & 1)
