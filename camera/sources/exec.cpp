// SPDX-License-Identifier: Apache-2.0
// Why: "exec:COMMAND": frames from any program that writes them to its output, so that whatever ffmpeg or gstreamer
// can read (RTSP, files, capture cards) is a source. No shell: the words go to the program as they are.
#include <algorithm>
#include <array>
#include <tuple>

#include "camera/source/spec.h"
#include "camera/stream/child_stream.h"
#include "camera/stream/stream_source.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

enum class Container { kMjpeg, kY4m, kRaw };
enum class AtEnd { kStartAgain, kOnce };

struct Command {
  std::vector<std::string> words;
  Container container = Container::kMjpeg;
  PixelFormat format = PixelFormat::kYuv420;
  int width = 0;
  int height = 0;
  ColorWish color;
  AtEnd at_end = AtEnd::kStartAgain;
};

// Words as a shell separates them: spaces, 'as it is', "as it is but for \" and \\", and a backslash before a
// character.
Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char following = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\\' && quote != '\'' && following != '\0' && (quote == 0 || following == '"' || following == '\\')) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) {
    return fail(ErrorCode::kUsage, format_text("exec: a {} without its second one", quote), printable(text, 80));
  }
  if (in_word) words.push_back(word);
  return words;
}

Result<void> set_format(Command& command, std::string_view value) {
  struct Name {
    std::string_view name;
    Container container;
    PixelFormat format;
  };
  constexpr std::array kNames{
      Name{"mjpeg", Container::kMjpeg, PixelFormat::kMjpeg},  Name{"y4m", Container::kY4m, PixelFormat::kYuv420},
      Name{"yuv420p", Container::kRaw, PixelFormat::kYuv420}, Name{"nv12", Container::kRaw, PixelFormat::kNv12},
      Name{"yuyv422", Container::kRaw, PixelFormat::kYuyv},   Name{"rgb24", Container::kRaw, PixelFormat::kRgb888}};
  const auto found = std::ranges::find(kNames, value, &Name::name);
  if (found == kNames.end()) {
    return fail(ErrorCode::kUsage, format_text("exec: format \"{}\", expected mjpeg, y4m, yuv420p, nv12, yuyv422 or "
                                               "rgb24",
                                               printable(value, 40)));
  }
  command.container = found->container;
  command.format = found->format;
  return {};
}

Result<void> set_size(Command& command, std::string_view value) {
  const auto sides = parse_sides<int>(value);
  if (!sides) {
    return fail(ErrorCode::kUsage,
                format_text("exec: size \"{}\", expected for example 640x480", printable(value, 40)));
  }
  std::tie(command.width, command.height) = *sides;
  return {};
}

Result<void> set_color_option(Command& command, const SpecOption& option) {
  if (option.key == "matrix" && option.value == "bt601") command.color.matrix = ColorMatrix::kBt601;
  if (option.key == "matrix" && option.value == "bt709") command.color.matrix = ColorMatrix::kBt709;
  if (option.key == "range" && option.value == "full") command.color.range = ColorRange::kFull;
  if (option.key == "range" && option.value == "limited") command.color.range = ColorRange::kLimited;
  const bool known = option.key == "matrix" ? command.color.matrix.has_value() : command.color.range.has_value();
  if (known) return {};
  return fail(ErrorCode::kUsage, format_text("exec: {} \"{}\", expected {}", option.key, printable(option.value, 40),
                                             option.key == "matrix" ? "bt601 or bt709" : "full or limited"));
}

// "?key=value" stands at the end of all, without spaces or quotes: a '?' in an address that is quoted is not meant.
Result<Command> parse_command(std::string_view rest) {
  constexpr std::string_view kKnown[] = {"format", "size", "matrix", "range", "once"};
  const std::size_t mark = rest.rfind('?');
  const bool has_options =
      mark != std::string_view::npos && rest.find_first_of(" \t'\"", mark) == std::string_view::npos;
  Command command;
  command.words = KINGLET_TRY(split_words(has_options ? rest.substr(0, mark) : rest));
  if (command.words.empty()) {
    return fail(ErrorCode::kUsage, "exec: needs a command", {}, "exec:ffmpeg -i ADDRESS -f mjpeg -");
  }
  if (!has_options) return command;
  Result<Spec> spec = parse_spec(rest.substr(mark), kKnown);
  if (!spec) {
    Error error = std::move(spec).error();
    if (error.hint.empty()) error.hint = "an address that has a ? belongs into quotes";
    return std::unexpected(std::move(error));
  }
  for (const SpecOption& option : spec->options) {
    if (option.key == "format") KINGLET_TRY(set_format(command, option.value));
    if (option.key == "size") KINGLET_TRY(set_size(command, option.value));
    if (option.key == "matrix" || option.key == "range") KINGLET_TRY(set_color_option(command, option));
    if (option.key == "once") command.at_end = AtEnd::kOnce;
  }
  if (command.container == Container::kRaw && command.width == 0) {
    return fail(ErrorCode::kUsage, "exec: raw frames need their size", printable(rest, 80), "add &size=640x480");
  }
  return command;
}

class ExecSource final : public StreamSource {
 public:
  ExecSource(Command command, const SourceOptions& options)
      : StreamSource(options.log, pause_of(options)), command_(std::move(command)) {}

  [[nodiscard]] std::string description() const override {
    return format_text("output of {}", printable(command_.words.front(), 80));
  }
  // One that runs once would begin again from its beginning.
  [[nodiscard]] bool works_unwanted() const override { return command_.at_end == AtEnd::kStartAgain; }

 protected:
  Result<std::unique_ptr<ByteStream>> open_stream() override {
    const std::string program = find_command(command_.words.front());
    if (program.empty()) {
      return fail(ErrorCode::kUnavailable, format_text("there is no program {}", printable(command_.words.front(), 80)),
                  {}, "install it, or give its whole path");
    }
    // What a program says of its own is seldom worth a line; its last one is part of the error when it ends.
    LogSink quiet;
    if (log()) {
      quiet = [sink = log()](LogLevel level, std::string_view text) {
        sink(level == LogLevel::kInfo ? LogLevel::kDebug : level, text);
      };
    }
    return KINGLET_TRY(ChildStream::open(
        {.program = program, .arguments = {command_.words.begin() + 1, command_.words.end()}, .log = quiet}));
  }

  Result<std::unique_ptr<StreamParser>> open_parser(ByteStream& /*stream*/, SteadyTime /*deadline*/) override {
    switch (command_.container) {
      case Container::kMjpeg:
        break;
      case Container::kY4m:
        return make_y4m_parser(command_.color);
      case Container::kRaw:
        return make_raw_parser(command_.format, command_.width, command_.height, command_.color);
    }
    return make_mjpeg_parser();
  }

  [[nodiscard]] std::string subject() const override {
    return format_text("program {}", printable(command_.words.front(), 80));
  }

  [[nodiscard]] bool may_end(ByteStream& stream) const override {
    return command_.at_end == AtEnd::kOnce && static_cast<ChildStream&>(stream).ended_well();
  }

 private:
  const Command command_;
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_exec(std::string_view rest, const SourceOptions& options) {
  Command command = KINGLET_TRY(parse_command(rest));
  if (command.container == Container::kRaw) {
    KINGLET_TRY(make_raw_parser(command.format, command.width, command.height, command.color));
  }
  return std::make_unique<ExecSource>(std::move(command), options);
}

}  // namespace kinglet::camera
