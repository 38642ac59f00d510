// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/stream_source.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

constexpr std::size_t kChunk = std::size_t{64} * 1024;

}  // namespace

// Of the source's thread, except `stream->close()` and `stopped`.
struct StreamSource::Flow {
  std::unique_ptr<ByteStream> stream;
  std::unique_ptr<StreamParser> parser;
  std::vector<std::byte> chunk = std::vector<std::byte>(kChunk);
  std::span<const std::byte> waiting;  // of the chunk: read, but not parsed yet
  Pool::Loan loan;                     // the frame being read
  std::size_t unwanted = 0;            // bytes still to come of one that nobody wants
  SteadyTime begun_at{};               // when its first bytes came
  WallTime begun_wall{};
  std::optional<Frame> first;
  std::optional<Error> failure;
  bool over = false;  // ended as it should
  std::atomic<bool> stopped = false;
};

std::shared_ptr<StreamSource::Flow> StreamSource::current_flow() {
  const MutexLock lock(mutex_);
  return flow_;
}

Result<void> StreamSource::start() {
  const std::uint64_t stops = end_flow();
  given_at_ = {};
  sequence_ = 0;
  dropped_ = 0;
  const auto flow = std::make_shared<Flow>();
  flow->stream = KINGLET_TRY(open_stream());
  {
    const MutexLock lock(mutex_);
    if (stops_ != stops) return stopped_at_start();
    pool_->set_running(true);
    flow_ = flow;
  }
  Result<void> ready = wait_for_first(flow);
  if (!ready) stop();
  return ready;
}

Result<void> StreamSource::wait_for_first(const std::shared_ptr<Flow>& flow) {
  const SteadyTime deadline = SteadyClock::now() + first_frame_limit();
  const auto in_time = [&]() -> Result<void> {
    if (flow->stopped) return stopped_at_start();
    if (SteadyClock::now() < deadline) return {};
    return fail(ErrorCode::kUnavailable, format_text("{} gave no frame within {}", subject(), first_frame_limit()));
  };
  Result<std::unique_ptr<StreamParser>> parser = open_parser(*flow->stream, deadline);
  KINGLET_TRY(in_time());
  flow->parser = KINGLET_TRY(std::move(parser));
  while (!flow->first) {
    Result<std::variant<Frame, NoFrame>> next = read_frame(*flow, deadline);
    if (next && std::holds_alternative<Frame>(*next)) {
      flow->first = std::get<Frame>(std::move(*next));
      continue;
    }
    if (!next && next.error().code != ErrorCode::kBadData) return std::unexpected(std::move(next).error());
    if (flow->over) return fail(ErrorCode::kUnavailable, format_text("{} ended without a frame", subject()));
    KINGLET_TRY(in_time());
  }
  return {};
}

Result<std::variant<Frame, NoFrame>> StreamSource::next(SteadyTime deadline) {
  const std::shared_ptr<Flow> flow = current_flow();
  if (!flow || flow->stopped) return no_frame(Waited::kStopped);
  if (flow->first) {
    Frame frame = *std::move(flow->first);
    flow->first.reset();
    return frame;
  }
  return read_frame(*flow, deadline);
}

void StreamSource::stop() { end_flow(); }

std::uint64_t StreamSource::end_flow() {
  std::shared_ptr<Flow> flow;
  std::uint64_t stops = 0;
  {
    const MutexLock lock(mutex_);
    stops = ++stops_;
    flow = std::exchange(flow_, nullptr);
    if (!flow) return stops;
    flow->stopped = true;
    pool_->set_running(false);
  }
  flow->stream->close();
  return stops;
}

std::unexpected<Error> StreamSource::stopped_at_start() const {
  return fail(ErrorCode::kUnavailable, format_text("{} was stopped while it started", subject()));
}

Result<std::variant<Frame, NoFrame>> StreamSource::read_frame(Flow& flow, SteadyTime deadline) {
  while (true) {
    if (flow.stopped) return no_frame(Waited::kStopped);
    if (flow.failure) return std::unexpected(*flow.failure);
    if (flow.over) return NoFrame{NoFrame::Reason::kEnd};
    if (!flow.loan) {
      if (const Waited waited = pool_->take(deadline, flow.loan); waited != Waited::kDone) return no_frame(waited);
      flow.loan->clear();
    }
    std::optional<Frame> frame = KINGLET_TRY(parse(flow));
    if (frame) return *std::move(frame);
    if (std::optional<NoFrame> none = read_bytes(flow, deadline)) return *none;
  }
}

std::optional<NoFrame> StreamSource::read_bytes(Flow& flow, SteadyTime deadline) {
  if (!flow.loan->empty() && !is_wanted(flow.begun_at)) flow.unwanted = flow.parser->leave_rest(*flow.loan);
  const bool drops = flow.unwanted > 0;
  Result<std::size_t> got =
      drops ? flow.stream->drop(flow.unwanted, flow.chunk, deadline) : flow.stream->read(flow.chunk, deadline);
  if (flow.stopped) return no_frame(Waited::kStopped);
  if (!got) {
    flow.over = may_end(*flow.stream);
    if (!flow.over) flow.failure = std::move(got).error();
    return std::nullopt;
  }
  if (drops) {
    flow.unwanted -= *got;
  } else {
    flow.waiting = std::span(flow.chunk).first(*got);
  }
  // Frames that are not wanted keep nobody waiting.
  if ((*got == 0 || !is_wanted(flow.begun_at)) && SteadyClock::now() >= deadline) return no_frame(Waited::kDeadline);
  return std::nullopt;
}

Result<std::optional<Frame>> StreamSource::parse(Flow& flow) {
  while (!flow.waiting.empty()) {
    if (flow.loan->empty()) {
      flow.begun_at = SteadyClock::now();
      flow.begun_wall = std::chrono::system_clock::now();
    }
    Result<StreamParser::Step> step = flow.parser->feed(flow.waiting, *flow.loan);
    if (!step) {
      // Nothing after this can be understood: the stream has to begin anew.
      flow.failure =
          Error{ErrorCode::kUnavailable, format_text("{}: {}", subject(), step.error().message), {}, step.error().hint};
      return std::unexpected(*flow.failure);
    }
    flow.waiting = flow.waiting.subspan(step->consumed);
    if (!step->complete) continue;
    if (is_wanted(flow.begun_at)) return finish(flow);
    flow.loan->clear();
  }
  return std::nullopt;
}

Result<std::optional<Frame>> StreamSource::finish(Flow& flow) {
  given_at_ = flow.begun_at;
  const std::uint64_t sequence = sequence_++;
  Result<FrameView> view = flow.parser->view(*flow.loan);
  if (!view) {
    ++dropped_;
    flow.loan = {};
    return fail(ErrorCode::kBadData, format_text("{}: {}", subject(), view.error().message));
  }
  if (Result<void> checked = check_frame(*flow.stream, *view); !checked) {
    flow.failure = std::move(checked).error();
    return std::unexpected(*flow.failure);
  }
  pool_->fit(flow.loan->size());
  const FrameInfo info{.sequence = sequence, .captured_at = flow.begun_at, .captured_wall = flow.begun_wall};
  return std::move(flow.loan).into_frame(*view, info);
}

}  // namespace kinglet::camera
