# What `pip install .` does before anything is configured: the onnx library, and on Debian the packages
# that are missing, come from `tools/dev onnx`, into the same cache. ccache serves as it does there.
set(QREWRITE_TESTS OFF)
find_program(QREWRITE_CCACHE ccache)
if(QREWRITE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${CMAKE_CURRENT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${QREWRITE_CCACHE})
endif()
# scikit-build-core names the compiler as the build of the Python did, mostly g++. ccache tells names apart, and the
# builds of tools/dev have c++.
find_program(QREWRITE_CXX c++)
find_program(QREWRITE_PYTHONS_CXX NAMES $ENV{CXX})
if(QREWRITE_CXX AND QREWRITE_PYTHONS_CXX)
  file(REAL_PATH ${QREWRITE_CXX} ours)
  file(REAL_PATH ${QREWRITE_PYTHONS_CXX} theirs)
  if(ours STREQUAL theirs)
    set(ENV{CXX} ${QREWRITE_CXX})
  endif()
endif()
if(NOT DEFINED ONNX_DIR)
  set(ENV{QREWRITE_PIP_PYTHON} ${Python_EXECUTABLE})
  execute_process(COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/dev onnx RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "`tools/dev onnx` failed; what it printed is above")
  endif()
endif()
