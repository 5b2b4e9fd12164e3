// Inputs for the runs: archives, folders, random numbers.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/base/dice.h"
#include "engine/driver/npz.h"
#include "engine/evaluate/observed.h"
#include "engine/onnx_io/mapped_file.h"
#include "engine/onnx_io/tensors.h"
#include "qrewrite/samples.h"

namespace qrewrite {
namespace {

namespace fs = std::filesystem;

Status Usage(std::string message) { return {StatusCode::kUsage, std::move(message)}; }

// Rows [begin, begin + rows) along the first axis, under `dims`. They lie where `array` lies.
Tensor Rows(const Tensor& array, int64_t begin, int64_t rows, Dims dims) {
  const auto row = static_cast<size_t>(array.size() / array.dims()[0]) *
                   static_cast<size_t>(Info(array.dtype()).bits / 8);
  return Tensor::View(
      array.dtype(), std::move(dims), std::make_shared<const Tensor>(array),
      array.bytes().subspan(static_cast<size_t>(begin) * row, static_cast<size_t>(rows) * row));
}

// How an array is cut into samples for an input.
struct Cut {
  int64_t rows = 1;    // of a sample
  bool drops = false;  // the first axis counts samples and is no part of them
};

Cut CutOf(const ModelValue& input, const Tensor& array) {
  const auto rank = static_cast<size_t>(array.rank());
  if (input.has_shape && input.dims.size() + 1 == rank) return {.drops = true};
  const bool fixed = input.has_shape && input.dims.size() == rank && input.dims[0] > 1;
  return {.rows = fixed ? input.dims[0] : 1};
}

// An input of the model, and the name that the other model has for it.
struct Input : ModelValue {
  std::string other;
  bool optional = false;  // it has an initial value
};

std::vector<Input> InputsOf(const Model& model, const Model* other) {
  std::vector<Input> inputs;
  const std::vector<ModelValue> others = other == nullptr ? model.Inputs() : other->Inputs();
  for (const ModelValue& value : model.Inputs()) inputs.push_back({value, value.name});
  for (size_t i = 0; i < inputs.size() && inputs.size() == others.size(); ++i) {
    inputs[i].other = others[i].name;
  }
  for (const ModelValue& value : OverridableInputs(model))
    inputs.push_back({value, value.name, true});
  return inputs;
}

// An archive, of which arrays for the inputs alone are read.
struct Archive {
  std::shared_ptr<const MappedFile> file;
  std::vector<NpzArray> arrays;
};

Result<Archive> OpenArchive(const std::vector<Input>& inputs, const std::string& path) {
  Archive archive;
  QR_ASSIGN_OR_RETURN(archive.file, MappedFile::Open(path));
  const auto wanted = [&](const std::string& key) {
    return std::ranges::any_of(
        inputs, [&](const Input& input) { return input.name == key || input.other == key; });
  };
  QR_ASSIGN_OR_RETURN(archive.arrays, ParseNpz(path, archive.file->bytes(),
                                               {.wanted = wanted, .owner = archive.file}));
  return archive;
}

// Null: none for an input that needs none.
Result<const Tensor*> ArrayFor(const std::vector<NpzArray>& arrays, const Input& input,
                               const std::string& path) {
  for (const std::string& name : {input.name, input.other}) {
    for (const NpzArray& a : arrays) {
      if (a.key == name) return &a.tensor;
    }
  }
  if (input.optional) return nullptr;
  return Usage(fmt::format("`{}` has no array `{}`, which the model takes", path, input.name));
}

Result<Samples> FromArchive(const std::vector<Input>& inputs, const std::string& path,
                            size_t most) {
  QR_ASSIGN_OR_RETURN(Archive opened, OpenArchive(inputs, path));
  const auto archive = std::make_shared<const Archive>(std::move(opened));
  size_t count = most;
  for (const Input& input : inputs) {
    QR_ASSIGN_OR_RETURN(const Tensor* array, ArrayFor(archive->arrays, input, path));
    if (array == nullptr) continue;
    if (array->rank() == 0) {
      return Usage(
          fmt::format("`{}`: array `{}` has no axis that counts samples", path, input.name));
    }
    const Cut cut = CutOf(input, *array);
    count = std::min(count, static_cast<size_t>(array->dims()[0] / cut.rows));
    if (array->dims()[0] < cut.rows) {
      return Usage(fmt::format("`{}`: array `{}` has {} rows, a sample takes {}", path, input.name,
                               array->dims()[0], cut.rows));
    }
  }
  const auto get = [archive, inputs, path](size_t i) -> Result<Tensors> {
    QR_RETURN_IF_ERROR(archive->file->CheckUnchanged());
    Tensors sample;
    for (const Input& input : inputs) {
      QR_ASSIGN_OR_RETURN(const Tensor* array, ArrayFor(archive->arrays, input, path));
      if (array == nullptr) continue;
      const Cut cut = CutOf(input, *array);
      Dims dims = array->dims();
      if (cut.drops) {
        dims.erase(dims.begin());
      } else {
        dims[0] = cut.rows;
      }
      QR_ASSIGN_OR_RETURN(
          sample[input.name],
          ToPlain(Rows(*array, static_cast<int64_t>(i) * cut.rows, cut.rows, std::move(dims))));
    }
    return sample;
  };
  return Samples{count, path, get};
}

// --- folders

Result<Tensors> FromWholeArchive(const std::vector<Input>& inputs, const std::string& path) {
  QR_ASSIGN_OR_RETURN(const Archive archive, OpenArchive(inputs, path));
  QR_RETURN_IF_ERROR(archive.file->CheckUnchanged());  // since its checksums were
  Tensors sample;
  for (const Input& input : inputs) {
    QR_ASSIGN_OR_RETURN(const Tensor* array, ArrayFor(archive.arrays, input, path));
    if (array == nullptr) continue;
    QR_ASSIGN_OR_RETURN(sample[input.name], ToPlain(*array));
  }
  return sample;
}

// input_<i>.pb, as ONNX's test cases have them.
Result<Tensors> FromProtos(const std::vector<Input>& inputs, const fs::path& folder) {
  Tensors sample;
  for (size_t i = 0; i < inputs.size() && !inputs[i].optional; ++i) {
    const std::string path = (folder / fmt::format("input_{}.pb", i)).string();
    QR_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
    QR_ASSIGN_OR_RETURN(const ParsedTensor parsed,
                        ParseTensor(file->bytes(), {.owner = file}, path));
    if (!parsed.tensor.valid()) return Usage(fmt::format("`{}` has an unknown type", path));
    QR_ASSIGN_OR_RETURN(sample[inputs[i].name], ToPlain(parsed.tensor));
  }
  return sample;
}

Result<Samples> FromFolder(const std::vector<Input>& inputs, const std::string& path, size_t most) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code unreadable;  // such an entry is none of them
    const bool is_set = fs::exists(it->path() / "input_0.pb", unreadable);
    if (is_set || it->path().extension() == ".npz") entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string(), y = b.filename().string();
    return std::pair(x.size(), x) < std::pair(y.size(), y);  // test_data_set_2 before ..._10
  });
  if (entries.empty()) {
    return Usage(fmt::format("`{}` has neither .npz files nor folders with input_0.pb", path));
  }
  const size_t count = std::min(most, entries.size());
  return Samples{count, path, [entries, inputs](size_t i) -> Result<Tensors> {
                   if (entries[i].extension() == ".npz") {
                     return FromWholeArchive(inputs, entries[i].string());
                   }
                   return FromProtos(inputs, entries[i]);
                 }};
}

