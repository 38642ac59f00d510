// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture.h"

#include <algorithm>
#include <utility>

#include "daemon/machine/thread_entry.h"
#include "engine/base/format.h"
#include "engine/base/words.h"

namespace kinglet::daemon {
namespace {

constexpr std::uint64_t kFewFrames = 3;  // any cable spoils one now and then
// Of frames that nobody looks at so many still go the whole way, which shows that camera and answer thread are alive,
// and that /snapshot.jpg has a picture at once. Less than any stall.
constexpr std::chrono::seconds kPausedEvery{1};
constexpr std::chrono::milliseconds kRoomTurn{50};  // how soon a stop is noticed meanwhile

// The kernel makes and removes the devices' files, which changes the folder's time.
std::filesystem::file_time_type time_of(const std::filesystem::path& folder) {
  std::error_code none;
  return std::filesystem::last_write_time(folder, none);
}

std::string with_cure(const Error& error) {
  return error.hint.empty() ? describe(error) : describe(error) + "; " + error.hint;
}

}  // namespace

std::string_view to_string(CameraState state) {
  using enum CameraState;
  static constexpr Word<CameraState> kWords[] = {
      {kStarting, "starting"}, {kStreaming, "streaming"}, {kStalled, "stalled"}, {kRestarting, "restarting"},
      {kAbsent, "absent"},     {kFailed, "failed"},       {kPaused, "paused"}};
  return word_of(kWords, state);
}

Capture::Capture(OpenSource open, CaptureOptions options, camera::Mailbox& mailbox, SnapshotBoard& snapshots,
                 Stats& stats, LogSink log)
    : open_(std::move(open)),
      options_(std::move(options)),
      mailbox_(mailbox),
      snapshots_(snapshots),
      stats_(stats),
      log_(std::move(log)),
      settle_(options_.settle),
      patience_(options_.stall_after, options_.restart_after) {
  status_.since = std::chrono::system_clock::now();
  beat();
}

Capture::~Capture() { stop(); }

void Capture::start() {
  {
    MutexLock lock(mutex_);
    running_ = true;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) {
    enter_thread("capture", [&] { run(stop); });
    snapshots_.note_rest(false);  // nothing comes any more that somebody could wait for
    {
      MutexLock lock(mutex_);
      running_ = false;
    }
    changed_.notify_all();
  });
}

void Capture::begin_stop() {
  thread_.request_stop();
  changed_.notify_all();
  if (thread_.joinable() && !ending_.joinable()) {
    ending_ = std::jthread([this] { enter_thread("capture-end", [this] { call_off(); }); });
  }
}

void Capture::stop() {
  begin_stop();
  if (thread_.joinable()) thread_.join();
  if (ending_.joinable()) ending_.join();
}

// Again and again: a start that begins only after a stop knows nothing of it. Never under the lock, because the end of
// a program takes its time and others ask for the state meanwhile.
void Capture::call_off() {
  constexpr std::chrono::milliseconds kTurn{20};
  for (;;) {
    std::shared_ptr<camera::FrameSource> source;
    {
      MutexLock lock(mutex_);
      if (!running_) return;
      source = source_;
    }
    if (source) source->stop();
    MutexLock lock(mutex_);
    if (running_) changed_.wait_until(mutex_, SteadyClock::now() + kTurn);
  }
}

void Capture::reopen(std::optional<std::chrono::milliseconds> settle) {
  {
    MutexLock lock(mutex_);
    settle_ = settle.value_or(settle_);
    reopen_ = true;
  }
  changed_.notify_all();
}

bool Capture::is_to_reopen() const {
  MutexLock lock(mutex_);
  return reopen_;
}

CameraStatus Capture::status(SteadyTime now) const {
  MutexLock lock(mutex_);
  CameraStatus status = status_;
  status.turn_by = patience_.turn_by();
  status.sign_by = patience_.sign_by();
  if (status.state == CameraState::kStreaming && status.last_frame_at &&
      now - *status.last_frame_at > patience_.longest_silence() + 2 * kOneNext) {
    status.state = CameraState::kStalled;
    status.detail = format_text("no frame for {:.1f} s", Seconds(now - *status.last_frame_at).count());
  }
  return status;
}

