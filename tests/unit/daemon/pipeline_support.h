// SPDX-License-Identifier: Apache-2.0
// Why: what the tests of the thread that answers have in common: a camera of drawn pictures, and the demonstration
// model.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/answer/pipeline.h"
#include "tests/support/one_feed.h"
#include "tests/unit/daemon/drawn_pictures.h"

namespace kinglet::daemon {

// With another recipe it looks at other numbers of the same picture, and so answers otherwise.
inline LineModel open_demonstration(const std::filesystem::path& recipe = {}) {
  return LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .recipe = recipe, .threads = 1})
      .value();
}

class PipelineTest : public ::testing::Test {
 protected:
  [[nodiscard]] FrameLine line_of(LineModel classifier) {
    return {std::move(classifier), options_, ids_, {}, warnings_};
  }
  std::vector<Feed> feeds_of(std::optional<FrameLine> line) {
    return one_feed({.line = std::move(line), .mailbox = mailbox_, .stats = stats_});
  }
  // One camera and its model, which is told on this board and exchanged over this desk.
  Pipeline with_model(ModelBoard& board, ModelDesk* models) {
    return Pipeline(feeds_of(line_of(open_demonstration())), desk_, latest_, {}, {},
                    {.board = &board, .desk = models, .make_line = {}, .options = options_});
  }
  // What a model says of each picture, alone.
  std::vector<visits::Answer> answers_of(LineModel classifier) {
    FrameLine line = line_of(std::move(classifier));
    std::vector<visits::Answer> answers;
    for (std::size_t i = 0; i < drawn_.pictures.size(); ++i) {
      const auto looked = line.look_at(drawn_.lend(i), SteadyClock::now(), false);
      answers.push_back(std::get<Prediction>(*looked).answer);
    }
    return answers;
  }

  // A turn of the answer thread, with this frame.
  void show(Pipeline& pipeline, std::uint64_t sequence) {
    mailbox_.put(drawn_.lend(sequence));
    pipeline.step(std::chrono::milliseconds(0));
  }
  // The first picture that the demonstration model names a bird in.
  std::uint64_t clear_picture() {
    const std::vector<visits::Answer> answers = answers_of(open_demonstration());
    const auto clear = std::ranges::find(answers, Outcome::kAccepted, &visits::Answer::outcome);
    EXPECT_NE(clear, answers.end());
    return static_cast<std::uint64_t>(clear - answers.begin());
  }

  const DrawnPictures drawn_{20};
  const LineOptions options_{.gate = {.max_fps = 1e6, .motion = false}};
  visits::IdMaker ids_{1};
  std::vector<std::string> warnings_;
  const std::shared_ptr<camera::Bell> bell_ = std::make_shared<camera::Bell>();
  camera::Mailbox mailbox_{bell_};
  ClassifyDesk desk_{1, [] {}};
  Stats stats_{SteadyClock::now()};
  LatestPredictions latest_{100'000};
};

}  // namespace kinglet::daemon
