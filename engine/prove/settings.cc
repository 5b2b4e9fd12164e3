// Which parameters of the rule set graphs are tried with.
#include <utility>

#include "engine/prove/rule_proof.h"
#include "engine/rule/literal.h"

namespace qrewrite {

// Parameters of the rule set, now and then other than their defaults.
std::map<std::string, std::string> RuleProof::SomeSettings(Dice& dice) const {
  std::map<std::string, std::string> settings;
  for (const Param& param : court_.program.rules().params) {
    if (!dice.Once(4)) continue;
    if (!param.one_of.empty()) settings[param.name] = LiteralText(dice.Of(param.one_of));
    if (param.type == ParamType::kBool) settings[param.name] = dice.Once(2) ? "true" : "false";
  }
  return settings;
}

// What the parameters that the rule asks may be; true and false of flags.
void RuleProof::AddSettings(const Seed& seed) {
  for (const Param* const param : asked_params_) {
    std::vector<std::string> values;
    for (const Literal& value : param->one_of) values.push_back(LiteralText(value));
    if (param->type == ParamType::kBool) values = {"true", "false"};
    const auto set = seed.task.set.find(param->name);
    const std::string is =
        set != seed.task.set.end() ? set->second : LiteralText(param->default_value);
    for (const std::string& value : values) {
      if (value != is) settings_.emplace_back(&seed, std::pair(param->name, value));
    }
  }
}

// A branch for one of them may have no test of its own. False: there is no more.
bool RuleProof::TrySetting() {
  if (settings_.empty()) return false;
  const auto [seed, setting] = std::move(settings_.back());
  settings_.pop_back();
  Graph graph;
  if (!Make(*seed, {}, graph)) return true;
  Task task = TaskFor(*seed);
  task.set[setting.first] = setting.second;
  TryMade(std::move(graph), std::move(task));
  return true;
}

}  // namespace qrewrite
