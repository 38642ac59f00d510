// SPDX-License-Identifier: Apache-2.0
// Why: the process. Everything the tool does is in run_tool and the commands of commands.def.
#include <cstdio>
#include <exception>

#include "cli/command.h"

int main(int argc, char** argv) {
  try {
    return kinglet::cli::run_tool(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("kinglet: out of memory\nhint: close other programs, or use a smaller model or picture\n", stderr);
    return 70;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kinglet: internal error: %s\nhint: please report this, with the command line\n",
                 error.what());
    return 70;
  }
}
