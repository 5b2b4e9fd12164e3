// Parameters: the types that they have, and their values as `--set` takes them.
#include <doctest/doctest.h>

#include "engine/rule/literal.h"
#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

// "wrong" where the text is none of that type.
std::string Again(ParamType type, std::string_view text) {
  const Result<Literal> value = ParseLiteral(type, text);
  return value.ok() && FitsType(type, *value) ? LiteralText(*value) : "wrong";
}

}  // namespace

TEST_CASE("Parameters: they take the type of their default") {
  const auto loaded = LoadRulesText("t.yaml", test::File(R"yaml(
params:
  flag: {default: false, doc: a switch}
  number: {default: 3, one_of: [1, 3]}
  real: {default: 0.5}
  size: {default: 64MiB}
  bytes: {type: bytes, default: 100}
  text: {default: auto, one_of: [auto, clip]}
  path: {type: path}
  none: {}
  list: {default: [1, 2]}
  texts: {default: []}
  none_yet: {type: ints, default: []}
)yaml"));
  REQUIRE(loaded.ok());
  const auto& set = *loaded;
  REQUIRE(set->params.size() == 11);
  CHECK(set->FindParam("flag")->type == ParamType::kBool);
  CHECK(set->FindParam("flag")->doc == "a switch");
  CHECK(set->FindParam("number")->type == ParamType::kInt);
  CHECK(set->FindParam("number")->one_of.size() == 2);
  CHECK(set->FindParam("real")->type == ParamType::kFloat);
  CHECK(set->FindParam("size")->type == ParamType::kBytes);
  CHECK(set->FindParam("size")->default_value == Literal(int64_t{64} << 20));
  CHECK(set->FindParam("bytes")->default_value == Literal(int64_t{100}));
  CHECK(set->FindParam("text")->default_value == Literal(std::string("auto")));
  CHECK(set->FindParam("path")->type == ParamType::kPath);
  CHECK(set->FindParam("path")->default_value == Literal());
  CHECK(set->FindParam("none")->type == ParamType::kAny);
  CHECK(set->FindParam("list")->type == ParamType::kInts);
  CHECK(set->FindParam("list")->default_value == Literal(std::vector<int64_t>{1, 2}));
  CHECK(set->FindParam("texts")->type == ParamType::kStrings);
  CHECK(set->FindParam("texts")->default_value == Literal(std::vector<std::string>()));
  CHECK(set->FindParam("none_yet")->default_value == Literal(std::vector<int64_t>()));
}

TEST_CASE("Parameters: what is set is read as the parameter's type says") {
  CHECK(Again(ParamType::kInt, "3") == "3");
  CHECK(Again(ParamType::kInt, "3,4") == "wrong");
  CHECK(Again(ParamType::kBytes, "2KiB") == "2048");
  CHECK(Again(ParamType::kBool, "1") == "true");
  CHECK(Again(ParamType::kRegex, "(") == "wrong");
  CHECK(Again(ParamType::kFloat, "1e-3") == "0.001");
  CHECK(Again(ParamType::kFloat, "+3.5") == "3.5");
  for (const char* text : {"", "nan", "inf", "-inf", "1e400", "0x10", " 3.5", "3.5 ", "++1", "+"}) {
    CAPTURE(text);
    CHECK(Again(ParamType::kFloat, text) == "wrong");
  }
  CHECK(Again(ParamType::kString, "a, b") == "a, b");
}

TEST_CASE("Parameters: without a type a value is what it looks like") {
  CHECK(*ParseLiteral(ParamType::kAny, "3") == Literal(int64_t{3}));
  CHECK(*ParseLiteral(ParamType::kAny, "-0.5") == Literal(-0.5));
  CHECK(*ParseLiteral(ParamType::kAny, "1e-3") == Literal(1e-3));
  CHECK(*ParseLiteral(ParamType::kAny, "true") == Literal(true));
  for (const char* text : {"", "nan", "inf", "0x10", "3 a", "e", "True", "1,2"}) {
    CHECK(*ParseLiteral(ParamType::kAny, text) == Literal(std::string(text)));
  }
}

TEST_CASE("Parameters: members of lists stand between commas") {
  CHECK(*ParseLiteral(ParamType::kInts, "3, -4") == Literal(std::vector<int64_t>{3, -4}));
  CHECK(Again(ParamType::kInts, "3") == "3");
  CHECK(*ParseLiteral(ParamType::kInts, "") == Literal(std::vector<int64_t>()));
  CHECK(Again(ParamType::kInts, "3,x") == "wrong");
  CHECK(*ParseLiteral(ParamType::kFloats, "0.5, 2") == Literal(std::vector<double>{0.5, 2}));
  CHECK(Again(ParamType::kFloats, "0.5,2") == "0.5,2");
  CHECK(Again(ParamType::kFloats, "0.5,x") == "wrong");
  CHECK(Again(ParamType::kFloats, "0.5,nan") == "wrong");
  CHECK(Again(ParamType::kInts, "3,,4") == "wrong");
  CHECK(*ParseLiteral(ParamType::kStrings, "a, b c,") ==
        Literal(std::vector<std::string>{"a", "b c"}));
  CHECK(*ParseLiteral(ParamType::kStrings, "") == Literal(std::vector<std::string>()));
}

TEST_CASE("Parameters: `one_of` of a list says what its members may be") {
  const auto loaded = LoadRulesText("t.yaml", test::File(R"yaml(
params:
  layers: {type: strings, default: [], one_of: [conv, fc]}
  axes: {default: [0], one_of: [0, 1]}
)yaml"));
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  const auto allows = [&](const char* name, const Literal& value) {
    return IsAllowed(*(*loaded)->FindParam(name), value);
  };
  using Texts = std::vector<std::string>;
  using Ints = std::vector<int64_t>;
  CHECK(allows("layers", Texts{"fc", "conv", "fc"}));
  CHECK(allows("layers", Texts{}));
  CHECK_FALSE(allows("layers", Texts{"conv", "pool"}));
  CHECK(allows("axes", Ints{1, 0}));
  CHECK_FALSE(allows("axes", Ints{2}));
  for (const char* wrong :
       {"a: {type: strings, default: [x], one_of: [conv, fc]}",
        "a: {type: strings, one_of: [conv, 1]}", "a: {default: [2], one_of: [1]}"}) {
    INFO(wrong);
    CHECK_FALSE(LoadRulesText("t.yaml", test::File("params:\n  " + std::string(wrong))).ok());
  }
}

}  // namespace qrewrite
