// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/graph/float16.h"

namespace kinglet::engine {

TensorBuffer::TensorBuffer(std::size_t byte_count) : size_(byte_count) {
  const std::size_t padded = (byte_count + kReadableSlack + kAlignment - 1) / kAlignment * kAlignment;
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): owned by bytes_ three lines down
  auto* bytes = static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded));
  if (bytes == nullptr) throw std::bad_alloc();
  std::memset(bytes, 0, padded);
  bytes_.reset(bytes);
}

// NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the deleter of bytes_
void TensorBuffer::Free::operator()(std::byte* bytes) const { std::free(bytes); }

Tensor::Tensor(DataType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  const std::optional<std::int64_t> count = engine::element_count(shape_);
  KINGLET_CHECK(count.has_value());
  count_ = *count;
  buffer_ = std::make_shared<TensorBuffer>(byte_count());
}

std::span<const std::byte> Tensor::bytes() const {
  if (!buffer_) return {};
  return {buffer_->data(), byte_count()};
}

std::span<std::byte> Tensor::mutable_bytes() {
  if (!buffer_) return {};
  if (buffer_.use_count() > 1) {
    auto copy = std::make_shared<TensorBuffer>(byte_count());
    std::memcpy(copy->data(), buffer_->data(), byte_count());
    buffer_ = std::move(copy);
  }
  return {buffer_->data(), byte_count()};
}

Tensor Tensor::reshaped(Shape shape) const {
  KINGLET_CHECK(engine::element_count(shape) == count_);
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

std::vector<std::int64_t> Tensor::to_int64s() const {
  if (type_ == DataType::kI32) {
    const auto values = data<std::int32_t>();
    return {values.begin(), values.end()};
  }
  const auto values = data<std::int64_t>();
  return {values.begin(), values.end()};
}

std::vector<float> Tensor::to_floats() const {
  if (type_ == DataType::kF16) {
    std::vector<float> out;
    out.reserve(static_cast<std::size_t>(count_));
    for (const Half value : data<Half>()) out.push_back(to_float(value));
    return out;
  }
  const auto values = data<float>();
  return {values.begin(), values.end()};
}

bool Tensor::bit_equal(const Tensor& other) const {
  return type_ == other.type_ && shape_ == other.shape_ &&
         (byte_count() == 0 || std::memcmp(bytes().data(), other.bytes().data(), byte_count()) == 0);
}

}  // namespace kinglet::engine
