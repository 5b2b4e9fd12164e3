// Measure: runs one family at growing sizes and fits how its work grows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "family.h"
#include "qrewrite/qrewrite.h"
#include "work.h"

namespace scaling {

// Who works: a shipped rule set, or the rules that the family itself brings.
struct Subject {
  std::string name;  // "ezkl_dequant", "own", "lint"
  const qrewrite::Rules* shipped = nullptr;
};

struct Sample {
  int64_t n = 0;
  Work work;
  // How the run ended. A refusal is an answer like any other; running into a limit is none.
  qrewrite::StatusCode code = qrewrite::StatusCode::kOk;
  std::string message;
  bool finished = false;  // else it passed its limits, or crashed; `message` says which
};

// Runs in a process of its own, so that a crash or a run without end is a finding like others.
Sample Run(const Family& family, const Subject& subject, int64_t n, uint64_t max_steps);

struct Settings {
  int64_t n = 0;  // sizes n, 2 n, 4 n; 0: as large as `budget` allows
  uint64_t budget =
      5'000'000;       // steps: sizes double until a run takes that many; twice more for peak bytes
  double limit = 1.2;  // of the exponents; n log n passes
};

struct Finding {
  std::vector<Sample> samples;  // the last three sizes; fewer if a run stopped
  // Exponents of steps, bytes allocated, bytes touched and peak bytes, in this order: least squares
  // of log work over log n, both less those of the smallest size there is, which stands for what
  // does not depend on n. 0 where there is too little work to say.
  double exponents[4] = {0, 0, 0, 0};
  std::string end;    // of a run that a limit or another error ended: where and how
  std::string fault;  // why this is an offender; empty if it is none
};

Finding Measure(const Family& family, const Subject& subject, const Settings& settings);

}  // namespace scaling
