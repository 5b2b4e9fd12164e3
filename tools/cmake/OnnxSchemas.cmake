# qr_onnx_schemas(FILE): writes the list of all operator schemas that the onnx library holds, taken
# from the headers that declare them: `QR_SCHEMA(domain macro, operator, since version)` a line.
function(qr_onnx_schemas file)
  get_target_property(include_dirs ONNX::onnx INTERFACE_INCLUDE_DIRECTORIES)
  set(lines "")
  foreach(header operator_sets operator_sets_ml operator_sets_preview)
    find_file(QREWRITE_ONNX_${header} onnx/defs/${header}.h PATHS ${include_dirs} NO_DEFAULT_PATH REQUIRED)
    mark_as_advanced(QREWRITE_ONNX_${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${QREWRITE_ONNX_${header}})
    file(STRINGS ${QREWRITE_ONNX_${header}} classes REGEX "^class ONNX_")
    foreach(class IN LISTS classes)
      string(REGEX REPLACE "^class ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME\\((.*)\\).*$" "QR_SCHEMA(\\1)" class "${class}")
      string(REGEX REPLACE "^class ONNX_PREVIEW_OPERATOR_SET_SCHEMA_CLASS_NAME\\((.*)\\).*$"
        "QR_SCHEMA(OnnxPreview, \\1)" class "${class}")
      string(APPEND lines "${class}\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${lines}" @ONLY)
endfunction()
