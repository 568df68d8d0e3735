/* The thread's AMX tiles: permission and configuration. */
#define _GNU_SOURCE
#include "ops/matrix_tiles.h"

#ifndef HK_TILES
HK_EXPORT int32_t hk_matrix_unit(void) { return 0; }
#else
int hk_tiles_allowed;
__thread HkTilesOfThread hk_tiles_here;

#ifdef HK_SOFTWARE_TILES
uint64_t hk_unit_counts[HK_UNIT_COUNTS];
__thread HkTileUnit *hk_unit;

__attribute__((constructor)) static void hk_tiles_ask(void) { hk_tiles_allowed = 1; }

/* Tiles loaded, stored and multiplied since the last call, and operands turned into tiles. */
HK_EXPORT void hk_unit_counted(uint64_t *counts) {
    for (int i = 0; i < HK_UNIT_COUNTS; i++) counts[i] = __atomic_exchange_n(&hk_unit_counts[i], 0, __ATOMIC_RELAXED);
}
#else
#include <sys/syscall.h>
#include <unistd.h>

#define ARCH_REQ_XCOMP_PERM 0x1023 /* Linux, asm/prctl.h */
#define XFEATURE_XTILEDATA 18

/* Linux gives the 8 KiB of tiles to processes that request them. It refuses if a thread's signal stack has no room for
 * them; then other instructions are used. */
__attribute__((constructor)) static void hk_tiles_ask(void) {
    hk_tiles_allowed = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}
#endif

/* Nonzero if AMX, with its order of sums, executes the matrix instructions of bf16 and smaller floats. */
HK_EXPORT int32_t hk_matrix_unit(void) { return hk_tiles_allowed; }

void hk_tiles_configure(int depth) {
    HkTileShapes shapes = {.palette = 1};
    for (int tile = HK_TILE_C0; tile <= HK_TILE_B1; tile++) {
        int is_a = tile == HK_TILE_A0 || tile == HK_TILE_A1, is_b = tile >= HK_TILE_B0;
        shapes.bytes[tile] = (uint16_t)(is_a ? 4 * depth : 64);
        shapes.rows[tile] = (uint8_t)(is_b ? depth : 16);
    }
    HK_UNIT_CONFIGURE(&shapes);
    hk_tiles_here.depth = depth;
}
#endif
