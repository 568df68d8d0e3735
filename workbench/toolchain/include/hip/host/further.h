// Rarely used parts of the host API, with its names, numbers and layouts (hip-python's declarations): texture
// references, memory and semaphores of other programs and of graphics, batches, resources of a part of a device.
// Functions that the emulated device does not implement return hipErrorNotSupported, and standard error names them
// once.
#pragma once

#include "hip/host/functions.h"
#include "hip/host/textures.h"
#include "hip/library_types.h"

enum hipArray_Format {
    HIP_AD_FORMAT_UNSIGNED_INT8 = 1,
    HIP_AD_FORMAT_UNSIGNED_INT16 = 2,
    HIP_AD_FORMAT_UNSIGNED_INT32 = 3,
    HIP_AD_FORMAT_SIGNED_INT8 = 8,
    HIP_AD_FORMAT_SIGNED_INT16 = 9,
    HIP_AD_FORMAT_SIGNED_INT32 = 10,
    HIP_AD_FORMAT_HALF = 16,
    HIP_AD_FORMAT_FLOAT = 32,
};
struct HIP_ARRAY3D_DESCRIPTOR {
    std::size_t Width;
    std::size_t Height;
    std::size_t Depth;
    hipArray_Format Format;
    unsigned NumChannels;
    unsigned Flags;
};
struct HIP_ARRAY_DESCRIPTOR {
    std::size_t Width;
    std::size_t Height;
    hipArray_Format Format;
    unsigned NumChannels;
};
struct textureReference {
    int normalized;
    hipTextureReadMode readMode;
    hipTextureFilterMode filterMode;
    hipTextureAddressMode addressMode[3];
    hipChannelFormatDesc channelDesc;
    int sRGB;
    unsigned maxAnisotropy;
    hipTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias;
    float minMipmapLevelClamp;
    float maxMipmapLevelClamp;
    hipTextureObject_t textureObject;
    int numChannels;
    hipArray_Format format;
};
enum hipSharedMemConfig {
    hipSharedMemBankSizeDefault = 0,
    hipSharedMemBankSizeFourByte = 1,
    hipSharedMemBankSizeEightByte = 2,
};
typedef struct ihipDevResourceDesc_t *hipDevResourceDesc_t;
enum hipDevResourceType {
    hipDevResourceTypeInvalid = 0,
    hipDevResourceTypeSm = 1,
    hipDevResourceTypeWorkqueueConfig = 1000,
    hipDevResourceTypeWorkqueue = 10000,
};
struct hipDevSmResource {
    unsigned smCount;
    unsigned minSmPartitionSize;
    unsigned smCoscheduledAlignment;
    unsigned flags;
};
enum hipDevWorkqueueConfigScope {
    hipDevWorkqueueConfigScopeDeviceCtx = 0,
    hipDevWorkqueueConfigScopeGreenCtxBalanced = 1,
};
struct hipDevWorkqueueConfigResource {
    int device;
    unsigned wqConcurrencyLimit;
    hipDevWorkqueueConfigScope sharingScope;
};
struct hipDevWorkqueueResource {
    unsigned char reserved[40];
};
struct hipDevResource_st {
    hipDevResourceType type;
    unsigned char _internal_padding[92];
    union {
        hipDevSmResource sm;
        hipDevWorkqueueConfigResource wqConfig;
        hipDevWorkqueueResource wq;
        unsigned char _oversize[40];
    };
    hipDevResource_st *nextResource;
};
struct hipDevSmResourceGroupParams_st {
    unsigned smCount;
    unsigned coscheduledSmCount;
    unsigned preferredCoscheduledSmCount;
    unsigned flags;
    unsigned reserved[12];
};
typedef struct ihipExecutionCtx_t *hipExecutionCtx_t;
struct hipLaunchParams_t {
    void *func;
    dim3 gridDim;
    dim3 blockDim;
    void **args;
    std::size_t sharedMem;
    hipStream_t stream;
};
struct hipExternalMemoryBufferDesc_st {
    unsigned long long offset;
    unsigned long long size;
    unsigned flags;
    unsigned reserved[16];
};
struct hipExternalMemoryMipmappedArrayDesc_st {
    unsigned long long offset;
    hipChannelFormatDesc formatDesc;
    hipExtent extent;
    unsigned flags;
    unsigned numLevels;
};
enum hipDriverEntryPointQueryResult {
    hipDriverEntryPointSuccess = 0,
    hipDriverEntryPointSymbolNotFound = 1,
    hipDriverEntryPointVersionNotSufficent = 2,
};
enum hipStreamBatchMemOpType {
    hipStreamMemOpWaitValue32 = 1,
    hipStreamMemOpWriteValue32 = 2,
    hipStreamMemOpWaitValue64 = 4,
    hipStreamMemOpWriteValue64 = 5,
    hipStreamMemOpBarrier = 6,
    hipStreamMemOpFlushRemoteWrites = 3,
};
struct hipStreamBatchMemOpParams_union_hipStreamMemOpWaitValueParams_t {
    hipStreamBatchMemOpType operation;
    void *address;
    union {
        std::uint32_t value;
        std::uint64_t value64;
    };
    unsigned flags;
    void *alias;
};
struct hipStreamBatchMemOpParams_union_hipStreamMemOpWriteValueParams_t {
    hipStreamBatchMemOpType operation;
    void *address;
    union {
        std::uint32_t value;
        std::uint64_t value64;
    };
    unsigned flags;
    void *alias;
};
struct hipStreamBatchMemOpParams_union_hipStreamMemOpFlushRemoteWritesParams_t {
    hipStreamBatchMemOpType operation;
    unsigned flags;
};
struct hipStreamBatchMemOpParams_union_hipStreamMemOpMemoryBarrierParams_t {
    hipStreamBatchMemOpType operation;
    unsigned flags;
};
union hipStreamBatchMemOpParams_union {
    hipStreamBatchMemOpType operation;
    hipStreamBatchMemOpParams_union_hipStreamMemOpWaitValueParams_t waitValue;
    hipStreamBatchMemOpParams_union_hipStreamMemOpWriteValueParams_t writeValue;
    hipStreamBatchMemOpParams_union_hipStreamMemOpFlushRemoteWritesParams_t flushRemoteWrites;
    hipStreamBatchMemOpParams_union_hipStreamMemOpMemoryBarrierParams_t memoryBarrier;
    std::uint64_t pad[6];
};
struct hipBatchMemOpNodeParams {
    hipCtx_t ctx;
    unsigned count;
    hipStreamBatchMemOpParams_union *paramArray;
    unsigned flags;
};
struct hipExternalSemaphoreSignalParams_st {
    struct {
        struct {
            unsigned long long value;
        } fence;
        union {
            void *fence;
            unsigned long long reserved;
        } nvSciSync;
        struct {
            unsigned long long key;
        } keyedMutex;
        unsigned reserved[12];
    } params;
    unsigned flags;
    unsigned reserved[16];
};
struct hipExternalSemaphoreSignalNodeParams {
    void **extSemArray;
    const hipExternalSemaphoreSignalParams_st *paramsArray;
    unsigned numExtSems;
};
struct hipExternalSemaphoreWaitParams_st {
    struct {
        struct {
            unsigned long long value;
        } fence;
        union {
            void *fence;
            unsigned long long reserved;
        } nvSciSync;
        struct {
            unsigned long long key;
            unsigned timeoutMs;
        } keyedMutex;
        unsigned reserved[10];
    } params;
    unsigned flags;
    unsigned reserved[16];
};
struct hipExternalSemaphoreWaitNodeParams {
    void **extSemArray;
    const hipExternalSemaphoreWaitParams_st *paramsArray;
    unsigned numExtSems;
};
struct hipMemcpyNodeParams {
    int flags;
    int reserved[3];
    hipMemcpy3DParms copyParams;
};
struct hipChildGraphNodeParams {
    hipGraph_t graph;
};
struct hipEventWaitNodeParams {
    hipEvent_t event;
};
struct hipEventRecordNodeParams {
    hipEvent_t event;
};
struct hipMemFreeNodeParams {
    void *dptr;
};
struct hipGraphNodeParams {
    hipGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        hipKernelNodeParams kernel;
        hipMemcpyNodeParams memcpy;
        hipMemsetParams memset;
        hipHostNodeParams host;
        hipChildGraphNodeParams graph;
        hipEventWaitNodeParams eventWait;
        hipEventRecordNodeParams eventRecord;
        hipExternalSemaphoreSignalNodeParams extSemSignal;
        hipExternalSemaphoreWaitNodeParams extSemWait;
        hipMemAllocNodeParams alloc;
        hipMemFreeNodeParams free;
    };
    long long reserved2;
};
enum hipGraphInstantiateResult {
    hipGraphInstantiateSuccess = 0,
    hipGraphInstantiateError = 1,
    hipGraphInstantiateInvalidStructure = 2,
    hipGraphInstantiateNodeOperationNotSupported = 3,
    hipGraphInstantiateMultipleDevicesNotSupported = 4,
};
struct hipGraphInstantiateParams {
    hipGraphNode_t errNode_out;
    unsigned long long flags;
    hipGraphInstantiateResult result_out;
    hipStream_t uploadStream;
};
enum hipLaunchAttributeID {
    hipLaunchAttributeIgnore = 0,
    hipLaunchAttributeAccessPolicyWindow = 1,
    hipLaunchAttributeCooperative = 2,
    hipLaunchAttributeSynchronizationPolicy = 3,
    hipLaunchAttributeClusterDimension = 4,
    hipLaunchAttributeClusterSchedulingPolicyPreference = 5,
    hipLaunchAttributePriority = 8,
    hipLaunchAttributeMemSyncDomainMap = 9,
    hipLaunchAttributeMemSyncDomain = 10,
    hipLaunchAttributeExtDynDataPrefetch = 1024,
    hipLaunchAttributeMax = 1025,
};
// A kernel's node has some of a launch's attributes.
#define hipKernelNodeAttrID hipLaunchAttributeID
#define hipKernelNodeAttrValue hipLaunchAttributeValue
#define hipKernelNodeAttributeAccessPolicyWindow hipLaunchAttributeAccessPolicyWindow
#define hipKernelNodeAttributeCooperative hipLaunchAttributeCooperative
#define hipKernelNodeAttributePriority hipLaunchAttributePriority
#define hipGraphKernelNodePortDefault 0
#define hipGraphKernelNodePortProgrammatic 1
#define hipGraphKernelNodePortLaunchCompletion 2
#define hipExternalMemoryDedicated 0x1

