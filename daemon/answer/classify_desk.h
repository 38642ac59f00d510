// SPDX-License-Identifier: Apache-2.0
// Why: posted pictures reach the one thread that owns the model through a short queue, as the numbers that it takes;
// HTTP threads make those and never run it.
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
  std::shared_ptr<const ModelFacts> model;      // in: only this one may answer
  std::span<const std::byte> tensor;            // in: its input as it is held in memory, of its size
  std::vector<std::vector<std::byte>> tensors;  // in: as large as the model's outputs, or none; out: as held in memory
  std::vector<float> scores;                    // in: sized for the labels; out: 0 to 1
  SteadyClock::duration inference{};            // out
  std::optional<Error> error;                   // out
  bool late = false;                            // out: nobody took it in time
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

  // Held while a picture is decoded, prepared and answered, so that only one is in memory with its pixels: the next is
  // decoded when this one is numbers only.
  class Turn {
   public:
    explicit Turn(ClassifyDesk& desk) : desk_(desk) { desk_.begin(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { desk_.end(*this); }
    // Memory of the picture before this one: what is asked of the kernel for each costs as much as a third of decoding
    // it. kUnavailable after close(): nobody will look at the picture.
    [[nodiscard]] Result<std::vector<std::byte>> take_room();

    struct Input {
      std::span<const std::byte> tensor;  // the turn's own
      CropRect used_crop;
    };
    // The input of this model, bit for bit what LineModel::prepare_reduced makes of the picture. Errors as of
    // camera::Preprocessor::run_reduced.
    [[nodiscard]] Result<Input> prepare(const std::shared_ptr<const ModelFacts>& model, camera::Image picture,
                                        camera::ImageSize size, const std::optional<CropRect>& crop);
    // What is answered next takes so many bytes, and no picture. Waits for those before it, of which one may be in work
    // and one more wait. Who waits here has its input already: there are up to three.
    void hand_over(std::size_t bytes);

   private:
    friend class ClassifyDesk;
    ClassifyDesk& desk_;
    std::vector<std::byte> tensor_;
    std::optional<std::size_t> handed_over_;  // bytes
  };

  // Blocks until the picture is answered. kUnavailable when nobody took it for so long since none was before it (it is
  // late, then), or after close().
  [[nodiscard]] Result<void> answer(PostedPicture& picture, SteadyClock::duration patience);

  // The answer thread: the next picture or nullptr; each taken one must be given to done().
  [[nodiscard]] PostedPicture* take();
  void done(PostedPicture* picture);
  [[nodiscard]] bool empty();  // nobody waits

  // Wakes all waiting posters with an error; for shutdown.
  void close();

 private:
  void give_back();
  void begin();
  void end(Turn& turn);
  [[nodiscard]] bool has_room_for(std::size_t bytes) const KINGLET_REQUIRES(mutex_);
  [[nodiscard]] camera::Preprocessor& preprocessor_of(const std::shared_ptr<const ModelFacts>& model);

  const std::size_t places_;
  const std::function<void()> wake_;
  Mutex mutex_;
  Condition answered_;
  Condition turn_ended_;
  Condition let_go_;
  bool decoding_ KINGLET_GUARDED_BY(mutex_) = false;                      // somebody has a picture with its pixels
  std::size_t handed_over_ KINGLET_GUARDED_BY(mutex_) = 0;                // pictures
  std::size_t held_bytes_ KINGLET_GUARDED_BY(mutex_) = 0;                 // of them
  std::vector<std::vector<std::byte>> spare_ KINGLET_GUARDED_BY(mutex_);  // tensors that were answered
  std::deque<PostedPicture*> waiting_ KINGLET_GUARDED_BY(mutex_);
  PostedPicture* in_work_ KINGLET_GUARDED_BY(mutex_) = nullptr;
  std::size_t taken_places_ KINGLET_GUARDED_BY(mutex_) = 0;
  bool closed_ KINGLET_GUARDED_BY(mutex_) = false;
  // Of the one who decodes.
  std::vector<std::byte> room_;
  std::weak_ptr<const ModelFacts> prepares_for_;
  std::optional<camera::Preprocessor> preprocessor_;
};

}  // namespace kinglet::daemon
