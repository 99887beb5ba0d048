# Finds nvcc 13: the system's toolkit, or the one that `tools/setup cuda` puts into
# build/cuda-toolkit (Debian 12's own is too old for C++20 and Hopper).
if(NOT CMAKE_CUDA_COMPILER)
  find_program(DELTASERVE_NVCC nvcc
    HINTS ${CMAKE_SOURCE_DIR}/build/cuda-toolkit/bin $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
  if(NOT DELTASERVE_NVCC)
    message(FATAL_ERROR "The cuda presets need nvcc 13, which was not found: run tools/setup cuda")
  endif()
  set(CMAKE_CUDA_COMPILER ${DELTASERVE_NVCC})
endif()
set(CMAKE_CUDA_ARCHITECTURES 90a-real CACHE STRING "Compute capabilities to build kernels for")
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # CMake 3.25 knows none for nvcc 13
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "nvcc ${CMAKE_CUDA_COMPILER_VERSION} is too old, 13.0 is needed: run tools/setup cuda")
endif()
# CMake 3.25.1 gives this target a property without asking whether there is one; CUDA 13 has none.
if(NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(CUDAToolkit 13 REQUIRED)
