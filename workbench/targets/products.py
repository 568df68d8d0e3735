"""Products: GPUs that you can buy, each with its target and facts beyond the instruction set."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.targets import memory, sources
from workbench.targets.fact import Fact
from workbench.targets.instruction_sets import (
    GFX90A,
    GFX942,
    GFX950,
    GFX1100,
    GFX1101,
    GFX1102,
    GFX1103,
    GFX1151,
    GFX1201,
    GFX1250,
    Target,
    target,
)
from workbench.targets.sources import (
    CDNA2_PAPER,
    CDNA3_PAPER,
    GPU_SPECS,
    MI350_PAGE,
    MI400_PAGES,
    ROCJITSU_MI455X,
)
from workbench.targets.under_load import BURST, MI300X_LOAD, MI325X_LOAD, MI355X_LOAD, SETTLING, UnderLoad


@dataclass(frozen=True, kw_only=True)
class Product:
    """A GPU that you can buy, at its peak clock.

    Attributes:
        name: "MI355X".
        brand: what AMD's name has before it.
        target: its instruction set.
        compute_units, xcds: numbers for the whole package; an XCD is a compute die.
        clock_hz: peak engine clock.
        board_power_watts: maximum power of the whole board.
        hbm_bytes, hbm_bytes_per_second, hbm_bus_bits: device memory.
        l2_bytes_per_xcd, l2_bytes_per_clock_per_xcd: L2 of a compute die, and its peak read bandwidth; None
            if that is not published, so that the timing model cannot work.
        infinity_cache_bytes: size of the cache that all XCDs share; 0 if there is none.
        infinity_cache_bytes_per_second: its peak bandwidth; None if it is not published.
        memory_latency_ns: latency of a load from the Infinity Cache; None if unknown, so that the timing
            model cannot work.
        burst_clock_hz: clock that it keeps under load before power limits it; its peak unless another was
            observed.
        settling_ms: time in which the clock falls from there; 0 if it was never seen above.
        under_load: clocks that it was seen to sustain.
        hbm_latency_ns: latency of a load from HBM, including caches on the way.
        memory_spread_ns, hbm_spread_ns: standard deviation of the latencies of both.
        hbm_queue_ns: wait for HBM behind other requests while half of its bandwidth is in use.
        l2_read: percent of `l2_bytes_per_clock_per_xcd` that kernels reach.
        hbm_read, hbm_write: percent of `hbm_bytes_per_second` that kernels reach.
        hbm_fresh_read, hbm_fresh_write: the same in memory that no launch used shortly before.
        infinity_cache_achievable: bytes/s that kernels have read from the Infinity Cache.
        host_link_bytes_per_second: bandwidth of the link to the host, in one direction.
    """

    name: str
    target: Target
    compute_units: Fact
    xcds: Fact
    clock_hz: Fact
    board_power_watts: Fact
    hbm_bytes: Fact
    hbm_bytes_per_second: Fact
    hbm_bus_bits: Fact
    l2_bytes_per_xcd: Fact
    l2_bytes_per_clock_per_xcd: Fact | None
    infinity_cache_bytes: Fact
    infinity_cache_bytes_per_second: Fact | None
    memory_latency_ns: Fact | None
    burst_clock_hz: Fact | None = None
    settling_ms: Fact | None = None
    under_load: tuple[UnderLoad, ...] = ()
    hbm_latency_ns: Fact = memory.HBM_LATENCY
    memory_spread_ns: Fact = memory.MEMORY_SPREAD
    hbm_spread_ns: Fact = memory.HBM_SPREAD
    hbm_queue_ns: Fact = memory.HBM_QUEUE
    l2_read: Fact = memory.L2_READ_CDNA3
    hbm_read: Fact = memory.HBM_READ_CDNA3
    hbm_write: Fact = memory.HBM_WRITE_CDNA3
    hbm_fresh_read: Fact = memory.HBM_READ_CDNA3
    hbm_fresh_write: Fact = memory.HBM_WRITE_CDNA3
    infinity_cache_achievable: Fact = memory.INFINITY_CACHE_CDNA3
    host_link_bytes_per_second: Fact = memory.HOST_LINK_GEN5
    brand: str = "AMD Instinct"

    @property
    def arch(self) -> str:
        """Name of its target."""
        return self.target.name

    @property
    def full_name(self) -> str:
        """Its name in HIP: "AMD Instinct MI355X"."""
        return f"{self.brand} {self.name}"

    @property
    def units_per_xcd(self) -> int:
        """Compute units of an XCD."""
        return self.compute_units // self.xcds

    @property
    def waves_per_unit(self) -> int:
        """Wave slots of a compute unit."""
        return self.target.simds * self.target.waves_per_simd

    @property
    def l2_bytes_per_second(self) -> int:
        """Peak read bandwidth of all L2 caches together, of a product for which it is known."""
        assert self.l2_bytes_per_clock_per_xcd is not None, self.name
        return self.l2_bytes_per_clock_per_xcd * self.xcds * self.clock_hz

    @property
    def lds_bytes_per_second(self) -> int:
        """Peak LDS bandwidth of all compute units together."""
        return self.target.lds_bytes_per_clock * self.compute_units * self.clock_hz

    @property
    def vector_flops(self) -> int:
        """Peak fp32 FLOP/s of the vector units."""
        return self.target.vector_rate * self.compute_units * self.clock_hz

    def matrix_flops(self, kind: str) -> int | None:
        """Dense peak of the matrix cores, FLOP/s or integer operations; None where they lack the type.

        Args:
            kind: rocprof's name of the input type: "BF16", "F8", ...
        """
        rate = self.target.matrix_rates.get(kind)
        return None if rate is None else rate * self.compute_units * self.clock_hz


_CDNA4_CLOCK = "; agrees with the peak rates of the CDNA 4 white paper, table 2"

MI355X = Product(
    name="MI355X",
    target=GFX950,
    compute_units=Fact(256, "", f"{GPU_SPECS}; rocprofv3 agent_info of an MI355X, Cu_Count"),
    xcds=Fact(8, "", f"{MI350_PAGE}; rocprofv3 agent_info of an MI355X, Num_Xcc"),
    clock_hz=Fact(2400, "MHz", f"rocprofv3 agent_info of an MI355X, Max_Engine_Clk_Fcompute{_CDNA4_CLOCK}"),
    board_power_watts=Fact(1400, "W", MI350_PAGE),
    hbm_bytes=Fact(288, "GiB", GPU_SPECS),
    hbm_bytes_per_second=Fact(8.0, "TB/s", MI350_PAGE),
    hbm_bus_bits=memory.HBM_BUS,
    l2_bytes_per_xcd=memory.L2,
    l2_bytes_per_clock_per_xcd=memory.L2_READ,
    infinity_cache_bytes=memory.INFINITY_CACHE,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=memory.CDNA4_LATENCY,
    under_load=MI355X_LOAD,
    l2_read=memory.L2_READ_CDNA4,
    hbm_read=memory.HBM_READ_CDNA4,
    hbm_write=memory.HBM_WRITE_CDNA4,
    hbm_fresh_read=memory.HBM_FRESH_READ_CDNA4,
    hbm_fresh_write=memory.HBM_FRESH_WRITE_CDNA4,
    infinity_cache_achievable=memory.INFINITY_CACHE_CDNA4,
)
MI350X = Product(
    name="MI350X",
    target=GFX950,
    compute_units=Fact(256, "", f"{GPU_SPECS}; rocprofv3 agent_info of an MI350X, Cu_Count"),
    xcds=Fact(8, "", f"{MI350_PAGE}; rocprofv3 agent_info of an MI350X, Num_Xcc"),
    clock_hz=Fact(2200, "MHz", f"rocprofv3 agent_info of an MI350X, Max_Engine_Clk_Fcompute{_CDNA4_CLOCK}"),
    board_power_watts=Fact(1000, "W", MI350_PAGE),
    hbm_bytes=Fact(288, "GiB", GPU_SPECS),
    hbm_bytes_per_second=Fact(8.0, "TB/s", MI350_PAGE),
    hbm_bus_bits=memory.HBM_BUS,
    l2_bytes_per_xcd=memory.L2,
    l2_bytes_per_clock_per_xcd=memory.L2_READ,
    infinity_cache_bytes=memory.INFINITY_CACHE,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=memory.CDNA4_LATENCY,
    l2_read=memory.L2_READ_CDNA4,
    hbm_read=memory.HBM_READ_CDNA4,
    hbm_write=memory.HBM_WRITE_CDNA4,
    hbm_fresh_read=memory.HBM_FRESH_READ_CDNA4,
    hbm_fresh_write=memory.HBM_FRESH_WRITE_CDNA4,
    infinity_cache_achievable=memory.INFINITY_CACHE_CDNA4,
)
MI300X = Product(
    name="MI300X",
    target=GFX942,
    compute_units=Fact(304, "", f"{CDNA3_PAPER}; {GPU_SPECS}"),
    xcds=Fact(8, "", CDNA3_PAPER),
    clock_hz=Fact(2100, "MHz", f"{CDNA3_PAPER} (peak max engine clock), and footnote MI300-11"),
    board_power_watts=Fact(750, "W", f"{CDNA3_PAPER} (max power)"),
    hbm_bytes=Fact(192, "GiB", GPU_SPECS),
    hbm_bytes_per_second=Fact(5.3, "TB/s", CDNA3_PAPER),
    hbm_bus_bits=memory.HBM_BUS,
    l2_bytes_per_xcd=memory.L2,
    l2_bytes_per_clock_per_xcd=memory.L2_READ,
    infinity_cache_bytes=memory.INFINITY_CACHE,
    infinity_cache_bytes_per_second=memory.INFINITY_CACHE_READ,
    memory_latency_ns=Fact(218, "ns", memory.LATENCY_SOURCE),
    burst_clock_hz=BURST,
    settling_ms=SETTLING,
    under_load=MI300X_LOAD,
)
MI325X = Product(
    name="MI325X",
    target=GFX942,
    compute_units=Fact(304, "", f"{CDNA3_PAPER}; {GPU_SPECS}"),
    xcds=Fact(8, "", CDNA3_PAPER),
    clock_hz=Fact(2100, "MHz", f"{CDNA3_PAPER} (peak max engine clock), and footnote MI325-019"),
    board_power_watts=Fact(1000, "W", f"{CDNA3_PAPER} (max power), and footnote MI325-019"),
    hbm_bytes=Fact(256, "GiB", GPU_SPECS),
    hbm_bytes_per_second=Fact(
        6.0, "TB/s", f"{CDNA3_PAPER}; HipKittens' README has 5.2, from another machine"
    ),
    hbm_bus_bits=memory.HBM_BUS,
    l2_bytes_per_xcd=memory.L2,
    l2_bytes_per_clock_per_xcd=memory.L2_READ,
    infinity_cache_bytes=memory.INFINITY_CACHE,
    infinity_cache_bytes_per_second=memory.INFINITY_CACHE_READ,
    memory_latency_ns=Fact(218, "ns", f"of the MI300X, which differs in HBM alone: {memory.LATENCY_SOURCE}"),
    burst_clock_hz=BURST,
    settling_ms=SETTLING,
    under_load=MI325X_LOAD,
)
MI210 = Product(
    name="MI210",
    target=GFX90A,
    compute_units=Fact(104, "", f"{CDNA2_PAPER}; {GPU_SPECS}"),
    xcds=Fact(1, "", f"one graphics compute die: {CDNA2_PAPER}"),
    clock_hz=Fact(
        1700, "MHz", "AMD CDNA 2 white paper: 22.6 TFLOP/s of fp64 from 104 compute units of 128 a clock"
    ),
    board_power_watts=Fact(300, "W", CDNA2_PAPER),
    hbm_bytes=Fact(64, "GiB", GPU_SPECS),
    hbm_bytes_per_second=Fact(1.6, "TB/s", CDNA2_PAPER),
    hbm_bus_bits=Fact(4096, "bits", CDNA2_PAPER),
    l2_bytes_per_xcd=Fact(8, "MiB", f"{GPU_SPECS}; AMD CDNA 2 white paper, 'Scaling the Memory Hierarchy'"),
    l2_bytes_per_clock_per_xcd=Fact(
        4096, "bytes/clock", "32 slices of 128 bytes: AMD CDNA 2 white paper, 'Scaling the Memory Hierarchy'"
    ),
    infinity_cache_bytes=Fact(0, "MiB", f"none: {GPU_SPECS}"),
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
    host_link_bytes_per_second=memory.HOST_LINK_GEN4,
)

RX9070XT = Product(
    name="RX 9070 XT",
    brand="AMD Radeon",
    target=GFX1201,
    compute_units=Fact(64, "", f"{GPU_SPECS}; {sources.RX9070XT}"),
    xcds=Fact(1, "", f"one die: {sources.RX9070XT}"),
    clock_hz=Fact(2970, "MHz", f"boost: {sources.RX9070XT}"),
    board_power_watts=Fact(304, "W", f"{sources.RX9070XT}"),
    hbm_bytes=Fact(16, "GiB", f"GDDR6: {GPU_SPECS}; {sources.RX9070XT}"),
    hbm_bytes_per_second=Fact(0.64, "TB/s", f"GDDR6 of 20 Gbit/s, 640 GB/s: {sources.RX9070XT}"),
    hbm_bus_bits=Fact(256, "bits", f"{sources.RX9070XT}"),
    l2_bytes_per_xcd=Fact(8, "MiB", f"{GPU_SPECS}"),
    infinity_cache_bytes=Fact(64, "MiB", f"{GPU_SPECS}; {sources.RX9070XT}"),
    l2_bytes_per_clock_per_xcd=None,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
)
"""Its launches are counted and sanitized; they have no times, for which too little is published."""

RX7900XTX = Product(
    name="RX 7900 XTX",
    brand="AMD Radeon",
    target=GFX1100,
    compute_units=Fact(96, "", f"{GPU_SPECS}; {sources.RX7900XTX_TABLE}"),
    xcds=Fact(1, "", f"one graphics compute die: {sources.RDNA3_CACHES}"),
    clock_hz=Fact(
        2500, "MHz", f"boost: {sources.RX7900XTX}; {sources.RX7900XTX_TABLE}; others have 2,498 and 2,499"
    ),
    board_power_watts=Fact(355, "W", f"{sources.RX7900XTX}; {sources.RX7900XTX_TABLE}"),
    hbm_bytes=Fact(24, "GiB", f"GDDR6: {GPU_SPECS}; {sources.RX7900XTX}"),
    hbm_bytes_per_second=Fact(0.96, "TB/s", f"GDDR6 of 20 Gbit/s, 960 GB/s: {sources.RX7900XTX_TABLE}"),
    hbm_bus_bits=Fact(384, "bits", f"{sources.RX7900XTX}; {sources.RX7900XTX_TABLE}"),
    l2_bytes_per_xcd=Fact(6, "MiB", f"{GPU_SPECS}"),
    infinity_cache_bytes=Fact(96, "MiB", f"{GPU_SPECS}; {sources.RX7900XTX}"),
    l2_bytes_per_clock_per_xcd=None,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
    host_link_bytes_per_second=memory.HOST_LINK_GEN4,
)
"""As the RX 9070 XT, without times; so are the following."""
W7900 = Product(
    name="W7900",
    brand="AMD Radeon PRO",
    target=GFX1100,
    compute_units=Fact(96, "", f"{GPU_SPECS}; {sources.W7900}"),
    xcds=Fact(1, "", "assumed to equal the RX 7900 XTX's, of the same target"),
    clock_hz=Fact(
        2495,
        "MHz",
        "Hugging Face's list of hardware: 122.6 TFLOP/s of fp16 from 96 compute units of 512 a clock",
    ),
    board_power_watts=Fact(295, "W", f"{sources.W7900}; Hugging Face's list of hardware"),
    hbm_bytes=Fact(48, "GiB", f"GDDR6: {GPU_SPECS}; {sources.W7900}"),
    hbm_bytes_per_second=Fact(0.864, "TB/s", f"GDDR6, 864 GB/s: {sources.W7900}"),
    hbm_bus_bits=Fact(384, "bits", f"{sources.W7900}"),
    l2_bytes_per_xcd=Fact(6, "MiB", f"{GPU_SPECS}"),
    infinity_cache_bytes=Fact(96, "MiB", f"{GPU_SPECS}"),
    l2_bytes_per_clock_per_xcd=None,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
    host_link_bytes_per_second=memory.HOST_LINK_GEN4,
)
RX7800XT = Product(
    name="RX 7800 XT",
    brand="AMD Radeon",
    target=GFX1101,
    compute_units=Fact(60, "", f"{GPU_SPECS}; {sources.RX7800XT}"),
    xcds=Fact(1, "", "one graphics compute die: TechPowerUp on the Navi 32"),
    clock_hz=Fact(2430, "MHz", f"boost: {sources.RX7800XT}"),
    board_power_watts=Fact(263, "W", f"{sources.RX7800XT}"),
    hbm_bytes=Fact(16, "GiB", f"GDDR6: {GPU_SPECS}; {sources.RX7800XT}"),
    hbm_bytes_per_second=Fact(0.624, "TB/s", f"GDDR6 of 19.5 Gbit/s on 256 bits: {sources.RX7800XT}"),
    hbm_bus_bits=Fact(256, "bits", f"{sources.RX7800XT}"),
    l2_bytes_per_xcd=Fact(4, "MiB", f"{GPU_SPECS}"),
    infinity_cache_bytes=Fact(64, "MiB", f"{GPU_SPECS}; {sources.RX7800XT}"),
    l2_bytes_per_clock_per_xcd=None,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
    host_link_bytes_per_second=memory.HOST_LINK_GEN4,
)
RX7600 = Product(
    name="RX 7600",
    brand="AMD Radeon",
    target=GFX1102,
    compute_units=Fact(32, "", f"{GPU_SPECS}; {sources.RX7600}"),
    xcds=Fact(1, "", f"one die: {sources.RDNA3_CACHES}"),
    clock_hz=Fact(
        2655,
        "MHz",
        f"boost: {sources.RX7600}; {sources.RX7600_TABLE} prints 2,625 beside 21.75 TFLOP/s, which are 2,655",
    ),
    board_power_watts=Fact(165, "W", f"{sources.RX7600}; {sources.RX7600_TABLE}"),
    hbm_bytes=Fact(8, "GiB", f"GDDR6: {GPU_SPECS}; {sources.RX7600}"),
    hbm_bytes_per_second=Fact(0.288, "TB/s", f"GDDR6 of 18 Gbit/s, 288 GB/s: {sources.RX7600}"),
    hbm_bus_bits=Fact(128, "bits", f"{sources.RX7600}; {sources.RX7600_TABLE}"),
    l2_bytes_per_xcd=Fact(2, "MiB", f"{GPU_SPECS}"),
    infinity_cache_bytes=Fact(32, "MiB", f"{GPU_SPECS}; {sources.RX7600}"),
    l2_bytes_per_clock_per_xcd=None,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
    host_link_bytes_per_second=Fact(
        0.01575, "TB/s", f"PCIe Gen4 x8: {sources.RX7600_TABLE}; half of the x16 of ROCm's hardware pages"
    ),
)
RADEON780M = Product(
    name="780M",
    brand="AMD Radeon",
    target=GFX1103,
    compute_units=Fact(12, "", f"{GPU_SPECS}; {sources.RYZEN_TABLE}"),
    xcds=Fact(1, "", f"part of the processor: {GPU_SPECS}"),
    clock_hz=Fact(
        2700, "MHz", f"graphics frequency: {sources.RYZEN_TABLE}; Beebom on AMD's announcement (2023-05)"
    ),
    board_power_watts=Fact(
        28, "W", f"of the whole processor by default: {sources.RYZEN_TABLE}; Liliputing (2023-05-03)"
    ),
    hbm_bytes=Fact(16, "GiB", f"assumed: it shares the host's memory ({GPU_SPECS}: 'Dynamic + carveout')"),
    hbm_bytes_per_second=Fact(0.12, "TB/s", f"LPDDR5X-7500 ({sources.PHOENIX}) on 128 bits"),
    hbm_bus_bits=Fact(128, "bits", f"two channels ({sources.RYZEN_TABLE}), of 64 bits as DDR5's"),
    l2_bytes_per_xcd=Fact(2, "MiB", f"{GPU_SPECS}"),
    infinity_cache_bytes=Fact(0, "MiB", f"none: {GPU_SPECS}"),
    l2_bytes_per_clock_per_xcd=None,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
    host_link_bytes_per_second=Fact(
        0.0315, "TB/s", "assumed, as over PCIe Gen4 x16: it shares the host's memory"
    ),
)
RADEON8060S = Product(
    name="8060S",
    brand="AMD Radeon",
    target=GFX1151,
    compute_units=Fact(40, "", f"{GPU_SPECS}; {sources.STRIX_HALO}"),
    xcds=Fact(1, "", f"part of the processor: {GPU_SPECS}"),
    clock_hz=Fact(2900, "MHz", f"graphics frequency: {sources.STRIX_HALO}"),
    board_power_watts=Fact(
        55,
        "W",
        f"of the whole processor by default, 45 to 120 if configured: {sources.STRIX_HALO}; "
        "PurePC's review (2025-03)",
    ),
    hbm_bytes=Fact(
        96, "GiB", f"{sources.STRIX_HALO_MEMORY}: the most of 128 GB that it shares with the host"
    ),
    hbm_bytes_per_second=Fact(
        0.256, "TB/s", f"LPDDR5X-8000 on 256 bits: {sources.STRIX_HALO}; {sources.STRIX_HALO_CACHE}"
    ),
    hbm_bus_bits=Fact(256, "bits", f"{sources.STRIX_HALO}; {sources.STRIX_HALO_CACHE}"),
    l2_bytes_per_xcd=Fact(2, "MiB", f"{GPU_SPECS}; Chips and Cheese, 'Strix Halo's Memory Subsystem'"),
    infinity_cache_bytes=Fact(32, "MiB", f"{GPU_SPECS}; {sources.STRIX_HALO_CACHE}"),
    l2_bytes_per_clock_per_xcd=None,
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
    host_link_bytes_per_second=Fact(
        0.0315, "TB/s", "assumed, as over PCIe Gen4 x16: it shares the host's memory"
    ),
)

MI455X = Product(
    name="MI455X",
    target=GFX1250,
    compute_units=Fact(256, "", f"{ROCJITSU_MI455X}, simd_count of 1,024"),
    xcds=Fact(8, "", f"{ROCJITSU_MI455X}, topology"),
    clock_hz=Fact(2400, "MHz", f"assumed; {ROCJITSU_MI455X} has 2,700"),
    board_power_watts=Fact(2300, "W", "assumed: press reports; AMD has not published it"),
    hbm_bytes=Fact(432, "GiB", f"HBM4: {MI400_PAGES}; {ROCJITSU_MI455X}"),
    hbm_bytes_per_second=Fact(19.6, "TB/s", f"HBM4: {MI400_PAGES}"),
    hbm_bus_bits=Fact(24576, "bits", f"{ROCJITSU_MI455X}, mem_width"),
    l2_bytes_per_xcd=Fact(24, "MiB", f"{ROCJITSU_MI455X}, an eighth of l2_size_kb"),
    l2_bytes_per_clock_per_xcd=None,
    infinity_cache_bytes=Fact(0, "MiB", "none is published"),
    infinity_cache_bytes_per_second=None,
    memory_latency_ns=None,
)
"""It runs kernels: no sanitizer, and no times, for which little is published."""

PRODUCTS: tuple[Product, ...] = (MI355X, MI300X, MI210, MI350X, MI325X)
"""The first product of a target represents it if nothing says which one."""

PARTIAL_PRODUCTS: tuple[Product, ...] = (
    RX9070XT,
    RX7900XTX,
    W7900,
    RX7800XT,
    RX7600,
    RADEON780M,
    RADEON8060S,
    MI455X,
)
"""Products of targets that the emulated device has in part (`instruction_sets.PARTIAL`)."""


def default_product(arch: str) -> Product:
    """The product that represents a target.

    Raises:
        UsageError: there is no such target.
    """
    record = target(arch)
    return next(each for each in PRODUCTS + PARTIAL_PRODUCTS if each.target is record)


def product(name: str) -> Product:
    """A product by name: "MI355X", in upper or lower case, or "AMD Instinct MI355X".

    Raises:
        UsageError: there is no product of that name.
    """
    known = PRODUCTS + PARTIAL_PRODUCTS
    record = next((candidate for candidate in known if candidate.name.lower() in name.lower()), None)
    if record is None:
        raise UsageError(
            f"product {name!r}: expected one of {', '.join(candidate.name for candidate in PRODUCTS)}"
        )
    return record
