// Numbers with a fraction in texts, whatever locale the host program has set.
#pragma once

#include <string>

namespace qrewrite {

// The double nearest to the decimal number that `text` is: infinite, 0 or denormal where it is beyond the others. NaN for
// a text that is none.
double RealOf(const std::string& text);

}  // namespace qrewrite
