// SPDX-License-Identifier: Apache-2.0
// Why: the best look at each visitor becomes its pictures. The frame is copied while it is there; scaling and JPEG are
// the store's thread's work.
#pragma once

#include <memory>
#include <vector>

#include "camera/frame/frame.h"
#include "daemon/capture/clip_recorder.h"
#include "daemon/line/prediction.h"
#include "store/store.h"
#include "visits/visit.h"

namespace kinglet::daemon {

// Thread-bound to the answer thread. Allocates nothing from one look to the next of the same frame size.
class VisitPictures {
 public:
  // `clips` may be null: then there are none.
  VisitPictures(store::Store& store, ClipRecorder* clips) : store_(store), clips_(clips) {}

  void visit_began(const visits::Visit& visit);
  // The best frame so far of one or more open visits.
  void look(const camera::Frame& frame, const Prediction& prediction);
  // Gives its pictures to the store, its clip among them. A visit of which no look was kept has none.
  void visit_ended(const visits::Visit& visit);

 private:
  struct Look {
    visits::Ulid visit;
    std::vector<std::byte> bytes;
    camera::FrameView view;  // into bytes
    camera::CropRect crop;
  };
  [[nodiscard]] Look& look_of(const visits::Ulid& visit);

  store::Store& store_;
  ClipRecorder* clips_;
  std::vector<Look> looks_;  // of the open visits
};

// The whole frame and the part that the model saw, at most 640 pixels a side.
[[nodiscard]] Result<store::Pictures> make_pictures(const camera::FrameView& view, const camera::CropRect& crop);

}  // namespace kinglet::daemon
