// SPDX-License-Identifier: Apache-2.0
// Why: models are loaded, checked and changed beside the one that answers, which goes on whatever fails.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "daemon/models/incoming.h"
#include "daemon/models/model_board.h"
#include "daemon/models/model_desk.h"
#include "daemon/models/model_folder.h"
#include "daemon/models/model_job.h"
#include "daemon/models/model_prover.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"
#include "engine/base/pulse.h"
#include "engine/session/thread_pool.h"
#include "visits/ids.h"

namespace kinglet::daemon {

struct KeeperOptions {
  std::filesystem::path folder;                // of models; may be missing or empty
  std::filesystem::path state_folder;          // what was activated is kept here; empty: until the end
  std::string configured_path;                 // model.path as the configuration has it
  std::optional<LineModelOptions> configured;  // the model of the configuration, if it names one
  visits::TableFiles tables;                   // of names, for all models
  engine::Precision precision = engine::Precision::kAuto;
  int threads = 1;
  std::shared_ptr<const engine::ThreadPool> pool;  // of those threads, for all models; empty: each its own
  std::shared_ptr<ModelProver> prover;             // never empty; of the thread "models" once it has started
  std::vector<CatalogueEntry> catalogue;           // what can be fetched
};

// What is known of a model without loading it again.
struct KnownModel {
  enum class State : std::uint8_t { kChecking, kValid, kInvalid };
  ModelFile file;
  bool configured = false;
  bool in_folder = false;  // of models; only the configuration's may lie elsewhere
  bool active = false;
  State state = State::kChecking;
  std::string problem;          // of kInvalid, for a person; with it
  std::string hint;             // what to do, may be empty
  bool may_pass_later = false;  // of kInvalid: time or memory did not suffice
  Proof proof;                  // of kValid
  std::optional<ModelJob> newest_job;
};
[[nodiscard]] std::string_view to_string(KnownModel::State state);

// Which of the models a start takes: what was activated, unless the configuration has changed since.
[[nodiscard]] Result<std::optional<LineModelOptions>> chosen_model(const KeeperOptions& options);

class ModelKeeper;

// A file on its way here, of the thread that receives it. Destroyed before finish(): it never came whole, and nothing
// of it is kept.
class ModelUpload {
 public:
  ModelUpload(ModelKeeper& keeper, std::string job, PartFile file);
  ModelUpload(ModelUpload&& other) noexcept;
  ModelUpload& operator=(ModelUpload&&) = delete;
  ~ModelUpload();

  // The next bytes, in order. kIo: the disk is full.
  [[nodiscard]] Result<void> write(std::string_view bytes);
  // All of it came: what it is, is judged from now on.
  [[nodiscard]] Result<ModelJob> finish();

 private:
  ModelKeeper* keeper_;  // nullptr: moved from, or finished
  std::string job_;
  PartFile file_;
};

// Owns the thread "models". start() and the stops belong to the owner, the rest is thread-safe.
class ModelKeeper {
 public:
  // Borrows board, desk and ids until its end. `on_change`, which may be empty, is called on the own thread after
  // another model answers.
  ModelKeeper(KeeperOptions options, ModelBoard& board, ModelDesk& desk, visits::IdMaker& ids, LogSink log,
              std::function<void()> on_change);
  ~ModelKeeper() { stop(); }
  void start();
  // Calls off what is under way; waits for nothing.
  void begin_stop();
  // False: a model was still being loaded at the deadline, which nothing interrupts.
  [[nodiscard]] bool stop_by(SteadyTime deadline);
  void stop();

  // Those of the folder and that of the configuration. What is not known yet is checked soon.
  [[nodiscard]] std::vector<KnownModel> list();

  enum class Refusal : std::uint8_t {
    kUnknown,      // no model of the folder, or of the catalogue, has the name
    kInvalid,      // it was looked at and cannot be used, now or later
    kBusy,         // another job is not over
    kBadName,      // of a file that is to be made
    kExists,       // a file of the name is here
    kNoRoom,       // on the disk, or there is no folder
    kNotWritable,  // the folder
    kInUse,        // it answers, or a start would take it
    kSetInFile,    // a key of the configuration says it for this model
    kBadLabels,
    kBadRecipe
  };
  struct Refused {
    Refusal why;
    std::string detail;  // for a person
    std::string hint;
  };
  // Each of the three begins a job, at most one at a time.
  // The change to another model. With a trial both look at frames first.
  [[nodiscard]] std::expected<ModelJob, Refused> activate(std::string_view name, const std::optional<TrialRule>& trial);
  // The fetch of a model of the catalogue; one that is here and good is not fetched again, and a good one that is not
  // the catalogue's stays and fails the job.
  [[nodiscard]] std::expected<ModelJob, Refused> pull(std::string_view name, bool then_activate);
  // A file of `size` bytes comes and becomes the model `name`. Nothing else is worked on meanwhile.
  [[nodiscard]] std::expected<ModelUpload, Refused> begin_upload(std::string_view name, std::uint64_t size,
                                                                 bool then_activate);
  // What a model of the folder lacks, kept beside it; an empty text takes it away. It counts when the model is
  // activated next, or at the next start. `by`: for the log. Labels: a line each, as many as there are classes where
  // that is known.
  [[nodiscard]] std::expected<KnownModel, Refused> set_labels(std::string_view name, std::string_view text,
                                                              std::string_view by);
  // As a recipe file has it.
  [[nodiscard]] std::expected<KnownModel, Refused> set_recipe(std::string_view name, std::string_view json,
                                                              std::string_view by);
  // With what goes with it. Not the one that answers, nor one that a start would take.
  [[nodiscard]] std::expected<void, Refused> remove(std::string_view name, std::string_view by);
  // What became of the operators of all models; all zero with one thread.
  [[nodiscard]] engine::PoolFacts workers() const {
    return options_.pool ? options_.pool->facts() : engine::PoolFacts{};
  }
  [[nodiscard]] const std::vector<CatalogueEntry>& catalogue() const { return incoming_.catalogue(); }
  [[nodiscard]] bool has_folder() const { return !options_.folder.empty(); }
  // As it is now, of the newest 32. Nothing: it is not known, or not any more.
  [[nodiscard]] std::optional<ModelJob> job(std::string_view id) const;
  [[nodiscard]] std::optional<ModelJob> newest_job() const;
  [[nodiscard]] const Pulse& pulse() const { return pulse_; }

