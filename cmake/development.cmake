# SPDX-License-Identifier: MIT
# What concerns our own programs, tests and presets; a project that uses lexformer sees none of it.

# Warnings, private to our own targets.
add_library(lexformer_warnings INTERFACE)
target_compile_options(lexformer_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion -Wold-style-cast
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # g++ 12 warns of overlapping copies within std::string (GCC bug 105651)
  $<$<BOOL:${LEXFORMER_WERROR}>:-Werror>)
target_link_libraries(lexformer_compiled PRIVATE $<BUILD_INTERFACE:lexformer_warnings>)
target_link_libraries(lexformer_double PRIVATE $<BUILD_INTERFACE:lexformer_warnings>)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set_target_properties(lexformer_compiled lexformer_double PROPERTIES CXX_EXTENSIONS OFF)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  find_program(LEXFORMER_CCACHE ccache)
  if(LEXFORMER_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # Without these it does not store what is compiled with precompiled headers (programs/).
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${LEXFORMER_CCACHE})
    set_target_properties(lexformer_compiled lexformer_double PROPERTIES CXX_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endif()

# Every header as a translation unit of its own, included twice, with the bodies of its own functions only (core/compiled.hpp): so it must include
# all that it uses itself, and compiles in a third of the time. lexformer.hpp is compiled as a program sees it, with all bodies.
if(LEXFORMER_HEADER_CHECK)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/*.hpp)
  set(units "")
  foreach(header IN LISTS headers)
    string(MAKE_C_IDENTIFIER ${header} unit)
    set(bodies "#define LEXFORMER_COMPILED\n#include \"lexformer/core/compiled.hpp\"\n#undef LEXFORMER_BODIES\n#define LEXFORMER_BODIES (__INCLUDE_LEVEL__ == 1)\n")
    if(header STREQUAL "lexformer/lexformer.hpp")
      set(bodies "")
    endif()
    file(CONFIGURE OUTPUT headers/${unit}.cpp CONTENT "${bodies}#include \"${header}\"\n#include \"${header}\"\n" @ONLY)
    list(APPEND units ${PROJECT_BINARY_DIR}/headers/${unit}.cpp)
  endforeach()
  add_library(headers OBJECT ${units})
  target_link_libraries(headers PRIVATE lexformer $<$<BOOL:${LEXFORMER_NATIVE}>:lexformer_native> lexformer_warnings)
endif()

# All programs as one unit, each in a namespace behind the headers of all of them, and the library's files but the products as another: alone,
# each would parse and check the same headers again. The analyzer follows paths only in the file that is compiled itself, so not in what those
# units include.
if(LEXFORMER_TIDY)
  find_program(LEXFORMER_CLANG_TIDY clang-tidy REQUIRED)
  set(tidy ${LEXFORMER_CLANG_TIDY} --quiet --config-file=${PROJECT_SOURCE_DIR}/.clang-tidy
           --header-filter=${PROJECT_SOURCE_DIR}/.*)
  if(LEXFORMER_WERROR)
    list(APPEND tidy --warnings-as-errors=*)
  endif()
  # Writes OUTPUT.cpp: the named sources, each in its own namespace, after what all of them include.
  function(write_unit output before)
    set(includes "")
    set(bodies "")
    foreach(source IN LISTS ARGN)
      file(STRINGS ${source} lines REGEX "^#include")
      list(APPEND includes ${lines})
      get_filename_component(name ${source} NAME_WE)
      string(APPEND bodies "namespace unit_${name} {\n#include \"${source}\"  // NOLINT\n}\n")
    endforeach()
    list(REMOVE_DUPLICATES includes)
    list(JOIN includes "\n" includes)
    file(CONFIGURE OUTPUT ${output}.cpp CONTENT "${before}\n${includes}\n${bodies}" @ONLY)
  endfunction()
  file(GLOB programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/programs/*/*.cpp ${PROJECT_SOURCE_DIR}/examples/*.cpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${programs})
  set(shared ${programs})
  list(FILTER shared INCLUDE REGEX "/cli/")
  list(FILTER programs EXCLUDE REGEX "/cli/")
  # A main in a namespace is a function like any other, which has to return something.
  write_unit(programs "#pragma clang diagnostic ignored \"-Wreturn-type\"" ${programs})
  get_target_property(sources lexformer_compiled SOURCES)
  set(products ${sources})
  list(FILTER products INCLUDE REGEX "products")
  list(FILTER sources EXCLUDE REGEX "products|bodies")
  # `extern template` has to come before what it refers to.
  set(library "#define LEXFORMER_DISPATCH\n#include \"lexformer/lexformer.hpp\"\n#define LEXFORMER_COMPILED\n#include \"lexformer/bfloat16.hpp\"\n")
  foreach(source IN LISTS sources)
    string(APPEND library "#include \"${PROJECT_SOURCE_DIR}/${source}\"  // NOLINT\n")
  endforeach()
  file(CONFIGURE OUTPUT library.cpp CONTENT "${library}" @ONLY)
  # What defines members of the namespace `program` stands in no other namespace.
  add_library(tidy OBJECT ${PROJECT_BINARY_DIR}/programs.cpp ${shared} programs/main.cpp ${PROJECT_BINARY_DIR}/library.cpp ${products})
  target_link_libraries(tidy PRIVATE lexformer lexformer_warnings CLI11::CLI11)
  target_include_directories(tidy PRIVATE programs)
  set_source_files_properties(${PROJECT_BINARY_DIR}/programs.cpp PROPERTIES COMPILE_DEFINITIONS LEXFORMER_COMPILED)
  set_target_properties(tidy PROPERTIES CXX_CLANG_TIDY "${tidy}")
endif()

if(CMAKE_CXX_FLAGS_DEBUG MATCHES "--coverage")
  # A filter holds from where gcovr runs.
  add_custom_target(coverage COMMAND gcovr --filter include/ --print-summary ${PROJECT_BINARY_DIR}
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
