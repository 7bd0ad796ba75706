// A CUDA runtime that computes nothing.
//
// It is preloaded into a Python process so that PyTorch's own CUDA code runs on a machine without a
// GPU: its dispatcher, its autocast lists, its kernels' workspaces and its caching allocator are the
// real ones. Only the bottom is missing: `cudaMalloc` hands out addresses that are never backed by
// memory, kernels are not launched, and what is read back from the device is zero, unless NULLCUDA_KEEP
// says how large a copy to it may be that comes back as it was. Sizes and lifetimes
// of tensors do not depend on values, so `torch.cuda.max_memory_allocated` and `max_memory_reserved`
// say what they would say on a GPU, for code whose shapes do not depend on computed values.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cublas_v2.h>
#include <cublasLt.h>

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

std::mutex guard;
std::map<uintptr_t, size_t> blocks;  // What cudaMalloc gave out.
std::map<uintptr_t, size_t> ranges;  // What cuMemAddressReserve gave out.
std::map<CUmemGenericAllocationHandle, size_t> physical;
std::map<const void*, std::string> kept;  // What small copies brought, where NULLCUDA_KEEP asks for it.
size_t used = 0;
thread_local int current = 0;
std::atomic<uintptr_t> next_handle{0x1000};

double setting(const char* name, double otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::atof(text) : otherwise;
}
size_t total() { return static_cast<size_t>(setting("NULLCUDA_MIB", 81049) * 1048576.0); }
// What the context takes before the first allocation.
size_t context() { return static_cast<size_t>(setting("NULLCUDA_CONTEXT_MIB", 0) * 1048576.0); }
int count() { return static_cast<int>(setting("NULLCUDA_DEVICES", 1)); }
int capability() { return static_cast<int>(setting("NULLCUDA_CAPABILITY", 80)); }
int multiprocessors() { return capability() >= 100 ? 148 : capability() >= 90 ? 132 : 108; }
int shared_memory() { return capability() >= 90 ? 232448 : 166912; }

template <class T> T handle() { return reinterpret_cast<T>(next_handle += 16); }

void* reserve(size_t size) {
    void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return address == MAP_FAILED ? nullptr : address;
}

bool inside(const std::map<uintptr_t, size_t>& all, const void* address) {
    auto place = all.upper_bound(reinterpret_cast<uintptr_t>(address));
    if (place == all.begin()) return false;
    --place;
    return reinterpret_cast<uintptr_t>(address) < place->first + place->second;
}
bool on_device(const void* address) {
    std::lock_guard<std::mutex> lock(guard);
    return inside(blocks, address) || inside(ranges, address);
}

cudaError_t allocate(void** out, size_t size) {
    const size_t page = 2u << 20;
    size = (size + page - 1) / page * page;
    std::lock_guard<std::mutex> lock(guard);
    if (used + size > total() - context()) return cudaErrorMemoryAllocation;
    void* address = reserve(size);
    if (!address) return cudaErrorMemoryAllocation;
    blocks[reinterpret_cast<uintptr_t>(address)] = size;
    used += size;
    *out = address;
    return cudaSuccess;
}
cudaError_t release(void* address) {
    std::lock_guard<std::mutex> lock(guard);
    auto place = blocks.find(reinterpret_cast<uintptr_t>(address));
    if (place == blocks.end()) return cudaSuccess;
    munmap(address, place->second);
    used -= place->second;
    blocks.erase(place);
    return cudaSuccess;
}
bool keeps(size_t size) { return size <= setting("NULLCUDA_KEEP", 0); }
void keep(const void* to, const void* from, size_t size) {
    std::lock_guard<std::mutex> lock(guard);
    kept[to] = std::string(static_cast<const char*>(from), size);
}
// What the host wrote there last, if it wrote as much, and zeros otherwise.
void read_back(void* to, const void* from, size_t size) {
    std::lock_guard<std::mutex> lock(guard);
    auto place = kept.find(from);
    if (place != kept.end() && place->second.size() == size) std::memcpy(to, place->second.data(), size);
    else std::memset(to, 0, size);
}
cudaError_t copy(void* to, const void* from, size_t size) {
    const bool here = on_device(from);
    if (on_device(to)) {
        if (!here && keeps(size)) keep(to, from, size);
        return cudaSuccess;
    }
    if (here) read_back(to, from, size);
    else std::memmove(to, from, size);
    return cudaSuccess;
}

}  // namespace

