# SPDX-License-Identifier: MIT
# The system's package first; a download only where there is none (FETCHCONTENT_FULLY_DISCONNECTED=ON forbids it).
include(FetchContent)

set(EIGEN_BUILD_DOC OFF)
set(EIGEN_BUILD_TESTING OFF)
set(JSON_Install ${LEXFORMER_INSTALL})
FetchContent_Declare(Eigen3
  URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
  URL_HASH SHA256=8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72
  DOWNLOAD_EXTRACT_TIMESTAMP OFF SYSTEM FIND_PACKAGE_ARGS 3.4)
FetchContent_Declare(nlohmann_json
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
  DOWNLOAD_EXTRACT_TIMESTAMP OFF SYSTEM FIND_PACKAGE_ARGS 3.11)
FetchContent_MakeAvailable(Eigen3 nlohmann_json)

find_package(Threads REQUIRED)
if(LEXFORMER_OPENMP)
  find_package(OpenMP COMPONENTS CXX)
  if(NOT OpenMP_CXX_FOUND)
    message(STATUS "lexformer: no OpenMP: everything runs on one thread")
  endif()
endif()

if(LEXFORMER_EXAMPLES OR LEXFORMER_BENCH)
  FetchContent_Declare(CLI11
    URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
    DOWNLOAD_EXTRACT_TIMESTAMP OFF SYSTEM FIND_PACKAGE_ARGS 2.1)
  FetchContent_MakeAvailable(CLI11)
endif()
if(LEXFORMER_TESTS)
  FetchContent_Declare(doctest
    URL https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz
    DOWNLOAD_EXTRACT_TIMESTAMP OFF SYSTEM FIND_PACKAGE_ARGS 2.4)
  FetchContent_MakeAvailable(doctest)
endif()
