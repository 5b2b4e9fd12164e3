#include "engine/driver/npz.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>
#include <zlib.h>

#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/driver/npy.h"

namespace qrewrite {
namespace {

// Records of a zip file: signature, size of the fixed part.
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kLocator = 0x07064b50;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kMaxComment = 0xffff,
                 kEnd64Size = 56, kLocatorSize = 20;
constexpr uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1;
constexpr uint16_t kNamesAreUtf8 =
    0x800;  // without this flag names beyond ASCII are in code page 437
constexpr uint64_t kMax32 = 0xffffffff;
constexpr uint16_t kZip64Extra = 1;

uint64_t Read(std::string_view bytes, size_t at, int width) {
  uint64_t value = 0;
  for (int i = width; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<size_t>(i)]);
  return value;
}
void Put(std::string& out, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

struct Entry {
  std::string name;
  uint64_t method = 0, crc = 0, packed = 0, size = 0, offset = 0;
};

Status Bad(const std::string& reason) { return {StatusCode::kUsage, reason}; }

uint32_t Crc(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  while (!bytes.empty()) {  // zlib counts in unsigned int
    const size_t part = std::min<size_t>(bytes.size(), size_t{1} << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(part));
    bytes.remove_prefix(part);
  }
  return static_cast<uint32_t>(crc);
}

// Large sizes are in an extra field, those that the fixed part marks with all ones.
bool ReadZip64(std::string_view extra, Entry& entry) {
  while (extra.size() >= 4) {
    const uint64_t id = Read(extra, 0, 2), size = Read(extra, 2, 2);
    if (size > extra.size() - 4) return false;
    std::string_view field = extra.substr(4, size);
    extra.remove_prefix(4 + size);
    if (id != kZip64Extra) continue;
    for (uint64_t* value : {&entry.size, &entry.packed, &entry.offset}) {
      if (*value != kMax32) continue;
      if (field.size() < 8) return false;
      *value = Read(field, 0, 8);
      field.remove_prefix(8);
    }
  }
  return entry.size != kMax32 && entry.packed != kMax32 && entry.offset != kMax32;
}

// Where the directory lies: [start, start + size), and how many entries it has.
struct End {
  uint64_t count = 0, size = 0, start = 0;
};

// A large archive has a longer record in front of `end`, the usual one, and a pointer to it between the two.
bool ReadZip64End(std::string_view zip, size_t end, End& found) {
  if (end < kLocatorSize + kEnd64Size || Read(zip, end - kLocatorSize, 4) != kLocator) return false;
  const uint64_t at = Read(zip, end - kLocatorSize + 8, 8);
  if (at > end - kLocatorSize - kEnd64Size || Read(zip, at, 4) != kEnd64) return false;
  found = {Read(zip, at + 32, 8), Read(zip, at + 40, 8), Read(zip, at + 48, 8)};
  return true;
}

Result<std::vector<Entry>> Directory(std::string_view zip) {
  if (zip.size() < kEndSize) return Bad("it is no .npz archive");
  const size_t lowest = zip.size() - std::min(zip.size(), kEndSize + kMaxComment);
  size_t end = zip.size() - kEndSize;
  while (Read(zip, end, 4) != kEnd || end + kEndSize + Read(zip, end + 20, 2) != zip.size()) {
    if (end == lowest) return Bad("it is no .npz archive");
    --end;
  }
  End found{Read(zip, end + 10, 2), Read(zip, end + 12, 4), Read(zip, end + 16, 4)};
  const bool large = found.count == 0xffff || found.size == kMax32 || found.start == kMax32;
  const bool read = !large || ReadZip64End(zip, end, found);
  if (!read || found.start > end || found.size > end - found.start)
    return Bad("its directory is damaged");
  std::string_view rest = zip.substr(found.start, found.size);
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < found.count; ++i) {
    if (rest.size() < kCentralSize || Read(rest, 0, 4) != kCentral)
      return Bad("its directory is damaged");
    const uint64_t name = Read(rest, 28, 2), extra = Read(rest, 30, 2), comment = Read(rest, 32, 2);
    if (name + extra + comment > rest.size() - kCentralSize) return Bad("its directory is damaged");
    Entry entry{.name = std::string(rest.substr(kCentralSize, name)),
                .method = Read(rest, 10, 2),
                .crc = Read(rest, 16, 4),
                .packed = Read(rest, 20, 4),
                .size = Read(rest, 24, 4),
                .offset = Read(rest, 42, 4)};
    const bool usable = (Read(rest, 8, 2) & kEncrypted) == 0 &&
                        ReadZip64(rest.substr(kCentralSize + name, extra), entry);
    if (!usable) return Bad(fmt::format("its entry `{}` cannot be read", Printable(entry.name)));
    rest.remove_prefix(kCentralSize + name + extra + comment);
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::string> Inflate(std::string_view packed, uint64_t size) {
  // A deflated byte makes at most 1032: a size beyond that is a lie that memory need not pay for.
  if (size / 1040 > packed.size()) return Bad("its size is wrong");
  if (size > kMax32 || packed.size() > kMax32)
    return Bad("beyond 4 GB arrays are read if they are stored as they are, not compressed");
  std::string out(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Bad("zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) return Bad("its compressed data is damaged");
  return out;
}

// The bytes of an entry, and what keeps them.
struct Content {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

Content Owned(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {*owner, owner};
}

Result<Content> ContentOf(std::string_view zip, const std::shared_ptr<const void>& owner,
                          const Entry& entry) {
  const uint64_t at = entry.offset;
  if (zip.size() < kLocalSize || at > zip.size() - kLocalSize || Read(zip, at, 4) != kLocal) {
    return Bad("its place is wrong");
  }
  const uint64_t start = at + kLocalSize + Read(zip, at + 26, 2) + Read(zip, at + 28, 2);
  if (start > zip.size() || entry.packed > zip.size() - start) return Bad("its data is cut off");
  const std::string_view packed = zip.substr(start, entry.packed);
  Content content{packed, owner};
  if (entry.method == kStored) {
    if (entry.packed != entry.size) return Bad("its size is wrong");
    if (owner == nullptr) content = Owned(std::string(packed));
  } else if (entry.method == kDeflated) {
    QR_ASSIGN_OR_RETURN(std::string out, Inflate(packed, entry.size));
    content = Owned(std::move(out));
  } else {
    return Bad(fmt::format("its compression method {} is not supported", entry.method));
  }
  if (Crc(content.bytes) != entry.crc) return Bad("its checksum is wrong");
  return content;
}

std::string KeyOf(const Entry& entry) {
  const std::string_view name = entry.name;
  return std::string(name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name);
}

Result<Tensor> ReadArray(std::string_view zip, const std::shared_ptr<const void>& owner,
                         const Entry& entry) {
  QR_ASSIGN_OR_RETURN(Content npy, ContentOf(zip, owner, entry));
  return ParseNpy(npy.bytes, std::move(npy.owner));
}

// Local and central headers share these fields. 1980-01-01, the first day that zip knows.
void PutCommon(std::string& out, const Entry& entry) {
  Put(out, 20, 2);  // version needed
  const bool ascii =
      std::ranges::all_of(entry.name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  Put(out, ascii ? 0 : kNamesAreUtf8, 2);  // flags
  Put(out, kStored, 2);
  Put(out, 0, 2);  // time
  Put(out, 0x21, 2);
  Put(out, entry.crc, 4);
  Put(out, entry.size, 4);
  Put(out, entry.size, 4);
  Put(out, entry.name.size(), 2);
  Put(out, 0, 2);  // no extra field
}

}  // namespace

Result<std::vector<NpzArray>> ParseNpz(const std::string& path, std::string_view bytes,
                                       const NpzOptions& options) {
  const auto fault = [&](const Status& status, const std::string& array) {
    const std::string what = array.empty() ? "" : fmt::format("array `{}`: ", Printable(array));
    return Status(status.code(),
                  fmt::format("`{}`: {}{}", Printable(path, 1000), what, Message(status)));
  };
  const Result<std::vector<Entry>> entries = Directory(bytes);
  if (!entries.ok()) return fault(entries.status(), "");
  std::vector<NpzArray> arrays;
  std::set<std::string> keys;
  for (const Entry& entry : *entries) {
    std::string key = KeyOf(entry);
    if (options.wanted && !options.wanted(key)) continue;
    if (!keys.insert(key).second) return fault(Bad("it is there twice"), entry.name);
    Result<Tensor> tensor = ReadArray(bytes, options.owner, entry);
    if (!tensor.ok()) return fault(tensor.status(), entry.name);
    arrays.push_back({std::move(key), *std::move(tensor)});
  }
  return arrays;
}

Result<std::vector<NpzArray>> ReadNpz(const std::string& path) {
  const auto fault = [&] {
    return Status(StatusCode::kIo,
                  fmt::format("cannot read `{}`: {}", Printable(path, 1000), std::strerror(errno)));
  };
  const int fd =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe may have no writer
  if (fd < 0) return fault();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fdopen(fd, "rb"), std::fclose);
  if (file == nullptr) return fault();
  struct stat info = {};
  if (fstat(fd, &info) != 0) return fault();
  if (!S_ISREG(info.st_mode)) {
    return Status(StatusCode::kIo,
                  fmt::format("cannot read `{}`: it is not a regular file", Printable(path, 1000)));
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()) != 0) return fault();
  return ParseNpz(path, bytes);
}

Result<std::string> MakeNpz(const std::vector<NpzArray>& arrays) {
  std::string out, directory;
  for (const NpzArray& array : arrays) {
    QR_ASSIGN_OR_RETURN(const std::string npy, MakeNpy(array.tensor));
    const Entry entry{
        .name = array.key + ".npy", .crc = Crc(npy), .size = npy.size(), .offset = out.size()};
    if (entry.offset + npy.size() + directory.size() > kMax32 - (1 << 20) ||
        entry.name.size() > 0xffff || arrays.size() >= 0xffff) {
      return Status(StatusCode::kLimit, "an .npz file would pass 4 GB or 65534 arrays");
    }
    Put(out, kLocal, 4);
    PutCommon(out, entry);
    out += entry.name + npy;
    Put(directory, kCentral, 4);
    Put(directory, 20, 2);  // version made by
    PutCommon(directory, entry);
    Put(directory, 0, 2);  // no comment
    Put(directory, 0, 2);  // disk
    Put(directory, 0, 2);  // internal attributes
    Put(directory, 0, 4);  // external attributes
    Put(directory, entry.offset, 4);
    directory += entry.name;
  }
  const size_t start = out.size();
  out += directory;
  Put(out, kEnd, 4);
  Put(out, 0, 4);  // disks
  Put(out, arrays.size(), 2);
  Put(out, arrays.size(), 2);
  Put(out, directory.size(), 4);
  Put(out, start, 4);
  Put(out, 0, 2);  // no comment
  return out;
}

}  // namespace qrewrite
