// The host API's functions, by subject.
#pragma once

#include "hip/host/types.h"

// HIP 6 gave the structure a new layout, and the functions that take it new names.
#define hipGetDeviceProperties hipGetDevicePropertiesR0600
#define hipChooseDevice hipChooseDeviceR0600

extern "C" {

// Devices and errors.
hipError_t hipInit(unsigned flags);
hipError_t hipGetDeviceCount(int *count);
hipError_t hipGetDevice(int *device);
hipError_t hipSetDevice(int device);
hipError_t hipSetDeviceFlags(unsigned flags);
hipError_t hipGetDeviceFlags(unsigned *flags);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device);
hipError_t hipChooseDevice(int *device, const hipDeviceProp_t *properties);
hipError_t hipDeviceGet(hipDevice_t *device, int ordinal);
hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device);
hipError_t hipDeviceGetName(char *name, int length, hipDevice_t device);
hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device);
hipError_t hipDeviceGetPCIBusId(char *id, int length, int device);
hipError_t hipDeviceTotalMem(std::size_t *bytes, hipDevice_t device);
hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device);
hipError_t hipDeviceSynchronize(void);
hipError_t hipDeviceReset(void);
hipError_t hipDeviceGetLimit(std::size_t *value, hipLimit_t limit);
hipError_t hipDeviceSetLimit(hipLimit_t limit, std::size_t value);
hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest);
hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer);
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags);
hipError_t hipDeviceDisablePeerAccess(int peer);
hipError_t hipDeviceGetP2PAttribute(int *value, hipDeviceP2PAttr attribute, int source, int target);
hipError_t hipGetProcAddress(const char *name, void **function, int version, std::uint64_t flags,
                             hipDriverProcAddressQueryResult *status);
hipError_t hipDriverGetVersion(int *version);
hipError_t hipRuntimeGetVersion(int *version);
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char *hipGetErrorName(hipError_t error);
const char *hipGetErrorString(hipError_t error);

// Memory.
hipError_t hipMalloc(void **pointer, std::size_t size);
hipError_t hipMallocAsync(void **pointer, std::size_t size, hipStream_t stream);
hipError_t hipMallocManaged(void **pointer, std::size_t size, unsigned flags);
hipError_t hipMallocPitch(void **pointer, std::size_t *pitch, std::size_t width, std::size_t height);
hipError_t hipMalloc3D(hipPitchedPtr *pointer, hipExtent extent);
hipError_t hipExtMallocWithFlags(void **pointer, std::size_t size, unsigned flags);
hipError_t hipHostMalloc(void **pointer, std::size_t size, unsigned flags);
hipError_t hipHostAlloc(void **pointer, std::size_t size, unsigned flags);
hipError_t hipMallocHost(void **pointer, std::size_t size);
hipError_t hipFree(void *pointer);
hipError_t hipFreeAsync(void *pointer, hipStream_t stream);
hipError_t hipHostFree(void *pointer);
hipError_t hipFreeHost(void *pointer);
hipError_t hipMemGetAllocationGranularity(std::size_t *granularity, const hipMemAllocationProp *properties,
                                          hipMemAllocationGranularity_flags option);
hipError_t hipMemAddressReserve(void **pointer, std::size_t size, std::size_t alignment, void *address,
                                unsigned long long flags);
hipError_t hipMemAddressFree(void *pointer, std::size_t size);
hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *handle, std::size_t size,
                        const hipMemAllocationProp *properties, unsigned long long flags);
hipError_t hipMemExportToShareableHandle(void *shared, hipMemGenericAllocationHandle_t handle,
                                         hipMemAllocationHandleType type, unsigned long long flags);
hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t *handle, void *shared,
                                           hipMemAllocationHandleType type);
hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle);
hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t *handle, void *address);
hipError_t hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp *properties,
                                                   hipMemGenericAllocationHandle_t handle);
hipError_t hipMemMap(void *pointer, std::size_t size, std::size_t offset, hipMemGenericAllocationHandle_t handle,
                     unsigned long long flags);
