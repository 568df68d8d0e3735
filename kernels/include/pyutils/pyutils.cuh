/**
 * @file
 * @brief Bindings of kernels to Python: functions of a pybind11 module that take torch tensors.
 *
 *   PYBIND11_MODULE(name, m) {
 *       py::bind_kernel<scale>(m, "scale", &globals::x, &globals::out, &globals::factor);
 *       py::bind_function<launch_scale>(m, "launch_scale", &globals::x, &globals::out, &globals::factor);
 *   }
 *
 * Each member listed becomes a parameter, in that order; members that are not listed are zero. A `gl` member takes
 * a contiguous tensor of up to 4 dimensions with its element type: missing leading dimensions are 1. Other members take
 * a number. A `stream` member gets PyTorch's current stream.
 *
 * Tensors are on the GPU. On an emulated device they are in the computer's memory, which counts as device memory
 * while the function runs.
 */
#pragma once

#include "common/push_names.cuh"

#include "types/global/gl.cuh"

#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <pybind11/pybind11.h>

namespace kittens::py {

namespace detail {

inline void check(hipError_t status, const std::string &what) {
    if (status != hipSuccess)
        throw std::runtime_error(what + ": " + hipGetErrorString(status) + " (" + hipGetErrorName(status) + ")");
}

/** True if the current device is emulated, so that its memory is host memory. */
inline bool emulated() {
    int device = 0;
    hipUUID id;
    if (hipGetDevice(&device) != hipSuccess || hipDeviceGetUuid(&id, device) != hipSuccess) return false;
    return std::memcmp(id.bytes, "EMULATED", 8) == 0;
}

/** Host memory that counts as device memory during the lifetime of this object. */
class registered_memory {
    std::vector<void *> ranges;

  public:
    registered_memory() = default;
    registered_memory(const registered_memory &) = delete;
    registered_memory &operator=(const registered_memory &) = delete;
    ~registered_memory() {
        for (void *range : ranges) static_cast<void>(hipHostUnregister(range));
    }
    void add(void *base, size_t size) {
        const hipError_t status = hipHostRegister(base, size, hipHostRegisterDefault);
        if (status == hipErrorHostMemoryAlreadyRegistered) {
            static_cast<void>(hipGetLastError());
            return;
        }
        check(status, "registering a tensor's memory");
        ranges.push_back(base);
    }
};

/** PyTorch's name of an element type. */
template <typename T>
constexpr const char *dtype_name() {
    if constexpr (std::is_same_v<T, bf16>)
        return "torch.bfloat16";
    else if constexpr (std::is_same_v<T, half>)
        return "torch.float16";
    else if constexpr (std::is_same_v<T, float>)
        return "torch.float32";
    else if constexpr (std::is_same_v<T, double>)
        return "torch.float64";
    else if constexpr (std::is_same_v<T, fp8e4m3>) {
#if defined(KITTENS_CDNA4)
        return "torch.float8_e4m3fn";
#else
        return "torch.float8_e4m3fnuz";
#endif
    } else if constexpr (std::is_same_v<T, bool>)
        return "torch.bool";
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        return sizeof(T) == 1   ? "torch.int8"
               : sizeof(T) == 2 ? "torch.int16"
               : sizeof(T) == 4 ? "torch.int32"
                                : "torch.int64";
    else if constexpr (std::is_integral_v<T>)
        return sizeof(T) == 1   ? "torch.uint8"
               : sizeof(T) == 2 ? "torch.uint16"
               : sizeof(T) == 4 ? "torch.uint32"
                                : "torch.uint64";
    else
        return "";
}

/** The current call: its position for messages, and the objects that live until it ends. */
struct call {
    std::string name;
    int position = 0;
    bool on_gpu = false;
    registered_memory memory;

