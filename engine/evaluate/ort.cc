// The evaluator that runs models in ONNX Runtime.
#include <chrono>
#include <cstdlib>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "engine/base/foreign_code.h"
#include "engine/base/function_ref.h"
#include "engine/base/interrupt.h"
#include "engine/base/temporary_folder.h"
#include "engine/evaluate/observed.h"
#include "engine/evaluate/ort_api.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {
namespace {

using ort::Api;

constexpr const char* kName = "ONNX Runtime";
constexpr int kLogFatal = 4, kDisableAll = 0, kEnableAll = 99, kDeviceAllocator = 0,
              kDefaultMemory = 0;

// An object of the library and what releases it.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

Status RuntimeError(const Api& api, ort::Status_* status) {
  return {StatusCode::kUnsupported, fmt::format("{}: {}", kName, api.Take(status))};
}

#define QR_RETURN_IF_ORT(api, call)                                 \
  do {                                                              \
    if (ort::Status_* const status = (api).call; status != nullptr) \
      return RuntimeError(api, status);                             \
  } while (false)

struct Environment {
  std::shared_ptr<const Api> api;
  Owned<ort::Env> env;
  Owned<ort::MemoryInfo> memory;
};

// What a result lies in. Keeps the environment: the memory is the library's.
struct ResultOwner {
  std::shared_ptr<const Environment> environment;
  Owned<ort::Value> value;
};

// nullopt: it is no tensor of numbers (a sequence, strings), which nobody compares.
Result<std::optional<ConstTensor>> ToTensor(const std::shared_ptr<const Environment>& environment,
                                            Owned<ort::Value> value) {
  const Api& api = *environment->api;
  int is_tensor = 0;
  QR_RETURN_IF_ORT(api, IsTensor(value.get(), &is_tensor));
  if (is_tensor == 0) return std::optional<ConstTensor>();
  ort::TensorInfo* raw = nullptr;
  QR_RETURN_IF_ORT(api, GetTensorTypeAndShape(value.get(), &raw));
  const Owned<ort::TensorInfo> info(raw, api.ReleaseTensorTypeAndShapeInfo);
  ConstTensor tensor;
  size_t rank = 0;
  QR_RETURN_IF_ORT(api, GetTensorElementType(raw, &tensor.dtype));
  if (tensor.dtype == static_cast<int>(DType::kString)) return std::optional<ConstTensor>();
  QR_RETURN_IF_ORT(api, GetDimensionsCount(raw, &rank));
  tensor.dims.resize(rank);
  QR_RETURN_IF_ORT(api, GetDimensions(raw, tensor.dims.data(), rank));
  void* data = nullptr;
  QR_RETURN_IF_ORT(api, GetTensorMutableData(value.get(), &data));
  const auto count = CheckedCount(tensor.dims);
  if (!count || !IsKnownDType(tensor.dtype)) {
    return Status(StatusCode::kUnsupported, "ONNX Runtime gave a tensor of an unknown type");
  }
  const uint64_t bytes =
      PackedBytes(static_cast<DType>(tensor.dtype), static_cast<uint64_t>(*count));
  const auto owner =
      std::make_shared<const ResultOwner>(ResultOwner{environment, std::move(value)});
  tensor.bytes =
      ConstBytes({static_cast<const std::byte*>(data), data == nullptr ? 0 : bytes}, owner);
  return std::optional(std::move(tensor));
}

// Runs on a thread of its own, while this one asks its caller whether to go on. `status`: what the runtime said; the
// result: what the caller said.
Status RunInterruptibly(const Api& api, FunctionRef<ort::Status_*(const ort::RunOptions*)> run,
                        ort::Status_** status) {
  ort::RunOptions* options = nullptr;
  QR_RETURN_IF_ORT(api, CreateRunOptions(&options));
  const Owned<ort::RunOptions> owner(options, api.ReleaseRunOptions);
  std::future<ort::Status_*> result = std::async(std::launch::async, [&] { return run(options); });
  Status asked;
  while (asked.ok() &&
         result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    asked = Interrupted();
    if (asked.ok()) continue;
    if (ort::Status_* const failed = api.RunOptionsSetTerminate(options)) api.ReleaseStatus(failed);
  }
  *status = result.get();
  return asked;
}

class OrtSession : public Session {
 public:
  OrtSession(std::shared_ptr<const Environment> environment, Owned<ort::Session_> session,
             ObservedModel observed)
      : environment_(std::move(environment)),
        session_(std::move(session)),
        observed_(std::move(observed)) {}

  Result<Tensors> Run(const Tensors& inputs) override {
    QR_RETURN_IF_ERROR(observed_.CheckInputs(inputs));
    Tensors outputs;
    if (!observed_.outputs().empty()) QR_RETURN_IF_ERROR(RunOutputs(inputs, outputs));
    QR_RETURN_IF_ERROR(observed_.AddPassedOn(inputs, outputs));
    return outputs;
  }

