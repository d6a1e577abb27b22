# SPDX-License-Identifier: MIT
# Headers of others: a target that the including project has, else the system's package, else a download
# (FETCHCONTENT_FULLY_DISCONNECTED=ON forbids that). A download is unpacked only, its own build is not run.
include(FetchContent)

function(lexformer_dependency target package version folder url sha256)
  if(TARGET ${target})
    return()
  endif()
  FetchContent_Declare(${package} URL ${url} URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP OFF
                       SOURCE_SUBDIR unpack-only FIND_PACKAGE_ARGS ${version})
  FetchContent_MakeAvailable(${package})
  if(NOT TARGET ${target})
    string(TOLOWER ${package} name)
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} SYSTEM INTERFACE ${${name}_SOURCE_DIR}/${folder})
  endif()
endfunction()

lexformer_dependency(Eigen3::Eigen Eigen3 3.4 .
  https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
  8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72)
lexformer_dependency(nlohmann_json::nlohmann_json nlohmann_json 3.11 include
  https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
if(LEXFORMER_PROGRAMS OR LEXFORMER_BENCH OR LEXFORMER_TIDY)
  lexformer_dependency(CLI11::CLI11 CLI11 2.1 include
    https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
    f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)
endif()
if(LEXFORMER_TESTS)
  lexformer_dependency(doctest::doctest doctest 2.4 .
    https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz
    632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186)
endif()

find_package(Threads REQUIRED)
