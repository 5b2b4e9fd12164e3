# `cmake --install`: the library, its headers, the command, the rule sets, and a package file for
# find_package(qrewrite).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/qrewrite)
install(TARGETS qrewrite_lib EXPORT qrewriteTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET qrewrite_shared)
  install(TARGETS qrewrite_shared EXPORT qrewriteSharedTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT qrewriteSharedTargets NAMESPACE qrewrite:: DESTINATION ${package_dir})
  set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH QREWRITE_PC_PREFIX /prefix/${pkgconfig_dir} /prefix)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/qrewrite.pc.in ${PROJECT_BINARY_DIR}/qrewrite.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/qrewrite.pc DESTINATION ${pkgconfig_dir})
endif()
if(TARGET qrewrite)
  install(TARGETS qrewrite RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # The program writes its manual page and completions itself, when it is installed.
  install(CODE "
    function(write path)
      cmake_path(GET path PARENT_PATH folder)
      file(MAKE_DIRECTORY \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${folder})
      execute_process(COMMAND $<TARGET_FILE:qrewrite> \${ARGN}
        OUTPUT_FILE \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${path} COMMAND_ERROR_IS_FATAL ANY)
    endfunction()
    write(${CMAKE_INSTALL_MANDIR}/man1/qrewrite.1 man)
    write(${CMAKE_INSTALL_DATADIR}/bash-completion/completions/qrewrite completion bash)
    write(${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions/_qrewrite completion zsh)
    write(${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/qrewrite.fish completion fish)")
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/qrewrite DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/rules/ DESTINATION ${CMAKE_INSTALL_DATADIR}/qrewrite/rules)

# A static library needs its dependencies again when a program is linked. Distributions do not have
# this onnx, so the one that was linked goes along, in a folder of ours.
get_filename_component(onnx_prefix "${ONNX_DIR}/../../.." ABSOLUTE)
set(bundled_onnx_dir ${CMAKE_INSTALL_LIBDIR}/qrewrite/onnx)
if(ONNX_DIR MATCHES "/lib/cmake/ONNX$" AND NOT onnx_prefix MATCHES "^/usr(/local)?$")
  install(DIRECTORY ${onnx_prefix}/lib DESTINATION ${bundled_onnx_dir})
  file(GLOB_RECURSE onnx_headers RELATIVE ${onnx_prefix} ${onnx_prefix}/include/*)  # it has many empty folders
  foreach(header IN LISTS onnx_headers)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${onnx_prefix}/${header} DESTINATION ${bundled_onnx_dir}/${folder})
  endforeach()
endif()

install(EXPORT qrewriteTargets NAMESPACE qrewrite:: DESTINATION ${package_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/qrewriteConfig.cmake.in ${PROJECT_BINARY_DIR}/qrewriteConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS bundled_onnx_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/qrewriteConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/qrewriteConfig.cmake ${PROJECT_BINARY_DIR}/qrewriteConfigVersion.cmake
  DESTINATION ${package_dir})
