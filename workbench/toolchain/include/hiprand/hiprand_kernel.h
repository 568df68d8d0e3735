// hipRAND's device functions: rocRAND's by other names.
#pragma once

#include "hip/device/push_names.h"

#include "rocrand/rocrand_kernel.h"

using hiprandStateXORWOW_t = rocrand_state_xorwow;
using hiprandStatePhilox4_32_10_t = rocrand_state_philox4x32_10;
using hiprandStateXORWOW = hiprandStateXORWOW_t;
using hiprandStatePhilox4_32_10 = hiprandStatePhilox4_32_10_t;
using hiprandState = hiprandStateXORWOW_t;
using hiprandState_t = hiprandStateXORWOW_t;

#define __HIPRAND_NAME(name)                                                                                           \
    template <typename State, typename... Numbers, __hip_random::if_generator<State> = 0>                              \
    __host__ __device__ inline auto hip##name(State *state, Numbers... numbers) {                                      \
        return roc##name(state, numbers...);                                                                           \
    }
__HIPRAND_NAME(rand)
__HIPRAND_NAME(rand4)
__HIPRAND_NAME(rand_uniform)
__HIPRAND_NAME(rand_uniform2)
__HIPRAND_NAME(rand_uniform4)
__HIPRAND_NAME(rand_uniform_double)
__HIPRAND_NAME(rand_uniform_double2)
__HIPRAND_NAME(rand_uniform_double4)
__HIPRAND_NAME(rand_normal)
__HIPRAND_NAME(rand_normal2)
__HIPRAND_NAME(rand_normal4)
__HIPRAND_NAME(rand_normal_double)
__HIPRAND_NAME(rand_normal_double2)
__HIPRAND_NAME(rand_normal_double4)
__HIPRAND_NAME(rand_log_normal)
__HIPRAND_NAME(rand_log_normal2)
__HIPRAND_NAME(rand_log_normal4)
__HIPRAND_NAME(rand_log_normal_double)
__HIPRAND_NAME(rand_log_normal_double2)
#undef __HIPRAND_NAME

template <typename State, __hip_random::if_generator<State> = 0>
__host__ __device__ inline void hiprand_init(unsigned long long seed, unsigned long long subsequence,
                                             unsigned long long offset, State *state) {
    rocrand_init(seed, subsequence, offset, state);
}

#include "hip/device/pop_names.h"
