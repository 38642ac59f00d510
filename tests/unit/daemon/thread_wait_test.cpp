// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/thread_wait.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "engine/base/clock.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

std::string stat_of(char state) { return std::string("812 (store) thread) ") + state + " 1 812 812 0"; }

TEST(ThreadWait, OfADiskIsACallOnAFileOrMemoryOfOne) {
  EXPECT_TRUE(tells_of_disk(stat_of('D'), "running"));
  EXPECT_TRUE(tells_of_disk(stat_of('S'), std::to_string(SYS_fsync) + " 0x7 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f31"));
  EXPECT_TRUE(tells_of_disk(stat_of('S'), "-1 0x7ffd 0x7f31"));
}

TEST(ThreadWait, ForALockAPeerOrNothingAtAllIsUpToUs) {
  EXPECT_FALSE(tells_of_disk(stat_of('R'), "running"));
  EXPECT_FALSE(tells_of_disk(stat_of('S'), "running"));
  EXPECT_FALSE(tells_of_disk(stat_of('t'), "-1 0x7ffd 0x7f31"));
  for (const long call : {long{SYS_futex}, long{SYS_ppoll}, long{SYS_recvfrom}, long{SYS_clock_nanosleep}}) {
    EXPECT_FALSE(tells_of_disk(stat_of('S'), std::to_string(call) + " 0x7 0x0")) << call;
  }
}

TEST(ThreadWait, OfWhichNothingIsKnownIsNotHeldAgainstUs) {
  EXPECT_TRUE(tells_of_disk("", ""));
  EXPECT_TRUE(tells_of_disk(stat_of('S'), ""));
}

// A thread that runs `body`, seen as it is there.
class Waiting {
 public:
  template <typename Body>
  explicit Waiting(Body body)
      : thread_([this, body] {
          id_ = gettid();
          body();
        }) {
    while (id_ == 0) std::this_thread::yield();
  }
  // It may be on its way there still.
  [[nodiscard]] bool comes_to(bool disk) const {
    const SteadyTime patience = SteadyClock::now() + std::chrono::seconds(30);
    while (waits_for_disk(id_) != disk && SteadyClock::now() < patience) std::this_thread::yield();
    return waits_for_disk(id_) == disk;
  }

 private:
  std::atomic<pid_t> id_{0};
  std::jthread thread_;
};

TEST(ThreadWait, IsToldOfThreadsThatReallyWait) {
  const kinglet::testing::ScratchFolder folder;
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::promise<void> done;
  std::atomic<bool> ends = false;
  {
    const Waiting file([&pipe] { close(open(pipe.c_str(), O_RDONLY | O_CLOEXEC)); });
    const Waiting lock([end = done.get_future().share()] { end.wait(); });
    const Waiting work([&ends] {
      while (!ends) std::this_thread::yield();
    });
    EXPECT_TRUE(file.comes_to(true));
    EXPECT_TRUE(lock.comes_to(false));
    EXPECT_TRUE(work.comes_to(false));
    close(open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
    done.set_value();
    ends = true;
  }
}

}  // namespace
}  // namespace kinglet::daemon
