// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/save.h"
#include "engine/tflite/import.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

void tflite(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto imported = engine::import_tflite(text);
  if (imported) static_cast<void>(engine::to_onnx_bytes(imported->graph));
}

}  // namespace kinglet::fuzz
