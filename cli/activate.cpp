// SPDX-License-Identifier: Apache-2.0
#include "cli/activate.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/state_folder.h"
#include "daemon/models/model_folder.h"
#include "daemon/settings/settings.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostCompanion = 16U << 20;

std::string query_of(const ActivateOptions& options) {
  if (!options.trial) return {};
  std::string query = "?trial=yes";
  if (options.frames > 0) query += format_text("&frames={}", options.frames);
  if (options.agreement >= 0) query += format_text("&min_agreement={}", options.agreement);
  if (options.time >= 0) query += format_text("&max_time={}", options.time);
  if (options.within > 0) query += format_text("&within={}", options.within);
  return query;
}

Result<void> copy_model(const fs::path& from, const fs::path& to) {
  const InputFile file = KINGLET_TRY(InputFile::open(from));
  const auto copy = [&](const PutBytes& put) -> Result<void> {
    std::vector<std::byte> piece(std::size_t{1} << 20);
    for (std::uint64_t at = 0; at < file.size(); at += piece.size()) {
      const std::span part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), file.size() - at));
      KINGLET_TRY(file.read_at(at, part));
      KINGLET_TRY(put({reinterpret_cast<const char*>(part.data()), part.size()}));
    }
    return {};
  };
  return write_file(to, copy, Overwrite::kReplace);
}

std::string trial_text(const Json& trial) {
  return format_text("{} frames: the same species in {:.1f} %, {:.2f} ms in place of {:.2f} ms",
                     trial.value("frames", 0), 100 * trial.value("agreement_ratio", 0.0), trial.value("after_ms", 0.0),
                     trial.value("before_ms", 0.0));
}

// Until it has ended.
Result<Json> wait_for(const DaemonClient& client, const std::string& id, Output& out) {
  constexpr std::chrono::milliseconds kTurn{250};
  for (;;) {
    Json job = KINGLET_TRY(client.ask("GET", "/api/v1/jobs/" + url_encoded(id))).json();
    const std::string state = job.is_object() ? job.value("state", "") : "";
    if (state != "queued" && state != "running") {
      out.end_progress();
      return job;
    }
    out.progress(job.contains("trial") ? "on trial" : "loading",
                 static_cast<std::uint64_t>(1000 * job.value("progress_ratio", 0.0)), 1000);
    std::this_thread::sleep_for(kTurn);
  }
}

}  // namespace

void add_trial_options(CLI::App& app, ActivateOptions& options) {
  app.add_flag("--trial", options.trial, "both models look at the next frames first, and the owner's rule decides");
  app.add_option("--frames", options.frames, "on trial: so many frames (default model.trial_frames)")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N");
  app.add_option("--min-agreement", options.agreement, "share of frames with the same species (model.trial_agreement)")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("RATIO");
  app.add_option("--max-time", options.time, "at most so many times the time of the one before (model.trial_time)")
      ->check(CLI::Range(0.01, 100.0))
      ->type_name("RATIO");
  app.add_option("--within", options.within, "give up after so many seconds (3600)")
      ->check(CLI::Range(1, 86'400))
      ->type_name("SECONDS");
}

Result<int> activate_model(const std::string& name, const ActivateOptions& options, Output& out) {
  const DaemonClient client = KINGLET_TRY(DaemonClient::open(options.daemon));
  const std::string path = "/api/v1/models/" + url_encoded(name) + "/activate" + query_of(options);
  const Json begun = KINGLET_TRY(client.ask("POST", path)).json();
  if (!begun.is_object() || !begun.contains("id")) {
    return fail(ErrorCode::kUnavailable, "what answers there is no kingletd", client.address());
  }
  const Json job = KINGLET_TRY(wait_for(client, begun.value("id", ""), out));
  if (out.json() && options.report) out.print_json(job);
  if (job.value("state", "") != "succeeded") {
    const Json problem = job.value("problem", Json::object());
    return fail(
        problem.value("type", "") == "/problems/model-not-valid" ? ErrorCode::kBadData : ErrorCode::kUnavailable,
        printable(problem.value("detail", "the change failed"), 1000), name, problem.value("hint", ""));
  }
  if (!out.json() && job.contains("trial")) out.print(trial_text(job["trial"]) + "\n");
  if (!job.value("activated", false)) {
    out.note(format_text("the model before answers on: {}", printable(job.value("reason", ""), 1000)));
    return 1;
  }
  out.note(format_text("\"{}\" answers from now on{}", printable(name),
                       job.value("kept_for_next_start", false) ? "" : ", until the daemon ends"));
  return 0;
}

Result<fs::path> daemon_model_folder(const ConfigOptions& config) {
  const auto loaded = load_config(config);
  if (!loaded) return std::unexpected(loaded.error().front());
  if (!loaded->config.model.folder.empty()) return loaded->config.model.folder;
  const fs::path state = KINGLET_TRY(state_folder(loaded->config));
  return daemon::model_folder(loaded->config, state);
}

Result<std::string> place_model(const fs::path& model, const fs::path& companions_of, const ConfigOptions& config) {
  const fs::path folder = KINGLET_TRY(daemon_model_folder(config));
  const fs::path target = folder / model.filename();
  std::error_code ignored;
  fs::create_directory(folder, ignored);
  if (!fs::equivalent(model, target, ignored)) KINGLET_TRY(copy_model(model, target));
  for (const fs::path& source : {model, companions_of}) {
    for (const fs::path& file : daemon::files_of_model(source)) {
      const std::string name = file.filename().string().substr(source.stem().string().size());
      const fs::path beside = folder / (model.stem().string() + name);
      if (name == ".onnx" || fs::exists(beside, ignored)) continue;
      const std::string bytes = KINGLET_TRY(read_file(file, kMostCompanion));
      KINGLET_TRY(write_file(beside, bytes, Overwrite::kReplace));
    }
  }
  return model.stem().string();
}

}  // namespace kinglet::cli
