#!/bin/sh
# build.sh SITE-PACKAGES OUT [HEADERS]: builds OUT/libnullcuda.so, the functions of nullcuda.cpp and "success"
# for every other one that PyTorch asks for, OUT/libcuda.so.1, a driver that is only there, and the
# driver's management library. HEADERS holds CUDA's folder crt/, where SITE-PACKAGES does not; libraries
# named in NULLCUDA_ALSO may ask for functions too. README.md beside this file says how to run with it.
set -eu
site=$1
out=$2
here=$(dirname "$0")
include=$(ls -d "$site"/nvidia/cu[0-9]*/include | head -n 1)
crt=${3:-$include}
mkdir -p "$out"
stubs() {
    echo 'extern "C" {'
    sort -u | while read -r name; do
        grep -qE "[ *]$name\(" "$here/nullcuda.cpp" || echo "int $name() { return 0; }"
    done
    echo '}'
}
missing() { nm -D --undefined-only "$@" | grep -oE " $pattern" | tr -d ' @'; }
pattern='(__cuda|cuda|cublas)[A-Za-z0-9_]+@'
missing "$site/torch/lib/libtorch_cuda.so" "$site/torch/lib/libtorch_python.so" "$site/torch/lib/libc10_cuda.so" \
    ${NULLCUDA_ALSO:-} | stubs >"$out/stubs.cpp"
g++ -O1 -fPIC -shared -std=c++17 -I"$include" -I"$crt" -o "$out/libnullcuda.so" "$here/nullcuda.cpp" "$out/stubs.cpp"
pattern='cu[A-Z][A-Za-z0-9_]+'
# Triton asks the driver for some more, where PyTorch compiles.
triton='cuCtxGetDevice cuCtxGetLimit cuCtxSetLimit cuDriverGetVersion cuStreamIsCapturing'
{ missing "$site/torch/lib/libcaffe2_nvrtc.so"; printf '%s\n' $triton; } | stubs >"$out/driver.cpp"
g++ -O1 -fPIC -shared -Wl,-soname,libcuda.so.1 -o "$out/libcuda.so.1" "$out/driver.cpp"
# What libc10_cuda asks of the driver's management library before it maps memory: that there is none of a
# fabric between devices.
cat >"$out/management.cpp" <<'CODE'
extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) { *device = &nvmlInit_v2 ? (void*)1 : 0; return 0; }
int nvmlDeviceGetNvLinkRemoteDeviceType() { return 3; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2() { return 3; }
int nvmlDeviceGetComputeRunningProcesses() { return 3; }
int nvmlSystemGetCudaDriverVersion_v2() { return 3; }
int nvmlDeviceGetGpuFabricInfoV() { return 3; }
}
CODE
g++ -O1 -fPIC -shared -Wl,-soname,libnvidia-ml.so.1 -o "$out/libnvidia-ml.so.1" "$out/management.cpp"
