// SPDX-License-Identifier: Apache-2.0
// Why: posted pictures reach the one thread that owns the model through a short queue; HTTP threads never run it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/preprocess/preprocess.h"
#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

struct ModelFacts;

// Filled by the poster, answered by the answer thread; belongs to the poster throughout.
struct PostedPicture {
  std::shared_ptr<const ModelFacts> model;      // in: only this one may answer; empty: any
  camera::FrameView view;                       // in: a still
  camera::ImageSize size;                       // in: of the picture, which the view may show in fewer pixels
  std::optional<CropRect> crop;                 // in, of the picture; absent: as the recipe says
  std::span<const std::byte> tensor;            // in: not empty, it is the model's input, in place of the view
  std::vector<std::vector<std::byte>> tensors;  // in: as large as the model's outputs, or none; out: as held in memory
  std::vector<float> scores;                    // in: sized for the labels; out: 0 to 1
  CropRect used_crop;                           // out
  SteadyClock::duration preprocess{};           // out
  SteadyClock::duration inference{};            // out
  std::optional<Error> error;                   // out
};

// Thread-safe.
class ClassifyDesk {
 public:
  // `places` pictures may be here at once, waiting or in work. `wake` tells the answer thread that one has come.
  ClassifyDesk(std::size_t places, std::function<void()> wake) : places_(places), wake_(std::move(wake)) {}

  // A place at the desk, kept until destroyed.
  class Place {
   public:
    Place(Place&& other) noexcept : desk_(std::exchange(other.desk_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (desk_ != nullptr) desk_->give_back();
    }

   private:
    friend class ClassifyDesk;
    explicit Place(ClassifyDesk* desk) : desk_(desk) {}
    ClassifyDesk* desk_;
  };
  // kBusy when all are taken, kUnavailable after close().
  [[nodiscard]] Result<Place> reserve();

  // Held while a picture is decoded and answered, so that only one large picture is in memory. While one of at most 8
  // MiB is answered the next is decoded already.
  class Turn {
   public:
    explicit Turn(ClassifyDesk& desk) : desk_(desk) { desk_.begin(desk_.decoding_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { desk_.end(answers_ ? desk_.answering_ : desk_.decoding_); }
    // Memory of a small picture that was answered, for the next one: what is asked of the kernel for each costs as much
    // as a third of decoding it.
    [[nodiscard]] std::vector<std::byte> take_room();
    // The picture takes so many bytes; it is answered next.
    void decoded(std::size_t bytes);
    // Of the picture, which was answered.
    void give_room(std::vector<std::byte> room);

   private:
    ClassifyDesk& desk_;
    bool answers_ = false;
  };

  // Blocks until the picture is answered. kUnavailable when nobody took it before the deadline, or after close().
  [[nodiscard]] Result<void> answer(PostedPicture& picture, SteadyTime deadline);

  // The answer thread: the next picture or nullptr; each taken one must be given to done().
  [[nodiscard]] PostedPicture* take();
  void done(PostedPicture* picture);
  [[nodiscard]] bool empty();  // nobody waits

  // Wakes all waiting posters with an error; for shutdown.
  void close();

 private:
  // What one poster at a time does.
  struct Stage {
    bool taken = false;
  };
  void give_back();
  void begin(Stage& stage);  // waits for it
  void end(Stage& stage);

  const std::size_t places_;
  const std::function<void()> wake_;
  Mutex mutex_;
  Condition answered_;
  Condition stage_ended_;
  Stage decoding_;   // changed under the mutex
  Stage answering_;  // the same; of those that have let go of decoding_
  std::deque<PostedPicture*> waiting_ KINGLET_GUARDED_BY(mutex_);
  PostedPicture* in_work_ KINGLET_GUARDED_BY(mutex_) = nullptr;
  std::size_t taken_places_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::vector<std::byte> room_ KINGLET_GUARDED_BY(mutex_);
  bool closed_ KINGLET_GUARDED_BY(mutex_) = false;
};

}  // namespace kinglet::daemon
