// SPDX-License-Identifier: Apache-2.0
// Why: a keeper over a folder of models of the test's own. The tool that proves them says that a model is broken when
// its name does, and of a hurried one that there was no time for it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/models/model_keeper.h"
#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {

class KeptModels : public ::testing::Test {
 protected:
  KeptModels() {
    std::filesystem::create_directories(folder_);
    std::filesystem::create_directories(state_);
    const std::filesystem::path tool = scratch_.path() / "kinglet";
    const char* script = R"(#!/bin/sh
case "$*" in
  *" adopt "*) [ "$2" = adopt ] && echo '{"valid": true, "written": false}' && exit ;;
esac
case "$*" in
  *hurried*) echo '{"valid": false, "code": "unavailable", "message": "no time for it", "hint": "try again"}' ;;
  *broken*) echo '{"valid": false, "code": "unsupported", "message": "an operator", "hint": "another export"}' ;;
  *) echo '{"valid": true, "classes": 9, "data_files": []}' ;;
esac
)";
    EXPECT_TRUE(write_file(tool, script, Overwrite::kRefuse));
    std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
    options_.folder = folder_;
    options_.state_folder = state_;
    options_.prover = std::make_shared<ModelProver>(ProverOptions{.program = tool.string()});
    options_.catalogue = {
        {.name = "garden-birds", .addresses = {}, .sha256 = std::string(64, '0'), .size_bytes = 1000}};
  }

  // The demonstration model by another name.
  void put_model(const std::string& name) const {
    for (const char* ending : {".onnx", ".labels.txt", ".recipe.json"}) {
      std::filesystem::copy_file(demo(ending), folder_ / (name + ending));
    }
  }
  static std::filesystem::path demo(const std::string& ending) {
    return std::filesystem::path(KINGLET_SOURCE_DIR "/models/demo") / ("kinglet-demo" + ending);
  }
  // That one answers.
  void publish(const std::string& name) {
    const LineModel model = LineModel::open({.model = folder_ / (name + ".onnx")}).value();
    std::vector<std::string> warnings;
    board_.publish(model.facts(), visits::Rule::make(model.facts()->taxa, {}, warnings));
  }
  // Not started: what is wished waits.
  ModelKeeper& keeper() {
    if (!keeper_) keeper_ = std::make_unique<ModelKeeper>(options_, board_, desk_, ids_, LogSink{}, nullptr);
    return *keeper_;
  }
  ModelJob ended(const std::string& id) {
    const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(2);
    while (!keeper().job(id)->is_over() && SteadyClock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return *keeper().job(id);
  }
  // Once all of them are judged.
  std::vector<KnownModel> judged() {
    const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(2);
    std::vector<KnownModel> models = keeper().list();
    while (std::ranges::contains(models, KnownModel::State::kChecking, &KnownModel::state) &&
           SteadyClock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      models = keeper().list();
    }
    return models;
  }

  const kinglet::testing::ScratchFolder scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "models";
  const std::filesystem::path state_ = scratch_.path() / "state";
  KeeperOptions options_;
  ModelBoard board_;
  ModelDesk desk_{[] {}};
  visits::IdMaker ids_{1};

 private:
  std::unique_ptr<ModelKeeper> keeper_;
};

}  // namespace kinglet::daemon
