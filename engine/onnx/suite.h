// SPDX-License-Identifier: Apache-2.0
// Why: ONNX's own test data (Debian package libonnx-testdata) as a measure of how much of ONNX is right here: each case
// is a model with inputs and expected outputs, run by evaluate_graph. Used by `kinglet verify --suite` and by ctest.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::engine {

// Out of scope: the model was refused at load because of an operator, a type or a form that kinglet does not have.
// Saturated: the answer differs from the stored one only where a number stops at the end of its 8-bit type and the
// stored one wrapped around, which ONNX's own text forbids (its test data was made by a cast that overflows).
enum class CaseOutcome { kPassed, kSaturated, kFailed, kOutOfScope };

struct CaseResult {
  std::string name;  // "node/test_relu"
  CaseOutcome outcome = CaseOutcome::kFailed;
  std::string reason;  // empty when passed
};

struct SuiteOptions {
  std::filesystem::path data;  // the folder that holds node, simple, pytorch-converted, pytorch-operator, light
  std::string only;            // cases whose name contains this; empty: all
  double relative = 1e-3;      // |got - expected| <= absolute + relative * |expected|, as ONNX's own runner has it
  double absolute = 1e-7;
};

struct SuiteReport {
  std::vector<CaseResult> cases;  // sorted by name
  [[nodiscard]] std::size_t count(CaseOutcome outcome) const;
  [[nodiscard]] std::size_t in_scope() const { return cases.size() - count(CaseOutcome::kOutOfScope); }
  // How many cases are out of scope for each reason of ops/out_of_scope.def (or, where that has none, the refusal
  // without names), most frequent first.
  [[nodiscard]] std::vector<std::pair<std::string, std::size_t>> out_of_scope() const;
};

// Where Debian installs the data; empty when it is not there.
[[nodiscard]] std::filesystem::path suite_data_folder();

// kNotFound: no such folder or no case in it. A case that fails is a result, not an error.
// `seen` is called after each case, from this thread.
[[nodiscard]] Result<SuiteReport> run_suite(const SuiteOptions& options,
                                            const std::function<void(const CaseResult&)>& seen = {});

}  // namespace kinglet::engine
