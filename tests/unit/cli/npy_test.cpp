// SPDX-License-Identifier: Apache-2.0
#include "cli/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/corpus.h"

namespace kinglet::cli {
namespace {

using ::testing::HasSubstr;

// A file of version 1.0 with this header text and data.
std::string file_with(std::string header, std::string_view data) {
  std::string out = "\x93NUMPY";
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  return out + header + std::string(data);
}

std::string error_of(std::string_view bytes) {
  const auto tensor = parse_npy(bytes, "x.npy");
  return tensor ? "no error" : describe(tensor.error());
}

TEST(Npy, ComesBackAsItWasWritten) {
  const engine::Tensor tensor = engine::Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, -6.5F});
  const auto back = parse_npy(to_npy(tensor), "x.npy");
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_TRUE(back->bit_equal(tensor));
}

TEST(Npy, KeepsScalarsAndVectors) {
  for (const engine::Shape& shape : {engine::Shape{}, engine::Shape{1}}) {
    const engine::Tensor tensor = engine::Tensor::of<std::int64_t>(shape, {7});
    EXPECT_TRUE(parse_npy(to_npy(tensor), "x")->bit_equal(tensor)) << engine::to_string(shape);
  }
}

TEST(Npy, NumbersStartAtAMultipleOf64) {
  const std::string bytes = to_npy(engine::Tensor::of<std::uint8_t>({3}, {1, 2, 3}));
  EXPECT_EQ((bytes.size() - 3) % 64, 0u);
}

TEST(Npy, ReadsTheReferenceTensors) {
  KINGLET_NEEDS_CORPUS();
  const auto tensor = read_npy(testing::corpus() / "reference/bird_mobilenetv2_fp32/chickadee.input.npy");
  ASSERT_TRUE(tensor) << describe(tensor.error());
  EXPECT_EQ(tensor->shape(), (engine::Shape{1, 3, 224, 224}));
  EXPECT_EQ(tensor->type(), engine::DataType::kF32);
}

TEST(Npy, RefusesWhatIsNotNpy) {
  EXPECT_EQ(error_of(""), "x.npy: is not a .npy file");
  EXPECT_EQ(error_of("PK\x03\x04 a zip file with a lot of text in it"), "x.npy: is not a .npy file");
}

TEST(Npy, RefusesFloat64WithTheCure) {
  const auto tensor =
      parse_npy(file_with("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n", "12345678"), "x.npy");
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().message, "elements are '<f8'");
  EXPECT_THAT(tensor.error().hint, HasSubstr("astype('float32')"));
}

TEST(Npy, RefusesFortranOrder) {
  EXPECT_EQ(error_of(file_with("{'descr': '|u1', 'fortran_order': True, 'shape': (1,), }\n", "1")),
            "x.npy: the array is in Fortran order");
}

TEST(Npy, RefusesAShapeThatTheFileCannotHold) {
  EXPECT_EQ(error_of(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n", "1234")),
            "x.npy: f32 [4] does not fit the 4 bytes of numbers in the file");
  EXPECT_THAT(
      error_of(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n", "")),
      HasSubstr("does not fit the 0 bytes"));
  EXPECT_THAT(error_of(file_with("{'descr': '<i8', 'fortran_order': False, 'shape': (2305843009213693952,), }\n", "")),
              HasSubstr("does not fit the 0 bytes"));
}

TEST(Npy, RefusesShapesThatAreNoShapes) {
  for (const std::string shape :
       {"(-1,)", "(1", "1", "(1 2)", "(,)", "(1,1,1,1,1,1,1,1,1,1)", "(99999999999999999999,)"}) {
    EXPECT_THAT(error_of(file_with("{'descr': '|u1', 'fortran_order': False, 'shape': " + shape, "1")),
                HasSubstr("the shape is not understood"))
        << shape;
  }
}

TEST(Npy, EveryTruncationIsAnErrorAndNoCrash) {
  const std::string whole = to_npy(engine::Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse_npy(std::string_view(whole).substr(0, length), "x.npy")) << length;
  }
}

TEST(Npy, FlippedBytesNeverCrash) {
  const std::string whole = to_npy(engine::Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (int flip = 0; flip < 3; ++flip) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto tensor = parse_npy(bytes, "x.npy");
    if (tensor) {
      EXPECT_LE(tensor->byte_count(), bytes.size());
    }
  }
}

}  // namespace
}  // namespace kinglet::cli
