// Literals as people write and read them: in rule files, in `--set`, in messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/rule/ast.h"
#include "qrewrite/status.h"

namespace qrewrite {

// As `--set` takes it back; elements of a list with commas between them, "" for none.
std::string LiteralText(const Literal& value);

// The type that a value has by itself; kAny for none and for the empty list of integers.
ParamType TypeOf(const Literal& value);
bool FitsType(ParamType type, const Literal& value);
// The same of a value in its `one_of`: of a list that is a member of it.
bool FitsChoices(ParamType type, const Literal& value);
// Whether `one_of` of the parameter allows the value, of a list all its members.
bool IsAllowed(const Param& param, const Literal& value);

// The value that `text` stands for in a parameter of that type; members of lists with commas between
// them, none for "". kAny: what it looks like, a number, true, false or a text. Error: kUsage, "is no
// integer".
Result<Literal> ParseLiteral(ParamType type, std::string_view text);

// "64MiB" -> 67108864; B, KiB, MiB, GiB, kB, MB, GB, with or without a blank. Nothing without a
// unit.
std::optional<int64_t> ParseSize(std::string_view text);

}  // namespace qrewrite
