#include "engine/onnx_io/wire.h"

#include <doctest/doctest.h>

#include <vector>

namespace qrewrite {
namespace {

std::string Field(int number, std::string_view bytes) {
  std::string out;
  PutBytes(out, number, bytes);
  return out;
}

TEST_CASE("Wire: reads what was put") {
  std::string text;
  PutInt(text, 1, -1);
  PutInt(text, 200, 300);
  PutFloat(text, 3, 0.5f);
  PutBytes(text, 4, "hello");
  WireReader fields(text);
  const WireField* f = fields.Next();
  REQUIRE(f != nullptr);
  CHECK(f->IsVarint(1));
  CHECK(static_cast<int64_t>(f->value) == -1);
  f = fields.Next();
  CHECK(f->number == 200);
  CHECK(f->value == 300);
  CHECK(fields.Next()->AsFloat() == 0.5f);
  f = fields.Next();
  CHECK(f->IsBytes(4));
  CHECK_FALSE(f->IsVarint(4));
  CHECK(f->bytes == "hello");
  CHECK(f->whole == Field(4, "hello"));
  CHECK(fields.Next() == nullptr);
  CHECK(fields.ok());
}

TEST_CASE("Wire: malformed messages end with ok() == false") {
  const std::string overlong(11, '\xff');
  for (const std::string& bad : std::vector<std::string>{
           Field(1, "hello").substr(0, 4),                  // cut off
           "\x08",                                          // tag without value
           "\x09\x01",                                      // 8 bytes announced
           "\x0d\x01",                                      // 4 bytes announced
           "\x0e",                                          // wire type 6
           std::string("\x00\x00", 2),                      // field number 0
           "\x0c",                                          // end of a group that was not opened
           "\x0b",                                          // group without end
           "\x0b\x14",                                      // group that ends with another number
           overlong,                                        // tag longer than a varint
           "\x0a" + overlong,                               // length longer than a varint
           "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  // length near 2^64
       }) {
    CAPTURE(bad.size());
    CHECK_FALSE(IsWellFormed(bad));
  }
}

TEST_CASE("Wire: groups are one field, however deep up to a limit") {
  const std::string group = "\x0b\x10\x05\x0c";  // group 1 with field 2
  WireReader fields(group);
  CHECK(fields.Next()->whole == group);
  CHECK(fields.Next() == nullptr);
  CHECK(fields.ok());
  CHECK(IsWellFormed(std::string(50, '\x0b') + std::string(50, '\x0c')));
  CHECK_FALSE(IsWellFormed(std::string(100000, '\x0b') + std::string(100000, '\x0c')));
}

TEST_CASE("Wire: repeated numbers, packed or not") {
  std::string packed;
  for (const uint64_t v : {uint64_t{1}, uint64_t{300}, ~uint64_t{0}}) PutVarint(packed, v);
  std::string text = Field(7, packed);
  PutInt(text, 7, 5);
  std::vector<uint64_t> values;
  WireReader fields(text);
  while (const WireField* f = fields.Next()) {
    CHECK(ForEachVarint(*f, [&](uint64_t v) { values.push_back(v); }));
  }
  CHECK(values == std::vector<uint64_t>{1, 300, ~uint64_t{0}, 5});
  WireField cut{.number = 7, .type = WireType::kBytes, .bytes = "\x01\x80"};
  CHECK_FALSE(ForEachVarint(cut, [](uint64_t) {}));
}

TEST_CASE("Wire: the last of several singular fields counts") {
  CHECK(FindBytes(Field(1, "a") + Field(2, "b") + Field(1, "c"), 1) == "c");
  CHECK(FindBytes(Field(1, "a"), 3).empty());
  CHECK(ContentOf(Field(9, "content")) == "content");
}

}  // namespace
}  // namespace qrewrite