hipError_t hipMemUnmap(void *pointer, std::size_t size);
hipError_t hipMemSetAccess(void *pointer, std::size_t size, const hipMemAccessDesc *descriptions, std::size_t count);
hipError_t hipMemGetAccess(unsigned long long *flags, const hipMemLocation *location, void *pointer);
hipError_t hipLinkCreate(unsigned count, hipJitOption *options, void **values, hipLinkState_t *state);
hipError_t hipLinkAddFile(hipLinkState_t state, hipJitInputType type, const char *path, unsigned count,
                          hipJitOption *options, void **values);
hipError_t hipLinkAddData(hipLinkState_t state, hipJitInputType type, void *data, std::size_t size, const char *name,
                          unsigned count, hipJitOption *options, void **values);
hipError_t hipLinkComplete(hipLinkState_t state, void **code, std::size_t *size);
hipError_t hipLinkDestroy(hipLinkState_t state);
hipError_t hipHostRegister(void *pointer, std::size_t size, unsigned flags);
hipError_t hipHostUnregister(void *pointer);
hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags);
hipError_t hipHostGetFlags(unsigned *flags, void *host);
hipError_t hipMemGetInfo(std::size_t *available, std::size_t *total);
hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, std::size_t *size, hipDeviceptr_t pointer);
hipError_t hipMemPtrGetInfo(void *pointer, std::size_t *size);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer);
hipError_t hipPointerGetAttribute(void *value, hipPointer_attribute attribute, hipDeviceptr_t pointer);
hipError_t hipMemPrefetchAsync(const void *pointer, std::size_t size, int device, hipStream_t stream = nullptr);
hipError_t hipMemAdvise(const void *pointer, std::size_t size, hipMemoryAdvise advice, int device);
hipError_t hipMemAllocPitch(hipDeviceptr_t *pointer, std::size_t *pitch, std::size_t width, std::size_t height,
                            unsigned element);
hipError_t hipPointerSetAttribute(const void *value, hipPointer_attribute attribute, hipDeviceptr_t pointer);
hipError_t hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute *attributes, void **values,
                                      hipDeviceptr_t pointer);
hipError_t hipMemRangeGetAttribute(void *value, std::size_t value_size, hipMemRangeAttribute attribute,
                                   const void *pointer, std::size_t size);
hipError_t hipStreamAttachMemAsync(hipStream_t stream, void *pointer, std::size_t length = 0,
                                   unsigned flags = 4 /* hipMemAttachSingle */);

// Memory pools.
hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device);
hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device);
hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool);
hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *properties);
hipError_t hipMemPoolDestroy(hipMemPool_t pool);
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, std::size_t keep);
hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value);
hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value);
hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc *descriptions, std::size_t count);
hipError_t hipMemPoolGetAccess(hipMemAccessFlags *flags, hipMemPool_t pool, hipMemLocation *location);
hipError_t hipMallocFromPoolAsync(void **pointer, std::size_t size, hipMemPool_t pool, hipStream_t stream);

// Copies and fills.
hipError_t hipMemcpy(void *to, const void *from, std::size_t size, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void *to, const void *from, std::size_t size, hipMemcpyKind kind,
                          hipStream_t stream = nullptr);
hipError_t hipMemcpyWithStream(void *to, const void *from, std::size_t size, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void *from, std::size_t size);
hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, std::size_t size);
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t size);
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void *from, std::size_t size, hipStream_t stream);
hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, std::size_t size, hipStream_t stream);
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t size, hipStream_t stream);
hipError_t hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, std::size_t size);
hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, std::size_t size,
                              hipStream_t stream = nullptr);
hipError_t hipMemcpy2D(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch, std::size_t width,
                       std::size_t height, hipMemcpyKind kind);
hipError_t hipMemcpy2DAsync(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch, std::size_t width,
                            std::size_t height, hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemcpy3D(const hipMemcpy3DParms *parameters);
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms *parameters, hipStream_t stream = nullptr);
hipError_t hipMemcpyParam2D(const hip_Memcpy2D *parameters);
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D *parameters, hipStream_t stream = nullptr);
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *parameters);
hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D *parameters);
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D *parameters, hipStream_t stream);
hipError_t hipMemsetD2D8(hipDeviceptr_t pointer, std::size_t pitch, unsigned char value, std::size_t width,
                         std::size_t height);
