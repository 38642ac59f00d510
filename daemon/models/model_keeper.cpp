// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_keeper.h"

#include <algorithm>
#include <utility>

#include "daemon/machine/thread_entry.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/words.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

// The answer thread looks for a model between any two frames.
constexpr std::chrono::seconds kChangeTime{60};
// A large model on a small board, beside its trial.
constexpr std::chrono::minutes kLongestJob{10};
constexpr double kLoaded = 0.1;  // of the progress of a trial

WallTime now() { return std::chrono::system_clock::now(); }

}  // namespace

std::string_view to_string(KnownModel::State state) {
  using enum KnownModel::State;
  static constexpr Word<KnownModel::State> kWords[] = {
      {kChecking, "checking"}, {kValid, "valid"}, {kInvalid, "invalid"}};
  return word_of(kWords, state);
}

Result<std::optional<LineModelOptions>> chosen_model(const KeeperOptions& options) {
  const std::optional<ModelChoice> choice = KINGLET_TRY(read_choice(options.state_folder));
  if (!choice || choice->configured != options.configured_path) return std::nullopt;
  return LineModelOptions{.model = options.folder / choice->file,
                          .tables = options.tables,
                          .precision = options.precision,
                          .state_folder = options.state_folder,
                          .threads = options.threads,
                          .pool = options.pool};
}

ModelKeeper::ModelKeeper(KeeperOptions options, ModelBoard& board, ModelDesk& desk, visits::IdMaker& ids, LogSink log,
                         std::function<void()> on_change)
    : options_(std::move(options)),
      incoming_({.folder = options_.folder,
                 .tables = options_.tables,
                 .threads = options_.threads,
                 .catalogue = options_.catalogue,
                 .prover = options_.prover}),
      board_(board),
      desk_(desk),
      ids_(ids),
      log_(std::move(log)),
      on_change_(std::move(on_change)) {}

void ModelKeeper::start() {
  incoming_.sweep();  // before anything new may come
  thread_ = std::jthread([this](const std::stop_token& stop) {
    enter_thread(pulse_, [&] { run(stop); });
    ended_.release();
  });
}

void ModelKeeper::begin_stop() {
  thread_.request_stop();
  changed_.notify_all();
}

bool ModelKeeper::stop_by(SteadyTime deadline) {
  begin_stop();
  if (thread_.joinable() && !ended_.try_acquire_until(deadline)) return false;
  if (thread_.joinable()) thread_.join();
  return true;
}

void ModelKeeper::stop() {
  if (!stop_by(SteadyClock::now())) thread_.join();
}

void ModelKeeper::run(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kTurn{500};
  if (const Result<void> saved = options_.prover->save(); !saved) {
    log(LogLevel::kWarning, "which models are proven is forgotten at the end: " + describe(saved.error()));
  }
  while (!stop.stop_requested()) {
    std::optional<std::string> job;
    fs::path unchecked;
    {
      MutexLock lock(mutex_);
      job = next_job();
      if (!job && unchecked_.empty()) {
        pulse_.beat(kTurn);
        changed_.wait_until(mutex_, SteadyClock::now() + kTurn);
        continue;
      }
      if (!job) unchecked = unchecked_.front();
    }
    if (job) {
      work_on(*job, stop);
      continue;
    }
    check(unchecked, stop);
    MutexLock lock(mutex_);
    unchecked_.pop_front();  // not before, or who asks meanwhile would have it checked again
  }
}

std::optional<std::string> ModelKeeper::next_job() const {
  const auto queued = std::ranges::find_if(
      jobs_, [](const ModelJob& job) { return job.state == ModelJob::State::kQueued && !job.on_its_way; });
  return queued == jobs_.end() ? std::nullopt : std::optional(queued->id);
}

bool ModelKeeper::is_configured(const fs::path& path) const {
  return options_.configured && options_.configured->model == path;
}

