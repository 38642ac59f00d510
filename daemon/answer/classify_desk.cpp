// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/classify_desk.h"

#include <algorithm>

#include "daemon/line/model_facts.h"
#include "engine/base/check.h"

namespace kinglet::daemon {
namespace {

constexpr std::size_t kMostHandedOver = 2;
constexpr std::size_t kMostBytes = std::size_t{8} << 20;  // of them together
constexpr std::size_t kKept = std::size_t{2} << 20;       // of memory for the next picture

auto shutting_down() { return fail(ErrorCode::kUnavailable, "the daemon is shutting down"); }

}  // namespace

Result<ClassifyDesk::Place> ClassifyDesk::reserve() {
  MutexLock lock(mutex_);
  if (closed_) return shutting_down();
  if (taken_places_ >= places_) return fail(ErrorCode::kBusy, "all places for posted pictures are taken");
  ++taken_places_;
  return Place(this);
}

void ClassifyDesk::give_back() {
  MutexLock lock(mutex_);
  --taken_places_;
}

void ClassifyDesk::begin() {
  MutexLock lock(mutex_);
  while (decoding_) turn_ended_.wait(mutex_);
  decoding_ = true;
}

void ClassifyDesk::end(Turn& turn) {
  MutexLock lock(mutex_);
  if (!turn.handed_over_) {
    decoding_ = false;
    turn_ended_.notify_one();
    return;
  }
  --handed_over_;
  held_bytes_ -= *turn.handed_over_;
  const bool is_worth_it = !turn.tensor_.empty() && turn.tensor_.capacity() <= kKept;
  if (is_worth_it && spare_.size() < kMostHandedOver) spare_.push_back(std::move(turn.tensor_));
  let_go_.notify_one();
}

bool ClassifyDesk::has_room_for(std::size_t bytes) const {
  return handed_over_ == 0 || (handed_over_ < kMostHandedOver && held_bytes_ + bytes <= kMostBytes);
}

camera::Preprocessor& ClassifyDesk::preprocessor_of(const std::shared_ptr<const ModelFacts>& model) {
  if (!preprocessor_ || prepares_for_.lock() != model) {
    preprocessor_.emplace(model->recipe, model->picture_input.width, model->picture_input.height);
    prepares_for_ = model;
  }
  return *preprocessor_;
}

Result<std::vector<std::byte>> ClassifyDesk::Turn::take_room() {
  MutexLock lock(desk_.mutex_);
  if (desk_.closed_) return shutting_down();
  return std::exchange(desk_.room_, {});
}

Result<ClassifyDesk::Turn::Input> ClassifyDesk::Turn::prepare(const std::shared_ptr<const ModelFacts>& model,
                                                              camera::Image picture, camera::ImageSize size,
                                                              const std::optional<CropRect>& crop) {
  {
    MutexLock lock(desk_.mutex_);
    if (!desk_.spare_.empty()) {
      tensor_ = std::move(desk_.spare_.back());
      desk_.spare_.pop_back();
    }
  }
  engine::PictureInput out = model->picture_input;
  tensor_.resize(model->input_bytes);
  out.bytes = tensor_;
  const CropRect used = KINGLET_TRY(desk_.preprocessor_of(model).run_reduced(picture.view(), size, crop, out));
  // It keeps the rows of the tallest picture, narrowed to the model's width.
  const auto narrowed = std::size_t{3} * static_cast<std::size_t>(out.width) * static_cast<std::size_t>(picture.height);
  if (narrowed > kKept) desk_.preprocessor_.reset();
  if (picture.rgb.capacity() <= kKept) desk_.room_ = std::move(picture.rgb);
  return Input{.tensor = tensor_, .used_crop = used};
}

void ClassifyDesk::Turn::hand_over(std::size_t bytes) {
  MutexLock lock(desk_.mutex_);
  while (!desk_.has_room_for(bytes)) desk_.let_go_.wait(desk_.mutex_);
  ++desk_.handed_over_;
  desk_.held_bytes_ += bytes;
  handed_over_ = bytes;
  desk_.decoding_ = false;
  desk_.turn_ended_.notify_one();
}

Result<void> ClassifyDesk::answer(PostedPicture& picture, SteadyClock::duration patience) {
  {
    MutexLock lock(mutex_);
    waiting_.push_back(&picture);
  }
  wake_();
  MutexLock lock(mutex_);
  SteadyTime deadline = SteadyTime::max();
  for (;;) {
    const auto place = std::ranges::find(waiting_, &picture);
    const bool waits = place != waiting_.end();
    if (!waits && in_work_ != &picture) break;
    const bool is_next = waits && place == waiting_.begin() && in_work_ == nullptr;
    if (is_next && deadline == SteadyTime::max()) deadline = SteadyClock::now() + patience;
    if (waits && (closed_ || SteadyClock::now() >= deadline)) {
      waiting_.erase(place);
      answered_.notify_all();  // another one is next
      if (closed_) return shutting_down();
      picture.late = true;
      return fail(ErrorCode::kUnavailable, "the picture was not answered in time");
    }
    // One in work, of which the memory is being read, is waited for without a limit, also by the one behind it.
    if (is_next) {
      answered_.wait_until(mutex_, deadline);
    } else {
      answered_.wait(mutex_);
    }
  }
  if (picture.error) return std::unexpected(*picture.error);
  return {};
}

PostedPicture* ClassifyDesk::take() {
  MutexLock lock(mutex_);
  KINGLET_CHECK(in_work_ == nullptr);
  if (waiting_.empty()) return nullptr;
  in_work_ = waiting_.front();
  waiting_.pop_front();
  return in_work_;
}

bool ClassifyDesk::empty() {
  MutexLock lock(mutex_);
  return waiting_.empty();
}

void ClassifyDesk::done(PostedPicture* picture) {
  {
    MutexLock lock(mutex_);
    KINGLET_CHECK(in_work_ == picture);
    in_work_ = nullptr;
  }
  answered_.notify_all();
}

void ClassifyDesk::close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  answered_.notify_all();
}

}  // namespace kinglet::daemon
