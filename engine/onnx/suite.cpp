// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/suite.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/onnx/load.h"
#include "engine/onnx/tensor_proto.h"
#include "engine/ops/op.h"
#include "engine/ops/out_of_scope.h"

namespace kinglet::engine {
namespace {

namespace fs = std::filesystem;

// Every number of a tensor as double; 64-bit integers beyond 2^53 are compared with the same tolerance anyway.
std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(tensor.element_count()));
  for_each_number(tensor, [&](auto number) { out.push_back(static_cast<double>(number)); });
  return out;
}

bool close(double got, double expected, const SuiteOptions& options) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= options.absolute + options.relative * std::abs(expected);
}

// Wrapped around the end of an 8-bit type: `got` stands at that end.
bool saturated(double got, double expected, DataType type) {
  const double low = type == DataType::kI8 ? -128 : 0;
  const double high = low + 255;
  const bool bytes = type == DataType::kI8 || type == DataType::kU8;
  return bytes && got != expected && (got == low || got == high);
}

constexpr std::string_view kSaturated = "the stored answer wrapped around";

// Empty when equal, otherwise what differs: kSaturated when nothing else does.
std::string difference(const Tensor& got, const Tensor& expected, const SuiteOptions& options) {
  if (got.type() != expected.type() || got.shape() != expected.shape()) {
    return format_text("is {}{}, expected {}{}", to_string(got.type()), to_string(got.shape()),
                       to_string(expected.type()), to_string(expected.shape()));
  }
  const std::vector<double> a = numbers(got);
  const std::vector<double> b = numbers(expected);
  bool any_saturated = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (close(a[i], b[i], options)) continue;
    if (!saturated(a[i], b[i], got.type())) return format_text("element {} is {}, expected {}", i, a[i], b[i]);
    any_saturated = true;
  }
  return std::string(any_saturated ? kSaturated : "");
}

Result<Tensor> read_tensor(const fs::path& path) {
  const InputFile file = KINGLET_TRY(InputFile::open(path));
  return onnx_format::load_tensor(file);
}

// input_0.pb, input_1.pb ... as far as they are there.
Result<std::vector<Tensor>> read_tensors(const fs::path& folder, std::string_view role) {
  std::vector<Tensor> out;
  while (true) {
    const fs::path path = folder / format_text("{}_{}.pb", role, out.size());
    if (!fs::exists(path)) return out;
    out.push_back(KINGLET_TRY(read_tensor(path)));
  }
}

Result<std::string> compare_run(const Graph& graph, std::span<const Tensor> inputs, std::span<const Tensor> expected,
                                const SuiteOptions& options) {
  const std::vector<Tensor> results = KINGLET_TRY(evaluate_graph(graph, inputs));
  if (results.size() < expected.size()) return format_text("{} outputs, expected {}", results.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string text = difference(results[i], expected[i], options);
    if (!text.empty()) return format_text("output {} {}", i, text);
  }
  return std::string();
}

Result<std::string> run_data_set(const Graph& graph, const fs::path& folder, const SuiteOptions& options) {
  const std::vector<Tensor> inputs = KINGLET_TRY(read_tensors(folder, "input"));
  const std::vector<Tensor> outputs = KINGLET_TRY(read_tensors(folder, "output"));
  return compare_run(graph, inputs, outputs, options);
}

// The light classifiers have no stored input: its i-th element is i / count.
Result<std::string> run_light(const Graph& graph, const fs::path& model, const SuiteOptions& options) {
  if (graph.inputs().size() != 1) return std::string("has more than one input");
  Shape shape = graph.value(graph.inputs()[0].value).shape.value_or(Shape{});
  std::ranges::replace(shape, kUnknownDim, Dim{1});
  Tensor input(DataType::kF32, shape);
  const auto values = input.mutable_data<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / static_cast<float>(values.size());
  const fs::path stored = model.parent_path() / (model.stem().string() + "_output_0.pb");
  const std::vector<Tensor> expected{KINGLET_TRY(read_tensor(stored))};
  return compare_run(graph, std::span(&input, 1), expected, options);
}

