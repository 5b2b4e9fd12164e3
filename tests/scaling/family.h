// Family: models (or rule files) that grow with one number and are otherwise regular.
//
// A family is one idea of what could grow faster than its input. It is run by every shipped rule
// set, by some of them, or by rules of its own. A new one is a row in the file of its kind.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "qrewrite/qrewrite.h"

namespace scaling {

enum class Stops {
  kNever,
  kMay,  // a limit may end it at some size, as long as the error says which; until then it grows as others do
  kMust,  // no order of work is near linear: a limit has to end it, with an error that names a rule
};

struct Family {
  std::string name;
  std::string about;    // what is n, and what could grow
  int64_t largest = 0;  // no larger n: what the file format bears, or what shows it already
  std::function<std::string(int64_t n)> model;  // a ModelProto; empty: the rules are only linted
  std::function<std::string(int64_t n)> rules;  // YAML, or JSON in braces; empty: the shipped sets
  Stops stops = Stops::kNever;
  // Of model and rules, instead of rewriting.
  std::function<qrewrite::Status(const qrewrite::Model&, const qrewrite::Rules&)> task = nullptr;
};

std::vector<Family> Chains();        // chains.cc: one operator behind another
std::vector<Family> Quantized();     // quantized.cc: what exporters of quantized models write
std::vector<Family> BehindLayers();  // behind_layers.cc: steps between a layer and its quantizers
std::vector<Family> Wide();          // wide.cc: many readers, inputs, outputs of one thing
std::vector<Family> Constants();     // constants.cc: many constants, and what is computed from them
std::vector<Family> Subgraphs();     // subgraphs.cc: bodies beside and within one another
std::vector<Family> Texts();         // texts.cc: long names, strings, documentation, claims
std::vector<Family> RuleShapes();    // rule_shapes.cc: rules of their own on simple models
std::vector<Family> RuleFiles();     // rule_files.cc: large rule files

}  // namespace scaling
