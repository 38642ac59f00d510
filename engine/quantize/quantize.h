// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet quantize` as a function: a float graph becomes one of int8, calibrated on pictures, and what that costs
// is measured on the same pictures. docs/quantize.md says what each step is for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/quantize/calibration/ranges.h"
#include "engine/quantize/judge.h"

namespace kinglet::engine {

struct QuantizeOptions {
  RangeMethod method = RangeMethod::kAuto;  // kAuto: each of the others is tried, the answers decide
  bool per_channel = true;
  bool equalize = true;
  bool correct_bias = true;
  bool optimize_rounding = true;
  std::set<std::string> keep_float;          // names of layers
  std::optional<double> max_drop;            // percentage points; layers stay float until it holds
  std::optional<OutputMeaning> output = {};  // absent: first_output
  std::vector<std::optional<std::size_t>> labels = {};
};

struct LayerNoise {
  std::string name, op_type;
  double signal_to_noise_db = 0;  // of the answers when this layer alone runs in integers
  bool kept_float = false;
};

struct QuantizeReport {
  std::size_t layers = 0;  // that run in integers
  int equalized_pairs = 0;
  RangeMethod method = RangeMethod::kMinMax;
  std::vector<std::pair<RangeMethod, double>> tried;  // signal to noise of each, in dB
  std::vector<LayerNoise> sensitivity;                // worst first; empty unless it was asked for (max_drop)
  std::vector<std::string> kept_float;
  std::int64_t bytes_before = 0, bytes_after = 0;  // of constants
  Judgement judgement;
};

struct QuantizedModel {
  Graph graph;  // QDQ, opset 13 at least
  QuantizeReport report;
};

// `graph` as open_model gives it. kBadData: nothing in it can run in integers, no pictures, numbers that are not
// finite. When max_drop cannot be reached the result is the best found: report.judgement says so.
[[nodiscard]] Result<QuantizedModel> quantize_model(const Graph& graph, const Samples& samples,
                                                    const QuantizeOptions& options, const Progress& progress);

}  // namespace kinglet::engine
