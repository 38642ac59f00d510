// SPDX-License-Identifier: Apache-2.0
// Why: the straight line of one frame, without threads and with the time as a value: gate, regions, preprocessing,
// model, decision, visits. The daemon's pipeline and `kinglet replay` run the same line.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/preprocess/mjpeg_planes.h"
#include "camera/source/picture_needs.h"
#include "daemon/line/gate/gate.h"
#include "daemon/line/line_detector.h"
#include "daemon/line/line_model.h"
#include "daemon/line/prediction.h"
#include "daemon/line/regions/look_budget.h"
#include "daemon/line/regions/regions.h"
#include "daemon/line/regions/suggestion.h"
#include "daemon/line/regions/tracks.h"
#include "visits/decide.h"
#include "visits/tracker.h"

namespace kinglet::daemon {

struct LineOptions {
  visits::DecideOptions decide;
  visits::TrackerOptions track;  // the model's name and digest are filled in
  GateOptions gate;
  RegionOptions look;
  std::size_t top_k = 5;
};

// What a model that is only asked says.
struct SecondOpinion {
  visits::Answer answer;
  SteadyClock::duration taken{};  // preprocessing and inference
};

// A frame that the gate has let pass, whose first region is the model's next input, or why it was not looked at.
struct Prepared {
  std::optional<SkipReason> skip;
  bool aside = false;  // LineModel::take_next() is still to come
  Regions regions;
  CropRect crop;  // of the first
  bool clock_synced = false;
  SteadyTime now;  // of look_at()
  SteadyTime begun;
  SteadyTime done;
};

// Thread-bound. Allocates nothing per frame, apart from what a visit's begin, change and end need.
class FrameLine {
 public:
  // Names of the options that the model does not know: a sentence each in `warnings`. `track_ended`, which may be
  // empty, is told of each track when it ends. The lines of several cameras have one model, and one thread.
  FrameLine(std::shared_ptr<LineModel> classifier, LineOptions options, visits::IdMaker& ids, visits::VisitSink sink,
            std::vector<std::string>& warnings, Tracks::Ended track_ended = {});
  FrameLine(LineModel classifier, LineOptions options, visits::IdMaker& ids, visits::VisitSink sink,
            std::vector<std::string>& warnings, Tracks::Ended track_ended = {})
      : FrameLine(std::make_shared<LineModel>(std::move(classifier)), std::move(options), ids, std::move(sink),
                  warnings, std::move(track_ended)) {}

  // Other settings from the next frame on. `rule`: of options.decide, made for this model.
  void adopt(std::shared_ptr<const visits::Rule> rule, const LineOptions& options);

  // The same model with other names, or another line's new one, and the rule made for them; an open visit ends.
  void rename(std::shared_ptr<const ModelFacts> facts, std::shared_ptr<const visits::Rule> rule);

  // Another model from the next frame on, with the rule made for it; an open visit ends. Gives the one before.
  [[nodiscard]] LineModel change_model(LineModel classifier, std::shared_ptr<const visits::Rule> rule);
  // What the newest look at the best region of the newest prediction says by itself.
  [[nodiscard]] const visits::Answer& newest_look() const { return newest_look_; }
  // What another model, looking where this line looked best, says of the frame that look_at() has just answered;
  // `decider` is of that model. For a comparison: nothing is tracked.
  [[nodiscard]] Result<SecondOpinion> ask(LineModel& other, visits::Decider& decider, const camera::Frame& frame,
                                          const Prediction& prediction) const;

  // One frame that is looked at `now`. An error means that the frame could not be prepared or answered.
  [[nodiscard]] Result<std::variant<Prediction, SkipReason>> look_at(const camera::Frame& frame, SteadyTime now,
                                                                     bool clock_synced);
  // The same in two steps. The next frame, or one of another line with this model, may be prepared, aside, on another
  // thread while `run` of this one runs the model and touches nothing else of the line: `run` is of this frame's last
  // region.
  using Where = LineModel::Place;
  [[nodiscard]] Result<Prepared> prepare(const camera::Frame& frame, SteadyTime now, bool clock_synced, Where where);
  using Run = std::function<Result<std::span<const float>>(LineModel&)>;
  [[nodiscard]] Result<std::variant<Prediction, SkipReason>> answer(const camera::Frame& frame,
                                                                    const Prepared& prepared, const Run& run);
  // The second step in parts, so that lines of other cameras may have theirs between two of them: each is one run of
  // the model or one look of the detector, but for that of a visit's first picture, which ends the last one. No value:
  // go on. While has_more() neither prepare() nor begin() another one. `run` is of each part then.
  using Looked = std::variant<Prediction, SkipReason>;
  enum class Until : std::uint8_t { kPart, kAnswer };
  void begin(const Prepared& prepared);
  [[nodiscard]] Result<std::optional<Looked>> go_on(const camera::Frame& frame, const Run& run, Until until);
  // False from the last run on, even while it runs.
  [[nodiscard]] bool has_more() const { return under_way_.has_more; }
  // What the parts so far have to say; nothing where no region was looked at.
  [[nodiscard]] std::optional<Prediction> cut_short(const camera::Frame& frame);
  // No frame came: visits may end all the same.
  void tick(SteadyTime now) { tracker_.tick(now); }
  // No more frames come: visits end.
  void finish() { tracker_.finish(); }

  // How many pixels of a whole picture the line looks at, with the model and the detector that it has now; of what it
  // cuts out it takes more. Holds what it needs to know.
  [[nodiscard]] camera::PictureNeeds::Enough picture_needs() const;

