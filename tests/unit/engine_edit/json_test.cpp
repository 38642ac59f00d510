// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/json/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx.pb.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "engine/onnx/json/json_parts.h"
#include "tests/unit/engine_onnx/model_builder.h"

namespace kinglet::engine {
namespace {

using ::testing::HasSubstr;
using testing::relu_model;

std::string json_of(const std::string& bytes, JsonWeights weights = JsonWeights::kInline) {
  return to_json(Document::from_bytes(bytes).value(), weights).value();
}

std::string error_of(std::string json, std::string_view from, std::string_view to) {
  const std::size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  json.replace(at, from.size(), to);
  const auto document = from_json(json);
  return document ? "read" : describe(document.error());
}

TEST(ModelAsJson, ComesBackByteByByte) {
  const std::string bytes =
      relu_model([](::onnx::ModelProto& model) {
        model.set_doc_string("\xFF not text");
        auto& attribute = *model.mutable_graph()->mutable_node(0)->add_attribute();
        attribute.set_name("numbers");
        attribute.set_type(::onnx::AttributeProto::FLOATS);
        for (const float value : {0.1F, -0.0F, 1e-45F, 3.4e38F, std::numeric_limits<float>::quiet_NaN()}) {
          attribute.add_floats(value);
        }
        attribute.add_ints(std::numeric_limits<std::int64_t>::min());
      }) +
      "\xFA\x7F\x03"
      "abc";
  EXPECT_EQ(from_json(json_of(bytes))->to_bytes().value(), bytes);
}

TEST(ModelAsJson, TakesWeightsFromTheOriginalByHash) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    auto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name("w");
    weight.add_dims(100);
    weight.set_data_type(::onnx::TensorProto::FLOAT);
    weight.set_raw_data(std::string(400, '\x3F'));
  });
  const std::string json = json_of(bytes, JsonWeights::kHash);
  EXPECT_THAT(json, HasSubstr("sha256"));
  const Document original = Document::from_bytes(bytes).value();
  EXPECT_EQ(from_json(json, &original)->to_bytes().value(), bytes);
  EXPECT_THAT(describe(from_json(json).error()), HasSubstr("initializer[0]"));
}

TEST(ModelAsJson, TellsThePlaceOfWhatIsWrong) {
  const std::string json = json_of(relu_model([](::onnx::ModelProto&) {}));
  EXPECT_THAT(error_of(json, "\"op_type\"", "\"op_tipe\""), HasSubstr("model.graph.node[0]"));
  EXPECT_THAT(error_of(json, "\"ir_version\": 8", "\"ir_version\": 8.5"), HasSubstr("model.ir_version"));
  EXPECT_THAT(error_of(json, "[\n", "[1,\n"), HasSubstr("expected"));
  EXPECT_THAT(error_of(json, "kinglet-onnx-json-1", "other"), HasSubstr("format"));
  EXPECT_THAT(error_of(json, "}", ""), HasSubstr("no JSON"));
}

TEST(ModelAsJson, SurvivesDeepNesting) {
  std::string json = R"({"format": "kinglet-onnx-json-1", "model": {"graph": )";
  for (int i = 0; i < 300; ++i) json += R"({"node": [{"attribute": [{"g": )";
  json += "{}";
  for (int i = 0; i < 300; ++i) json += "}]}]}";
  EXPECT_THAT(describe(from_json(json + "}}").error()), HasSubstr("nested too deeply"));
}

TEST(Base64, RefusesWhatItWouldNotWrite) {
  for (const std::string_view bytes : {"", "a", "ab", "abc", "abcd"}) {
    EXPECT_EQ(onnx_json::from_base64(onnx_json::to_base64(bytes)), bytes);
  }
  for (const std::string_view text : {"a", "YQ", "YQ=a", "YR==", "Y Q=", "===="}) {
    EXPECT_FALSE(onnx_json::from_base64(text)) << text;
  }
}

// Every "optional int64 dims = 1;" of onnx.proto has its row.
TEST(JsonFields, AreAllThatOnnxProtoHas) {
  std::ifstream file("/usr/include/onnx/onnx.proto");
  ASSERT_TRUE(file) << "libonnx-dev is needed";
  const std::regex field(R"(^\s*(optional|repeated)?\s*[\w.]+\s+(\w+)\s*=\s*(\d+)\s*(\[.*\])?;)");
  std::set<std::pair<std::string, std::uint64_t>> known;
  for (const auto& row : onnx_json::all_fields()) known.emplace(row.name, row.number);
  std::size_t count = 0;
  bool in_enum = false;
  for (std::string line; std::getline(file, line);) {
    if (line.find("enum ") < line.find("//")) in_enum = true;
    if (in_enum && line.find('}') != std::string::npos) in_enum = false;
    std::smatch match;
    if (in_enum || !std::regex_search(line, match, field) ||
        line.find("//") < static_cast<std::size_t>(match.position(2))) {
      continue;
    }
    ++count;
    EXPECT_TRUE(known.contains({match[2], std::stoull(match[3])})) << line;
  }
  EXPECT_GT(count, 80U);
}

}  // namespace
}  // namespace kinglet::engine
