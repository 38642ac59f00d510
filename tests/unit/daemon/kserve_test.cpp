// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "daemon/http/kserve/request.h"
#include "engine/base/format.h"

namespace kinglet::daemon::kserve {
namespace {

using engine::DataType;
using engine::TensorInfo;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorInfo info(std::string name, DataType type, engine::Shape shape) {
  return {.name = std::move(name), .type = type, .shape = std::move(shape)};
}

const TensorInfo kInput = info("x", DataType::kF32, {1, 3, 1, 2});
const std::vector<TensorInfo> kOutputs{info("scores", DataType::kF32, {1, 4}), info("extra", DataType::kI64, {1})};

Result<Request> read(std::string_view body, const std::optional<std::string>& length = {}) {
  return read_request(body, length, kInput, kOutputs);
}

std::string with_input(std::string_view input) { return format_text(R"({{"inputs":[{}]}})", input); }

std::vector<float> floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(KserveRequest, DataMayBeFlatOrNestedAsTheShape) {
  for (const char* data : {"[1,2,3,4,5,6.5]", "[[[[1,2]],[[3,4]],[[5,6.5]]]]"}) {
    const auto request =
        read(with_input(format_text(R"({{"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":{}}})", data)));
    ASSERT_TRUE(request) << describe(request.error());
    EXPECT_THAT(floats(request->tensor), ElementsAre(1, 2, 3, 4, 5, 6.5));
    EXPECT_EQ(request->outputs.size(), 2U) << "without a wish all outputs";
  }
}

TEST(KserveRequest, BinaryDataFollowsTheJson) {
  const std::string json =
      R"({"id":"a","inputs":[{"name":"x","shape":[1,3,1,2],"datatype":"FP32","parameters":{"binary_data_size":24}}],)"
      R"("outputs":[{"name":"extra"},{"name":"scores","parameters":{"binary_data":true}}]})";
  std::string data(24, '\0');
  data[3] = '\x40';  // 2.0, little end first
  const auto request = read(json + data, std::to_string(json.size()));
  ASSERT_TRUE(request) << describe(request.error());
  EXPECT_EQ(request->id, "a");
  EXPECT_EQ(floats(request->tensor)[0], 2.0F);
  ASSERT_EQ(request->outputs.size(), 2U);
  EXPECT_EQ(request->outputs[0].index, 1U);
  EXPECT_FALSE(request->outputs[0].binary);
  EXPECT_TRUE(request->outputs[1].binary);
}

TEST(KserveRequest, APictureComesInBase64OrWithItsLength) {
  const auto json = read(with_input(R"({"name":"image","shape":[1],"datatype":"BYTES","data":["/9j/"]})"));
  ASSERT_TRUE(json) << describe(json.error());
  EXPECT_EQ(json->picture, "\xFF\xD8\xFF");
  const std::string head =
      R"({"inputs":[{"name":"image","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":7}}]})";
  const auto binary = read(head + std::string("\x03\0\0\0\xFF\xD8\xFF", 7), std::to_string(head.size()));
  ASSERT_TRUE(binary) << describe(binary.error());
  EXPECT_EQ(binary->picture, "\xFF\xD8\xFF");
  EXPECT_FALSE(read(head + std::string("\x04\0\0\0\xFF\xD8\xFF", 7), std::to_string(head.size())));
}

TEST(KserveRequest, WhatIsWrongIsSaidInOneLine) {
  const std::string good = R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":[1,2,3,4,5,6]})";
  const std::vector<std::pair<std::string, const char*>> wrongs{
      {"", "no JSON object"},
      {"[]", "no JSON object"},
      {"{\"inputs\":", "no JSON object"},
      {std::string(20, '[') + std::string(20, ']'), "16 levels"},
      {"{}", "one input, \"x\""},
      {R"({"inputs":[]})", "one input, \"x\""},
      {R"({"inputs":[1]})", "one input, \"x\""},
      {format_text(R"({{"inputs":[{},{}]}})", good, good), "one input"},
      {format_text(R"({{"inputs":[{}],"input":1}})", good), "member \"input\" is not known"},
      {format_text(R"({{"inputs":[{}],"id":7}})", good), "id is no text"},
      {format_text(R"({{"inputs":[{}],"parameters":{{"priority":1}}}})", good), "parameter \"priority\""},
      {format_text(R"({{"inputs":[{}],"outputs":[{{"name":"y"}}]}})", good), "there is no output \"y\""},
      {format_text(R"({{"inputs":[{}],"outputs":[{{"name":"extra"}},{{"name":"extra"}}]}})", good), "wished twice"},
      {format_text(R"({{"inputs":[{}],"outputs":[]}})", good), "one to 2 objects"},
      {format_text(R"({{"inputs":[{}],"outputs":[{{"name":"extra","parameters":{{"classification":0}}}}]}})", good),
       "classification is not 1 to 1000"},
      {format_text(R"({{"inputs":[{}],"outputs":[{{"name":"extra","parameters":{{"binary_data":1}}}}]}})", good),
       "neither true nor false"},
      {with_input(R"({"name":"y","shape":[1,3,1,2],"datatype":"FP32","data":[1,2,3,4,5,6]})"), "no input \"y\""},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"INT8","data":[1,2,3,4,5,6]})"), "is FP32, not INT8"},
      {with_input(R"({"name":"x","shape":[1,3,2,1],"datatype":"FP32","data":[1,2,3,4,5,6]})"), "expected [1,3,1,2]"},
      {with_input(R"({"name":"x","shape":[-1,3,1,2],"datatype":"FP32","data":[1]})"), "no list of counts"},
      {with_input(R"({"name":"x","shape":[18446744073709551615,3,1,2],"datatype":"FP32","data":[1]})"),
       "expected [1,3,1,2]"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":[1,2,3,4,5]})"), "5 values"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":[[[[1,2]],[[3,4]],[[5]]]]})"), "1 values"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":[[[[[1],[2]]],[[3,4]],[[5,6]]]]})"),
       "a value is no FP32"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":[1,2,3,4,5,"6"]})"), "a value is no FP32"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":[1,2,3,4,5,1e39]})"), "a value is no FP32"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":{}})"), "data is no list"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32"})"), "neither data nor"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":[1],"parameters":{"binary_data_size":4}})"),
       "data and binary_data_size"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","parameters":{"binary_data_size":24}})"),
       "behind the JSON are 0 bytes"},
      {with_input(R"({"name":"x","shape":[1,3,1,2],"datatype":"FP32","parameters":{"binary_data_size":-1}})"),
       "is no count"},
      {with_input(R"({"name":"image","shape":[2],"datatype":"BYTES","data":["/9j/"]})"), "expected [1]"},
      {with_input(R"({"name":"image","shape":[1],"datatype":"BYTES","data":["/9j"]})"),
       "no list of one text in base64"},
  };
  for (const auto& [body, said] : wrongs) {
    const auto request = read(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, ErrorCode::kBadData);
    EXPECT_THAT(request.error().message, HasSubstr(said)) << body;
    EXPECT_EQ(request.error().message.find('\n'), std::string::npos);
  }
}

