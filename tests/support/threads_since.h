// SPDX-License-Identifier: Apache-2.0
// Why: how many threads began and are there. A count of all would not tell: a thread that was joined is the kernel's
// for a moment more, and under an emulator for a longer one.
#pragma once

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

namespace kinglet {

class ThreadsSince {
 public:
  // Threads of this process that were not there when this was made.
  [[nodiscard]] std::size_t begun() const {
    const std::set<std::string> now = of_this_process();
    return static_cast<std::size_t>(
        std::ranges::count_if(now, [&](const std::string& id) { return !before_.contains(id); }));
  }

 private:
  static std::set<std::string> of_this_process() {
    std::set<std::string> ids;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ids.insert(task.path().filename());
    return ids;
  }

  std::set<std::string> before_ = of_this_process();
};

}  // namespace kinglet
