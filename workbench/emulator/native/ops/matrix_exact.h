/* Matrix instructions to the bit as an MI300X computes them, according to a published model: groups of products summed
 * in fixed point, rounded once.
 *
 * The rules are those of Xie, Wang, Yang, Yang, "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix
 * Cores" (arXiv:2511.10909), whose authors compared them with the hardware bit by bit. docs/numerics.md gives them in
 * words, with the assumptions about instructions that nobody has published.
 */
#ifndef HK_MATRIX_EXACT_H
#define HK_MATRIX_EXACT_H

#include "ops/matrix.h"

/* One factor, as exact floats.
 *
 * values: [k][m].
 * least: the smallest exponent of its format, which denormals have.
 * scales: [k / 32][m] powers of two that the values are to be multiplied by (128: NaN), or NULL.
 */
typedef struct HkExactFactor {
    float *values;
    int least;
    const int *scales;
} HkExactFactor;

/* The smallest exponent of a format. */
int hk_exact_least(HkElement type);

/* Number of products of a format that are summed at once. */
int hk_exact_group(HkElement type, int depth);

/* True if products of even and of odd k are summed separately. */
HK_INLINE int hk_exact_split(HkElement type) { return type >= HK_FP8 && type != HK_INT8; }

/* D = C + A B for m x m floats as hk_result_offset places them, m 16 or 32. `d` may be `c`. Values may be changed. */
void hk_exact_multiply(int m, float *d, const float *c, HkExactFactor a, HkExactFactor b, int depth, int group,
                       int split);

/* One element of the result, from columns [k] of A and of B, each with a stride of `stride` floats. */
float hk_exact_element(const float *a, int least_a, const int *scales_a, const float *b, int least_b,
                       const int *scales_b, int stride, float c, int depth, int group, int split);

#endif
