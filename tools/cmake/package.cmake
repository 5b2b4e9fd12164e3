# `tools/dev deb`: a Debian package by CPack: the command, its manual page and completions, the rule sets, both libraries and their headers.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME qrewrite)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the qrewrite developers <qrewrite@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "rewrites ONNX models by rules that are data")
set(CPACK_PACKAGE_DESCRIPTION
  "A rule file says what to find in an ONNX graph, under which conditions,
and what to put there. The package has the command, the shipped rule
sets, and the C++ library.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # what the programs and libraries need, from their symbols
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # what needs this library
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libprotobuf-dev, libfmt-dev, libre2-dev, libyaml-dev, zlib1g-dev, nlohmann-json3-dev, libeigen3-dev, libboost-graph-dev, pkg-config")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
