// SPDX-License-Identifier: Apache-2.0
#define OPENSSL_API_COMPAT 0x10101000L  // SHA-256's plain functions, see Sha256
#include "engine/session/model.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/onnx/external_data.h"

namespace kinglet::engine {
namespace {

// By libcrypto's plain functions. Its newer interface (EVP) first loads all else that libcrypto can, 2.4 MB of a
// process that asks it for nothing but this (docs/benchmarks.md).
class Sha256 {
 public:
  Sha256() { SHA256_Init(&state_); }
  void add(std::span<const std::byte> bytes) { SHA256_Update(&state_, bytes.data(), bytes.size()); }
  // "sha256:" and 64 digits; once.
  [[nodiscard]] std::string text() {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256_Final(digest.data(), &state_);
    std::string text = "sha256:";
    for (const unsigned char byte : digest) text += format_text("{:02x}", byte);
    return text;
  }

 private:
  SHA256_CTX state_{};
};

}  // namespace

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
  return sum.text();
}

std::string text_digest(std::string_view text) {
  Sha256 sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.text();
}

}  // namespace kinglet::engine
