// OutputFile: a file that gets its name only when it is complete.
//
// It is written without a name in the folder where it will be, so nothing is left of it whatever
// happens to the process. Where the file system has no files without names it has a temporary one
// (`.NAME.PROCESS-N.tmp`); what a killed process left of those goes when the file is written again.
// A file that is replaced hands on its owner and permissions. What is not a regular file (a pipe,
// /dev/stdout) is written directly.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/temporary_name.h"
#include "engine/onnx_io/mapped_file.h"
#include "qrewrite/status.h"

namespace qrewrite {

class OutputFile {
 public:
  struct Options {
    std::string folder;     // that is there, on the file system of `path`
    std::string resembles;  // the file whose owner and permissions it gets; may be missing
  };
  // `path` is no link. Messages name it.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path,
                                                    const Options& options);

  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Large parts of these files are copied inside the kernel, without touching their pages.
  void AddInput(std::shared_ptr<const MappedFile> file) { inputs_.push_back(std::move(file)); }

  Status Write(std::string_view bytes);
  uint64_t size() const { return size_; }
  // Everything is on the disk: what can fail has failed, but for the name.
  Status Finish();
  // After Finish(): whether `file` has the same bytes.
  bool Equals(const MappedFile& file) const;

  // What becomes of a file that is there when this one appears; kAside: kept, for Restore().
  enum class Existing { kStays, kAside, kGoes };
  Status Place(Existing existing);  // kStays: an error if there is one
  void Restore();                   // all is as it was before Place()
  void Settle();                    // what was kept aside goes

 private:
  bool OpenUnnamed();
  bool OpenTemporary();
  bool Lock() const;
  void TakeAfter(const std::string& path);
  // A temporary name that is free, by `make`, which is called until it says something else than
  // EEXIST.
  template <class Make>
  TemporaryName NewName(Make make) const;
  void RemoveLeftovers() const;
  bool PlaceAtFreeName();
  bool Exchange();
  Status Flush();
  Status WriteAll(std::string_view bytes);
  // How many bytes of `bytes` the kernel copied; 0 if that is not possible here.
  size_t CopyInKernel(std::string_view bytes);

  std::string path_;
  std::string folder_;
  TemporaryName temporary_;  // the name that the file has now, if it has one
  TemporaryName old_;        // of what was replaced
  bool direct_ = false;      // the target itself is open
  bool on_disk_ = false;     // all that was written
  bool placed_ = false;
  bool is_new_ = false;  // it replaced nothing
  int fd_ = -1;
  std::string buffer_;
  uint64_t size_ = 0;
  std::vector<std::shared_ptr<const MappedFile>> inputs_;
};

}  // namespace qrewrite
