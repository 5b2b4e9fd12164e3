// Whether the places in ort_api.h are those of ONNX Runtime's own header, where there is one when this is compiled.
#include "engine/evaluate/ort_api.h"

#if __has_include(<onnxruntime_c_api.h>)
#include <onnxruntime_c_api.h>
#define QR_HAS_ORT_HEADER
#elif __has_include(<onnxruntime/onnxruntime_c_api.h>)
#include <onnxruntime/onnxruntime_c_api.h>
#define QR_HAS_ORT_HEADER
#elif __has_include(<onnxruntime/core/session/onnxruntime_c_api.h>)
#include <onnxruntime/core/session/onnxruntime_c_api.h>
#define QR_HAS_ORT_HEADER
#endif

#ifdef QR_HAS_ORT_HEADER
#define QR_ORT_SLOT(slot, result, name, parameters) \
  static_assert(offsetof(OrtApi, name) == (slot) * sizeof(void*));
QR_ORT_FUNCTIONS(QR_ORT_SLOT)
static_assert(ORT_API_VERSION >= qrewrite::ort::kApiVersion);
#endif