enum hipAccessProperty {
    hipAccessPropertyNormal = 0,
    hipAccessPropertyStreaming = 1,
    hipAccessPropertyPersisting = 2,
};
struct hipAccessPolicyWindow {
    void *base_ptr;
    hipAccessProperty hitProp;
    float hitRatio;
    hipAccessProperty missProp;
    std::size_t num_bytes;
};
enum hipSynchronizationPolicy {
    hipSyncPolicyAuto = 1,
    hipSyncPolicySpin = 2,
    hipSyncPolicyYield = 3,
    hipSyncPolicyBlockingSync = 4,
};
struct hipLaunchMemSyncDomainMap {
    unsigned char default_;
    unsigned char remote;
};
enum hipLaunchMemSyncDomain {
    hipLaunchMemSyncDomainDefault = 0,
    hipLaunchMemSyncDomainRemote = 1,
};
enum hipClusterSchedulingPolicy {
    hipClusterSchedulingPolicyDefault = 0,
    hipClusterSchedulingPolicySpread = 1,
    hipClusterSchedulingPolicyLoadBalancing = 2,
};
enum hipExtDynDataPrefetchTemporal {
    hipExtDynDataPrefetchTemporalRegular = 0,
    hipExtDynDataPrefetchTemporalHigh = 1,
};
struct hipExtDynDataPrefetchRegion {
    void *address;
    std::size_t stride;
    std::size_t width;
    std::size_t height;
};
struct hipExtDynDataPrefetchConfig {
    unsigned numRegions;
    hipExtDynDataPrefetchTemporal temporal;
    hipExtDynDataPrefetchRegion regions[2];
};
union hipLaunchAttributeValue {
    char pad[64];
    hipAccessPolicyWindow accessPolicyWindow;
    int cooperative;
    int priority;
    hipSynchronizationPolicy syncPolicy;
    hipLaunchMemSyncDomainMap memSyncDomainMap;
    hipLaunchMemSyncDomain memSyncDomain;
    struct {
        unsigned x;
        unsigned y;
        unsigned z;
    } clusterDim;
    hipClusterSchedulingPolicy clusterSchedulingPolicyPreference;
    const hipExtDynDataPrefetchConfig *dynDataPrefetch;
};
typedef struct hipUserObject *hipUserObject_t;
typedef struct _hipGraphicsResource *hipGraphicsResource_t;
enum hipExternalMemoryHandleType_enum {
    hipExternalMemoryHandleTypeOpaqueFd = 1,
    hipExternalMemoryHandleTypeOpaqueWin32 = 2,
    hipExternalMemoryHandleTypeOpaqueWin32Kmt = 3,
    hipExternalMemoryHandleTypeD3D12Heap = 4,
    hipExternalMemoryHandleTypeD3D12Resource = 5,
    hipExternalMemoryHandleTypeD3D11Resource = 6,
    hipExternalMemoryHandleTypeD3D11ResourceKmt = 7,
    hipExternalMemoryHandleTypeNvSciBuf = 8,
};
struct hipExternalMemoryHandleDesc_st {
    hipExternalMemoryHandleType_enum type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciBufObject;
    } handle;
    unsigned long long size;
    unsigned flags;
    unsigned reserved[16];
};
enum hipExternalSemaphoreHandleType_enum {
    hipExternalSemaphoreHandleTypeOpaqueFd = 1,
    hipExternalSemaphoreHandleTypeOpaqueWin32 = 2,
    hipExternalSemaphoreHandleTypeOpaqueWin32Kmt = 3,
    hipExternalSemaphoreHandleTypeD3D12Fence = 4,
    hipExternalSemaphoreHandleTypeD3D11Fence = 5,
    hipExternalSemaphoreHandleTypeNvSciSync = 6,
    hipExternalSemaphoreHandleTypeKeyedMutex = 7,
    hipExternalSemaphoreHandleTypeKeyedMutexKmt = 8,
    hipExternalSemaphoreHandleTypeTimelineSemaphoreFd = 9,
    hipExternalSemaphoreHandleTypeTimelineSemaphoreWin32 = 10,
};
struct hipExternalSemaphoreHandleDesc_st {
    hipExternalSemaphoreHandleType_enum type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *NvSciSyncObj;
    } handle;
    unsigned flags;
    unsigned reserved[16];
};
struct hipIpcEventHandle_st {
    char reserved[64];
};
struct hipIpcMemHandle_st {
    char reserved[64];
};
enum hipLibraryOption_e {
    hipLibraryHostUniversalFunctionAndDataTable = 0,
    hipLibraryBinaryIsPreserved = 1,
};
enum hipMemRangeHandleType {
    hipMemRangeHandleTypeDmaBufFd = 1,
    hipMemRangeHandleTypeMax = 2147483647,
};
struct hipMipmappedArray {
    void *data;
    hipChannelFormatDesc desc;
    unsigned type;
    unsigned width;
    unsigned height;
    unsigned depth;
    unsigned min_mipmap_level;
    unsigned max_mipmap_level;
    unsigned flags;
    hipArray_Format format;
    unsigned num_channels;
};
enum hipArraySparseSubresourceType {
    hipArraySparseSubresourceTypeSparseLevel = 0,
    hipArraySparseSubresourceTypeMiptail = 1,
};
enum hipMemOperationType {
    hipMemOperationTypeMap = 1,
    hipMemOperationTypeUnmap = 2,
};
enum hipMemHandleType {
    hipMemHandleTypeGeneric = 0,
};
struct hipArrayMapInfo {
    hipResourceType resourceType;
    union {
        hipMipmappedArray mipmap;
        hipArray_t array;
    } resource;
    hipArraySparseSubresourceType subresourceType;
    union {
        struct {
            unsigned level;
            unsigned layer;
            unsigned offsetX;
            unsigned offsetY;
            unsigned offsetZ;
            unsigned extentWidth;
            unsigned extentHeight;
            unsigned extentDepth;
        } sparseLevel;
        struct {
            unsigned layer;
            unsigned long long offset;
            unsigned long long size;
        } miptail;
    } subresource;
    hipMemOperationType memOperationType;
    hipMemHandleType memHandleType;
    union {
        hipMemGenericAllocationHandle_t memHandle;
    } memHandle;
    unsigned long long offset;
    unsigned deviceBitMask;
    unsigned flags;
    unsigned reserved[2];
};
struct hipMemPoolPtrExportData {
    unsigned char reserved[64];
};
enum hipMemcpy3DOperandType {
    hipMemcpyOperandTypePointer = 1,
    hipMemcpyOperandTypeArray = 2,
    hipMemcpyOperandTypeMax = 2147483647,
};
struct hipOffset3D {
    std::size_t x;
    std::size_t y;
    std::size_t z;
};
struct hipMemcpy3DOperand {
    hipMemcpy3DOperandType type;
    union {
        struct {
            void *ptr;
            std::size_t rowLength;
            std::size_t layerHeight;
            hipMemLocation locHint;
        } ptr;
        struct {
            hipArray_t array;
            hipOffset3D offset;
        } array;
    } op;
};
enum hipMemcpySrcAccessOrder {
    hipMemcpySrcAccessOrderInvalid = 0,
    hipMemcpySrcAccessOrderStream = 1,
    hipMemcpySrcAccessOrderDuringApiCall = 2,
    hipMemcpySrcAccessOrderAny = 3,
    hipMemcpySrcAccessOrderMax = 2147483647,
};
struct hipMemcpy3DBatchOp {
    hipMemcpy3DOperand src;
    hipMemcpy3DOperand dst;
    hipExtent extent;
    hipMemcpySrcAccessOrder srcAccessOrder;
    unsigned flags;
};
struct hipMemcpy3DPeerParms {
    hipArray_t srcArray;
    hipPos srcPos;
    hipPitchedPtr srcPtr;
    int srcDevice;
    hipArray_t dstArray;
    hipPos dstPos;
    hipPitchedPtr dstPtr;
    int dstDevice;
    hipExtent extent;
};
struct hipMemcpyAttributes {
    hipMemcpySrcAccessOrder srcAccessOrder;
    hipMemLocation srcLocHint;
    hipMemLocation dstLocHint;
    unsigned flags;
};
struct hipArrayMemoryRequirements {
    std::size_t alignment;
    std::size_t size;
};
struct hipFunctionLaunchParams_t {
    hipFunction_t function;
    unsigned gridDimX;
    unsigned gridDimY;
    unsigned gridDimZ;
    unsigned blockDimX;
    unsigned blockDimY;
    unsigned blockDimZ;
    unsigned sharedMemBytes;
    hipStream_t hStream;
    void **kernelParams;
};
struct hipLaunchAttribute {
    hipLaunchAttributeID id;
    char pad[4];
    union {
        hipLaunchAttributeValue val;
        hipLaunchAttributeValue value;
    };
};
struct hipGraphEdgeData {
    unsigned char from_port;
    unsigned char reserved[5];
    unsigned char to_port;
    unsigned char type;
};
enum HIPresourcetype_enum {
    HIP_RESOURCE_TYPE_ARRAY = 0,
    HIP_RESOURCE_TYPE_MIPMAPPED_ARRAY = 1,
    HIP_RESOURCE_TYPE_LINEAR = 2,
    HIP_RESOURCE_TYPE_PITCH2D = 3,
};
struct HIP_RESOURCE_DESC_st {
    HIPresourcetype_enum resType;
    union {
        struct {
            hipArray_t hArray;
        } array;
        struct {
            hipMipmappedArray_t hMipmappedArray;
        } mipmap;
        struct {
            void *devPtr;
            hipArray_Format format;
            unsigned numChannels;
            std::size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            hipArray_Format format;
            unsigned numChannels;
            std::size_t width;
            std::size_t height;
            std::size_t pitchInBytes;
        } pitch2D;
        struct {
            int reserved[32];
        } reserved;
    } res;
    unsigned flags;
};
enum HIPaddress_mode_enum {
    HIP_TR_ADDRESS_MODE_WRAP = 0,
    HIP_TR_ADDRESS_MODE_CLAMP = 1,
    HIP_TR_ADDRESS_MODE_MIRROR = 2,
    HIP_TR_ADDRESS_MODE_BORDER = 3,
};
enum HIPfilter_mode_enum {
    HIP_TR_FILTER_MODE_POINT = 0,
    HIP_TR_FILTER_MODE_LINEAR = 1,
};
struct HIP_TEXTURE_DESC_st {
    HIPaddress_mode_enum addressMode[3];
    HIPfilter_mode_enum filterMode;
    unsigned flags;
    unsigned maxAnisotropy;
    HIPfilter_mode_enum mipmapFilterMode;
    float mipmapLevelBias;
    float minMipmapLevelClamp;
    float maxMipmapLevelClamp;
    float borderColor[4];
    int reserved[12];
};
enum HIPresourceViewFormat_enum {
    HIP_RES_VIEW_FORMAT_NONE = 0,
    HIP_RES_VIEW_FORMAT_UINT_1X8 = 1,
    HIP_RES_VIEW_FORMAT_UINT_2X8 = 2,
    HIP_RES_VIEW_FORMAT_UINT_4X8 = 3,
    HIP_RES_VIEW_FORMAT_SINT_1X8 = 4,
    HIP_RES_VIEW_FORMAT_SINT_2X8 = 5,
    HIP_RES_VIEW_FORMAT_SINT_4X8 = 6,
    HIP_RES_VIEW_FORMAT_UINT_1X16 = 7,
    HIP_RES_VIEW_FORMAT_UINT_2X16 = 8,
    HIP_RES_VIEW_FORMAT_UINT_4X16 = 9,
    HIP_RES_VIEW_FORMAT_SINT_1X16 = 10,
    HIP_RES_VIEW_FORMAT_SINT_2X16 = 11,
    HIP_RES_VIEW_FORMAT_SINT_4X16 = 12,
    HIP_RES_VIEW_FORMAT_UINT_1X32 = 13,
    HIP_RES_VIEW_FORMAT_UINT_2X32 = 14,
    HIP_RES_VIEW_FORMAT_UINT_4X32 = 15,
    HIP_RES_VIEW_FORMAT_SINT_1X32 = 16,
    HIP_RES_VIEW_FORMAT_SINT_2X32 = 17,
    HIP_RES_VIEW_FORMAT_SINT_4X32 = 18,
    HIP_RES_VIEW_FORMAT_FLOAT_1X16 = 19,
    HIP_RES_VIEW_FORMAT_FLOAT_2X16 = 20,
    HIP_RES_VIEW_FORMAT_FLOAT_4X16 = 21,
    HIP_RES_VIEW_FORMAT_FLOAT_1X32 = 22,
    HIP_RES_VIEW_FORMAT_FLOAT_2X32 = 23,
    HIP_RES_VIEW_FORMAT_FLOAT_4X32 = 24,
    HIP_RES_VIEW_FORMAT_UNSIGNED_BC1 = 25,
    HIP_RES_VIEW_FORMAT_UNSIGNED_BC2 = 26,
    HIP_RES_VIEW_FORMAT_UNSIGNED_BC3 = 27,
    HIP_RES_VIEW_FORMAT_UNSIGNED_BC4 = 28,
    HIP_RES_VIEW_FORMAT_SIGNED_BC4 = 29,
    HIP_RES_VIEW_FORMAT_UNSIGNED_BC5 = 30,
    HIP_RES_VIEW_FORMAT_SIGNED_BC5 = 31,
    HIP_RES_VIEW_FORMAT_UNSIGNED_BC6H = 32,
    HIP_RES_VIEW_FORMAT_SIGNED_BC6H = 33,
    HIP_RES_VIEW_FORMAT_UNSIGNED_BC7 = 34,
};
struct HIP_RESOURCE_VIEW_DESC_st {
    HIPresourceViewFormat_enum format;
    std::size_t width;
    std::size_t height;
    std::size_t depth;
    unsigned firstMipmapLevel;
    unsigned lastMipmapLevel;
    unsigned firstLayer;
    unsigned lastLayer;
    unsigned reserved[16];
};
enum hipJitCacheMode {
    hipJitCacheOptionNone = 0,
    hipJitCacheOptionCG = 1,
    hipJitCacheOptionCA = 2,
};
enum hipJitFallback {
    hipJitPreferPTX = 0,
    hipJitPreferBinary = 1,
};
typedef hipLibraryOption_e hipLibraryOption;
enum hipComputeMode {
    hipComputeModeDefault = 0,
    hipComputeModeExclusive = 1,
    hipComputeModeProhibited = 2,
    hipComputeModeExclusiveProcess = 3,
};
enum hipFlushGPUDirectRDMAWritesOptions {
    hipFlushGPUDirectRDMAWritesOptionHost = 1,
    hipFlushGPUDirectRDMAWritesOptionMemOps = 2,
};
enum hipGPUDirectRDMAWritesOrdering {
    hipGPUDirectRDMAWritesOrderingNone = 0,
    hipGPUDirectRDMAWritesOrderingOwner = 100,
    hipGPUDirectRDMAWritesOrderingAllDevices = 200,
};
typedef hipMipmappedArray_t hipmipmappedArray;
typedef HIPresourcetype_enum HIPresourcetype;
typedef HIPresourcetype_enum hipResourcetype;
typedef HIPaddress_mode_enum HIPaddress_mode;
typedef HIPfilter_mode_enum HIPfilter_mode;
typedef HIP_TEXTURE_DESC_st HIP_TEXTURE_DESC;
enum hipResourceViewFormat {
    hipResViewFormatNone = 0,
    hipResViewFormatUnsignedChar1 = 1,
    hipResViewFormatUnsignedChar2 = 2,
    hipResViewFormatUnsignedChar4 = 3,
    hipResViewFormatSignedChar1 = 4,
    hipResViewFormatSignedChar2 = 5,
    hipResViewFormatSignedChar4 = 6,
    hipResViewFormatUnsignedShort1 = 7,
    hipResViewFormatUnsignedShort2 = 8,
    hipResViewFormatUnsignedShort4 = 9,
    hipResViewFormatSignedShort1 = 10,
    hipResViewFormatSignedShort2 = 11,
    hipResViewFormatSignedShort4 = 12,
    hipResViewFormatUnsignedInt1 = 13,
    hipResViewFormatUnsignedInt2 = 14,
    hipResViewFormatUnsignedInt4 = 15,
    hipResViewFormatSignedInt1 = 16,
    hipResViewFormatSignedInt2 = 17,
    hipResViewFormatSignedInt4 = 18,
    hipResViewFormatHalf1 = 19,
    hipResViewFormatHalf2 = 20,
    hipResViewFormatHalf4 = 21,
    hipResViewFormatFloat1 = 22,
    hipResViewFormatFloat2 = 23,
    hipResViewFormatFloat4 = 24,
    hipResViewFormatUnsignedBlockCompressed1 = 25,
    hipResViewFormatUnsignedBlockCompressed2 = 26,
    hipResViewFormatUnsignedBlockCompressed3 = 27,
    hipResViewFormatUnsignedBlockCompressed4 = 28,
    hipResViewFormatSignedBlockCompressed4 = 29,
    hipResViewFormatUnsignedBlockCompressed5 = 30,
    hipResViewFormatSignedBlockCompressed5 = 31,
    hipResViewFormatUnsignedBlockCompressed6H = 32,
    hipResViewFormatSignedBlockCompressed6H = 33,
    hipResViewFormatUnsignedBlockCompressed7 = 34,
};
typedef HIPresourceViewFormat_enum HIPresourceViewFormat;
typedef HIP_RESOURCE_DESC_st HIP_RESOURCE_DESC;
typedef HIP_RESOURCE_VIEW_DESC_st HIP_RESOURCE_VIEW_DESC;
enum hipMemcpyFlags {
    hipMemcpyFlagDefault = 0,
    hipMemcpyFlagPreferOverlapWithCompute = 1,
    hipMemcpyFlagExtPreferCE = 256,
    hipMemcpyFlagExtOpSwap = 512,
    hipMemcpyFlagExtOpIndirectSrc = 1024,
    hipMemcpyFlagExtOpIndirectDst = 2048,
};
enum hipDevSmResourceGroup_flags {
    hipDevSmResourceGroupDefault = 0,
    hipDevSmResourceGroupBackfill = 1,
};
enum hipDevSmResourceSplitByCount_flags {
    hipDevSmResourceSplitIgnoreSmCoscheduling = 1,
    hipDevSmResourceSplitMaxPotentialClusterSize = 2,
};
typedef hipDevResource_st hipDevResource;
typedef hipDevSmResourceGroupParams_st hipDevSmResourceGroupParams;
typedef hipIpcMemHandle_st hipIpcMemHandle_t;
typedef hipIpcEventHandle_st hipIpcEventHandle_t;
struct hipMemFabricHandle_st {
    unsigned char data[64];
};
typedef hipMemFabricHandle_st hipMemFabricHandle_t;
typedef hipStreamBatchMemOpParams_union hipStreamBatchMemOpParams;
enum hipMemRangeCoherencyMode {
    hipMemRangeCoherencyModeFineGrain = 0,
    hipMemRangeCoherencyModeCoarseGrain = 1,
    hipMemRangeCoherencyModeIndeterminate = 2,
};
typedef hipLaunchParams_t hipLaunchParams;
typedef hipFunctionLaunchParams_t hipFunctionLaunchParams;
typedef hipExternalMemoryHandleType_enum hipExternalMemoryHandleType;
typedef hipExternalMemoryHandleDesc_st hipExternalMemoryHandleDesc;
typedef hipExternalMemoryBufferDesc_st hipExternalMemoryBufferDesc;
typedef hipExternalMemoryMipmappedArrayDesc_st hipExternalMemoryMipmappedArrayDesc;
typedef void *hipExternalMemory_t;
typedef hipExternalSemaphoreHandleType_enum hipExternalSemaphoreHandleType;
typedef hipExternalSemaphoreHandleDesc_st hipExternalSemaphoreHandleDesc;
typedef void *hipExternalSemaphore_t;
typedef hipExternalSemaphoreSignalParams_st hipExternalSemaphoreSignalParams;
typedef hipExternalSemaphoreWaitParams_st hipExternalSemaphoreWaitParams;
enum hipGraphicsRegisterFlags {
    hipGraphicsRegisterFlagsNone = 0,
    hipGraphicsRegisterFlagsReadOnly = 1,
    hipGraphicsRegisterFlagsWriteDiscard = 2,
    hipGraphicsRegisterFlagsSurfaceLoadStore = 4,
    hipGraphicsRegisterFlagsTextureGather = 8,
};
typedef _hipGraphicsResource hipGraphicsResource;
enum hipUserObjectFlags {
    hipUserObjectNoDestructorSync = 1,
};
enum hipUserObjectRetainFlags {
    hipGraphUserObjectMove = 1,
};
enum hipGraphDebugDotFlags {
    hipGraphDebugDotFlagsVerbose = 1,
    hipGraphDebugDotFlagsKernelNodeParams = 4,
    hipGraphDebugDotFlagsMemcpyNodeParams = 8,
    hipGraphDebugDotFlagsMemsetNodeParams = 16,
    hipGraphDebugDotFlagsHostNodeParams = 32,
    hipGraphDebugDotFlagsEventNodeParams = 64,
    hipGraphDebugDotFlagsExtSemasSignalNodeParams = 128,
    hipGraphDebugDotFlagsExtSemasWaitNodeParams = 256,
    hipGraphDebugDotFlagsKernelNodeAttributes = 512,
    hipGraphDebugDotFlagsHandles = 1024,
};
enum hipGraphDependencyType {
    hipGraphDependencyTypeDefault = 0,
    hipGraphDependencyTypeProgrammatic = 1,
};
enum hipMemRangeFlags {
    hipMemRangeFlagDmaBufMappingTypePcie = 1,
    hipMemRangeFlagsMax = 2147483647,
};

