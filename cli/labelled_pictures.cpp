// SPDX-License-Identifier: Apache-2.0
#include "cli/labelled_pictures.h"

#include <algorithm>
#include <string_view>

#include "cli/picture_files.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kListLimit = 16U << 20;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (line.ends_with('\r')) line.remove_suffix(1);
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// labels.csv as `kinglet demo-frames` writes it: the columns "file" and "label" count.
Result<std::vector<Labelled>> read_list(const fs::path& list) {
  const std::string text = KINGLET_TRY(read_file(list, kListLimit));
  std::vector<Labelled> pictures;
  std::size_t file = 0;
  std::size_t label = 0;
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::vector<std::string_view> cells = cells_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto place = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(cells, name) - cells.begin());
    };
    if (number == 1) {
      file = place("file");
      label = place("label");
    }
    if (std::max(file, label) >= cells.size()) {
      return fail(ErrorCode::kBadData, "expected the columns \"file\" and \"label\", separated by commas",
                  format_text("{}:{}", printable(list.string()), number));
    }
    if (number > 1) pictures.push_back({(list.parent_path() / cells[file]).string(), std::string(cells[label])});
  }
  return pictures;
}

// A folder of folders, each named after what its pictures show.
Result<std::vector<Labelled>> read_folders(const fs::path& folder) {
  std::vector<fs::path> labels;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory()) labels.push_back(entry.path());
  }
  if (error)
    return fail(ErrorCode::kNotFound, "cannot read the folder: " + error.message(), printable(folder.string()));
  std::ranges::sort(labels);
  std::vector<Labelled> pictures;
  for (const fs::path& label : labels) {
    const auto files = expand_pictures({label.string()});
    if (!files) continue;  // an empty folder
    for (const std::string& file : *files) pictures.push_back({file, label.filename().string()});
  }
  return pictures;
}

}  // namespace

Result<std::vector<Labelled>> read_labelled(const fs::path& folder) {
  const fs::path list = folder / "labels.csv";
  std::error_code ignored;
  return fs::exists(list, ignored) ? read_list(list) : read_folders(folder);
}

}  // namespace kinglet::cli