std::vector<ModelFile> ModelKeeper::files() const {
  std::vector<ModelFile> files = list_models(options_.folder);
  if (!options_.configured) return files;
  // The model of the configuration goes by its own name and hides a file of the folder that is called so.
  std::optional<ModelFile> configured = model_file(options_.configured->model);
  if (!configured) return files;
  if (!options_.configured->name.empty()) configured->name = options_.configured->name;
  std::erase_if(files,
                [&](const ModelFile& file) { return file.name == configured->name || file.path == configured->path; });
  files.insert(files.begin(), std::move(*configured));
  return files;
}

LineModelOptions ModelKeeper::options_for(const fs::path& path) const {
  if (is_configured(path)) return *options_.configured;
  return {.model = path,
          .tables = options_.tables,
          .precision = options_.precision,
          .state_folder = options_.state_folder,
          .threads = options_.threads,
          .pool = options_.pool};
}

std::vector<KnownModel> ModelKeeper::list() {
  const std::shared_ptr<const ModelFacts> active = board_.facts();
  std::vector<KnownModel> models;
  const std::vector<ModelFile> found = files();
  MutexLock lock(mutex_);
  std::erase_if(verdicts_, [&](const auto& verdict) {
    return std::ranges::none_of(found, [&](const ModelFile& file) { return file.path == verdict.first; });
  });
  for (const ModelFile& file : found) {
    // Compared like this, a slash at the end of the folder's name does not count.
    KnownModel model{.file = file,
                     .configured = is_configured(file.path),
                     .in_folder = file.path == options_.folder / file.path.filename()};
    model.active = active && active->path == file.path;
    const auto verdict = verdicts_.find(file.path);
    if (verdict != verdicts_.end() && verdict->second.stamp == file.stamp) {
      model.state = verdict->second.problem.empty() ? KnownModel::State::kValid : KnownModel::State::kInvalid;
      model.problem = verdict->second.problem;
      model.hint = verdict->second.hint;
      model.may_pass_later = verdict->second.may_pass_later;
      model.proof = verdict->second.proof;
    } else if (!std::ranges::contains(unchecked_, file.path)) {
      unchecked_.push_back(file.path);
    }
    for (const ModelJob& job : jobs_) {
      if (job.model == file.name) model.newest_job = job;
    }
    models.push_back(std::move(model));
  }
  changed_.notify_all();
  return models;
}

void ModelKeeper::check(const fs::path& path, const std::stop_token& stop) {
  pulse_.beat(kLongestJob);
  const std::optional<ModelFile> file = model_file(path);
  if (!file) return;
  const Result<Proof> proven = options_.prover->prove(options_for(path), stop);
  if (!stop.stop_requested()) note_verdict(*file, proven);
}

void ModelKeeper::note_verdict(const ModelFile& file, const Result<Proof>& proven) {
  Verdict verdict{.stamp = file.stamp, .problem = {}, .hint = {}, .proof = {}};
  if (proven) {
    verdict.proof = *proven;
  } else {
    // Its name, not its place on the disk: anybody at home may read this.
    Error error = proven.error();
    verdict.may_pass_later = error.code == ErrorCode::kUnavailable;
    const std::string folder = file.path.parent_path().string() + "/";
    for (std::string* text : {&error.message, &error.where}) {
      for (std::size_t at = text->find(folder); at != std::string::npos; at = text->find(folder)) {
        text->erase(at, folder.size());
      }
    }
    verdict.problem = describe(error);
    verdict.hint = error.hint;
  }
  MutexLock lock(mutex_);
  verdicts_[file.path] = std::move(verdict);
}

std::expected<KnownModel, ModelKeeper::Refused> ModelKeeper::find(std::string_view name) {
  const std::vector<KnownModel> models = list();
  const auto model = std::ranges::find(models, name, [](const KnownModel& one) { return one.file.name; });
  if (model != models.end()) return *model;
  std::vector<std::string_view> names;
  names.reserve(models.size());
  for (const KnownModel& one : models) names.emplace_back(one.file.name);
  const std::string_view near = nearest_name(name, names);
  return std::unexpected(
      Refused{.why = Refusal::kUnknown,
              .detail = format_text("there is no model \"{}\" in the model folder", printable(name, 100)),
              .hint = near.empty() ? "GET /api/v1/models lists them" : format_text("did you mean \"{}\"?", near)});
}

