/**
 * @file
 * @brief The GPU that the code is compiled for, and its sizes that tile code depends on.
 *
 * KITTENS_CDNA5 means gfx1250 (MI455X), KITTENS_CDNA4 gfx950 (MI350X, MI355X), KITTENS_CDNA3 gfx942 (MI300X, MI325X),
 * KITTENS_RDNA4 gfx1200 and gfx1201 (RX 9060 XT, RX 9070 XT, R9700). If none is defined, the compiler's target decides.
 * KITTENS_RDNA3 means gfx1100 to gfx1103 and gfx1151 (RX 7900 XTX, Radeon 8060S).
 * HipKittens called gfx1250 UDNA1 until the summer of 2026: KITTENS_UDNA1 means KITTENS_CDNA5.
 *
 * What a target's tile code depends on, beyond the sizes here: the base shape of a matrix instruction's results
 * (`rt_shape.cuh`), the instructions themselves (`matrix_instructions.cuh`), and the waits (`sync.cuh`).
 */
#pragma once

#if defined(KITTENS_UDNA1) && !defined(KITTENS_CDNA5)
#define KITTENS_CDNA5
#endif

#if !defined(KITTENS_CDNA3) && !defined(KITTENS_CDNA4) && !defined(KITTENS_CDNA5) && !defined(KITTENS_RDNA4) &&        \
    !defined(KITTENS_RDNA3)
#if defined(__gfx1250__)
#define KITTENS_CDNA5
#elif defined(__gfx950__)
#define KITTENS_CDNA4
#elif defined(__gfx942__)
#define KITTENS_CDNA3
#elif defined(__gfx1200__) || defined(__gfx1201__)
#define KITTENS_RDNA4
#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__) ||                  \
    defined(__gfx1151__)
#define KITTENS_RDNA3
#elif defined(__HIP_DEVICE_COMPILE__)
#error                                                                                                                 \
    "kittens.cuh is written for gfx950 (CDNA4), gfx942 (CDNA3), gfx1250 (CDNA5), gfx1201 (RDNA4) and gfx1100 (RDNA3); this compilation is for another GPU"
#else
#error                                                                                                                 \
    "the host side cannot see the GPU: compile with -DKITTENS_CDNA5 (gfx1250), -DKITTENS_CDNA4 (gfx950), -DKITTENS_CDNA3 (gfx942), -DKITTENS_RDNA4 (gfx1201) or -DKITTENS_RDNA3 (gfx1100)"
#endif
#endif

#if defined(KITTENS_CDNA3) + defined(KITTENS_CDNA4) + defined(KITTENS_CDNA5) + defined(KITTENS_RDNA4) +                \
        defined(KITTENS_RDNA3) >                                                                                       \
    1
#error                                                                                                                 \
    "several of KITTENS_CDNA3, KITTENS_CDNA4, KITTENS_CDNA5, KITTENS_RDNA4 and KITTENS_RDNA3 are defined; a compilation is for one of them"
#endif

/** Targets with waves of 32 lanes and WMMA, without AGPRs and without buffer loads straight to shared memory. */
#if defined(KITTENS_CDNA5) || defined(KITTENS_RDNA4) || defined(KITTENS_RDNA3)
#define KITTENS_WAVE32
#endif

namespace kittens {

/** Lanes of a wave, which ThunderKittens' vocabulary calls a warp. */
#if defined(KITTENS_WAVE32)
inline constexpr int WARP_THREADS = 32;
#else
inline constexpr int WARP_THREADS = 64;
#endif

/** Accelerator complex dies, each with its own L2; work-groups go to them in turn. */
#if defined(KITTENS_RDNA4) || defined(KITTENS_RDNA3)
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
/** Of an RX 9070 XT and an RX 7900 XTX. */
#if defined(KITTENS_RDNA4)
inline constexpr int CUS_PER_XCD = 64;
#else
inline constexpr int CUS_PER_XCD = 96;
#endif
/** The widest load from global to shared memory, in bytes per lane. It passes through registers. */
inline constexpr int MAX_DIRECT_LOAD_BYTES = 16;
#endif

inline constexpr int NUM_CUS = NUM_XCDS * CUS_PER_XCD;

} // namespace kittens
