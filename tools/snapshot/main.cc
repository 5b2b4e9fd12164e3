// snapshot OUT RULES...: writes the snapshots of rule files (engine/rule/snapshot.h) into one file, for the build. A file
// that cannot be loaded is left out, with a word about it: whoever runs it will be told what is wrong.
#include <cstdio>
#include <fstream>
#include <string>

#include "engine/rule/loader.h"
#include "engine/rule/snapshot.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: snapshot OUT RULES...\n", stderr);
    return 2;
  }
  std::string snapshots;
  for (int i = 2; i < argc; ++i) {
    for (const bool tests : {false, true}) {
      const auto set = qrewrite::LoadRules(argv[i], {.tests = tests});
      if (set.ok()) {
        snapshots += qrewrite::MakeSnapshot(**set, tests);
      } else {
        std::fprintf(stderr, "no snapshot of %s: it has errors\n", argv[i]);
        break;
      }
    }
  }
  std::ofstream out(argv[1], std::ios::binary);
  out << snapshots;
  out.close();
  if (!out) std::fprintf(stderr, "%s cannot be written\n", argv[1]);
  return out ? 0 : 1;
}