extern "C" {
const char *hipApiName(std::uint32_t id);
hipError_t hipArray3DCreate(hipArray_t *array, const HIP_ARRAY3D_DESCRIPTOR *pAllocateArray);
hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR *pArrayDescriptor, hipArray_t array);
hipError_t hipArrayCreate(hipArray_t *pHandle, const HIP_ARRAY_DESCRIPTOR *pAllocateArray);
hipError_t hipArrayDestroy(hipArray_t array);
hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR *pArrayDescriptor, hipArray_t array);
hipError_t hipArrayGetInfo(hipChannelFormatDesc *desc, hipExtent *extent, unsigned *flags, hipArray_t array);
hipError_t hipBindTexture(std::size_t *offset, const textureReference *tex, const void *devPtr,
                          const hipChannelFormatDesc *desc, std::size_t size = ~0u);
hipError_t hipBindTexture2D(std::size_t *offset, const textureReference *tex, const void *devPtr,
                            const hipChannelFormatDesc *desc, std::size_t width, std::size_t height, std::size_t pitch);
hipError_t hipBindTextureToArray(const textureReference *tex, hipArray_const_t array, const hipChannelFormatDesc *desc);
hipError_t hipBindTextureToMipmappedArray(const textureReference *tex, hipMipmappedArray_const_t mipmappedArray,
                                          const hipChannelFormatDesc *desc);
