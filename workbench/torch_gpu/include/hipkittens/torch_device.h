// PyTorch's C++ interface to GPU devices, for extensions of a PyTorch that was built for the CPU: streams, guards,
// events, the allocator and properties, under the names of c10::cuda and at::cuda, and under HIP's names, which older
// releases of PyTorch use in their place. They work on the devices of the loaded HIP library.
//
// Names and meaning are PyTorch's, the code is ours.
#pragma once

#include <hip/hip_runtime_api.h>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <tuple>
#include <vector>

#define C10_CUDA_API
#define C10_HIP_API

#define C10_CUDA_CHECK(EXPR)                                                                                           \
    do {                                                                                                               \
        const hipError_t hip_error = EXPR;                                                                             \
        c10::cuda::c10_cuda_check_implementation(static_cast<std::int32_t>(hip_error), __FILE__, __func__,             \
                                                 static_cast<std::uint32_t>(__LINE__), true);                          \
    } while (0)
#define C10_CUDA_CHECK_WARN(EXPR)                                                                                      \
    do {                                                                                                               \
        const hipError_t hip_error = EXPR;                                                                             \
        if (hip_error != hipSuccess) {                                                                                 \
            (void)hipGetLastError();                                                                                   \
            TORCH_WARN("HIP warning: ", hipGetErrorString(hip_error));                                                 \
        }                                                                                                              \
    } while (0)
#define C10_CUDA_ERROR_HANDLED(EXPR) EXPR
#define C10_CUDA_IGNORE_ERROR(EXPR)                                                                                    \
    do {                                                                                                               \
        if ((EXPR) != hipSuccess) (void)hipGetLastError();                                                             \
    } while (0)
#define C10_CUDA_CLEAR_ERROR() (void)hipGetLastError()
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(hipGetLastError())
#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
#define C10_HIP_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
#define C10_HIP_CHECK_WARN(EXPR) C10_CUDA_CHECK_WARN(EXPR)
#define C10_HIP_ERROR_HANDLED(EXPR) EXPR
#define C10_HIP_IGNORE_ERROR(EXPR) C10_CUDA_IGNORE_ERROR(EXPR)
#define C10_HIP_CLEAR_ERROR() C10_CUDA_CLEAR_ERROR()
#define C10_HIP_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()
#define AT_HIP_CHECK(EXPR) C10_CUDA_CHECK(EXPR)

namespace c10 {

class CUDAError : public c10::Error {
    using Error::Error;
};

namespace cuda {

inline void c10_cuda_check_implementation(std::int32_t error, const char *file, const char *function,
                                          std::uint32_t line, bool) {
    if (error == hipSuccess) return;
    (void)hipGetLastError();
    throw CUDAError({function, file, line}, c10::str("HIP error: ", hipGetErrorString(static_cast<hipError_t>(error))));
}

// PyTorch sees one device, number 0: HIP's current device while an extension's function runs.
inline DeviceIndex device_count() noexcept { return 1; }
inline DeviceIndex device_count_ensure_non_zero() { return device_count(); }
inline DeviceIndex current_device() { return 0; }
inline void set_device(DeviceIndex device, bool = false) {
    TORCH_CHECK(device < device_count(), "HIP error: invalid device ordinal ", static_cast<int>(device));
}
inline void device_synchronize() { C10_CUDA_CHECK(hipDeviceSynchronize()); }
inline void stream_synchronize(hipStream_t stream) { C10_CUDA_CHECK(hipStreamSynchronize(stream)); }
inline void memcpy_and_sync(void *to, const void *from, std::int64_t bytes, hipMemcpyKind kind, hipStream_t stream) {
    C10_CUDA_CHECK(hipMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream));
    stream_synchronize(stream);
}
inline hipError_t GetDeviceCount(int *count) { return *count = device_count(), hipSuccess; }
inline hipError_t GetDevice(DeviceIndex *device) { return *device = current_device(), hipSuccess; }
inline hipError_t SetDevice(DeviceIndex device, bool = false) {
    return device < device_count() ? hipSuccess : hipErrorInvalidDevice;
}
inline hipError_t MaybeSetDevice(DeviceIndex device) { return SetDevice(device); }
inline DeviceIndex ExchangeDevice(DeviceIndex device) { return set_device(device), current_device(); }
inline DeviceIndex MaybeExchangeDevice(DeviceIndex device) { return ExchangeDevice(device); }

// A stream of the HIP library; its handle is the stream's number.
class CUDAStream {
  public:
    enum Unchecked { UNCHECKED };

