"""Documents that the sources of figures name."""

from __future__ import annotations

GPU_SPECS = "AMD GPU specifications (rocm.docs.amd.com/en/7.13.0-preview/reference/gpu-specs.html)"
CDNA2_PAPER = "AMD CDNA 2 white paper, table of MI200 products"
CDNA2_RATES = "AMD CDNA 2 white paper, table 1"
CDNA3_PAPER = "AMD CDNA 3 white paper (2025), table 2"
CDNA3_RATES = "AMD CDNA 3 white paper (2025), footnote MI325-019"
CDNA3_MEMORY = "AMD CDNA 3 white paper (2025), 'AMD CDNA 3 architecture memory'"
CDNA4_PAPER = "AMD CDNA 4 white paper, as others quote it"
CDNA4_RATES = f"{CDNA4_PAPER}, table 1"
MI350_PAGE = "AMD Instinct MI350 Series microarchitecture (rocm.docs.amd.com, reference/gpu-arch/mi350.html)"
LDS_BLOG = "ROCm blog 'FP8 GEMM Optimization on AMD CDNA4', table 1"
LLVM = "LLVM AMDGPUUsage"
GLUON = "ROCm/gfx950-gluon-tutorials"
MT4G = "mt4g on an MI300X, pointer chase"
TRACES = "jhinpan/flydsl-kernel-profiling-lib, thread traces of 20 kernels on an MI350X"
HAZARDS = "LLVM, GCNHazardRecognizer.cpp: wait states that it puts behind an XDL instruction"
ROCPROF_DOCS = "ROCm Compute Profiler, 'Pipeline descriptions'"
RX9070XT_PAGE = "AMD's product page of the Radeon RX 9070 XT"
ROCCLR = "ROCm's rocclr, rocdevice.cpp, maxComputeUnits_"
RDNA4_GUIDE = "RDNA4 ISA guide, 'Terminology' and 'Data Share'"
ROCJITSU_MI455X = "ROCm/rocm-systems, rocjitsu's configuration of an MI455X"
MI400_PAGES = "AMD's announcement of the MI400 series, as others cite it"
GFX1250_TD = "LLVM, AMDGPU.td, FeatureISAVersion12_50_Common"
MATRIX_CALCULATOR = (
    "AMD matrix instruction calculator (github.com/ROCm/amd_matrix_instruction_calculator, 2ef9189)"
)
