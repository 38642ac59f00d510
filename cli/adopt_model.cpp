// SPDX-License-Identifier: Apache-2.0
#include "cli/adopt_model.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "engine/base/file.h"
#include "engine/onnx/save.h"
#include "engine/tflite/import.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostTflite = std::uint64_t{512} << 20U;

Result<bool> looks_like_tflite(const std::filesystem::path& path) {
  const InputFile file = KINGLET_TRY(InputFile::open(path));
  std::string start(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), 64)), '\0');
  KINGLET_TRY(file.read_at(0, std::as_writable_bytes(std::span(start))));
  return engine::looks_like_tflite(start);
}

Result<bool> adopt(const AdoptOptions& options) {
  KINGLET_TRY(give_up_rights(options.limits));
  try {
    return convert_if_tflite(options.from, options.to, options.source);
  } catch (const std::bad_alloc&) {
    return too_much_memory(options.limits, options.from.string());
  }
}

}  // namespace

Result<bool> convert_if_tflite(const std::filesystem::path& from, const std::filesystem::path& to,
                               const std::string& source) {
  if (!KINGLET_TRY(looks_like_tflite(from))) return false;
  Result<engine::ImportedTflite> imported = engine::import_tflite(KINGLET_TRY(read_file(from, kMostTflite)));
  if (!imported) return std::unexpected(with_context(imported.error(), from.filename().string()));
  imported->graph.metadata.properties.emplace_back(kSourceProperty, source);
  KINGLET_TRY(engine::save_model(imported->graph, to, Overwrite::kReplace));
  return true;
}

void add_adopt_options(CLI::App& app, AdoptOptions& options) {
  app.add_option("FILE", options.from, "a file")->required();
  app.add_option("--to", options.to, "where ONNX goes")->required();
  app.add_option("--source", options.source, "the file's digest");
  add_child_limits(app, options.limits);
}

Result<int> adopt_model(const AdoptOptions& options, Output& out) {
  const Result<bool> written = adopt(options);
  const Json answer = written ? Json{{"valid", true}, {"written", *written}} : refusal(written.error());
  out.print(answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return 0;
}

}  // namespace kinglet::cli