    explicit CUDAStream(Stream stream) : stream_(stream) { TORCH_CHECK(stream.device_type() == DeviceType::CUDA); }
    explicit CUDAStream(Unchecked, Stream stream) : stream_(stream) {}

    bool operator==(const CUDAStream &other) const noexcept { return unwrap() == other.unwrap(); }
    bool operator!=(const CUDAStream &other) const noexcept { return unwrap() != other.unwrap(); }

    operator hipStream_t() const { return stream(); }
    operator Stream() const { return unwrap(); }

    hipStream_t stream() const { return reinterpret_cast<hipStream_t>(stream_.id()); }
    Stream unwrap() const { return stream_; }
    DeviceType device_type() const { return DeviceType::CUDA; }
    DeviceIndex device_index() const { return stream_.device_index(); }
    Device device() const { return Device(DeviceType::CUDA, device_index()); }
    StreamId id() const { return stream_.id(); }

    bool query() const {
        const hipError_t error = hipStreamQuery(stream());
        if (error == hipErrorNotReady) return false;
        C10_CUDA_CHECK(error);
        return true;
    }
    void synchronize() const { stream_synchronize(stream()); }
    bool is_capturing() const {
        hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
        C10_CUDA_CHECK(hipStreamIsCapturing(stream(), &status));
        return status != hipStreamCaptureStatusNone;
    }
    int priority() const {
        int value = 0;
        C10_CUDA_CHECK(hipStreamGetPriority(stream(), &value));
        return value;
    }
    struct StreamData3 pack3() const { return stream_.pack3(); }
    static CUDAStream unpack3(StreamId id, DeviceIndex index, DeviceType type) {
        return CUDAStream(Stream::unpack3(id, index, type));
    }
    static std::tuple<int, int> priority_range() {
        int least = 0, greatest = 0;
        C10_CUDA_CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
        return std::make_tuple(least, greatest);
    }

  private:
    Stream stream_;
};

inline CUDAStream getStreamFromExternal(hipStream_t stream, DeviceIndex device) {
    return CUDAStream(CUDAStream::UNCHECKED,
                      Stream(Stream::UNSAFE, Device(DeviceType::CUDA, device), reinterpret_cast<StreamId>(stream)));
}
inline hipStream_t &current_stream_handle() {
    static thread_local hipStream_t stream = nullptr;
    return stream;
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex device = -1) {
    return getStreamFromExternal(nullptr, device < 0 ? current_device() : device);
}
inline CUDAStream getCurrentCUDAStream(DeviceIndex device = -1) {
    return getStreamFromExternal(current_stream_handle(), device < 0 ? current_device() : device);
}
inline void setCurrentCUDAStream(CUDAStream stream) { current_stream_handle() = stream.stream(); }
// PyTorch's pool hands out the same streams repeatedly and never destroys one.
inline CUDAStream getStreamFromPool(int, DeviceIndex device = -1) {
    constexpr std::size_t size = 4;
    static thread_local std::vector<hipStream_t> pool;
    static thread_local std::size_t next = 0;
    if (pool.size() < size) {
        hipStream_t stream = nullptr;
        C10_CUDA_CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        pool.push_back(stream);
    }
    return getStreamFromExternal(pool[next++ % size], device < 0 ? current_device() : device);
}
inline CUDAStream getStreamFromPool(bool high_priority = false, DeviceIndex device = -1) {
    return getStreamFromPool(high_priority ? -1 : 0, device);
}
inline std::ostream &operator<<(std::ostream &stream, const CUDAStream &s) { return stream << s.unwrap(); }

// Makes a device current until the guard is destroyed.
struct CUDAGuard {
    explicit CUDAGuard() = delete;
    explicit CUDAGuard(DeviceIndex device) : original_(ExchangeDevice(device)), current_(cuda::current_device()) {}
    explicit CUDAGuard(Device device) : CUDAGuard(device.index()) { check(device); }
    CUDAGuard(const CUDAGuard &) = delete;
    CUDAGuard &operator=(const CUDAGuard &) = delete;

