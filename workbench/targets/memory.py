"""Memory beyond a compute unit: L2, Infinity Cache and HBM, as products share them."""

from __future__ import annotations

from workbench.targets.fact import Fact
from workbench.targets.sources import (
    CDNA3_MEMORY,
    CDNA3_PAPER,
    CDNA4_PAPER,
    GLUON,
    GPU_SPECS,
    MT4G,
    MT4G_CDNA4,
)

HBM_BUS = Fact(8192, "bits", f"8 stacks of 1,024 bits: {CDNA3_PAPER}; {CDNA4_PAPER}")
L2 = Fact(4, "MiB", f"{GPU_SPECS}: 4 per XCD")
L2_READ = Fact(
    2048,
    "bytes/clock",
    f"16 channels of 128 bytes: {CDNA3_MEMORY}; {CDNA4_PAPER}, page 9. 8 XCDs at "
    "2,100 MHz make the 34.4 TB/s of the CDNA 3 paper's text; its figure 6 prints 51.6",
)
L2_READ_CDNA3 = Fact(
    60, "%", "mt4g on an MI300A (sample_results, 2026-03-28): 14,483 GiB/s of 6 XCDs at 2,100 MHz"
)
L2_READ_CDNA4 = Fact(
    74,
    "%",
    f"{MT4G_CDNA4}: 12,494.5 GiB/s of 4 XCDs at 2,200 MHz. {GLUON}: eight tiles' loops, which L2 mostly "
    "serves, draw 44 to 46 bytes a cycle and compute unit of 64",
)
INFINITY_CACHE = Fact(256, "MiB", GPU_SPECS)
LATENCY_SOURCE = "Chips and Cheese, 'Testing AMD's Giant MI300X', as others cite it"
INFINITY_CACHE_READ = Fact(17.2, "TB/s", f"{CDNA3_MEMORY}; 11.9 measured by Chips and Cheese")
CDNA4_LATENCY = Fact(218, "ns", f"of the MI300X, none is published for CDNA 4: {LATENCY_SOURCE}")

HOST_LINK_GEN5 = Fact(
    0.063,
    "TB/s",
    "PCIe Gen5 x16, as MLPerf Inference's systems of 8 MI300X have it: 32 GT/s on 16 lanes, 128 of 130 bits "
    "are data; one direction, packets' own bytes included",
)
HOST_LINK_GEN4 = Fact(0.0315, "TB/s", "PCIe Gen4 x16 (ROCm's hardware pages): half of Gen5")
HBM_LATENCY = Fact(
    417, "ns", f"{MT4G}: 876 cycles at 2,100 MHz (median); others say 300 for the near stacks and 340 to 370"
)
HBM_SPREAD = Fact(
    69, "ns", f"{MT4G}: standard deviation of 145 cycles at 2,100 MHz, 95 % within 1,114.8; 60 on an MI350P"
)
HBM_QUEUE = Fact(
    65,
    "ns",
    f"{GLUON}, skinny GEMM on an MI355X: what fits its bandwidths with 32 to 256 work-groups, 1,529 to "
    "6,442 GB/s (within 6 % each), none of which is a row of a comparison",
)
MEMORY_SPREAD = Fact(
    35,
    "ns",
    "mt4g on an MI300A (sample_results, 2026-03-28): standard deviation of 74.4 cycles at 2,100 MHz; 15 on "
    "an MI350P, which has one I/O die",
)
HBM_READ_CDNA3 = Fact(75, "%", "mt4g on an MI300X: 3.96 of 5.3 TB/s; BabelStream's dot has 3.87")
HBM_WRITE_CDNA3 = Fact(
    83,
    "%",
    "mt4g on an MI300X: 4.42 of 5.3 TB/s; with the reads' 75 % a copy reaches 4.18, BabelStream has 4.11",
)
HBM_READ_CDNA4 = Fact(80, "%", f"{GLUON}: 6,442 GB/s of an MI355X's 8 TB/s in a skinny GEMM")
HBM_WRITE_CDNA4 = Fact(
    70,
    "%",
    "between two: with 80 vec_add of 10 to 67 million fp32 on an MI350X (four implementations, caches "
    "cleared by writing) comes within 6 % once the Infinity Cache's evictions are counted; with 62 a copy of "
    "doubles reaches the 5,600 GB/s of ROCm/rocm-systems pull request 8480",
)
HBM_FRESH_READ_CDNA4 = Fact(
    64,
    "%",
    f"{MT4G_CDNA4}: 2,448.9 GiB/s of 4.1 TB/s, each byte of 1 GiB read once. That loops over the same memory "
    "reach 80 % suggests that address translation costs the rest; no source says so",
)
HBM_FRESH_WRITE_CDNA4 = Fact(55, "%", f"{MT4G_CDNA4}: 2,105.9 GiB/s of 4.1 TB/s, as for reads")
INFINITY_CACHE_CDNA3 = Fact(
    5.8,
    "TB/s",
    "mt4g on an MI300X: 5,399.65 GiB/s; Chips and Cheese, as others cite it, has 11.9 of 17.2. mt4g's 17,142 "
    "GiB/s on an MI300A exceed the peak: other caches serve a part",
)
INFINITY_CACHE_CDNA4 = Fact(
    6.4,
    "TB/s",
    f"{GLUON}: a skinny GEMM on an MI355X drew 6,442 GB/s from HBM through it; the three tile orders of "
    "HipKittens' paper (arXiv 2511.08083, as others cite it), whose bandwidths are hit rates times what each "
    "cache gives, solve to 5.9, and mt4g reads 5.8 on an MI300X; but vec_add of 123 warm MB on an MI350X "
    "(20.5 us, about 11 of them the benchmark's) had more. The link between the two I/O dies allows 11: it "
    "carries 5.5, both directions together (AMD's announcement of the MI350, as TechPowerUp cites it), and "
    "half of the lines. With 11, rotary embeddings that HipKittens published would be 23 % too fast, not 11",
)
