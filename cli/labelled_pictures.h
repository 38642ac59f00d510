// SPDX-License-Identifier: Apache-2.0
// Why: pictures whose content is known: a labels.csv beside them, or folders named after what they show.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::cli {

struct Labelled {
  std::string file;
  std::string label;  // empty: not known
};

// labels.csv as `kinglet demo-frames` writes it (the columns "file" and "label" count), else the folders of the folder.
// kNotFound: it cannot be read; kBadData names the line.
[[nodiscard]] Result<std::vector<Labelled>> read_labelled(const std::filesystem::path& folder);

}  // namespace kinglet::cli