std::expected<ModelJob, ModelKeeper::Refused> ModelKeeper::activate(std::string_view name,
                                                                    const std::optional<TrialRule>& trial) {
  const auto model = find(name);
  if (!model) return std::unexpected(model.error());
  if (model->state == KnownModel::State::kInvalid && !model->may_pass_later) {
    return std::unexpected(Refused{.why = Refusal::kInvalid, .detail = model->problem, .hint = model->hint});
  }
  MutexLock lock(mutex_);
  if (const std::optional<Refused> refused = busy()) return std::unexpected(*refused);
  return add({.model = std::string(name), .trial = trial});
}

std::unexpected<ModelKeeper::Refused> ModelKeeper::not_written(const Error& error) {
  const bool closed = error.code == ErrorCode::kCannotCreate || error.code == ErrorCode::kNotPermitted;
  Refused refused{
      .why = closed ? Refusal::kNotWritable : Refusal::kNoRoom, .detail = error.message, .hint = error.hint};
  if (closed && refused.hint.empty()) {
    refused.hint = "the daemon's user has to be able to write into the folder of models";
  }
  return std::unexpected(std::move(refused));
}

std::optional<ModelKeeper::Refused> ModelKeeper::busy() const {
  const auto job = std::ranges::find_if(jobs_, [](const ModelJob& one) { return !one.is_over(); });
  if (job == jobs_.end()) return std::nullopt;
  return Refused{.why = Refusal::kBusy,
                 .detail = format_text("\"{}\" is on its way already", job->model),
                 .hint = format_text("/api/v1/jobs/{} says how far it is", job->id)};
}

ModelJob ModelKeeper::add(ModelJob job) {
  job.created = now();
  job.id = ids_.next_text("job", job.created);
  jobs_.push_back(std::move(job));
  if (jobs_.size() > kKeptJobs) jobs_.pop_front();
  changed_.notify_all();
  return jobs_.back();
}

std::optional<ModelJob> ModelKeeper::job(std::string_view id) const {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find(jobs_, id, &ModelJob::id);
  return found == jobs_.end() ? std::nullopt : std::optional(*found);
}

std::optional<ModelJob> ModelKeeper::newest_job() const {
  MutexLock lock(mutex_);
  return jobs_.empty() ? std::nullopt : std::optional(jobs_.back());
}

void ModelKeeper::update(const ModelJob& job) {
  MutexLock lock(mutex_);
  const auto place = std::ranges::find(jobs_, job.id, &ModelJob::id);
  if (place != jobs_.end()) *place = job;
}

void ModelKeeper::work_on(const std::string& id, const std::stop_token& stop) {
  ModelJob job = this->job(id).value_or(ModelJob{});
  pulse_.beat(kLongestJob + (job.trial ? job.trial->within : std::chrono::seconds(0)));
  job.state = ModelJob::State::kRunning;
  job.started = now();
  update(job);
  if (job.kind == ModelJob::Kind::kActivate) {
    log(LogLevel::kInfo, format_text("model \"{}\" is loaded{}", job.model,
                                     job.trial ? format_text(" and tried on {} frames", job.trial->frames) : ""));
  } else {
    log(LogLevel::kInfo, format_text("model \"{}\" comes ({})", job.model, to_string(job.kind)));
  }
  const Result<void> changed = job.kind == ModelJob::Kind::kActivate ? change(job, stop) : bring(job, stop);
  job.state = changed ? ModelJob::State::kSucceeded : ModelJob::State::kFailed;
  job.progress = changed ? 1 : job.progress;
  job.ended = now();
  if (!changed) {
    job.error = changed.error();
    log(LogLevel::kError, format_text("model \"{}\" was not taken: {}", job.model, describe(changed.error())));
  } else if (job.activated) {
    log(LogLevel::kInfo, format_text("model \"{}\" answers from now on", job.model));
  } else if (job.reason.empty()) {
    log(LogLevel::kInfo, format_text("model \"{}\" is here", job.model));
  } else {
    log(LogLevel::kInfo, format_text("model \"{}\" was not taken: {}", job.model, job.reason));
  }
  update(job);
}

