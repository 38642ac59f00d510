// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_proofs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/session/build_and_processor.h"
#include "engine/session/model.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostNoteBytes = 4U << 20;

// Of all files: a line each. `model` is the digest of the first one.
Result<std::string> identity_of(const std::vector<fs::path>& files, const std::string& model) {
  std::string lines = model + "\n";
  std::error_code ignored;
  for (const fs::path& file : files | std::views::drop(1)) {
    lines += fs::exists(file, ignored) ? KINGLET_TRY(engine::file_digest(file)) : std::string("-");
    lines += "\n";
  }
  return engine::text_digest(lines);
}

template <typename T>
std::optional<T> member(const Json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (!json.is_object() || found == json.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return std::nullopt;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!found->is_boolean()) return std::nullopt;
  } else {
    if (!found->is_number_unsigned()) return std::nullopt;
  }
  return found->template get<T>();
}

}  // namespace

Result<std::vector<fs::path>> files_read(const LineModelOptions& options, const std::vector<std::string>& data_files) {
  std::vector<fs::path> files{options.model};
  const auto wished_or_beside = [&](const fs::path& wished, const char* ending) {
    files.push_back(wished.empty() ? fs::path(options.model).replace_extension(ending) : wished);
  };
  wished_or_beside(options.labels, ".labels.txt");
  wished_or_beside(options.recipe, ".recipe.json");
  wished_or_beside(options.tables.species, ".species.tsv");
  files.push_back(options.tables.names);
  for (const std::string& name : data_files) files.push_back(KINGLET_TRY(engine::data_file_of(options.model, name)));
  return files;
}

std::string stamp_of(const std::vector<fs::path>& files) {
  std::string stamp;
  for (const fs::path& file : files) stamp += engine::stamp_of_file(file) + " ";
  return stamp;
}

std::string model_stamp(const std::string& stamp) { return stamp.substr(0, stamp.find(' ')); }

ModelProofs::ModelProofs(const fs::path& state_folder)
    : file_(state_folder.empty() ? fs::path() : state_folder / "proofs.json"),
      made_with_(engine::build_and_processor()) {
  if (!file_.empty()) read();
}

void ModelProofs::read() {
  const Result<std::string> text = read_file(file_, kMostNoteBytes);
  if (!text) return;
  const Json json = Json::parse(*text, nullptr, false);
  if (member<std::string>(json, "made_with") != made_with_ || !json.contains("proofs") || !json["proofs"].is_array()) {
    return;
  }
  for (const Json& item : json["proofs"]) {
    const auto path = member<std::string>(item, "path");
    const auto identity = member<std::string>(item, "identity");
    const auto digest = member<std::string>(item, "digest");
    const auto source = member<std::string>(item, "source");
    const auto stamp = member<std::string>(item, "stamp");
    const auto classes = member<std::size_t>(item, "classes");
    const auto labels_named = member<bool>(item, "labels_named");
    const auto recipe_found = member<bool>(item, "recipe_found");
    if (!path || !identity || !digest || !source || !stamp || !classes || !labels_named || !recipe_found) continue;
    if (rows_.size() == kMostRows) break;
    Row row{.proof = {.digest = *digest,
                      .source = *source,
                      .classes = *classes,
                      .labels_named = *labels_named,
                      .recipe_found = *recipe_found,
                      .data_files = {},
                      .stamp = *stamp},
            .path = *path,
            .identity = *identity};
    const Json names = item.value("data_files", Json::array());
    for (const Json& name : names) row.proof.data_files.push_back(name.is_string() ? name.get<std::string>() : "");
    rows_.push_back(std::move(row));
  }
}

std::optional<Proof> ModelProofs::find(const LineModelOptions& options) {
  for (const Row& row : rows_) {
    const auto files = files_read(options, row.proof.data_files);
    if (row.path == options.model && files && stamp_of(*files) == row.proof.stamp) return row.proof;
  }
  if (rows_.empty()) return std::nullopt;
  const std::string before = engine::stamp_of_file(options.model);
  const Result<std::string> digest = engine::file_digest(options.model);
  for (Row& row : rows_) {
    if (!digest || row.proof.digest != *digest) continue;
    const auto files = files_read(options, row.proof.data_files);
    if (!files) continue;
    std::string stamp = stamp_of(*files);
    if (model_stamp(stamp) != before) continue;
    if (identity_of(*files, *digest) != row.identity) continue;
    row.path = options.model.string();
    row.proof.stamp = std::move(stamp);
    unsaved_ = true;
    (void)save().has_value();  // said by who saves again
    return row.proof;
  }
  return std::nullopt;
}

Result<Proof> ModelProofs::note(const LineModelOptions& options, std::string_view before, Proof seen) {
  const std::vector<fs::path> files = KINGLET_TRY(files_read(options, seen.data_files));
  Row row{.proof = std::move(seen), .path = options.model.string(), .identity = {}};
  row.proof.stamp = stamp_of(files);
  row.proof.digest = KINGLET_TRY(engine::file_digest(options.model));
  row.identity = KINGLET_TRY(identity_of(files, row.proof.digest));
  // Names of data files stand at the end, and are not known before.
  if (!row.proof.stamp.starts_with(before) || stamp_of(files) != row.proof.stamp) {
    return fail(ErrorCode::kUnavailable, "its files changed while it was loaded", options.model.string(), "try again");
  }
  std::erase_if(rows_, [&](const Row& one) { return one.path == row.path || one.identity == row.identity; });
  if (rows_.size() == kMostRows) rows_.erase(rows_.begin());
  rows_.push_back(row);
  unsaved_ = true;
  (void)save().has_value();  // said by who saves again
  return row.proof;
}

Result<void> ModelProofs::save() {
  if (!unsaved_ || file_.empty()) return {};
  Json proofs = Json::array();
  for (const Row& row : rows_) {
    proofs.push_back({{"path", row.path},
                      {"digest", row.proof.digest},
                      {"source", row.proof.source},
                      {"classes", row.proof.classes},
                      {"labels_named", row.proof.labels_named},
                      {"recipe_found", row.proof.recipe_found},
                      {"data_files", row.proof.data_files},
                      {"identity", row.identity},
                      {"stamp", row.proof.stamp}});
  }
  const Json json{{"made_with", made_with_}, {"proofs", std::move(proofs)}};
  KINGLET_TRY(write_file(file_, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", Overwrite::kReplace,
                         Readers::kOwner));
  unsaved_ = false;
  return {};
}

}  // namespace kinglet::daemon
