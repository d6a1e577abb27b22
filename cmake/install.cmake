# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lexformer)
install(DIRECTORY include/lexformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(TARGETS lexformer lexformer_native EXPORT lexformerTargets)
install(EXPORT lexformerTargets NAMESPACE lexformer:: DESTINATION ${package_dir})
if(LEXFORMER_INSTALL_COMPILED)
  install(TARGETS lexformer_compiled lexformer_double lexformer_cuda EXPORT lexformerCompiledTargets)
  install(EXPORT lexformerCompiledTargets NAMESPACE lexformer:: DESTINATION ${package_dir})
endif()
if(LEXFORMER_INSTALL_PROGRAMS)
  if(NOT LEXFORMER_PROGRAMS)
    message(FATAL_ERROR "lexformer: LEXFORMER_INSTALL_PROGRAMS needs LEXFORMER_PROGRAMS=ON")
  endif()
  install(PROGRAMS $<TARGET_FILE:lexformer_program> TYPE BIN RENAME lexformer)
  # The converter is a script and a package beside it; the command is a link to the script.
  install(PROGRAMS tools/convert_hf.py DESTINATION ${CMAKE_INSTALL_DATADIR}/lexformer)
  install(DIRECTORY tools/convert DESTINATION ${CMAKE_INSTALL_DATADIR}/lexformer FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
  file(RELATIVE_PATH converter /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_DATADIR}/lexformer/convert_hf.py)
  file(CREATE_LINK ${converter} ${CMAKE_CURRENT_BINARY_DIR}/lexformer-convert_hf SYMBOLIC)
  install(PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/lexformer-convert_hf TYPE BIN)
  if(NOT CMAKE_CROSSCOMPILING)  # the program writes its manual pages and its completion
    install(CODE "execute_process(COMMAND \"$<TARGET_FILE:lexformer_program>\" help --write \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\" COMMAND_ERROR_IS_FATAL ANY)")
  endif()
endif()
# `install` builds only what it installs; the headers alone need no build.
if(PROJECT_IS_TOP_LEVEL AND NOT LEXFORMER_INSTALL_COMPILED AND NOT LEXFORMER_INSTALL_PROGRAMS)
  set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
endif()

configure_package_config_file(cmake/lexformerConfig.cmake.in lexformerConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(lexformerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lexformerConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/lexformerConfigVersion.cmake
        DESTINATION ${package_dir})

configure_file(cmake/lexformer.pc.in lexformer.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lexformer.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
install(FILES LICENSE THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
