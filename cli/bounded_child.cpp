// SPDX-License-Identifier: Apache-2.0
#include "cli/bounded_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "engine/base/file.h"
#include "engine/base/format.h"

namespace kinglet::cli {
namespace {

// The sanitizers' own memory is beyond every bound.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kBoundsMemory = false;
#else
constexpr bool kBoundsMemory = true;
#endif
constexpr std::uint64_t kProgramItself = 512U << 20;  // address space of code, libraries and threads

Result<void> limit(__rlimit_resource resource, std::uint64_t most, const char* what) {
  rlimit wanted{};
  if (::getrlimit(resource, &wanted) == 0) most = std::min<std::uint64_t>(most, wanted.rlim_max);
  wanted = {.rlim_cur = most, .rlim_max = most};
  if (::setrlimit(resource, &wanted) == 0) return {};
  return fail(ErrorCode::kUnavailable, format_text("cannot bound the {} of its check: {}", what, errno_text()));
}

// The kernel ends this process before any other when memory is short.
void offer_to_the_killer() {
  const FileDescriptor file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  constexpr std::string_view kFirst = "1000";
  if (file.valid() && ::write(file.get(), kFirst.data(), kFirst.size()) < 0) return;  // a kernel without one
}

}  // namespace

void add_child_limits(CLI::App& app, ChildLimits& limits) {
  app.add_option("--owner", limits.owner, "end with this process");
  app.add_option("--memory", limits.memory, "bytes it may take");
  app.add_option("--seconds", limits.seconds, "processor time it may take");
}

Result<void> give_up_rights(const ChildLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (limits.owner != 0 && ::getppid() != limits.owner) {
    return fail(ErrorCode::kUnavailable, "who asked for this check is gone");
  }
  offer_to_the_killer();
  KINGLET_TRY(limit(RLIMIT_CORE, 0, "core file"));
  if (limits.seconds > 0) KINGLET_TRY(limit(RLIMIT_CPU, limits.seconds, "time"));
  if (limits.memory == 0 || !kBoundsMemory) return {};
  KINGLET_TRY(limit(RLIMIT_DATA, limits.memory, "memory"));
  return limit(RLIMIT_AS, limits.memory + kProgramItself, "address space");
}

std::unexpected<Error> too_much_memory(const ChildLimits& limits, std::string_view file) {
  return fail(ErrorCode::kUnavailable,
              format_text("it needs more than {} MiB of memory, which is what it may take here", limits.memory >> 20),
              std::string(file), "a smaller model, or one of 8 bits (`kinglet quantize`), needs less");
}

nlohmann::ordered_json refusal(const Error& error) {
  return {{"valid", false},
          {"code", to_string(error.code)},
          {"message", error.message},
          {"where", error.where},
          {"hint", error.hint}};
}

}  // namespace kinglet::cli
