// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/exposition.h"

#include <array>

#include "engine/base/format.h"

namespace kinglet::daemon::metrics {
namespace {

struct Row {
  std::string_view name;
  Kind kind;
  std::string_view unit;
  std::string_view help;
};

constexpr std::array kRows{
#define KINGLET_METRIC(id, name, kind, unit, help) Row{name, Kind::kind, unit, help},
#include "daemon/metrics/metrics.def"
#undef KINGLET_METRIC
};

const Row& row_of(Metric metric) { return kRows.at(static_cast<std::size_t>(metric)); }

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

constexpr std::array<std::string_view, 3> kKindNames{"counter", "gauge", "histogram"};

}  // namespace

void Exposition::head(Metric metric) {
  if (last_ == static_cast<int>(metric)) return;
  last_ = static_cast<int>(metric);
  const Row& row = row_of(metric);
  std::string_view family = row.name;
  // OpenMetrics names a counter's family without _total.
  if (format_ == Format::kOpenMetrics && row.kind == Kind::kCounter)
    family.remove_suffix(std::string_view("_total").size());
  text_ += format_text("# HELP {} {}\n# TYPE {} {}\n", family, row.help, family,
                       kKindNames[static_cast<std::size_t>(row.kind)]);
  if (format_ == Format::kOpenMetrics && !row.unit.empty()) text_ += format_text("# UNIT {} {}\n", family, row.unit);
}

void Exposition::line(std::string_view name, Labels labels, std::string_view extra_label, std::string_view value) {
  text_ += name;
  std::string inside;
  for (const auto& [key, label] : labels)
    inside += format_text("{}{}=\"{}\"", inside.empty() ? "" : ",", key, escaped(label));
  if (!extra_label.empty()) inside += format_text("{}{}", inside.empty() ? "" : ",", extra_label);
  if (!inside.empty()) text_ += "{" + inside + "}";
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

void Exposition::sample(Metric metric, Labels labels, double value) {
  head(metric);
  line(row_of(metric).name, labels, {}, format_text("{}", value));
}

void Exposition::sample(Metric metric, Labels labels, std::uint64_t value) {
  head(metric);
  line(row_of(metric).name, labels, {}, std::to_string(value));
}

void Exposition::histogram(Metric metric, Labels labels, const LifetimeHistogram& histogram) {
  head(metric);
  const std::string name(row_of(metric).name);
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < LifetimeHistogram::kBounds.size(); ++i) {
    cumulative += histogram.counts[i];
    const double bound = LifetimeHistogram::kBounds[i];
    // OpenMetrics wants floats with a point.
    const std::string text = bound >= 1 ? format_text("{:.1f}", bound) : format_text("{}", bound);
    line(name + "_bucket", labels, format_text("le=\"{}\"", text), std::to_string(cumulative));
  }
  line(name + "_bucket", labels, "le=\"+Inf\"", std::to_string(histogram.count));
  line(name + "_sum", labels, {}, format_text("{}", histogram.sum_seconds));
  line(name + "_count", labels, {}, std::to_string(histogram.count));
}

std::string Exposition::finish() {
  if (format_ == Format::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace kinglet::daemon::metrics
