// What people write who come from other tools, and what it is called here. Only advice: nothing is
// accepted because of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/source.h"
#include "engine/graph/graph.h"

namespace qrewrite {

// A key that is not among `known`: its name here, else a similar one, else the list of all.
// `alone`: no value stands behind it.
std::string KeyHint(std::string_view key, const std::vector<std::string_view>& known, bool alone);

// Whether people write `key` for the key `ours`.
bool MeansKey(std::string_view key, std::string_view ours);

// A note beside the second of two: "the first one is on line 5".
std::string FirstNote(const Place& first);

// What `None`, `True` and their like are written here; "" for any other name.
std::string_view ForeignLiteral(std::string_view name);

// An operator under the name of another framework (`LayerNorm`, `Linear`), or one that stands for any; ""
// for any other name.
std::string ForeignOperatorHint(std::string_view name);

// How an element type that is written in the way of another tool (`float16`, `float32`) is written
// here; "" for any other name.
std::string ElementTypeHint(std::string_view name);

// A name in an expression that nothing binds: words of other languages, misspelled element types.
std::string ForeignNameHint(std::string_view name);

// A call of a function that is not there: its name here, or operators of that name.
std::string ForeignFunctionHint(std::string_view name, const std::vector<OpName>& operators);

}  // namespace qrewrite
