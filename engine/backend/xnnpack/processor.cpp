// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/xnnpack/processor.h"

#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cstdint>
#endif

namespace kinglet::engine::xnn {

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
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return true;
  std::uint64_t id = 0;
  asm("mrs %0, MIDR_EL1" : "=r"(id));
  constexpr std::uint64_t kArm = 0x41;
  constexpr std::array<std::uint64_t, 6> kInOrder{0xd02, 0xd03, 0xd04,
                                                  0xd05, 0xd46, 0xd80};  // A34, A53, A35, A55, A510, A520
  const bool is_arm = (id >> 24 & 0xff) == kArm;
  return is_arm && std::ranges::find(kInOrder, id >> 4 & 0xfff) != kInOrder.end();
#else
  return false;
#endif
}

}  // namespace kinglet::engine::xnn
