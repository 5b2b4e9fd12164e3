// Names in words, as Markdown: what hovering and completion show.
#pragma once

#include <string>
#include <string_view>

#include "engine/lsp/known.h"

namespace qrewrite::lsp {

// "" if nothing is known of the name.
std::string DescribeOperator(const Known& known, const std::string& op, const OpsetRegion& region);
std::string DescribeFunction(std::string_view name);
std::string DescribeParam(const Param& param);
std::string DescribeSet(const RawSet& set);
std::string DescribeKey(FieldKind kind, std::string_view key);
// An attribute (an input) of the first of the operators that has it.
std::string DescribeAttribute(const Known& known, const Operators& of, std::string_view name,
                              const OpsetRegion& region);
std::string DescribeInput(const Known& known, const Operators& of, std::string_view name,
                          const OpsetRegion& region);
// "int, default 1"
std::string AttributeType(const FormalAttribute& attribute);

// What a name at a place of a file is.
std::string Describe(const Known& known, const FileIndex& index, const Occurrence& name);

}  // namespace qrewrite::lsp
