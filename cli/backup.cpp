// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet backup`: all of this box in one file, while the daemon runs.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/box_options.h"
#include "cli/command.h"
#include "cli/tool_files.h"
#include "daemon/backup/outgoing.h"
#include "engine/base/format.h"

namespace kinglet::cli {
namespace {

namespace backup = daemon::backup;

struct Options {
  BoxOptions box;
  std::string output;
  bool force = false;
};

void tell(const backup::Carried& carried, const std::string& file, Output& out) {
  if (out.json() && file != "-") {
    out.print_json({{"file", file},
                    {"bytes", carried.bytes},
                    {"visits", carried.visits},
                    {"pictures", carried.pictures},
                    {"models", carried.models},
                    {"files", carried.files},
                    {"left_out", carried.left_out}});
  }
  for (const std::string& one : carried.left_out) out.warn("not carried: " + one);
  out.note(format_text("{} visits, {} pictures, {} models, {} files in all: {}", carried.visits, carried.pictures,
                       carried.models, carried.files, human_bytes(carried.bytes)));
}

Result<int> run(const Options& options, Output& out) {
  const backup::Places places = KINGLET_TRY(places_of(options.box));
  // Before the history is copied for nothing.
  std::error_code ignored;
  if (options.output != "-" && !options.force && std::filesystem::exists(options.output, ignored)) {
    return fail(ErrorCode::kCannotCreate, "the file exists already", options.output, "add --force to replace it");
  }
  backup::Outgoing box = KINGLET_TRY(backup::Outgoing::begin(places, backup::Carry::kEverything,
                                                             std::chrono::system_clock::now(), [] { return false; }));
  const auto make = [&](const PutBytes& put) -> Result<void> {
    std::string piece;
    for (bool more = true; more;) {
      more = KINGLET_TRY(box.next(piece));
      KINGLET_TRY(put(piece));
      out.progress("backup", box.carried().bytes, std::max(box.expected_bytes(), box.carried().bytes));
    }
    out.end_progress();
    return {};
  };
  // It has what lets its owner in.
  KINGLET_TRY(write_output(options.output, make, options.force, out, Readers::kOwner));
  tell(box.carried(), options.output, out);
  return 0;
}

}  // namespace

Body backup_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("-o", options->output, "the file to write; - is stdout")->type_name("OUT")->required();
  app.add_flag("--force", options->force, "replace the file");
  add_box_options(app, options->box);
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
