// A rule file without its tests. Most of a rule file is tests, and who rewrites a model does not run them: what is left
// out here is not even parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qrewrite {

struct WithoutTests {
  std::string text;  // the lines that are left

  // Where byte `at` of `text` stood.
  size_t Original(size_t at) const;

  struct Cut {
    size_t at;       // in `text`; what was left out stood in front of this byte
    size_t removed;  // bytes, up to here
  };
  std::vector<Cut> cuts;
};

// `yaml` without its blocks `tests:`, keys included. Nothing if there is none, or if the lines do not show clearly
// where they end. What is left means the same as before as long as `yaml` is YAML; if it is not, a reader may see
// another fault, so who meets one reads the whole.
std::optional<WithoutTests> LeaveOutTests(std::string_view yaml);

}  // namespace qrewrite
