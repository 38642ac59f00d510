// SPDX-License-Identifier: Apache-2.0
// Runs every seed of corpus/ and forms of it: cut short at many places, and with single bytes changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <format>
#include <functional>
#include <map>
#include <random>

#include "engine/base/file.h"
#include "tests/fuzz/model_mutator.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {
namespace {

namespace fs = std::filesystem;
using Target = void (*)(std::span<const std::byte>);

constexpr std::uint64_t kSeedLimit = 1 << 20;
constexpr int kForms = 24;  // of each kind

void run(Target target, const std::string& bytes) { target(std::as_bytes(std::span(bytes))); }

void run_forms(Target target, const std::string& seed) {
  run(target, seed);
  std::minstd_rand random(static_cast<unsigned>(seed.size()));
  for (int i = 0; i < kForms && !seed.empty(); ++i) {
    run(target, seed.substr(0, random() % seed.size()));
    std::string spoilt = seed;
    spoilt[random() % seed.size()] = static_cast<char>(random());
    run(target, spoilt);
  }
}

void replay(const char* name, Target target) {
  int seeds = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(FUZZ_CORPUS) / name)) {
    SCOPED_TRACE(entry.path().filename().string());
    const Result<std::string> bytes = read_file(entry.path(), kSeedLimit);
    ASSERT_TRUE(bytes) << describe(bytes.error());
    run_forms(target, *bytes);
    ++seeds;
  }
  EXPECT_GT(seeds, 0) << "no seeds in tests/fuzz/corpus/" << name;
}

TEST(FuzzReplay, ChangedModels) {
  std::vector<std::string> seeds;
  for (const auto& entry : fs::directory_iterator(fs::path(FUZZ_CORPUS) / "onnx")) {
    seeds.push_back(read_file(entry.path(), kSeedLimit).value());
  }
  std::ranges::sort(seeds);  // the same pairs on every file system
  int changed = 0;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    for (std::uint32_t form = 0; form < kForms / 2; ++form) {
      const std::string& donor = seeds[(i + form + 1) % seeds.size()];
      const std::string model = mutate_model(std::as_bytes(std::span(seeds[i])), std::as_bytes(std::span(donor)),
                                             static_cast<std::uint32_t>(i) * kForms + form);
      SCOPED_TRACE(std::format("seed {}, form {}", i, form));
      if (!model.empty()) ++changed;
      run(onnx, model);
    }
  }
  EXPECT_GT(changed, 0);
}

#define KINGLET_FUZZ_TARGET(name, what) \
  TEST(FuzzReplay, name) { replay(#name, name); }
#include "tests/fuzz/targets.def"
#undef KINGLET_FUZZ_TARGET

}  // namespace
}  // namespace kinglet::fuzz