    void set_device(Device device) { check(device), set_index(device.index()); }
    void reset_device(Device device) { set_device(device); }
    void set_index(DeviceIndex device) { ExchangeDevice(device), current_ = cuda::current_device(); }
    Device original_device() const { return Device(DeviceType::CUDA, original_); }
    Device current_device() const { return Device(DeviceType::CUDA, current_); }

  private:
    static void check(Device device) {
        TORCH_CHECK(device.is_cuda(), "CUDAGuard: got ", device, "; expected a CUDA device");
    }
    DeviceIndex original_, current_;
};

struct OptionalCUDAGuard {
    explicit OptionalCUDAGuard() = default;
    explicit OptionalCUDAGuard(std::optional<Device> device) {
        if (device) set_device(*device);
    }
    explicit OptionalCUDAGuard(std::optional<DeviceIndex> device) {
        if (device) set_index(*device);
    }
    void set_device(Device device) {
        if (device.is_cuda()) set_index(device.index());
    }
    void reset_device(Device device) { set_device(device); }
    void set_index(DeviceIndex device) { guard_ = std::make_unique<CUDAGuard>(device); }
    void reset() { guard_.reset(); }
    std::optional<Device> original_device() const {
        return guard_ ? std::make_optional(guard_->original_device()) : std::nullopt;
    }
    std::optional<Device> current_device() const {
        return guard_ ? std::make_optional(guard_->current_device()) : std::nullopt;
    }

  private:
    std::unique_ptr<CUDAGuard> guard_;
};

struct CUDAStreamGuard {
    explicit CUDAStreamGuard() = delete;
    explicit CUDAStreamGuard(Stream stream)
        : device_(stream.device_index()), original_(getCurrentCUDAStream()), current_(stream) {
        setCurrentCUDAStream(current_);
    }
    CUDAStreamGuard(const CUDAStreamGuard &) = delete;
    CUDAStreamGuard &operator=(const CUDAStreamGuard &) = delete;
    ~CUDAStreamGuard() { setCurrentCUDAStream(original_); }

    void reset_stream(Stream stream) {
        device_.set_index(stream.device_index());
        current_ = CUDAStream(stream);
        setCurrentCUDAStream(current_);
    }
    CUDAStream original_stream() const { return original_; }
    CUDAStream current_stream() const { return current_; }
    Device original_device() const { return device_.original_device(); }
    Device current_device() const { return device_.current_device(); }

  private:
    CUDAGuard device_;
    CUDAStream original_, current_;
};

struct OptionalCUDAStreamGuard {
    explicit OptionalCUDAStreamGuard() = default;
    explicit OptionalCUDAStreamGuard(Stream stream) { reset_stream(stream); }
    explicit OptionalCUDAStreamGuard(std::optional<Stream> stream) {
        if (stream) reset_stream(*stream);
    }
    void reset_stream(Stream stream) {
        guard_.reset();
        guard_ = std::make_unique<CUDAStreamGuard>(stream);
    }
    void reset() { guard_.reset(); }
    std::optional<CUDAStream> original_stream() const {
        return guard_ ? std::make_optional(guard_->original_stream()) : std::nullopt;
    }
    std::optional<CUDAStream> current_stream() const {
        return guard_ ? std::make_optional(guard_->current_stream()) : std::nullopt;
    }

