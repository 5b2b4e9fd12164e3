// converter MODEL RULES OUT: a converter that brings models into its own form by rules, with a function of its own for them, and
// then writes a list of its instructions.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "qrewrite/qrewrite.h"

namespace {

using qrewrite::ConstTensor;
using qrewrite::Result;
using qrewrite::Status;
using qrewrite::StatusCode;

constexpr int kFloat = 1;  // TensorProto.FLOAT

// The device has tables of 256 entries: `fits_table(w)` in rules.
Result<bool> FitsTable(std::span<const ConstTensor> args) {
  if (args.size() != 1 || args[0].dtype != kFloat) {
    return Status(StatusCode::kUsage, "fits_table takes a float constant");
  }
  return args[0].bytes.size() / sizeof(float) <= 256;
}

Status Convert(const std::string& model_path, const std::string& rules_path,
               const std::string& out_path) {
  auto functions = std::make_shared<qrewrite::FunctionRegistry>();
  QR_RETURN_IF_ERROR(functions->AddPredicate("fits_table", FitsTable));
  QR_ASSIGN_OR_RETURN(const qrewrite::Rules rules,
                      qrewrite::Rules::Load(rules_path, {.functions = functions}));
  QR_ASSIGN_OR_RETURN(qrewrite::Model model, qrewrite::Model::Load(model_path));
  QR_ASSIGN_OR_RETURN(const qrewrite::Report report, qrewrite::Rewrite(model, rules));
  std::puts(report.Text().c_str());
  QR_ASSIGN_OR_RETURN(const std::vector<qrewrite::GraphContents> graphs, qrewrite::Contents(model));
  std::ofstream out(out_path);
  for (const qrewrite::NodeContents& node : graphs[0].nodes) {
    out << node.view.op;
    for (const std::string_view value : node.view.inputs) out << ' ' << value;
    out << " ->";
    for (const std::string_view value : node.view.outputs) out << ' ' << value;
    out << '\n';
  }
  return out.good() ? Status() : Status(StatusCode::kIo, "cannot write " + out_path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const Status status = Convert(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
