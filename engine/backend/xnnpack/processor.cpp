// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/xnnpack/processor.h"

#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
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

}  // namespace kinglet::engine::xnn
