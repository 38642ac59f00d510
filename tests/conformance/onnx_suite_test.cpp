// SPDX-License-Identifier: Apache-2.0
// ONNX's own cases (libonnx-testdata), all in one process: passing.txt names those that pass, no more and no less.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <print>
#include <set>
#include <string>

#include "engine/base/file.h"
#include "engine/onnx/load.h"
#include "engine/onnx/suite.h"

namespace kinglet::engine {
namespace {

namespace fs = std::filesystem;

// Cases whose stored answer is not the one to give, and why.
const std::map<std::string, std::string> kOtherAnswer{
    {"node/test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
     "what ceil_mode adds behind the padding counts there; ONNX Runtime and PyTorch leave it out"},
    {"node/test_qlinearmatmul_2D_int8_float16", "-236 wraps to 20 there; ONNX's own text says saturate: -128"},
    {"node/test_qlinearmatmul_2D_int8_float32", "-236 wraps to 20 there; ONNX's own text says saturate: -128"},
    {"node/test_qlinearmatmul_3D_int8_float16", "numbers below -128 wrap there; ONNX's own text says saturate"},
    {"node/test_qlinearmatmul_3D_int8_float32", "numbers below -128 wrap there; ONNX's own text says saturate"},
};

std::set<std::string> listed_cases() {
  std::set<std::string> names;
  std::ifstream file(KINGLET_SOURCE_DIR "/tests/conformance/passing.txt");
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with('#')) names.insert(line);
  }
  return names;
}

// "input "x": is DOUBLE, ..." and "node "n" (Cast): ..." without the names, so that equal reasons are counted together.
std::string kind_of_reason(const CaseResult& result) {
  std::string text = result.reason.substr(0, result.reason.find('\n'));
  for (std::size_t open; (open = text.find('"')) != std::string::npos;) {
    const std::size_t close = text.find('"', open + 1);
    if (close == std::string::npos) break;
    text.replace(open, close - open + 1, "...");
  }
  return text;
}

void print_out_of_scope(const SuiteReport& report) {
  std::map<std::string, int> reasons;
  for (const CaseResult& result : report.cases) {
    if (result.outcome == CaseOutcome::kOutOfScope) ++reasons[kind_of_reason(result)];
  }
  std::vector<std::pair<std::string, int>> sorted(reasons.begin(), reasons.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &std::pair<std::string, int>::second);
  for (const auto& [reason, count] : sorted) std::println("{:5}  {}", count, reason);
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
    if (kOtherAnswer.contains(result.name)) {
      EXPECT_EQ(result.outcome, CaseOutcome::kFailed) << result.name << " passes now: take it off the other answers";
    } else if (listed || !passed) {
      EXPECT_NE(result.outcome, CaseOutcome::kFailed) << result.name << ": " << result.reason;
      EXPECT_FALSE(listed && !passed) << result.name << ": " << result.reason;
    } else {
      ADD_FAILURE() << "passes but is not listed; add this line to tests/conformance/passing.txt:\n" << result.name;
    }
  }
  for (const std::string& name : missing) ADD_FAILURE() << name << " is listed but not in the test data";
  print_out_of_scope(report);
  std::println("{} cases: {} pass, {} have another answer, {} are out of scope", report.cases.size(),
               report.count(CaseOutcome::kPassed), kOtherAnswer.size(), report.count(CaseOutcome::kOutOfScope));
}

// Whole classifiers of 2015 to 2018, their weights replaced by one number each. Only small ones run here: evaluate is
// slow on purpose.
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

}  // namespace
}  // namespace kinglet::engine
