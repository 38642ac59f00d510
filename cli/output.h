// SPDX-License-Identifier: Apache-2.0
// Why: the one way the tool speaks. stdout is the result and nothing else; stderr is progress, notes and errors.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::cli {

struct OutputOptions {
  bool json = false;
  bool quiet = false;
  int verbosity = 0;           // number of -v
  std::string color = "auto";  // auto, always, never
};

enum class Style { kPlain, kBold, kDim, kGood, kBad };

// Thread-bound.
class Output {
 public:
  explicit Output(const OutputOptions& options);

  [[nodiscard]] bool json() const { return options_.json; }
  [[nodiscard]] bool verbose() const { return options_.verbosity > 0; }
  // Columns of the terminal, 100 where stdout is not one.
  [[nodiscard]] int width() const { return width_; }

  // stdout. `text` as it stands.
  void print(std::string_view text);
  // Whoever reads stdout sees all of it now. False: nobody does any more.
  [[nodiscard]] bool flush();
  void print_json(const nlohmann::ordered_json& value);  // one object, indented, and a newline
  // stderr, one line; left out with -q, detail only with -v.
  void note(std::string_view text);
  void detail(std::string_view text);
  void warn(std::string_view text);
  // stderr: "kinglet: where: message" and "hint: ...", or the problem object with --json.
  void error(const Error& error);
  // A line that is drawn over itself: only where stderr is a terminal and without -q. end_progress() wipes it.
  void progress(std::string_view what, std::uint64_t done, std::uint64_t total);
  void end_progress();
  // May a question be asked? Only where stdin and stderr are a terminal.
  [[nodiscard]] bool may_ask() const;

  // `text` in the style, for stdout; plain where colour is off.
  [[nodiscard]] std::string styled(std::string_view text, Style style) const;

  // Flushes stdout. kIo when some of it could not be written.
  [[nodiscard]] Result<void> finish();

 private:
  OutputOptions options_;
  int width_ = 100;
  bool color_stdout_ = false;
  bool color_stderr_ = false;
  bool draws_progress_ = false;
  bool progress_shown_ = false;
};

// The problem object of an error (the API's members, with the tool's exit code).
[[nodiscard]] nlohmann::ordered_json problem(const Error& error);

// Left-aligned columns, two spaces apart; numbers to the right where the column's name starts with '>'.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row);
  [[nodiscard]] std::string text(const Output& out) const;

 private:
  std::vector<std::string> header_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// "13.8 MB", "512 B": for people. "1,234,567": digits in groups.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);
[[nodiscard]] std::string grouped(std::int64_t number);
// Columns a terminal needs for UTF-8 text (one a code point).
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace kinglet::cli
