// ONNX Runtime's C API as far as it is used here: a table of functions, which the library hands out by
// version. The table only grows, and what it holds never changes; so the places below are right for
// every version from 1.11 on, and no header of ONNX Runtime is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "qrewrite/status.h"

namespace qrewrite::ort {

struct Status_;
struct Env;
struct Session_;
struct SessionOptions;
struct RunOptions;
struct MemoryInfo;
struct Value;
struct TensorInfo;

inline constexpr uint32_t kApiVersion = 11;

// Functions return null, or a status that belongs to the caller. Slots: place in the table.
#define QR_ORT_FUNCTIONS(SLOT)                                                                    \
  SLOT(2, const char*, GetErrorMessage, (const Status_*))                                         \
  SLOT(3, Status_*, CreateEnv, (int level, const char* id, Env** out))                            \
  SLOT(7, Status_*, CreateSession,                                                                \
       (const Env*, const char* path, const SessionOptions*, Session_** out))                     \
  SLOT(8, Status_*, CreateSessionFromArray,                                                       \
       (const Env*, const void* bytes, size_t size, const SessionOptions*, Session_** out))       \
  SLOT(9, Status_*, Run,                                                                          \
       (Session_*, const RunOptions*, const char* const* input_names, const Value* const* inputs, \
        size_t num_inputs, const char* const* output_names, size_t num_outputs, Value** outputs)) \
  SLOT(10, Status_*, CreateSessionOptions, (SessionOptions * *out))                               \
  SLOT(23, Status_*, SetSessionGraphOptimizationLevel, (SessionOptions*, int level))              \
  SLOT(24, Status_*, SetIntraOpNumThreads, (SessionOptions*, int threads))                        \
  SLOT(39, Status_*, CreateRunOptions, (RunOptions * *out))                                       \
  SLOT(46, Status_*, RunOptionsSetTerminate, (RunOptions*))                                       \
  SLOT(49, Status_*, CreateTensorWithDataAsOrtValue,                                              \
       (const MemoryInfo*, void* data, size_t bytes, const int64_t* dims, size_t rank, int dtype, \
        Value** out))                                                                             \
  SLOT(50, Status_*, IsTensor, (const Value*, int* out))                                          \
  SLOT(51, Status_*, GetTensorMutableData, (Value*, void** out))                                  \
  SLOT(60, Status_*, GetTensorElementType, (const TensorInfo*, int* out))                         \
  SLOT(61, Status_*, GetDimensionsCount, (const TensorInfo*, size_t* out))                        \
  SLOT(62, Status_*, GetDimensions, (const TensorInfo*, int64_t* dims, size_t rank))              \
  SLOT(65, Status_*, GetTensorTypeAndShape, (const Value*, TensorInfo** out))                     \
  SLOT(69, Status_*, CreateCpuMemoryInfo, (int allocator, int memory, MemoryInfo** out))          \
  SLOT(92, void, ReleaseEnv, (Env*))                                                              \
  SLOT(93, void, ReleaseStatus, (Status_*))                                                       \
  SLOT(94, void, ReleaseMemoryInfo, (MemoryInfo*))                                                \
  SLOT(95, void, ReleaseSession, (Session_*))                                                     \
  SLOT(96, void, ReleaseValue, (Value*))                                                          \
  SLOT(97, void, ReleaseRunOptions, (RunOptions*))                                                \
  SLOT(99, void, ReleaseTensorTypeAndShapeInfo, (TensorInfo*))                                    \
  SLOT(100, void, ReleaseSessionOptions, (SessionOptions*))

struct Api {
#define QR_ORT_MEMBER(slot, result, name, parameters) result(*name) parameters = nullptr;
  QR_ORT_FUNCTIONS(QR_ORT_MEMBER)
#undef QR_ORT_MEMBER
  std::string version;  // of the library
  std::string path;     // of its file, as it was given to the loader

  // The message of `status`, which is released.
  std::string Take(Status_* status) const;
};

// Opens the library at `path` ("" : what the loader finds). It stays open. kIo: it cannot be opened,
// is no ONNX Runtime, or is too old.
Result<std::shared_ptr<const Api>> OpenLibrary(const std::string& path);
// Where it is: see OnnxRuntimeOptions. kIo names the places.
Result<std::shared_ptr<const Api>> FindLibrary(const std::string& wanted);

}  // namespace qrewrite::ort
