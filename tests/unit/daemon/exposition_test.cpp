// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/exposition.h"

#include <gtest/gtest.h>

namespace kinglet::daemon::metrics {
namespace {

TEST(Exposition, WritesHelpAndTypeOncePerMetric) {
  Exposition out(Format::kPrometheus);
  out.sample(Metric::kFrames, {{"source", "camera"}, {"outcome", "busy"}}, std::uint64_t{3});
  out.sample(Metric::kFrames, {{"source", "camera"}, {"outcome", "rate"}}, std::uint64_t{4});
  EXPECT_EQ(out.finish(),
            "# HELP kinglet_frames_total Frames by what became of them.\n"
            "# TYPE kinglet_frames_total counter\n"
            "kinglet_frames_total{source=\"camera\",outcome=\"busy\"} 3\n"
            "kinglet_frames_total{source=\"camera\",outcome=\"rate\"} 4\n");
}

TEST(Exposition, NamesACountersFamilyAsOpenMetricsWants) {
  Exposition out(Format::kOpenMetrics);
  out.sample(Metric::kProcessCpu, {}, 1.5);
  EXPECT_EQ(out.finish(),
            "# HELP process_cpu_seconds Processor time of this process.\n"
            "# TYPE process_cpu_seconds counter\n"
            "# UNIT process_cpu_seconds seconds\n"
            "process_cpu_seconds_total 1.5\n"
            "# EOF\n");
}

TEST(Exposition, CumulatesHistogramBuckets) {
  LifetimeHistogram histogram;
  histogram.add(std::chrono::milliseconds(1));
  histogram.add(std::chrono::milliseconds(40));
  histogram.add(std::chrono::seconds(9));
  Exposition out(Format::kPrometheus);
  out.histogram(Metric::kStageDuration, {{"stage", "wait"}}, histogram);
  const std::string text = out.finish();
  EXPECT_NE(text.find("_bucket{stage=\"wait\",le=\"0.002\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("_bucket{stage=\"wait\",le=\"0.05\"} 2\n"), std::string::npos);
  EXPECT_NE(text.find("_bucket{stage=\"wait\",le=\"2.0\"} 2\n"), std::string::npos);
  EXPECT_NE(text.find("_bucket{stage=\"wait\",le=\"+Inf\"} 3\n"), std::string::npos);
  EXPECT_NE(text.find("_count{stage=\"wait\"} 3\n"), std::string::npos);
}

TEST(Exposition, EscapesLabelValues) {
  Exposition out(Format::kPrometheus);
  out.sample(Metric::kModelInfo, {{"name", "a\"b\\c\nd"}}, std::uint64_t{1});
  EXPECT_NE(out.finish().find("{name=\"a\\\"b\\\\c\\nd\"}"), std::string::npos);
}

}  // namespace
}  // namespace kinglet::daemon::metrics
