// SPDX-License-Identifier: Apache-2.0
// Why: what sources have in common whose frames come as bytes: one flow from start to stop, buffers that are used
// again, a first frame that has to come within a limit, and an end that is told.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "camera/source/lease_pool.h"
#include "camera/source/source.h"
#include "camera/stream/byte_stream.h"
#include "camera/stream/parser.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

class StreamSource : public FrameSource {
 public:
  // From start() to the first frame of what is quick: programs and network cameras have to be found and asked first.
  static constexpr std::chrono::seconds kFirstFrame{10};
  static constexpr int kDepth = 4;

  // `pause`: how long a frame may keep the next one waiting; zero: a fraction of a second. `first_frame`: how long the
  // first one may take beside that.
  StreamSource(LogSink log, SteadyClock::duration pause, std::chrono::seconds first_frame = kFirstFrame)
      : log_(std::move(log)), pause_(pause), first_frame_(first_frame) {}
  ~StreamSource() override { stop(); }

  [[nodiscard]] Result<void> start() final;
  [[nodiscard]] Result<std::variant<Frame, NoFrame>> next(SteadyTime deadline) final;
  void stop() final;
  // Of frames that are not wanted bytes are read all the same: who gives them does not wait.
  void want_every(SteadyClock::duration pause) final { every_ = pause; }
  [[nodiscard]] bool works_unwanted() const override { return true; }
  [[nodiscard]] int depth() const final { return pool_->depth(); }
  [[nodiscard]] std::uint64_t dropped_count() const final { return dropped_; }
  [[nodiscard]] SteadyClock::duration longest_start() const final { return first_frame_limit() + kEndLimit; }
  [[nodiscard]] SteadyClock::duration longest_pause() const override { return pause_; }

 protected:
  // Begins a run; must not wait.
  [[nodiscard]] virtual Result<std::unique_ptr<ByteStream>> open_stream() = 0;
  // After open_stream(): may wait until the deadline for what the stream says of itself.
  [[nodiscard]] virtual Result<std::unique_ptr<StreamParser>> open_parser(ByteStream& stream, SteadyTime deadline) = 0;
  // "the camera http://...", "program ffmpeg": the subject of messages.
  [[nodiscard]] virtual std::string subject() const = 0;
  // Looked at before each frame goes out: may find that the frames are not what they seem.
  [[nodiscard]] virtual Result<void> check_frame(ByteStream& /*stream*/, const FrameView& /*view*/) { return {}; }
  // The stream is over: is that how it should be?
  [[nodiscard]] virtual bool may_end(ByteStream& /*stream*/) const { return false; }

  [[nodiscard]] const LogSink& log() const { return log_; }
  // The first frame may be one that a slow camera has only begun.
  [[nodiscard]] std::chrono::seconds first_frame_limit() const {
    return first_frame_ + std::chrono::ceil<std::chrono::seconds>(2 * pause_);
  }

 private:
  static constexpr std::chrono::seconds kEndLimit{2};  // a start that fails ends its stream
  using Pool = LeasePool<std::vector<std::byte>, kDepth>;
  struct Flow;

  [[nodiscard]] std::shared_ptr<Flow> current_flow();
  // Says how often that was done: a stop may come before there is a flow, while its stream is opened.
  std::uint64_t end_flow();
  [[nodiscard]] std::unexpected<Error> stopped_at_start() const;
  [[nodiscard]] Result<void> wait_for_first(const std::shared_ptr<Flow>& flow);
  [[nodiscard]] Result<std::variant<Frame, NoFrame>> read_frame(Flow& flow, SteadyTime deadline);
  // Nothing where bytes came, else why there is no frame.
  [[nodiscard]] std::optional<NoFrame> read_bytes(Flow& flow, SteadyTime deadline);
  [[nodiscard]] bool is_wanted(SteadyTime begun_at) const { return begun_at >= given_at_ + every_; }
  // A frame when the bytes at hand complete one.
  [[nodiscard]] Result<std::optional<Frame>> parse(Flow& flow);
  [[nodiscard]] Result<std::optional<Frame>> finish(Flow& flow);

  const LogSink log_;
  const SteadyClock::duration pause_;
  const std::chrono::seconds first_frame_;
  const std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
  SteadyClock::duration every_{};  // between two frames that are wanted
  SteadyTime given_at_{};          // the last one that was: when its first bytes came
  std::uint64_t sequence_ = 0;
  std::uint64_t dropped_ = 0;

  Mutex mutex_;
  std::shared_ptr<Flow> flow_ KINGLET_GUARDED_BY(mutex_);
  std::uint64_t stops_ KINGLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace kinglet::camera
