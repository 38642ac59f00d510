// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostModels = 256;
constexpr std::size_t kLongestName = 100;
constexpr std::uint64_t kMostChoiceBytes = 65'536;
// What goes with NAME.onnx is called NAME and one of these.
constexpr const char* kLabels = ".labels.txt";
constexpr const char* kRecipe = ".recipe.json";
constexpr std::array kCompanions{kLabels, kRecipe, ".species.tsv"};

fs::path companion(const fs::path& model, const char* ending) { return fs::path(model).replace_extension(ending); }

std::string stamp_of(const fs::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return "-";
  return format_text("{}:{}:{}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

fs::path choice_file(const fs::path& state_folder) { return state_folder / "model.json"; }

Result<void> check_answer(LineModel& classifier) {
  constexpr int kSide = 64;
  const std::vector<std::byte> grey(std::size_t{3} * kSide * kSide, std::byte{128});
  camera::FrameView view{.format = camera::PixelFormat::kRgb888, .width = kSide, .height = kSide};
  view.planes[0] = {.bytes = grey, .stride = std::size_t{3} * kSide};
  view.plane_count = 1;
  KINGLET_TRY(classifier.prepare(view, std::nullopt));
  const std::span<const float> scores = KINGLET_TRY(classifier.run());
  const auto is_score = [](float score) { return std::isfinite(score) && score >= -1e-3F && score <= 1.001F; };
  if (std::ranges::all_of(scores, is_score)) return {};
  return fail(ErrorCode::kBadData, "the model's answer to a grey picture is not numbers from 0 to 1", {},
              "look at its outputs with `kinglet inspect`; the recipe says whether they are logits or probabilities");
}

}  // namespace

std::optional<ModelFile> model_file(const fs::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto since_1970 =
      std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  ModelFile file{.name = path.stem().string(),
                 .path = path,
                 .size_bytes = static_cast<std::uint64_t>(status.st_size),
                 .modified = WallTime(std::chrono::duration_cast<WallTime::duration>(since_1970)),
                 .stamp = stamp_of(path)};
  for (const char* ending : kCompanions) file.stamp += " " + stamp_of(companion(path, ending));
  return file;
}

std::vector<ModelFile> list_models(const fs::path& folder) {
  std::vector<ModelFile> models;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const fs::path& path = entry->path();
    const std::string name = path.stem().string();
    if (path.extension() != ".onnx" || name.starts_with('.') || name.size() > kLongestName ||
        printable(name, kLongestName) != name) {
      continue;
    }
    if (std::optional<ModelFile> file = model_file(path)) models.push_back(std::move(*file));
    if (models.size() == kMostModels) break;
  }
  std::ranges::sort(models, {}, &ModelFile::name);
  return models;
}

std::vector<fs::path> files_of_model(const fs::path& model) {
  std::vector<fs::path> files{model};
  for (const char* ending : kCompanions) files.push_back(companion(model, ending));
  std::error_code ignored;
  std::erase_if(files, [&](const fs::path& path) { return !fs::is_regular_file(path, ignored); });
  return files;
}

fs::path labels_beside(const fs::path& model) { return companion(model, kLabels); }

fs::path recipe_beside(const fs::path& model) { return companion(model, kRecipe); }

std::unexpected<Error> cannot_remove(const fs::path& file, const std::error_code& error) {
  const bool closed = error == std::errc::permission_denied || error == std::errc::operation_not_permitted ||
                      error == std::errc::read_only_file_system;
  return fail(closed ? ErrorCode::kNotPermitted : ErrorCode::kIo, format_text("cannot remove: {}", error.message()),
              file.string());
}

Result<std::size_t> remove_model(const fs::path& model) {
  std::vector<fs::path> files = files_of_model(model);
  std::ranges::reverse(files);
  for (const fs::path& file : files) {
    std::error_code error;
    fs::remove(file, error);
    if (error) return cannot_remove(file, error);
  }
  return files.size();
}

Result<LineModel> open_verified(const LineModelOptions& options) {
  LineModel classifier = KINGLET_TRY(LineModel::open(options));
  if (const Result<void> checked = check_answer(classifier); !checked) {
    return std::unexpected(with_context(checked.error(), options.model.string()));
  }
  return classifier;
}

Result<std::optional<ModelChoice>> read_choice(const fs::path& state_folder) {
  const fs::path path = choice_file(state_folder);
  std::error_code ignored;
  if (state_folder.empty() || !fs::exists(path, ignored)) return std::nullopt;
  const Json json = Json::parse(KINGLET_TRY(read_file(path, kMostChoiceBytes)), nullptr, false);
  const auto text = [&](const char* member) -> std::optional<std::string> {
    if (!json.is_object() || !json.contains(member) || !json[member].is_string()) return std::nullopt;
    return json[member].get<std::string>();
  };
  const std::optional<std::string> file = text("file");
  const std::optional<std::string> configured = text("configured");
  // A name, never a path: what is chosen lies in the folder.
  if (!file || !configured || fs::path(*file).filename() != *file || !file->ends_with(".onnx")) {
    return fail(ErrorCode::kBadData, "this is not the note of which model was activated", path.string(),
                "remove it: the model of the configuration answers then");
  }
  return ModelChoice{.file = *file, .configured = *configured};
}

Result<void> write_choice(const fs::path& state_folder, const std::optional<ModelChoice>& choice) {
  const fs::path path = choice_file(state_folder);
  if (choice) {
    const Json json{{"file", choice->file}, {"configured", choice->configured}};
    return write_file(path, json.dump(2) + "\n", Overwrite::kReplace);
  }
  std::error_code error;
  fs::remove(path, error);
  if (error) return fail(ErrorCode::kIo, format_text("cannot remove: {}", error.message()), path.string());
  return {};
}

}  // namespace kinglet::daemon
