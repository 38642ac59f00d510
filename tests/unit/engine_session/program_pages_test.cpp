// SPDX-License-Identifier: Apache-2.0
// What a process does not look at again is not counted as its own, and nothing that it could not have again goes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/file.h"
#include "engine/session/program_pages.h"

namespace kinglet::engine {
namespace {

constexpr std::size_t kPage = 64 * 1024;  // the largest page of an arm64 kernel

// Constants of this program's file: numbers that say where they lie, so that other numbers are told from them.
using Constants = std::array<std::uint32_t, 16 * kPage / sizeof(std::uint32_t)>;
template <std::uint32_t kFirst>
consteval Constants counted() {
  Constants all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kFirst + static_cast<std::uint32_t>(i);
  return all;
}
alignas(kPage) constexpr Constants kIdle = counted<7>();
alignas(kPage) constexpr Constants kPatched = counted<11>();

bool all_counted(const Constants& numbers, std::uint32_t first) {
  return std::ranges::all_of(numbers, [&](const volatile std::uint32_t& number) { return number == first++; });
}

// Pages of it that this process has. -1: the kernel does not say.
std::ptrdiff_t present(const Constants& numbers) {
  const FileDescriptor pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::array<std::uint64_t, sizeof(Constants) / 4096> entries{};
  const std::size_t size = sizeof(Constants) / page * sizeof(std::uint64_t);
  const auto offset = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(numbers.data()) / page * 8);
  if (pread(pagemap.get(), entries.data(), size, offset) != static_cast<ssize_t>(size)) return -1;
  return std::ranges::count_if(entries, [](std::uint64_t entry) { return entry >> 63 != 0; });
}

#define KINGLET_NEEDS_PAGEMAP(numbers) \
  if (present(numbers) <= 0)           \
  GTEST_SKIP() << "/proc/self/pagemap does not tell of this process (an emulator's tells of itself)"

TEST(ProgramPages, ThatNobodyLooksAtAreNotKept) {
  ASSERT_TRUE(all_counted(kIdle, 7));
  KINGLET_NEEDS_PAGEMAP(kIdle);
  EXPECT_GE(let_go_of_program_pages(), sizeof(Constants));
  EXPECT_EQ(present(kIdle), 0);
  EXPECT_TRUE(all_counted(kIdle, 7));  // from the file again
}

TEST(ProgramPages, OfWhichOneIsNotTheFilesAnyMoreStay) {
  ASSERT_TRUE(all_counted(kPatched, 11));
  KINGLET_NEEDS_PAGEMAP(kPatched);
  // As a debugger does with a breakpoint.
  auto* patched = const_cast<std::uint32_t*>(kPatched.data());
  ASSERT_EQ(mprotect(patched, kPage, PROT_READ | PROT_WRITE), 0);
  *patched = 13;
  ASSERT_EQ(mprotect(patched, kPage, PROT_READ), 0);
  (void)let_go_of_program_pages();
  EXPECT_EQ(*static_cast<const volatile std::uint32_t*>(patched), 13U);
  ASSERT_EQ(madvise(patched, kPage, MADV_DONTNEED), 0);  // for tests that share this process
  EXPECT_TRUE(all_counted(kPatched, 11));
}

}  // namespace
}  // namespace kinglet::engine
