#include "engine/onnx_io/tensors.h"

#include <vector>

#include "tests/unit/onnx_io/model_maker.h"

namespace qrewrite {
namespace {

using onnx::TensorProto;

Result<ParsedTensor> ParseProto(const TensorProto& proto) {
  const auto bytes = std::make_shared<const std::string>(proto.SerializeAsString());
  const TensorSource source{bytes, nullptr};
  return ParseTensor(*bytes, source, "a tensor");
}

TensorProto Proto(int dtype, const std::vector<int64_t>& dims) {
  TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(dtype);
  for (const int64_t d : dims) proto.add_dims(d);
  return proto;
}

std::string Hex(const Tensor& tensor) {
  std::string out;
  for (const std::byte b : tensor.bytes()) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<int>(b) >> 4];
    out += kDigits[static_cast<int>(b) & 15];
  }
  return out;
}

TEST_CASE("Tensors: entries of int32_data become packed elements") {
  struct Case {
    int dtype;
    std::vector<int64_t> dims;
    std::vector<int32_t> entries;
    const char* bytes;
  };
  for (const Case& c : std::vector<Case>{
           {TensorProto::INT32, {2}, {1, -2}, "01000000feffffff"},
           {TensorProto::INT16, {2}, {1, -2}, "0100feff"},
           {TensorProto::UINT16, {1}, {65535}, "ffff"},
           {TensorProto::INT8, {3}, {-128, -1, 127}, "80ff7f"},
           {TensorProto::UINT8, {2}, {0, 255}, "00ff"},
           {TensorProto::BOOL, {3}, {0, 1, 7}, "000101"},
           {TensorProto::FLOAT16, {1}, {0x3c00}, "003c"},
           {TensorProto::BFLOAT16, {1}, {0x3f80}, "803f"},
           {TensorProto::FLOAT8E4M3FN, {2}, {0x38, 0xb8}, "38b8"},
           {TensorProto::FLOAT8E8M0, {1}, {0x7f}, "7f"},
           {TensorProto::INT4, {3}, {0x21, 0x0f}, "210f"},
           {TensorProto::UINT4, {2}, {0xfe}, "fe"},
           {TensorProto::FLOAT4E2M1, {1}, {0x03}, "03"},
           {TensorProto::INT2, {5}, {0xe4, 0x01}, "e401"},
           {TensorProto::FLOAT6E2M3, {5}, {0x3f, 0, 0x3f, 0, 0x2a}, "3ff0032a"},
           {TensorProto::INT8, {0, 3}, {}, ""},
       }) {
    TensorProto proto = Proto(c.dtype, c.dims);
    for (const int32_t v : c.entries) proto.add_int32_data(v);
    const auto parsed = ParseProto(proto);
    CAPTURE(c.dtype);
    REQUIRE_MESSAGE(parsed.ok(), parsed.status().message());
    CHECK(static_cast<int>(parsed->tensor.dtype()) == c.dtype);
    CHECK(parsed->tensor.dims() == c.dims);
    CHECK(Hex(parsed->tensor) == c.bytes);
  }
}

TEST_CASE("Tensors: the other typed fields") {
  TensorProto proto = Proto(TensorProto::FLOAT, {2});
  proto.add_float_data(1.0f);
  proto.add_float_data(-2.0f);
  CHECK(Hex(ParseProto(proto)->tensor) == "0000803f000000c0");

  proto = Proto(TensorProto::COMPLEX64, {1});
  proto.add_float_data(1.0f);
  proto.add_float_data(-2.0f);
  CHECK(Hex(ParseProto(proto)->tensor) == "0000803f000000c0");

  proto = Proto(TensorProto::DOUBLE, {1});
  proto.add_double_data(1.0);
  CHECK(Hex(ParseProto(proto)->tensor) == "000000000000f03f");

  proto = Proto(TensorProto::INT64, {2});
  proto.add_int64_data(-1);
  proto.add_int64_data(258);
  CHECK(Hex(ParseProto(proto)->tensor) == "ffffffffffffffff0201000000000000");

  proto = Proto(TensorProto::UINT32, {1});
  proto.add_uint64_data(0xffffffff);
  CHECK(Hex(ParseProto(proto)->tensor) == "ffffffff");

  proto = Proto(TensorProto::UINT64, {1});
  proto.add_uint64_data(~uint64_t{0});
  CHECK(Hex(ParseProto(proto)->tensor) == "ffffffffffffffff");

  proto = Proto(TensorProto::STRING, {2});
  proto.add_string_data("a");
  proto.add_string_data(std::string("b\0c", 3));
  CHECK(ParseProto(proto)->tensor.strings() ==
        std::vector<std::string>{"a", std::string("b\0c", 3)});
}

