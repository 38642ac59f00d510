// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry for the target that FUZZ_TARGET names.
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kinglet::fuzz::FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
