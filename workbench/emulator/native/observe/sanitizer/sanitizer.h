/* The sanitizer's interface to generated code and to the driver.
 *
 * Code translated for sanitizing passes runs of instructions to hk_san_run before they execute; other launches contain
 * no such calls.
 */
#ifndef HK_SANITIZER_H
#define HK_SANITIZER_H

#include "run/wave.h"

HK_EXPORT void hk_san_run(Wave *w, const SanOp *ops, uint32_t count);
/* Runs a native operation; lanes out of bounds are reported and skipped. */
HK_EXPORT int32_t hk_san_native(Wave *w, const Op *op, NativeFn operation);
/* Reports an LDS access beyond the kernel's allocation, which hardware does not stop. */
void hk_san_overrun(Wave *w, const Op *op, uint64_t offset, uint32_t size, int is_write, int32_t lane);

/* Functions for the driver. */
size_t hk_san_bytes(const Launch *l, uint32_t waves);
void hk_san_start(const Launch *l, Group *g, Wave *waves, void *memory);
void hk_san_barrier(const Group *g, Wave *waves);

#endif
