// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/labels.h"

#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

void labels(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  static_cast<void>(engine::Labels::parse(text, "labels"));
}

}  // namespace kinglet::fuzz
