#include "engine/rule/snapshot.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "engine/base/check.h"
#include "engine/rule/files.h"
#include "engine/rule/snapshot_fields.h"

namespace qrewrite {
namespace {

namespace fs = std::filesystem;
using SetPtr = std::shared_ptr<const RuleSet>;

// --- what kind of type something is

template <class T, template <class...> class Of>
constexpr bool kIs = false;
template <template <class...> class Of, class... A>
constexpr bool kIs<Of<A...>, Of> = true;

template <class T>
concept Sequence = !std::is_same_v<T, std::string> && requires(T & x) {
  x.emplace_back();
  x.reserve(1);
};
template <class T>
concept Perhaps = kIs<T, std::optional> || kIs<T, std::unique_ptr>;

// What a rule file cannot spell as the default of an attribute.
template <class T>
constexpr bool kNeverStored = std::is_same_v<T, Tensor> || std::is_same_v<T, std::vector<Tensor>> ||
                              std::is_same_v<T, BodyId> || std::is_same_v<T, std::vector<BodyId>> ||
                              std::is_same_v<T, AttrReference> || std::is_same_v<T, AttrOpaque>;

// Which members an expression has at something else than their defaults; most are names, and have none.
enum Has : uint8_t {
  kDType = 1,
  kBinary = 2,
  kUnary = 4,
  kUlps = 8,
  kNumber = 16,
  kItems = 32,
  kCall = 64,
  kDetails = 128
};

// Small numbers of either sign as small numbers.
uint64_t ZigZag(int64_t number) {
  return (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
}
int64_t UnZigZag(uint64_t number) {
  return static_cast<int64_t>(number >> 1) ^ -static_cast<int64_t>(number & 1);
}

// A text, but for one chance in 2^64.
uint64_t Fingerprint(std::string_view text) { return std::hash<std::string_view>()(text); }

class Writer {
 public:
  explicit Writer(const std::vector<SourcePtr>& sources) {
    for (const SourcePtr& source : sources) sources_.push_back(source.get());
  }

  std::string Take() { return std::move(bytes_); }

  void Number(uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_ += static_cast<char>(number | 0x80);
    bytes_ += static_cast<char>(number);
  }

  template <class T>
  void Put(const T& x) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) {
      Number(static_cast<uint64_t>(x));
    } else if constexpr (std::is_unsigned_v<T>) {
      Number(x);
    } else if constexpr (std::is_integral_v<T>) {
      Number(ZigZag(x));
    } else if constexpr (std::is_floating_point_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&x), sizeof x);
    } else if constexpr (std::is_same_v<T, std::string>) {
      Number(x.size());
      bytes_ += x;
    } else if constexpr (Perhaps<T>) {
      Put(static_cast<bool>(x));
      if (x) Put(*x);
    } else if constexpr (kIs<T, std::pair>) {
      Put(x.first);
      Put(x.second);
    } else if constexpr (kIs<T, std::map>) {
      Number(x.size());
      for (const auto& entry : x) Put(entry);
    } else if constexpr (Sequence<T>) {
      Number(x.size());
      for (const auto& item : x) Put(item);
    } else if constexpr (kIs<T, std::variant>) {
      Number(x.index());
      std::visit([this](const auto& held) { this->PutHeld(held); }, x);
    } else {
      std::apply([this](const auto&... fields) { (this->Put(fields), ...); }, FieldsOf(x));
    }
  }

  void Put(const Place& place) {
    Number(place.source == nullptr ? 0 : NumberOf(place.source));
    Number(ZigZag(static_cast<int64_t>(place.begin) - last_));
    Number(ZigZag(static_cast<int64_t>(place.end) - place.begin));
    last_ = place.begin;
  }

  void Put(const Expr& e) {
    const uint64_t number =
        e.kind == Expr::Kind::kFloat ? std::bit_cast<uint64_t>(e.float_value) : ZigZag(e.int_value);
    Put(e.kind);
    Put(e.place);
    Put(e.text);
    const int has = (e.dtype != DType::kUndefined ? kDType : 0) |
                    (e.binary != BinaryOp::kAdd ? kBinary : 0) |
                    (e.unary != UnaryOp::kNegate ? kUnary : 0) | (e.ulps != 0 ? kUlps : 0) |
                    (number != 0 ? kNumber : 0) | (!e.items.empty() ? kItems : 0) |
                    (e.has_call() ? kCall : 0) | (e.has_details() ? kDetails : 0);
    Number(has);
    if (has & kDType) Put(e.dtype);
    if (has & kBinary) Put(e.binary);
    if (has & kUnary) Put(e.unary);
    if (has & kUlps) Put(e.ulps);
    if (has & kNumber) Number(number);
    if (has & kItems) Put(e.items);
    if (has & kCall) Put(e.call());
    if (has & kDetails) Put(e.details());
  }

  // Phases may use one set several times.
  void Put(const SetPtr& set) {
    if (set == nullptr) return Number(0);
    const auto [known, is_new] = sets_.emplace(set.get(), sets_.size() + 1);
    Number(known->second);
    if (is_new) Put(*set);
  }

  void Put(const RuleSet& set) {
    Number(set.sources.size());
    for (const SourcePtr& source : set.sources) Number(NumberOf(source.get()));
    std::apply([this](const auto&... fields) { (this->Put(fields), ...); },
               FieldsOf(set, OfType<RuleSet>()));
    Number(set.signatures.own().size());
    for (const auto& [op, versions] : set.signatures.own()) Put(versions);
  }

 private:
  template <class T>
  void PutHeld(const T& held) {
    if constexpr (kNeverStored<T>) {
      QR_CHECK(!"a default that rule files cannot spell");
    } else if constexpr (!std::is_same_v<T, std::monostate>) {
      Put(held);
    }
  }

  uint64_t NumberOf(const SourceText* source) const {
    const auto found = std::find(sources_.begin(), sources_.end(), source);
    QR_CHECK(found != sources_.end());
    return static_cast<uint64_t>(found - sources_.begin()) + 1;
  }

  std::string bytes_;
  std::vector<const SourceText*> sources_;  // numbers from 1
  std::map<const RuleSet*, size_t> sets_;
  int64_t last_ = 0;  // where the place before began
};

