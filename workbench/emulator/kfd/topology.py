"""The files of sysfs that AMD's runtime reads, and the facts that the ioctls report, for one product.

The layout is that of the Linux kernel's drivers/gpu/drm/amd/amdkfd/kfd_topology.c.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from workbench import errors
from workbench.emulator.kfd.library import ffi
from workbench.emulator.node.allocations import usable_memory
from workbench.targets import Product
from workbench.targets.driver import DIES, IP_VERSIONS, PCI_IDS

GPU_ID = 50148
"""KFD's number of the device: any number but 0."""

_SIMD_ID_BASE = 1 << 31
_DATA_AND_SIMD_CACHE = 1 | 8
_LINK_PCIE = 2
# HSA_CAPABILITY of libhsakmt's hsakmttypes.h: doorbells of 64 bits (2 in bits 12 and 13), debugging of watch
# points (4 of them, 2 in bits 8 to 11), ECC of registers, and the SVM interface, without which registered
# host memory has another address on the device.
_CAPABILITY = 1 << 7 | 2 << 8 | 2 << 12 | 1 << 22 | 1 << 26 | 1 << 27


_LINKS = {
    "sys/dev/char/226:128/device/subsystem": "/sys/bus/pci",
    # AMD's runtime opens the device's own folder; other programs, such as ours, start from its class.
    "sys/class/kfd/kfd": "../../devices/virtual/kfd/kfd",
}
"""Symbolic links of sysfs, with their targets."""


def write(folder: Path, product: Product) -> None:
    """Writes the files of a product's device and of the computer's processor into a folder.

    Raises:
        DeviceError: AMD's driver interface is not emulated for this product.
    """
    if product.name not in PCI_IDS:
        raise errors.DeviceError(
            f"the emulated driver has no {product.name}, only {', '.join(PCI_IDS)}: choose one by --device."
        )
    for name, text in _files(product).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "facts").write_bytes(_facts(product))
    (folder / "sys/dev/char/226:128/device/drm/renderD128").mkdir(parents=True, exist_ok=True)
    for name, place in _LINKS.items():
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(place)


def _files(product: Product) -> dict[str, str]:
    """Contents by path."""
    device, revision = PCI_IDS[product.name]
    nodes = "sys/devices/virtual/kfd/kfd/topology/nodes"
    pci = "sys/dev/char/226:128/device"
    files = {
        "sys/module/amdgpu/initstate": "live\n",
        "sys/module/amdgpu/version": "6.14.0\n",
        f"{nodes}/../generation_id": "2\n",
        f"{nodes}/../system_properties": _lines({"platform_id": 0}),
        f"{nodes}/0/gpu_id": "0\n",
        f"{nodes}/0/name": "\n",
        f"{nodes}/0/properties": _lines(_processor()),
        f"{nodes}/0/mem_banks/0/properties": _lines(_bank(0, _host_bytes(), 64, 3200)),
        f"{nodes}/0/io_links/0/properties": _lines(_link(0, 1, product)),
        f"{nodes}/1/gpu_id": f"{GPU_ID}\n",
        f"{nodes}/1/name": "\n",
        f"{nodes}/1/properties": _lines(_device(product, device)),
        f"{nodes}/1/mem_banks/0/properties": _lines(
            _bank(1, product.hbm_bytes, product.hbm_bus_bits, _memory_mhz(product))
        ),
        f"{nodes}/1/io_links/0/properties": _lines(_link(1, 0, product)),
        f"{pci}/vendor": "0x1002\n",
        f"{pci}/device": f"{device:#06x}\n",
        f"{pci}/subsystem_vendor": "0x1002\n",
        f"{pci}/subsystem_device": f"{device:#06x}\n",
        f"{pci}/revision": f"{revision:#04x}\n",
        f"{pci}/uevent": f"DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:{device:04X}\n"
        f"PCI_SUBSYS_ID=1002:{device:04X}\nPCI_SLOT_NAME=0000:05:00.0\n",
        "dev/dri/renderD128": "",
    }
    for number, (level, kib, line, ways) in enumerate(_caches(product)):
        cache = {
            "processor_id_low": _SIMD_ID_BASE,
            "level": level,
            "size": kib,
            "cache_line_size": line,
            "cache_lines_per_tag": 1,
            "association": ways,
            "type": _DATA_AND_SIMD_CACHE,
        }
        files[f"{nodes}/1/caches/{number}/properties"] = _lines(cache) + "sibling_map 1,1,1,1,1,1,1,1\n"
    # tinygrad's driver asks for the versions of these blocks: GC, SDMA and NBIO.
    versions = {11: IP_VERSIONS[product.arch], 42: (4, 4, 2), 108: (7, 9, 0)}
    for block, parts in versions.items():
        for part, number in zip(("major", "minor", "revision"), parts, strict=True):
            place = f"sys/class/drm/renderD128/device/ip_discovery/die/0/{block}/0/{part}"
            files[place] = f"{number}\n"
    return files


