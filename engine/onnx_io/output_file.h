// OutputFile: a file that appears under its name only when it is complete.
//
// It is written without a name in the same folder, and gets one by Commit(): without that nothing
// is left, not even if the process is killed. Where the file system has no files without names it
// has a temporary one. A file that was there is replaced; its permissions are kept. A target that is
// not a regular file (/dev/stdout, a pipe) is written directly.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/onnx_io/mapped_file.h"
#include "qrewrite/status.h"

namespace qrewrite {

class OutputFile {
 public:
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path);

  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Large parts of these files are copied inside the kernel, without touching their pages.
  void AddInput(std::shared_ptr<const MappedFile> file) { inputs_.push_back(std::move(file)); }

  Status Write(std::string_view bytes);
  Status WriteZeros(uint64_t count);
  uint64_t size() const { return size_; }
  // Everything is written: what can fail has failed, but for the name.
  Status Finish();
  Status Commit();

 private:
  bool OpenUnnamed();
  bool OpenTemporary();
  // The temporary name of attempt `i`.
  std::string TemporaryName(int i) const;
  Status NameIt();
  Status Flush();
  Status WriteAll(std::string_view bytes);
  // How many bytes of `bytes` the kernel copied; 0 if that is not possible here.
  size_t CopyInKernel(std::string_view bytes);

  std::string path_;
  std::string temporary_;  // the name that the file has now, if it has one
  bool direct_ = false;    // the target itself is open
  int fd_ = -1;
  std::string buffer_;
  uint64_t size_ = 0;
  std::vector<std::shared_ptr<const MappedFile>> inputs_;
};

// "a/b.onnx" -> "a"; "b.onnx" -> "."
std::string FolderOf(const std::string& path);
std::string FileNameOf(const std::string& path);
// Is there something at `path` that is no regular file (nor a link to one)?
bool IsSpecialFile(const std::string& path);

}  // namespace qrewrite
