# SPDX-License-Identifier: MIT
# The functions of the headers that are not templates (core/compiled.hpp), compiled in units of whole folders, so that several cores share
# them. A unit declares what its folders may include (tests/house/test_floors.py) and has the bodies of its own.
set(umbrellas "")
foreach(name IN ITEMS lexformer words tables noise metrics knowledge)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS include/lexformer/${name}.hpp)
  file(STRINGS include/lexformer/${name}.hpp lines REGEX "^#include \"lexformer/[a-z]+/")
  list(APPEND umbrellas ${lines})
endforeach()
set(declared "")
foreach(folders IN ITEMS "core|kernels|autograd|ops|text" "io" "nn|noise|knowledge|metrics|data" "attention|models|words" "train|tables")
  set(own ${umbrellas})
  list(FILTER own INCLUDE REGEX "lexformer/(${folders})/")
  if(folders STREQUAL "io")
    list(PREPEND own "#include \"lexformer/io/json.hpp\"")  # in no umbrella, but included by bodies of several units
  endif()
  list(JOIN own "\n" own)
  string(REGEX MATCH "[a-z]+$" name ${folders})
  set(unit ${PROJECT_BINARY_DIR}/bodies/bodies_${name}.cpp)
  file(CONFIGURE OUTPUT ${unit} @ONLY CONTENT "#define LEXFORMER_COMPILED
#define LEXFORMER_DISPATCH  // the matrix products are in src/products*.cpp
#define LEXFORMER_INLINE
#include \"lexformer/core/compiled.hpp\"
${declared}#undef LEXFORMER_BODIES
#define LEXFORMER_BODIES 1
${own}
")
  string(APPEND declared "${own}\n")
endforeach()
