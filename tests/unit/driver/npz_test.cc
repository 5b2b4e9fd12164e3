#include "engine/driver/npz.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "engine/driver/npy.h"

namespace qrewrite {
namespace {

std::vector<NpzArray> Arrays() {
  std::vector<NpzArray> arrays;
  arrays.push_back({"x", *FromDoubles(DType::kFloat, {2, 2}, std::vector<double>{1, 2, 3, 4})});
  arrays.push_back({"n", Tensor::Int64s({5, 6, 7})});
  arrays.push_back({"scalar", Tensor::Bool(true)});
  arrays.push_back({"empty", *FromDoubles(DType::kDouble, {0, 3}, std::vector<double>{})});
  return arrays;
}

TEST_CASE("Npz: what is written is read back, and equal arrays give equal bytes") {
  const std::string bytes = *MakeNpz(Arrays());
  CHECK(bytes == *MakeNpz(Arrays()));
  const auto back = ParseNpz("a.npz", bytes);
  REQUIRE_MESSAGE(back.ok(), back.status().message());
  REQUIRE(back->size() == Arrays().size());
  for (size_t i = 0; i < back->size(); ++i) {
    CHECK((*back)[i].key == Arrays()[i].key);
    CHECK(*BytesEqual((*back)[i].tensor, Arrays()[i].tensor));
  }
}

TEST_CASE("Npz: names beyond ASCII are said to be UTF-8") {
  const auto flags = [](const char* key) {
    const std::string bytes = *MakeNpz({{key, Tensor::Bool(true)}});
    return static_cast<unsigned char>(bytes[6]) | static_cast<unsigned char>(bytes[7]) << 8;
  };
  CHECK(flags("x") == 0);
  CHECK(flags("\xc3\xbc") == 0x800);
}

TEST_CASE("Npz: types that NumPy does not have are widened") {
  const auto back =
      ParseNpz("a.npz", *MakeNpz({
                            {"i", *FromInt64s(DType::kInt4, {3}, std::vector<int64_t>{-8, 0, 7})},
                            {"u", *FromInt64s(DType::kUint4, {1}, std::vector<int64_t>{15})},
                            {"b", *FromDoubles(DType::kBfloat16, {1}, std::vector<double>{1.5})},
                        }));
  REQUIRE(back.ok());
  CHECK((*back)[0].tensor.dtype() == DType::kInt8);
  CHECK(*ToInt64s((*back)[0].tensor) == std::vector<int64_t>{-8, 0, 7});
  CHECK((*back)[1].tensor.dtype() == DType::kUint8);
  CHECK((*back)[2].tensor.dtype() == DType::kFloat);
  CHECK_FALSE(MakeNpz({{"s", Tensor::Strings({1}, {"text"})}}).ok());
}

TEST_CASE("Npz: every cut and every flipped byte is survived") {
  const std::string good = *MakeNpz(Arrays());
  for (size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(ParseNpz("a.npz", good.substr(0, size)).ok());
  }
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      (void)ParseNpz("a.npz", bad);  // an error, or a change that no checksum covers
    }
  }
}

std::string Npy(const std::string& header, const std::string& data) {
  const std::string text = header + "\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += {static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return bytes + text + data;
}

TEST_CASE("Npy: column-major arrays become row-major") {
  const auto t = ParseNpy(Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
                              std::string("\0\3\1\4\2\5", 6)),
                          nullptr);
  REQUIRE(t.ok());
  CHECK(*ToInt64s(*t) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("Npy: faults of a header") {
  struct Case {
    const char* header;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "its type `>f4`"},
           {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "its type `|O`"},
           {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "cannot be read"},
           {"{'descr': '<f4', 'fortran_order': False, }", "cannot be read"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "cannot be read"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "does not fit its shape"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
            "does not fit its shape"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", "cannot be read"},
           {"{'descr': '<f4', 'shape': (1,), 'shape': (1,), }", "cannot be read"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (), }",
            "cannot be read"},
       }) {
    CAPTURE(c.header);
    const auto t = ParseNpy(Npy(c.header, std::string(4, '\0')), nullptr);
    REQUIRE_FALSE(t.ok());
    CHECK(t.status().message().find(c.message) != std::string::npos);
  }
}

TEST_CASE("Npz: arrays that nobody wants are not read, and others lie in the archive") {
  const Tensor long_enough = Tensor::Int64s({1, 2, 3, 4});  // smaller ones lie in the tensor itself
  auto zip =
      std::make_shared<std::string>(*MakeNpz({{"a", long_enough}, {"b", Tensor::FloatScalar(4)}}));
  const size_t at = zip->find(std::string("\x00\x00\x80\x40", 4));  // 4.0f
  REQUIRE(at != std::string::npos);
  (*zip)[at + 2] = 1;
  CHECK_FALSE(ParseNpz("a.npz", *zip).ok());  // the checksum of b
  const auto wanted = [](const std::string& key) { return key == "a"; };
  const auto arrays = ParseNpz("a.npz", *zip, {.wanted = wanted, .owner = zip});
  REQUIRE(arrays.ok());
  REQUIRE(arrays->size() == 1);
  const std::byte* const data = arrays->front().tensor.bytes().data();
  const auto* const begin = reinterpret_cast<const std::byte*>(zip->data());
  CHECK((data > begin && data < begin + zip->size()));
}

// As archives beyond 4 GB have it: another record says where the directory is.
TEST_CASE("Npz: the directory of a large archive") {
  std::string zip = *MakeNpz(Arrays());
  const size_t end = zip.size() - 22;
  const auto number = [](uint64_t value, size_t width) {
    return std::string(reinterpret_cast<const char*>(&value), width);
  };
  const auto at = [&](size_t place) {
    uint32_t value = 0;
    std::memcpy(&value, zip.data() + place, sizeof value);
    return uint64_t{value};
  };
  const std::string record = "PK\x06\x06" + std::string(28, '\0') + number(4, 8) +
                             number(at(end + 12), 8) + number(at(end + 16), 8);
  const std::string pointer = "PK\x06\x07" + std::string(4, '\0') + number(end, 8) + number(1, 4);
  zip.replace(end + 8, 12, std::string(12, '\xff'));
  CHECK_FALSE(ParseNpz("a.npz", zip).ok());
  const std::string large = zip.substr(0, end) + record + pointer + zip.substr(end);
  const auto back = ParseNpz("a.npz", large);
  REQUIRE_MESSAGE(back.ok(), back.status().message());
  CHECK(back->size() == 4);
  const std::string lost = zip.substr(0, end) + record + pointer.substr(0, 8) +
                           number(large.size(), 8) + number(1, 4) + zip.substr(end);
  CHECK_FALSE(ParseNpz("a.npz", lost).ok());
}

}  // namespace
}  // namespace qrewrite
