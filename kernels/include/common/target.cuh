/**
 * @file
 * @brief The GPU that the code is compiled for, and its sizes that tile code depends on.
 *
 * KITTENS_CDNA4 means gfx950 (MI350X, MI355X), KITTENS_CDNA3 means gfx942 (MI300X, MI325X). If neither is defined, the
 * compiler's target decides.
 */
#pragma once

#if !defined(KITTENS_CDNA3) && !defined(KITTENS_CDNA4)
#if defined(__gfx950__)
#define KITTENS_CDNA4
#elif defined(__gfx942__)
#define KITTENS_CDNA3
#elif defined(__HIP_DEVICE_COMPILE__)
#error "kittens.cuh is written for gfx950 (CDNA4) and gfx942 (CDNA3); this compilation is for another GPU"
#else
#error "the host side cannot see the GPU: compile with -DKITTENS_CDNA4 (gfx950) or -DKITTENS_CDNA3 (gfx942)"
#endif
#endif

#if defined(KITTENS_CDNA3) && defined(KITTENS_CDNA4)
#error "KITTENS_CDNA3 and KITTENS_CDNA4 are both defined; a compilation is for one of them"
#endif

namespace kittens {

/** Lanes of a wave, which ThunderKittens' vocabulary calls a warp. */
inline constexpr int WARP_THREADS = 64;

/** Accelerator complex dies, each with its own L2; work-groups go to them in turn. */
inline constexpr int NUM_XCDS = 8;

#if defined(KITTENS_CDNA4)
/** Bytes of shared memory (LDS) that a work-group may use. The LDS itself has 163840. */
inline constexpr int MAX_SHARED_MEMORY = 160000;
inline constexpr int CUS_PER_XCD = 32;
/** The widest load from global straight to shared memory, in bytes per lane. */
inline constexpr int MAX_DIRECT_LOAD_BYTES = 16;
#else
/** Bytes of shared memory (LDS) that a work-group may use. */
inline constexpr int MAX_SHARED_MEMORY = 65536;
inline constexpr int CUS_PER_XCD = 38;
/** The widest load from global straight to shared memory, in bytes per lane. */
inline constexpr int MAX_DIRECT_LOAD_BYTES = 4;
#endif

inline constexpr int NUM_CUS = NUM_XCDS * CUS_PER_XCD;

} // namespace kittens
