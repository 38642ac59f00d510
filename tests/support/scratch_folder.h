// SPDX-License-Identifier: Apache-2.0
// Why: a folder of a test's own, removed at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/base/check.h"

namespace kinglet::testing {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kinglet-test-XXXXXX").string();
    KINGLET_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kinglet::testing
