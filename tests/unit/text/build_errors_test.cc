// What is said about graph texts that make no graph, whole; and that damage never crashes.
#include <doctest/doctest.h>

#include <random>

#include "tests/unit/text/text_support.h"

namespace qrewrite {
namespace {

struct Fault {
  std::string_view text, messages;
};
const Fault kFaults[] = {
#include "tests/unit/text/errors.inc"
};

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  return text;
}

TEST_CASE("BuildGraph: what is said about faulty texts") {
  for (const Fault& fault : kFaults) {
    Graph graph;
    CHECK_EQ(Build(fault.text, graph), Trimmed(fault.messages));
  }
}

TEST_CASE("BuildGraph: damaged texts never crash, and what builds prints and builds again") {
  const std::string texts[] = {
      "x: float[1, N]\nw = float[2, 2] [[1, 2], [3, 4]]\ny = Gemm<transB=1>(x, w, 0.5)\n",
      "c: bool\nx: float\ny = If<then_branch={ a = Relu(x); return a }, else_branch={ b = Neg(x) "
      "}>(c)",
      "n: int64\nv: float[1]\ny, s = Loop<body=(i: int64, g: bool, u: float[1]) => {\n"
      "  w = Mul(u, 0.5)\n  h = Identity(g)\n  return h, w, u\n}>(n, true, v)\nreturn s, y",
      "z = random(7) float8e4m3fn[3]\nk = Cast<to=INT4>(z)\nq = QuantizeLinear(x, 0.1, uint8 "
      "0)\nx: float",
      "a = F.f<k=[1.5, 2], s='t'>(b, absent, 'c d')\nb: ?\n'c d' = int4[3] [-8, 0, 7]\nreturn a",
  };
  const std::string pieces = "()[]{}<>=,.:;?'-| \n0123abcxyzw_";
  std::mt19937 random(7);
  int built = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = texts[random() % std::size(texts)];
    for (unsigned k = random() % 3 + 1; k > 0; --k) {
      const size_t at = random() % (text.size() + 1);
      const size_t length = std::min<size_t>(random() % 4, text.size() - at);
      text.replace(at, length,
                   random() % 2 ? std::string(1, pieces[random() % pieces.size()]) : "");
    }
    Graph graph;
    if (!Build(text, graph).empty()) continue;
    ++built;
    const std::string printed = PrintGraph(graph, graph.main(), {.max_elements = 4096});
    Graph again;
    CHECK_EQ(Build(printed, again), "");
    std::string difference;
    CHECK_MESSAGE(SameGraph(graph, again, &difference), difference << "\n" << text);
  }
  CHECK(built > 300);
}

}  // namespace
}  // namespace qrewrite
