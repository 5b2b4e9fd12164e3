// Paths: their parts, the links behind them, and whether two of them lead to one file.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "engine/onnx_io/mapped_file.h"

namespace qrewrite {

// "a/b.onnx" -> "a"; "b.onnx" -> "."
std::string FolderOf(const std::string& path);
std::string FileNameOf(const std::string& path);
// The reverse; "." is left out.
std::string Joined(const std::string& folder, const std::string& name);

// The file that `path` leads to, whether it is there or not: what is written to a link goes to its
// target. A path that stands for an open descriptor (/dev/stdout) stays as it is.
std::string BehindLinks(const std::string& path);
// Is there something at `path` that is written directly, not replaced: a pipe, a device, an open
// descriptor?
bool IsSpecialFile(const std::string& path);

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
std::optional<FileId> IdOf(const std::string& path);  // follows links
std::optional<FileId> IdOf(const MappedFile& file);
bool IsSame(const std::optional<FileId>& a, const std::optional<FileId>& b);

}  // namespace qrewrite
