// What a RunRecorder noted: events with texts of their own.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "qrewrite/page.h"

namespace qrewrite {

struct RecordedNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;
};

struct RecordedRule {
  std::string set, name, file;
  int line = 0;
  int64_t count = 0;
};

struct RecordedStep {
  size_t rule = 0;  // of Impl::rules
  std::string phase;
  int64_t number = 0;  // 0: it changed nothing
  std::vector<RecordedNode> matched, created, made, near_before, near_after;
  std::vector<std::string> constants;
  std::vector<BindingText> bindings;
  std::string before, after;
};

struct RunRecorder::Impl {
  size_t max_steps = 0;
  std::vector<RecordedRule> rules;
  std::map<std::pair<std::string, std::string>, size_t> index;  // by set and rule
  std::vector<RecordedStep> steps;
  std::string phase;
  int64_t number = 0;  // over all runs
};

// The rule as its file spells it, without its tests; "" if the file cannot be read.
std::string RuleSource(const std::string& file, int line);

}  // namespace qrewrite
