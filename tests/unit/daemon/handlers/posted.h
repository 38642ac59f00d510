// SPDX-License-Identifier: Apache-2.0
// Why: the handlers that take pictures and tensors, with somebody at the desk who answers in the model's place.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "camera/decode/decode.h"
#include "camera/preprocess/preprocess.h"
#include "daemon/answer/classify_desk.h"
#include "daemon/http/routes/routes.h"
#include "tests/support/pictures.h"
#include "tests/unit/daemon/handlers/asked.h"

namespace kinglet::daemon::http {

inline constexpr std::size_t kTit = 2;  // of the demonstration's labels

// Takes what comes to the desk and does `work` on it, as the answer thread would.
class Answering {
 public:
  Answering(ClassifyDesk& desk, std::function<void(PostedPicture&)> work)
      : thread_([&desk, work = std::move(work)](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (PostedPicture* picture = desk.take()) {
              work(*picture);
              desk.done(picture);
            } else {
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
          }
        }) {}

 private:
  std::jthread thread_;
};

inline std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class PostedHandlers : public ::testing::Test {
 protected:
  PostedHandlers() { put_demonstration(models_); }

  // The picture as this model's own preprocessor makes it the input.
  std::vector<std::byte> input_of(const ModelFacts& model, const std::optional<CropRect>& crop) {
    engine::PictureInput input = model.picture_input;
    std::vector<std::byte> bytes(model.input_bytes);
    input.bytes = bytes;
    camera::Preprocessor preprocessor(model.recipe, input.width, input.height);
    EXPECT_TRUE(preprocessor.run_reduced(picture_.view(), {picture_.width, picture_.height}, crop, input));
    return bytes;
  }

  // Two clients post to desk_for_two_ at once, and nothing is answered until both stand there, or for so long.
  template <typename Ask>
  std::array<Reply, 2> ask_twice(std::chrono::milliseconds patience, bool& both_came,
                                 const std::function<void(PostedPicture&)>& work, const Ask& ask) {
    std::atomic<int> asked = 0;
    bool first = true;
    const Answering model(desk_for_two_, [&](PostedPicture& picture) {
      while (asked < 2) std::this_thread::yield();
      const SteadyTime deadline = SteadyClock::now() + patience;
      while (first && desk_for_two_.empty() && SteadyClock::now() < deadline) std::this_thread::yield();
      if (std::exchange(first, false)) both_came = !desk_for_two_.empty();
      work(picture);
    });
    const auto client = [&] {
      ++asked;
      return ask();
    };
    auto other = std::async(std::launch::async, client);
    Reply own = client();
    return {std::move(own), other.get()};
  }

  // Whether anybody else would get the only place at the desk between a model that is gone and the one that is asked
  // anew: tried where the last one who held the first model lets go of it, which is who is about to ask again.
  template <typename Ask>
  bool is_place_free_between(const std::function<void(PostedPicture&)>& work, const Ask& ask) {
    struct First {
      ModelFacts facts = *demonstration();
      std::function<void()> at_its_end;
      ~First() { at_its_end(); }
    };
    const auto publish = [this](std::shared_ptr<const ModelFacts> facts) {
      std::vector<std::string> warnings;
      models_.publish(std::move(facts), visits::Rule::make(demonstration()->taxa, {}, warnings));
    };
    std::optional<bool> free;
    auto first = std::make_shared<First>();
    first->at_its_end = [&] { free = desk_.reserve().has_value(); };
    publish({first, &first->facts});
    first.reset();
    int asked = 0;
    {
      const Answering model(desk_, [&](PostedPicture& picture) {
        if (asked++ > 0) return work(picture);
        for (int i = 0; i < 20; ++i)
          publish(std::make_shared<const ModelFacts>(*demonstration()));  // none remembers it
        picture.error = Error{ErrorCode::kBusy, "another model has taken its place", {}, {}};
      });
      const Reply reply = ask();
      EXPECT_EQ(reply.status, 200) << reply.problem.detail;
    }
    EXPECT_EQ(asked, 2);
    EXPECT_TRUE(free) << "somebody still holds the first model";
    return free.value_or(true);
  }

  const camera::Image picture_ = kinglet::testing::make_picture(64, 48);
  const std::string png_ = text_of(camera::encode_png(picture_.view()).value());
  ModelBoard models_;
  ClassifyDesk desk_{1, [] {}};
  const ClassifyView classify_{.models = models_, .desk = desk_};
  ClassifyDesk desk_for_two_{2, [] {}};
};

}  // namespace kinglet::daemon::http