extern "C" {

// --- Devices ------------------------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int* n) { *n = count(); return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { *device = current; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { current = device; return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { *version = 13020; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { *version = 13020; return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "out of memory" : "no error"; }
const char* cudaGetErrorName(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaSuccess"; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int) {
    std::memset(prop, 0, sizeof *prop);
    std::strcpy(prop->name, "a GPU that computes nothing");
    prop->totalGlobalMem = total();
    prop->major = capability() / 10;
    prop->minor = capability() % 10;
    prop->multiProcessorCount = multiprocessors();
    prop->warpSize = 32;
    prop->maxThreadsPerBlock = 1024;
    prop->maxThreadsPerMultiProcessor = 2048;
    prop->maxBlocksPerMultiProcessor = 32;
    prop->sharedMemPerBlock = 49152;
    prop->sharedMemPerBlockOptin = shared_memory();
    prop->sharedMemPerMultiprocessor = shared_memory() + 1024;
    prop->regsPerBlock = 65536;
    prop->regsPerMultiprocessor = 65536;
    prop->l2CacheSize = 50 << 20;
    for (int i = 0; i < 3; i++) { prop->maxThreadsDim[i] = i < 2 ? 1024 : 64; prop->maxGridSize[i] = i ? 65535 : 2147483647; }
    prop->unifiedAddressing = 1;
    prop->managedMemory = 1;
    prop->concurrentKernels = 1;
    prop->memoryBusWidth = 5120;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxBlockDimX: case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = shared_memory(); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = shared_memory() + 1024; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxRegistersPerBlock: case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrMultiProcessorCount: *value = multiprocessors(); break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    case cudaDevAttrComputeCapabilityMajor: *value = capability() / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = capability() % 10; break;
    case cudaDevAttrL2CacheSize: *value = 50 << 20; break;
    case cudaDevAttrMemoryPoolsSupported: *value = 0; break;
    default: *value = 0;
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { *least = 0; *greatest = -5; return cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { *can = 0; return cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int) { std::strncpy(id, "0000:00:00.0", length); return cudaSuccess; }

// --- Memory -------------------------------------------------------------------------------------------

cudaError_t cudaMalloc(void** out, size_t size) { return allocate(out, size); }
cudaError_t cudaMallocAsync(void** out, size_t size, cudaStream_t) { return allocate(out, size); }
cudaError_t cudaMallocManaged(void** out, size_t size, unsigned) { return allocate(out, size); }
cudaError_t cudaFree(void* address) { return release(address); }
cudaError_t cudaFreeAsync(void* address, cudaStream_t) { return release(address); }
cudaError_t cudaMemGetInfo(size_t* free, size_t* all) {
    std::lock_guard<std::mutex> lock(guard);
    *all = total();
    *free = total() - context() - used;
    return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** out, size_t size, unsigned) {
    *out = mmap(nullptr, size ? size : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return *out == MAP_FAILED ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaMallocHost(void** out, size_t size) { return cudaHostAlloc(out, size, 0); }
cudaError_t cudaFreeHost(void*) { return cudaSuccess; }
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) { return copy(to, from, size); }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t) { return copy(to, from, size); }
cudaError_t cudaMemcpyPeerAsync(void*, int, const void*, int, size_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) { return cudaSuccess; }
cudaError_t cudaMemset(void* to, int value, size_t size) {
    if (!on_device(to)) std::memset(to, value, size);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t) { return cudaMemset(to, value, size); }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
    std::memset(attributes, 0, sizeof *attributes);
    attributes->type = on_device(address) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    attributes->devicePointer = const_cast<void*>(address);
    return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void** address, const void*) { return allocate(address, 1 << 20); }
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) { *pool = handle<cudaMemPool_t>(); return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) { std::memset(value, 0, 8); return cudaSuccess; }

// --- Streams and events -------------------------------------------------------------------------------

cudaError_t cudaStreamCreate(cudaStream_t* stream) { *stream = handle<cudaStream_t>(); return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) { *priority = 0; return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) { *status = cudaStreamCaptureStatusNone; return cudaSuccess; }
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t*, const cudaGraphNode_t**, const cudaGraphEdgeData**, size_t*) {
    *status = cudaStreamCaptureStatusNone;
    if (id) *id = 0;
    return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* event) { *event = handle<cudaEvent_t>(); return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) { *milliseconds = 1; return cudaSuccess; }

// --- Kernels ------------------------------------------------------------------------------------------

void** __cudaRegisterFatBinary(void*) { static void* nothing = nullptr; return &nothing; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void*) { return 0; }
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    *grid = dim3{1, 1, 1};
    *block = dim3{1, 1, 1};
    *shared = 0;
    *static_cast<void**>(stream) = nullptr;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    std::memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->maxDynamicSharedSizeBytes = shared_memory();
    attributes->ptxVersion = attributes->binaryVersion = capability();
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks_out, const void*, int, size_t) { *blocks_out = 2; return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks_out, const void*, int, size_t, unsigned) { *blocks_out = 2; return cudaSuccess; }

// --- cuBLAS -------------------------------------------------------------------------------------------