class Reader {
 public:
  Reader(std::string_view bytes, std::vector<SourcePtr> sources)
      : at_(bytes.data()), end_(at_ + bytes.size()), sources_(std::move(sources)) {}

  bool done() const { return at_ == end_; }
  std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }

  uint64_t Number() {
    QR_CHECK(at_ != end_);
    const auto first = static_cast<uint8_t>(*at_++);
    return first < 0x80 ? first : Longer(first);  // most are small
  }

  std::string_view Text() {
    const size_t size = Number();
    return {Bytes(size), size};
  }

  template <class T>
  void Get(T& x) {
    if constexpr (std::is_enum_v<T> || std::is_unsigned_v<T>) {  // also bool
      x = static_cast<T>(Number());
    } else if constexpr (std::is_integral_v<T>) {
      x = static_cast<T>(UnZigZag(Number()));
    } else if constexpr (std::is_floating_point_v<T>) {
      std::memcpy(&x, Bytes(sizeof x), sizeof x);
    } else if constexpr (std::is_same_v<T, std::string>) {
      x = Text();
    } else if constexpr (kIs<T, std::optional>) {
      if (Number() != 0) Get(x.emplace());
    } else if constexpr (kIs<T, std::unique_ptr>) {
      if (Number() == 0) return;
      x = std::make_unique<typename T::element_type>();
      Get(*x);
    } else if constexpr (kIs<T, std::pair>) {
      Get(x.first);
      Get(x.second);
    } else if constexpr (kIs<T, std::map>) {
      for (size_t left = Number(); left > 0; --left) {
        typename T::key_type key;
        Get(key);
        Get(x.emplace_hint(x.end(), std::move(key), typename T::mapped_type())->second);
      }
    } else if constexpr (Sequence<T>) {
      const size_t size = Number();
      x.reserve(size);
      for (size_t i = 0; i < size; ++i) Get(x.emplace_back());
    } else if constexpr (kIs<T, std::variant>) {
      GetHeld(x, Number(), std::make_index_sequence<std::variant_size_v<T>>());
    } else {
      std::apply([this](auto&... fields) { (this->Get(fields), ...); }, FieldsOf(x));
    }
  }

  void Get(Place& place) {
    const size_t source = Number();
    place.source = source == 0 ? nullptr : sources_[source - 1].get();
    last_ += UnZigZag(Number());
    place.begin = static_cast<uint32_t>(last_);
    place.end = static_cast<uint32_t>(last_ + UnZigZag(Number()));
  }

  void Get(Expr& e) {
    Get(e.kind);
    Get(e.place);
    Get(e.text);
    const uint64_t has = Number();
    if (has & kDType) Get(e.dtype);
    if (has & kBinary) Get(e.binary);
    if (has & kUnary) Get(e.unary);
    if (has & kUlps) Get(e.ulps);
    const uint64_t number = has & kNumber ? Number() : 0;
    if (e.kind == Expr::Kind::kFloat) {
      e.float_value = std::bit_cast<double>(number);
    } else {
      e.int_value = UnZigZag(number);
    }
    if (has & kItems) Get(e.items);
    if (has & kCall) Get(e.mutable_call());
    if (has & kDetails) Get(e.mutable_details());
  }

  void Get(SetPtr& set) {
    const size_t number = Number();
    if (number == 0) return;
    if (number > sets_.size()) {
      auto made = std::make_shared<RuleSet>();
      sets_.push_back(made);
      Get(*made);
    }
    set = sets_[number - 1];
  }

  void Get(RuleSet& set) {
    for (size_t left = Number(); left > 0; --left) set.sources.push_back(sources_[Number() - 1]);
    std::apply([this](auto&... fields) { (this->Get(fields), ...); },
               FieldsOf(set, OfType<RuleSet>()));
    for (size_t left = Number(); left > 0; --left) {
      std::vector<Signature> versions;
      Get(versions);
      for (Signature& version : versions) set.signatures.Add(std::move(version));
    }
    set.IndexNames();
  }

 private:
  // The number whose first byte says that there are others.
  [[gnu::noinline]] uint64_t Longer(uint8_t first) {
    uint64_t number = first & 0x7f;
    for (int shift = 7;; shift += 7) {
      QR_CHECK(at_ != end_);
      const auto byte = static_cast<uint8_t>(*at_++);
      if (byte < 0x80) return number | static_cast<uint64_t>(byte) << shift;
      number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    }
  }

  const char* Bytes(size_t count) {
    QR_CHECK(count <= static_cast<size_t>(end_ - at_));
    return std::exchange(at_, at_ + count);
  }

  template <class T, size_t... I>
  void GetHeld(T& x, size_t index, std::index_sequence<I...>) {
    (void)((I == index && (GetAs<I>(x), true)) || ...);
  }
  template <size_t I, class T>
  void GetAs(T& x) {
    using Held = std::variant_alternative_t<I, T>;
    if constexpr (!kNeverStored<Held>) {
      auto& held = x.template emplace<I>();
      if constexpr (!std::is_same_v<Held, std::monostate>) Get(held);
    }
  }

  const char* at_;
  const char* end_;
  std::vector<SourcePtr> sources_;
  std::vector<SetPtr> sets_;
  int64_t last_ = 0;
};