Result<std::string> run_model(const fs::path& model, const SuiteOptions& options) {
  const InputFile file = KINGLET_TRY(InputFile::open(model));
  const Graph graph = KINGLET_TRY(load_model(file));
  if (model.filename() != "model.onnx") return run_light(graph, model, options);
  for (int i = 0;; ++i) {
    const fs::path set = model.parent_path() / format_text("test_data_set_{}", i);
    if (!fs::exists(set)) return i == 0 ? std::string("holds no data set") : std::string();
    std::string text = KINGLET_TRY(run_data_set(graph, set, options));
    if (!text.empty()) return text;
  }
}

CaseResult run_case(const std::string& name, const fs::path& model, const SuiteOptions& options) {
  const auto outcome = [&](CaseOutcome kind, std::string reason) { return CaseResult{name, kind, std::move(reason)}; };
  try {
    const Result<std::string> text = run_model(model, options);
    if (text && text->ends_with(kSaturated)) return outcome(CaseOutcome::kSaturated, *text);
    if (text) return outcome(text->empty() ? CaseOutcome::kPassed : CaseOutcome::kFailed, *text);
    const bool refused = text.error().code == ErrorCode::kUnsupported;
    return outcome(refused ? CaseOutcome::kOutOfScope : CaseOutcome::kFailed, describe(text.error()));
  } catch (const CheckFailure& failure) {  // one broken case must not end the count
    return outcome(CaseOutcome::kFailed, failure.what());
  }
}

// The first reason of the table that the refusal gives; else its first line without quoted names.
std::string kind_of_refusal(std::string_view refusal) {
  for (const std::string_view reason : out_of_scope_reasons()) {
    if (refusal.contains(reason)) return std::string(reason);
  }
  std::string text(refusal.substr(0, refusal.find('\n')));
  for (std::size_t open; (open = text.find('"')) != std::string::npos;) {
    const std::size_t close = text.find('"', open + 1);
    if (close == std::string::npos) break;
    text.replace(open, close - open + 1, "...");
  }
  return text;
}

struct Case {
  std::string name;
  fs::path model;
};

Result<std::vector<Case>> find_cases(const SuiteOptions& options) {
  std::vector<Case> cases;
  std::error_code error;
  for (const std::string_view kind : {"node", "simple", "pytorch-converted", "pytorch-operator", "light"}) {
    for (const auto& entry : fs::directory_iterator(options.data / kind, error)) {
      const bool light = kind == "light" && entry.path().extension() == ".onnx";
      const fs::path model = light ? entry.path() : entry.path() / "model.onnx";
      const std::string name = format_text("{}/{}", kind, (light ? model.stem() : entry.path().filename()).string());
      if (name.find(options.only) != std::string::npos && fs::exists(model, error)) cases.push_back({name, model});
    }
  }
  if (cases.empty()) {
    return fail(ErrorCode::kNotFound, "holds no ONNX test cases", options.data.string(),
                "install libonnx-testdata, or name its folder onnx/backend/test/data");
  }
  std::ranges::sort(cases, {}, &Case::name);
  return cases;
}

}  // namespace

std::size_t SuiteReport::count(CaseOutcome outcome) const {
  return static_cast<std::size_t>(std::ranges::count(cases, outcome, &CaseResult::outcome));
}

std::vector<std::pair<std::string, std::size_t>> SuiteReport::out_of_scope() const {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const CaseResult& result : cases) {
    if (result.outcome != CaseOutcome::kOutOfScope) continue;
    const std::string reason = kind_of_refusal(result.reason);
    const auto at = std::ranges::find(counts, reason, &std::pair<std::string, std::size_t>::first);
    if (at == counts.end()) {
      counts.emplace_back(reason, 1);
    } else {
      ++at->second;
    }
  }
  std::ranges::stable_sort(counts, std::ranges::greater(), &std::pair<std::string, std::size_t>::second);
  return counts;
}

std::filesystem::path suite_data_folder() {
  const fs::path folder = "/usr/lib/python3/dist-packages/onnx/backend/test/data";
  std::error_code error;
  return fs::is_directory(folder, error) ? folder : fs::path();
}

Result<SuiteReport> run_suite(const SuiteOptions& options, const std::function<void(const CaseResult&)>& seen) {
  SuiteReport report;
  const std::vector<Case> cases = KINGLET_TRY(find_cases(options));
  for (const Case& found : cases) {
    report.cases.push_back(run_case(found.name, found.model, options));
    if (seen) seen(report.cases.back());
  }
  return report;
}

}  // namespace kinglet::engine
