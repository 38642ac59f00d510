// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_frames.h"

#include <algorithm>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPicture = std::size_t{16} << 20;
constexpr std::string_view kBoundary = "--kinglet\r\n";
constexpr std::string_view kLength = "Content-Length: ";

std::unexpected<Error> broken(const std::string& address) {
  return fail(ErrorCode::kUnavailable, "the daemon's answer is no list of pictures", address);
}

// The next picture of the text, which is taken off; empty: its end.
Result<std::string_view> next_picture(std::string_view& text, const std::string& address) {
  if (text.starts_with("--kinglet--")) return std::string_view{};
  const std::size_t head_end = text.find("\r\n\r\n");
  if (!text.starts_with(kBoundary) || head_end == std::string_view::npos) return broken(address);
  const std::string_view head = text.substr(0, head_end + 2);
  const std::size_t at = head.find(kLength);
  if (at == std::string_view::npos) return broken(address);
  const std::size_t digits = at + kLength.size();
  const auto length = parse_number<std::size_t>(std::string(head.substr(digits, head.find('\r', digits) - digits)));
  const std::size_t begin = head_end + 4;
  if (!length || *length == 0 || *length > kMostPicture || text.size() - begin < *length + 2) return broken(address);
  const std::string_view picture = text.substr(begin, *length);
  text.remove_prefix(begin + *length + 2);
  return picture;
}

}  // namespace

FramesFolder::~FramesFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<FramesFolder> fetch_frames(const DaemonOptions& options, std::size_t most, Output& out) {
  const DaemonClient client = KINGLET_TRY(DaemonClient::open(options));
  const DaemonAnswer cameras = KINGLET_TRY(client.ask("GET", "/api/v1/cameras"));
  const nlohmann::ordered_json json = cameras.json();
  const nlohmann::ordered_json::json_pointer first("/items/0/source");
  if (!json.is_object() || !json.contains(first) || !json[first].is_string()) return broken(client.address());
  const DaemonAnswer answer = KINGLET_TRY(
      client.ask("GET", format_text("/api/v1/cameras/{}/frames?last={}", url_encoded(json[first].get<std::string>()),
                                    std::min<std::size_t>(most, 1024))));
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "kinglet-frames-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    return fail(ErrorCode::kCannotCreate, format_text("cannot make a folder: {}", errno_text()), name);
  }
  FramesFolder folder{fs::path(name)};
  std::string_view rest = answer.body;
  for (int number = 0;; ++number) {
    const std::string_view picture = KINGLET_TRY(next_picture(rest, client.address()));
    if (picture.empty() && number == 0) {
      return fail(ErrorCode::kUnavailable, "the daemon has kept no picture yet", client.address(),
                  "one every 5 s of those that the model looks at (model.samples); ask again later");
    }
    if (picture.empty()) {
      out.note(format_text("{} pictures of the daemon", number));
      return folder;
    }
    KINGLET_TRY(
        write_file(folder.path() / format_text("{:04}.jpg", number), picture, Overwrite::kRefuse, Readers::kOwner));
  }
}

}  // namespace kinglet::cli
