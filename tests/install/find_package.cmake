# Installs the build into an empty prefix, then builds and runs the README's C++ example and those of
# docs/embedding.md against it, with the static and with the shared library:
#   cmake -DBUILD_DIR=... -DSOURCE_DIR=... -P find_package.cmake
cmake_minimum_required(VERSION 3.25)

set(work ${BUILD_DIR}/install_test)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/project ${work}/run)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output
    WORKING_DIRECTORY ${work}/run)
  if(failed)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# The first C++ block of the README that is a whole program.
file(READ ${SOURCE_DIR}/README.md readme)
string(FIND "${readme}" "```cpp\n" begin)
while(NOT begin EQUAL -1)
  math(EXPR begin "${begin} + 7")
  string(SUBSTRING "${readme}" ${begin} -1 readme)
  string(FIND "${readme}" "```" end)
  string(SUBSTRING "${readme}" 0 ${end} example)
  if(example MATCHES "int main\\(")
    break()
  endif()
  set(example "")
  string(FIND "${readme}" "```cpp\n" begin)
endwhile()
if(NOT example)
  message(FATAL_ERROR "README.md has no C++ program")
endif()
file(WRITE ${work}/project/example.cc "${example}")

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${work}/prefix)
file(COPY ${SOURCE_DIR}/tests/install/CMakeLists.txt ${SOURCE_DIR}/tests/install/embedding.cc
  DESTINATION ${work}/project)
file(COPY_FILE ${SOURCE_DIR}/fixtures/models/qdq_cnn.onnx ${work}/run/model.onnx)
run(${work}/prefix/bin/qrewrite --rules ezkl_dequant model.onnx -o command.onnx)
foreach(form IN ITEMS static shared)
  set(build ${work}/build_${form})
  run(${CMAKE_COMMAND} -G Ninja -S ${work}/project -B ${build} -Dform=${form}
    -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  run(${CMAKE_COMMAND} --build ${build})
  # The example and the installed command do the same job on the bundled model.
  run(${build}/example model.onnx ${form}.onnx)
  run(${build}/embedding model.onnx ezkl_dequant .)
  run(${CMAKE_COMMAND} -E compare_files command.onnx ${form}.onnx)
  run(${CMAKE_COMMAND} -E compare_files command.onnx embedding.onnx)
endforeach()

# The converter of examples/, with rules that call its function.
file(WRITE ${work}/run/device.yaml "qrewrite: 1
name: device
rules:
  - {name: table, match: 'y = Gemm<**a>(x, w, b)', where: fits_table(w), replace: 'y = acme.Table<**a>(x, w, b)'}
")
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE_DIR}/examples/converter -B ${work}/build_converter
  -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
run(${CMAKE_COMMAND} --build ${work}/build_converter)
run(${work}/build_converter/converter command.onnx ${work}/run/device.yaml listing.txt)
file(READ ${work}/run/listing.txt listing)
if(NOT listing MATCHES "acme.Table .* -> logits" OR NOT listing MATCHES "Conv x ")
  message(FATAL_ERROR "the converter wrote:\n${listing}")
endif()

run(readelf -d ${work}/build_shared/example)
if(NOT output MATCHES "NEEDED[^\n]*libqrewrite\\.so\\.0\\]" OR output MATCHES "protobuf")
  message(FATAL_ERROR "the example is not linked with the shared library alone:\n${output}")
endif()
