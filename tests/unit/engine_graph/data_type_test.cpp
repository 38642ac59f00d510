// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/data_type.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace kinglet::engine {
namespace {

TEST(DataTypes, AreReadBackByTheirNames) {
  for (const DataType type : kDataTypes) EXPECT_EQ(data_type_of(to_string(type)), type) << to_string(type);
  EXPECT_EQ(data_type_of("f8"), std::nullopt);
}

TEST(DataTypes, AreVisitedAsWhatOneNumberIsInMemory) {
  for (const DataType type : kDataTypes) {
    with_element(type, [type]<typename T>() { EXPECT_EQ(DataTypeOf<T>::value, type) << to_string(type); });
  }
  EXPECT_EQ(byte_size(DataType::kF16), 2U);
  EXPECT_EQ(byte_size(DataType::kBool), 1U);
}

}  // namespace
}  // namespace kinglet::engine
