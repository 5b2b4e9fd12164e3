// The sub-commands, one file each (cmd_<name>.cc). argv[0] is the name of the sub-command.
#pragma once

#include <span>

namespace qrewrite::cli {

int RunRewrite(int argc, char** argv);  // without a sub-command
int RunShow(int argc, char** argv);
int RunExplain(int argc, char** argv);
int RunFind(int argc, char** argv);
int RunNew(int argc, char** argv);
int RunTest(int argc, char** argv);
int RunLint(int argc, char** argv);
int RunRules(int argc, char** argv);
int RunLsp(int argc, char** argv);
int RunSchema(int argc, char** argv);
int RunProve(int argc, char** argv);
int RunDebug(int argc, char** argv);
int RunVerify(int argc, char** argv);
int RunDiff(int argc, char** argv);
int RunVersion(int argc, char** argv);
int RunCompletion(int argc, char** argv);
int RunMan(int argc, char** argv);

struct Command {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv);
};
std::span<const Command> Commands();

}  // namespace qrewrite::cli
