// SPDX-License-Identifier: Apache-2.0
// Why: what root does in a folder of the service is done with the rights of the service: what it makes there belongs to
// it, and nothing that it put there leads root elsewhere.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace kinglet::daemon::backup {

// While it lives; nothing changes for who is not root. Of the whole process: for programs without other threads.
class ActAs {
 public:
  // Who owns this folder.
  explicit ActAs(const std::filesystem::path& folder);
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;
  // Who started the program, whatever was said before.
  [[nodiscard]] static ActAs starter();

 private:
  ActAs(uid_t user, gid_t group);
  uid_t user_before_;
  gid_t group_before_;
};

}  // namespace kinglet::daemon::backup
