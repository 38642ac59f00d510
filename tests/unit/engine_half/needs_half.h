// SPDX-License-Identifier: Apache-2.0
// Why: most of what float16 does can be seen only where the processor computes with it.
#pragma once

#include <gtest/gtest.h>

#include "engine/session/session.h"

// In a test body: skips with the reason that the summary counts.
#define KINGLET_NEEDS_HALF()                                                                      \
  do {                                                                                            \
    if (!::kinglet::engine::Session::half_arithmetic()) {                                         \
      GTEST_SKIP() << "no float16 arithmetic here (arm64.half has it on an emulated Cortex-A76)"; \
    }                                                                                             \
  } while (false)
