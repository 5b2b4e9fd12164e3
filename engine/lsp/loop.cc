#include "engine/lsp/loop.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/lsp/json_rpc.h"
#include "engine/lsp/server.h"

namespace qrewrite::lsp {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kMaxWaiting = 256;  // messages, or bytes of them; then the client waits
constexpr size_t kMaxWaitingBytes = kMaxMessageBytes;
// A document is checked when nothing came for so long; for longer if checking takes long.
constexpr milliseconds kShortestPause{60}, kLongestPause{1000};
constexpr int kPausePerCheck = 3;

struct Incoming {
  std::optional<Json> message;  // nothing: a fault
  std::string fault;
  bool end = false;
  size_t bytes = 0;  // of the message as text
};

class Queue {
 public:
  void Push(Incoming incoming) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] {
      return queue_.empty() || (queue_.size() < kMaxWaiting && bytes_ < kMaxWaitingBytes);
    });
    bytes_ += incoming.bytes;
    queue_.push_back(std::move(incoming));
    pushed_.notify_one();
  }
  // Nothing if nothing comes until then; no time: it is waited for.
  std::optional<Incoming> Pop(std::optional<Clock::time_point> until) {
    std::unique_lock lock(mutex_);
    const auto some = [this] { return !queue_.empty(); };
    if (!until) {
      pushed_.wait(lock, some);
    } else if (!pushed_.wait_until(lock, *until, some)) {
      return std::nullopt;
    }
    Incoming incoming = std::move(queue_.front());
    queue_.pop_front();
    bytes_ -= incoming.bytes;
    taken_.notify_one();
    return incoming;
  }

 private:
  std::mutex mutex_;
  std::condition_variable pushed_, taken_;
  std::deque<Incoming> queue_;
  size_t bytes_ = 0;
};

bool IsMethod(const Json& message, std::string_view method) {
  return message.is_object() && message.contains("method") && message.at("method") == method;
}

// Reads one message. False: it was the last one, and nothing may follow it.
bool ReadOne(std::istream& in, Server& server, Queue& queue) {
  std::string body, fault;
  const Frame frame = ReadFrame(in, body, fault);
  if (frame == Frame::kEnd) {
    queue.Push({.end = true});
    return false;
  }
  if (frame == Frame::kBroken) {
    queue.Push({.fault = fault});
    return true;
  }
  std::optional<Json> message = ParseMessage(body);
  if (!message) {
    queue.Push({.fault = "this is no JSON"});
    return true;
  }
  const bool exit = IsMethod(*message, "exit") && !message->contains("id");
  if (IsMethod(*message, "$/cancelRequest") && message->contains("params") &&
      message->at("params").is_object()) {
    server.Cancel(message->at("params").value("id", Json()));
  }
  queue.Push({.message = std::move(message), .bytes = body.size()});
  return !exit;
}

// Reads until `exit`, or the end of `in`: the thread must end.
void ReadAll(std::istream& in, Server& server, Queue& queue) {
  bool more = true;
  while (more) {
    try {
      more = ReadOne(in, server, queue);
    } catch (const std::exception& error) {
      // Memory for one message ran out, say; the others go on.
      queue.Push({.fault = error.what()});
    }
  }
}

}  // namespace

int RunServer(std::istream& in, std::ostream& out) {
  in.tie(nullptr);  // reading would flush `out` from the other thread
  Server server([&out](const Json& message) { out << Framed(message) << std::flush; });
  Queue queue;
  std::thread reader(ReadAll, std::ref(in), std::ref(server), std::ref(queue));
  milliseconds pause = kShortestPause;
  Clock::time_point edited = Clock::now();
  bool end = false;
  while (!end && !server.ended()) {
    std::optional<Clock::time_point> until;
    if (server.unchecked()) until = edited + pause;
    // What is asked meanwhile does not put the check off.
    const bool due = until && Clock::now() >= *until;
    std::optional<Incoming> incoming;
    if (!due) incoming = queue.Pop(until);
    try {
      if (!incoming) {
        const auto begin = Clock::now();
        server.Check();
        const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
        pause = std::clamp(took * kPausePerCheck, kShortestPause, kLongestPause);
        continue;
      }
      end = incoming->end;
      const int64_t edits = server.edits();
      if (incoming->message) {
        server.Receive(*incoming->message);
      } else if (!end) {
        server.ReceiveFault(incoming->fault);
      }
      if (server.edits() != edits) edited = Clock::now();
    } catch (const std::exception& error) {
      // Memory for one document ran out, say; the others go on.
      std::cerr << "qrewrite lsp: " << error.what() << std::endl;
    }
  }
  reader.join();
  return server.exit_code();
}

}  // namespace qrewrite::lsp
