// Output files: together or not at all, and never over what must stay.
#include "engine/onnx_io/output_set.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "tests/unit/onnx_io/model_maker.h"

namespace qrewrite {
namespace {

using Part = OutputSet::Part;
using Names = std::vector<std::string>;

void Add(OutputSet& files, const std::string& path, const std::string& bytes, Part part) {
  const Result<OutputFile*> file = files.Add(path, part);
  REQUIRE_MESSAGE(file.ok(), file.status().message());
  REQUIRE((*file)->Write(bytes).ok());
}

StatusCode CodeOf(OutputSet& files, const std::string& path) {
  return files.Add(path, Part::kBeside).status().code();
}

TEST_CASE("OutputSet: nothing appears before the commit") {
  TempFolder folder;
  WriteFile(folder / "m", "old");
  {
    OutputSet files;
    Add(files, folder / "a/b/side", "side", Part::kBeside);
    Add(files, folder / "m", "new", Part::kModel);
    REQUIRE(files.Finish().ok());
    CHECK(folder.Files() == Names{"m"});
    CHECK_FALSE(std::filesystem::exists(folder / "a"));
  }
  CHECK(ReadFile(folder / "m") == "old");
  CHECK(folder.Files() == Names{"m"});
  OutputSet files;
  Add(files, folder / "a/b/side", "side", Part::kBeside);
  Add(files, folder / "m", "new", Part::kModel);
  Add(files, folder / "m.data", "data", Part::kData);
  CHECK(files.paths() == Names{folder / "m", folder / "m.data", folder / "a/b/side"});
  REQUIRE(files.Commit().ok());
  CHECK(folder.Files() == Names{"a/b/side", "m", "m.data"});
  CHECK(ReadFile(folder / "m") == "new");
}

TEST_CASE("OutputSet: a name that is too long is an error at once") {
  TempFolder folder;
  OutputSet files;
  const auto added = files.Add(folder / std::string(300, 'n'), Part::kModel);
  CHECK(added.status().code() == StatusCode::kIo);
  CHECK(Contains(added.status().message(), "File name too long"));
}

// The last file cannot get its name: a folder took it meanwhile.
TEST_CASE("OutputSet: what was replaced comes back if a later file fails") {
  TempFolder folder;
  WriteFile(folder / "m", "old model");
  WriteFile(folder / "side", "old side");
  {
    OutputSet files;
    Add(files, folder / "m.data", "data", Part::kData);
    Add(files, folder / "side", "new side", Part::kBeside);
    Add(files, folder / "new/side", "side", Part::kBeside);
    Add(files, folder / "m", "new model", Part::kModel);
    Add(files, folder / "report", "report", Part::kReport);
    std::filesystem::create_directory(folder / "report");
    CHECK(files.Commit().code() == StatusCode::kIo);
  }
  CHECK(ReadFile(folder / "m") == "old model");
  CHECK(ReadFile(folder / "side") == "old side");
  CHECK(folder.Files() == Names{"m", "side"});
  CHECK_FALSE(std::filesystem::exists(folder / "new"));
}

TEST_CASE("OutputSet: one file under two names, and protected files") {
  TempFolder folder;
  WriteFile(folder / "in", "input");
  WriteFile(folder / "x/there", "old");
  REQUIRE(symlink("in", (folder / "link").c_str()) == 0);
  REQUIRE(symlink("x/../new", (folder / "dangling").c_str()) == 0);
  REQUIRE(symlink("loop", (folder / "loop").c_str()) == 0);
  OutputSet files;
  files.Protect(IdOf(folder / "in"), "the input", /*but_model=*/true);
  CHECK(CodeOf(files, folder / "in") == StatusCode::kUsage);
  CHECK(CodeOf(files, folder / "link") == StatusCode::kUsage);
  CHECK(files.Add(folder / "link", Part::kModel).ok());
  CHECK(CodeOf(files, folder / "x/there") == StatusCode::kOk);
  CHECK(CodeOf(files, folder / "x/./there") == StatusCode::kUsage);
  CHECK(CodeOf(files, folder / "new") == StatusCode::kOk);
  CHECK(CodeOf(files, folder / "dangling") == StatusCode::kUsage);
  CHECK(CodeOf(files, folder / "a/b") == StatusCode::kOk);
  CHECK(CodeOf(files, folder / "a//c/../b") == StatusCode::kUsage);
  CHECK(CodeOf(files, folder / "loop") == StatusCode::kIo);
  CHECK(CodeOf(files, folder / "in/x") == StatusCode::kIo);
}

TEST_CASE("OutputSet: links are followed, also to what is not there yet") {
  TempFolder folder;
  REQUIRE(symlink("target", (folder / "link").c_str()) == 0);
  OutputSet files;
  Add(files, folder / "link", "bytes", Part::kModel);
  REQUIRE(files.Commit().ok());
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(ReadFile(folder / "target") == "bytes");
}

TEST_CASE("OutputSet: permissions are those of what is replaced, or of the model") {
  TempFolder folder;
  WriteFile(folder / "m", "old");
  REQUIRE(chmod((folder / "m").c_str(), 0640) == 0);
  if (geteuid() == 0) REQUIRE(chown((folder / "m").c_str(), 1234, 2345) == 0);
  OutputSet files;
  Add(files, folder / "m", "new", Part::kModel);
  const Result<OutputFile*> data = files.Add(folder / "m.data", Part::kData, folder / "m");
  REQUIRE(data.ok());
  REQUIRE(files.Commit().ok());
  for (const char* name : {"m", "m.data"}) {
    struct stat info = {};
    REQUIRE(stat((folder / name).c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0640);
    if (geteuid() == 0) CHECK((info.st_uid == 1234 && info.st_gid == 2345));
  }
}

TEST_CASE("OutputSet: leftovers of killed processes go, files of living ones stay") {
  TempFolder folder;
  WriteFile(folder / ".m.99-0.tmp", "leftover");
  WriteFile(folder / ".m.98-0.tmp", "alive");
  WriteFile(folder / ".m.x-0.tmp", "something else");
  const int alive = open((folder / ".m.98-0.tmp").c_str(), O_RDWR);
  REQUIRE(alive >= 0);
  REQUIRE(flock(alive, LOCK_EX) == 0);
  OutputSet files;
  Add(files, folder / "m", "new", Part::kModel);
  REQUIRE(files.Commit().ok());
  close(alive);
  CHECK(folder.Files() == Names{".m.98-0.tmp", ".m.x-0.tmp", "m"});
}

}  // namespace
}  // namespace qrewrite
