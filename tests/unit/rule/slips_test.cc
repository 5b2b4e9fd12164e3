// Names that are one slip of the pen away from those of operators.
#include "engine/rule/slips.h"

#include <string>

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

TEST_CASE("a slip of the pen") {
  const std::vector<OpName> names = {{"", "Relu"},        {"acme", "Conv1"}, {"acme", "Conv2"},
                                     {"acme", "Grid"},    {"acme", "Gird"},  {"acne", "Pool"},
                                     {"com.acme", "Gain"}};
  const Slips slips(names);
  const auto meant = [&](std::string_view text) -> std::string {
    const OpName* const found = slips.Find(text);
    return found == nullptr ? "" : found->text();
  };
  CHECK(meant("acme.Con1") == "acme.Conv1");    // one too few
  CHECK(meant("acme.Convv2") == "acme.Conv2");  // too many
  CHECK(meant("acme.Comv2") == "acme.Conv2");   // another
  CHECK(meant("acme.Covn1") == "acme.Conv1");   // two swapped
  CHECK(meant("acme.Pool") == "acne.Pool");     // in the domain
  CHECK(meant("comacme.Gain") == "com.acme.Gain");
  CHECK(meant("acme.Gid") == "acme.Grid");  // the first of two

  CHECK(meant("acme.Conv3") == "");  // a digit
  CHECK(meant("acme.Conv") == "");
  CHECK(meant("acme.Conv12") == "");
  CHECK(meant("acme.Cnov3") == "");    // and a digit
  CHECK(meant("acme.vCon1") == "");    // two letters on their way
  CHECK(meant("acme.Coonvv1") == "");  // two too many
  CHECK(meant("Relu") == "");          // no domain
  CHECK(meant("Rellu") == "");
  CHECK(meant("") == "");
}

}  // namespace
}  // namespace qrewrite
