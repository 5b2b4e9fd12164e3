// A process of its own that answers requests: what runs varied models, runtimes above all, may crash, hang or take
// all memory, and must not take the program along.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace qrewrite {

// The process is forked at the first request, and again at the first one after its end; whatever the work
// changes in it is seen by later requests alone. Threads of the caller do not run in it. Not copyable, not for
// several threads at once.
class Apart {
 public:
  using Work = std::function<std::string(std::string_view request)>;
  struct Reply {
    bool finished = false;  // the work returned
    bool hung = false;      // else: it gave no answer in time
    std::string end;        // else how it ended: "signal 11", "no answer in 20 seconds"
    std::string answer;
  };

  // `bytes`: memory that the process may take beside what the program has when it is forked.
  Apart(Work work, uint64_t bytes, int seconds);
  ~Apart();
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  // What ends a process that answered others before is asked once more, in a new one: what these left is no
  // reason.
  Reply Ask(std::string_view request);

 private:
  Reply AskOnce(std::string_view request);
  bool Begin();
  // Ends the process; how it ended if it did so by itself.
  std::string End(bool hangs);

  Work work_;
  uint64_t bytes_;
  int seconds_;
  pid_t child_ = -1;
  int socket_ = -1;
  int64_t answered_ = 0;  // by the present process
};

}  // namespace qrewrite
