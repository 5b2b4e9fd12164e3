# The shipped rule sets become a part of the library as what reading and checking them makes (engine/rule/snapshot.h):
# `tools/snapshot`, a small program of the layers that read rules, writes them into one file.
function(qr_snapshots target source)
  if(CMAKE_CROSSCOMPILING)
    return()  # the program cannot be run here; rule sets are read and checked each time
  endif()
  add_executable(qrewrite_snapshot ${PROJECT_SOURCE_DIR}/tools/snapshot/main.cc)
  target_link_libraries(qrewrite_snapshot PRIVATE qrewrite_options)
  foreach(layer IN ITEMS base tensor expr graph ops text fold rule)
    target_link_libraries(qrewrite_snapshot PRIVATE qr_${layer})
  endforeach()
  file(GLOB rules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rules/*.yaml)
  set(out ${PROJECT_BINARY_DIR}/generated/rules.snapshots)
  add_custom_command(OUTPUT ${out} COMMAND qrewrite_snapshot ${out} ${rules} DEPENDS qrewrite_snapshot ${rules} VERBATIM)
  target_sources(${target} PRIVATE ${out})
  set_source_files_properties(${source} PROPERTIES
    COMPILE_DEFINITIONS "QREWRITE_SNAPSHOTS=\"${out}\"" OBJECT_DEPENDS ${out})
endfunction()
