// SPDX-License-Identifier: Apache-2.0
// ONNX's own cases (libonnx-testdata), all in one process: passing.txt names those that pass, no more and no less.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <format>
#include <fstream>
#include <map>
#include <print>
#include <set>
#include <string>

#include "engine/base/file.h"
#include "engine/onnx/load.h"
#include "engine/onnx/suite.h"
#include "engine/onnx/tensor_proto.h"
#include "engine/session/session.h"

namespace kinglet::engine {
namespace {

namespace fs = std::filesystem;

// Cases whose stored answer wraps around where ONNX's own text (and ONNX Runtime) says saturate: no more and no less.
const std::set<std::string> kSaturatedCases{
    "node/test_qlinearmatmul_2D_int8_float16", "node/test_qlinearmatmul_2D_int8_float32",
    "node/test_qlinearmatmul_3D_int8_float16", "node/test_qlinearmatmul_3D_int8_float32"};

// As docs/operators.md counts them.
constexpr std::size_t kInScope = 929;

std::set<std::string> listed_cases() {
  std::set<std::string> names;
  std::ifstream file(KINGLET_SOURCE_DIR "/tests/conformance/passing.txt");
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with('#')) names.insert(line);
  }
  return names;
}

SuiteReport run_all(const fs::path& data) {
  SuiteReport all;
  for (const char* kind : {"node/", "simple/", "pytorch-converted/", "pytorch-operator/"}) {
    Result<SuiteReport> part = run_suite({.data = data, .only = kind});
    if (!part) ADD_FAILURE() << describe(part.error());
    if (part) std::ranges::move(part->cases, std::back_inserter(all.cases));
  }
  return all;
}

TEST(OnnxSuite, PassesTheListedCasesAndNoOthers) {
  const fs::path data = suite_data_folder();
  if (data.empty()) GTEST_SKIP() << "no ONNX test data (Debian package libonnx-testdata)";
  const SuiteReport report = run_all(data);
  std::set<std::string> missing = listed_cases();
  for (const CaseResult& result : report.cases) {
    const bool listed = missing.erase(result.name) > 0;
    const bool passed = result.outcome == CaseOutcome::kPassed;
    EXPECT_NE(result.outcome, CaseOutcome::kFailed) << result.name << ": " << result.reason;
    EXPECT_EQ(result.outcome == CaseOutcome::kSaturated, kSaturatedCases.contains(result.name)) << result.name;
    if (listed) {
      EXPECT_TRUE(passed) << result.name << " is listed and does not pass: " << result.reason;
    } else if (passed) {
      ADD_FAILURE() << "passes but is not listed; add this line to tests/conformance/passing.txt:\n" << result.name;
    }
  }
  for (const std::string& name : missing) ADD_FAILURE() << name << " is listed but not in the test data";
  EXPECT_EQ(report.in_scope(), kInScope);
  for (const auto& [reason, count] : report.out_of_scope()) std::println("{:5}  {}", count, reason);
  std::println("{} cases: {} in scope, {} pass, {} saturate", report.cases.size(), report.in_scope(),
               report.count(CaseOutcome::kPassed), report.count(CaseOutcome::kSaturated));
}

// Whole classifiers of 2015 to 2018, their weights replaced by one number each. Only small ones are evaluated here:
// evaluate is slow on purpose, `kinglet verify --suite` runs all nine.
TEST(OnnxSuite, LoadsTheLightClassifiers) {
  const fs::path data = suite_data_folder();
  if (data.empty()) GTEST_SKIP() << "no ONNX test data (Debian package libonnx-testdata)";
  const std::set<std::string> evaluated{"light_shufflenet", "light_squeezenet"};
  int loaded = 0;
  for (const auto& entry : fs::directory_iterator(data / "light")) {
    if (entry.path().extension() != ".onnx") continue;
    const std::string name = entry.path().stem().string();
    const Result<InputFile> file = InputFile::open(entry.path());
    ASSERT_TRUE(file) << describe(file.error());
    const Result<Graph> graph = load_model(*file);
    EXPECT_TRUE(graph) << name << ": " << describe(graph.error());
    ++loaded;
    if (!evaluated.contains(name)) continue;
    const Result<SuiteReport> report = run_suite({.data = data, .only = "light/" + name});
    ASSERT_TRUE(report) << describe(report.error());
    EXPECT_EQ(report->cases.at(0).outcome, CaseOutcome::kPassed) << report->cases.at(0).reason;
  }
  EXPECT_GE(loaded, 9);
}

// As the daemon runs them: passes, plan, XNNPACK.
class LightClassifiers : public ::testing::TestWithParam<const char*> {};

TEST_P(LightClassifiers, RunInASessionAsStored) {
  const fs::path data = suite_data_folder();
  if (data.empty()) GTEST_SKIP() << "no ONNX test data (Debian package libonnx-testdata)";
  const fs::path model = data / "light" / std::format("light_{}.onnx", GetParam());
  constexpr std::int64_t kEnough = std::int64_t{4} << 30;  // the files are small, what they stand for is not
  Result<Session> session = Session::open(model, {.threads = 1, .memory_limit = kEnough});
  ASSERT_TRUE(session) << describe(session.error());
  Tensor input(DataType::kF32, session->inputs().at(0).shape);
  const auto values = input.mutable_data<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / static_cast<float>(values.size());
  ASSERT_TRUE(session->set_input(0, input));
  ASSERT_TRUE(session->run());
  const Result<InputFile> file = InputFile::open(data / "light" / std::format("light_{}_output_0.pb", GetParam()));
  ASSERT_TRUE(file) << describe(file.error());
  const std::vector<float> expected = onnx_format::load_tensor(*file).value().to_floats();
  const std::vector<float> got = session->get_output(0).to_floats();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - expected[i]), 1e-7 + 1e-3 * std::abs(expected[i])) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(, LightClassifiers,
                         ::testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                           "shufflenet", "squeezenet", "vgg19", "zfnet512"),
                         [](const auto& chosen) { return std::string(chosen.param); });

}  // namespace
}  // namespace kinglet::engine