hipError_t hipMemsetD2D16(hipDeviceptr_t pointer, std::size_t pitch, unsigned short value, std::size_t width,
                          std::size_t height);
hipError_t hipMemsetD2D32(hipDeviceptr_t pointer, std::size_t pitch, unsigned value, std::size_t width,
                          std::size_t height);
hipError_t hipMemsetD2D32Async(hipDeviceptr_t pointer, std::size_t pitch, unsigned value, std::size_t width,
                               std::size_t height, hipStream_t stream);
hipError_t hipMemset(void *pointer, int value, std::size_t size);
hipError_t hipMemsetAsync(void *pointer, int value, std::size_t size, hipStream_t stream = nullptr);
hipError_t hipMemset2D(void *pointer, std::size_t pitch, int value, std::size_t width, std::size_t height);
hipError_t hipMemset2DAsync(void *pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                            hipStream_t stream = nullptr);
hipError_t hipMemset3D(hipPitchedPtr pointer, int value, hipExtent extent);
hipError_t hipMemset3DAsync(hipPitchedPtr pointer, int value, hipExtent extent, hipStream_t stream = nullptr);
hipError_t hipMemsetD8(hipDeviceptr_t pointer, unsigned char value, std::size_t count);
hipError_t hipMemsetD16(hipDeviceptr_t pointer, unsigned short value, std::size_t count);
hipError_t hipMemsetD32(hipDeviceptr_t pointer, int value, std::size_t count);
hipError_t hipMemsetD32Async(hipDeviceptr_t pointer, int value, std::size_t count, hipStream_t stream = nullptr);
hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, std::size_t size, std::size_t offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice);
hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, std::size_t size, std::size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, std::size_t size, std::size_t offset = 0,
                               hipMemcpyKind kind = hipMemcpyDeviceToHost);
hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, std::size_t size, std::size_t offset,
                                    hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipGetSymbolAddress(void **pointer, const void *symbol);
hipError_t hipGetSymbolSize(std::size_t *size, const void *symbol);

// Streams and events.
hipError_t hipStreamCreate(hipStream_t *stream);
hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags);
hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0);
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags);
hipError_t hipStreamGetPriority(hipStream_t stream, int *priority);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device);
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *data, unsigned flags);
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *data);
hipError_t hipStreamWaitValue32(hipStream_t stream, void *pointer, std::uint32_t value, unsigned flags,
                                std::uint32_t mask = 0xFFFFFFFF);
hipError_t hipStreamWaitValue64(hipStream_t stream, void *pointer, std::uint64_t value, unsigned flags,
                                std::uint64_t mask = 0xFFFFFFFFFFFFFFFF);
hipError_t hipStreamWriteValue32(hipStream_t stream, void *pointer, std::uint32_t value, unsigned flags);
hipError_t hipStreamWriteValue64(hipStream_t stream, void *pointer, std::uint64_t value, unsigned flags);
hipError_t hipExtStreamCreateWithCUMask(hipStream_t *stream, std::uint32_t count, const std::uint32_t *mask);
hipError_t hipExtStreamGetCUMask(hipStream_t stream, std::uint32_t count, std::uint32_t *mask);
hipError_t hipEventCreate(hipEvent_t *event);
hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop);

// Modules, functions, launches, occupancy.
hipError_t hipModuleLoad(hipModule_t *module, const char *path);
hipError_t hipModuleLoadData(hipModule_t *module, const void *image);
hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name);
hipError_t hipModuleGetGlobal(hipDeviceptr_t *pointer, std::size_t *size, hipModule_t module, const char *name);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                 hipStream_t stream, void **parameters, void **extra);
hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *function);
hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function);
hipError_t hipFuncSetAttribute(const void *function, hipFuncAttribute attribute, int value);
hipError_t hipFuncSetCacheConfig(const void *function, hipFuncCache_t config);
hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, std::size_t shared = 0,
                           hipStream_t stream = nullptr);
hipError_t hipLaunchKernelExC(const hipLaunchConfig_t *config, const void *function, void **arguments);
hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG *config, hipFunction_t function, void **arguments,
                                void **extra);
hipError_t hipLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, unsigned shared,
                                      hipStream_t stream);
