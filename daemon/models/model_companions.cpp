// SPDX-License-Identifier: Apache-2.0
// The part of the keeper by which a model of the folder gets what it lacks, and by which it goes.
#include <utility>

#include "daemon/models/model_keeper.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/recipe/labels.h"
#include "engine/recipe/recipe.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using Refused = ModelKeeper::Refused;
using Refusal = ModelKeeper::Refusal;

std::unexpected<Refused> refuse(Refusal why, std::string detail, std::string hint) {
  return std::unexpected(Refused{.why = why, .detail = std::move(detail), .hint = std::move(hint)});
}

std::unexpected<Refused> refuse(Refusal why, const Error& error) { return refuse(why, describe(error), error.hint); }

std::unexpected<Refused> said_in_file(const char* key) {
  return refuse(Refusal::kSetInFile, format_text("{} of the configuration says it for this model", key),
                "change it there, or take it out there");
}

// One file, whichever way its path leads.
bool is_same(const fs::path& one, const fs::path& other) {
  std::error_code ignored;
  return one == other || fs::equivalent(one, other, ignored);
}

// Of the model's file alone, without what lies beside it.
std::string_view own_stamp(std::string_view stamp) { return stamp.substr(0, stamp.find(' ')); }

Result<void> put_file(const fs::path& file, std::string_view text) {
  if (!text.empty()) {
    KINGLET_TRY(write_file(file, text, Overwrite::kReplace));
  } else {
    std::error_code error;
    fs::remove(file, error);
    if (error) return cannot_remove(file, error);
  }
  return sync_folder(file.parent_path());
}

}  // namespace

std::expected<KnownModel, Refused> ModelKeeper::find_in_folder(std::string_view name) {
  auto model = find(name);
  if (!model || model->in_folder) return model;
  return refuse(Refusal::kSetInFile,
                format_text("\"{}\" is the model of the configuration and lies outside the folder of models", name),
                "model.path, model.labels and model.recipe say what it is: change them there");
}

// What lies beside it may have changed since it was seen.
std::optional<std::size_t> ModelKeeper::classes_of(const KnownModel& model) const {
  if (const auto facts = board_.facts(); facts && facts->path == model.file.path) return facts->labels.size();
  MutexLock lock(mutex_);
  const auto verdict = verdicts_.find(model.file.path);
  if (verdict == verdicts_.end() || !verdict->second.problem.empty() ||
      own_stamp(verdict->second.stamp) != own_stamp(model.file.stamp)) {
    return std::nullopt;
  }
  return verdict->second.proof.classes;
}

std::expected<KnownModel, Refused> ModelKeeper::keep_beside(const KnownModel& model, const Companion& companion,
                                                            std::string_view text, std::string_view by) {
  {
    // Nothing is put beside a model that is removed meanwhile.
    MutexLock lock(mutex_);
    if (const std::optional<Refused> refused = busy()) return std::unexpected(*refused);
    if (!model_file(model.file.path)) {
      return refuse(Refusal::kUnknown, format_text("model \"{}\" is gone", model.file.name),
                    "GET /api/v1/models lists those that are here");
    }
    if (const Result<void> put = put_file(companion.file, text); !put) return not_written(put.error());
  }
  log(LogLevel::kInfo, format_text("{} of model \"{}\" {} by {}", companion.what, model.file.name,
                                   text.empty() ? "taken away" : "set", by));
  return find(model.file.name);
}

std::expected<KnownModel, Refused> ModelKeeper::set_labels(std::string_view name, std::string_view text,
                                                           std::string_view by) {
  const auto model = find_in_folder(name);
  if (!model) return model;
  if (model->configured && !options_.configured->labels.empty()) return said_in_file("model.labels");
  const Companion companion{.file = labels_beside(model->file.path), .what = "labels"};
  if (text.empty()) return keep_beside(*model, companion, text, by);
  const Result<engine::Labels> labels = engine::Labels::parse(text, "body");
  if (!labels) return refuse(Refusal::kBadLabels, labels.error());
  if (const std::optional<std::size_t> classes = classes_of(*model)) {
    if (const Result<void> fit = labels->check_count(*classes); !fit) return refuse(Refusal::kBadLabels, fit.error());
  }
  return keep_beside(*model, companion, to_text(*labels), by);
}

std::expected<KnownModel, Refused> ModelKeeper::set_recipe(std::string_view name, std::string_view json,
                                                           std::string_view by) {
  const auto model = find_in_folder(name);
  if (!model) return model;
  if (model->configured && !options_.configured->recipe.empty()) return said_in_file("model.recipe");
  const Companion companion{.file = recipe_beside(model->file.path), .what = "recipe"};
  if (json.empty()) return keep_beside(*model, companion, json, by);
  const Result<engine::Recipe> recipe = engine::parse_recipe(json, "body");
  if (!recipe) return refuse(Refusal::kBadRecipe, recipe.error());
  if (recipe->boxes) {
    return refuse(Refusal::kBadRecipe, "body: the recipe is a detector's: it has \"boxes\"",
                  "a model that names birds has scores; kinglet detect shows what a detector finds");
  }
  return keep_beside(*model, companion, to_json(*recipe), by);
}

std::expected<void, Refused> ModelKeeper::remove(std::string_view name, std::string_view by) {
  const auto model = find(name);
  if (!model) return std::unexpected(model.error());
  const fs::path& path = model->file.path;
  if (model->configured || (options_.configured && is_same(options_.configured->model, path))) {
    return refuse(Refusal::kInUse, format_text("\"{}\" is the model of the configuration", name),
                  "it can go when model.path names another one");
  }
  const auto of_next_start = chosen_model(options_);
  if (of_next_start && *of_next_start && is_same((*of_next_start)->model, path)) {
    return refuse(Refusal::kInUse, format_text("\"{}\" is the model that was activated", name),
                  "activate another one first");
  }
  {
    // Whoever begins to use it meanwhile finds it gone, whole.
    MutexLock lock(mutex_);
    const auto facts = board_.facts();
    if (facts && is_same(facts->path, path)) {
      return refuse(Refusal::kInUse, format_text("\"{}\" is the model that answers", name),
                    "activate another one first");
    }
    if (const std::optional<Refused> refused = busy()) return std::unexpected(*refused);
    if (const auto removed = remove_model(path); !removed) return not_written(removed.error());
  }
  log(LogLevel::kInfo, format_text("model \"{}\" removed by {}", name, by));
  return {};
}

}  // namespace kinglet::daemon
