#!/bin/sh
# gpu_check.sh [--plan FILE] [--seconds N] [--list]: runs training steps on the NVIDIA GPU of this machine and writes what
# they took as rows for `make accuracy`.
#
# It needs Python 3.10 with PyTorch, transformers, peft and accelerate (PYTHON names another than python3), this whole
# repository, and no network. It writes to $OUT, or target/gpu_check, goes on where it stopped, and takes at most eight
# minutes on an H100. docs/measurements.md says more. It exits with 0 when it is done or out of time, 1 when a run ended
# with an error, 2 when something is missing.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

python=${PYTHON:-python3}
command -v "$python" >/dev/null 2>&1 || {
    echo "gpu_check: there is no $python; PYTHON=… names one" >&2
    exit 2
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "gpu_check: Python 3.10 or newer is needed; PYTHON=… names another than $python" >&2
    exit 2
}

# Nothing is fetched, and no library starts threads, which a process that is copied must not have.
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Whether there is a GPU is then asked of the driver's library, which leaves copies of the process able to use it.
export PYTORCH_NVML_BASED_CUDA_CHECK=1
# What would change how PyTorch takes memory is each run's own.
unset PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF PYTORCH_NO_CUDA_MEMORY_CACHING PYTORCH_HIP_ALLOC_CONF
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore

exec "$python" "$here/gpu_check/gpu_check.py" "$@"
