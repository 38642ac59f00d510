// SPDX-License-Identifier: Apache-2.0
// The part of the keeper by which models come: pulled from the catalogue, or uploaded.
#include <algorithm>
#include <utility>

#include "daemon/models/model_keeper.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

// Of the progress of a job.
constexpr double kReceived = 0.8;
constexpr double kChecked = 0.9;
// While bytes come this thread comes round several times a second; a check takes the prover's time.
constexpr std::chrono::minutes kLongestSilence{10};

std::unexpected<ModelKeeper::Refused> turn_away(ModelKeeper::Refusal why, std::string detail, std::string hint = {}) {
  return std::unexpected(ModelKeeper::Refused{.why = why, .detail = std::move(detail), .hint = std::move(hint)});
}

double share_of(const ModelJob& job) {
  return job.size == 0 ? 0 : static_cast<double>(job.received) / static_cast<double>(job.size);
}

// Too little time or memory, no tool, a disk that does not answer: of a file that may be good, and another one than the
// catalogue's. What is fetched would be written over it.
bool is_of_the_file(ErrorCode code) {
  return code == ErrorCode::kBadData || code == ErrorCode::kUnsupported || code == ErrorCode::kNotFound;
}

}  // namespace

bool ModelKeeper::is_here(std::string_view name) const {
  return std::ranges::contains(files(), name, &ModelFile::name) || model_file(incoming_.place_of(name)).has_value();
}

std::expected<ModelJob, ModelKeeper::Refused> ModelKeeper::pull(std::string_view name, bool then_activate) {
  const CatalogueEntry* entry = incoming_.find(name);
  if (entry == nullptr) {
    std::vector<std::string_view> names;
    for (const CatalogueEntry& one : catalogue()) names.emplace_back(one.name);
    const std::string_view near = nearest_name(name, names);
    return turn_away(
        Refusal::kUnknown, format_text("there is no model \"{}\" in the catalogue", printable(name, 100)),
        near.empty() ? "GET /api/v1/models/catalogue lists them" : format_text("did you mean \"{}\"?", near));
  }
  if (!is_here(name)) {
    if (const Result<void> room = incoming_.make_room(entry->size_bytes); !room) return not_written(room.error());
  }
  MutexLock lock(mutex_);
  if (const std::optional<Refused> refused = busy()) return std::unexpected(*refused);
  return add({.kind = ModelJob::Kind::kPull,
              .model = entry->name,
              .step = ModelJob::Step::kReceive,
              .then_activate = then_activate});
}

std::expected<ModelUpload, ModelKeeper::Refused> ModelKeeper::begin_upload(std::string_view name, std::uint64_t size,
                                                                           bool then_activate) {
  if (!is_model_name(name)) {
    return turn_away(Refusal::kBadName, format_text("\"{}\" cannot be the name of a model", printable(name, 100)),
                     "a to z, 0 to 9, '.', '_' and '-', at most 80, such as garden-2");
  }
  if (is_here(name)) {
    return turn_away(Refusal::kExists, format_text("there is a model \"{}\" already", name),
                     "choose another name, or remove that one first");
  }
  if (const Result<void> room = incoming_.make_room(size); !room) return not_written(room.error());
  std::string id;
  {
    MutexLock lock(mutex_);
    if (const std::optional<Refused> refused = busy()) return std::unexpected(*refused);
    id = add({.kind = ModelJob::Kind::kUpload,
              .model = std::string(name),
              .step = ModelJob::Step::kReceive,
              .then_activate = then_activate,
              .on_its_way = true,
              .size = size})
             .id;
  }
  Result<PartFile> file = incoming_.open_upload();
  if (file) return ModelUpload(*this, id, std::move(*file));
  (void)end_upload(id, file.error()).has_value();
  return not_written(file.error());
}

void ModelKeeper::note_received(std::string_view id, std::uint64_t bytes) {
  MutexLock lock(mutex_);
  const auto job = std::ranges::find(jobs_, id, &ModelJob::id);
  if (job == jobs_.end()) return;
  job->received = bytes;
  job->progress = kReceived * share_of(*job);
}

