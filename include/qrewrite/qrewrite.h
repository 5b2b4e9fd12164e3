// qrewrite: rewrites ONNX models by rules that are data.
//
//   #include "qrewrite/qrewrite.h"
//   #include <cstdio>
//
//   // Turns a quantized model back into a plain float model.
//   qrewrite::Status Dequantize(const std::string& from, const std::string& to) {
//     QR_ASSIGN_OR_RETURN(qrewrite::Model model, qrewrite::Model::Load(from));
//     QR_ASSIGN_OR_RETURN(qrewrite::Rules rules, qrewrite::Rules::Load("ezkl_dequant"));
//     qrewrite::RewriteOptions options;
//     options.set["saturation"] = "auto";
//     QR_ASSIGN_OR_RETURN(qrewrite::Report report, qrewrite::Rewrite(model, rules, options));
//     std::puts(report.Text().c_str());
//     return model.Save(to);
//   }
//
//   int main(int argc, char** argv) {
//     if (argc != 3) return 2;
//     const qrewrite::Status status = Dequantize(argv[1], argv[2]);
//     if (!status.ok()) std::fputs((status.message() + "\n").c_str(), stderr);
//     return status.ok() ? 0 : 1;
//   }
//
// Faults are values (qrewrite/status.h), also what functions of the host throw. The one exception that
// leaves the library is std::bad_alloc; a model that was being rewritten is poisoned then.
//
// qrewrite/onnx.h, which this does not include, takes and gives ModelProto.
#pragma once

#include "qrewrite/constant.h"
#include "qrewrite/contents.h"
#include "qrewrite/debug.h"
#include "qrewrite/diagnostic.h"
#include "qrewrite/diff.h"
#include "qrewrite/evaluator.h"
#include "qrewrite/explain.h"
#include "qrewrite/functions.h"
#include "qrewrite/match.h"
#include "qrewrite/model.h"
#include "qrewrite/new_rule.h"
#include "qrewrite/observer.h"
#include "qrewrite/page.h"
#include "qrewrite/prove.h"
#include "qrewrite/rewrite.h"
#include "qrewrite/rules.h"
#include "qrewrite/samples.h"
#include "qrewrite/status.h"
#include "qrewrite/unit.h"
#include "qrewrite/verify.h"
#include "qrewrite/version.h"