hipError_t hipExtLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, std::size_t shared,
                              hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                        std::size_t shared);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                 std::size_t shared, unsigned flags);
hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function, std::size_t shared,
                                             int limit);

// Graphs.
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status);
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id);
hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus *status,
                                      unsigned long long *id = nullptr, hipGraph_t *graph = nullptr,
                                      const hipGraphNode_t **dependencies = nullptr, std::size_t *count = nullptr);
hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t *dependencies, std::size_t count,
                                              unsigned flags = 0);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode);
hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags);
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphClone(hipGraph_t *clone, hipGraph_t graph);
hipError_t hipGraphAddKernelNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                 std::size_t count, const hipKernelNodeParams *parameters);
hipError_t hipGraphAddMemcpyNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                 std::size_t count, const hipMemcpy3DParms *parameters);
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                   std::size_t count, void *to, const void *from, std::size_t size, hipMemcpyKind kind);
hipError_t hipGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                 std::size_t count, const hipMemsetParams *parameters);
hipError_t hipGraphAddHostNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                               std::size_t count, const hipHostNodeParams *parameters);
hipError_t hipGraphAddEmptyNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                std::size_t count);
hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                     std::size_t count, hipGraph_t child);
hipError_t hipGraphAddEventRecordNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                      std::size_t count, hipEvent_t event);
hipError_t hipGraphAddEventWaitNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                    std::size_t count, hipEvent_t event);
hipError_t hipGraphAddMemAllocNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                   std::size_t count, hipMemAllocNodeParams *parameters);
hipError_t hipGraphAddMemFreeNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                  std::size_t count, void *pointer);
hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node, hipMemAllocNodeParams *parameters);
hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void *pointer);
hipError_t hipDeviceGetGraphMemAttribute(int device, hipGraphMemAttributeType attribute, void *value);
hipError_t hipDeviceSetGraphMemAttribute(int device, hipGraphMemAttributeType attribute, void *value);
hipError_t hipDeviceGraphMemTrim(int device);
hipError_t hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                         std::size_t count, const void *symbol, const void *from, std::size_t size,
                                         std::size_t offset, hipMemcpyKind kind);
hipError_t hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies,
                                           std::size_t count, void *to, const void *symbol, std::size_t size,
                                           std::size_t offset, hipMemcpyKind kind);
hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                   std::size_t count);
hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                      std::size_t count);
hipError_t hipGraphDestroyNode(hipGraphNode_t node);
hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t *nodes, std::size_t *count);
hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t *nodes, std::size_t *count);
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams *parameters);
hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams *parameters);
hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms *parameters);
hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms *parameters);
hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void *to, const void *from, std::size_t size,
                                         hipMemcpyKind kind);
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams *parameters);
hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams *parameters);
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t *graph);
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, std::size_t *count);
hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t *nodes, std::size_t *count);
hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t *from, hipGraphNode_t *to, std::size_t *count);
hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type);
hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams *parameters);
hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams *parameters);
hipError_t hipGraphInstantiate(hipGraphExec_t *executable, hipGraph_t graph, hipGraphNode_t *failed, char *log,
                               std::size_t log_size);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *executable, hipGraph_t graph, unsigned long long flags);
hipError_t hipGraphUpload(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipGraphExecDestroy(hipGraphExec_t executable);
hipError_t hipGraphExecUpdate(hipGraphExec_t executable, hipGraph_t graph, hipGraphNode_t *failed,
                              hipGraphExecUpdateResult *result);
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                           const hipKernelNodeParams *parameters);
hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                           hipMemcpy3DParms *parameters);
hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t executable, hipGraphNode_t node, void *to, const void *from,
                                             std::size_t size, hipMemcpyKind kind);
hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                           const hipMemsetParams *parameters);
hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                         const hipHostNodeParams *parameters);
hipError_t hipGraphNodeSetEnabled(hipGraphExec_t executable, hipGraphNode_t node, unsigned enabled);
hipError_t hipGraphNodeGetEnabled(hipGraphExec_t executable, hipGraphNode_t node, unsigned *enabled);

// Called by a compiled kernel<<<grid, block, shared, stream>>>(...).
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, std::size_t *shared, hipStream_t *stream);
}
