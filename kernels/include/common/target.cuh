/**
 * @file
 * @brief The GPU that the code is compiled for, and its sizes that tile code depends on.
 *
 * KITTENS_CDNA5 means gfx1250 (MI455X), KITTENS_CDNA4 gfx950 (MI350X, MI355X), KITTENS_CDNA3 gfx942 (MI300X, MI325X),
 * KITTENS_RDNA4 gfx1200 and gfx1201 (RX 9060 XT, RX 9070 XT, R9700). If none is defined, the compiler's target decides.
 * HipKittens called gfx1250 UDNA1 until the summer of 2026: KITTENS_UDNA1 means KITTENS_CDNA5.
 *
 * What a target's tile code depends on, beyond the sizes here: the base shape of a matrix instruction's results
 * (`rt_shape.cuh`), the instructions themselves (`matrix_instructions.cuh`), and the waits (`sync.cuh`).
 */
#pragma once

#if defined(KITTENS_UDNA1) && !defined(KITTENS_CDNA5)
#define KITTENS_CDNA5
#endif

#if !defined(KITTENS_CDNA3) && !defined(KITTENS_CDNA4) && !defined(KITTENS_CDNA5) && !defined(KITTENS_RDNA4)
#if defined(__gfx1250__)
#define KITTENS_CDNA5
#elif defined(__gfx950__)
#define KITTENS_CDNA4
#elif defined(__gfx942__)
#define KITTENS_CDNA3
#elif defined(__gfx1200__) || defined(__gfx1201__)
#define KITTENS_RDNA4
#elif defined(__HIP_DEVICE_COMPILE__)
#error                                                                                                                 \
    "kittens.cuh is written for gfx1250 (CDNA5), gfx950 (CDNA4), gfx942 (CDNA3) and gfx1201 (RDNA4); this compilation is for another GPU"
#else
#error                                                                                                                 \
    "the host side cannot see the GPU: compile with -DKITTENS_CDNA5 (gfx1250), -DKITTENS_CDNA4 (gfx950), -DKITTENS_CDNA3 (gfx942) or -DKITTENS_RDNA4 (gfx1201)"
#endif
#endif

#if defined(KITTENS_CDNA3) + defined(KITTENS_CDNA4) + defined(KITTENS_CDNA5) + defined(KITTENS_RDNA4) > 1
#error                                                                                                                 \
    "several of KITTENS_CDNA3, KITTENS_CDNA4, KITTENS_CDNA5 and KITTENS_RDNA4 are defined; a compilation is for one of them"
#endif

/** Targets with gfx12's instructions: waves of 32 lanes, WMMA, a wait counter for each kind of memory operation; without
 * AGPRs and without buffer loads straight to shared memory. */
#if defined(KITTENS_CDNA5) || defined(KITTENS_RDNA4)
#define KITTENS_GFX12
#endif

namespace kittens {

/** Lanes of a wave, which ThunderKittens' vocabulary calls a warp. */
#if defined(KITTENS_GFX12)
inline constexpr int WARP_THREADS = 32;
#else
inline constexpr int WARP_THREADS = 64;
#endif

/** Accelerator complex dies, each with its own L2; work-groups go to them in turn. */
#if defined(KITTENS_RDNA4)
inline constexpr int NUM_XCDS = 1;
#else
inline constexpr int NUM_XCDS = 8;
#endif

#if defined(KITTENS_CDNA5)
/** Bytes of shared memory (LDS) that a work-group may use, in segments; the others of its memory are the L1 cache. */
inline constexpr int MAX_SHARED_MEMORY_PER_SEGMENT = 65536;
inline constexpr int SHARED_MEMORY_NUM_SEGMENTS = 5;
inline constexpr int MAX_SHARED_MEMORY = MAX_SHARED_MEMORY_PER_SEGMENT * SHARED_MEMORY_NUM_SEGMENTS;
/** Of an MI455X. HipKittens counts it as one die of 64. */
inline constexpr int CUS_PER_XCD = 32;
/** The widest load from global to shared memory, in bytes per lane. Those of `group::load` pass through registers. */
inline constexpr int MAX_DIRECT_LOAD_BYTES = 16;
#elif defined(KITTENS_CDNA4)
/** Bytes of shared memory (LDS) that a work-group may use. The LDS itself has 163840. */
inline constexpr int MAX_SHARED_MEMORY = 160000;
inline constexpr int CUS_PER_XCD = 32;
/** The widest load from global to shared memory, in bytes per lane. */
inline constexpr int MAX_DIRECT_LOAD_BYTES = 16;
#elif defined(KITTENS_CDNA3)
/** Bytes of shared memory (LDS) that a work-group may use. */
inline constexpr int MAX_SHARED_MEMORY = 65536;
inline constexpr int CUS_PER_XCD = 38;
/** The widest load from global to shared memory, in bytes per lane. */
inline constexpr int MAX_DIRECT_LOAD_BYTES = 4;
#else
/** Bytes of shared memory (LDS) that a work-group may use. */
inline constexpr int MAX_SHARED_MEMORY = 65536;
/** Of an RX 9070 XT. */
inline constexpr int CUS_PER_XCD = 64;
/** The widest load from global to shared memory, in bytes per lane. It passes through registers. */
inline constexpr int MAX_DIRECT_LOAD_BYTES = 16;
#endif

inline constexpr int NUM_CUS = NUM_XCDS * CUS_PER_XCD;

} // namespace kittens
