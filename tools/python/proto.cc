// onnx.ModelProto, piece by piece: the message that the library reads, and the message that is made of what it writes.
//
// Python's protobuf takes and gives bytes as copies, and fresh memory costs more than the copy. What is written is
// therefore never in memory as a whole: a few ten kB at a time are merged into the message, and the data of a
// large tensor is set from an object of its own, the caller's if it is still that.
#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "engine/onnx_io/wire.h"
#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

// Of ONNX's messages; the numbers of fields never change.
constexpr int kGraph = 7;        // of ModelProto
constexpr int kInitializer = 5;  // of GraphProto
constexpr int kRawData = 9;      // of TensorProto

constexpr size_t kMerged = size_t{1} << 15;  // so much at once: it stays in the cache
constexpr uint64_t kLarge = uint64_t{1} << 16;

// A message of which one field, a message itself, is put together of parts.
class Joiner {
 public:
  // `around`: the other fields.
  explicit Joiner(const nb::bytes& around)
      : around_(around.c_str(), around.size()), begin_(around_.size() + kHeader), joined_(begin_) {
    joined_.Append({});
  }

  void Add(std::string_view bytes) { joined_.Append(bytes); }

  // `contents`: an iterable of bytes objects, each the content of a field `number`. None is kept.
  void Extend(int number, const nb::iterable& contents) {
    std::string header;
    for (const nb::handle content : contents) {
      const std::string_view bytes = BytesIn(content);
      header.clear();
      PutBytesHeader(header, number, bytes.size());
      Add(header);
      Add(bytes);
    }
  }

  // The message, whose field `number` has all that was added. The last call.
  ConstBytes Finish(int number) {
    joined_.Finish();
    std::string front = around_;
    PutBytesHeader(front, number, joined_.size() - begin_);
    std::byte* const at = joined_.data() + (begin_ - front.size());
    std::memcpy(at, front.data(), front.size());
    return {std::span<const std::byte>(at, front.size() + joined_.size() - begin_),
            joined_.memory()};
  }

 private:
  static constexpr size_t kHeader = 16;  // tag and length, which is known at the end

  std::string around_;
  size_t begin_;  // of the parts
  GrowingBytes joined_;
};

// Takes a ModelProto in chunks and merges it into a message of Python. Looks into the graph and into large
// initializers; everything else is merged as it is. Write is called without the lock.
class Filler {
 public:
  // `originals`: objects whose bytes may be among what is written; {address: bytes object}.
  Filler(nb::object model, std::unordered_map<const char*, nb::object> originals)
      : originals_(std::move(originals)) {
    levels_.push_back({std::move(model), 0});
  }

  void Begin(uint64_t size) { levels_.front().left = size; }

  void Write(std::string_view chunk) {
    while (!chunk.empty()) {
      if (state_ == State::kHeader) {
        header_ += chunk.front();
        chunk.remove_prefix(1);
        if (ReadHeader()) BeginField();
        continue;
      }
      if (state_ == State::kData && !raw_.is_valid()) BeginData(chunk);
      const size_t size = std::min<uint64_t>(left_, chunk.size());
      if (state_ == State::kKept) {
        pending_.append(chunk, 0, size);
      } else if (data_ != nullptr) {
        std::memcpy(data_, chunk.data(), size);
        data_ += size;
      }
      chunk.remove_prefix(size);
      left_ -= size;
      if (left_ == 0) EndField();
    }
  }

  void Finish() { Merge(); }

 private:
  enum class State {
    kHeader,  // of the next field
    kKept,    // content that goes into `pending_`
    kData,    // content that becomes raw_data
  };
  struct Level {
    nb::object message;
    uint64_t left;  // bytes of it that are still to come
  };

  // Whether the header is complete: tag, and the length or the number that follows.
  bool ReadHeader() {
    std::string_view rest = header_;
    uint64_t tag = 0;
    if (!TakeVarint(&rest, &tag)) return TooLong();
    number_ = static_cast<int>(tag >> 3);
    type_ = static_cast<WireType>(tag & 7);
    left_ = type_ == WireType::kFixed64 ? 8 : type_ == WireType::kFixed32 ? 4 : 0;
    if (type_ != WireType::kVarint && type_ != WireType::kBytes) return true;
    uint64_t value = 0;
    if (!TakeVarint(&rest, &value)) return TooLong();
    if (type_ == WireType::kBytes) left_ = value;
    return true;
  }
  bool TooLong() const {
    if (header_.size() > 20) throw std::runtime_error("a damaged message");
    return false;
  }

