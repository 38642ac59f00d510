// SPDX-License-Identifier: Apache-2.0
#include "engine/tflite/attached_files.h"

#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::engine::tflite {
namespace {

constexpr std::uint64_t kMostBytes = 1U << 20U;
constexpr zip_int64_t kMostFiles = 1000;

std::string text_of(zip_error_t& error) { return printable(zip_error_strerror(&error)); }

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

}  // namespace

Result<std::optional<AttachedFiles>> AttachedFiles::open(std::string_view bytes) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive != nullptr) return AttachedFiles(archive);
  const bool none = zip_error_code_zip(&error) == ZIP_ER_NOZIP;
  std::string message = text_of(error);
  zip_source_free(source);
  zip_error_fini(&error);
  if (none) return std::nullopt;
  return fail(ErrorCode::kBadData, std::move(message));
}

Result<std::string> AttachedFiles::read(const std::string& name) const {
  zip_stat_t facts;
  zip_stat_init(&facts);
  if (zip_stat(archive_.get(), name.c_str(), 0, &facts) != 0 || (facts.valid & ZIP_STAT_SIZE) == 0) {
    return fail(ErrorCode::kNotFound, format_text("there is no {}", printable(name)));
  }
  if (facts.size > kMostBytes) return fail(ErrorCode::kBadData, format_text("{} is over 1 MiB", printable(name)));
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive_.get(), facts.index, 0));
  if (!file) return fail(ErrorCode::kBadData, text_of(*zip_get_error(archive_.get())), printable(name));
  std::string text(facts.size, '\0');
  if (zip_fread(file.get(), text.data(), text.size()) != static_cast<zip_int64_t>(text.size())) {
    return fail(ErrorCode::kBadData, "it is damaged", printable(name));
  }
  return text;
}

std::string AttachedFiles::only_text() const {
  std::string found;
  const zip_int64_t count = std::min(zip_get_num_entries(archive_.get(), 0), kMostFiles);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* entry = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
    const std::string name = entry == nullptr ? "" : entry;
    if (!name.ends_with(".txt")) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

}  // namespace kinglet::engine::tflite
