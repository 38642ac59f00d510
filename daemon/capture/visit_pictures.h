// SPDX-License-Identifier: Apache-2.0
// Why: the best look at each visitor becomes its pictures. The frame is copied while it is there; scaling and JPEG are
// the store's thread's work.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "camera/frame/frame.h"
#include "daemon/capture/clips/clip_recorder.h"
#include "daemon/capture/people/people.h"
#include "daemon/line/prediction.h"
#include "store/store.h"
#include "visits/visit.h"

namespace kinglet::daemon {

// Thread-bound to the answer thread. Allocates nothing from one look to the next of the same frame size.
class VisitPictures {
 public:
  // The first picture of a visit that is open can be had; called on the store's thread.
  using FirstPicture = std::function<void(const std::string& visit)>;
  // `clips` may be null: then there are none. `people`: who is hidden; may be absent.
  VisitPictures(store::Store& store, ClipRecorder* clips, FirstPicture first,
                std::shared_ptr<const People> people = nullptr,
                std::shared_ptr<camera::FrameCopies> copies = camera::FrameCopies::make())
      : store_(store),
        clips_(clips),
        people_(std::move(people)),
        copies_(std::move(copies)),
        first_(std::move(first)) {}

  void visit_began(const visits::Visit& visit);
  // The best frame so far of one or more open visits; the first one is a picture at once, until the best one is known.
  void look(const camera::Frame& frame, const Prediction& prediction);
  // Gives its pictures to the store, its clip among them. A visit of which no look was kept has none.
  void visit_ended(const visits::Visit& visit);

 private:
  struct Look {
    visits::Ulid visit;
    camera::FrameCopies::Share copy;
    CropRect crop;
  };
  class Ended;  // the pictures of a visit, in steps
  struct Begun {
    std::string id;
    std::uint64_t seq = 0;
  };
  [[nodiscard]] Look& look_of(const visits::Ulid& visit);
  void give_first(const Look& look);

  store::Store& store_;
  ClipRecorder* clips_;
  const std::shared_ptr<const People> people_;
  const std::shared_ptr<camera::FrameCopies> copies_;
  const FirstPicture first_;
  std::vector<Begun> begun_;  // without a picture yet
  std::vector<Look> looks_;   // of the open visits
};

// The whole frame and the part that the model saw, at most 640 pixels a side.
[[nodiscard]] Result<store::Pictures> make_pictures(const camera::FrameView& view, const CropRect& crop);

}  // namespace kinglet::daemon
