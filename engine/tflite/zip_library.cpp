// SPDX-License-Identifier: Apache-2.0
#include "engine/tflite/zip_library.h"

#include <dlfcn.h>

#include <optional>

namespace kinglet::engine::tflite {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<ZipLibrary> load() {
  void* library = ::dlopen("libzip.so.5", RTLD_NOW | RTLD_LOCAL);
  ZipLibrary zip;
  if (library == nullptr || !find(library, "zip_error_init", zip.error_init) ||
      !find(library, "zip_error_fini", zip.error_fini) || !find(library, "zip_error_code_zip", zip.error_code) ||
      !find(library, "zip_error_strerror", zip.error_text) ||
      !find(library, "zip_source_buffer_create", zip.source_of) || !find(library, "zip_source_free", zip.source_free) ||
      !find(library, "zip_open_from_source", zip.open) || !find(library, "zip_discard", zip.discard) ||
      !find(library, "zip_get_error", zip.get_error) || !find(library, "zip_stat_init", zip.stat_init) ||
      !find(library, "zip_stat", zip.stat) || !find(library, "zip_get_num_entries", zip.count) ||
      !find(library, "zip_get_name", zip.name) || !find(library, "zip_fopen_index", zip.open_file) ||
      !find(library, "zip_fread", zip.read) || !find(library, "zip_fclose", zip.close_file)) {
    return std::nullopt;
  }
  return zip;
}

}  // namespace

Result<const ZipLibrary*> zip_library() {
  static const std::optional<ZipLibrary> library = load();
  if (!library) return fail(ErrorCode::kUnavailable, "libzip.so.5 is not installed", {}, "apt install libzip5");
  return &*library;
}

}  // namespace kinglet::engine::tflite
