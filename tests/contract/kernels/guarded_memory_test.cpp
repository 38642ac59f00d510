// SPDX-License-Identifier: Apache-2.0
// What the tests give to kernels ends the process that goes too far, and tells of what was written beside it.
#include "tests/contract/kernels/guarded_memory.h"

#include <gtest/gtest.h>

namespace kinglet::engine::kernels {
namespace {

std::byte read(const std::byte* at) { return *static_cast<const volatile std::byte*>(at); }

TEST(GuardedMemory, CanBeReadFor64BytesBehindItsEndAndLessThan64More) {
  for (const std::size_t size : {0UZ, 1UZ, 63UZ, 64UZ, 4032UZ, 4033UZ, 100'000UZ}) {
    const GuardedMemory memory(size);
    std::byte* const end = memory.bytes().data() + size;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % 64, 0U);
    static_cast<void>(read(end + 63));
    EXPECT_DEATH(static_cast<void>(read(end + 127)), "") << size;
  }
}

TEST(GuardedMemory, TellsOfWhatIsWrittenAround) {
  const GuardedMemory memory(100);
  std::ranges::fill(memory.bytes(), std::byte{1});
  EXPECT_TRUE(memory.is_untouched_around());
  memory.bytes().data()[100] = std::byte{1};
  EXPECT_FALSE(memory.is_untouched_around());
}

}  // namespace
}  // namespace kinglet::engine::kernels