def _facts(product: Product) -> bytes:
    """The structure Facts of shared.h."""
    dies = DIES[product.arch]
    facts = {
        "gpu_id": GPU_ID,
        "vram": product.hbm_bytes,
        "vram_limit": min(product.hbm_bytes, usable_memory()),
        "host": _host_bytes(),
        "device_id": PCI_IDS[product.name][0],
        "units": product.compute_units,
        "engines": dies.engines * product.xcds,
        "arrays": 1,
        "clock_khz": product.clock_hz // 1000,
        "memory_clock_khz": _memory_mhz(product) * 1000,
        "bus_bits": product.hbm_bus_bits,
        "wave_size": product.target.wave_size,
    }
    return bytes(ffi.buffer(ffi.new("Facts *", facts)))


def _host_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _memory_mhz(product: Product) -> int:
    """Clock of the memory, with two transfers a clock on every pin of the bus."""
    return round(product.hbm_bytes_per_second * 8 / product.hbm_bus_bits / 2 / 1e6)


def _caches(product: Product) -> list[tuple[int, int, int, int]]:
    """Level, KiB, bytes of a line and ways of each cache."""
    result = [(1, product.target.l1_bytes // 1024, 128, 64), (2, product.l2_bytes_per_xcd // 1024, 128, 16)]
    if product.infinity_cache_bytes:
        result.append((3, product.infinity_cache_bytes // 1024, 64, 16))
    return result


def _lines(properties: Mapping[str, int]) -> str:
    # A property that is absent is 0 for AMD's runtime.
    return "".join(f"{name} {value}\n" for name, value in properties.items())


def _bank(heap: int, size: int, width: int, clock: int) -> dict[str, int]:
    return {"heap_type": heap, "size_in_bytes": size, "width": width, "mem_clk_max": clock}


def _link(start: int, end: int, product: Product) -> dict[str, int]:
    return {
        "type": _LINK_PCIE,
        "node_from": start,
        "node_to": end,
        "weight": 20,
        "max_bandwidth": product.host_link_bytes_per_second // 1_000_000,
        "flags": 1,
    }


def _processor() -> dict[str, int]:
    return {
        "cpu_cores_count": os.cpu_count() or 1,
        "mem_banks_count": 1,
        "io_links_count": 1,
        "max_engine_clk_ccompute": 3000,
    }


def _device(product: Product, device: int) -> dict[str, int]:
    dies, target = DIES[product.arch], product.target
    return {
        "simd_count": product.compute_units * target.simds,
        "mem_banks_count": 1,
        "caches_count": len(_caches(product)),
        "io_links_count": 1,
        "simd_id_base": _SIMD_ID_BASE,
        "max_waves_per_simd": target.waves_per_simd,
        "lds_size_in_kb": target.lds_bytes // 1024,
        "num_gws": 64,
        "wave_front_size": target.wave_size,
        "array_count": dies.engines * product.xcds,
        "simd_arrays_per_engine": 1,
        "cu_per_simd_array": dies.slots,
        "simd_per_cu": target.simds,
        "max_slots_scratch_cu": 32,
        "gfx_target_version": dies.gfx,
        "vendor_id": 0x1002,
        "device_id": device,
        "location_id": 0x500,
        "drm_render_minor": 128,
        "num_sdma_engines": dies.copies[0],
        "num_sdma_xgmi_engines": dies.copies[1],
        "num_sdma_queues_per_engine": 8,
        "num_cp_queues": 24,
        "max_engine_clk_fcompute": product.clock_hz // 1_000_000,
        "fw_version": 156,
        "capability": _CAPABILITY,
        "debug_prop": 1495,
        "sdma_fw_version": 22,
        "unique_id": 1,
        "num_xcc": product.xcds,
        "max_engine_clk_ccompute": 3000,
    }


__all__ = ["GPU_ID", "write"]
