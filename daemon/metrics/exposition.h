// SPDX-License-Identifier: Apache-2.0
// Why: Prometheus's text format 0.0.4, and OpenMetrics 1.0 where it differs. No series without a row in metrics.def.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/metrics/histogram.h"

namespace kinglet::daemon::metrics {

enum class Kind : std::uint8_t { kCounter, kGauge, kHistogram };

enum class Metric : std::uint8_t {
#define KINGLET_METRIC(id, name, kind, unit, help) id,
#include "daemon/metrics/metrics.def"
#undef KINGLET_METRIC
};

enum class Format : std::uint8_t { kPrometheus, kOpenMetrics };

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Thread-bound. All samples of one metric must come one after the other.
class Exposition {
 public:
  explicit Exposition(Format format) : format_(format) {}

  // In the unit that the metric's row names. Values of labels may be any text.
  void sample(Metric metric, Labels labels, double value);
  void sample(Metric metric, Labels labels, std::uint64_t value);
  void histogram(Metric metric, Labels labels, const LifetimeHistogram& histogram);
  // All of it. Nothing may be added behind it.
  [[nodiscard]] std::string finish();

 private:
  void head(Metric metric);
  void line(std::string_view name, Labels labels, std::string_view extra_label, std::string_view value);

  Format format_;
  std::string text_;
  int last_ = -1;
};

}  // namespace kinglet::daemon::metrics
