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

/* Named barriers of a work-group, by number: one loses its signals; a wave signals it, which completes it if
 * `is_complete`; a wave goes on that waited for it. */
void hk_san_named_init(const Wave *w, uint32_t number);
void hk_san_named_signal(const Wave *w, uint32_t number, int is_complete);
void hk_san_named_pass(const Wave *w, uint32_t number);

/* The barrier of a wave's cluster, after `completed` completions: the wave signals for its work-group; or goes on that
 * waited for the next completion. */
void hk_san_cluster_signal(const Wave *w, uint32_t completed);
void hk_san_cluster_pass(const Wave *w, uint32_t completed);

/* Functions for the driver. */
size_t hk_san_bytes(const Launch *l, uint32_t waves);
void hk_san_start(const Launch *l, Group *g, Wave *waves, void *memory);
void hk_san_barrier(const Group *g, Wave *waves);

#endif
