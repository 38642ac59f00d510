// SPDX-License-Identifier: Apache-2.0
// Why: reference tensors of the corpus are NumPy files; tests of the engine read them without the tool. float32 only.
#pragma once

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "engine/graph/tensor.h"

namespace kinglet::testing {

// Nothing when the file is missing or holds anything but little-endian float32 in C order (format version 1).
inline std::optional<engine::Tensor> read_npy(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kPrefix = 10;
  if (bytes.size() < kPrefix || !bytes.starts_with("\x93NUMPY\x01")) return std::nullopt;
  const std::size_t length = static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  const std::string header = bytes.substr(kPrefix, length);
  if (header.find("'<f4'") == std::string::npos || header.find("'fortran_order': False") == std::string::npos) {
    return std::nullopt;
  }
  engine::Shape shape;
  const std::size_t end = header.find(')');
  for (std::size_t at = header.find('(') + 1; at < end;) {
    std::int64_t dim = 0;
    const auto read = std::from_chars(header.data() + at, header.data() + end, dim);
    if (read.ec != std::errc()) break;
    shape.push_back(dim);
    at = header.find_first_of("0123456789", static_cast<std::size_t>(read.ptr - header.data()));
  }
  engine::Tensor tensor(engine::DataType::kF32, shape);
  if (bytes.size() != kPrefix + length + tensor.byte_count()) return std::nullopt;
  std::memcpy(tensor.mutable_bytes().data(), bytes.data() + kPrefix + length, tensor.byte_count());
  return tensor;
}

}  // namespace kinglet::testing