void Capture::run(const std::stop_token& stop) {
  std::chrono::milliseconds backoff = options_.first_backoff;
  while (!stop.stop_requested()) {
    const auto devices = time_of(options_.devices);
    if (!start_source(stop)) {
      backoff = back_off(stop, backoff, devices);
      continue;
    }
    const SteadyTime begun = SteadyClock::now();
    const Ended ended = stream(stop);
    end_source();
    if (ended == Ended::kStop) return;
    if (ended == Ended::kNoMore) {
      set_state(CameraState::kAbsent, "the source has ended");
      note([](Patience& patience) { patience.absent(); });
      while (!stop.stop_requested() && !is_to_reopen()) wait(stop, std::chrono::seconds(1));
    }
    if (ended == Ended::kRest) rest(stop);
    if (ended == Ended::kNoMore || ended == Ended::kReopen || ended == Ended::kRest) {
      backoff = options_.first_backoff;
      continue;
    }
    {
      MutexLock lock(mutex_);
      ++(ended == Ended::kStall ? status_.restarts_after_stall : status_.restarts_after_loss);
    }
    if (SteadyClock::now() - begun >= options_.healthy_after) {
      backoff = options_.first_backoff;
      continue;
    }
    // One that works for a moment only must not be started again and again without a breath.
    backoff = back_off(stop, backoff, devices);
  }
}

bool Capture::start_source(const std::stop_token& stop) {
  beat();
  {
    MutexLock lock(mutex_);
    reopen_ = false;
  }
  Result<std::unique_ptr<camera::FrameSource>> opened = open_();
  Result<void> started;
  if (opened) {
    camera::FrameSource* source = opened->get();
    const SteadyClock::duration longest_start = source->longest_start();
    {
      MutexLock lock(mutex_);
      source_ = std::move(*opened);
      patience_.start(SteadyClock::now(), longest_start);
    }
    if (stop.stop_requested()) return false;
    started = source->start();
  } else {
    started = std::unexpected(opened.error());
  }
  if (!started) {
    end_source();
    const Error& error = started.error();
    set_state(gave_frames_ ? CameraState::kFailed : CameraState::kAbsent, with_cure(error));
    note([](Patience& patience) { patience.absent(); });
    return false;
  }
  MutexLock lock(mutex_);
  status_.description = source_->description();
  patience_.started(SteadyClock::now(), source_->longest_pause());
  return true;
}

Capture::Ended Capture::stream(const std::stop_token& stop) {
  camera::FrameSource* source = nullptr;
  SteadyTime begun;
  std::chrono::milliseconds settle{};
  {
    MutexLock lock(mutex_);
    source = source_.get();
    begun = patience_.last_sign();
    settle = settle_;
  }
  mailbox_.count_anew(begun);
  wanted_ = Wanted::kAll;  // as a source begins
  const SteadyTime settled_at = begun + (source->settles() ? settle : settle.zero());
  while (!stop.stop_requested()) {
    if (is_to_reopen()) {
      set_state(CameraState::kRestarting, "its settings changed");
      return Ended::kReopen;
    }
    Result<std::variant<camera::Frame, camera::NoFrame>> next = source->next(SteadyClock::now() + kOneNext);
    const SteadyTime now = SteadyClock::now();
    beat();
    take_up(wanted(now), *source, now);
    if (is_to_rest(*source, now)) return Ended::kRest;
    if (!next) {
      stats_.add_error();
      if (next.error().code == ErrorCode::kUnavailable) {
        set_state(CameraState::kRestarting, with_cure(next.error()));
        return Ended::kLost;
      }
      if (log_) log_(LogLevel::kDebug, describe(next.error()));
      wait(stop, std::chrono::milliseconds(10));
    } else if (auto* frame = std::get_if<camera::Frame>(&*next)) {
      take_frame(std::move(*frame), now, now < settled_at ? Judged::kNotYet : Judged::kYes, stop);
      const auto spoilt = unreadable();
      note_sign(spoilt);
      if (!spoilt) continue;
    } else if (std::get<camera::NoFrame>(*next).reason == camera::NoFrame::Reason::kEnd) {
      return Ended::kNoMore;
    }
    if (const auto ended = judge_silence(now)) return *ended;
  }
  return Ended::kStop;
}

