#include "engine/onnx_io/spelled_tensors.h"

#include <deque>

#include "tests/unit/onnx_io/model_maker.h"

namespace qrewrite {
namespace {

using onnx::TensorProto;

struct Fixture {
  std::deque<std::string> messages;
  TensorSource source;
  SpelledTensors tensors;

  Result<ParsedTensor> Parse(std::string message) {
    return tensors.Parse(messages.emplace_back(std::move(message)), source, "a tensor");
  }
  Result<ParsedTensor> Parse(const TensorProto& proto) { return Parse(proto.SerializeAsString()); }
};

TensorProto Scale(const std::string& name, const std::string& bytes) {
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(TensorProto::FLOAT);
  proto.add_dims(static_cast<int64_t>(bytes.size() / 4));
  proto.set_raw_data(bytes);
  return proto;
}

const std::string kHalf("\0\0\0\x3f", 4), kOne("\0\0\x80\x3f", 4);

TEST_CASE_FIXTURE(Fixture, "SpelledTensors: each has its name, and its own numbers") {
  for (int round = 0; round < 2; ++round) {
    const auto a = Parse(Scale("a", kHalf)), b = Parse(Scale("b", kOne)),
               c = Parse(Scale("c", kHalf));
    REQUIRE((a.ok() && b.ok() && c.ok()));
    CHECK(a->name == "a");
    CHECK(b->name == "b");
    CHECK(c->name == "c");
    CHECK(a->tensor.as<float>()[0] == 0.5f);
    CHECK(b->tensor.as<float>()[0] == 1.0f);
    CHECK(c->tensor.as<float>()[0] == 0.5f);
  }
}

TEST_CASE_FIXTURE(Fixture, "SpelledTensors: what lies around the name counts") {
  TensorProto scalar = Scale("a", kHalf);
  scalar.clear_dims();
  TensorProto bits = Scale("a", kHalf);
  bits.set_data_type(TensorProto::INT32);
  const auto vector = Parse(Scale("a", kHalf));
  REQUIRE(vector.ok());
  CHECK(Parse(scalar)->tensor.rank() == 0);
  CHECK(Parse(bits)->tensor.dtype() == DType::kInt32);
  CHECK(Parse(Scale("a", kHalf))->tensor.rank() == 1);
}

TEST_CASE_FIXTURE(Fixture, "SpelledTensors: faults are those of ParseTensor, however often") {
  TensorProto wrong = Scale("w", kHalf + kHalf);
  wrong.set_dims(0, 3);
  for (int round = 0; round < 2; ++round) {
    const auto parsed = Parse(wrong);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.status().message() ==
          ParseTensor(wrong.SerializeAsString(), source, "a tensor").status().message());
  }
  const std::string good = Scale("w", kHalf).SerializeAsString();
  CHECK(Parse(good).ok());
  CHECK_FALSE(Parse(good.substr(0, good.size() - 1)).ok());
}

TEST_CASE_FIXTURE(Fixture, "SpelledTensors: the last of two names counts, as in protobuf") {
  const std::string first = Scale("first", kHalf).SerializeAsString();
  TensorProto name;
  name.set_name("last");
  CHECK(Parse(first)->name == "first");
  CHECK(Parse(first + name.SerializeAsString())->name == "last");
  CHECK(Parse(first + name.SerializeAsString())->name == "last");
  CHECK(Parse(first)->name == "first");
}

}  // namespace
}  // namespace qrewrite
