// SPDX-License-Identifier: Apache-2.0
// Why: real models and photographs that some machines have: ../shared/corpus beside the checkout, or KINGLET_CORPUS.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace kinglet::testing {

inline std::filesystem::path corpus() {
  if (const char* path = std::getenv("KINGLET_CORPUS")) return path;
  return std::filesystem::path(KINGLET_SOURCE_DIR) / ".." / "shared" / "corpus";
}

}  // namespace kinglet::testing

// In a test body: skips with the reason that the summary counts.
#define KINGLET_NEEDS_CORPUS()                                                                    \
  do {                                                                                            \
    if (!std::filesystem::exists(::kinglet::testing::corpus() / "corpus.json")) {                 \
      GTEST_SKIP() << "no corpus of models and photographs (../shared/corpus or KINGLET_CORPUS)"; \
    }                                                                                             \
  } while (false)
