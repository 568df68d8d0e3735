// Reading textures and surfaces in kernels: compiles, and stops with an explanation where it is reached, because these
// targets have no image instructions.
#pragma once

#include "hip/device/console.h"
#include "hip/host/textures.h"

#define __HIP_NO_IMAGES(name)                                                                                          \
    __assert_fail("image instructions, which this target has none of; read memory through a pointer", name, 0, name)

#define __HIP_TEXTURE_READ(name)                                                                                       \
    template <typename T, typename... Coordinates>                                                                     \
    __device__ inline T name(hipTextureObject_t, Coordinates...) {                                                     \
        __HIP_NO_IMAGES(#name);                                                                                        \
    }                                                                                                                  \
    template <typename T, typename... Coordinates>                                                                     \
    __device__ inline void name(T *, hipTextureObject_t, Coordinates...) {                                             \
        __HIP_NO_IMAGES(#name);                                                                                        \
    }
#define __HIP_TEXTURE(name) __HIP_TEXTURE_READ(name) __HIP_TEXTURE_READ(name##Lod) __HIP_TEXTURE_READ(name##Grad)
__HIP_TEXTURE_READ(tex1Dfetch)
__HIP_TEXTURE_READ(tex2Dgather)
__HIP_TEXTURE(tex1D)
__HIP_TEXTURE(tex2D)
__HIP_TEXTURE(tex3D)
__HIP_TEXTURE(tex1DLayered)
__HIP_TEXTURE(tex2DLayered)
__HIP_TEXTURE(texCubemap)
__HIP_TEXTURE(texCubemapLayered)
#undef __HIP_TEXTURE
#undef __HIP_TEXTURE_READ

#define __HIP_SURFACE(name)                                                                                            \
    template <typename T, typename... Coordinates>                                                                     \
    __device__ inline void name##read(T *, hipSurfaceObject_t, Coordinates...) {                                       \
        __HIP_NO_IMAGES(#name "read");                                                                                 \
    }                                                                                                                  \
    template <typename T, typename... Coordinates>                                                                     \
    __device__ inline void name##write(T, hipSurfaceObject_t, Coordinates...) {                                        \
        __HIP_NO_IMAGES(#name "write");                                                                                \
    }
__HIP_SURFACE(surf1D)
__HIP_SURFACE(surf2D)
__HIP_SURFACE(surf3D)
__HIP_SURFACE(surf1DLayered)
__HIP_SURFACE(surf2DLayered)
__HIP_SURFACE(surfCubemap)
__HIP_SURFACE(surfCubemapLayered)
#undef __HIP_SURFACE
#undef __HIP_NO_IMAGES