hipError_t hipConfigureCall(dim3 gridDim, dim3 blockDim, std::size_t sharedMem, hipStream_t stream);
hipError_t hipCtxCreate(hipCtx_t *ctx, unsigned flags, int device);
hipError_t hipCtxDestroy(hipCtx_t ctx);
hipError_t hipCtxDisablePeerAccess(hipCtx_t peerCtx);
hipError_t hipCtxEnablePeerAccess(hipCtx_t peerCtx, unsigned flags);
hipError_t hipCtxGetApiVersion(hipCtx_t ctx, unsigned *apiVersion);
hipError_t hipCtxGetCacheConfig(hipFuncCache_t *cacheConfig);
hipError_t hipCtxGetCurrent(hipCtx_t *ctx);
hipError_t hipCtxGetDevice(int *device);
hipError_t hipCtxGetFlags(unsigned *flags);
hipError_t hipCtxGetSharedMemConfig(hipSharedMemConfig *pConfig);
hipError_t hipCtxPopCurrent(hipCtx_t *ctx);
hipError_t hipCtxPushCurrent(hipCtx_t ctx);
hipError_t hipCtxSetCacheConfig(hipFuncCache_t cacheConfig);
hipError_t hipCtxSetCurrent(hipCtx_t ctx);
hipError_t hipCtxSetSharedMemConfig(hipSharedMemConfig config);
hipError_t hipCtxSynchronize(void);
hipError_t hipDestroyExternalMemory(void *extMem);
hipError_t hipDestroyExternalSemaphore(void *extSem);
hipError_t hipDevResourceGenerateDesc(hipDevResourceDesc_t *phDesc, hipDevResource_st *resources, unsigned nbResources);
hipError_t hipDevSmResourceSplit(hipDevResource_st *result, unsigned nbGroups, const hipDevResource_st *input,
                                 hipDevResource_st *remainder, unsigned flags,
                                 hipDevSmResourceGroupParams_st *groupParams);
