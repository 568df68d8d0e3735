/**
 * Words that HIP and the magics bring: for highlighting, completion and hover.
 *
 * The tile library's own names come from its headers at run time (see `names.ts`); here stands only the shape
 * of its type names, so that they have their colour before a kernel runs.
 */

import { OPTIONS } from './options';

export interface IEntry {
  name: string;
  /** 'function', 'type', 'macro', 'variable', 'concept', 'keyword', 'flag'. */
  kind: string;
  signature: string;
  doc: string;
  /** Header it stands in, '' for built-ins. */
  header: string;
}

function entries(kind: string, rows: readonly [name: string, signature: string, doc: string][]): IEntry[] {
  return rows.map(([name, signature, doc]) => ({ name, kind, signature, doc, header: '' }));
}

export const HIP_ENTRIES: readonly IEntry[] = [
  ...entries('keyword', [
    ['__global__', '__global__ void kernel(...)', 'A kernel: runs on the device, launched from the host.'],
    ['__device__', '__device__', 'A function or variable of the device.'],
    ['__host__', '__host__', 'A function of the host.'],
    ['__shared__', '__shared__ T name[n]', 'Memory of the work-group, in LDS.'],
    ['__constant__', '__constant__ T name', 'Device memory that a kernel only reads.'],
    ['__forceinline__', '__forceinline__', 'Always inline this function.'],
    ['__noinline__', '__noinline__', 'Never inline this function.'],
    [
      '__launch_bounds__',
      '__launch_bounds__(max_threads, min_blocks)',
      'The largest work-group that the kernel is launched with, and how many waves a SIMD should hold.'
    ]
  ]),
  ...entries('variable', [
    ['threadIdx', 'uint3 threadIdx', 'Index of this thread in its work-group.'],
    ['blockIdx', 'uint3 blockIdx', 'Index of this work-group in the grid.'],
    ['blockDim', 'dim3 blockDim', 'Threads of a work-group along each axis.'],
    ['gridDim', 'dim3 gridDim', 'Work-groups of the grid along each axis.'],
    ['warpSize', 'int warpSize', 'Lanes of a wave: 64 on CDNA.']
  ]),
  ...entries('function', [
    [
      '__syncthreads',
      'void __syncthreads()',
      'Waits until all threads of the work-group are here and their memory is seen.'
    ],
    ['__shfl', 'T __shfl(T value, int lane, int width = warpSize)', 'Value of another lane.'],
    [
      '__shfl_up',
      'T __shfl_up(T value, unsigned delta, int width = warpSize)',
      'Value of the lane `delta` below.'
    ],
    [
      '__shfl_down',
      'T __shfl_down(T value, unsigned delta, int width = warpSize)',
      'Value of the lane `delta` above.'
    ],
    [
      '__shfl_xor',
      'T __shfl_xor(T value, int mask, int width = warpSize)',
      'Value of the lane whose index differs in `mask`.'
    ],
    ['__ballot', 'uint64_t __ballot(int predicate)', 'One bit a lane: where the predicate holds.'],
    ['__any', 'int __any(int predicate)', 'Whether the predicate holds in any active lane.'],
    ['__all', 'int __all(int predicate)', 'Whether the predicate holds in all active lanes.'],
    ['atomicAdd', 'T atomicAdd(T *address, T value)', 'Adds at the address, returns what was there.'],
    ['atomicMax', 'T atomicMax(T *address, T value)', 'Keeps the larger one, returns what was there.'],
    ['atomicMin', 'T atomicMin(T *address, T value)', 'Keeps the smaller one, returns what was there.'],
    [
      'atomicCAS',
      'T atomicCAS(T *address, T compare, T value)',
      'Stores `value` if `compare` is there, returns what was there.'
    ],
    ['atomicExch', 'T atomicExch(T *address, T value)', 'Stores the value, returns what was there.'],
    ['__popcll', 'int __popcll(unsigned long long value)', 'Number of bits set.'],
    ['__ffsll', 'int __ffsll(long long value)', 'Position of the lowest bit set, from 1; 0 for none.'],
    ['__expf', 'float __expf(float x)', 'Fast exponential.'],
    ['__logf', 'float __logf(float x)', 'Fast natural logarithm.'],
    ['rsqrtf', 'float rsqrtf(float x)', 'One over the square root.'],
    ['__threadfence', 'void __threadfence()', 'Orders memory operations for the whole device.'],
    ['__threadfence_block', 'void __threadfence_block()', 'Orders memory operations for the work-group.'],
    [
      '__builtin_amdgcn_s_barrier',
      'void __builtin_amdgcn_s_barrier()',
      's_barrier: waits for the waves of the work-group; orders no memory.'
    ],
    [
      '__builtin_amdgcn_s_waitcnt',
      'void __builtin_amdgcn_s_waitcnt(int immediate)',
      's_waitcnt with this immediate (vmcnt, expcnt, lgkmcnt).'
    ],
    [
      '__builtin_amdgcn_s_setprio',
      'void __builtin_amdgcn_s_setprio(short priority)',
      's_setprio: priority of this wave, 0 to 3.'
    ],
    [
      '__builtin_amdgcn_sched_barrier',
      'void __builtin_amdgcn_sched_barrier(int mask)',
      'The compiler moves nothing across but what the mask names.'
    ],
    [
      '__builtin_amdgcn_sched_group_barrier',
      'void __builtin_amdgcn_sched_group_barrier(int mask, int size, int group)',
      'Asks for `size` instructions of the kinds in `mask` next in this schedule group.'
    ],
    [
      '__builtin_amdgcn_readfirstlane',
      'int __builtin_amdgcn_readfirstlane(int value)',
      'Value of the first active lane, as a scalar.'
    ],
    [
      '__builtin_amdgcn_ds_bpermute',
      'int __builtin_amdgcn_ds_bpermute(int byte_address, int value)',
      'Value of the lane at byte_address / 4.'
    ]
  ]),
  ...entries('type', [
    ['dim3', 'struct dim3 { unsigned x, y, z; }', 'Size of a grid or work-group.'],
    ['uint3', 'struct uint3 { unsigned x, y, z; }', 'Three unsigned numbers.'],
    ['float2', 'struct float2 { float x, y; }', 'Two floats.'],
    ['float4', 'struct float4 { float x, y, z, w; }', 'Four floats.'],
    ['hipStream_t', 'hipStream_t', 'A queue of device work.']
  ])
];

export const HIP_WORDS: ReadonlySet<string> = new Set(HIP_ENTRIES.map(entry => entry.name));

const KITTENS_SHAPE =
  /^(?:kittens|ducks|base_types|base_ops|(?:rt|st|rv|sv|art)(?:_\w+)?|gl|coord|bf16(?:_2)?|half(?:_2)?|fp8e4m3(?:_4)?|mma_AB|mma_ABt|mma_AtB|mma_AtBt|row_l|col_l|shared_allocator|warpid|laneid)$/;

let kittensNames: ReadonlySet<string> = new Set();

/**
 * Gives the words of the tile library their colour; called when its index is read.
 */
export function setKittensWords(names: Iterable<string>): void {
  // Short common words, such as the members `x` and `data`, would colour the user's own variables.
  kittensNames = new Set([...names].filter(name => name.length > 2 && !HIP_WORDS.has(name)));
}

/**
 * Whether a word is one of the tile library.
 */
export function isKittensWord(word: string): boolean {
  return KITTENS_SHAPE.test(word) || kittensNames.has(word);
}

export const MAGIC_FLAGS: readonly IEntry[] = OPTIONS.map(({ name, signature, doc }) => ({
  name,
  kind: 'flag',
  signature,
  doc,
  header: ''
}));
