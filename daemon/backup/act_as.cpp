// SPDX-License-Identifier: Apache-2.0
#include "daemon/backup/act_as.h"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/check.h"

namespace kinglet::daemon::backup {
namespace {

struct stat owner_of(const std::filesystem::path& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) {
    status.st_uid = ::geteuid();
    status.st_gid = ::getegid();
  }
  return status;
}

// The group only as root.
void become(uid_t user, gid_t group) {
  if (::getuid() != 0 || (::geteuid() == user && ::getegid() == group)) return;
  KINGLET_CHECK(::seteuid(0) == 0 && ::setegid(group) == 0 && ::seteuid(user) == 0);
}

}  // namespace

ActAs::ActAs(const std::filesystem::path& folder) : ActAs(owner_of(folder).st_uid, owner_of(folder).st_gid) {}

ActAs::ActAs(uid_t user, gid_t group) : user_before_(::geteuid()), group_before_(::getegid()) { become(user, group); }

ActAs::~ActAs() { become(user_before_, group_before_); }

ActAs ActAs::starter() { return {::getuid(), ::getgid()}; }

}  // namespace kinglet::daemon::backup