void Capture::note_sign(const std::optional<camera::Mailbox::Unreadable>& spoilt) {
  const SteadyTime now = SteadyClock::now();
  MutexLock lock(mutex_);
  status_.last_frame_at = now;
  spoilt ? patience_.unreadable(spoilt->since) : patience_.frame(now);
}

std::optional<Capture::Ended> Capture::judge_silence(SteadyTime now) {
  SteadyTime last_sign;
  bool ends = false;
  {
    MutexLock lock(mutex_);
    if (!patience_.is_stalled(now)) return std::nullopt;
    last_sign = patience_.last_sign();
    ends = patience_.is_to_restart(now);
    if (ends) patience_.gave_up();
  }
  note_stall(now, last_sign);
  return ends ? std::optional(Ended::kStall) : std::nullopt;
}

Capture::Wanted Capture::wanted(SteadyTime now) const {
  if (!options_.paused || !options_.paused()) return Wanted::kAll;
  return snapshots_.is_watched(now) ? Wanted::kPicture : Wanted::kNothing;
}

void Capture::take_up(Wanted wanted, camera::FrameSource& source, SteadyTime now) {
  const Wanted before = std::exchange(wanted_, wanted);
  if (before == wanted) return;
  wanted_since_ = now;
  source.want_every(wanted == Wanted::kNothing ? SteadyClock::duration(kPausedEvery) : SteadyClock::duration{});
  const bool turns = before == Wanted::kAll || wanted == Wanted::kAll;
  if (turns && options_.clips != nullptr) options_.clips->cut(now);
}

bool Capture::is_to_rest(const camera::FrameSource& source, SteadyTime now) const {
  return wanted_ == Wanted::kNothing && now - wanted_since_ >= options_.rest_after && source.works_unwanted();
}

void Capture::rest(const std::stop_token& stop) {
  set_state(CameraState::kPaused, "stopped until somebody wants its pictures");
  note([](Patience& patience) { patience.absent(); });
  while (!stop.stop_requested() && !is_to_reopen() && wanted(SteadyClock::now()) == Wanted::kNothing) {
    wait(stop, kOneNext);
  }
  // Who only watches leaves all else paused.
  if (!stop.stop_requested() && wanted(SteadyClock::now()) == Wanted::kAll) set_state(CameraState::kStarting, {});
}

void Capture::take_frame(camera::Frame frame, SteadyTime now, Judged judged, const std::stop_token& stop) {
  stats_.add_captured(now);
  gave_frames_ = gave_frames_ || !frame.info().drawn;
  snapshots_.offer(frame.view(), frame.info(), now);
  if (options_.clips != nullptr && wanted_ == Wanted::kAll) options_.clips->offer(frame.view(), frame.info(), now);
  bool changed = false;
  {
    MutexLock lock(mutex_);
    status_.last_frame_at = now;
    status_.dropped_by_source = dropped_before_ + source_->dropped_count();
    changed = status_.state != CameraState::kStreaming;
  }
  if (changed && !unreadable()) set_state(CameraState::kStreaming, {});
  if (judged == Judged::kNotYet) return stats_.add_skipped(SkipReason::kSettling);
  if (wanted_ != Wanted::kAll && now - handed_at_ < kPausedEvery) return stats_.add_skipped(SkipReason::kPaused);
  handed_at_ = now;
  stats_.add_handed(now);
  if (frame.info().still && wanted_ == Wanted::kAll) wait_for_room(stop);
  mailbox_.put(std::move(frame));
}

