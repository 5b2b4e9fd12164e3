// TemporaryName: the name of a file that must not stay. The object removes the file; a program that
// a signal ends calls RemoveTemporaryFiles() from its handler. A folder of files (temporary_folder.h)
// may have such a name, too: the handler removes it, the object does not.
#pragma once

#include <memory>
#include <string>

namespace qrewrite {

class TemporaryName {
 public:
  TemporaryName() = default;  // none
  explicit TemporaryName(std::string path);
  TemporaryName(TemporaryName&& other) noexcept = default;
  TemporaryName& operator=(TemporaryName&& other) noexcept;
  ~TemporaryName() { Remove(); }

  explicit operator bool() const { return path_ != nullptr; }
  const char* path() const { return path_->c_str(); }

  void Remove();   // the file goes
  void Release();  // the file has another name by now, or is gone

 private:
  std::unique_ptr<const std::string> path_;  // does not move: a signal handler may read it
};

// Removes the files and folders of all TemporaryName objects. Async-signal-safe.
void RemoveTemporaryFiles();

}  // namespace qrewrite
