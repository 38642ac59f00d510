// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/models, POST /models/{name}/activate and GET /jobs/{id}: which models there are, and the change to
// another one while the camera runs.
#include "daemon/http/control/models.h"

#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"
#include "engine/base/words.h"
#include "engine/recipe/recipe.h"

namespace kinglet::daemon::http {
namespace {

// The kind of problem that stands for an error of loading or of keeping.
std::string_view slug_of(const Error& error) {
  using enum ErrorCode;
  static constexpr Word<ErrorCode> kWords[] = {{kBadData, "model-not-valid"},   {kUnsupported, "model-not-valid"},
                                               {kConfig, "model-not-valid"},    {kNotFound, "not-found"},
                                               {kCannotCreate, "not-writable"}, {kIo, "storage-full"},
                                               {kUnavailable, "starting"},      {kBusy, "starting"}};
  return word_of(kWords, error.code, "internal-error");
}

// Without the file's place on the disk: `where` is for the log.
Json problem_of(const ModelJob& job) {
  const Error& error = *job.error;
  const bool network = job.step == ModelJob::Step::kReceive && error.code == ErrorCode::kUnavailable;
  return problem_json({.slug = std::string(network ? "download-failed" : slug_of(error)),
                       .detail = error.message,
                       .hint = error.hint,
                       .faults = {}});
}

Json trial_json(const TrialReport& report) {
  return {
      {"frames", report.frames},
      {"frames_wanted", report.wanted},
      {"agreement_ratio", rounded(report.agreement(), 4)},
      {"same_answer_ratio",
       report.frames == 0 ? 0.0
                          : rounded(static_cast<double>(report.same_answers) / static_cast<double>(report.frames), 4)},
      {"score_difference", rounded(report.score_difference, 4)},
      {"before_ms", rounded(report.before.count(), 3)},
      {"after_ms", rounded(report.after.count(), 3)},
      {"time_ratio", rounded(report.time_ratio(), 3)}};
}

// Nothing: no trial is wished.
std::expected<std::optional<TrialRule>, Reply> trial_parameters(const ModelsView& view, const Call& call) {
  constexpr std::int64_t kMostFrames = 100'000;
  constexpr std::int64_t kLongest = 86'400;
  TrialRule rule = view.trial_rule();
  const auto word = word_parameter(call, "trial", {"no", "yes"});
  const auto frames = integer_parameter(call, "frames", static_cast<std::int64_t>(rule.frames), 1, kMostFrames);
  const auto agreement = ratio_parameter(call, "min_agreement", rule.least_agreement);
  const auto time = number_parameter(call, "max_time", rule.most_time);
  const auto within = integer_parameter(call, "within", rule.within.count(), 1, kLongest);
  if (!word) return std::unexpected(word.error());
  if (!frames) return std::unexpected(frames.error());
  if (!agreement) return std::unexpected(agreement.error());
  if (!time) return std::unexpected(time.error());
  if (!within) return std::unexpected(within.error());
  if (!(*time > 0)) return std::unexpected(problem("bad-parameter", "max_time: expected a number above 0"));
  if (*word == 0) {
    for (const std::string_view name : {"frames", "min_agreement", "max_time", "within"}) {
      if (!call.query_value(name)) continue;
      return std::unexpected(problem("bad-parameter", format_text("{} is only for a trial", name), "add trial=yes"));
    }
    return std::nullopt;
  }
  rule.frames = static_cast<std::size_t>(*frames);
  rule.least_agreement = *agreement;
  rule.most_time = *time;
  rule.within = std::chrono::seconds(*within);
  return rule;
}

}  // namespace

Json job_json(const ModelJob& job) {
  Json json{{"id", job.id},
            {"kind", to_string(job.kind)},
            {"model", job.model},
            {"state", to_string(job.state)},
            {"progress_ratio", rounded(job.progress, 3)},
            {"created_at", to_rfc3339(job.created)}};
  if (job.started != WallTime{}) json["started_at"] = to_rfc3339(job.started);
  if (job.ended != WallTime{}) json["ended_at"] = to_rfc3339(job.ended);
  if (job.kind != ModelJob::Kind::kActivate && !job.is_over()) json["step"] = to_string(job.step);
  if (job.size > 0) {
    json["received_bytes"] = job.received;
    json["size_bytes"] = job.size;
  }
  if (job.trial) {
    json["rule"] = {{"frames", job.trial->frames},
                    {"min_agreement_ratio", job.trial->least_agreement},
                    {"max_time_ratio", job.trial->most_time},
                    {"within_seconds", job.trial->within.count()}};
  }
  if (job.report) json["trial"] = trial_json(*job.report);
  if (job.state == ModelJob::State::kSucceeded) {
    json["activated"] = job.activated;
    if (job.activated) json["kept_for_next_start"] = job.kept;
    if (!job.reason.empty()) json["reason"] = job.reason;
  }
  if (job.error) json["problem"] = problem_of(job);
  return json;
}

Json known_model_json(const KnownModel& model) {
  Json json{{"name", model.file.name},
            {"file", model.file.path.filename().string()},
            {"state", to_string(model.state)},
            {"active", model.active},
            {"configured", model.configured},
            {"in_folder", model.in_folder},
            {"size_bytes", model.file.size_bytes},
            {"modified_at", to_rfc3339(model.file.modified)}};
  if (model.state == KnownModel::State::kInvalid) {
    json["reason"] = model.problem;
    if (!model.hint.empty()) json["hint"] = model.hint;
  }
  if (model.state == KnownModel::State::kValid) {
    json["digest"] = model.proof.digest;
    json["classes"] = model.proof.classes;
    json["labels_named"] = model.proof.labels_named;
    json["preprocess_found"] = model.proof.recipe_found;
  }
  if (model.newest_job) json["newest_job"] = job_json(*model.newest_job);
  return json;
}

Reply refusal_reply(const ModelKeeper::Refused& refused) {
  using enum ModelKeeper::Refusal;
  static constexpr Word<ModelKeeper::Refusal> kSlugs[] = {
      {kUnknown, "not-found"},        {kInvalid, "model-not-valid"}, {kBusy, "job-running"},
      {kBadName, "bad-parameter"},    {kExists, "model-exists"},     {kNoRoom, "storage-full"},
      {kNotWritable, "not-writable"}, {kInUse, "model-in-use"},      {kSetInFile, "set-in-file"},
      {kBadLabels, "bad-labels"},     {kBadRecipe, "bad-recipe"}};
  return problem(word_of(kSlugs, refused.why), refused.detail, refused.hint);
}

Reply accepted_reply(const ModelJob& job) {
  Reply reply = json_reply(job_json(job).dump(), "no-store");
  reply.status = 202;
  reply.headers.emplace_back("Location", "/api/v1/jobs/" + job.id);
  return reply;
}

Reply get_models(const ModelsView& view, const Call& /*call*/) {
  Json items = Json::array();
  for (const KnownModel& model : view.keeper.list()) items.push_back(known_model_json(model));
  Json presets = Json::array();
  for (const engine::Preset& preset : engine::recipe_presets()) {
    if (preset.recipe.boxes) continue;  // of detectors: no classifier's
    presets.push_back({{"name", preset.name}, {"whose", preset.whose}});
  }
  return json_reply(
      Json{{"items", std::move(items)}, {"has_more", false}, {"recipe_presets", std::move(presets)}}.dump(),
      "no-store");
}

Reply post_activate(const ModelsView& view, const Call& call) {
  const auto trial = trial_parameters(view, call);
  if (!trial) return trial.error();
  const auto job = view.keeper.activate(call.path_parameter("name"), *trial);
  return job ? accepted_reply(*job) : refusal_reply(job.error());
}

Reply get_job(const ModelsView& view, const Call& call) {
  const std::optional<ModelJob> job = view.keeper.job(call.path_parameter("id"));
  if (!job) return problem("not-found", "there is no such job in memory", "GET /api/v1/models shows the newest ones");
  return json_reply(job_json(*job).dump(), "no-store");
}

}  // namespace kinglet::daemon::http