TEST_CASE("Tensors: raw_data is viewed, not copied") {
  TensorProto proto = Proto(TensorProto::INT8, {4, 8});
  proto.set_raw_data(std::string(32, 'a'));
  const auto bytes = std::make_shared<const std::string>(proto.SerializeAsString());
  const auto parsed = ParseTensor(*bytes, {bytes, nullptr}, "a tensor");
  REQUIRE(parsed.ok());
  CHECK(parsed->name == "t");
  const auto* data = reinterpret_cast<const char*>(parsed->tensor.bytes().data());
  CHECK(data >= bytes->data());
  CHECK(data < bytes->data() + bytes->size());
}

TEST_CASE("Tensors: external data of a tensor that is in no model is an error") {
  TensorProto proto = Proto(TensorProto::INT8, {2});
  proto.set_data_location(TensorProto::EXTERNAL);
  const auto bytes = std::make_shared<const std::string>(proto.SerializeAsString());
  const auto parsed = ParseTensor(*bytes, {bytes, nullptr}, "a tensor");
  CHECK(parsed.status().message() == "error: tensor `t` has external data, but is in no model");
}

TEST_CASE("Tensors: a type newer than this program is carried") {
  TensorProto proto = Proto(99, {2});
  proto.set_raw_data("ab");
  const auto parsed = ParseProto(proto);
  REQUIRE(parsed.ok());
  CHECK_FALSE(parsed->tensor.valid());
}

TEST_CASE("Tensors: faults name the tensor") {
  struct Case {
    const char* message;
    TensorProto proto;
  };
  std::vector<Case> cases;
  const auto add = [&](const char* message, int dtype, const std::vector<int64_t>& dims,
                       const std::string& raw) -> TensorProto& {
    cases.push_back({message, Proto(dtype, dims)});
    if (!raw.empty()) cases.back().proto.set_raw_data(raw);
    return cases.back().proto;
  };
  add("needs 20 bytes of data, but there are 3", TensorProto::INT8, {4, 5}, "abc");
  add("needs 2 bytes of data, but there are 3", TensorProto::INT8, {2}, "abc");
  add("negative or overflowing", TensorProto::INT8, {-4, 5}, "abc");
  add("negative or overflowing", TensorProto::INT8, {int64_t{1} << 32, int64_t{1} << 32}, "");
  add("needs 1099511627776 entries of data, but there are 0", TensorProto::INT8, {int64_t{1} << 40},
      "");
  add("1, 1,...], which needs 1 bytes", TensorProto::INT8, std::vector<int64_t>(100000, 1), "abc");
  add("element type 0", TensorProto::UNDEFINED, {1}, "a");
  add("element type -5", -5, {1}, "a");
  add("needs 2 entries of data, but there are 1", TensorProto::INT64, {2}, "").add_int64_data(1);
  add("needs 1 entries of data, but there are 0", TensorProto::STRING, {1}, "a");
  add("needs 3 entries of data, but there are 2", TensorProto::INT4, {5}, "").add_int32_data(1);
  cases.back().proto.add_int32_data(1);
  add("data in more than one field", TensorProto::FLOAT, {1}, "abcd").add_float_data(1);
  add("data in more than one field", TensorProto::INT8, {1}, "a").add_float_data(1);
  add("data in more than one field", TensorProto::INT8, {1}, "a")
      .set_data_location(TensorProto::EXTERNAL);
  add("segments", TensorProto::INT8, {1}, "a").mutable_segment()->set_begin(0);
  for (const Case& c : cases) {
    const auto parsed = ParseProto(c.proto);
    CAPTURE(c.message);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.status().code() == StatusCode::kInvalidModel);
    CHECK_MESSAGE(Contains(parsed.status().message(), c.message), parsed.status().message());
    CHECK(Contains(parsed.status().message(), "tensor `t`"));
    CHECK(parsed.status().message().size() < 400);
  }
}

TEST_CASE("Tensors: a new header keeps what is not data") {
  TensorProto proto = Proto(TensorProto::FLOAT, {1});
  proto.set_doc_string("doc");
  proto.add_float_data(1);
  auto* prop = proto.add_metadata_props();
  prop->set_key("k");
  prop->set_value("v");
  proto.mutable_unknown_fields()->AddLengthDelimited(31, "x");
  const Tensor tensor = Tensor::Int64s({1, 2, 3});
  TensorProto now;
  REQUIRE(now.ParseFromString(SpellTensorHeader(tensor, "new", proto.SerializeAsString())));
  CHECK(now.name() == "new");
  CHECK(now.data_type() == TensorProto::INT64);
  CHECK(now.dims_size() == 1);
  CHECK(now.dims(0) == 3);
  CHECK(now.doc_string() == "doc");
  CHECK(now.metadata_props(0).value() == "v");
  CHECK(now.float_data_size() == 0);
  CHECK(now.unknown_fields().field(0).length_delimited() == "x");
}

}  // namespace
}  // namespace qrewrite
