// Rule files that nobody writes by hand: what they may cost.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/small_stack.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

std::string Repeat(int count, const std::string& text) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::string MessagesOnSmallStack(const std::string& text) {
  std::string messages;
  testing::OnSmallStack([&] {
    const auto loaded = LoadRulesText("t.yaml", test::File(text));
    if (loaded.ok()) Lint(**loaded);
    messages = loaded.ok() ? "" : loaded.status().message();
  });
  return messages;
}

std::string RuleText(const std::string& where, const std::string& let = "") {
  return "rules:\n  - name: r\n    match: y = Relu(x)\n    replace: y = Abs(x)\n    where: |\n     "
         " " +
         where + "\n" + let;
}

}  // namespace

TEST_CASE("Limits: whether a name is a list is found behind lets that go round, or double") {
  const auto rule = [](const std::string& where, const std::string& lets) {
    return RuleText(where, "    let:\n" + lets);
  };
  const std::string round = "      a: dtype(b)\n      b: dtype(a)\n";
  CHECK_FALSE(MessagesOnSmallStack(rule("FLOAT in a", round)).empty());
  CHECK_FALSE(MessagesOnSmallStack(rule("any(a == FLOAT)", round)).empty());
  std::string lets;
  for (int i = 0; i < 200; ++i) {
    lets += fmt::format("      a{0}: cast(a{1}, dtype(a{1}))\n", i, i + 1);
  }
  lets += "      a200: x\n";
  CHECK(MessagesOnSmallStack(rule("FLOAT in dtype(a0)", lets)) == "");
  CHECK(MessagesOnSmallStack(rule("FLOAT in dtype(a199)", lets)).find("needs a list") !=
        std::string::npos);
}

