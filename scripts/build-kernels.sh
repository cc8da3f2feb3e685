#!/usr/bin/env bash
# Rebuilds the PTX beside every .cu file, for the architecture and PTX version that the targets name.
# Needs python3; the compiler comes from PyPI into target/cuda.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=target/cuda
if [ ! -x "$venv/bin/pip" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q 'nvidia-cuda-nvcc==13.0.*' 'nvidia-nvvm==13.0.*' 'nvidia-cuda-crt==13.0.*' \
        'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*'
fi
nvcc=$(find "$PWD/$venv" -path '*/bin/nvcc')

# from the repository's root, so that no path of the machine ends in a file
git ls-files -co --exclude-standard '*.cu' | while read -r source; do
    echo "$source"
    "$nvcc" -std=c++17 -O3 -arch=sm_90a -ptx -o "${source%.cu}.ptx" "$source"
done
