/* Floating-point operations rounded up, down or towards zero, as the MODE register can request: generated code always
 * rounds to nearest.
 *
 * The host's rounding mode is switched for the operation. Half precision goes through double: rounding twice in the
 * same direction is the same as rounding once. */
#include "run/wave.h"

#include <fenv.h>
#include <math.h>

#pragma STDC FENV_ACCESS ON

static const int MODES[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static double get(const void *values, int kind, int i) {
    if (kind == HK_HALF) return (double)((const _Float16 *)values)[i];
    return kind == HK_SINGLE ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static void put(void *values, int kind, int i, double value) {
    if (kind == HK_HALF)
        ((_Float16 *)values)[i] = (_Float16)(float)value;
    else if (kind == HK_SINGLE)
        ((float *)values)[i] = (float)value;
    else
        ((double *)values)[i] = value;
}

static float single(int operation, float a, float b, float c) {
    switch (operation) {
    case HK_ROUND_ADD:
        return a + b;
    case HK_ROUND_SUBTRACT:
        return a - b;
    case HK_ROUND_MULTIPLY:
        return a * b;
    case HK_ROUND_DIVIDE:
        return a / b;
    case HK_ROUND_FMA:
        return __builtin_fmaf(a, b, c);
    default:
        return __builtin_sqrtf(a);
    }
}

static double wide(int operation, double a, double b, double c) {
    switch (operation) {
    case HK_ROUND_ADD:
        return a + b;
    case HK_ROUND_SUBTRACT:
        return a - b;
    case HK_ROUND_MULTIPLY:
        return a * b;
    case HK_ROUND_DIVIDE:
        return a / b;
    case HK_ROUND_FMA:
        return __builtin_fma(a, b, c);
    default:
        return __builtin_sqrt(a);
    }
}

/* `how`: the HK_ROUND_* fields of abi.h. */
HK_EXPORT void hk_rounded(void *out, const void *a, const void *b, const void *c, uint32_t how);
void hk_rounded(void *out, const void *a, const void *b, const void *c, uint32_t how) {
    int operation = how & 15, kind = how >> HK_ROUND_RESULT & 3, source = how >> HK_ROUND_SOURCE & 3,
        count = (int)(how >> HK_ROUND_COUNT);
    int before = fegetround();
    fesetround(MODES[how >> HK_ROUND_MODE & 3]);
    for (int i = 0; i < count; i++) {
        if (operation == HK_ROUND_NARROW)
            put(out, kind, i, get(a, source, i));
        else if (operation == HK_ROUND_FROM_SIGNED)
            put(out, kind, i, (double)((const int32_t *)a)[i]);
        else if (operation == HK_ROUND_FROM_UNSIGNED)
            put(out, kind, i, (double)((const uint32_t *)a)[i]);
        else if (kind == HK_SINGLE)
            ((float *)out)[i] = single(operation, ((const float *)a)[i], ((const float *)b)[i], ((const float *)c)[i]);
        else
            put(out, kind, i, wide(operation, get(a, kind, i), get(b, kind, i), get(c, kind, i)));
    }
    fesetround(before);
}