 private:
  friend class ModelUpload;
  struct Verdict {
    std::string stamp;
    std::string problem;  // empty: valid
    std::string hint;
    bool may_pass_later = false;
    Proof proof;
  };
  static constexpr std::size_t kKeptJobs = 32;

  void run(const std::stop_token& stop);
  [[nodiscard]] std::optional<std::string> next_job() const KINGLET_REQUIRES(mutex_);
  void check(const std::filesystem::path& path, const std::stop_token& stop);
  void note_verdict(const ModelFile& file, const Result<Proof>& proven);
  void work_on(const std::string& id, const std::stop_token& stop);
  [[nodiscard]] std::expected<KnownModel, Refused> find(std::string_view name);
  [[nodiscard]] std::expected<KnownModel, Refused> find_in_folder(std::string_view name);
  [[nodiscard]] std::optional<std::size_t> classes_of(const KnownModel& model) const;
  struct Companion {
    std::filesystem::path file;
    std::string_view what;  // "labels"
  };
  [[nodiscard]] std::expected<KnownModel, Refused> keep_beside(const KnownModel& model, const Companion& companion,
                                                               std::string_view text, std::string_view by);
  // What the folder, or its disk, did not take.
  [[nodiscard]] static std::unexpected<Refused> not_written(const Error& error);
  [[nodiscard]] std::optional<Refused> busy() const KINGLET_REQUIRES(mutex_);
  [[nodiscard]] ModelJob add(ModelJob job) KINGLET_REQUIRES(mutex_);
  void note_received(std::string_view id, std::uint64_t bytes);
  [[nodiscard]] Result<ModelJob> end_upload(std::string_view id, const std::optional<Error>& error);
  [[nodiscard]] bool is_here(std::string_view name) const;
  // A model comes: from the catalogue, or as it was uploaded.
  [[nodiscard]] Result<void> bring(ModelJob& job, const std::stop_token& stop);
  // False: it has to be fetched. kBadData: a good model that is another one has its name.
  [[nodiscard]] Result<bool> is_here_and_good(const CatalogueEntry& entry, const std::stop_token& stop);
  [[nodiscard]] Result<void> fetch_file(ModelJob& job, const std::stop_token& stop);
  // The job as it ends.
  [[nodiscard]] Result<void> change(ModelJob& job, const std::stop_token& stop);
  [[nodiscard]] Result<LineModel> try_out(LineModel classifier, ModelJob& job, const std::stop_token& stop);
  [[nodiscard]] Result<bool> keep_choice(const std::filesystem::path& path);
  [[nodiscard]] LineModelOptions options_for(const std::filesystem::path& path) const;
  [[nodiscard]] bool is_configured(const std::filesystem::path& path) const;
  [[nodiscard]] std::vector<ModelFile> files() const;
  void update(const ModelJob& job);
  void log(LogLevel level, const std::string& text) const;

  Pulse pulse_{"models"};
  const KeeperOptions options_;
  const Incoming incoming_;
  ModelBoard& board_;
  ModelDesk& desk_;
  visits::IdMaker& ids_;
  const LogSink log_;
  const std::function<void()> on_change_;

  mutable Mutex mutex_;
  Condition changed_;
  std::map<std::filesystem::path, Verdict> verdicts_ KINGLET_GUARDED_BY(mutex_);
  std::deque<std::filesystem::path> unchecked_ KINGLET_GUARDED_BY(mutex_);
  std::deque<ModelJob> jobs_ KINGLET_GUARDED_BY(mutex_);  // the newest at the end
  std::binary_semaphore ended_{0};                        // the thread
  std::jthread thread_;                                   // last: joined first
};

}  // namespace kinglet::daemon
