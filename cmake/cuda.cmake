# SPDX-License-Identifier: MIT
# lexformer::cuda: what include/lexformer/kernels/cuda.hpp declares. With LEXFORMER_CUDA the kernels of cuda/ and compiled models of the
# device, and LEXFORMER_WITH_CUDA is defined for what links them; else functions that throw an error, so that code for the device links either
# way.
if(NOT LEXFORMER_CUDA)
  add_library(lexformer_cuda STATIC cuda/stub.cpp)
  target_link_libraries(lexformer_cuda PRIVATE $<BUILD_INTERFACE:lexformer_warnings>)
else()
  find_program(lexformer_nvcc nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(lexformer_nvcc AND NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(CMAKE_CUDA_COMPILER ${lexformer_nvcc})
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # code for A100 and H100, and PTX for what comes after
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit 12 REQUIRED)
  file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cuda/*.cu)
  add_library(lexformer_cuda STATIC ${kernels} src/compiled_cuda.cpp)
  # The functions of the CPU are those of lexformer::compiled: of two definitions the linker would take either.
  target_link_libraries(lexformer_cuda PUBLIC lexformer_compiled CUDA::cudart_static CUDA::cublas CUDA::cublasLt)
  target_compile_definitions(lexformer_cuda INTERFACE LEXFORMER_WITH_CUDA)
  # CMake 3.25 does not know nvcc's flag for C++20. Kernels call constexpr functions of std: std::array's, std::bit_cast.
  set(lexformer_nvcc_options
      "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra$<$<BOOL:${LEXFORMER_WERROR}>:;-Werror=all-warnings>>")
  target_compile_options(lexformer_cuda PRIVATE ${lexformer_nvcc_options})
endif()
add_library(lexformer::cuda ALIAS lexformer_cuda)
set_target_properties(lexformer_cuda PROPERTIES EXPORT_NAME cuda POSITION_INDEPENDENT_CODE ON)
target_link_libraries(lexformer_cuda PUBLIC ${lexformer_headers})
if(NOT (LEXFORMER_INSTALL AND LEXFORMER_INSTALL_COMPILED))
  set_target_properties(lexformer_cuda PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

if(LEXFORMER_CUDA AND PROJECT_IS_TOP_LEVEL)
  add_executable(cuda_square cuda/example/main.cpp cuda/example/square.cu)
  target_link_libraries(cuda_square PRIVATE lexformer::cuda)
  target_compile_options(cuda_square PRIVATE ${lexformer_nvcc_options})
  enable_testing()
  add_test(NAME cuda_device.square COMMAND cuda_square)
  set_tests_properties(cuda_device.square PROPERTIES LABELS cuda_device PASS_REGULAR_EXPRESSION "^1 4 9 16|no device found")
endif()
