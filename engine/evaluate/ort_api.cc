#include "engine/evaluate/ort_api.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace qrewrite::ort {
namespace {

struct ApiBase {
  void* const* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

template <class Function>
void Bind(void* const* table, int slot, Function*& function) {
  function = reinterpret_cast<Function*>(table[slot]);
}

Status CannotUse(const std::string& path, const std::string& why) {
  return {StatusCode::kIo, fmt::format("cannot use ONNX Runtime{}: {}",
                                       path.empty() ? "" : fmt::format(" `{}`", path), why)};
}

}  // namespace

std::string Api::Take(Status_* status) const {
  std::string message = GetErrorMessage(status);
  ReleaseStatus(status);
  while (message.ends_with('\n') || message.ends_with(' ')) message.pop_back();
  return message;
}

Result<std::shared_ptr<const Api>> OpenLibrary(const std::string& path) {
  void* const library =
      dlopen(path.empty() ? "libonnxruntime.so.1" : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return CannotUse(path, why == nullptr ? "it cannot be loaded" : why);
  }
  using GetApiBase = const ApiBase*();
  auto* const get_base = reinterpret_cast<GetApiBase*>(dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) return CannotUse(path, "it has no function OrtGetApiBase");
  const ApiBase* const base = get_base();
  if (base == nullptr || base->get_api == nullptr || base->get_version == nullptr) {
    return CannotUse(path, "its OrtGetApiBase gives no table of functions");
  }
  const char* const version = base->get_version();
  if (version == nullptr) return CannotUse(path, "it does not say its version");
  auto api = std::make_shared<Api>();
  api->version = version;
  api->path = path;
  void* const* const table = base->get_api(kApiVersion);
  if (table == nullptr) {
    return CannotUse(
        path, fmt::format("version {} is too old, 1.{} is needed", api->version, kApiVersion));
  }
#define QR_ORT_BIND(slot, result, name, parameters) Bind(table, slot, api->name);
  QR_ORT_FUNCTIONS(QR_ORT_BIND)
  // A library that is no ONNX Runtime, or was cut off: better a word now than a crash later.
#define QR_ORT_MISSING(slot, result, name, parameters) \
  if (api->name == nullptr) return CannotUse(path, "its table of functions lacks " #name);
  QR_ORT_FUNCTIONS(QR_ORT_MISSING)
#undef QR_ORT_MISSING
#undef QR_ORT_BIND
  return std::shared_ptr<const Api>(std::move(api));
}

}  // namespace qrewrite::ort
