// TraceWriter: writes what a run does as it does it, one JSON line a firing.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "qrewrite/observer.h"
#include "qrewrite/status.h"

namespace qrewrite::cli {

class TraceWriter : public Observer {
 public:
  // kIo: the file cannot be made.
  static Result<std::unique_ptr<TraceWriter>> Open(const std::string& path);

  Answer OnPhase(const PhaseEvent& event) override;
  bool WantsText(std::string_view rule) override;
  Answer OnFiring(const FiringEvent& event) override;
  // kIo: a line could not be written. To be called when all runs are through.
  Status Close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  TraceWriter(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string phase_;
  int64_t number_ = 0;  // over all rule sets
};

}  // namespace qrewrite::cli