cublasStatus_t cublasCreate_v2(cublasHandle_t* out) { *out = handle<cublasHandle_t>(); return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetMathMode(cublasHandle_t, cublasMath_t* mode) { *mode = CUBLAS_DEFAULT_MATH; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t, cublasPointerMode_t* mode) { *mode = CUBLAS_POINTER_MODE_HOST; return CUBLAS_STATUS_SUCCESS; }
size_t cublasLtGetVersion() { return 130200; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* out) { *out = handle<cublasLtHandle_t>(); return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t, cudaDataType_t) { *out = handle<cublasLtMatmulDesc_t>(); return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType, uint64_t, uint64_t, int64_t) { *out = handle<cublasLtMatrixLayout_t>(); return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) { *out = handle<cublasLtMatmulPreference_t>(); return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int wanted, cublasLtMatmulHeuristicResult_t* results, int* found) {
    for (int i = 0; i < wanted; i++) { std::memset(&results[i], 0, sizeof results[i]); results[i].state = CUBLAS_STATUS_SUCCESS; }
    *found = wanted;
    return CUBLAS_STATUS_SUCCESS;
}

// --- Virtual memory, for expandable segments ----------------------------------------------------------

static CUresult null_address_reserve(CUdeviceptr* out, size_t size, size_t, CUdeviceptr, unsigned long long) {
    std::lock_guard<std::mutex> lock(guard);
    void* address = reserve(size);
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    ranges[reinterpret_cast<uintptr_t>(address)] = size;
    *out = reinterpret_cast<CUdeviceptr>(address);
    return CUDA_SUCCESS;
}
static CUresult null_address_free(CUdeviceptr address, size_t size) {
    std::lock_guard<std::mutex> lock(guard);
    munmap(reinterpret_cast<void*>(address), size);
    ranges.erase(address);
    return CUDA_SUCCESS;
}
static CUresult null_create(CUmemGenericAllocationHandle* out, size_t size, const CUmemAllocationProp*, unsigned long long) {
    std::lock_guard<std::mutex> lock(guard);
    if (used + size > total() - context()) return CUDA_ERROR_OUT_OF_MEMORY;
    used += size;
    *out = next_handle += 16;
    physical[*out] = size;
    return CUDA_SUCCESS;
}
static CUresult null_release(CUmemGenericAllocationHandle it) {
    std::lock_guard<std::mutex> lock(guard);
    auto place = physical.find(it);
    if (place != physical.end()) { used -= place->second; physical.erase(place); }
    return CUDA_SUCCESS;
}
static CUresult null_granularity(size_t* out, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) { *out = 2u << 20; return CUDA_SUCCESS; }
static CUresult null_error_string(CUresult, const char** out) { *out = "out of memory"; return CUDA_SUCCESS; }
static CUresult null_device_get(CUdevice* out, int ordinal) { *out = ordinal; return CUDA_SUCCESS; }
static CUresult null_primary_state(CUdevice, unsigned* flags, int* active) { *flags = 0; *active = 1; return CUDA_SUCCESS; }
static CUresult null_attribute(int* out, CUdevice_attribute attribute, CUdevice) {
    return static_cast<CUresult>(cudaDeviceGetAttribute(out, static_cast<cudaDeviceAttr>(attribute), 0));
}
static CUresult null_pointer_attribute(void* out, CUpointer_attribute, CUdeviceptr) { std::memset(out, 0, 4); return CUDA_SUCCESS; }
static CUresult nothing() { return CUDA_SUCCESS; }

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** out, unsigned, unsigned long long, cudaDriverEntryPointQueryResult* status) {
    const std::string name = symbol;
    void* found = reinterpret_cast<void*>(nothing);
    if (name == "cuMemAddressReserve") found = reinterpret_cast<void*>(null_address_reserve);
    else if (name == "cuMemAddressFree") found = reinterpret_cast<void*>(null_address_free);
    else if (name == "cuMemCreate") found = reinterpret_cast<void*>(null_create);
    else if (name == "cuMemRelease") found = reinterpret_cast<void*>(null_release);
    else if (name == "cuMemGetAllocationGranularity") found = reinterpret_cast<void*>(null_granularity);
    else if (name == "cuGetErrorString") found = reinterpret_cast<void*>(null_error_string);
    else if (name == "cuDeviceGet") found = reinterpret_cast<void*>(null_device_get);
    else if (name == "cuDevicePrimaryCtxGetState") found = reinterpret_cast<void*>(null_primary_state);
    else if (name == "cuDeviceGetAttribute") found = reinterpret_cast<void*>(null_attribute);
    else if (name == "cuPointerGetAttribute") found = reinterpret_cast<void*>(null_pointer_attribute);
    *out = found;
    if (status) *status = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}

}  // extern "C"
