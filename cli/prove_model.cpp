// SPDX-License-Identifier: Apache-2.0
#include "cli/prove_model.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/session/model.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

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

Result<void> give_up_rights(const ProveOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (options.owner != 0 && ::getppid() != options.owner) {
    return fail(ErrorCode::kUnavailable, "who asked for this check is gone");
  }
  offer_to_the_killer();
  KINGLET_TRY(limit(RLIMIT_CORE, 0, "core file"));
  if (options.seconds > 0) KINGLET_TRY(limit(RLIMIT_CPU, options.seconds, "time"));
  if (options.memory == 0 || !kBoundsMemory) return {};
  KINGLET_TRY(limit(RLIMIT_DATA, options.memory, "memory"));
  return limit(RLIMIT_AS, options.memory + kProgramItself, "address space");
}

struct Seen {
  std::size_t classes = 0;
  std::vector<std::string> data_files;
};

Result<Seen> look_at(const ProveOptions& options) {
  KINGLET_TRY(give_up_rights(options));
  try {
    const daemon::LineModel classifier = KINGLET_TRY(daemon::open_verified(options.model));
    return Seen{.classes = classifier.facts()->labels.size(),
                .data_files = KINGLET_TRY(engine::data_files_of(options.model.model))};
  } catch (const std::bad_alloc&) {
    return fail(
        ErrorCode::kUnavailable,
        format_text("it needs more than {} MiB of memory, which is what it may take here", options.memory >> 20),
        options.model.model.string(), "a smaller model, or one of 8 bits (`kinglet quantize`), needs less");
  }
}

Json verdict(const Result<Seen>& seen) {
  if (seen) return {{"valid", true}, {"classes", seen->classes}, {"data_files", seen->data_files}};
  const Error& error = seen.error();
  return {{"valid", false},
          {"code", to_string(error.code)},
          {"message", error.message},
          {"where", error.where},
          {"hint", error.hint}};
}

}  // namespace

void add_prove_options(CLI::App& app, ProveOptions& options) {
  app.add_option("MODEL", options.model.model, "a file")->required();
  app.add_option("--labels", options.model.labels, "in place of those beside the model");
  app.add_option("--recipe", options.model.recipe, "in place of that beside the model");
  app.add_option("--species", options.model.species, "in place of the table beside the model");
  app.add_option("--names", options.model.names, "common names");
  app.add_option("--scores", options.model.output, "the output that has them");
  app.add_option("--threads", options.model.threads, "of the run")->check(CLI::PositiveNumber);
  app.add_option("--owner", options.owner, "end with this process");
  app.add_option("--memory", options.memory, "bytes it may take");
  app.add_option("--seconds", options.seconds, "processor time it may take");
}

Result<int> prove_model(const ProveOptions& options, Output& out) {
  out.print(verdict(look_at(options)).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return 0;
}

}  // namespace kinglet::cli