// --- random numbers

Result<Tensor> RandomTensor(const ModelValue& input, Dice& dice) {
  Dims dims = input.dims;
  for (int64_t& d : dims) d = d < 0 ? 1 : d;
  const auto dtype = static_cast<DType>(input.dtype);
  if (!input.has_shape || !(IsFloat(dtype) || IsInteger(dtype) || dtype == DType::kBool)) {
    return Usage(
        fmt::format("random numbers cannot be made for input `{}`; give --inputs", input.name));
  }
  constexpr int64_t kMost = int64_t{1} << 28;
  const std::optional<int64_t> count = CheckedCount(dims, kMost);
  if (!count) return Usage(fmt::format("input `{}` is too large for random numbers", input.name));
  std::vector<double> values(static_cast<size_t>(*count));
  for (double& v : values) v = IsFloat(dtype) ? dice.Normal() : dice.Uniform() < 0.5 ? 0 : 1;
  if (dtype == DType::kBool) {
    const std::vector<uint8_t> truths(values.begin(), values.end());
    return Tensor::Of<uint8_t>(dtype, std::move(dims), truths);
  }
  return FromDoubles(dtype, std::move(dims), values);
}

}  // namespace

Result<Samples> SamplesFromFile(const Model& model, const std::string& path, size_t most,
                                const Model* other) {
  const std::vector<Input> inputs = InputsOf(model, other);
  std::error_code error;
  QR_ASSIGN_OR_RETURN(Samples samples, fs::is_directory(path, error)
                                           ? FromFolder(inputs, path, most)
                                           : FromArchive(inputs, path, most));
  if (samples.count == 0) return Usage(fmt::format("`{}` has no samples", path));
  return samples;
}

Samples RandomSamples(const Model& model, size_t count, uint64_t seed) {
  return {count, fmt::format("random numbers, seed {}", seed),
          [inputs = model.Inputs(), seed](size_t i) -> Result<Tensors> {
            Tensors sample;
            Dice dice(seed * 1000003 + i);
            for (const ModelValue& input : inputs) {
              QR_ASSIGN_OR_RETURN(const Tensor tensor, RandomTensor(input, dice));
              QR_ASSIGN_OR_RETURN(sample[input.name], ToPlain(tensor));
            }
            return sample;
          }};
}

}  // namespace qrewrite
