// Snapshots: rule sets as bytes, with what reading and checking their files made of them. The build makes those of the
// shipped rule sets (tools/snapshot), so that a run does not read and check 200 kB of YAML again that nobody changed.
//
// A snapshot stands for the texts of its files, not for their names: it is taken where the file that is loaded, and each that
// it includes, holds what they held then. Who edits a rule file gets what stands in it now.
//
// The format is that of this build alone: no version, no check of the bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/rule/ast.h"

namespace qrewrite {

// The snapshot of a set that was loaded with or without `tests`. Several are one string, one behind the other. REQUIRES that
// each file that it includes, directly or not, is named with its ending, so that it is found without a search.
std::string MakeSnapshot(const RuleSet& set, bool tests);

// The set that loading `path` would make, with or without `tests`, whose text is `text`. Null if there is no snapshot of it; `text` is left alone then.
std::shared_ptr<const RuleSet> RestoreSnapshot(std::string_view snapshots, const std::string& path,
                                               std::string& text, bool tests);

}  // namespace qrewrite
