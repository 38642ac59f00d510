// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/replay.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/line/replay_input.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

// Ids differ by their times; nothing else of them may differ between two runs.
constexpr std::uint64_t kSeed = 1;

// A board without a clock battery says an earlier time until its clock is set.
constexpr WallTime kNoClockBefore{std::chrono::sys_days(std::chrono::year(2020) / 1 / 1)};

void count(const Result<std::variant<Prediction, SkipReason>>& looked, ReplayReport& report) {
  if (!looked) {
    if (report.errors++ == 0) report.first_error = describe(looked.error());
  } else if (const auto* skipped = std::get_if<SkipReason>(&*looked)) {
    ++report.skipped[std::to_underlying(*skipped)];
  } else {
    const auto& prediction = std::get<Prediction>(*looked);
    ++report.predictions;
    ++report.by_outcome[std::to_underlying(prediction.answer.outcome)];
    report.inferences += prediction.region_count;
    for (std::size_t i = 0; i < kLeftOutCount; ++i) report.left_out[i] += prediction.left_out[i];
    report.detector.add(prediction.detector);
  }
}

// What the line tells of visits, with the time on the virtual clock.
class Listener {
 public:
  explicit Listener(ReplayReport& report) : report_(report) {}

  void hear(visits::VisitEvent event, const visits::Visit& visit) {
    Named& named = named_[visit.seq];
    if (event == visits::VisitEvent::kStart || visit.model_result.species_id != named.species_id) {
      named = {.species_id = visit.model_result.species_id, .at = now};
    }
    if (event != visits::VisitEvent::kEnd) return;
    report_.visits.push_back({.visit = visit, .named_at = named.at});
    named_.erase(visit.seq);
  }

  SteadyClock::duration now{};  // since the first frame

 private:
  struct Named {
    std::string species_id;
    SteadyClock::duration at{};
  };
  ReplayReport& report_;
  std::map<std::uint64_t, Named> named_;  // the open visits, by seq
};

}  // namespace

Result<ReplayReport> replay(const ReplayOptions& options) {
  camera::SourceOptions source = options.source;
  const auto needs = std::make_shared<camera::PictureNeeds>();
  source.needs = needs;
  const std::unique_ptr<ReplayInput> input = KINGLET_TRY(open_replay_input(source));
  LineModel classifier = KINGLET_TRY(LineModel::open(options.classifier));
  ReplayReport report;
  report.description = input->description();
  visits::IdMaker ids(kSeed);
  Listener listener(report);
  LineOptions line_options = options.line;
  line_options.look.budget = 0;
  FrameLine line(
      std::move(classifier), std::move(line_options), ids,
      [&listener](visits::VisitEvent event, const visits::Visit& visit) { listener.hear(event, visit); },
      report.warnings);
  if (!options.detector.model.empty()) line.use_detector(KINGLET_TRY(LineDetector::open(options.detector)));
  needs->say(line.picture_needs());
  std::optional<SteadyTime> first;
  while (true) {
    const Result<std::optional<camera::Frame>> next = input->next();
    if (!next) {
      if (next.error().code != ErrorCode::kBadData) return std::unexpected(next.error());
      if (report.errors++ == 0) report.first_error = describe(next.error());
      continue;
    }
    if (!*next) break;
    const camera::FrameInfo& info = (*next)->info();
    if (!first) first = info.captured_at;
    const SteadyClock::duration done = info.captured_at - *first;
    if (options.length > options.length.zero() && done >= options.length) break;
    ++report.frames;
    report.length = done;
    listener.now = done;
    count(line.look_at(**next, info.captured_at, info.captured_wall > kNoClockBefore), report);
    if (options.progress) options.progress(done);
  }
  line.finish();
  std::ranges::sort(report.visits, {}, [](const ReplayedVisit& one) { return one.visit.seq; });
  if (std::string complaint = input->complaint(); !complaint.empty()) report.warnings.push_back(std::move(complaint));
  if (report.frames == 0) {
    return fail(ErrorCode::kBadData, "there is no whole frame", printable(options.source.spec),
                "make another recording with `kinglet record`");
  }
  return report;
}

}  // namespace kinglet::daemon