Result<void> ModelKeeper::change(ModelJob& job, const std::stop_token& stop) {
  const std::vector<ModelFile> found = files();
  const auto file = std::ranges::find(found, job.model, &ModelFile::name);
  if (file == found.end()) return fail(ErrorCode::kNotFound, "the file is gone", job.model);
  const LineModelOptions options = options_for(file->path);
  const Result<Proof> proven = options_.prover->prove(options, stop);
  if (stop.stop_requested()) return fail(ErrorCode::kUnavailable, "the daemon is shutting down");
  note_verdict(*file, proven);
  if (!proven) return std::unexpected(proven.error());
  Result<LineModel> opened = options_.prover->open(options, stop);
  if (!opened) return std::unexpected(opened.error());
  job.progress = std::max(job.progress, kLoaded);
  update(job);
  const bool tried = job.trial && board_.facts();
  if (tried) opened = try_out(std::move(*opened), job, stop);
  if (!opened) return std::unexpected(opened.error());
  if (!job.reason.empty()) return {};
  // Before the change: what cannot be kept is not changed to.
  const auto before = read_choice(options_.state_folder);
  job.kept = KINGLET_TRY(keep_choice(file->path));
  ModelDesk::Back back =
      desk_.exchange({.classifier = std::move(*opened), .trial = {}}, stop, SteadyClock::now() + kChangeTime, {});
  if (!back.taken) {
    if (job.kept) (void)write_choice(options_.state_folder, before ? *before : std::nullopt).has_value();
    return fail(ErrorCode::kUnavailable, "the thread that runs models did not take it", {}, "try again");
  }
  job.activated = true;
  if (on_change_) on_change_();
  return {};
}

Result<LineModel> ModelKeeper::try_out(LineModel classifier, ModelJob& job, const std::stop_token& stop) {
  const TrialRule& rule = *job.trial;
  const auto progress = [&](const TrialReport& report) {
    job.report = report;
    job.report->wanted = rule.frames;
    job.progress = kLoaded + (1 - kLoaded) * static_cast<double>(report.frames) / static_cast<double>(rule.frames);
    update(job);
  };
  ModelDesk::Back back = desk_.exchange({.classifier = std::move(classifier), .trial = rule}, stop,
                                        SteadyClock::now() + rule.within, progress);
  if (back.report) progress(*back.report);
  if (stop.stop_requested()) return fail(ErrorCode::kUnavailable, "the daemon is shutting down");
  if (back.error) return std::unexpected(with_context(*back.error, job.model));
  TrialReport report = back.report.value_or(TrialReport{});
  report.wanted = rule.frames;
  job.report = report;
  if (std::optional<std::string> reason = reason_to_keep(report, rule)) job.reason = std::move(*reason);
  if (!back.classifier) return fail(ErrorCode::kInternal, "the model that was tried did not come back");
  return std::move(*back.classifier);
}

// False: there is no place where it would outlive the process.
Result<bool> ModelKeeper::keep_choice(const fs::path& path) {
  if (options_.state_folder.empty()) return false;
  std::optional<ModelChoice> choice;
  if (!is_configured(path)) {
    choice = ModelChoice{.file = path.filename().string(), .configured = options_.configured_path};
  }
  const Result<void> written = write_choice(options_.state_folder, choice);
  if (written) return true;
  return std::unexpected(with_context(written.error(), "keeping the choice for the next start"));
}

void ModelKeeper::log(LogLevel level, const std::string& text) const {
  if (log_) log_(level, text);
}

}  // namespace kinglet::daemon
