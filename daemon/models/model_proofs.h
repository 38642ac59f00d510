// SPDX-License-Identifier: Apache-2.0
// Why: which models a child process has loaded, run and found good with this build on this processor, so that a model
// is proven once and not at each start.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/line/line_model.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

struct Proof {
  std::string digest;  // of the model file
  std::string source;  // digest of the file that it was converted from, as the model says; empty: of none
  std::size_t classes = 0;
  bool labels_named = false;            // else its classes are numbers
  bool recipe_found = false;            // else how pictures become its input is a guess
  std::vector<std::string> data_files;  // names of the files beside the model that hold weights
  std::string stamp;                    // of all files that loading it reads; another one when one of them has changed
};

// All files that loading the model reads, whether they are there or not, in a fixed order.
[[nodiscard]] Result<std::vector<std::filesystem::path>> files_read(const LineModelOptions& options,
                                                                    const std::vector<std::string>& data_files);
// Changes when one of the files does. Reads none of them.
[[nodiscard]] std::string stamp_of(const std::vector<std::filesystem::path>& files);
// Of such a stamp that of the first file, the model.
[[nodiscard]] std::string model_stamp(const std::string& stamp);

// Used by one thread at a time.
class ModelProofs {
 public:
  // `state_folder` empty: remembered until the end. A note that cannot be read, or of another build or processor, says
  // nothing.
  explicit ModelProofs(const std::filesystem::path& state_folder);

  // The model as it lies there now was proven. Its bytes are read only when its place or stamp is another one.
  [[nodiscard]] std::optional<Proof> find(const LineModelOptions& options);
  // Gives the proof with its digest and stamp, which `seen` has not. `before`: the stamp of the files but the data
  // files when it began. kUnavailable: they changed meanwhile. Else as of reading them.
  [[nodiscard]] Result<Proof> note(const LineModelOptions& options, std::string_view before, Proof seen);
  // What the state folder does not have yet. Nothing to do is success.
  [[nodiscard]] Result<void> save();

 private:
  struct Row {
    Proof proof;
    std::string path;
    std::string identity;  // digest of the digests of all files
  };
  static constexpr std::size_t kMostRows = 512;

  void read();

  const std::filesystem::path file_;
  const std::string made_with_;
  std::vector<Row> rows_;  // the newest at the end
  bool unsaved_ = false;
};

}  // namespace kinglet::daemon
