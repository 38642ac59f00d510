// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/graph/float16.h"

namespace kinglet::engine {

TensorBuffer::TensorBuffer(std::size_t byte_count) : size_(byte_count) {
  // calloc knows which pages are zero already; nothing is written to those of a large tensor before its numbers are.
  const std::size_t readable = byte_count + kReadableSlack;
  std::size_t space = readable + kAlignment;
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc)
  memory_.reset(std::calloc(space, 1));
  if (!memory_) throw std::bad_alloc();
  void* aligned = memory_.get();
  data_ = static_cast<std::byte*>(std::align(kAlignment, readable, aligned, space));
}

// NOLINTNEXTLINE(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc): the deleter of memory_
void TensorBuffer::Free::operator()(void* memory) const { std::free(memory); }

Tensor::Tensor(DataType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  const std::optional<std::int64_t> count = engine::element_count(shape_);
  KINGLET_CHECK(count.has_value());
  count_ = *count;
  buffer_ = std::make_shared<TensorBuffer>(byte_count());
}

std::span<const std::byte> Tensor::bytes() const {
  if (!buffer_) return {};
  return {buffer_->data() + offset_, byte_count()};
}

std::span<std::byte> Tensor::mutable_bytes() {
  if (!buffer_) return {};
  if (buffer_.use_count() > 1) {
    auto copy = std::make_shared<TensorBuffer>(byte_count());
    std::memcpy(copy->data(), bytes().data(), byte_count());
    buffer_ = std::move(copy);
    offset_ = 0;
  }
  return {buffer_->data() + offset_, byte_count()};
}

Tensor Tensor::reshaped(Shape shape) const {
  KINGLET_CHECK(engine::element_count(shape) == count_);
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

Tensor Tensor::rows(Dim first, Dim count) const {
  KINGLET_CHECK(!shape_.empty() && first >= 0 && count >= 0 && first + count <= shape_[0] && shape_[0] > 0);
  const std::int64_t row = count_ / shape_[0];
  Tensor tensor = *this;
  tensor.shape_[0] = count;
  tensor.count_ = count * row;
  tensor.offset_ += static_cast<std::size_t>(first * row) * byte_size(type_);
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