  private:
    std::unique_ptr<CUDAStreamGuard> guard_;
};

struct CUDAMultiStreamGuard {
    explicit CUDAMultiStreamGuard(ArrayRef<CUDAStream> streams) : original_(getCurrentCUDAStream()) {
        for (const CUDAStream &stream : streams) setCurrentCUDAStream(stream);
    }
    CUDAMultiStreamGuard(const CUDAMultiStreamGuard &) = delete;
    CUDAMultiStreamGuard &operator=(const CUDAMultiStreamGuard &) = delete;
    ~CUDAMultiStreamGuard() { setCurrentCUDAStream(original_); }

  private:
    CUDAStream original_;
};

namespace CUDACachingAllocator {

inline void *raw_alloc(std::size_t bytes) {
    void *memory = nullptr;
    if (bytes) C10_CUDA_CHECK(hipMalloc(&memory, bytes));
    return memory;
}
inline void *raw_alloc_with_stream(std::size_t bytes, hipStream_t) { return raw_alloc(bytes); }
inline void raw_delete(void *memory) { C10_CUDA_IGNORE_ERROR(hipFree(memory)); }

struct HIPAllocator final : Allocator {
    DataPtr allocate(std::size_t bytes) override {
        void *memory = raw_alloc(bytes);
        return {memory, memory, &raw_delete, Device(DeviceType::CUDA, current_device())};
    }
    DeleterFnPtr raw_deleter() const override { return &raw_delete; }
    void copy_data(void *to, const void *from, std::size_t bytes) const override {
        C10_CUDA_CHECK(hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice));
    }
};
inline Allocator *get() {
    static HIPAllocator allocator;
    return &allocator;
}
// Every call waits until it has finished, so memory is free as soon as its owner releases it.
inline void recordStream(const DataPtr &, CUDAStream) {}
inline void emptyCache() {}

} // namespace CUDACachingAllocator
} // namespace cuda

namespace hip {
using namespace c10::cuda;
using HIPStream = CUDAStream;
using HIPStreamMasqueradingAsCUDA = CUDAStream;
using HIPGuard = CUDAGuard;
using HIPGuardMasqueradingAsCUDA = CUDAGuard;
using OptionalHIPGuard = OptionalCUDAGuard;
using OptionalHIPGuardMasqueradingAsCUDA = OptionalCUDAGuard;
using HIPStreamGuard = CUDAStreamGuard;
using HIPStreamGuardMasqueradingAsCUDA = CUDAStreamGuard;
using OptionalHIPStreamGuard = OptionalCUDAStreamGuard;
using OptionalHIPStreamGuardMasqueradingAsCUDA = OptionalCUDAStreamGuard;
inline CUDAStream getCurrentHIPStream(DeviceIndex device = -1) { return getCurrentCUDAStream(device); }
inline CUDAStream getCurrentHIPStreamMasqueradingAsCUDA(DeviceIndex device = -1) {
    return getCurrentCUDAStream(device);
}
inline CUDAStream getDefaultHIPStream(DeviceIndex device = -1) { return getDefaultCUDAStream(device); }
inline CUDAStream getDefaultHIPStreamMasqueradingAsCUDA(DeviceIndex device = -1) {
    return getDefaultCUDAStream(device);
}
inline CUDAStream getStreamFromPoolMasqueradingAsCUDA(bool high_priority = false, DeviceIndex device = -1) {
    return getStreamFromPool(high_priority, device);
}
inline CUDAStream getStreamFromExternalMasqueradingAsCUDA(hipStream_t stream, DeviceIndex device) {
    return getStreamFromExternal(stream, device);
}
inline void setCurrentHIPStream(CUDAStream stream) { setCurrentCUDAStream(stream); }
inline void setCurrentHIPStreamMasqueradingAsCUDA(CUDAStream stream) { setCurrentCUDAStream(stream); }
namespace HIPCachingAllocator = CUDACachingAllocator;
namespace HIPCachingAllocatorMasqueradingAsCUDA = CUDACachingAllocator;
} // namespace hip
} // namespace c10

