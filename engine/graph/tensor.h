// SPDX-License-Identifier: Apache-2.0
// Why: a value with numbers. Row-major, in the order of its shape; layouts of the plan are not known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/check.h"
#include "engine/graph/float16.h"
#include "engine/graph/shape.h"

namespace kinglet::engine {

// Memory of one tensor: 64-byte aligned, zeroed, with kReadableSlack readable bytes behind its end (XNNPACK's kernels
// load 16 bytes past static data). Move-only.
class TensorBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kReadableSlack = 64;

  TensorBuffer() = default;
  explicit TensorBuffer(std::size_t byte_count);

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Free {
    Free() : mapped(0) {}
    explicit Free(std::size_t bytes) : mapped(bytes) {}
    std::size_t mapped;  // bytes; 0: of the heap
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  std::byte* data_ = nullptr;  // the first aligned byte of it
  std::size_t size_ = 0;
};

// A tensor shares its buffer on copy; the numbers are immutable once shared. Writing is possible only through the
// single owner (mutable_data copies first if the buffer is shared: copy on write). Reentrant; a shared buffer may be
// read from several threads.
//
// Numbers may come later: they are read or made when somebody first asks for them, and take no memory until then.
class Tensor {
 public:
  Tensor() = default;
  // Zeroed. Needs a static shape whose size fits memory (checked: own bug otherwise).
  Tensor(DataType type, Shape shape);

  // Fills `to` with the bytes from `first` on. False: they cannot be had, and are zeros. Called by one thread at a
  // time, once for all of them, and destroyed when all are there; before that for any piece, if it makes pieces.
  using Fill = std::function<bool(std::size_t first, std::span<std::byte> to)>;
  enum class Pieces : std::uint8_t { kAllAtOnce, kAny };
  [[nodiscard]] static Tensor later(DataType type, Shape shape, Fill fill, Pieces pieces = Pieces::kAllAtOnce);

  template <typename T>
  [[nodiscard]] static Tensor of(Shape shape, std::span<const T> values) {
    Tensor tensor(DataTypeOf<T>::value, std::move(shape));
    KINGLET_CHECK(static_cast<std::size_t>(tensor.element_count()) == values.size());
    std::copy(values.begin(), values.end(), tensor.mutable_data<T>().begin());
    return tensor;
  }
  template <typename T>
  [[nodiscard]] static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }

  [[nodiscard]] DataType type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t element_count() const { return count_; }
  [[nodiscard]] std::size_t byte_count() const { return static_cast<std::size_t>(count_) * byte_size(type_); }

  template <typename T>
  [[nodiscard]] std::span<const T> data() const {
    KINGLET_CHECK(DataTypeOf<T>::value == type_);
    return {reinterpret_cast<const T*>(bytes().data()), static_cast<std::size_t>(count_)};
  }
  template <typename T>
  [[nodiscard]] std::span<T> mutable_data() {
    KINGLET_CHECK(DataTypeOf<T>::value == type_);
    return {reinterpret_cast<T*>(mutable_bytes().data()), static_cast<std::size_t>(count_)};
  }
  [[nodiscard]] std::span<const std::byte> bytes() const;
  [[nodiscard]] bool is_later() const;  // nobody has asked for the numbers yet
  // Where the numbers lie, or will lie when they are asked for: tensors that share them say the same.
  [[nodiscard]] const void* place() const;
  // A piece of the bytes; asks for no more than it where that can be had.
  void copy_piece(std::size_t first, std::span<std::byte> to) const;
  [[nodiscard]] std::span<std::byte> mutable_bytes();

  // The same numbers under another shape of the same element count; shares the buffer.
  [[nodiscard]] Tensor reshaped(Shape shape) const;
  // `count` indices of the first axis, from `first` on (checked); shares the buffer.
  [[nodiscard]] Tensor rows(Dim first, Dim count) const;

  // Integers of an i64 or i32 tensor (axes, shapes, pads ...); floats of an f32 or f16 tensor. Own bug for others.
  [[nodiscard]] std::vector<std::int64_t> to_int64s() const;
  [[nodiscard]] std::vector<float> to_floats() const;

  // Same type, shape and bits.
  [[nodiscard]] bool bit_equal(const Tensor& other) const;

 private:
  DataType type_ = DataType::kF32;
  Shape shape_;
  std::int64_t count_ = 0;
  struct Numbers;
  std::shared_ptr<Numbers> numbers_;
  std::size_t offset_ = 0;  // bytes of the buffer before the first number
};

// Calls visit(number) for each element in its order: f16 as float, the others as they are.
template <typename Visit>
void for_each_number(const Tensor& tensor, Visit visit) {
  with_element(tensor.type(), [&]<typename T>() {
    for (const T value : tensor.data<T>()) visit(widened(value));
  });
}

}  // namespace kinglet::engine
