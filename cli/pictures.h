// SPDX-License-Identifier: Apache-2.0
// Why: the pictures that a model is calibrated and judged on, wherever they lie: files of a folder, or the frames of a
// recording, which are what the camera really sees.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::cli {

struct Picture {
  std::string name;                           // the file, or "morning.kgr, frame 17"
  std::string label;                          // empty: not known
  std::function<Result<std::string>()> read;  // JPEG or PNG; thread-bound with the others of the same recording
};

// Those of `where`, at most `most` (evenly chosen): a folder of JPEG and PNG files (with labels where read_labelled()
// finds them) or a file that `kinglet record` wrote. kNotFound: there is no such thing. kBadData: a file that is no
// recording. What is damaged says so when it is read.
[[nodiscard]] Result<std::vector<Picture>> find_pictures(const std::string& where, std::size_t most);

}  // namespace kinglet::cli