hipError_t hipDevSmResourceSplitByCount(hipDevResource_st *result, unsigned *nbGroups, const hipDevResource_st *input,
                                        hipDevResource_st *remainder, unsigned flags, unsigned minCount);
hipError_t hipDeviceGetByPCIBusId(int *device, const char *pciBusId);
hipError_t hipDeviceGetCacheConfig(hipFuncCache_t *cacheConfig);
hipError_t hipDeviceGetDevResource(int device, hipDevResource_st *resource, hipDevResourceType type);
hipError_t hipDeviceGetExecutionCtx(hipExecutionCtx_t *ctx, int device);
hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig *pConfig);
hipError_t hipDeviceGetTexture1DLinearMaxWidth(std::size_t *max_width, const hipChannelFormatDesc *desc, int device);
hipError_t hipDevicePrimaryCtxGetState(int dev, unsigned *flags, int *active);
hipError_t hipDevicePrimaryCtxRelease(int dev);
hipError_t hipDevicePrimaryCtxReset(int dev);
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *pctx, int dev);
hipError_t hipDevicePrimaryCtxSetFlags(int dev, unsigned flags);
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t cacheConfig);
hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig config);
hipError_t hipDrvGetErrorName(hipError_t hipError, const char **errorString);
hipError_t hipDrvGetErrorString(hipError_t hipError, const char **errorString);
hipError_t hipDrvGraphAddMemFreeNode(hipGraphNode_t *phGraphNode, hipGraph_t hGraph, const hipGraphNode_t *dependencies,
                                     std::size_t numDependencies, void *dptr);
hipError_t hipDrvGraphAddMemcpyNode(hipGraphNode_t *phGraphNode, hipGraph_t hGraph, const hipGraphNode_t *dependencies,
                                    std::size_t numDependencies, const HIP_MEMCPY3D *copyParams, hipCtx_t ctx);
hipError_t hipDrvGraphAddMemsetNode(hipGraphNode_t *phGraphNode, hipGraph_t hGraph, const hipGraphNode_t *dependencies,
                                    std::size_t numDependencies, const hipMemsetParams *memsetParams, hipCtx_t ctx);
hipError_t hipDrvGraphExecMemcpyNodeSetParams(hipGraphExec_t hGraphExec, hipGraphNode_t hNode,
                                              const HIP_MEMCPY3D *copyParams, hipCtx_t ctx);
hipError_t hipDrvGraphExecMemsetNodeSetParams(hipGraphExec_t hGraphExec, hipGraphNode_t hNode,
                                              const hipMemsetParams *memsetParams, hipCtx_t ctx);
hipError_t hipDrvGraphMemcpyNodeGetParams(hipGraphNode_t hNode, HIP_MEMCPY3D *nodeParams);
hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t hNode, const HIP_MEMCPY3D *nodeParams);
hipError_t hipDrvMemDiscardAndPrefetchBatchAsync(void **dptrs, std::size_t *sizes, std::size_t count,
                                                 hipMemLocation *prefetchLocs, std::size_t *prefetchLocIdxs,
                                                 std::size_t numPrefetchLocs, unsigned long long flags,
                                                 hipStream_t stream = nullptr);
hipError_t hipDrvMemDiscardBatchAsync(void **dptrs, std::size_t *sizes, std::size_t count, unsigned long long flags,
                                      hipStream_t stream = nullptr);
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags);
hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream);
hipError_t hipExecutionCtxDestroy(hipExecutionCtx_t ctx);
hipError_t hipExecutionCtxGetDevResource(hipExecutionCtx_t ctx, hipDevResource_st *resource, hipDevResourceType type);
hipError_t hipExecutionCtxGetDevice(int *device, hipExecutionCtx_t ctx);
hipError_t hipExecutionCtxGetId(hipExecutionCtx_t ctx, unsigned long long *ctxId);
hipError_t hipExecutionCtxRecordEvent(hipExecutionCtx_t ctx, hipEvent_t event);
hipError_t hipExecutionCtxStreamCreate(hipStream_t *stream, hipExecutionCtx_t greenctx, unsigned flags, int priority);
hipError_t hipExecutionCtxSynchronize(hipExecutionCtx_t ctx);
hipError_t hipExecutionCtxWaitEvent(hipExecutionCtx_t ctx, hipEvent_t event);
hipError_t hipExtDisableLogging(void);
hipError_t hipExtEnableLogging(void);
hipError_t hipExtGetLastError(void);
hipError_t hipExtGetLinkTypeAndHopCount(int device1, int device2, std::uint32_t *linktype, std::uint32_t *hopcount);
hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams_t *launchParamsList, int numDevices, unsigned flags);
hipError_t hipExtSetLoggingParams(std::size_t log_level, std::size_t log_size, std::size_t log_mask);
hipError_t hipExternalMemoryGetMappedBuffer(void **devPtr, void *extMem,
                                            const hipExternalMemoryBufferDesc_st *bufferDesc);
hipError_t hipExternalMemoryGetMappedMipmappedArray(hipMipmappedArray_t *mipmap, void *extMem,
                                                    const hipExternalMemoryMipmappedArrayDesc_st *mipmapDesc);
hipError_t hipFuncSetSharedMemConfig(const void *func, hipSharedMemConfig config);
hipError_t hipGetChannelDesc(hipChannelFormatDesc *desc, hipArray_const_t array);
hipError_t hipGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                                  hipDriverEntryPointQueryResult *driverStatus);
hipError_t hipGetDriverEntryPoint_spt(const char *symbol, void **funcPtr, unsigned long long flags,
                                      hipDriverEntryPointQueryResult *status);
hipError_t hipGetFuncBySymbol(hipFunction_t *functionPtr, const void *symbolPtr);
hipError_t hipGetProcAddress_spt(const char *symbol, void **pfn, int hipVersion, std::uint64_t flags,
                                 hipDriverProcAddressQueryResult *symbolStatus);
int hipGetStreamDeviceId(hipStream_t stream);
hipError_t hipGetTextureAlignmentOffset(std::size_t *offset, const textureReference *texref);
hipError_t hipGetTextureObjectResourceViewDesc(hipResourceViewDesc *pResViewDesc, hipTextureObject_t textureObject);
hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc *pTexDesc, hipTextureObject_t textureObject);
hipError_t hipGetTextureReference(const textureReference **texref, const void *symbol);
hipError_t hipGraphAddBatchMemOpNode(hipGraphNode_t *phGraphNode, hipGraph_t hGraph, const hipGraphNode_t *dependencies,
                                     std::size_t numDependencies, const hipBatchMemOpNodeParams *nodeParams);
hipError_t hipGraphAddExternalSemaphoresSignalNode(hipGraphNode_t *pGraphNode, hipGraph_t graph,
                                                   const hipGraphNode_t *pDependencies, std::size_t numDependencies,
                                                   const hipExternalSemaphoreSignalNodeParams *nodeParams);
hipError_t hipGraphAddExternalSemaphoresWaitNode(hipGraphNode_t *pGraphNode, hipGraph_t graph,
                                                 const hipGraphNode_t *pDependencies, std::size_t numDependencies,
                                                 const hipExternalSemaphoreWaitNodeParams *nodeParams);
hipError_t hipGraphAddNode(hipGraphNode_t *pGraphNode, hipGraph_t graph, const hipGraphNode_t *pDependencies,
                           std::size_t numDependencies, hipGraphNodeParams *nodeParams);
hipError_t hipGraphBatchMemOpNodeGetParams(hipGraphNode_t hNode, hipBatchMemOpNodeParams *nodeParams_out);
hipError_t hipGraphBatchMemOpNodeSetParams(hipGraphNode_t hNode, hipBatchMemOpNodeParams *nodeParams);
hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char *path, unsigned flags);
hipError_t hipGraphEventRecordNodeGetEvent(hipGraphNode_t node, hipEvent_t *event_out);
hipError_t hipGraphEventRecordNodeSetEvent(hipGraphNode_t node, hipEvent_t event);
hipError_t hipGraphEventWaitNodeGetEvent(hipGraphNode_t node, hipEvent_t *event_out);
hipError_t hipGraphEventWaitNodeSetEvent(hipGraphNode_t node, hipEvent_t event);
hipError_t hipGraphExecBatchMemOpNodeSetParams(hipGraphExec_t hGraphExec, hipGraphNode_t hNode,
                                               const hipBatchMemOpNodeParams *nodeParams);
hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t hGraphExec, hipGraphNode_t node, hipGraph_t childGraph);
hipError_t hipGraphExecEventRecordNodeSetEvent(hipGraphExec_t hGraphExec, hipGraphNode_t hNode, hipEvent_t event);
hipError_t hipGraphExecEventWaitNodeSetEvent(hipGraphExec_t hGraphExec, hipGraphNode_t hNode, hipEvent_t event);
hipError_t hipGraphExecExternalSemaphoresSignalNodeSetParams(hipGraphExec_t hGraphExec, hipGraphNode_t hNode,
                                                             const hipExternalSemaphoreSignalNodeParams *nodeParams);
hipError_t hipGraphExecExternalSemaphoresWaitNodeSetParams(hipGraphExec_t hGraphExec, hipGraphNode_t hNode,
                                                           const hipExternalSemaphoreWaitNodeParams *nodeParams);
hipError_t hipGraphExecGetFlags(hipGraphExec_t graphExec, unsigned long long *flags);
hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(hipGraphExec_t hGraphExec, hipGraphNode_t node, void *dst,
                                                     const void *symbol, std::size_t count, std::size_t offset,
                                                     hipMemcpyKind kind);
hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(hipGraphExec_t hGraphExec, hipGraphNode_t node, const void *symbol,
                                                   const void *src, std::size_t count, std::size_t offset,
                                                   hipMemcpyKind kind);
hipError_t hipGraphExecNodeSetParams(hipGraphExec_t graphExec, hipGraphNode_t node, hipGraphNodeParams *nodeParams);
hipError_t hipGraphExternalSemaphoresSignalNodeGetParams(hipGraphNode_t hNode,
                                                         hipExternalSemaphoreSignalNodeParams *params_out);
hipError_t hipGraphExternalSemaphoresSignalNodeSetParams(hipGraphNode_t hNode,
                                                         const hipExternalSemaphoreSignalNodeParams *nodeParams);
hipError_t hipGraphExternalSemaphoresWaitNodeGetParams(hipGraphNode_t hNode,
                                                       hipExternalSemaphoreWaitNodeParams *params_out);
hipError_t hipGraphExternalSemaphoresWaitNodeSetParams(hipGraphNode_t hNode,
                                                       const hipExternalSemaphoreWaitNodeParams *nodeParams);
hipError_t hipGraphInstantiateWithParams(hipGraphExec_t *pGraphExec, hipGraph_t graph,
                                         hipGraphInstantiateParams *instantiateParams);
hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t hSrc, hipGraphNode_t hDst);
hipError_t hipGraphKernelNodeGetAttribute(hipGraphNode_t hNode, hipLaunchAttributeID attr,
                                          hipLaunchAttributeValue *value);
hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t hNode, hipLaunchAttributeID attr,
                                          const hipLaunchAttributeValue *value);
hipError_t hipGraphLaunch_spt(hipGraphExec_t graphExec, hipStream_t stream);
hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(hipGraphNode_t node, void *dst, const void *symbol, std::size_t count,
                                                 std::size_t offset, hipMemcpyKind kind);
hipError_t hipGraphMemcpyNodeSetParamsToSymbol(hipGraphNode_t node, const void *symbol, const void *src,
                                               std::size_t count, std::size_t offset, hipMemcpyKind kind);
hipError_t hipGraphNodeFindInClone(hipGraphNode_t *pNode, hipGraphNode_t originalNode, hipGraph_t clonedGraph);
hipError_t hipGraphNodeSetParams(hipGraphNode_t node, hipGraphNodeParams *nodeParams);
hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count);
hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags);
hipError_t hipGraphicsMapResources(int count, hipGraphicsResource_t *resources, hipStream_t stream);
hipError_t hipGraphicsResourceGetMappedPointer(void **devPtr, std::size_t *size, hipGraphicsResource_t resource);
hipError_t hipGraphicsSubResourceGetMappedArray(hipArray_t *array, hipGraphicsResource_t resource, unsigned arrayIndex,
                                                unsigned mipLevel);
hipError_t hipGraphicsUnmapResources(int count, hipGraphicsResource_t *resources, hipStream_t stream);
hipError_t hipGraphicsUnregisterResource(hipGraphicsResource_t resource);
hipError_t hipGreenCtxCreate(hipExecutionCtx_t *ctx, hipDevResourceDesc_t desc, int device, unsigned flags);
hipError_t hipImportExternalMemory(void **extMem_out, const hipExternalMemoryHandleDesc_st *memHandleDesc);
hipError_t hipImportExternalSemaphore(void **extSem_out, const hipExternalSemaphoreHandleDesc_st *semHandleDesc);
hipError_t hipIpcCloseMemHandle(void *devPtr);
hipError_t hipIpcGetEventHandle(hipIpcEventHandle_st *handle, hipEvent_t event);
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_st *handle, void *devPtr);
hipError_t hipIpcOpenEventHandle(hipEvent_t *event, hipIpcEventHandle_st handle);
hipError_t hipIpcOpenMemHandle(void **devPtr, hipIpcMemHandle_st handle, unsigned flags);
hipError_t hipKernelGetAttribute(int *pi, hipFunction_attribute attrib, hipKernel_t kernel, int dev);
hipError_t hipKernelGetFunction(hipFunction_t *pFunc, hipKernel_t kernel);
hipError_t hipKernelGetLibrary(hipLibrary_t *library, hipKernel_t kernel);
hipError_t hipKernelGetName(const char **name, hipKernel_t kernel);
hipError_t hipKernelGetParamInfo(hipKernel_t kernel, std::size_t paramIndex, std::size_t *paramOffset,
                                 std::size_t *paramSize);
const char *hipKernelNameRef(const hipFunction_t f);
const char *hipKernelNameRefByPtr(const void *hostFunction, hipStream_t stream);
hipError_t hipKernelSetAttribute(hipFunction_attribute attrib, int value, hipKernel_t kernel, int dev);
hipError_t hipLaunchByPtr(const void *func);
hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams_t *launchParamsList, int numDevices, unsigned flags);
hipError_t hipLaunchCooperativeKernel_spt(const void *f, dim3 gridDim, dim3 blockDim, void **kernelParams,
                                          std::uint32_t sharedMemBytes, hipStream_t hStream);
hipError_t hipLaunchHostFunc_spt(hipStream_t stream, hipHostFn_t fn, void *userData);
hipError_t hipLaunchKernel_spt(const void *function_address, dim3 numBlocks, dim3 dimBlocks, void **args,
                               std::size_t sharedMemBytes, hipStream_t stream);
hipError_t hipLibraryEnumerateKernels(hipKernel_t *kernels, unsigned numKernels, hipLibrary_t library);
hipError_t hipLibraryGetGlobal(void **dptr, std::size_t *bytes, hipLibrary_t library, const char *name);
hipError_t hipLibraryGetKernel(hipKernel_t *pKernel, hipLibrary_t library, const char *name);
hipError_t hipLibraryGetKernelCount(unsigned *count, hipLibrary_t library);
hipError_t hipLibraryGetManaged(void **dptr, std::size_t *bytes, hipLibrary_t library, const char *name);
hipError_t hipLibraryLoadData(hipLibrary_t *library, const void *code, hipJitOption *jitOptions,
                              void **jitOptionsValues, unsigned numJitOptions, hipLibraryOption_e *libraryOptions,
                              void **libraryOptionValues, unsigned numLibraryOptions);
hipError_t hipLibraryLoadFromFile(hipLibrary_t *library, const char *fileName, hipJitOption *jitOptions,
                                  void **jitOptionsValues, unsigned numJitOptions, hipLibraryOption_e *libraryOptions,
                                  void **libraryOptionValues, unsigned numLibraryOptions);
hipError_t hipLibraryUnload(hipLibrary_t library);
hipError_t hipMemAdvise_v2(const void *dev_ptr, std::size_t count, hipMemoryAdvise advice, hipMemLocation location);
hipError_t hipMemAllocHost(void **ptr, std::size_t size);
hipError_t hipMemDiscardAndPrefetchBatchAsync(void **dptrs, std::size_t *sizes, std::size_t count,
                                              hipMemLocation *prefetchLocs, std::size_t *prefetchLocIdxs,
                                              std::size_t numPrefetchLocs, unsigned long long flags,
                                              hipStream_t stream = nullptr);