TEST_CASE("Limits: what is deep is refused with its place, on a small stack") {
  struct Row {
    const char* what;
    std::string where;
    const char* message;  // "" if it is allowed
  };
  const Row rows[] = {
      {"a sum", "x" + Repeat(150, " + x") + " == 1", ""},
      {"a long sum", "x" + Repeat(400, " + x") + " == 1", "t.yaml:8:"},
      {"a chain of conditions", "rank(x) == 1" + Repeat(100, " and rank(x) == 1"), ""},
      {"parentheses", Repeat(60, "(") + "x" + Repeat(60, ")") + " == 1", ""},
      {"many parentheses", Repeat(5000, "(") + "x" + Repeat(5000, ")") + " == 1", "t.yaml:8:"},
      {"calls", Repeat(35, "Abs(") + "x" + Repeat(35, ")") + " == 1", ""},
      {"many calls", Repeat(5000, "Abs(") + "x" + Repeat(5000, ")") + " == 1", "t.yaml:8:"},
      {"both", Repeat(50, "(x + ") + "x" + Repeat(150, " + x") + Repeat(50, ")") + " == 1", ""},
      {"not", Repeat(150, "not ") + "const(x)", ""},
      {"indices", "shape(x)" + Repeat(400, "[0]") + " == 1", "t.yaml:8:"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const std::string messages = MessagesOnSmallStack(RuleText(row.where));
    if (*row.message == 0) {
      CHECK(messages == "");
    } else {
      CHECK(messages.starts_with(row.message));
      CHECK(messages.find("QR0215") != std::string::npos);
    }
  }
}

TEST_CASE("Limits: thousands of definitions, each calls the one before") {
  std::string facts = "define:\n  f0(v):\n    - => rank(v)\n";
  for (int i = 1; i < 5000; ++i) {
    facts += "  f" + std::to_string(i) + "(v):\n    - v = Relu(x) => $f" + std::to_string(i - 1) +
             "(x)\n";
  }
  CHECK(MessagesOnSmallStack(facts + RuleText("$f4999(x) == 1")) == "");
}

TEST_CASE("Limits: thousands of `let`s, each of the one before") {
  std::string lets = "    let:\n      a0: rank(x)\n";
  for (int i = 1; i < 5000; ++i) {
    lets += "      a" + std::to_string(i) + ": a" + std::to_string(i - 1) + " + 1\n";
  }
  CHECK(MessagesOnSmallStack(RuleText("a4999 == 1", lets)) == "");
  const std::string loop =
      MessagesOnSmallStack(RuleText("a4999 == 1", lets + "      b: c\n      c: b\n"));
  CHECK(loop.find("`b` is needed to compute itself") != std::string::npos);
}

TEST_CASE("Limits: a text of a megabyte is refused") {
  const std::string messages =
      test::Messages(test::File(RuleText("x in [" + Repeat(600'000, "1,") + "1]")));
  CHECK(messages.find("QR0109") != std::string::npos);
  CHECK(messages.find("at most 1048576 are read") != std::string::npos);
}

TEST_CASE("Limits: unknown keys by the ten thousand are counted, not listed") {
  std::string keys;
  for (int i = 0; i < 30'000; ++i) keys += "key" + std::to_string(i) + ": 1\n";
  const std::string messages = test::Messages(test::File(keys));
  CHECK(messages.find("unknown key `key49`") != std::string::npos);
  CHECK(messages.find("unknown key `key50`") == std::string::npos);
  CHECK(messages.ends_with("note: at least 450 more"));
  // On one line of a megabyte each message shows its own part of it.
  std::string flow = "{";
  for (int i = 0; i < 30'000; ++i) flow += "\"key" + std::to_string(i) + "\": 1, ";
  const std::string json = test::Messages(flow + "\"name\": \"t\", \"qrewrite\": 1}", {}, "t.json");
  CHECK(json.size() < 50'000);
  CHECK(json.find("t.json:1:2: error[QR0102]: unknown key `key0`") == 0);
}

TEST_CASE("Limits: sets that double are refused") {
  std::string sets = "sets:\n  s0: [Relu, Abs]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = std::to_string(i - 1);
    sets += "  s" + std::to_string(i) + ": [\"@s" + before + "\", \"@s" + before + "\"]\n";
  }
  CHECK(test::Messages(test::File(sets)).find("sets hold more than") != std::string::npos);
}

TEST_CASE("Limits: includes that fork are read once, deep ones refused") {
  test::Files files;
  const auto name = [](int i) { return "f" + std::to_string(i) + ".yaml"; };
  for (int i = 0; i < 40; ++i) {
    const std::string next =
        i < 39 ? "include: [l" + name(i + 1) + ", r" + name(i + 1) + "]\n" : "";
    for (const std::string side : {"l", "r"}) {
      files[side + name(i)] = "qrewrite: 1\nname: " + side + std::to_string(i) + "\n" + next;
    }
  }
  CHECK(test::Messages(test::File("include: [lf0.yaml, rf0.yaml]\n"), files) == "");
  for (int i = 0; i < 100; ++i) {
    files["d" + name(i)] =
        "qrewrite: 1\nname: d" + std::to_string(i) + "\ninclude: [d" + name(i + 1) + "]\n";
  }
  CHECK(test::Messages(test::File("include: [df0.yaml]\n"), files)
            .starts_with("df62.yaml:3:11: error[QR0109]: includes are nested deeper than 64"));
}

TEST_CASE("Limits: a pipe that a person names is read when somebody writes into it") {
  const TempFolder folder;
  const std::string path = folder / "pipe.yaml";
  ::mkfifo(path.c_str(), 0600);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the reader comes first
    const int pipe = ::open(path.c_str(), O_WRONLY);
    const std::string text =
        test::File("rules:\n  - {name: r, match: y = Relu(x), replace: y = x}\n") + "#" +
        std::string(200'000, '.') + "\n";  // more than a pipe holds at once
    CHECK(::write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(pipe);
  });
  const auto loaded = LoadRules(path);
  writer.join();
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  CHECK((*loaded)->rules.size() == 1);
}

TEST_CASE("Limits: only files are included, and only if they are small") {
  const TempFolder folder;
  ::mkfifo((folder / "pipe.yaml").c_str(), 0600);
  std::filesystem::create_symlink("/dev/zero", folder / "zero.yaml");
  WriteFile(folder / "large.yaml", "#" + std::string((size_t{16} << 20) + 1, ' '));
  struct Row {
    const char* name;
    const char* why;
  };
  for (const Row& row :
       {Row{"pipe.yaml", "is no regular file"}, Row{"zero.yaml", "is no regular file"},
        Row{"large.yaml", "at most 16777216 bytes are read"}}) {
    CAPTURE(row.name);
    const std::string path = folder / "t.yaml";
    WriteFile(path, test::File(std::string("include: [") + row.name + "]\n"));
    const auto loaded = LoadRules(path);
    REQUIRE_FALSE(loaded.ok());
    const std::string messages = loaded.status().message();
    CAPTURE(messages);
    CHECK(messages.find("t.yaml:3:11: error[QR0100]") != std::string::npos);
    CHECK(messages.find(row.why) != std::string::npos);
  }
  CHECK(LoadRules(folder / "zero.yaml").status().code() == StatusCode::kIo);
  CHECK(LoadRules(folder / "large.yaml").status().code() == StatusCode::kIo);
}

TEST_CASE("Limits: ten thousand rules are loaded and linted in no time") {
  const char* const kOps[] = {"Relu", "Abs", "Neg",  "Exp",  "Sin",
                              "Cos",  "Tan", "Sqrt", "Ceil", "Floor"};
  const auto rules = [&](int count) {
    std::string text = "rules:\n";
    for (int i = 0; i < count; ++i) {
      std::string chain = "x";
      for (int at = 0, n = i; at < 4; ++at, n /= 10)
        chain = std::string(kOps[n % 10]) + "(" + chain + ")";
      text += "  - {name: r" + std::to_string(i) + ", match: y = " + chain +
              ", replace: y = Identity(x)}\n";
    }
    return test::File(text);
  };
  const auto seconds = [&](int count) {
    const std::clock_t begin = std::clock();
    const auto loaded = LoadRulesText("t.yaml", rules(count));
    REQUIRE(loaded.ok());
    CHECK(Lint(**loaded).size() == static_cast<size_t>(count));  // none has a test
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double few = seconds(2500), many = seconds(10'000);
  CHECK(many < 8 * few);
}

}  // namespace qrewrite
