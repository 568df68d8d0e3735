// hipCUB's algorithms for a whole device by name; a call of one is an error that says what to do.
#pragma once

namespace hipcub {

template <typename...>
inline constexpr bool __whole_device = false;
#define __HIPCUB_ABSENT(name)                                                                                          \
    template <typename... Arguments>                                                                                   \
    static hipError_t name(Arguments &&...) {                                                                          \
        static_assert(__whole_device<Arguments...>,                                                                    \
                      "hipCUB's algorithms for a whole device are not installed here: they are headers alone and "     \
                      "compile here, so install them (libhipcub-dev, or ROCm's hipcub-dev and rocprim-dev), set "      \
                      "ROCM_PATH to a folder that has both, or give their folders with -I");                           \
        return hipErrorNotSupported;                                                                                   \
    }
struct DeviceScan {
    __HIPCUB_ABSENT(ExclusiveSum)
    __HIPCUB_ABSENT(InclusiveSum)
    __HIPCUB_ABSENT(ExclusiveScan)
    __HIPCUB_ABSENT(InclusiveScan)
    __HIPCUB_ABSENT(ExclusiveSumByKey)
    __HIPCUB_ABSENT(InclusiveSumByKey)
    __HIPCUB_ABSENT(ExclusiveScanByKey)
    __HIPCUB_ABSENT(InclusiveScanByKey)
};
struct DeviceReduce {
    __HIPCUB_ABSENT(Reduce)
    __HIPCUB_ABSENT(Sum)
    __HIPCUB_ABSENT(Min)
    __HIPCUB_ABSENT(Max)
    __HIPCUB_ABSENT(ArgMin)
    __HIPCUB_ABSENT(ArgMax)
    __HIPCUB_ABSENT(ReduceByKey)
    __HIPCUB_ABSENT(TransformReduce)
};
struct DeviceRadixSort {
    __HIPCUB_ABSENT(SortKeys)
    __HIPCUB_ABSENT(SortKeysDescending)
    __HIPCUB_ABSENT(SortPairs)
    __HIPCUB_ABSENT(SortPairsDescending)
};
struct DeviceSelect {
    __HIPCUB_ABSENT(Flagged)
    __HIPCUB_ABSENT(FlaggedIf)
    __HIPCUB_ABSENT(If)
    __HIPCUB_ABSENT(Unique)
    __HIPCUB_ABSENT(UniqueByKey)
};
struct DevicePartition {
    __HIPCUB_ABSENT(Flagged)
    __HIPCUB_ABSENT(If)
};
struct DeviceRunLengthEncode {
    __HIPCUB_ABSENT(Encode)
    __HIPCUB_ABSENT(NonTrivialRuns)
};
struct DeviceHistogram {
    __HIPCUB_ABSENT(HistogramEven)
    __HIPCUB_ABSENT(HistogramRange)
    __HIPCUB_ABSENT(MultiHistogramEven)
    __HIPCUB_ABSENT(MultiHistogramRange)
};
struct DeviceSegmentedReduce {
    __HIPCUB_ABSENT(Reduce)
    __HIPCUB_ABSENT(Sum)
    __HIPCUB_ABSENT(Min)
    __HIPCUB_ABSENT(Max)
    __HIPCUB_ABSENT(ArgMin)
    __HIPCUB_ABSENT(ArgMax)
};
struct DeviceSegmentedRadixSort {
    __HIPCUB_ABSENT(SortKeys)
    __HIPCUB_ABSENT(SortKeysDescending)
    __HIPCUB_ABSENT(SortPairs)
    __HIPCUB_ABSENT(SortPairsDescending)
};
struct DeviceSegmentedSort {
    __HIPCUB_ABSENT(SortKeys)
    __HIPCUB_ABSENT(SortKeysDescending)
    __HIPCUB_ABSENT(SortPairs)
    __HIPCUB_ABSENT(SortPairsDescending)
    __HIPCUB_ABSENT(StableSortKeys)
    __HIPCUB_ABSENT(StableSortKeysDescending)
    __HIPCUB_ABSENT(StableSortPairs)
    __HIPCUB_ABSENT(StableSortPairsDescending)
};
struct DeviceMergeSort {
    __HIPCUB_ABSENT(SortKeys)
    __HIPCUB_ABSENT(SortKeysCopy)
    __HIPCUB_ABSENT(SortPairs)
    __HIPCUB_ABSENT(SortPairsCopy)
    __HIPCUB_ABSENT(StableSortKeys)
    __HIPCUB_ABSENT(StableSortPairs)
};
#undef __HIPCUB_ABSENT

} // namespace hipcub
