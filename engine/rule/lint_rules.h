// Doubts about single rules and pairs of rules, each over the whole set. `root` is the file that is
// linted; what it includes is not judged.
#pragma once

#include "engine/base/diagnostics.h"
#include "engine/fold/kernel.h"
#include "engine/rule/ast.h"

namespace qrewrite {

// Rules whose replacements hold their own patterns, or each other's. Only plain cases: one
// statement, no condition, and a replacement that the pattern is certain to match.
void LintLoops(const RuleSet& set, const SourceText* root, DiagnosticSink& sink);

// Nodes made from constants alone, which `let` would compute.
void LintConstantNodes(const RuleSet& set, const SourceText* root, DiagnosticSink& sink);

// Operators in `let`, conditions and facts that nothing computes.
void LintKernels(const RuleSet& set, const KernelRegistry& registry, const SourceText* root,
                 DiagnosticSink& sink);

// Operators without a signature: nothing of what is written about them can be checked.
void LintSignatures(const RuleSet& set, const SourceText* root, DiagnosticSink& sink);

// Names that `<attribute=name>` binds and nothing else mentions: `<mode=FAST>` takes any mode.
void LintAttributes(const RuleSet& set, const SourceText* root, DiagnosticSink& sink);

// Names of `let` that nothing reads.
void LintLets(const RuleSet& set, const SourceText* root, DiagnosticSink& sink);

}  // namespace qrewrite