namespace std {
template <>
struct hash<c10::cuda::CUDAStream> {
    size_t operator()(c10::cuda::CUDAStream stream) const noexcept { return hash<c10::Stream>{}(stream.unwrap()); }
};
} // namespace std

namespace at {
namespace cuda {
using namespace c10::cuda;

inline hipDeviceProp_t *getDeviceProperties(c10::DeviceIndex device) {
    set_device(device);
    int ordinal = 0;
    C10_CUDA_CHECK(hipGetDevice(&ordinal));
    static thread_local std::map<int, hipDeviceProp_t> properties;
    const auto [entry, is_new] = properties.try_emplace(ordinal);
    if (is_new) C10_CUDA_CHECK(hipGetDeviceProperties(&entry->second, ordinal));
    return &entry->second;
}
inline hipDeviceProp_t *getCurrentDeviceProperties() { return getDeviceProperties(current_device()); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }
inline std::int64_t getNumGPUs() { return device_count(); }
inline bool is_available() { return device_count() > 0; }
inline bool canDeviceAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer) {
    set_device(device), set_device(peer);
    return false;
}
inline c10::Allocator *getCUDADeviceAllocator() { return c10::cuda::CUDACachingAllocator::get(); }

struct CUDAEvent {
    explicit CUDAEvent(unsigned int flags = hipEventDisableTiming) : flags_(flags) {}
    CUDAEvent(const CUDAEvent &) = delete;
    CUDAEvent &operator=(const CUDAEvent &) = delete;
    CUDAEvent(CUDAEvent &&other) noexcept : flags_(other.flags_), event_(other.event_), recorded_(other.recorded_) {
        other.event_ = nullptr;
    }
    ~CUDAEvent() {
        if (event_) C10_CUDA_IGNORE_ERROR(hipEventDestroy(event_));
    }

    operator hipEvent_t() const { return event_; }
    hipEvent_t event() const { return event_; }
    bool isCreated() const { return event_ != nullptr; }
    bool query() const { return !event_ || hipEventQuery(event_) == hipSuccess; }
    void record() { record(getCurrentCUDAStream()); }
    void record(const CUDAStream &stream) {
        if (!event_) C10_CUDA_CHECK(hipEventCreateWithFlags(&event_, flags_));
        C10_CUDA_CHECK(hipEventRecord(event_, stream));
        recorded_ = true;
    }
    void recordOnce(const CUDAStream &stream) {
        if (!recorded_) record(stream);
    }
    void block(const CUDAStream &stream) {
        if (event_) C10_CUDA_CHECK(hipStreamWaitEvent(stream, event_, 0));
    }
    void synchronize() const {
        if (event_) C10_CUDA_CHECK(hipEventSynchronize(event_));
    }
    // Milliseconds between the two events.
    float elapsed_time(const CUDAEvent &end) const {
        TORCH_CHECK(recorded_ && end.recorded_, "elapsed_time: both events must be recorded");
        float time = 0;
        C10_CUDA_CHECK(hipEventElapsedTime(&time, event_, end.event_));
        return time;
    }

  private:
    unsigned int flags_;
    hipEvent_t event_ = nullptr;
    bool recorded_ = false;
};
} // namespace cuda

namespace hip {
using namespace c10::hip;
using namespace at::cuda;
using HIPEvent = at::cuda::CUDAEvent;
inline c10::Allocator *getHIPDeviceAllocator() { return getCUDADeviceAllocator(); }
} // namespace hip
} // namespace at
