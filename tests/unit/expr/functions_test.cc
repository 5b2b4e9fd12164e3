#include "engine/expr/functions.h"

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

TEST_CASE("Functions: the table is sorted, documented and can be searched") {
  CHECK(Functions().size() > 30);
  std::string_view previous;
  for (const FunctionInfo& function : Functions()) {
    CHECK(previous < function.name);
    previous = function.name;
    CHECK_EQ(FindFunction(function.name), &function);
    CHECK_FALSE(function.doc.empty());
    CHECK(function.min_args <= function.max_args);
    CHECK_FALSE(function.arg_types.empty());
    // The documented parameters are as many as the function takes.
    int params = 1, optional = 0;
    for (const char c : function.params) {
      params += c == ',';
      optional += c == '?';
    }
    CHECK_EQ(params, function.max_args);
    CHECK_EQ(params - optional, function.min_args);
  }
  CHECK_EQ(FindFunction("Abs"), nullptr);
  CHECK_EQ(FindFunction(""), nullptr);
  CHECK_EQ(FindFunction("zz"), nullptr);
}

TEST_CASE("Functions: facts may be unknown although their arguments are known") {
  for (const char* name : {"dtype", "shape", "rank", "size", "const"}) {
    CHECK(FindFunction(name)->is_fact);
  }
  CHECK_FALSE(FindFunction("rint")->is_fact);
}

}  // namespace
}  // namespace qrewrite