Result<ModelJob> ModelKeeper::end_upload(std::string_view id, const std::optional<Error>& error) {
  MutexLock lock(mutex_);
  const auto job = std::ranges::find(jobs_, id, &ModelJob::id);
  if (job == jobs_.end()) return fail(ErrorCode::kInternal, "the job of this upload is gone");
  job->on_its_way = false;
  if (error) {
    job->state = ModelJob::State::kFailed;
    job->ended = std::chrono::system_clock::now();
    job->error = error;
  }
  changed_.notify_all();
  return *job;
}

Result<void> ModelKeeper::bring(ModelJob& job, const std::stop_token& stop) {
  const bool pulled = job.kind == ModelJob::Kind::kPull;
  if (!pulled) job.step = ModelJob::Step::kCheck;
  update(job);
  const Result<void> here = pulled ? fetch_file(job, stop) : incoming_.admit(job.model, incoming_.upload(), stop);
  if (stop.stop_requested()) return fail(ErrorCode::kUnavailable, "the daemon is shutting down");
  if (!here) return here;
  job.progress = kChecked;
  if (!job.then_activate) {
    check(incoming_.place_of(job.model), stop);  // proven already: who sees this end finds it judged
    return {};
  }
  job.step = ModelJob::Step::kActivate;
  update(job);
  return change(job, stop);
}

Result<bool> ModelKeeper::is_here_and_good(const CatalogueEntry& entry, const std::stop_token& stop) {
  const std::vector<ModelFile> found = files();
  const auto file = std::ranges::find(found, entry.name, &ModelFile::name);
  if (file == found.end()) return false;
  const Result<Proof> proof = options_.prover->prove(options_for(file->path), stop);
  if (!proof && is_of_the_file(proof.error().code)) return false;
  if (!proof) return std::unexpected(proof.error());
  note_verdict(*file, proof);
  if (is_of(entry, *proof)) return true;
  return fail(ErrorCode::kBadData,
              format_text("another file is here by the name \"{}\": it has {}, the catalogue's has sha256:{}",
                          entry.name, proof->digest, entry.sha256),
              {}, "remove that model, or give its file another name, and fetch again");
}

Result<void> ModelKeeper::fetch_file(ModelJob& job, const std::stop_token& stop) {
  const CatalogueEntry& entry = *incoming_.find(job.model);
  if (KINGLET_TRY(is_here_and_good(entry, stop))) return {};
  job.size = entry.size_bytes;
  const auto progress = [&](std::uint64_t bytes) {
    job.received = bytes;
    job.progress = kReceived * share_of(job);
    update(job);
  };
  const auto go_on = [&] {
    pulse_.beat(kLongestSilence);
    return !stop.stop_requested();
  };
  const std::filesystem::path file = KINGLET_TRY(incoming_.download(entry, progress, go_on));
  job.step = ModelJob::Step::kCheck;
  update(job);
  return incoming_.admit(job.model, file, stop);
}

ModelUpload::ModelUpload(ModelKeeper& keeper, std::string job, PartFile file)
    : keeper_(&keeper), job_(std::move(job)), file_(std::move(file)) {}

ModelUpload::ModelUpload(ModelUpload&& other) noexcept
    : keeper_(std::exchange(other.keeper_, nullptr)), job_(std::move(other.job_)), file_(std::move(other.file_)) {}

ModelUpload::~ModelUpload() {
  if (keeper_ == nullptr) return;
  std::error_code ignored;
  std::filesystem::remove(file_.path(), ignored);
  (void)keeper_->end_upload(job_, Error{ErrorCode::kIo, "the file did not come whole", {}, "send it again"})
      .has_value();
}

Result<void> ModelUpload::write(std::string_view bytes) {
  KINGLET_TRY(file_.write(file_.size(), std::as_bytes(std::span(bytes))));
  keeper_->note_received(job_, file_.size());
  return {};
}

Result<ModelJob> ModelUpload::finish() {
  KINGLET_TRY(file_.sync());
  file_ = PartFile();  // whoever opens it next finds it free
  return std::exchange(keeper_, nullptr)->end_upload(job_, std::nullopt);
}

}  // namespace kinglet::daemon
