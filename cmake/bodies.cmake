# SPDX-License-Identifier: MIT
# The functions of lexformer.hpp that are not templates (core/compiled.hpp), compiled in units of whole folders, so that several cores share
# them. A unit declares what its folders may include (tests/house/test_floors.py) and has the bodies of its own.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS include/lexformer/lexformer.hpp)
set(declared "")
foreach(folders IN ITEMS "core|kernels|autograd|ops|nn|text" "io" "data" "attention|models|train")
  file(STRINGS include/lexformer/lexformer.hpp own REGEX "^#include \"lexformer/(${folders})/")
  if(folders STREQUAL "io")
    list(PREPEND own "#include \"lexformer/io/json.hpp\"")  # not in lexformer.hpp, but included by bodies of several units
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
