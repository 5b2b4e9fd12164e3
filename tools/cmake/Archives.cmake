# The command is started for one small model as often as for a large one, and half of its start was
# the linking of protobuf. So it takes protobuf, re2 and libyaml from their archives where they stand
# beside the shared libraries. The libraries qrewrite do not: they need not start fast, distributions
# do not promise that archives are position-independent, and a program has a protobuf of its own.
option(QREWRITE_ARCHIVES "link the command with the archives of protobuf, re2 and libyaml, where there are some" ON)

# Makes `target`, which is imported, give the archive of `library` (a target, or a path in its link
# interface) to executables whose property QREWRITE_ARCHIVES is set.
function(qr_prefer_archive target library)
  if(NOT QREWRITE_ARCHIVES OR NOT TARGET ${target})
    return()
  endif()
  set(path ${library})
  if(TARGET ${library})
    get_target_property(path ${library} LOCATION)
  endif()
  cmake_path(REPLACE_EXTENSION path LAST_ONLY .a OUTPUT_VARIABLE archive)
  get_target_property(items ${target} INTERFACE_LINK_LIBRARIES)
  if(NOT items OR NOT library IN_LIST items OR NOT path MATCHES "\\.so$" OR NOT EXISTS ${archive})
    return()
  endif()
  list(TRANSFORM items REPLACE "^${library}$"
    "$<IF:$<BOOL:$<TARGET_PROPERTY:QREWRITE_ARCHIVES>>,${archive},${library}>")
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${items}")
endfunction()
