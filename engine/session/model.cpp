// SPDX-License-Identifier: Apache-2.0
#include "engine/session/model.h"

#include <algorithm>
#include <array>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/onnx/external_data.h"
#include "engine/session/sha256.h"

namespace kinglet::engine {

Result<ModelFile> open_model(const std::filesystem::path& path) {
  const InputFile file = KINGLET_TRY(InputFile::open(path));
  Result<Graph> graph = load_model(file);
  if (!graph) return std::unexpected(with_context(std::move(graph).error(), path.string()));
  return ModelFile{.path = path, .size_bytes = file.size(), .graph = std::move(*graph)};
}

Result<LateModel> open_model_late(const std::filesystem::path& path) {
  Result<LateModel> model = load_model_late(KINGLET_TRY(InputFile::open(path)));
  if (!model) return std::unexpected(with_context(std::move(model).error(), path.string()));
  return model;
}

Result<std::vector<std::string>> data_files_of(const std::filesystem::path& model) {
  return data_files(KINGLET_TRY(InputFile::open(model)));
}

Result<std::filesystem::path> data_file_of(const std::filesystem::path& model, const std::string& name) {
  if (!onnx_format::is_plain_name(name)) {
    return fail(ErrorCode::kBadData, format_text("\"{}\" is no plain file name", printable(name)), model.string());
  }
  return onnx_format::find_data_file(onnx_format::DataFolders::of(model), name);
}

Result<std::string> file_digest(const std::filesystem::path& path) {
  const InputFile file = KINGLET_TRY(InputFile::open(path));
  Sha256 sum;
  std::array<std::byte, 65536> buffer{};
  for (std::uint64_t offset = 0; offset < file.size();) {
    const auto chunk =
        std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size() - offset)));
    KINGLET_TRY(file.read_at(offset, chunk));
    sum.add(chunk);
    offset += chunk.size();
  }
  return "sha256:" + sum.hex();
}

std::string text_digest(std::string_view text) { return "sha256:" + sha256_hex(text); }

}  // namespace kinglet::engine