// What a snapshot says of its files: the paths of those that the first one includes, as seen from it, and what they held.
void PutSources(const std::vector<SourcePtr>& sources, Writer& out) {
  const fs::path folder = fs::path(sources.front()->name()).parent_path().lexically_normal();
  out.Number(sources.size());
  for (const SourcePtr& source : sources) {
    const bool first = source == sources.front();
    out.Put(first ? "" : fs::path(source->name()).lexically_relative(folder).generic_string());
    out.Put(source->text().size());
    out.Put(Fingerprint(source->text()));
  }
}

// The files at `path`, which holds `text`, if they hold now what they held then; else nothing, and `text` stays.
std::vector<SourcePtr> SourcesOf(Reader& snapshot, const std::string& path, std::string& text) {
  std::vector<std::pair<std::string, std::string>> files;  // path, text
  for (size_t left = snapshot.Number(), i = 0; i < left; ++i) {
    const std::string_view included = snapshot.Text();
    const size_t size = snapshot.Number();
    const uint64_t fingerprint = snapshot.Number();
    const auto holds = [&](std::string_view now) {
      return now.size() == size && Fingerprint(now) == fingerprint;
    };
    if (i == 0) {
      if (!holds(text)) return {};
      files.emplace_back(path, "");
      continue;
    }
    std::string name = IncludedPath(path, included, nullptr);
    Result<std::string> now = ReadRuleFile(name, Pipes::kRefused);
    if (!now.ok() || !holds(*now)) return {};
    files.emplace_back(std::move(name), *std::move(now));
  }
  files.front().second = std::move(text);
  std::vector<SourcePtr> sources;
  for (auto& [name, held] : files) {
    sources.push_back(std::make_shared<SourceText>(std::move(name), std::move(held)));
  }
  return sources;
}

}  // namespace

std::string MakeSnapshot(const RuleSet& set, bool tests) {
  Writer out(set.sources);
  out.Put(tests);
  PutSources(set.sources, out);
  out.Put(set);
  const std::string bytes = out.Take();
  Writer framed({});
  framed.Put(bytes);
  return framed.Take();
}

std::shared_ptr<const RuleSet> RestoreSnapshot(std::string_view snapshots, const std::string& path,
                                               std::string& text, bool tests) {
  if (path.ends_with(".json")) return nullptr;  // would be read as such
  for (Reader all(snapshots, {}); !all.done();) {
    Reader head(all.Text(), {});
    if ((head.Number() != 0) != tests) continue;
    std::vector<SourcePtr> sources = SourcesOf(head, path, text);
    if (sources.empty()) continue;
    auto set = std::make_shared<RuleSet>();
    Reader(head.rest(), std::move(sources)).Get(*set);
    return set;
  }
  return nullptr;
}

}  // namespace qrewrite
