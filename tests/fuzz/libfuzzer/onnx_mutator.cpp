// SPDX-License-Identifier: Apache-2.0
// libFuzzer's hooks for the target onnx: most changes are made to the parsed model, the rest to its bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/fuzz/model_mutator.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

// A change grows a model by a node or a weight, so what fits in is kept and the rest is left to the bytes.
std::size_t put(const std::string& model, std::uint8_t* out, std::size_t max_size) {
  if (model.empty() || model.size() > max_size) return 0;
  std::memcpy(out, model.data(), model.size());
  return model.size();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  constexpr unsigned kBytesShare = 20;  // one in so many
  if (seed % kBytesShare != 0) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const std::size_t written = put(kinglet::fuzz::mutate_model(bytes, {}, seed), data, max_size);
    if (written > 0) return written;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                                 std::size_t max_size, unsigned int seed) {
  const auto model = std::as_bytes(std::span(first, first_size));
  const auto donor = std::as_bytes(std::span(second, second_size));
  const std::size_t written = put(kinglet::fuzz::mutate_model(model, donor, seed), out, max_size);
  if (written > 0) return written;
  const std::size_t size = std::min(first_size, max_size);
  std::memcpy(out, first, size);
  return size;
}