    [[noreturn]] void wrong_type(const std::string &what) const {
        throw pybind11::type_error(name + ": argument " + std::to_string(position) + " " + what);
    }
    [[noreturn]] void wrong_value(const std::string &what) const {
        throw pybind11::value_error(name + ": argument " + std::to_string(position) + " " + what);
    }
};

template <ducks::gl::all GL>
GL from_tensor(const pybind11::object &value, call &now) {
    if (!pybind11::hasattr(value, "data_ptr") || !pybind11::hasattr(value, "is_contiguous"))
        now.wrong_type("is a " + std::string(Py_TYPE(value.ptr())->tp_name) + "; expected a torch tensor");
    const std::string dtype = pybind11::str(value.attr("dtype"));
    const std::string wanted = dtype_name<typename GL::dtype>();
    if (!wanted.empty() && dtype != wanted) now.wrong_type("has dtype " + dtype + "; expected " + wanted);
    if (!value.attr("is_contiguous")().template cast<bool>()) now.wrong_value("is not contiguous; pass x.contiguous()");
    const pybind11::tuple shape(value.attr("shape"));
    const size_t dimensions = shape.size();
    if (dimensions > 4) now.wrong_value("has " + std::to_string(dimensions) + " dimensions; at most 4 are possible");
    int sizes[4] = {1, 1, 1, 1};
    for (size_t i = 0; i < dimensions; i++) {
        const int64_t size = shape[i].template cast<int64_t>();
        if (size > INT32_MAX) now.wrong_value("has a dimension of " + std::to_string(size));
        sizes[4 - dimensions + i] = static_cast<int>(size);
    }
    const std::string device = pybind11::str(value.attr("device").attr("type"));
    if (device == "cuda") {
        now.on_gpu = true;
    } else if (device == "cpu" && emulated()) {
        const pybind11::object storage = value.attr("untyped_storage")();
        const auto bytes = storage.attr("nbytes")().template cast<size_t>();
        if (bytes != 0)
            now.memory.add(reinterpret_cast<void *>(storage.attr("data_ptr")().template cast<uint64_t>()), bytes);
    } else {
        now.wrong_value("is on " + device + "; expected the kernel's GPU: pass x.cuda()");
    }
    const auto address = value.attr("data_ptr")().template cast<uint64_t>();
    try {
        return make_gl<GL>(address, sizes[0], sizes[1], sizes[2], sizes[3]);
    } catch (const std::invalid_argument &problem) {
        now.wrong_value(std::string("does not fit: ") + problem.what());
    }
}

/** The value of a member from an argument. */
template <typename Member>
Member member_from(const pybind11::object &value, call &now) {
    now.position++;
    if constexpr (ducks::gl::all<Member>) {
        return from_tensor<Member>(value, now);
    } else {
        try {
            return value.cast<Member>();
        } catch (const pybind11::cast_error &) {
            now.wrong_type("is a " + std::string(Py_TYPE(value.ptr())->tp_name) +
                           ", which does not convert to the number that the kernel takes");
        }
    }
}

/**
 * @brief Make the structure in `memory`, which is zero, from the values of some members.
 *
 * If they are its first members, in order, the others get their default initialisers, which may use earlier members
 * (`int M = a.rows();`). Otherwise the others are zero.
 */
template <typename Globals, typename... Members>
Globals &make_globals(unsigned char *memory, const Members &...values, Members Globals::*...members) {
    Globals &globals = *reinterpret_cast<Globals *>(memory);
    if constexpr (std::is_aggregate_v<Globals> && requires { Globals{values...}; }) {
        new (memory) Globals{values...};
        if ((... && (std::memcmp(&(globals.*members), &values, sizeof(Members)) == 0))) return globals;
        std::memset(memory, 0, sizeof(Globals));
    }
    (new (&(globals.*members)) Members(values), ...);
    return globals;
}

template <typename Globals>
hipStream_t stream_of(const Globals &globals) {
    if constexpr (requires { globals.stream; })
        return globals.stream;
    else
        return nullptr;
}

template <typename Globals>
void use_current_stream(Globals &globals, const call &now) {
    if constexpr (requires { globals.stream = hipStream_t{}; }) {
        if (now.on_gpu && globals.stream == nullptr) {
            const auto current = pybind11::module_::import("torch").attr("cuda").attr("current_stream")();
            globals.stream = reinterpret_cast<hipStream_t>(current.attr("cuda_stream").template cast<uint64_t>());
        }
    }
}

/** A function of the module that builds the structure from its arguments and passes it on. */
template <typename Globals, typename Action, typename... Members>
void define(pybind11::module_ &m, const char *name, Action action, Members Globals::*...members) {
    static_assert(std::is_trivially_copyable_v<Globals> && std::is_trivially_destructible_v<Globals>,
                  "the structure that a kernel takes is copied byte by byte");
    m.def(name, [action, text = std::string(name), members...](const pybind11::args &values) {
        if (values.size() != sizeof...(Members))
            throw pybind11::type_error(text + ": takes " + std::to_string(sizeof...(Members)) + " arguments, and " +
                                       std::to_string(values.size()) + " came");
        call now{text};
        alignas(Globals) unsigned char memory[sizeof(Globals)] = {};
        // Braces evaluate the arguments in order.
        const std::tuple<Members...> given{member_from<Members>(pybind11::object(values[now.position]), now)...};
        Globals &globals = std::apply(
            [&](const Members &...each) -> Globals & {
                return make_globals<Globals, Members...>(memory, each..., members...);
            },
            given);
        use_current_stream(globals, now);
        action(globals);
        check(hipGetLastError(), text);
    });
}

} // namespace detail

/**
 * @brief Define a function that launches `kernel` with the grid, the block and the shared memory of its structure.
 *
 * The structure has `grid()`, `block()` and, if necessary, `dynamic_shared_memory()`.
 */
template <auto kernel, typename Globals, typename... Members>
void bind_kernel(pybind11::module_ &m, const char *name, Members Globals::*...members) {
    detail::define<Globals>(
        m, name,
        [text = std::string(name)](Globals &globals) {
            size_t shared = 0;
            if constexpr (requires { globals.dynamic_shared_memory(); }) {
                shared = globals.dynamic_shared_memory();
                const auto status =
                    hipFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                        hipFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
                detail::check(status, text + ": " + std::to_string(shared) + " bytes of shared memory");
            }
            kernel<<<globals.grid(), globals.block(), shared, detail::stream_of(globals)>>>(globals);
        },
        members...);
}

/** @brief Define a function that calls `function`, host code that launches something, with the structure. */
template <auto function, typename Globals, typename... Members>
void bind_function(pybind11::module_ &m, const char *name, Members Globals::*...members) {
    detail::define<Globals>(m, name, [](Globals &globals) { function(globals); }, members...);
}

} // namespace kittens::py

#include "common/pop_names.cuh"
