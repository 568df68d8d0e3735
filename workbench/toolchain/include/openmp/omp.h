// OpenMP's functions where the compiler comes without its library: as the specification has them for programs
// compiled without OpenMP, whose pragmas do nothing.
#pragma once

#ifdef _OPENMP
#error "this compiler has no OpenMP library: compile without -fopenmp, or install one (libomp-dev)"
#endif

#include <chrono>

inline int omp_get_thread_num() { return 0; }
inline int omp_get_num_threads() { return 1; }
inline int omp_get_max_threads() { return 1; }
inline int omp_get_num_procs() { return 1; }
inline int omp_in_parallel() { return 0; }
inline void omp_set_num_threads(int) {}
inline double omp_get_wtime() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
