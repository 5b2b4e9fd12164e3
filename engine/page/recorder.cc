#include "engine/page/recorder.h"

#include <fstream>

namespace qrewrite {
namespace {

constexpr size_t kMostText = 6000;
constexpr int kMostLines = 80;

std::vector<RecordedNode> Copied(const std::vector<NodeView>& views) {
  std::vector<RecordedNode> nodes;
  for (const NodeView& view : views) {
    nodes.push_back({.op = view.op,
                     .name = std::string(view.name),
                     .inputs = {view.inputs.begin(), view.inputs.end()},
                     .outputs = {view.outputs.begin(), view.outputs.end()}});
  }
  return nodes;
}

std::string Cut(std::string_view text) {
  if (text.size() <= kMostText) return std::string(text);
  return std::string(text.substr(0, kMostText)) + "\n...";
}

std::vector<BindingText> Words(const std::vector<BindingText>& bindings) {
  constexpr size_t kMost = 40, kMostWords = 300;
  std::vector<BindingText> words;
  for (const BindingText& b : bindings) {
    if (words.size() == kMost) break;
    const bool cut = b.text.size() > kMostWords;
    words.push_back({b.name, cut ? b.text.substr(0, kMostWords) + "..." : b.text});
  }
  return words;
}

size_t Indent(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

}  // namespace

RunRecorder::RunRecorder(size_t max_steps) : impl_(std::make_unique<Impl>()) {
  impl_->max_steps = max_steps;
}
RunRecorder::~RunRecorder() = default;

Observer::Answer RunRecorder::OnPhase(const PhaseEvent& event) {
  if (!event.ends) impl_->phase = event.phase;
  return Answer::kContinue;
}

bool RunRecorder::WantsText(std::string_view /*rule*/) {
  return impl_->steps.size() < impl_->max_steps;
}

Observer::Answer RunRecorder::OnFiring(const FiringEvent& event) {
  Impl& run = *impl_;
  const auto [at, added] =
      run.index.try_emplace({std::string(event.set), std::string(event.rule)}, run.rules.size());
  if (added) {
    run.rules.push_back({.set = std::string(event.set),
                         .name = std::string(event.rule),
                         .file = std::string(event.file),
                         .line = event.line});
  }
  ++run.rules[at->second].count;
  const int64_t number = event.number > 0 ? ++run.number : 0;
  if (run.steps.size() >= run.max_steps) return Answer::kContinue;
  const bool changes = event.number > 0;
  run.steps.push_back({.rule = at->second,
                       .phase = run.phase,
                       .number = number,
                       .matched = Copied(event.matched),
                       .created = Copied(event.created),
                       .made = Copied(changes ? event.makers : event.matched),
                       .near_before = Copied(event.near_before),
                       .near_after = Copied(event.near_after),
                       .constants = {event.constants.begin(), event.constants.end()},
                       .bindings = Words(event.bindings),
                       .before = Cut(event.before),
                       .after = Cut(event.after)});
  return Answer::kContinue;
}

std::string RuleSource(const std::string& file, int line) {
  std::ifstream in(file);
  std::string text, one;
  size_t indent = 0;
  bool tests = false;
  for (int at = 1, taken = 0; taken < kMostLines && std::getline(in, one); ++at) {
    if (at < line) continue;
    const bool blank = Indent(one) == one.size();
    if (at == line) {
      indent = Indent(one);
    } else if (!blank && Indent(one) <= indent) {
      break;
    } else if (!blank && Indent(one) <= indent + 2) {  // a key of the rule
      tests = one.find("tests:") == Indent(one);
    }
    if (tests) continue;
    text += one.substr(std::min(indent, one.size())) + "\n";
    ++taken;
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace qrewrite
