// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/model_keeper.h"

#include <gtest/gtest.h>

#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

// A process that ends, or hangs, before the model was taken: its next start must not begin with it.
TEST(ModelKeeper, WhatWasNotTakenIsNotKeptForTheNextStart) {
  const testing::ScratchFolder scratch;
  const fs::path models = scratch.path() / "models";
  const fs::path state = scratch.path() / "state";
  fs::create_directories(models);
  fs::create_directories(state);
  for (const char* name : {"before", "wished"}) {
    for (const char* ending : {".onnx", ".labels.txt", ".recipe.json"}) {
      fs::copy_file(fs::path(KINGLET_SOURCE_DIR "/models/demo") / (std::string("kinglet-demo") + ending),
                    models / (std::string(name) + ending));
    }
  }
  // A tool that finds any model sound.
  const fs::path tool = scratch.path() / "kinglet";
  ASSERT_TRUE(write_file(tool, "#!/bin/sh\necho '{\"valid\": true, \"classes\": 9, \"data_files\": []}'\n",
                         Overwrite::kRefuse));
  fs::permissions(tool, fs::perms::owner_all);
  const ModelChoice before{.file = "before.onnx", .configured = ""};
  ASSERT_TRUE(write_choice(state, before));
  ModelBoard board;
  ModelDesk nobody([] {});
  visits::IdMaker ids(1);
  KeeperOptions options{.folder = models, .state_folder = state};
  options.prover = std::make_shared<ModelProver>(ProverOptions{.program = tool.string()});
  ModelKeeper keeper(options, board, nobody, ids, {}, {});
  keeper.start();
  ASSERT_TRUE(keeper.activate("wished", {}));
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(2);
  const auto choice = [&] { return read_choice(state).value_or(std::nullopt); };
  while (choice() == before && SteadyClock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(choice()->file, "wished.onnx");
  keeper.stop();
  EXPECT_EQ(choice(), before);
  EXPECT_EQ(keeper.newest_job()->state, ModelJob::State::kFailed);
}

}  // namespace
}  // namespace kinglet::daemon
