// SPDX-License-Identifier: Apache-2.0
// Why: libzip without linking it: only a TensorFlow Lite file is looked into for attached ones, and linked it would
// cost every command the pages of five libraries. Loaded by its soname.
#pragma once

#include <zip.h>

#include "engine/base/error.h"

namespace kinglet::engine::tflite {

struct ZipLibrary {
  decltype(&::zip_error_init) error_init = nullptr;
  decltype(&::zip_error_fini) error_fini = nullptr;
  decltype(&::zip_error_code_zip) error_code = nullptr;
  decltype(&::zip_error_strerror) error_text = nullptr;
  decltype(&::zip_source_buffer_create) source_of = nullptr;
  decltype(&::zip_source_free) source_free = nullptr;
  decltype(&::zip_open_from_source) open = nullptr;
  decltype(&::zip_discard) discard = nullptr;
  decltype(&::zip_get_error) get_error = nullptr;
  decltype(&::zip_stat_init) stat_init = nullptr;
  decltype(&::zip_stat) stat = nullptr;
  decltype(&::zip_get_num_entries) count = nullptr;
  decltype(&::zip_get_name) name = nullptr;
  decltype(&::zip_fopen_index) open_file = nullptr;
  decltype(&::zip_fread) read = nullptr;
  decltype(&::zip_fclose) close_file = nullptr;
};

// kUnavailable: it is not installed. Loaded once and never given back. Thread-safe.
[[nodiscard]] Result<const ZipLibrary*> zip_library();

}  // namespace kinglet::engine::tflite
