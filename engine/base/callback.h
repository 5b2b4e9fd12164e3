// What a host gave us to call: an exception that leaves it becomes a Status (kCallback), so that
// nothing but our own code unwinds.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "qrewrite/status.h"

namespace qrewrite {

// The exception that is being handled: "`what` threw an exception: why". REQUIRES: there is one.
Status ThrownStatus(std::string_view what);

// The same fault, whose first diagnostic has one note more: where it was met. REQUIRES: it is none that is ok.
Status WithNote(const Status& fault, std::string note);

// What `call` returns; a Status or Result as it is, anything else as a Result. `what`: who is called, or a
// function that says so once there is an exception.
template <class What, class F>
auto CallHost(const What& what, F&& call) {
  using Returned = std::invoke_result_t<F>;
  constexpr bool kCarriesStatus = std::is_constructible_v<Returned, Status>;
  using Outcome = std::conditional_t<kCarriesStatus, Returned, Result<Returned>>;
  try {
    return Outcome(std::forward<F>(call)());
  } catch (...) {
    if constexpr (std::is_invocable_v<const What&>) {
      return Outcome(ThrownStatus(what()));
    } else {
      return Outcome(ThrownStatus(what));
    }
  }
}

}  // namespace qrewrite
