// Wire: the protobuf wire format, read and written field by field.
//
// Models are walked here instead of being parsed into message objects: a field is a slice of the
// file, so weights are not copied, and what we do not know is copied back verbatim.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace qrewrite {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

struct WireField {
  int number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // of a varint or a fixed-width field
  std::string_view bytes;  // of a kBytes field: its content
  std::string_view whole;  // the field with its tag

  // A known number with another wire type counts as an unknown field, as in protobuf itself.
  bool IsBytes(int n) const { return number == n && type == WireType::kBytes; }
  bool IsVarint(int n) const { return number == n && type == WireType::kVarint; }
  float AsFloat() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
};

// Iterates over the fields of one message. A group is one field; what is in it is checked, not
// shown.
class WireReader {
 public:
  explicit WireReader(std::string_view message)
      : begin_(message.data()), at_(begin_), end_(begin_ + message.size()) {}

  // The next field, or null at the end and at a fault. Valid until the next call.
  const WireField* Next() {
    // Nearly all fields: a tag of one byte, and up to 127 bytes or a number below 128.
    const auto left = end_ - at_;
    const auto byte = [this](int i) { return static_cast<uint8_t>(at_[i]); };
    if (!ok_ || left < 2 || byte(0) < 8 || byte(0) >= 0x80 || byte(1) >= 0x80) return NextOfAny();
    const auto type = static_cast<WireType>(byte(0) & 7);
    size_t size = 0;
    if (type == WireType::kBytes && byte(1) <= left - 2) {
      size = byte(1);
    } else if (type == WireType::kVarint) {
      field_.value = byte(1);
    } else {
      return NextOfAny();
    }
    field_.number = byte(0) >> 3;
    field_.type = type;
    field_.bytes = {at_ + 2, size};
    field_.whole = {at_, size + 2};
    at_ += size + 2;
    return &field_;
  }
  bool ok() const { return ok_; }
  size_t offset() const { return static_cast<size_t>(at_ - begin_); }  // of the fault, if !ok()

 private:
  const WireField* NextOfAny();
  bool ReadVarint(uint64_t* value);
  bool ReadField(WireField* field);
  bool SkipGroup(int number);

  const char* begin_;
  const char* at_;
  const char* end_;
  bool ok_ = true;
  WireField field_;
};

// Whether `message` is well-formed on this level.
bool IsWellFormed(std::string_view message);

// The content of a bytes field that was kept whole (WireField::whole).
std::string_view ContentOf(std::string_view whole_field);

// Content of the last bytes field `number` of a message, or "".
std::string_view FindBytes(std::string_view message, int number);

// Decodes one varint at the front of `bytes` and removes it; false if it is cut off or too long.
bool TakeVarint(std::string_view* bytes, uint64_t* value);

// Calls `f(uint64_t)` for each element of a repeated varint field, packed or not. False: malformed.
template <class F>
bool ForEachVarint(const WireField& field, F&& f) {
  if (field.type == WireType::kVarint) {
    f(field.value);
    return true;
  }
  if (field.type != WireType::kBytes) return true;  // another wire type: an unknown field
  std::string_view rest = field.bytes;
  while (!rest.empty()) {
    uint64_t value = 0;
    if (!TakeVarint(&rest, &value)) return false;
    f(value);
  }
  return true;
}

// --- writing: each appends one field to `out`.
void PutVarint(std::string& out, uint64_t value);  // the bare number
void PutTag(std::string& out, int number, WireType type);
void PutInt(std::string& out, int number, int64_t value);
void PutFloat(std::string& out, int number, float value);
void PutBytes(std::string& out, int number, std::string_view bytes);
// Tag and length of a bytes field whose content follows.
void PutBytesHeader(std::string& out, int number, uint64_t size);

}  // namespace qrewrite
