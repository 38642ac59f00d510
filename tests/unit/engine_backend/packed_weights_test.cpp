// SPDX-License-Identifier: Apache-2.0
// Packed weights that lie in memory: what packers may rely on, and what it costs.
#include "engine/backend/packed_weights.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/tensor.h"

namespace kinglet::engine {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// As networks have them: many of some kB, few of some MB, and a large one first.
std::vector<std::size_t> sizes_of_pieces(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::size_t> sizes = {5'000'000};
  for (int i = 0; i < 40; ++i) sizes.push_back(std::size_t{1} << std::uniform_int_distribution(4, 21)(random));
  for (std::size_t& size : sizes) size += std::uniform_int_distribution<std::size_t>(0, 200)(random);
  return sizes;
}

std::size_t resident_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Whether the system gives huge pages to the memory at `place`, if it has them: "hg" is among its flags.
bool are_huge_asked_for(const void* place) {
  std::ifstream smaps("/proc/self/smaps");
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  bool is_here = false;
  for (std::string line; std::getline(smaps, line);) {
    char* end = nullptr;
    const std::uintptr_t from = std::strtoul(line.c_str(), &end, 16);
    if (*end == '-') is_here = from <= address && address < std::strtoul(end + 1, nullptr, 16);
    if (is_here && line.starts_with("VmFlags:")) return line.contains(" hg");
  }
  return false;
}

bool has_huge_pages() {
  if (::sysconf(_SC_PAGESIZE) != 4096) return false;  // the next size is 32 MiB then, and left alone
  constexpr std::size_t kBytes = 2 * kHugePage;
  void* probe = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) return false;
  const bool are_had = ::madvise(probe, kBytes, MADV_HUGEPAGE) == 0 && are_huge_asked_for(probe);
  ::munmap(probe, kBytes);
  return are_had;
}

TEST(PackedWeights, PiecesAreAlignedReadableBehindTheirEndAndStayAsTheyWereKept) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    const auto weights = packed_in_memory();
    std::vector<std::span<const std::byte>> kept;
    for (const std::size_t size : sizes_of_pieces(seed)) {
      const std::span<std::byte> room = weights->room(size);
      ASSERT_EQ(room.size(), size);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data()) % PackedWeights::kAlignment, 0U);
      std::ranges::fill(room, static_cast<std::byte>(kept.size() + 1));
      kept.emplace_back(weights->keep(7, room), size);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
      std::vector<std::byte> read(kept[i].data(), kept[i].data() + kept[i].size() + TensorBuffer::kReadableSlack);
      read.resize(kept[i].size());
      EXPECT_TRUE(read == std::vector(read.size(), static_cast<std::byte>(i + 1))) << i << " of seed " << seed;
    }
  }
}

TEST(PackedWeights, TakeAtMostOneHugePageMoreThanTheirPieces) {
  if (!kPiecesShareBlocks) GTEST_SKIP() << "a sanitizer has memory of its own beside each piece";
  for (unsigned seed = 0; seed < 3; ++seed) {
    const std::size_t before = resident_bytes();
    const auto weights = packed_in_memory();
    std::size_t all = 0;
    for (const std::size_t size : sizes_of_pieces(seed)) {
      std::ranges::fill(weights->room(size), std::byte{1});
      all += size;
    }
    EXPECT_LE(resident_bytes() - before, all + kHugePage + kHugePage / 4) << "of pieces of " << all << " bytes";
  }
}

TEST(PackedWeights, LieInHugePagesWhereTheSystemHasThem) {
  if (!kPiecesShareBlocks) GTEST_SKIP() << "sanitizers hand out memory by themselves";
  if (!has_huge_pages()) GTEST_SKIP() << "no huge pages here, or an emulator does not tell";
  const auto weights = packed_in_memory();
  const std::span<std::byte> large = weights->room(2 * kHugePage + 4096);
  EXPECT_TRUE(are_huge_asked_for(large.data()));
  EXPECT_FALSE(are_huge_asked_for(large.data() + large.size())) << "the end of a piece would take a whole page";
}

}  // namespace
}  // namespace kinglet::engine