void Capture::wait_for_room(const std::stop_token& stop) {
  const SteadyTime end = SteadyClock::now() + options_.still_waits;
  for (SteadyTime now = SteadyClock::now(); !mailbox_.has_room(now) && now < end; now = SteadyClock::now()) {
    if (stop.stop_requested() || is_to_reopen()) return;
    mailbox_.wait_for_room(std::min(end, now + kRoomTurn));
  }
}

std::optional<camera::Mailbox::Unreadable> Capture::unreadable() const {
  auto spoilt = mailbox_.unreadable();
  return spoilt && spoilt->frames >= kFewFrames ? std::move(spoilt) : std::nullopt;
}

void Capture::note_stall(SteadyTime now, SteadyTime last_sign) {
  {
    MutexLock lock(mutex_);
    if (status_.state == CameraState::kStalled) return;
    ++status_.stalls;
  }
  const double seconds = Seconds(now - last_sign).count();
  const auto spoilt = unreadable();
  set_state(CameraState::kStalled, spoilt
                                       ? format_text("no frame that can be read for {:.1f} s: {}", seconds, spoilt->why)
                                       : format_text("no frame for {:.1f} s", seconds));
}

void Capture::end_source() {
  std::shared_ptr<camera::FrameSource> ended;
  {
    MutexLock lock(mutex_);
    ended = std::move(source_);
    if (ended) dropped_before_ += ended->dropped_count();
  }
  if (!ended) return;
  if (status(SteadyClock::now()).state == CameraState::kStalled) {
    set_state(CameraState::kRestarting, "starting again after a stall");
  }
  ended->stop();
}

void Capture::set_state(CameraState state, std::string detail) {
  bool news = false;
  std::string line;
  {
    MutexLock lock(mutex_);
    news = status_.state != state || status_.detail != detail;
    if (status_.state != state) status_.since = std::chrono::system_clock::now();
    if (news) {
      line = format_text("camera: {}{}{}", to_string(state), detail.empty() ? "" : ": ", detail);
      if (state == CameraState::kStreaming) line += " (" + status_.description + ")";
    }
    status_.state = state;
    status_.detail = std::move(detail);
  }
  using enum CameraState;
  snapshots_.note_rest(state == kPaused || state == kStarting);
  const bool fine = state == kStreaming || state == kStarting || state == kPaused;
  if (news && log_) log_(fine ? LogLevel::kInfo : LogLevel::kWarning, line);
  if (news && options_.changed) options_.changed();
}

void Capture::beat() {
  MutexLock lock(mutex_);
  status_.heartbeat = SteadyClock::now();
  patience_.turn(status_.heartbeat);
}

void Capture::note(const std::function<void(Patience&)>& what) {
  MutexLock lock(mutex_);
  what(patience_);
}

std::chrono::milliseconds Capture::back_off(const std::stop_token& stop, std::chrono::milliseconds duration,
                                            std::filesystem::file_time_type devices) {
  constexpr std::chrono::milliseconds kLook{1000};
  const SteadyTime end = SteadyClock::now() + duration;
  note([&](Patience& patience) { patience.rest(end); });
  for (SteadyTime now = SteadyClock::now(); now < end && !stop.stop_requested() && !is_to_reopen();
       now = SteadyClock::now()) {
    wait(stop, std::min(kLook, std::chrono::ceil<std::chrono::milliseconds>(end - now)));
    if (time_of(options_.devices) != devices) return options_.first_backoff;
  }
  return std::min(duration * 2, options_.last_backoff);
}

void Capture::wait(const std::stop_token& stop, std::chrono::milliseconds duration) {
  const SteadyTime end = SteadyClock::now() + duration;
  MutexLock lock(mutex_);
  while (!stop.stop_requested() && !reopen_ && SteadyClock::now() < end) {
    status_.heartbeat = SteadyClock::now();
    patience_.turn(status_.heartbeat);
    changed_.wait_until(mutex_, std::min(end, SteadyClock::now() + std::chrono::seconds(1)));
  }
}

}  // namespace kinglet::daemon
