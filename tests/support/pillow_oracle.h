// SPDX-License-Identifier: Apache-2.0
// Why: runs pillow_oracle.py (the other implementation of decoding and resizing) and reads what it wrote.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <format>
#include <string>
#include <vector>

#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::testing {

enum class OracleAnswer { kDone, kNoPillow, kFailed };

inline OracleAnswer run_pillow_oracle(const std::string& arguments) {
  const std::string command =
      std::format("python3 {}/tests/support/pillow_oracle.py {} >/dev/null", KINGLET_SOURCE_DIR, arguments);
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c): arguments are the test's own
  if (status == 0) return OracleAnswer::kDone;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return code == 77 || code == 127 ? OracleAnswer::kNoPillow : OracleAnswer::kFailed;
}

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  const auto text = read_file(path, std::uint64_t{1} << 30);
  if (!text) return {};
  const auto* first = reinterpret_cast<const std::byte*>(text->data());
  return {first, first + text->size()};
}

}  // namespace kinglet::testing

// In a test body: skips with the reason that the summary counts.
#define KINGLET_RUN_PILLOW(arguments)                                                                         \
  do {                                                                                                        \
    const auto kinglet_answer = ::kinglet::testing::run_pillow_oracle(arguments);                             \
    if (kinglet_answer == ::kinglet::testing::OracleAnswer::kNoPillow) GTEST_SKIP() << "no python3 with PIL"; \
    ASSERT_EQ(kinglet_answer, ::kinglet::testing::OracleAnswer::kDone);                                       \
  } while (false)
