// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/xnnpack/processor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <string>

#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace kinglet::engine::xnn {
namespace {

// By a core's number for what it is (MIDR_EL1).
bool is_in_order(std::uint64_t id) {
  constexpr std::uint64_t kArm = 0x41;
  constexpr std::array<std::uint64_t, 6> kInOrder{0xd02, 0xd03, 0xd04,
                                                  0xd05, 0xd46, 0xd80};  // A34, A53, A35, A55, A510, A520
  const bool is_arm = (id >> 24 & 0xff) == kArm;
  return is_arm && std::ranges::find(kInOrder, id >> 4 & 0xfff) != kInOrder.end();
}

#ifdef __aarch64__
// Where Linux tells of none (an emulator): the one that asks.
bool this_core_runs_in_order() {
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return true;
  std::uint64_t id = 0;
  asm("mrs %0, MIDR_EL1" : "=r"(id));
  return is_in_order(id);
}
#endif

}  // namespace

std::optional<bool> all_run_in_order(const std::filesystem::path& cores) {
  std::optional<bool> all;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(cores, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::ifstream file(entry->path() / "regs" / "identification" / "midr_el1");
    std::uint64_t id = 0;
    if (file >> std::hex >> id) all = all.value_or(true) && is_in_order(id);
  }
  return all;
}

bool half_arithmetic() {
#ifdef __aarch64__
  constexpr unsigned long kNeeded = HWCAP_FPHP | HWCAP_ASIMDHP;
  return (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
#else
  return false;
#endif
}

bool dot_products() {
#ifdef __aarch64__
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return false;
#endif
}

bool runs_in_order() {
#ifdef __aarch64__
  static const bool kAll = [] {
    const std::optional<bool> all = all_run_in_order("/sys/devices/system/cpu");
    return all ? *all : this_core_runs_in_order();
  }();
  return kAll;
#else
  return false;
#endif
}

}  // namespace kinglet::engine::xnn
