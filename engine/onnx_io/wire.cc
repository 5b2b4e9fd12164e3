#include "engine/onnx_io/wire.h"

#include <cstring>

namespace qrewrite {
namespace {

constexpr int kMaxGroupDepth = 100;

}  // namespace

bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  uint64_t result = 0;
  for (size_t i = 0; i < bytes->size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>((*bytes)[i]);
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = result;
      bytes->remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool WireReader::ReadVarint(uint64_t* value) {
  if (at_ < end_ && static_cast<uint8_t>(*at_) < 0x80) {
    *value = static_cast<uint8_t>(*at_++);
    return true;
  }
  std::string_view rest(at_, static_cast<size_t>(end_ - at_));
  if (!TakeVarint(&rest, value)) return false;
  at_ = rest.data();
  return true;
}

bool WireReader::ReadField(WireField* field) {
  const char* start = at_;
  uint64_t tag = 0;
  if (!ReadVarint(&tag) || tag > 0xffffffffu || (tag >> 3) == 0) return false;
  field->number = static_cast<int>(tag >> 3);
  field->type = static_cast<WireType>(tag & 7);
  field->bytes = {};
  const auto left = static_cast<uint64_t>(end_ - at_);
  switch (field->type) {
    case WireType::kVarint:
      if (!ReadVarint(&field->value)) return false;
      break;
    case WireType::kFixed64:
    case WireType::kFixed32: {
      const size_t size = field->type == WireType::kFixed64 ? 8 : 4;
      if (left < size) return false;
      field->value = 0;
      std::memcpy(&field->value, at_, size);  // the wire is little endian, and so are we
      at_ += size;
      break;
    }
    case WireType::kBytes: {
      uint64_t size = 0;
      if (!ReadVarint(&size) || size > static_cast<uint64_t>(end_ - at_)) return false;
      field->bytes = {at_, static_cast<size_t>(size)};
      at_ += size;
      break;
    }
    case WireType::kGroup:
    case WireType::kEndGroup: break;  // the caller pairs them
    default: return false;
  }
  field->whole = {start, static_cast<size_t>(at_ - start)};
  return true;
}

bool WireReader::SkipGroup(int number) {
  int open[kMaxGroupDepth];
  int depth = 0;
  open[depth++] = number;
  WireField inner;
  while (depth > 0) {
    if (at_ >= end_ || !ReadField(&inner)) return false;
    if (inner.type == WireType::kGroup) {
      if (depth == kMaxGroupDepth) return false;
      open[depth++] = inner.number;
    } else if (inner.type == WireType::kEndGroup && open[--depth] != inner.number) {
      return false;
    }
  }
  return true;
}

const WireField* WireReader::NextOfAny() {
  if (!ok_ || at_ >= end_) return nullptr;
  const char* start = at_;
  ok_ = ReadField(&field_) && field_.type != WireType::kEndGroup;
  if (ok_ && field_.type == WireType::kGroup) {
    ok_ = SkipGroup(field_.number);
    field_.whole = {start, static_cast<size_t>(at_ - start)};
  }
  if (!ok_) at_ = start;
  return ok_ ? &field_ : nullptr;
}

bool IsWellFormed(std::string_view message) {
  WireReader fields(message);
  while (fields.Next() != nullptr) {
  }
  return fields.ok();
}

std::string_view ContentOf(std::string_view whole_field) {
  WireReader fields(whole_field);
  const WireField* field = fields.Next();
  return field == nullptr ? std::string_view() : field->bytes;
}

std::string_view FindBytes(std::string_view message, int number) {
  std::string_view found;
  WireReader fields(message);
  while (const WireField* field = fields.Next()) {
    if (field->IsBytes(number)) found = field->bytes;
  }
  return found;
}

void PutVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void PutTag(std::string& out, int number, WireType type) {
  PutVarint(out, static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type));
}

void PutInt(std::string& out, int number, int64_t value) {
  PutTag(out, number, WireType::kVarint);
  PutVarint(out, static_cast<uint64_t>(value));
}

void PutFloat(std::string& out, int number, float value) {
  PutTag(out, number, WireType::kFixed32);
  const auto bits = std::bit_cast<uint32_t>(value);
  out.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
}

void PutBytesHeader(std::string& out, int number, uint64_t size) {
  PutTag(out, number, WireType::kBytes);
  PutVarint(out, size);
}

void PutBytes(std::string& out, int number, std::string_view bytes) {
  PutBytesHeader(out, number, bytes.size());
  out += bytes;
}

}  // namespace qrewrite
