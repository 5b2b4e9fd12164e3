#include "engine/prove/runtime_apart.h"

#include <algorithm>
#include <cstring>
#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "engine/base/diagnostics.h"
#include "engine/base/message.h"

namespace qrewrite {
namespace {

constexpr uint64_t kMostMemory = uint64_t{1} << 30;  // of the models while they run, in bytes
constexpr int kMostSeconds = 20;

void FillMemory([[maybe_unused]] int pattern) {
#ifdef __GLIBC__
  mallopt(M_PERTURB, pattern);
#endif
}

// Requests and answers as bytes: numbers, texts behind their length, lists behind their count.
class Writer {
 public:
  void Number(int64_t number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void Text(std::string_view text) {
    Number(std::ssize(text));
    text_ += text;
  }
  void Samples(const std::vector<Tensors>& samples) {
    Number(std::ssize(samples));
    for (const Tensors& sample : samples) {
      Number(std::ssize(sample));
      for (const auto& [name, tensor] : sample) {
        Text(name);
        Number(tensor.dtype);
        Number(std::ssize(tensor.dims));
        for (const int64_t dim : tensor.dims) Number(dim);
        Text({reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
      }
    }
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// Of what a Writer of this program wrote: it is whole.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  int64_t Number() {
    int64_t number = 0;
    std::memcpy(&number, left_.data(), sizeof number);
    left_.remove_prefix(sizeof number);
    return number;
  }
  std::string_view Text() {
    const auto size = static_cast<size_t>(Number());
    const std::string_view text = left_.substr(0, size);
    left_.remove_prefix(size);
    return text;
  }
  std::vector<Tensors> Samples() {
    std::vector<Tensors> samples(static_cast<size_t>(Number()));
    for (Tensors& sample : samples) {
      for (int64_t i = Number(); i > 0; --i) {
        ConstTensor& tensor = sample[std::string(Text())];
        tensor.dtype = static_cast<int>(Number());
        tensor.dims.resize(static_cast<size_t>(Number()));
        for (int64_t& dim : tensor.dims) dim = Number();
        const std::string_view bytes = Text();
        std::vector<std::byte> copy(bytes.size());
        if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
        tensor.bytes = ConstBytes(std::move(copy));
      }
    }
    return samples;
  }

 private:
  std::string_view left_;
};

Status RunAll(Session& session, const std::vector<Tensors>& inputs, std::vector<Tensors>& values) {
  for (const Tensors& sample : inputs) {
    QR_ASSIGN_OR_RETURN(values.emplace_back(), session.Run(sample));
  }
  return {};
}

}  // namespace

RuntimeApart::RuntimeApart(Evaluator& runtime)
    : runtime_(runtime),
      apart_([this](std::string_view request) { return Answer(request); }, kMostMemory,
             kMostSeconds) {}

RuntimeApart::Outcome RuntimeApart::Run(const Model& model, const std::vector<Tensors>& inputs,
                                        int fill) {
  return Ask(model, inputs, {}, fill);
}

RuntimeApart::Outcome RuntimeApart::RunShown(const Model& model, const std::vector<Tensors>& inputs,
                                             const std::vector<std::string>& observe) {
  return Ask(model, inputs, observe, 0);
}

RuntimeApart::Outcome RuntimeApart::Ask(const Model& model, const std::vector<Tensors>& inputs,
                                        const std::vector<std::string>& observe, int fill) {
  Outcome outcome;
  const Result<std::string> bytes = model.Serialize();
  if (!bytes.ok()) {
    outcome.status = bytes.status();
    return outcome;
  }
  Writer request;
  request.Number(fill);
  request.Text(*bytes);
  request.Number(std::ssize(observe));
  for (const std::string& name : observe) request.Text(name);
  request.Samples(inputs);
  const Apart::Reply reply = apart_.Ask(request.Take());
  if (!reply.finished) {
    outcome.end = reply.end;
    return outcome;
  }
  Reader answer(reply.answer);
  const auto code = static_cast<StatusCode>(answer.Number());
  std::string message(answer.Text());
  if (code != StatusCode::kOk) outcome.status = Status(code, std::move(message));
  outcome.values = answer.Samples();
  return outcome;
}

Result<Session*> RuntimeApart::SessionOf(std::string_view bytes,
                                         const std::vector<std::string>& observe) {
  constexpr size_t kMostLoaded = 4;
  const auto known = std::ranges::find_if(
      loaded_, [&](const Loaded& l) { return l.bytes == bytes && l.observe == observe; });
  if (known != loaded_.end()) {
    std::rotate(loaded_.begin(), known, known + 1);
    return loaded_.front().session.get();
  }
  QR_ASSIGN_OR_RETURN(const Model model, Model::Parse(std::string(bytes)));
  QR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, runtime_.Load(model, observe));
  loaded_.push_front({std::string(bytes), observe, std::move(session)});
  if (loaded_.size() > kMostLoaded) loaded_.pop_back();
  return loaded_.front().session.get();
}

// In the other process.
std::string RuntimeApart::Answer(std::string_view request) {
  Reader reader(request);
  const auto fill = static_cast<int>(reader.Number());
  const std::string_view bytes = reader.Text();
  std::vector<std::string> observe(static_cast<size_t>(reader.Number()));
  for (std::string& name : observe) name = reader.Text();
  const std::vector<Tensors> inputs = reader.Samples();
  std::vector<Tensors> values;
  const auto run = [&]() -> Status {
    QR_ASSIGN_OR_RETURN(Session* const session, SessionOf(bytes, observe));
    return RunAll(*session, inputs, values);
  };
  // A session keeps memory for its next run, which would be filled no more.
  if (fill != 0) loaded_.clear(), FillMemory(fill);
  const Status status = run();
  if (fill != 0) loaded_.clear(), FillMemory(0);
  Writer answer;
  answer.Number(static_cast<int64_t>(status.code()));
  answer.Text(status.ok() ? "" : Message(status));
  answer.Samples(values);
  return answer.Take();
}

}  // namespace qrewrite
