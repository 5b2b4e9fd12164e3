// The language server on two streams: messages are read by a thread of their own, so that a request
// can be cancelled while others are answered; documents are checked when nothing came for a moment.
#pragma once

#include <iosfwd>

namespace qrewrite::lsp {

// Until `exit` or the end of the input. The exit code that the protocol wants: 0 after `shutdown`,
// else 1.
int RunServer(std::istream& in, std::ostream& out);

}  // namespace qrewrite::lsp