  // A second opinion on the parts of frames to come, which may be that of other lines as well, on the same thread.
  void use_detector(std::shared_ptr<LineDetector> detector) { detector_ = std::move(detector); }
  // Told of each look at a whole frame, by when it was exposed, and of each person found there or in a part of it.
  // While somebody wants to know, the detector looks at whole frames now and then.
  struct PeopleWatch {
    std::function<void(SteadyTime at)> looked;
    std::function<void(SteadyTime at, const Area& box)> seen;
  };
  void watch_people(PeopleWatch watch) { people_ = std::move(watch); }

  // Of gate.max_fps, above 0 to 1.
  void set_pace(double share) { gate_.set_pace(share); }
  // So many cameras share the model: each has so much less time for the regions of a frame.
  void share_time(std::size_t cameras) { cameras_ = cameras; }
  [[nodiscard]] const Gate& gate() const { return gate_; }
  // Which part of the picture might be looked at instead of all that moves in it; nothing where that is not the
  // question.
  [[nodiscard]] std::optional<Suggestion> suggestion() const;

  [[nodiscard]] LineModel& classifier() { return *classifier_; }
  [[nodiscard]] const std::shared_ptr<LineModel>& shared_classifier() const { return classifier_; }
  [[nodiscard]] const std::shared_ptr<const visits::Rule>& rule() const { return rule_; }

 private:
  // Fills the model's input; gives the part of the full frame that it shows.
  [[nodiscard]] static Result<CropRect> fill_input(LineModel& classifier, const camera::Frame& frame,
                                                   const Region& region, Where where, camera::MjpegPlanes& decoder);
  // How many pixels of a JPEG those regions need.
  [[nodiscard]] camera::ImageSize pixels_for(const camera::FrameView& view, const Regions& regions) const;
  // A JPEG is decoded once, so that the region with the smallest part has its pixels.
  [[nodiscard]] Result<void> decode_for(const camera::FrameView& view, const Regions& regions);
  // For the gate: what the model will want of a JPEG, unless only the gate's own word decides which part.
  [[nodiscard]] Gate::Decoding decoding_of(const camera::FrameView& view);
  // The frame whose answer has begun.
  struct UnderWay {
    Prepared prepared;
    Regions regions;
    std::size_t most = 0;  // regions that there is time for
    std::size_t next = 0;
    bool has_more = false;
    bool has_begun = false;
    bool input_is_ready = false;     // the first region's
    SteadyClock::duration worked{};  // in parts that are over
    Prediction prediction;
    // Of the detector.
    bool is_asked = false;      // before the model is
    bool for_people = false;    // a look at the whole
    bool has_opinions = false;  // of regions
    std::size_t looks = 0;      // regions that it may look into
    std::size_t next_look = 0;  // region
    std::size_t looks_left = 0;
    std::array<CropRect, kMaxRegions> seen;
    std::size_t seen_count = 0;
  };
  [[nodiscard]] Result<std::optional<Looked>> next_part(const camera::Frame& frame, const Run& run, Until until);
  void begin_prediction(const camera::Frame& frame);
  [[nodiscard]] Prediction end_prediction(const camera::Frame& frame, SteadyTime part_begun);
  // What the detector finds in the first regions, as far as there is time for it, makes others of them. True: it has
  // looked once.
  bool ask_detector(const camera::Frame& frame);
  [[nodiscard]] LookBudget::Beside beside(SteadyTime now) const {
    return {.cost = detector_->cost(), .now = now, .interval = gate_.interval(), .cameras = cameras_};
  }
  [[nodiscard]] bool looks_for_people(const camera::Frame& frame) const;
  // The first picture of a visit leaves at once: whoever is in it is to be known, whatever the budget says.
  void look_at_first_picture(const camera::Frame& frame, SteadyTime now, Prediction& prediction);
  void look_at_whole(const camera::Frame& frame, SteadyTime now, camera::MjpegPlanes& decoder, DetectorWork& work);
  void tell_of_people(SteadyTime at) const;
  // Into the next region that is not in a part that was; it gets an opinion, which is nobody yet. False: there is none.
  bool look_into_next(const Scene& scene);
  // The next one: a look of the prediction, whose answer is the best one's.
  [[nodiscard]] Result<void> look_at_next(const camera::Frame& frame, const Run& run, Until until);
  // What the model said of a region goes to its track, and may begin or prolong a visit.
  void note_scores(const camera::FrameInfo& info, const Region& region, const CropRect& crop,
                   std::span<const float> scores, Prediction& prediction);
  void follow_source(const camera::FrameInfo& info);

  std::shared_ptr<LineModel> classifier_;
  std::shared_ptr<const visits::Rule> rule_;
  visits::Decider decider_;
  visits::IdMaker* ids_;
  visits::VisitTracker tracker_;
  Gate gate_;
  RegionStage stage_;
  Tracks tracks_;
  RegionSuggestion suggestion_;
  LookBudget budget_;
  std::shared_ptr<LineDetector> detector_;  // may be absent
  Findings findings_;
  std::optional<PeopleWatch> people_;
  SteadyTime people_looked_for_{};
  std::array<visits::Ulid, visits::VisitTracker::kMostOpen> pictured_{};  // open visits with a first picture
  std::size_t cameras_ = 1;
  camera::MjpegPlanes jpeg_;  // of the newest frame that was prepared
  UnderWay under_way_;
  std::size_t top_k_;
  std::uint64_t next_seq_ = 1;
  const std::string camera_;                  // the name of the source
  bool drawn_ = false;                        // the newest answered frame was
  SteadyTime newest_at_ = SteadyTime::min();  // exposed
  visits::Answer newest_look_;                // of the best region of the newest prediction, by itself
};

}  // namespace kinglet::daemon
