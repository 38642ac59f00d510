// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/words.h"

namespace kinglet::cli {
namespace {

bool wants_color(const std::string& choice, int fd) {
  if (choice != "auto") return choice == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(fd) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

int terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 100;
}

std::string_view escape(Style style) {
  using enum Style;
  static constexpr Word<Style> kWords[] = {
      {kBold, "\x1b[1m"}, {kDim, "\x1b[2m"}, {kGood, "\x1b[32m"}, {kBad, "\x1b[31m"}};
  return word_of(kWords, style);
}

void write_line(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fputc('\n', file);
}

// Names of files and nodes come from outside: whatever they hold, a line stays one line and moves no cursor.
std::string one_line(std::string_view text) { return printable(text, std::string_view::npos); }

std::string_view title(ErrorCode code) {
  using enum ErrorCode;
  static constexpr Word<ErrorCode> kWords[] = {{kUsage, "The command line is wrong"},
                                               {kBadData, "The data cannot be used"},
                                               {kUnsupported, "The file needs what kinglet does not have"},
                                               {kNotFound, "An input is not there or not readable"},
                                               {kUnavailable, "Something that is needed is not there"},
                                               {kInternal, "A fault of kinglet itself"},
                                               {kCannotCreate, "An output cannot be made"},
                                               {kIo, "Reading or writing failed"},
                                               {kBusy, "Busy, try again later"},
                                               {kNotPermitted, "Not permitted"},
                                               {kConfig, "The configuration is wrong"}};
  return word_of(kWords, code);
}

}  // namespace

Output::Output(const OutputOptions& options)
    : options_(options),
      width_(terminal_width()),
      color_stdout_(wants_color(options.color, STDOUT_FILENO)),
      color_stderr_(wants_color(options.color, STDERR_FILENO)),
      draws_progress_(!options.quiet && ::isatty(STDERR_FILENO) == 1) {}

void Output::print(std::string_view text) {
  end_progress();
  std::fwrite(text.data(), 1, text.size(), stdout);
}

bool Output::flush() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

void Output::print_json(const nlohmann::ordered_json& value) {
  print(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void Output::note(std::string_view text) {
  if (options_.quiet) return;
  end_progress();
  write_line(stderr, one_line(text));
}

void Output::detail(std::string_view text) {
  if (verbose()) note(text);
}

void Output::warn(std::string_view text) { note(format_text("warning: {}", text)); }

void Output::error(const Error& error) {
  end_progress();
  std::fflush(stdout);
  if (options_.json) {
    return write_line(stderr, problem(error).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  const std::string name = color_stderr_ ? format_text("{}kinglet:\x1b[0m", escape(Style::kBad)) : "kinglet:";
  write_line(stderr, format_text("{} {}", name, one_line(describe(error))));
  if (!error.hint.empty()) write_line(stderr, format_text("hint: {}", one_line(error.hint)));
}

void Output::progress(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (!draws_progress_) return;
  constexpr int kBarWidth = 24;
  const double ratio = total == 0 ? 0 : std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const int filled = static_cast<int>(ratio * kBarWidth);
  std::string bar(static_cast<std::size_t>(filled), '#');
  bar.resize(kBarWidth, '.');
  const std::size_t room = static_cast<std::size_t>(std::max(8, width_ - kBarWidth - 10));
  std::fprintf(stderr, "\r\x1b[K%s", format_text("[{}] {:3.0f} % {}", bar, 100 * ratio, what.substr(0, room)).c_str());
  std::fflush(stderr);
  progress_shown_ = true;
}

void Output::end_progress() {
  if (progress_shown_) std::fputs("\r\x1b[K", stderr);
  progress_shown_ = false;
}

bool Output::may_ask() const { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

std::string Output::styled(std::string_view text, Style style) const {
  if (!color_stdout_ || style == Style::kPlain) return std::string(text);
  return format_text("{}{}\x1b[0m", escape(style), text);
}

Result<void> Output::finish() {
  end_progress();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return fail(ErrorCode::kIo, format_text("cannot write the result: {}", errno_text()), "standard output");
}

nlohmann::ordered_json problem(const Error& error) {
  nlohmann::ordered_json out{{"type", format_text("/problems/{}", to_string(error.code))},
                             {"title", title(error.code)},
                             {"detail", describe(error)}};
  if (!error.hint.empty()) out["hint"] = error.hint;
  out["exit_code"] = exit_code(error.code);
  return out;
}

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {
  for (std::string& name : header_) {
    right_.push_back(name.starts_with('>'));
    if (right_.back()) name.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> row) {
  row.resize(header_.size());
  rows_.push_back(std::move(row));
}

std::string Table::text(const Output& out) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < header_.size(); ++i) {
    widths.push_back(display_width(header_[i]));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - display_width(row[i]), ' ');
      text += (i > 0 ? "  " : "") + (right_[i] ? pad + row[i] : row[i] + pad);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string text = out.styled(line(header_), Style::kBold) + "\n";
  for (const auto& row : rows_) text += line(row) + "\n";
  return text;
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return format_text("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::string_view unit;
  for (const std::string_view next : {"kB", "MB", "GB", "TB"}) {
    value /= 1000;
    unit = next;
    if (value < 999.95) break;
  }
  return format_text("{:.1f} {}", value, unit);
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace kinglet::cli
