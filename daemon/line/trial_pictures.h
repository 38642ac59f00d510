// SPDX-License-Identifier: Apache-2.0
// Why: what float16 does to a model shows best on what this feeder's camera has seen.
#pragma once

#include <filesystem>

#include "engine/picture/picture_model.h"

namespace kinglet::daemon {

// The newest squares that were kept of visits below `folder` (store/database/picture_files.h), a few; nothing where
// there are less, so that made ones are taken. One that cannot be read when its turn comes is a made one.
[[nodiscard]] engine::TrialPictures stored_trial_pictures(const std::filesystem::path& folder);

}  // namespace kinglet::daemon
