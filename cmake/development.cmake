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
    # It stores what is compiled with precompiled headers only with this sloppiness. By dependencies: a precompiled header of which a comment has
    # changed since is not the same, but its preprocessed text is.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${LEXFORMER_CCACHE})
    set_target_properties(lexformer_compiled lexformer_double PROPERTIES CXX_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endif()

# Writes FILE: the text BEFORE, what the sources (the other arguments) include, and each source in its own namespace. One unit parses headers and
# instantiates templates once for all of them.
function(lexformer_write_unit file before)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
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
  file(CONFIGURE OUTPUT ${file} CONTENT "${before}\n${includes}\n${bodies}" @ONLY)
endfunction()

# With these, ccache stores what is compiled with a precompiled header.
set(lexformer_precompiled_flags $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")

# What our own programs have in common. All kernels are in the library (tests/programs/test_objects.py), so -O1, which compiles in two thirds of
# the time, is as fast. lexformer.hpp is parsed once for all of them (target_precompile_headers REUSE_FROM).
add_library(lexformer_program_options INTERFACE)
target_link_libraries(lexformer_program_options INTERFACE lexformer::compiled lexformer_warnings)
target_compile_options(lexformer_program_options INTERFACE $<$<CONFIG:Release>:-O1> ${lexformer_precompiled_flags})
file(CONFIGURE OUTPUT precompiled.cpp CONTENT "")
add_library(lexformer_precompiled OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cpp)
target_link_libraries(lexformer_precompiled PRIVATE lexformer_program_options)
target_precompile_headers(lexformer_precompiled PRIVATE <lexformer/lexformer.hpp> <lexformer/words.hpp> <lexformer/tables.hpp>
                          <lexformer/noise.hpp> <lexformer/metrics.hpp> <lexformer/knowledge.hpp>)

# Every header as a translation unit of its own, included twice, with the bodies of its own functions only (core/compiled.hpp): so it must include
# all that it uses itself. lexformer.hpp is compiled as a program sees it, with all bodies. Most of the time would go to what many headers include:
# one that includes a hub starts from the precompiled hub, in which there is nothing that the header does not include itself.
if(LEXFORMER_HEADER_CHECK)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/*.hpp)
  list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/include/ OUTPUT_VARIABLE paths)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${paths})
  # Sets included_HEADER to our headers that it includes, directly or not, outside bodies.
  function(find_included header)
    if(DEFINED included_${header})
      return()
    endif()
    file(READ ${PROJECT_SOURCE_DIR}/include/${header} text)
    string(REGEX REPLACE "\n#if LEXFORMER_BODIES.*" "" text "${text}")
    string(REGEX MATCHALL "\n#include \"lexformer/[^\"]+" direct "${text}")
    list(TRANSFORM direct REPLACE "\n#include \"" "")
    set(found ${direct})
    foreach(other IN LISTS direct)
      find_included(${other})
      list(APPEND found ${included_${other}})
      set(included_${other} "${included_${other}}" PARENT_SCOPE)
    endforeach()
    list(REMOVE_DUPLICATES found)
    set(included_${header} "${found}" PARENT_SCOPE)
  endfunction()
  set(compiled "#define LEXFORMER_COMPILED\n#include \"lexformer/core/compiled.hpp\"\n")
  add_custom_target(headers)
  set(hubs attention/term_factory autograd/var text/vocabulary core/tensor core/error none)  # a header takes the first that it includes
  foreach(hub IN LISTS hubs)
    set(units_${hub} "")
  endforeach()
  foreach(header IN LISTS headers)
    string(MAKE_C_IDENTIFIER ${header} unit)
    set(before "${compiled}#undef LEXFORMER_BODIES\n#define LEXFORMER_BODIES (__INCLUDE_LEVEL__ == 1)\n")
    set(included "")
    if(header STREQUAL "lexformer/lexformer.hpp")
      set(before "")
    else()
      find_included(${header})
      set(included ${included_${header}})
    endif()
    file(CONFIGURE OUTPUT headers/${unit}.cpp CONTENT "${before}#include \"${header}\"\n#include \"${header}\"\n" @ONLY)
    foreach(hub IN LISTS hubs)
      if("lexformer/${hub}.hpp" IN_LIST included OR hub STREQUAL "none")
        list(APPEND units_${hub} ${PROJECT_BINARY_DIR}/headers/${unit}.cpp)
        break()
      endif()
    endforeach()
  endforeach()
  foreach(hub IN LISTS hubs)
    string(MAKE_C_IDENTIFIER headers_${hub} target)
    add_library(${target} OBJECT ${units_${hub}})
    target_link_libraries(${target} PRIVATE ${lexformer_headers} lexformer_warnings)
    if(NOT hub STREQUAL "none")
      file(CONFIGURE OUTPUT headers/${target}.hpp CONTENT "${compiled}#include \"lexformer/${hub}.hpp\"\n" @ONLY)
      target_precompile_headers(${target} PRIVATE ${PROJECT_BINARY_DIR}/headers/${target}.hpp)
    endif()
    add_dependencies(headers ${target})
  endforeach()
endif()

# Few units, as each would parse and check the same headers again: all commands and examples, each in a namespace behind the headers of all of
# them; what commands have in common; the library's files but the products. The analyzer follows paths only in the file that is compiled itself,
# so not in what those units include.
if(LEXFORMER_TIDY)
  find_program(LEXFORMER_CLANG_TIDY clang-tidy REQUIRED)
  set(tidy ${LEXFORMER_CLANG_TIDY} --quiet --config-file=${PROJECT_SOURCE_DIR}/.clang-tidy
           --header-filter=${PROJECT_SOURCE_DIR}/.*)
  if(LEXFORMER_WERROR)
    list(APPEND tidy --warnings-as-errors=*)
  endif()
  file(GLOB programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/programs/*/*.cpp ${PROJECT_SOURCE_DIR}/examples/*.cpp)
  set(shared ${programs} ${PROJECT_SOURCE_DIR}/programs/main.cpp)
  list(FILTER shared INCLUDE REGEX "/(cli/.*|main\\.cpp)$")
  list(FILTER programs EXCLUDE REGEX "/cli/")
  # A main in a namespace is a function like any other, which has to return something.
  lexformer_write_unit(${PROJECT_BINARY_DIR}/programs.cpp "#pragma clang diagnostic ignored \"-Wreturn-type\"" ${programs})
  function(write_plain_unit file before)  # not in namespaces
    list(TRANSFORM ARGN REPLACE "(.+)" "#include \"\\1\"  // NOLINT" OUTPUT_VARIABLE includes)
    list(JOIN includes "\n" includes)
    file(CONFIGURE OUTPUT ${file} CONTENT "${before}${includes}\n" @ONLY)
  endfunction()
  write_plain_unit(support.cpp "" ${shared})
  get_target_property(sources lexformer_compiled SOURCES)
  set(products ${sources})
  list(FILTER products INCLUDE REGEX "products")
  list(FILTER products EXCLUDE REGEX "_vnni")  # the code of avx2 and avx512 with another instruction
  list(FILTER sources EXCLUDE REGEX "products|bodies")
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
  # `extern template` has to come before what it refers to.
  write_plain_unit(library.cpp "#define LEXFORMER_DISPATCH\n#include \"lexformer/lexformer.hpp\"\n#define LEXFORMER_COMPILED\n#include \"lexformer/bfloat16.hpp\"\n"
                   ${sources})
  add_library(tidy_units OBJECT ${PROJECT_BINARY_DIR}/programs.cpp ${PROJECT_BINARY_DIR}/library.cpp ${products})
  add_library(tidy_support OBJECT ${PROJECT_BINARY_DIR}/support.cpp)
  add_custom_target(tidy)
  add_dependencies(tidy tidy_units tidy_support)
  foreach(target tidy_units tidy_support)
    target_link_libraries(${target} PRIVATE lexformer lexformer_warnings CLI11::CLI11)
    target_include_directories(${target} PRIVATE programs)
    target_compile_options(${target} PRIVATE -fsyntax-only)  # CMake compiles what clang-tidy has checked
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${tidy}")
  endforeach()
  # With CLI11 this check takes as long as all others.
  set_property(TARGET tidy_support APPEND PROPERTY CXX_CLANG_TIDY --checks=-performance-unnecessary-value-param)
  set_source_files_properties(${PROJECT_BINARY_DIR}/programs.cpp ${PROJECT_BINARY_DIR}/support.cpp PROPERTIES COMPILE_DEFINITIONS LEXFORMER_COMPILED)
endif()

if(CMAKE_CXX_FLAGS_DEBUG MATCHES "--coverage")
  # A filter holds from where gcovr runs.
  add_custom_target(coverage COMMAND gcovr --filter include/ --print-summary ${PROJECT_BINARY_DIR}
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
