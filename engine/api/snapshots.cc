// The snapshots that the build made (tools/snapshot), as a part of the program.
#include "engine/api/rules_impl.h"

#ifdef QREWRITE_SNAPSHOTS  // the path of the file
asm(R"(
  .section .rodata
  .hidden qrewrite_snapshots_begin
  .hidden qrewrite_snapshots_end
  .globl qrewrite_snapshots_begin
  .globl qrewrite_snapshots_end
qrewrite_snapshots_begin:
  .incbin ")" QREWRITE_SNAPSHOTS R"("
qrewrite_snapshots_end:
  .previous
)");

extern "C" const char qrewrite_snapshots_begin[], qrewrite_snapshots_end[];

namespace qrewrite {

std::string_view ShippedSnapshots() {
  return {qrewrite_snapshots_begin,
          static_cast<size_t>(qrewrite_snapshots_end - qrewrite_snapshots_begin)};
}

}  // namespace qrewrite

#else

namespace qrewrite {

std::string_view ShippedSnapshots() { return {}; }

}  // namespace qrewrite

#endif
