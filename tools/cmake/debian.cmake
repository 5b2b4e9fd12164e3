# What a Debian package has beside the files of `cmake --install`: run by CPack when these are in their places.
set(tree ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})
set(doc ${tree}/share/doc/${CPACK_PACKAGE_NAME})
file(MAKE_DIRECTORY ${doc})
file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: qrewrite

Files: *
Copyright: © the qrewrite developers
License: Apache-2.0

Files: ${CPACK_PACKAGING_INSTALL_PREFIX}/lib/qrewrite/onnx/*
Copyright: © ONNX Project Contributors
License: Apache-2.0
Comment: The library of onnx is linked into the command and the libraries, too.

License: Apache-2.0
 On Debian systems, the full text of the Apache License, version 2.0, is in /usr/share/common-licenses/Apache-2.0.
")
configure_file(${CMAKE_CURRENT_LIST_DIR}/../../docs/CHANGELOG.md ${doc}/NEWS COPYONLY)
string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What changed is in NEWS.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${today}
")
file(GLOB pages ${tree}/share/man/man1/*.1)
execute_process(COMMAND gzip -9nf ${pages} ${doc}/changelog ${doc}/NEWS COMMAND_ERROR_IS_FATAL ANY)
file(CHMOD_RECURSE ${doc} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
  DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