 private:
  Status RunOutputs(const Tensors& inputs, Tensors& outputs) {
    const Api& api = *environment_->api;
    std::vector<const char*> input_names, output_names;
    std::vector<Owned<ort::Value>> owners;
    std::vector<const ort::Value*> values;
    for (const auto& [name, tensor] : inputs) {
      ort::Value* value = nullptr;
      QR_RETURN_IF_ORT(  // the runtime does not write to inputs
          api, CreateTensorWithDataAsOrtValue(environment_->memory.get(),
                                              const_cast<std::byte*>(tensor.bytes.data()),
                                              tensor.bytes.size(), tensor.dims.data(),
                                              tensor.dims.size(), tensor.dtype, &value));
      owners.emplace_back(value, api.ReleaseValue);
      values.push_back(value);
      input_names.push_back(name.c_str());
    }
    for (const std::string& name : observed_.outputs()) output_names.push_back(name.c_str());
    std::vector<ort::Value*> results(output_names.size(), nullptr);
    const auto run = [&](const ort::RunOptions* options) {
      const ForeignCode running(kName);
      return api.Run(session_.get(), options, input_names.data(), values.data(), values.size(),
                     output_names.data(), output_names.size(), results.data());
    };
    ort::Status_* status = nullptr;
    Status interrupted;
    if (InterruptScope::Active()) {
      interrupted = RunInterruptibly(api, run, &status);
    } else {
      status = run(nullptr);
    }
    std::vector<Owned<ort::Value>> owned;
    for (ort::Value* value : results) owned.emplace_back(value, api.ReleaseValue);
    const Status ran = status == nullptr ? Status() : RuntimeError(api, status);
    QR_RETURN_IF_ERROR(interrupted);
    QR_RETURN_IF_ERROR(ran);
    for (size_t i = 0; i < owned.size(); ++i) {
      QR_ASSIGN_OR_RETURN(std::optional<ConstTensor> tensor,
                          ToTensor(environment_, std::move(owned[i])));
      if (tensor) outputs[observed_.outputs()[i]] = *std::move(tensor);
    }
    return {};
  }

  std::shared_ptr<const Environment> environment_;
  Owned<ort::Session_> session_;
  ObservedModel observed_;
};

class OrtEvaluator : public Evaluator {
 public:
  OrtEvaluator(std::shared_ptr<const Environment> environment, int threads, bool optimize)
      : environment_(std::move(environment)), threads_(threads), optimize_(optimize) {}

  std::string Name() const override {
    return fmt::format("{} {}", kName, environment_->api->version);
  }

  Result<std::unique_ptr<Session>> Load(const Model& model,
                                        const std::vector<std::string>& observe) override {
    const Api& api = *environment_->api;
    QR_ASSIGN_OR_RETURN(ObservedModel observed, ObservedModel::Make(model, observe));
    ort::SessionOptions* raw = nullptr;
    QR_RETURN_IF_ORT(api, CreateSessionOptions(&raw));
    const Owned<ort::SessionOptions> options(raw, api.ReleaseSessionOptions);
    QR_RETURN_IF_ORT(api,
                     SetSessionGraphOptimizationLevel(raw, optimize_ ? kEnableAll : kDisableAll));
    if (threads_ > 0) QR_RETURN_IF_ORT(api, SetIntraOpNumThreads(raw, threads_));
    ort::Session_* session = nullptr;
    QR_RETURN_IF_ERROR(Create(observed.model(), raw, &session));
    return std::unique_ptr<Session>(std::make_unique<OrtSession>(
        environment_, Owned<ort::Session_>(session, api.ReleaseSession), std::move(observed)));
  }

 private:
  Status Create(const Model& model, const ort::SessionOptions* options,
                ort::Session_** session) const {
    const Api& api = *environment_->api;
    const ForeignCode running(kName);
    Result<std::string> bytes = model.Serialize();
    if (bytes.ok()) {
      QR_RETURN_IF_ORT(api, CreateSessionFromArray(environment_->env.get(), bytes->data(),
                                                   bytes->size(), options, session));
      return {};
    }
    if (bytes.status().code() != StatusCode::kLimit) return bytes.status();
    // Models beyond 2 GB are handed over as files.
    QR_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
    const std::string path = folder.File("model.onnx");
    QR_RETURN_IF_ERROR(model.Save(path));
    QR_RETURN_IF_ORT(api, CreateSession(environment_->env.get(), path.c_str(), options, session));
    return {};
  }

  std::shared_ptr<const Environment> environment_;
  int threads_;
  bool optimize_;
};

}  // namespace

Result<std::unique_ptr<Evaluator>> OnnxRuntime(const OnnxRuntimeOptions& options) {
  QR_ASSIGN_OR_RETURN(const std::shared_ptr<const Api> api, ort::FindLibrary(options.library));
  ort::Env* env = nullptr;
  QR_RETURN_IF_ORT(*api, CreateEnv(kLogFatal, "qrewrite", &env));
  Owned<ort::Env> owned_env(env, api->ReleaseEnv);
  ort::MemoryInfo* memory = nullptr;
  QR_RETURN_IF_ORT(*api, CreateCpuMemoryInfo(kDeviceAllocator, kDefaultMemory, &memory));
  auto environment = std::make_shared<const Environment>(Environment{
      api, std::move(owned_env), Owned<ort::MemoryInfo>(memory, api->ReleaseMemoryInfo)});
  return std::unique_ptr<Evaluator>(
      std::make_unique<OrtEvaluator>(std::move(environment), options.threads, options.optimize));
}

}  // namespace qrewrite
