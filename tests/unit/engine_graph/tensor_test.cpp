// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace kinglet::engine {
namespace {

TEST(TensorBuffer, IsZeroedAndAligned) {
  for (const std::size_t bytes : {0U, 1U, 63U, 64U, 100'000U, 300'000U, 5'000'000U}) {
    const TensorBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % TensorBuffer::kAlignment, 0U);
    for (std::size_t i = 0; i < bytes + TensorBuffer::kReadableSlack; ++i) {
      ASSERT_EQ(buffer.data()[i], std::byte{0}) << i << " of " << bytes;
    }
  }
}

TEST(Tensor, RowsAreReadWhereTheyLie) {
  const Tensor whole = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor rows = whole.rows(1, 2);
  EXPECT_TRUE(rows.bit_equal(Tensor::of<float>({2, 2}, {3, 4, 5, 6})));
  EXPECT_EQ(rows.bytes().data(), whole.bytes().data() + 2 * sizeof(float));
  EXPECT_TRUE(rows.rows(1, 1).bit_equal(Tensor::of<float>({1, 2}, {5, 6})));
  EXPECT_EQ(whole.rows(3, 0).element_count(), 0);
}

TEST(Tensor, WritingToRowsLeavesTheWholeAsItWas) {
  const Tensor whole = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor rows = whole.rows(1, 2);
  rows.mutable_data<float>()[0] = 7;
  EXPECT_TRUE(rows.bit_equal(Tensor::of<float>({2, 2}, {7, 4, 5, 6})));
  EXPECT_TRUE(whole.bit_equal(Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})));
}

TEST(Tensor, ItsOnlyOwnerWritesWithoutACopy) {
  Tensor whole = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor rows = std::exchange(whole, Tensor()).rows(1, 2);
  const std::byte* before = rows.bytes().data();
  rows.mutable_data<float>()[3] = 7;
  EXPECT_EQ(rows.bytes().data(), before);
  EXPECT_TRUE(rows.bit_equal(Tensor::of<float>({2, 2}, {3, 4, 5, 7})));
}

}  // namespace
}  // namespace kinglet::engine
