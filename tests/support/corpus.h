// SPDX-License-Identifier: Apache-2.0
// Why: real models and photographs that some machines have: ../shared/corpus beside the checkout, or KINGLET_CORPUS.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace kinglet::testing {

inline std::filesystem::path corpus() {
  if (const char* path = std::getenv("KINGLET_CORPUS")) return path;
  return std::filesystem::path(KINGLET_SOURCE_DIR) / ".." / "shared" / "corpus";
}

// The photographs whose stored answers of this model ("bird_mobilenetv2_fp32") are there, by name without
// ".output.npy".
inline std::vector<std::string> reference_photos(const std::string& model) {
  std::vector<std::string> photos;
  for (const auto& entry : std::filesystem::directory_iterator(corpus() / "reference" / model)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".output.npy")) photos.push_back(name.substr(0, name.find('.')));
  }
  return photos;
}

}  // namespace kinglet::testing

// In a test body: skips with the reason that the summary counts.
#define KINGLET_NEEDS_CORPUS()                                                                    \
  do {                                                                                            \
    if (!std::filesystem::exists(::kinglet::testing::corpus() / "corpus.json")) {                 \
      GTEST_SKIP() << "no corpus of models and photographs (../shared/corpus or KINGLET_CORPUS)"; \
    }                                                                                             \
  } while (false)