hipError_t hipMemDiscardBatchAsync(void **dev_ptrs, std::size_t *sizes, std::size_t count, unsigned long long flags,
                                   hipStream_t stream = nullptr);
hipError_t hipMemGetDefaultMemPool(hipMemPool_t *memPool, hipMemLocation *location, hipMemAllocationType type);
hipError_t hipMemGetHandleForAddressRange(void *handle, void *dptr, std::size_t size, hipMemRangeHandleType handleType,
                                          unsigned long long flags);
hipError_t hipMemGetMemPool(hipMemPool_t *pool, hipMemLocation *location, hipMemAllocationType type);
hipError_t hipMemMapArrayAsync(hipArrayMapInfo *mapInfoList, unsigned count, hipStream_t stream = nullptr);
hipError_t hipMemPoolExportPointer(hipMemPoolPtrExportData *export_data, void *dev_ptr);
hipError_t hipMemPoolExportToShareableHandle(void *shared_handle, hipMemPool_t mem_pool,
                                             hipMemAllocationHandleType handle_type, unsigned flags);
hipError_t hipMemPoolImportFromShareableHandle(hipMemPool_t *mem_pool, void *shared_handle,
                                               hipMemAllocationHandleType handle_type, unsigned flags);
hipError_t hipMemPoolImportPointer(void **dev_ptr, hipMemPool_t mem_pool, hipMemPoolPtrExportData *export_data);
hipError_t hipMemPrefetchAsync_v2(const void *dev_ptr, std::size_t count, hipMemLocation location, unsigned flags,
                                  hipStream_t stream);
hipError_t hipMemPrefetchBatchAsync(void **dev_ptrs, std::size_t *sizes, std::size_t count,
                                    hipMemLocation *prefetch_locs, std::size_t *prefetch_loc_idxs,
                                    std::size_t num_prefetch_locs, unsigned long long flags,
                                    hipStream_t stream = nullptr);
hipError_t hipMemRangeGetAttributes(void **data, std::size_t *data_sizes, hipMemRangeAttribute *attributes,
                                    std::size_t num_attributes, const void *dev_ptr, std::size_t count);
hipError_t hipMemSetMemPool(hipMemLocation *location, hipMemAllocationType type, hipMemPool_t pool);
hipError_t hipMemcpy2DArrayToArray(hipArray_t dst, std::size_t wOffsetDst, std::size_t hOffsetDst, hipArray_const_t src,
                                   std::size_t wOffsetSrc, std::size_t hOffsetSrc, std::size_t width,
                                   std::size_t height, hipMemcpyKind kind);
hipError_t hipMemcpy2DAsync_spt(void *dst, std::size_t dpitch, const void *src, std::size_t spitch, std::size_t width,
                                std::size_t height, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpy2DFromArrayAsync(void *dst, std::size_t dpitch, hipArray_const_t src, std::size_t wOffset,
                                     std::size_t hOffset, std::size_t width, std::size_t height, hipMemcpyKind kind,
                                     hipStream_t stream = nullptr);
hipError_t hipMemcpy2DFromArrayAsync_spt(void *dst, std::size_t dpitch, hipArray_const_t src, std::size_t wOffsetSrc,
                                         std::size_t hOffsetSrc, std::size_t width, std::size_t height,
                                         hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpy2DFromArray_spt(void *dst, std::size_t dpitch, hipArray_const_t src, std::size_t wOffset,
                                    std::size_t hOffset, std::size_t width, std::size_t height, hipMemcpyKind kind);
hipError_t hipMemcpy2DToArrayAsync(hipArray_t dst, std::size_t wOffset, std::size_t hOffset, const void *src,
                                   std::size_t spitch, std::size_t width, std::size_t height, hipMemcpyKind kind,
                                   hipStream_t stream = nullptr);
hipError_t hipMemcpy2DToArrayAsync_spt(hipArray_t dst, std::size_t wOffset, std::size_t hOffset, const void *src,
                                       std::size_t spitch, std::size_t width, std::size_t height, hipMemcpyKind kind,
                                       hipStream_t stream);
hipError_t hipMemcpy2DToArray_spt(hipArray_t dst, std::size_t wOffset, std::size_t hOffset, const void *src,
                                  std::size_t spitch, std::size_t width, std::size_t height, hipMemcpyKind kind);
hipError_t hipMemcpy2D_spt(void *dst, std::size_t dpitch, const void *src, std::size_t spitch, std::size_t width,
                           std::size_t height, hipMemcpyKind kind);
hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms *p, hipStream_t stream);
hipError_t hipMemcpy3DBatchAsync(std::size_t numOps, hipMemcpy3DBatchOp *opList, std::size_t *failIdx,
                                 unsigned long long flags, hipStream_t stream = nullptr);
hipError_t hipMemcpy3DPeer(hipMemcpy3DPeerParms *p);
hipError_t hipMemcpy3DPeerAsync(hipMemcpy3DPeerParms *p, hipStream_t stream = nullptr);
hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms *p);
hipError_t hipMemcpyAsync_spt(void *dst, const void *src, std::size_t sizeBytes, hipMemcpyKind kind,
                              hipStream_t stream);
hipError_t hipMemcpyAtoA(hipArray_t dstArray, std::size_t dstOffset, hipArray_t srcArray, std::size_t srcOffset,
                         std::size_t ByteCount);
hipError_t hipMemcpyAtoD(void *dstDevice, hipArray_t srcArray, std::size_t srcOffset, std::size_t ByteCount);
hipError_t hipMemcpyAtoH(void *dst, hipArray_t srcArray, std::size_t srcOffset, std::size_t count);
hipError_t hipMemcpyAtoHAsync(void *dstHost, hipArray_t srcArray, std::size_t srcOffset, std::size_t ByteCount,
                              hipStream_t stream = nullptr);
hipError_t hipMemcpyBatchAsync(void **dsts, void **srcs, std::size_t *sizes, std::size_t count,
                               hipMemcpyAttributes *attrs, std::size_t *attrsIdxs, std::size_t numAttrs,
                               std::size_t *failIdx, hipStream_t stream = nullptr);
hipError_t hipMemcpyDtoA(hipArray_t dstArray, std::size_t dstOffset, void *srcDevice, std::size_t ByteCount);
hipError_t hipMemcpyFromArray_spt(void *dst, hipArray_const_t src, std::size_t wOffsetSrc, std::size_t hOffset,
                                  std::size_t count, hipMemcpyKind kind);
hipError_t hipMemcpyFromSymbolAsync_spt(void *dst, const void *symbol, std::size_t sizeBytes, std::size_t offset,
                                        hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyFromSymbol_spt(void *dst, const void *symbol, std::size_t sizeBytes, std::size_t offset,
                                   hipMemcpyKind kind);
hipError_t hipMemcpyHtoA(hipArray_t dstArray, std::size_t dstOffset, const void *srcHost, std::size_t count);
hipError_t hipMemcpyHtoAAsync(hipArray_t dstArray, std::size_t dstOffset, const void *srcHost, std::size_t ByteCount,
                              hipStream_t stream = nullptr);
hipError_t hipMemcpyToSymbolAsync_spt(const void *symbol, const void *src, std::size_t sizeBytes, std::size_t offset,
                                      hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyToSymbol_spt(const void *symbol, const void *src, std::size_t sizeBytes, std::size_t offset,
                                 hipMemcpyKind kind);
hipError_t hipMemcpy_spt(void *dst, const void *src, std::size_t sizeBytes, hipMemcpyKind kind);
hipError_t hipMemset2DAsync_spt(void *dst, std::size_t pitch, int value, std::size_t width, std::size_t height,
                                hipStream_t stream);
hipError_t hipMemset2D_spt(void *dst, std::size_t pitch, int value, std::size_t width, std::size_t height);
hipError_t hipMemset3DAsync_spt(hipPitchedPtr pitchedDevPtr, int value, hipExtent extent, hipStream_t stream);
hipError_t hipMemset3D_spt(hipPitchedPtr pitchedDevPtr, int value, hipExtent extent);
hipError_t hipMemsetAsync_spt(void *dst, int value, std::size_t sizeBytes, hipStream_t stream);
hipError_t hipMemsetD16Async(void *dest, unsigned short value, std::size_t count, hipStream_t stream = nullptr);
hipError_t hipMemsetD2D16Async(void *dst, std::size_t dstPitch, unsigned short value, std::size_t width,
                               std::size_t height, hipStream_t stream = nullptr);
hipError_t hipMemsetD2D8Async(void *dst, std::size_t dstPitch, unsigned char value, std::size_t width,
                              std::size_t height, hipStream_t stream = nullptr);
hipError_t hipMemsetD8Async(void *dest, unsigned char value, std::size_t count, hipStream_t stream = nullptr);
hipError_t hipMemset_spt(void *dst, int value, std::size_t sizeBytes);
hipError_t hipMipmappedArrayCreate(hipMipmappedArray_t *pHandle, HIP_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                   unsigned numMipmapLevels);
hipError_t hipMipmappedArrayDestroy(hipMipmappedArray_t hMipmappedArray);
hipError_t hipMipmappedArrayGetLevel(hipArray_t *pLevelArray, hipMipmappedArray_t hMipMappedArray, unsigned level);
hipError_t hipMipmappedArrayGetMemoryRequirements(hipArrayMemoryRequirements *memoryRequirements,
                                                  hipMipmappedArray_t mipmap, int device);
hipError_t hipModuleGetFunctionCount(unsigned *count, hipModule_t mod);
hipError_t hipModuleGetTexRef(textureReference **texRef, hipModule_t hmod, const char *name);
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                                            unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ,
                                            unsigned sharedMemBytes, hipStream_t stream, void **kernelParams);
hipError_t hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams_t *launchParamsList, unsigned numDevices,
                                                       unsigned flags);
hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned numOptions, hipJitOption *options,
                               void **optionValues);
hipError_t hipModuleLoadFatBinary(hipModule_t *module, const void *fatbin);
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, hipFunction_t f, int blockSize,
                                                              std::size_t dynSharedMemPerBlk);
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, hipFunction_t f, int blockSize,
                                                                       std::size_t dynSharedMemPerBlk, unsigned flags);
hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *gridSize, int *blockSize, hipFunction_t f,
                                                   std::size_t dynSharedMemPerBlk, int blockSizeLimit);
hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *gridSize, int *blockSize, hipFunction_t f,
                                                            std::size_t dynSharedMemPerBlk, int blockSizeLimit,
                                                            unsigned flags);
hipError_t hipOccupancyAvailableDynamicSMemPerBlock(std::size_t *dynamicSmemSize, const void *f, int numBlocks,
                                                    int blockSize);
hipError_t hipOccupancyMaxActiveClusters(int *numClusters, const void *f, const hipLaunchConfig_t *config);
hipError_t hipOccupancyMaxPotentialClusterSize(int *clusterSize, const void *f, const hipLaunchConfig_t *config);
hipError_t hipProfilerStart(void);
hipError_t hipProfilerStop(void);
hipError_t hipSetValidDevices(int *device_arr, int len);
hipError_t hipSetupArgument(const void *arg, std::size_t size, std::size_t offset);
hipError_t hipSignalExternalSemaphoresAsync(void *const *extSemArray,
                                            const hipExternalSemaphoreSignalParams_st *paramsArray, unsigned numExtSems,
                                            hipStream_t stream = nullptr);
hipError_t hipStreamAddCallback_spt(hipStream_t stream, hipStreamCallback_t callback, void *userData, unsigned flags);
hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count, hipStreamBatchMemOpParams_union *paramArray,
                               unsigned flags);
hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                        const hipGraphEdgeData *dependencyData, std::size_t numDependencies,
                                        hipStreamCaptureMode mode);
hipError_t hipStreamBeginCapture_spt(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamCopyAttributes(hipStream_t dst, hipStream_t src);
hipError_t hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t *pGraph);
hipError_t hipStreamGetAttribute(hipStream_t stream, hipLaunchAttributeID attr, hipLaunchAttributeValue *value_out);
hipError_t hipStreamGetCaptureInfo_spt(hipStream_t stream, hipStreamCaptureStatus *pCaptureStatus,
                                       unsigned long long *pId);
hipError_t hipStreamGetCaptureInfo_v2_spt(hipStream_t stream, hipStreamCaptureStatus *captureStatus_out,
                                          unsigned long long *id_out, hipGraph_t *graph_out,
                                          const hipGraphNode_t **dependencies_out, std::size_t *numDependencies_out);
hipError_t hipStreamGetDevResource(hipStream_t hStream, hipDevResource_st *resource, hipDevResourceType type);
hipError_t hipStreamGetFlags_spt(hipStream_t stream, unsigned *flags);
hipError_t hipStreamGetId(hipStream_t stream, unsigned long long *streamId);
hipError_t hipStreamGetPriority_spt(hipStream_t stream, int *priority);
hipError_t hipStreamIsCapturing_spt(hipStream_t stream, hipStreamCaptureStatus *pCaptureStatus);
hipError_t hipStreamQuery_spt(hipStream_t stream);
hipError_t hipStreamSetAttribute(hipStream_t stream, hipLaunchAttributeID attr, const hipLaunchAttributeValue *value);
hipError_t hipStreamSynchronize_spt(hipStream_t stream);
hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned flags);
hipError_t hipTexObjectCreate(hipTextureObject_t *pTexObject, const HIP_RESOURCE_DESC_st *pResDesc,
                              const HIP_TEXTURE_DESC_st *pTexDesc, const HIP_RESOURCE_VIEW_DESC_st *pResViewDesc);
hipError_t hipTexObjectDestroy(hipTextureObject_t texObject);
hipError_t hipTexObjectGetResourceDesc(HIP_RESOURCE_DESC_st *pResDesc, hipTextureObject_t texObject);
hipError_t hipTexObjectGetResourceViewDesc(HIP_RESOURCE_VIEW_DESC_st *pResViewDesc, hipTextureObject_t texObject);
hipError_t hipTexObjectGetTextureDesc(HIP_TEXTURE_DESC_st *pTexDesc, hipTextureObject_t texObject);
hipError_t hipTexRefGetAddress(void **dev_ptr, const textureReference *texRef);
hipError_t hipTexRefGetAddressMode(hipTextureAddressMode *pam, const textureReference *texRef, int dim);
hipError_t hipTexRefGetArray(hipArray_t *pArray, const textureReference *texRef);
hipError_t hipTexRefGetBorderColor(float *pBorderColor, const textureReference *texRef);
hipError_t hipTexRefGetFilterMode(hipTextureFilterMode *pfm, const textureReference *texRef);
hipError_t hipTexRefGetFlags(unsigned *pFlags, const textureReference *texRef);
hipError_t hipTexRefGetFormat(hipArray_Format *pFormat, int *pNumChannels, const textureReference *texRef);
hipError_t hipTexRefGetMaxAnisotropy(int *pmaxAnsio, const textureReference *texRef);
hipError_t hipTexRefGetMipMappedArray(hipMipmappedArray_t *pArray, const textureReference *texRef);
hipError_t hipTexRefGetMipmapFilterMode(hipTextureFilterMode *pfm, const textureReference *texRef);
hipError_t hipTexRefGetMipmapLevelBias(float *pbias, const textureReference *texRef);
hipError_t hipTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp, float *pmaxMipmapLevelClamp,
                                        const textureReference *texRef);
hipError_t hipTexRefSetAddress(std::size_t *ByteOffset, textureReference *texRef, void *dptr, std::size_t bytes);
hipError_t hipTexRefSetAddress2D(textureReference *texRef, const HIP_ARRAY_DESCRIPTOR *desc, void *dptr,
                                 std::size_t Pitch);
hipError_t hipTexRefSetAddressMode(textureReference *texRef, int dim, hipTextureAddressMode am);
hipError_t hipTexRefSetArray(textureReference *tex, hipArray_const_t array, unsigned flags);
hipError_t hipTexRefSetBorderColor(textureReference *texRef, float *pBorderColor);
hipError_t hipTexRefSetFilterMode(textureReference *texRef, hipTextureFilterMode fm);
hipError_t hipTexRefSetFlags(textureReference *texRef, unsigned Flags);
hipError_t hipTexRefSetFormat(textureReference *texRef, hipArray_Format fmt, int NumPackedComponents);
hipError_t hipTexRefSetMaxAnisotropy(textureReference *texRef, unsigned maxAniso);
hipError_t hipTexRefSetMipmapFilterMode(textureReference *texRef, hipTextureFilterMode fm);
hipError_t hipTexRefSetMipmapLevelBias(textureReference *texRef, float bias);
hipError_t hipTexRefSetMipmapLevelClamp(textureReference *texRef, float minMipMapLevelClamp, float maxMipMapLevelClamp);
hipError_t hipTexRefSetMipmappedArray(textureReference *texRef, hipMipmappedArray *mipmappedArray, unsigned Flags);
hipError_t hipUnbindTexture(const textureReference *tex);
hipError_t hipUserObjectCreate(hipUserObject_t *object_out, void *ptr, hipHostFn_t destroy, unsigned initialRefcount,
                               unsigned flags);
hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count);
hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count);
hipError_t hipWaitExternalSemaphoresAsync(void *const *extSemArray,
                                          const hipExternalSemaphoreWaitParams_st *paramsArray, unsigned numExtSems,
                                          hipStream_t stream = nullptr);
} // extern "C"