TEST(KserveRequest, ALengthOfTheJsonThatCannotBeIsRefused) {
  for (const char* length : {"", "-1", "3 ", "99999999999999999999", "100"}) {
    const auto request = read("{}", length);
    ASSERT_FALSE(request);
    EXPECT_THAT(request.error().message, HasSubstr("Inference-Header-Content-Length")) << length;
  }
}

TEST(KserveRequest, ManyValuesAreRefusedBeforeTheyBecomeMany) {
  std::string data = "0";
  for (int i = 0; i < 10'000; ++i) data += ",0";
  const auto request =
      read(with_input(format_text(R"({{"name":"x","shape":[1,3,1,2],"datatype":"FP32","data":[{}]}})", data)));
  ASSERT_FALSE(request);
  EXPECT_THAT(request.error().message, HasSubstr("more than 4102 values"));
}

TEST(KserveTensors, IntegersHaveTheirRange) {
  const TensorInfo bytes = info("x", DataType::kU8, {3});
  EXPECT_EQ(bytes_of_json(nlohmann::json::parse("[0,255,7]"), bytes).value(), std::string("\0\xFF\x07", 3));
  for (const char* data : {"[0,256,7]", "[0,-1,7]", "[0,1.5,7]", "[0,true,7]", "[0,18446744073709551615,7]"}) {
    EXPECT_FALSE(bytes_of_json(nlohmann::json::parse(data), bytes)) << data;
  }
  EXPECT_EQ(bytes_of_json(nlohmann::json::parse("[-128]"), info("x", DataType::kI8, {1})).value(), "\x80");
  EXPECT_THAT(bytes_of_json(nlohmann::json::parse("[1]"), info("x", DataType::kF16, {1})).error().message,
              HasSubstr("binary"));
}

TEST(KserveTensors, HalfFloatsBecomeNumbers) {
  const std::vector<std::uint16_t> halves{0x3C00, 0xC000, 0x0001, 0x7BFF};  // 1, -2, 2^-24, 65504
  EXPECT_EQ(json_of_bytes(std::as_bytes(std::span(halves)), DataType::kF16).dump(),
            "[1.0,-2.0,5.960464477539063e-08,65504.0]");
}

TEST(KserveTensors, FloatsAreWrittenShortAndGiveTheSameFloatBack) {
  const std::vector<float> floats{0.1F, 16777216.0F, 1e-30F, NAN, -INFINITY};
  EXPECT_EQ(json_of_bytes(std::as_bytes(std::span(floats)), DataType::kF32).dump(), "[0.1,16777216.0,1e-30,null,null]");
}

TEST(KserveTensors, ATensorThatIsHeldTurnedIsTurnedAndBack) {
  TensorInfo turned = info("x", DataType::kU8, {2, 3, 2, 2});
  turned.layout = engine::TensorLayout::kNhwc;
  std::vector<std::byte> file(24);
  for (std::size_t i = 0; i < file.size(); ++i) file[i] = static_cast<std::byte>(i);
  std::vector<std::byte> back(24);
  const std::vector<std::byte> memory = to_memory(file, turned);
  EXPECT_EQ(memory[1], std::byte{4}) << "the first pixel's second channel";
  EXPECT_EQ(memory[12], std::byte{12}) << "the second picture";
  to_file_order(memory, turned, back);
  EXPECT_EQ(back, file);
}

TEST(KserveTensors, FloatsOfAnInputThatIsHeldAsLevelsBecomeThese) {
  TensorInfo input = info("x", DataType::kF32, {1, 3, 1, 2});
  input.layout = engine::TensorLayout::kNhwc;
  input.held = {.type = DataType::kI8, .quantization = {.scale = 0.5, .zero_point = -1}};
  const std::vector<float> numbers{0, 1, 0.75F, -0.25F, 1000, NAN};
  const std::vector<std::byte> memory = to_memory(std::as_bytes(std::span(numbers)), input);
  std::vector<int> levels;
  for (const std::byte level : memory) levels.push_back(static_cast<std::int8_t>(level));
  EXPECT_THAT(levels, ElementsAre(-1, 1, 127, 1, -1, -128)) << "halves to even, red, green and blue together";
}

TEST(KserveTensors, ClassesAreTheLargestWithTheirLabels) {
  const std::vector<float> scores{0.1F, NAN, 0.7F, 0.7F};
  const auto bytes = std::as_bytes(std::span(scores));
  EXPECT_THAT(classes(bytes, DataType::kF32, 2, {"a", "b", "c", "d"}), ElementsAre("0.700000:2:c", "0.700000:3:d"));
  EXPECT_THAT(classes(bytes, DataType::kF32, 9, {}), ElementsAre("0.700000:2", "0.700000:3", "0.100000:0", "nan:1"));
}

}  // namespace
}  // namespace kinglet::daemon::kserve
