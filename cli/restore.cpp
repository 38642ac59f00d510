// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet restore`: a box as a backup has it, or as it was before that.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/box_options.h"
#include "cli/command.h"
#include "daemon/backup/act_as.h"
#include "daemon/backup/change.h"
#include "daemon/backup/incoming.h"
#include "daemon/settings/settings_file.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "store/folder_lock.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;
namespace backup = daemon::backup;

struct Options {
  BoxOptions box;
  std::string file;
  bool undo = false;
};

// The daemon has to rest: it would go on writing the state that is put aside.
Result<FileDescriptor> lock(const fs::path& state) {
  Result<FileDescriptor> held = store::lock_folder(state);
  if (!held && held.error().code == ErrorCode::kBusy) {
    held.error().message = "kingletd runs";
    held.error().hint = "sudo systemctl stop kingletd, restore, and start it again; or restore on the page";
  }
  return held;
}

// The values only: the files that they name are not in place yet.
Result<daemon::JudgedSettings> judge_settings(const std::string& text, const fs::path& etc,
                                              const backup::Places& places, const ConfigOptions& wish) {
  config::LoadOptions options;
  if (!etc.empty()) {
    options.folder = etc;
  } else if (!wish.file.empty()) {
    options.file = wish.file;
  } else {
    options.folder = places.etc;
  }
  if (!text.empty()) options.settings = {.file = daemon::settings_file(places.state), .text = text};
  options.foreign_settings = true;
  auto loaded = config::load(options);
  if (!loaded) {
    Error fault = loaded.error().front();
    fault.hint = "the backup's configuration does not fit this kinglet; " + fault.hint;
    return std::unexpected(std::move(fault));
  }
  const fs::path state = loaded->config.store.path;
  if (!etc.empty() && !state.empty() && state != places.state) {
    return fail(ErrorCode::kConfig, format_text("its configuration has store.path = \"{}\"", state.string()), {},
                format_text("restore into that folder: --set store.path={}", state.string()));
  }
  return daemon::JudgedSettings{.kept = std::move(loaded->settings), .left_out = std::move(loaded->left_out)};
}

void tell(const backup::Arrived& arrived, Output& out) {
  for (const auto& [key, why] : arrived.left_out) out.warn(format_text("setting left out: {}: {}", key, why));
  if (out.json()) {
    std::vector<std::string> left_out;
    for (const auto& [key, why] : arrived.left_out) left_out.push_back(key);
    out.print_json({{"made_at", arrived.made_at},
                    {"version", arrived.version},
                    {"visits", arrived.visits},
                    {"pictures", arrived.pictures},
                    {"pictures_missing", arrived.pictures_missing},
                    {"models", arrived.models},
                    {"settings", arrived.settings},
                    {"settings_left_out", std::move(left_out)},
                    {"private_files", arrived.private_files},
                    {"owners_files", arrived.owners_files}});
  }
  out.note(
      format_text("as of {}, by kinglet {}: {} visits, {} pictures, {} models, {} settings, {} private files, {} of "
                  "/etc; what was before is kept for a day (kinglet restore --undo)",
                  arrived.made_at, arrived.version, arrived.visits, arrived.pictures, arrived.models, arrived.settings,
                  arrived.private_files, arrived.owners_files));
}

Result<void> feed(backup::Incoming& incoming, const InputFile& file, Output& out) {
  std::string bytes;
  for (std::uint64_t offset = 0; offset < file.size(); offset += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file.size() - offset, 1U << 20)));
    KINGLET_TRY(file.read_at(offset, std::as_writable_bytes(std::span(bytes))));
    KINGLET_TRY(incoming.take(bytes));
    out.progress("restore", offset, file.size());
  }
  out.end_progress();
  return {};
}

Result<int> restore(const Options& options, const backup::Places& places, const InputFile& file, Output& out) {
  backup::Incoming incoming = KINGLET_TRY(backup::Incoming::begin(places, backup::Carry::kEverything));
  KINGLET_TRY(feed(incoming, file, out));
  const backup::Arrived arrived = KINGLET_TRY(
      incoming.finish([&](const std::string& text,
                          const fs::path& etc) { return judge_settings(text, etc, places, options.box.config); },
                      [] { return false; }));
  KINGLET_TRY(incoming.commit());
  if (arrived.owners_files > 0) {
    const backup::ActAs starter = backup::ActAs::starter();
    KINGLET_TRY(backup::take_up_etc(places.etc));
  }
  (void)KINGLET_TRY(backup::take_up(places));
  tell(arrived, out);
  return 0;
}

Result<int> run(const Options& options, Output& out) {
  if (options.undo == !options.file.empty()) {
    return fail(ErrorCode::kUsage, "expected a FILE, or --undo", "restore",
                "`kinglet restore --help` shows an example");
  }
  const backup::Places places = KINGLET_TRY(places_of(options.box));
  // By who started this: it may be a file of root's.
  std::optional<InputFile> file;
  if (!options.undo) file = KINGLET_TRY(InputFile::open(options.file));
  const backup::ActAs owner(places.state);
  const FileDescriptor held = KINGLET_TRY(lock(places.state));
  // One that waits is finished first. Where its files of /etc are missing nothing of it is in place: it gives way, or
  // it would be taken up without them after this one has failed.
  const Result<bool> waited = backup::take_up(places);
  if (!waited && waited.error().code != ErrorCode::kBusy) return std::unexpected(waited.error());
  if (!waited) (void)KINGLET_TRY(backup::call_off(places.state));
  if (!options.undo) return restore(options, places, *file, out);
  KINGLET_TRY(backup::turn_back(places));
  (void)KINGLET_TRY(backup::take_up(places));
  out.note(
      "all is as it was before the restore, but for the files of /etc, which are kept as /etc/kinglet.before-restore");
  return 0;
}

}  // namespace

Body restore_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file, "as `kinglet backup` or the page made it");
  app.add_flag("--undo", options->undo, "back to what was before the newest restore, kept for a day");
  add_box_options(app, options->box);
  return [options](Output& out) { return run(*options, out); };
}

}  // namespace kinglet::cli