  void BeginField() {
    Level& level = levels_.back();
    level.left -= header_.size();
    const bool nested = type_ == WireType::kBytes;
    if (type_ == WireType::kGroup || type_ == WireType::kEndGroup) left_ = level.left;
    level.left -= left_;
    if (nested && levels_.size() == 1 && number_ == kGraph) return Enter("graph");
    if (nested && levels_.size() == 2 && number_ == kInitializer && left_ >= kLarge) {
      return Enter("initializer");
    }
    if (nested && levels_.size() == 3 && number_ == kRawData && left_ >= kLarge) {
      header_.clear();
      state_ = State::kData;
      return;
    }
    pending_ += header_;
    header_.clear();
    state_ = State::kKept;
    if (left_ == 0) EndField();
  }

  void Enter(const char* field) {
    Merge();
    const uint64_t size = left_;
    header_.clear();
    InPython([&] {
      nb::object message = levels_.back().message.attr(field);
      if (levels_.size() == 1) {
        message.attr("SetInParent")();
      } else {
        message = message.attr("add")();
      }
      levels_.push_back({std::move(message), size});
    });
    LeaveComplete();
  }

  // `chunk`: what is there of the data.
  void BeginData(std::string_view chunk) {
    Merge();
    InPython([&] {
      const auto it = originals_.find(chunk.data());
      if (it != originals_.end() && chunk.size() >= left_ && BytesIn(it->second).size() == left_) {
        raw_ = it->second;
        data_ = nullptr;
        return;
      }
      raw_ = NewBytes(left_);
      data_ = PyBytes_AsString(raw_.ptr());
    });
  }

  void EndField() {
    if (state_ == State::kData) {
      InPython([&] {
        levels_.back().message.attr("raw_data") = raw_;
        raw_.reset();
      });
      data_ = nullptr;
    } else if (pending_.size() >= kMerged) {
      Merge();
    }
    state_ = State::kHeader;
    LeaveComplete();
  }

  void LeaveComplete() {
    state_ = State::kHeader;
    while (levels_.size() > 1 && levels_.back().left == 0) {
      Merge();
      InPython([&] { levels_.pop_back(); });
    }
  }

  void Merge() {
    if (pending_.empty()) return;
    InPython([&] {
      levels_.back().message.attr("MergeFromString")(nb::bytes(pending_.data(), pending_.size()));
    });
    pending_.clear();
  }

  std::unordered_map<const char*, nb::object> originals_;
  std::vector<Level> levels_;
  State state_ = State::kHeader;
  std::string header_;   // as far as it is there
  std::string pending_;  // whole fields, and the one that is coming
  int number_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t left_ = 0;  // of the content of this field
  nb::object raw_;
  char* data_ = nullptr;  // where the next bytes of `raw_` go; null: it has them
};

// Merges the model into `message`, a ModelProto. `originals`: bytes objects that the model may consist of.
void Fill(const Model& model, nb::object message, const nb::sequence& originals) {
  CallbackScope scope;
  std::unordered_map<const char*, nb::object> by_address;
  for (const nb::handle original : originals) {
    by_address.emplace(BytesIn(original).data(), nb::borrow(original));
  }
  Filler filler(std::move(message), std::move(by_address));
  scope.Check(Unlocked([&] {
    return model.Serialize(
        [&](uint64_t size) {
          filler.Begin(size);
          return Status();
        },
        [&](std::string_view chunk) {
          filler.Write(chunk);
          return Status();
        },
        std::numeric_limits<uint64_t>::max());
  }));
  filler.Finish();
}

// Merges the serialized ModelProto in `buffer` into `message`: what MergeFromString does, without a copy of the whole.
void Merge(nb::object message, nb::handle buffer) {
  const ConstBytes bytes = BytesOf(buffer);
  Filler filler(std::move(message), {});
  filler.Begin(bytes.size());
  filler.Write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  filler.Finish();
}

}  // namespace

void BindProto(nb::module_& m) {
  nb::class_<Joiner>(m, "Joiner")
      .def(nb::init<const nb::bytes&>())
      .def("add", [](Joiner& joiner, const nb::bytes& bytes) { joiner.Add(BytesIn(bytes)); })
      .def("extend",
           [](Joiner& joiner, int number, const nb::iterable& contents) {
             OrWaitForTheEnd([&] { joiner.Extend(number, contents); });
           })
      .def("finish", &Joiner::Finish);
  m.def("raw_data", [](const nb::object& tensor) { return nb::cast<nb::bytes>(RawData(tensor)); });
  m.def("fill", Fill);
  m.def("merge", Merge);
}

}  // namespace qrewrite::python
