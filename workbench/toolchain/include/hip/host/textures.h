// Textures, surfaces and arrays: types, and functions that answer hipErrorNotSupported. gfx942 and gfx950 have no image
// instructions (clang defines __HIP_NO_IMAGE_SUPPORT for them), and HIP gives the same answer there.
#pragma once

#include "hip/host/types.h"

typedef struct __hip_texture *hipTextureObject_t;
typedef struct __hip_surface *hipSurfaceObject_t;
typedef struct hipArray *hipArray_t;
typedef const struct hipArray *hipArray_const_t;
typedef struct hipMipmappedArray *hipMipmappedArray_t;
typedef const struct hipMipmappedArray *hipMipmappedArray_const_t;

enum hipChannelFormatKind {
    hipChannelFormatKindSigned = 0,
    hipChannelFormatKindUnsigned = 1,
    hipChannelFormatKindFloat = 2,
    hipChannelFormatKindNone = 3,
};
struct hipChannelFormatDesc {
    int x, y, z, w;
    hipChannelFormatKind f;
};
enum hipTextureAddressMode {
    hipAddressModeWrap = 0,
    hipAddressModeClamp = 1,
    hipAddressModeMirror = 2,
    hipAddressModeBorder = 3,
};
enum hipTextureFilterMode { hipFilterModePoint = 0, hipFilterModeLinear = 1 };
enum hipTextureReadMode { hipReadModeElementType = 0, hipReadModeNormalizedFloat = 1 };
enum hipSurfaceBoundaryMode { hipBoundaryModeZero = 0, hipBoundaryModeTrap = 1, hipBoundaryModeClamp = 2 };
enum hipResourceType {
    hipResourceTypeArray = 0,
    hipResourceTypeMipmappedArray = 1,
    hipResourceTypeLinear = 2,
    hipResourceTypePitch2D = 3,
};
struct hipResourceDesc {
    hipResourceType resType;
    union {
        struct {
            hipArray_t array;
        } array;
        struct {
            hipMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            hipChannelFormatDesc desc;
            std::size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            hipChannelFormatDesc desc;
            std::size_t width;
            std::size_t height;
            std::size_t pitchInBytes;
        } pitch2D;
    } res;
};
struct hipTextureDesc {
    hipTextureAddressMode addressMode[3];
    hipTextureFilterMode filterMode;
    hipTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    hipTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias;
    float minMipmapLevelClamp;
    float maxMipmapLevelClamp;
};
struct hipResourceViewDesc {
    int format;
    std::size_t width, height, depth;
    unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
};

#define hipArrayDefault 0x00
#define hipArrayLayered 0x01
#define hipArraySurfaceLoadStore 0x02
#define hipArrayCubemap 0x04
#define hipArrayTextureGather 0x08

extern "C" {
hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind);
hipError_t hipCreateTextureObject(hipTextureObject_t *texture, const hipResourceDesc *resource,
                                  const hipTextureDesc *description, const hipResourceViewDesc *view);
hipError_t hipDestroyTextureObject(hipTextureObject_t texture);
hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc *resource, hipTextureObject_t texture);
hipError_t hipCreateSurfaceObject(hipSurfaceObject_t *surface, const hipResourceDesc *resource);
hipError_t hipDestroySurfaceObject(hipSurfaceObject_t surface);
hipError_t hipMallocArray(hipArray_t *array, const hipChannelFormatDesc *description, std::size_t width,
                          std::size_t height = 0, unsigned flags = hipArrayDefault);
hipError_t hipMalloc3DArray(hipArray_t *array, const hipChannelFormatDesc *description, hipExtent extent,
                            unsigned flags = hipArrayDefault);
hipError_t hipFreeArray(hipArray_t array);
hipError_t hipMallocMipmappedArray(hipMipmappedArray_t *array, const hipChannelFormatDesc *description,
                                   hipExtent extent, unsigned levels, unsigned flags = hipArrayDefault);
hipError_t hipFreeMipmappedArray(hipMipmappedArray_t array);
hipError_t hipGetMipmappedArrayLevel(hipArray_t *level, hipMipmappedArray_const_t array, unsigned number);
hipError_t hipMemcpyToArray(hipArray_t to, std::size_t x, std::size_t y, const void *from, std::size_t size,
                            hipMemcpyKind kind);
hipError_t hipMemcpyFromArray(void *to, hipArray_const_t from, std::size_t x, std::size_t y, std::size_t size,
                              hipMemcpyKind kind);
hipError_t hipMemcpy2DToArray(hipArray_t to, std::size_t x, std::size_t y, const void *from, std::size_t pitch,
                              std::size_t width, std::size_t height, hipMemcpyKind kind);
hipError_t hipMemcpy2DFromArray(void *to, std::size_t pitch, hipArray_const_t from, std::size_t x, std::size_t y,
                                std::size_t width, std::size_t height, hipMemcpyKind kind);
} // extern "C"

template <typename T, typename = void>
struct __hip_texel {
    using type = T;
};
template <typename T>
struct __hip_texel<T, decltype(void(T::x))> {
    using type = decltype(T::x);
};
template <typename T>
static inline hipChannelFormatDesc hipCreateChannelDesc() {
    using E = typename __hip_texel<T>::type;
    const int bits = 8 * sizeof(E), channels = sizeof(T) / sizeof(E);
    const auto kind = std::is_floating_point<E>::value ? hipChannelFormatKindFloat
                      : std::is_signed<E>::value       ? hipChannelFormatKindSigned
                                                       : hipChannelFormatKindUnsigned;
    return hipChannelFormatDesc{bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind};
}
