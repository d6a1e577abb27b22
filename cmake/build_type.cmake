# SPDX-License-Identifier: MIT
# Without a build type CMake compiles without optimisation, and every program is about ten times slower.
get_property(lexformer_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT lexformer_multi_config AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CXX_FLAGS MATCHES "-O")
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release unless given" FORCE)
    message(STATUS "lexformer: no CMAKE_BUILD_TYPE was given: Release")
  else()
    message(WARNING "lexformer: CMAKE_BUILD_TYPE is not set, so nothing is optimised; configure with -DCMAKE_BUILD_TYPE=Release")
  endif()
endif()
