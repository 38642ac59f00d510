// SPDX-License-Identifier: Apache-2.0
// Why: the folder of models that a running daemon can change to: what lies in it, whether a file can answer at all, and
// which one was chosen. The same for the daemon and for `kinglet models`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "daemon/line/line_model.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

struct ModelFile {
  std::string name;  // of the file, without .onnx
  std::filesystem::path path;
  std::uint64_t size_bytes = 0;
  WallTime modified{};
  std::string stamp;  // another one when the file or what lies beside it (labels, recipe, species) has changed
};

// A file as it is now; nothing where there is none.
[[nodiscard]] std::optional<ModelFile> model_file(const std::filesystem::path& path);
// All NAME.onnx of the folder by name, at most 256; none where there is no folder. Hidden files and names that cannot
// be shown are left out. Reentrant.
[[nodiscard]] std::vector<ModelFile> list_models(const std::filesystem::path& folder);
// The model and the files that go with it, as far as they are there.
[[nodiscard]] std::vector<std::filesystem::path> files_of_model(const std::filesystem::path& model);
// Where they lie, whether they do or not.
[[nodiscard]] std::filesystem::path labels_beside(const std::filesystem::path& model);
[[nodiscard]] std::filesystem::path recipe_beside(const std::filesystem::path& model);
// kNotPermitted: nothing may be removed in its folder; kIo: anything else.
[[nodiscard]] std::unexpected<Error> cannot_remove(const std::filesystem::path& file, const std::error_code& error);
// All of them, the model last: what broke off is listed still, and is removed by the next try. Gives how many.
// kNotPermitted: nothing may be removed there; kIo.
[[nodiscard]] Result<std::size_t> remove_model(const std::filesystem::path& model);

// LineModel::open, and its answer to a plain grey picture is finite numbers from 0 to 1. Here, in this process:
// strangers' models go to ModelProver.
[[nodiscard]] Result<LineModel> open_verified(const LineModelOptions& options);

// What was activated, until the configuration names another model.
struct ModelChoice {
  std::string file;        // base name in the model folder
  std::string configured;  // model.path at that time
  bool operator==(const ModelChoice&) const = default;
};
// Nothing: none was made. kBadData: the file is not ours.
[[nodiscard]] Result<std::optional<ModelChoice>> read_choice(const std::filesystem::path& state_folder);
// Nothing takes it away.
[[nodiscard]] Result<void> write_choice(const std::filesystem::path& state_folder,
                                        const std::optional<ModelChoice>& choice);

}  // namespace kinglet::daemon
